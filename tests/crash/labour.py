# SPDX-License-Identifier: MIT
"""What an actor does as a worker: claim, finish, touch, log."""
from model import Pending

FAR = 3600


class Labour:
    def claim_body(self):
        queues = {self.home: self.rng.randint(1, 4), self.away: self.rng.randint(1, 4)}
        return {"worker": self.name, "queues": queues, "max": self.rng.randint(1, 6),
                "lease": "10m"}

    def do_claim(self):
        body = self.claim_body()
        pending = Pending("claim", claims=body)
        granted = self.good(self.call("POST", "/v1/claim", body, pending), 200)["jobs"]
        self.take_grants(granted, body["queues"], body["max"])

    def do_exchange(self):
        """Finishes what is held and claims more, in one request."""
        jobs = self.pick_many(("running",), 4)
        items = [{"id": job.id, "lease": job.lease, "state": "done", "result": self.serial}
                 for job in jobs]
        after = [job.copy() for job in jobs]
        for job, item in zip(after, items):
            job.finish("done", item)
        body = {**self.claim_body(), "finish": items}
        pending = Pending("finish and claim", before=jobs, after=after, claims=body)
        pending.repeat = ("POST", "/v1/finish", {"finish": items})
        reply = self.good(self.call("POST", "/v1/claim", body, pending), 200)
        for job, result in zip(after, reply["results"], strict=True):
            self.check(result == {"id": job.id, "ok": True}, f"finish and claim: {result}")
            self.jobs[job.id] = job
        self.take_grants(reply["jobs"], body["queues"], body["max"])

    def take_grants(self, granted, queues, most):
        starting = [q for q in queues if q not in self.paused]
        sure = {q: sum(job.queue == q and job.state == "ready" for job in self.jobs.values())
                for q in starting}
        least = min(most, sum(min(queues[q], sure[q]) for q in starting))
        self.check(least <= len(granted) <= most,
                   f"{len(granted)} jobs granted, at least {least} were ready")
        for grant in granted:
            job = self.jobs.get(grant["id"])
            self.check(job is not None, f"granted {grant['id']}, which is not ours")
            self.check(job.queue not in self.paused, f"granted {grant['id']} of a paused queue")
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
        for job, item, result in zip(after, items, results, strict=True):
            became = result.pop("state", "done")  # told of all but those
            self.check(result == {"id": job.id, "ok": True} and job.is_shown_as(became) and
                       (became == "done") == (item["state"] == "done"),
                       f"finish: {result}, {became}")
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
