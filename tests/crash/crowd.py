# SPDX-License-Identifier: MIT
"""What the clients do in queues that are not theirs alone.

In `shared` claims and finishes compete: at most one lease of a job is live.  In `lossy` no claim is
ever finished: leases expire, and the sixth lost worker fails the job.
"""
from books import SharedJob
from model import Pending


class Crowd:
    """The part of an actor that meets the others."""

    def do_share(self):
        mark = self.mark()
        shared = SharedJob()
        with self.ledger.lock:
            self.ledger.shared[mark] = shared
        reply = self.call("POST", "/v1/jobs", {"queue": "shared", "params": {"mark": mark}},
                          Pending("share"))
        job_id = self.good(reply, 201)["id"]
        with self.ledger.lock:
            shared.id, shared.submitted = job_id, True

    def do_claim_shared(self):
        body = {"worker": self.name, "queues": {"shared": 3}, "max": 3, "lease": "10m"}
        for grant in self.good(self.call("POST", "/v1/claim", body, Pending("claim shared")),
                               200)["jobs"]:
            mark = grant["params"]["mark"]
            with self.ledger.lock:
                shared = self.ledger.shared.get(mark)
                self.check(shared is not None, f"granted {mark}, which was never submitted")
                self.check(shared.live is None, f"{mark} has two live leases")
                self.check(shared.ending in (None, "returned"),
                           f"granted {mark}, which was finished")
                shared.id, shared.live = grant["id"], grant["lease"]
            self.held_shared[grant["id"]] = (mark, grant["lease"])

    def do_finish_shared(self):
        if not self.held_shared:
            return
        job_id = self.rng.choice(list(self.held_shared))
        mark, lease = self.held_shared[job_id]
        state = self.rng.choice(["done", "done", "failed", "returned"])
        shared = self.ledger.shared[mark]
        with self.ledger.lock:
            shared.live, shared.ending = None, state
        self.shared_pending = [(mark, {"id": job_id, "lease": lease, "state": state})]
        reply = self.call("POST", "/v1/finish", {"finish": [self.shared_pending[0][1]]},
                          Pending("finish shared"))
        result = self.good(reply, 200)["results"][0]
        self.shared_pending = []
        self.check({**result, "state": state} == {"id": job_id, "ok": True, "state": state},
                   f"finish of a shared job: {result}")
        with self.ledger.lock:
            if state != "returned":
                shared.ended = state
        del self.held_shared[job_id]

    def do_lose(self):
        """Claims that nobody ever finishes."""
        if self.rng.random() < 0.3:
            self.good(self.call("POST", "/v1/jobs",
                                {"queue": "lossy", "params": {"mark": self.mark()}},
                                Pending("submit lossy")), 201)
            return
        body = {"worker": f"{self.name}-lossy", "queues": {"lossy": 2}, "max": 2, "lease": "1s"}
        for grant in self.good(self.call("POST", "/v1/claim", body, Pending("claim lossy")),
                               200)["jobs"]:
            with self.ledger.lock:
                before = self.ledger.lost_queue.get(grant["id"], 0)
                self.ledger.lost_queue[grant["id"]] = max(before, grant["attempt"])
            self.check(grant["attempt"] <= 6,
                       f"attempt {grant['attempt']} of a job that is always lost")
