# SPDX-License-Identifier: MIT
"""A client of the torture: does things of all kinds to jobs that are its own, and keeps the books.

Each actor has queues of its own, so that for each of its jobs the order of operations is known;
what is in doubt when the server dies is the one request without a reply.
"""
import http.client
import json

from books import Wrong
from crowd import Crowd
from model import ALLOWED, ENDED, WAITING, Job, Pending
from client import Client

FAR = 3600
GONE = (ConnectionError, http.client.HTTPException, OSError)


class Actor(Crowd):
    def __init__(self, number, seed_rng, ledger):
        self.name = f"actor{number}"
        self.number = number
        self.rng = seed_rng
        self.ledger = ledger
        self.home, self.away = f"home{number}", f"away{number}"
        self.retries = {self.home: 2, self.away: 0}
        self.jobs = {}  # id: Job
        self.held_shared = {}  # id: (mark, lease)
        self.pending = None
        self.shared_pending = []  # marks whose finish is in doubt
        self.serial = 0
        self.client = self.admin = None

    # ---- talking

    def connect(self, server):
        self.client = Client(("127.0.0.1", server.port), timeout=30)
        self.admin = Client(server.socket_path, timeout=30)

    def close(self):
        for client in (self.client, self.admin):
            if client is not None:
                client.close()

    def call(self, method, path, body=None, pending=None, admin=False, headers=None):
        """A request that changes something: attempted, then acknowledged."""
        with self.ledger.lock:
            self.ledger.attempted += 1
        self.pending = pending
        reply = (self.admin if admin else self.client).request(method, path, body, headers)
        self.pending = None
        if reply.status >= 500:
            raise Wrong(f"{method} {path}: {reply.status} {reply.body[:300]!r}")
        return reply

    def good(self, reply, *statuses):
        if reply.status not in (statuses or (200, 201, 202)):
            raise Wrong(f"status {reply.status}: {reply.body[:300]!r}")
        self.ledger.acknowledge()
        return reply.json

    def check(self, condition, text):
        if not condition:
            raise Wrong(text)

    # ---- picking

    def mark(self):
        self.serial += 1
        mark = f"{self.name}-{self.serial}"
        with self.ledger.lock:
            self.ledger.marks.add(mark)
        return mark

    def pick(self, states):
        choice = [job for job in self.jobs.values() if job.state in states]
        return self.rng.choice(choice) if choice else None

    def pick_many(self, states, most):
        choice = [job for job in self.jobs.values() if job.state in states]
        return self.rng.sample(choice, min(len(choice), self.rng.randint(1, most)))

    # ---- submitting

    def new_job(self):
        job = Job(self.mark(), self.rng.choice([self.home, self.home, self.away]), self.retries)
        item = {"queue": job.queue, "params": job.params}
        if self.rng.random() < 0.3:
            item["priority"] = job.priority = self.rng.randint(-5, 5)
        if self.rng.random() < 0.4:
            item["labels"] = job.labels = {"colour": self.rng.choice(["red", "blue"])}
        if self.rng.random() < 0.2:
            far = self.rng.random() < 0.5
            item["delay"] = FAR if far else 0.02
            job.due = "far" if far else "soon"
            job.wait()
        if self.rng.random() < 0.2:
            item["key"] = job.key = f"key of {job.mark}"
        return job, item

    def adopt(self, job, job_id):
        self.check(job_id not in self.jobs, f"the id {job_id} was given twice")
        job.id = job_id
        self.jobs[job_id] = job

    def do_submit(self):
        job, item = self.new_job()
        text = json.dumps(item)
        pending = Pending("submit", created=[job])
        if job.key:
            job.sent = text
            pending.repeat = ("POST", "/v1/jobs", text)
        self.adopt(job, self.good(self.call("POST", "/v1/jobs", text, pending), 201)["id"])

    def do_submit_array(self):
        made = [self.new_job() for _ in range(self.rng.randint(2, 8))]
        pending = Pending("submit an array", created=[job for job, _ in made])
        ids = self.good(self.call("POST", "/v1/jobs", [item for _, item in made], pending),
                        201)["ids"]
        self.check(len(ids) == len(made), "another number of ids")
        for (job, _), job_id in zip(made, ids):
            self.adopt(job, job_id)

    def do_submit_lines(self):
        made = [self.new_job() for _ in range(self.rng.randint(2, 8))]
        pending = Pending("submit lines", created=[job for job, _ in made])
        text = "\n".join(json.dumps(item) for _, item in made)
        reply = self.call("POST", "/v1/jobs", text, pending,
                          headers={"Content-Type": "application/x-ndjson"})
        self.check(reply.status in (200, 201), f"lines: {reply.status} {reply.body[:200]!r}")
        for (job, _), line in zip(made, reply.lines, strict=True):
            self.check("id" in line, f"a line was refused: {line}")
            self.adopt(job, line["id"])
        self.ledger.acknowledge()

    def do_submit_again(self):
        choice = [job for job in self.jobs.values() if job.sent]
        if not choice:
            return
        job = self.rng.choice(choice)
        reply = self.good(self.call("POST", "/v1/jobs", job.sent, Pending("submit again")), 200)
        self.check(reply["id"] == job.id, f"key {job.key}: {reply['id']}, not {job.id}")

    # ---- claiming and finishing

    def do_claim(self):
        queues = {self.home: self.rng.randint(1, 4), self.away: self.rng.randint(1, 4)}
        most = self.rng.randint(1, 6)
        pending = Pending("claim")
        pending.claims = {**queues, None: most}
        body = {"worker": self.name, "queues": queues, "max": most, "lease": "10m"}
        granted = self.good(self.call("POST", "/v1/claim", body, pending), 200)["jobs"]
        self.take_grants(granted, queues, most)

    def take_grants(self, granted, queues, most):
        sure = {q: sum(job.queue == q and
                       job.state == "ready" for job in self.jobs.values()) for q in queues}
        least = min(most, sum(min(queues[q], sure[q]) for q in queues))
        self.check(least <= len(granted) <= most,
                   f"{len(granted)} jobs granted, at least {least} were ready")
        for grant in granted:
            job = self.jobs.get(grant["id"])
            self.check(job is not None, f"granted {grant['id']}, which is not ours")
            self.check(job.state in ("ready", "soon"),
                       f"granted {grant['id']}, which is {job.state}")
            self.check(grant["params"] == job.params, f"granted {grant['id']} with other params")
            job.claim(grant["lease"])
            self.check(grant["attempt"] == job.attempt,
                       f"attempt {grant['attempt']}, not {job.attempt}")

    def finish_item(self, job):
        outcome = self.rng.choice(["done", "done", "done", "failed", "failed", "later", "returned",
                                   "cancelled"])
        item = {"id": job.id, "lease": job.lease, "state": outcome}
        if outcome == "later":
            item["delay"] = self.rng.choice([0, FAR])
        if outcome == "failed":
            item.update(exit=self.rng.randint(1, 9), final=self.rng.random() < 0.3)
        if self.rng.random() < 0.3:
            item["text"] = f"ended {self.rng.randint(0, 999)}"
        if outcome == "done":
            item["result"] = {"mark": job.mark, "n": self.rng.randint(0, 999)}
        return item

    def do_finish(self):
        jobs = self.pick_many(("running",), 4)
        if not jobs:
            return
        items = [self.finish_item(job) for job in jobs]
        after = [job.copy() for job in jobs]
        for job, item in zip(after, items):
            job.finish(item["state"], item)
        pending = Pending("finish", before=jobs, after=after)
        pending.repeat = ("POST", "/v1/finish", {"finish": items})
        results = self.good(self.call("POST", "/v1/finish", {"finish": items}, pending),
                            200)["results"]
        for job, result in zip(after, results, strict=True):
            self.check(result == {"id": job.id, "ok": True}, f"finish: {result}")
            self.jobs[job.id] = job

    def do_stale_finish(self):
        """A lease that is not valid any more changes nothing."""
        choice = [job for job in self.jobs.values() if job.stale]
        if not choice:
            return
        job = self.rng.choice(choice)
        item = {"id": job.id, "lease": self.rng.choice(job.stale),
                "state": self.rng.choice(["done", "failed"]), "result": "stale"}
        result = self.call("POST", "/v1/finish", {"finish": [item]},
                           Pending("stale finish")).json["results"][0]
        stale = "error" in result and result["error"]["code"] == "stale_lease"
        self.check(stale or result.get("again"), f"a stale lease was taken: {result}")

    def do_touch(self):
        jobs = self.pick_many(("running",), 4)
        if not jobs:
            return
        after = [job.copy() for job in jobs]
        for job in after:
            job.text = f"at work {self.rng.randint(0, 999)}"
        items = [{"id": job.id, "lease": job.lease, "text": job.text, "done": 1,
                  "total": 2} for job in after]
        pending = Pending("touch", before=jobs, after=after)
        reply = self.good(self.call("POST", "/v1/touch", {"touch": items}, pending), 200)
        self.check(reply["lost"] == [], f"touch: lost {reply['lost']}")
        cancelled = {entry["id"] for entry in reply["cancel"]}
        self.check(cancelled == {job.id for job in jobs if job.cancelling},
                   f"touch: cancel {cancelled}")
        for job in after:
            self.jobs[job.id] = job

    def do_log(self):
        job = self.pick(("running",))
        if job is None:
            return
        offset = len(job.log)
        job.log += f"line {self.rng.randint(0, 999)}\n".encode()
        path = f"/v1/jobs/{job.id}/log?lease={job.lease}&offset={offset}"
        reply = self.good(self.call("POST", path, job.log[offset:], Pending("log")), 200)
        self.check(reply["size"] == len(job.log),
                   f"log of {job.id}: size {reply['size']}, not {len(job.log)}")

    # ---- by hand

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

    def do_show(self):
        if not self.jobs:
            return
        job = self.rng.choice(list(self.jobs.values()))
        wrong = job.differences(self.client.show(job.id))
        self.check(not wrong, f"job {job.id} ({job.mark}): {'; '.join(wrong)}")

    DEEDS = [(do_submit, 10), (do_submit_array, 6), (do_submit_lines, 3), (do_submit_again, 3),
             (do_claim, 14), (do_finish, 16),
             (do_stale_finish, 4), (do_touch, 6), (do_log, 5), (do_act, 16), (do_forbidden, 4),
             (do_clone, 3), (do_delete, 5),
             (do_bulk, 2), (do_show, 4), (Crowd.do_share, 6), (Crowd.do_claim_shared, 5),
             (Crowd.do_finish_shared, 8),
             (Crowd.do_lose, 2)]

    def step(self):
        deeds, weights = zip(*self.DEEDS)
        self.rng.choices(deeds, weights)[0](self)

    def run(self, stop):
        """Until the server is gone (True), or until stop is set, or a contradiction (False)."""
        try:
            while not stop.is_set():
                self.step()
            return True
        except GONE:
            return True
        except (Wrong, AssertionError, KeyError, ValueError) as error:
            self.ledger.fault(f"{self.name}: {type(error).__name__}: {error}")
            stop.set()
            return False
        finally:
            self.close()
