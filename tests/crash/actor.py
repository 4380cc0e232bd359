# SPDX-License-Identifier: MIT
"""A client of the torture: does things of all kinds to jobs that are its own, and keeps the books.

Each actor has queues of its own, so that for each of its jobs the order of operations is known;
what is in doubt when the server dies is the one request without a reply.
"""
import http.client
import json

from books import Wrong
from client import Client
from crowd import Crowd
from hands import Hands
from labour import FAR, Labour
from model import Job, Pending

GONE = (ConnectionError, http.client.HTTPException, OSError)


class Actor(Labour, Hands, Crowd):
    def __init__(self, number, seed_rng, ledger):
        self.name = f"actor{number}"
        self.number = number
        self.rng = seed_rng
        self.ledger = ledger
        self.home, self.away = f"home{number}", f"away{number}"
        self.retries = {self.home: 2, self.away: 0}
        self.jobs = {}  # id: Job
        self.held_shared = {}  # id: (mark, lease)
        self.paused = frozenset()  # those of its queues that are
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

    def do_show(self):
        if not self.jobs:
            return
        job = self.rng.choice(list(self.jobs.values()))
        wrong = job.differences(self.client.show(job.id))
        self.check(not wrong, f"job {job.id} ({job.mark}): {'; '.join(wrong)}")

    # How often each is done, beside the others.
    DEEDS = {
        "submit": 10, "submit_array": 6, "submit_lines": 3, "submit_again": 3, "claim": 12,
        "finish": 16, "exchange": 6, "stale_finish": 4, "touch": 6, "log": 5, "act": 16,
        "forbidden": 4, "clone": 3, "delete": 5, "bulk": 2, "pause": 2, "show": 4, "share": 6,
        "claim_shared": 5, "finish_shared": 8, "lose": 2,
    }

    def step(self):
        deed, = self.rng.choices(list(self.DEEDS), self.DEEDS.values())
        getattr(self, f"do_{deed}")()

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
