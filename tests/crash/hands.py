# SPDX-License-Identifier: MIT
"""What an actor does by hand: every verb, bulk actions, and what is forbidden."""
from model import ALLOWED, ENDED, WAITING, Job, Pending


class Hands:
    def act_body(self, verb, job):
        if verb == "move":
            return {"queue": self.away if job.queue == self.home else self.home}
        if verb == "retry" and self.rng.random() < 0.5:
            return {"set": {"again": self.rng.randint(0, 999)}}
        if verb == "patch":
            return self.rng.choice([
                {"priority": self.rng.randint(-9, 9)},
                {"params": {"mark": job.mark, "patched": self.rng.randint(0, 999)}},
                {"labels": {"colour": "green"}},
                {"due_at": "2040-01-01T00:00:00Z"},
                {"due_at": "2020-01-01T00:00:00Z"},
            ])
        return None

    def do_act(self):
        verb = self.rng.choice(["cancel", "hold", "hold", "release", "release", "now", "now",
                                "move", "patch", "patch", "retry", "retry"])
        job = self.pick(ALLOWED[verb])
        if job is None:
            return
        body = self.act_body(verb, job)
        after = job.copy()
        after.act(verb, body)
        method, path = ("PATCH", "") if verb == "patch" else ("POST", f"/{verb}")
        reply = self.call(method, f"/v1/jobs/{job.id}{path}", body,
                          Pending(verb, before=[job], after=[after]))
        self.good(reply, 202 if verb == "cancel" and job.state == "running" else 200)
        self.jobs[job.id] = after

    def do_forbidden(self):
        """What is not allowed in a job's state is refused and changes nothing."""
        verb, states = self.rng.choice([("hold", ENDED + ("running",)),
                                        ("retry", WAITING + ("running",)),
                                        ("patch", ENDED + ("running",)),
                                        ("release", ENDED), ("delete", ("running",)),
                                        ("move", ("running",))])
        job = self.pick(states)
        if job is None:
            return
        method, path = {"patch": ("PATCH", ""), "delete": ("DELETE", "")}.get(verb,
                                                                              ("POST", f"/{verb}"))
        body = {"patch": {"priority": 1}, "move": {"queue": self.away}}.get(verb)
        reply = self.call(method, f"/v1/jobs/{job.id}{path}", body, Pending("forbidden"),
                          admin=True)
        self.check(reply.status == 409,
                   f"{verb} of a {job.state} job: {reply.status} {reply.body[:200]!r}")

    def do_clone(self):
        job = self.pick(ALLOWED["clone"])
        if job is None:
            return
        twin = Job(self.mark(), job.queue, self.retries)
        twin.params = {**job.params, "mark": twin.mark}
        twin.labels, twin.priority = dict(job.labels), job.priority
        reply = self.call("POST", f"/v1/jobs/{job.id}/clone", {"params": {"mark": twin.mark}},
                          Pending("clone", created=[twin]))
        self.adopt(twin, self.good(reply, 201)["id"])

    def do_delete(self):
        job = self.pick(ALLOWED["delete"])
        if job is None:
            return
        pending = Pending("delete", before=[job], deleted=[job.id])
        self.good(self.call("DELETE", f"/v1/jobs/{job.id}", None, pending, admin=True), 200)
        del self.jobs[job.id]

    def do_bulk(self):
        verb, states = self.rng.choice([("hold", ("ready", "scheduled")), ("release", ("held",)),
                                        ("cancel", ("ready", "scheduled", "held")),
                                        ("retry", ENDED), ("delete", ENDED),
                                        ("delete", ("done", "cancelled")),
                                        ("move", ("ready", "scheduled", "held"))])
        queue = self.rng.choice([self.home, self.away])
        wanted = {"queue": queue, "state": list(states)}
        if self.rng.random() < 0.5:
            wanted["labels"] = {"colour": self.rng.choice(["red", "blue", "green"])}
        hit = [job for job in self.jobs.values() if job.queue == queue and
               (job.state in states or (job.state == "soon" and "ready" in states)) and
               (wanted.get("labels", {}).items() <= job.labels.items())]
        body = {"action": verb, "filter": wanted}
        if verb == "move":
            body["queue"] = self.away if queue == self.home else self.home
        pending = Pending(f"bulk {verb}", before=hit)
        if verb == "delete":
            pending.deleted = {job.id for job in hit}
        else:
            for job in hit:
                after = job.copy()
                after.act(verb, body)
                pending.after[job.id] = after
        bulk_id = self.good(self.call("POST", "/v1/bulk", body, pending, admin=True), 202)["id"]
        pending.acknowledged = True
        self.pending = pending
        shown = self.admin.ok("GET", f"/v1/bulk/{bulk_id}?wait=30s")
        self.pending = None
        self.check(shown["state"] == "done", f"bulk {verb} is not done: {shown}")
        self.check((shown["changed"], shown["refused"]) == (len(hit), 0),
                   f"bulk {verb} of {len(hit)}: {shown}")
        self.jobs.update(pending.after)
        for job_id in pending.deleted:
            del self.jobs[job_id]

    def do_pause(self):
        queue = self.rng.choice([self.home, self.away])
        verb = "resume" if queue in self.paused else "pause"
        pending = Pending(verb)
        pending.paused = self.paused ^ {queue}
        reply = self.call("POST", f"/v1/queues/{queue}/{verb}", None, pending, admin=True)
        self.good(reply, 200)
        self.paused = pending.paused
