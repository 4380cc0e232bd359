# SPDX-License-Identifier: MIT
"""Who makes jobs, raises signals, publishes, arrives, cancels and retries in a history."""
import json

from record import Recorder

BACKLOG = 150
GROUPS = 5
CASES = {"submit_one": 6, "submit_array": 3, "submit_lines": 2, "repeat_keyed": 4,
         "raise_signal": 3, "arrive": 2, "publish": 1, "cancel": 1, "retry": 1.5, "read_known": 4}
KINDS = ["plain"] * 6 + ["emits"] * 2 + ["pages"]
PAUSE_S = 0.03


class Submitter(Recorder):
    def __init__(self, *args):
        super().__init__(*args)
        self.doubtful = []  # jobs with keys whose submit was not acknowledged

    def run(self):
        while not self.world.stop.is_set():
            case = self.rng.choices(list(CASES), CASES.values())[0]
            if self.world.backlog < BACKLOG or not case.startswith("submit"):
                getattr(self, case)()
            self.pause(self.rng.uniform(0, 2 * PAUSE_S))
        for _ in range(40):  # what has a key is made in the end
            if self.doubtful:
                self.repeat_keyed()

    # ---- jobs: as they are noted, and as they are sent

    def new_job(self):
        name = self.new_name()
        kind = self.rng.choice(KINDS)
        queue = "work" if kind != "plain" else self.rng.choice(["work", "work", "once", "chained"])
        job = {"name": name, "queue": queue, "kind": kind,
               "group": f"g{self.rng.randrange(GROUPS)}"}
        if self.rng.random() < 0.5:
            job["key"] = f"key {name}"
        if kind == "pages":
            job["pages"] = self.rng.randrange(2, 5)
        if kind == "plain" and self.rng.random() < 0.15:
            job["leads"] = [{"queue": "noted", "way": "own"}]
        if self.rng.random() < 0.15:
            job["delay"] = round(self.rng.uniform(0.1, 2), 1)
        return job

    def maybe_wait(self, job):
        """For another job, or for a signal."""
        luck = self.rng.random()
        if luck < 0.15 and self.world.known:
            target = self.rng.choice(list(self.world.known))
            job["after"] = [{"name": target["name"], "id": target["id"]}]
        elif luck < 0.22:
            job["after"] = [{"signal": f"taken{self.rng.randrange(3)}",
                             "count": self.rng.randrange(1, 4), "take": True}]
        elif luck < 0.26:
            job["after"] = [{"signal": f"level{self.rng.randrange(3)}",
                             "count": self.rng.randrange(1, 9), "take": False}]
        return job

    @staticmethod
    def as_sent(job):
        params = {name: job[name] for name in ("name", "group", "kind", "pages") if name in job}
        sent = {"queue": job["queue"], "params": params}
        for name in ("key", "delay", "ref"):
            if name in job:
                sent[name] = job[name]
        if "leads" in job:
            sent["on_success"] = [{"queue": lead["queue"], "params": {"way": lead["way"]}}
                                  for lead in job["leads"]]
        if "after" in job:
            sent["after"] = [{"job": one.get("ref") or one["id"]} if "name" in one else one
                             for one in job["after"]]
        return sent

    def noted(self, server, asked, jobs, outcomes, ids):
        self.note("submit", server, asked, jobs=jobs, outcomes=outcomes, ids=ids)
        for job, outcome, job_id in zip(jobs, outcomes, ids):
            if outcome == "ok":
                self.world.known.append({**job, "id": job_id})
            elif "key" in job and outcome == "unknown" and "ref" not in str(job.get("after")):
                self.doubtful.append(job)

    # ---- requests

    def submit_one(self, job=None, server=None):
        job = job or self.maybe_wait(self.new_job())
        server = self.server() if server is None else server
        asked = self.ask(server, "POST", "/v1/jobs", self.as_sent(job))
        reply = asked[0]
        self.noted(server, asked, [job], [reply.outcome],
                   [reply.document["id"] if reply.outcome == "ok" else None])
        return reply.outcome

    def repeat_keyed(self):
        """At any server; it is one job."""
        if self.doubtful:
            job = self.doubtful.pop(0)
            self.submit_one(job, self.rng.randrange(self.world.servers))
        elif self.world.known and self.rng.random() < 0.3:
            job = self.rng.choice(list(self.world.known))
            if "key" in job and "ref" not in job and "ref" not in str(job.get("after")):
                self.submit_one({name: job[name] for name in job if name != "id"})

    def submit_array(self):
        """All or none; some wait for others of it."""
        jobs = [self.new_job() for _ in range(self.rng.randrange(2, 6))]
        for number, job in enumerate(jobs):
            job["ref"] = f"r{number}"
            if number and self.rng.random() < 0.4:
                target = jobs[self.rng.randrange(number)]
                job["after"] = [{"name": target["name"], "ref": target["ref"]}]
        server = self.server()
        asked = self.ask(server, "POST", "/v1/jobs", [self.as_sent(job) for job in jobs])
        reply = asked[0]
        ids = reply.document["ids"] if reply.outcome == "ok" else [None] * len(jobs)
        self.noted(server, asked, jobs, [reply.outcome] * len(jobs), ids)

    def submit_lines(self):
        """NDJSON: good lines stay."""
        jobs = [self.new_job() for _ in range(self.rng.randrange(3, 9))]
        text = "".join(json.dumps(self.as_sent(job)) + "\n" for job in jobs)
        server = self.server()
        asked = self.ask(server, "POST", "/v1/jobs", text,
                         headers={"Content-Type": "application/x-ndjson"})
        reply = asked[0]
        lines = reply.document if isinstance(reply.document, list) else []
        outcomes = [self._line_outcome(line) for line in lines[:len(jobs)]]
        missing = "unknown" if reply.outcome == "ok" else reply.outcome
        outcomes += [missing] * (len(jobs) - len(outcomes))
        ids = [line.get("id") for line in lines] + [None] * (len(jobs) - len(lines))
        self.noted(server, asked, jobs, outcomes, ids)

    @staticmethod
    def _line_outcome(line):
        if "id" in line:
            return "ok"
        refusals = ("unavailable", "queue_down", "full", "invalid")
        return "fail" if line["error"]["code"] in refusals else "unknown"

    def raise_signal(self):
        name = f"{self.rng.choice(['taken', 'level'])}{self.rng.randrange(3)}"
        self.raise_it(name, self.rng.randrange(1, 4))

    def raise_it(self, name, count, server=None):
        server = self.server() if server is None else server
        self.note("raise", server,
                  self.ask(server, "POST", f"/v1/signals/{name}", {"count": count}),
                  signal=name, count=count)

    def arrive(self):
        group, server = f"g{self.rng.randrange(GROUPS)}", self.server()
        body = {"params": {"group": group, "name": f"arrived {self.new_name()}"}}
        self.note("arrive", server, self.ask(server, "POST", "/v1/joins/meet", body),
                  join="meet", key=group)

    def publish(self):
        name, server = self.new_name(), self.server()
        asked = self.ask(server, "POST", "/v1/topics/news", {"params": {"name": name}})
        ids = asked[0].document["ids"] if asked[0].outcome == "ok" else []
        self.note("publish", server, asked, topic="news", name=name, ids=ids)

    def known(self):
        """A job of which nothing special is expected, or None."""
        jobs = [job for job in list(self.world.known)[-60:] if "after" not in job and
                job["kind"] == "plain"]
        return self.rng.choice(jobs)["id"] if jobs else None

    def cancel(self):
        job_id, server = self.known(), self.server()
        if job_id:
            asked = self.ask(server, "POST", f"/v1/jobs/{job_id}/cancel")
            state = asked[0].document.get("state") if asked[0].outcome == "ok" else None
            self.note("cancel", server, asked, id=job_id, state=state)

    def retry(self):
        job_id, server = self.known(), self.server()
        if job_id:
            self.note("retry", server, self.ask(server, "POST", f"/v1/jobs/{job_id}/retry", {}),
                      id=job_id)

    def read_known(self):
        if self.world.known:
            self.read(self.rng.choice(list(self.world.known))["id"])
