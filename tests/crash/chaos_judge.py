# SPDX-License-Identifier: MIT
"""The judgement on a run of chaos: the whole state against what was handed in and what ran."""
from collections import Counter, defaultdict

from chaos_load import LISTED, PARENTED
from client import counted  # turmoil.py has shown the way to tests/e2e

LOSSES_MAX = 6


class Judge:
    def __init__(self, client, place, submitters, servers):
        self.place = place
        self.servers = servers  # how many there are
        self.client = client
        self.submitters = submitters
        self.acknowledged = {job_id: job for submitter in submitters
                             for job_id, job in submitter.acknowledged.items()}
        self.jobs = {job["id"]: job for job in client.list()}
        self.show = client.show
        self.lost, self.unexpected, self.broken, self.overlapping = [], [], [], []
        self.began, self.ended = Counter(), Counter()
        self.leases = defaultdict(list)
        self.lines = []  # of the file of runs: (word, id, step)

    def run(self):
        self._read_runs()
        for job_id in self.acknowledged:
            if job_id not in self.jobs:
                self.lost.append(f"{job_id} was acknowledged and is not there")
        for job in self.jobs.values():
            if job["id"] not in self.acknowledged and not self._is_made(job):
                self.unexpected.append(f"{job['id']} {job['params']} is there; nobody handed it in")
        for job in self.jobs.values():
            self._job(job)
        self._children()
        self._kept_counts()
        overlaps = self.place / "overlaps"
        if overlaps.exists():
            self.overlapping = overlaps.read_text().splitlines()

    def _read_runs(self):
        for line in (self.place / "runs").read_text().splitlines():
            word, job_id, lease, step = line.split()
            self.lines.append((word, job_id, int(step)))
            (self.began if word == "begin" else self.ended)[job_id] += 1
            if word == "begin":
                if lease in self.leases[job_id]:
                    self.broken.append(f"{job_id} was started twice under lease {lease}")
                self.leases[job_id].append(lease)

    @staticmethod
    def _is_made(job):
        """By another job."""
        return job["queue"] == "leaf"

    def _job(self, job):
        job_id, state = job["id"], job["state"]
        if state == "done":
            if self.ended[job_id] == 0:
                self.broken.append(f"{job_id} is done and never ran to its end")
        elif state == "failed" and job.get("cause") == "lost":
            self._judge_lost(job_id)
        else:
            self.lost.append(f"{job_id} is {state}: {job.get('cause')} {job.get('text')} "
                             f"{job.get('reason')}")
        if self.began[job_id] < job["attempt"] - job["lost"] - 1:
            self.broken.append(f"{job_id}: {job['attempt']} attempts, {self.began[job_id]} begun")

    def _judge_lost(self, job_id):
        record = self.show(job_id)["progress"]
        losses = [entry for entry in record if entry.get("cause") == "lost"]
        if len(losses) != LOSSES_MAX:
            self.lost.append(f"{job_id} failed as lost after {len(losses)} losses: {record}")

    def _children(self):
        """What was emitted is there exactly once, and only from those who ended well or say so."""
        children = defaultdict(Counter)
        for job in self.jobs.values():
            if job["queue"] == "leaf":
                children[job["params"]["parent"]][job["params"]["n"]] += 1
        for job in self.jobs.values():
            kind = job["params"]["kind"]
            made = children.pop(job["id"], Counter())
            wanted = {"parent": PARENTED, "list": LISTED}.get(kind, 0)
            twice = [n for n, count in made.items() if count > 1]
            if twice:
                self.broken.append(f"{job['id']} ({kind}) has made {twice} more than once")
            if job["state"] == "done" and sorted(made) != list(range(1, wanted + 1)):
                self.broken.append(f"{job['id']} ({kind}) is done and has made {sorted(made)}")
            if job["state"] != "done" and kind == "parent" and made:
                self.broken.append(f"{job['id']} is {job['state']} and has made {sorted(made)}")
        if children:
            self.broken.append(f"jobs of parents that are not there: {list(children)}")

    def _kept_counts(self):
        kept = self.client.counts()
        if kept != counted(self.jobs.values()):
            self.broken.append(f"the kept counts are {kept}, counted are "
                               f"{counted(self.jobs.values())}")

    def counts(self):
        states = Counter(job["state"] for job in self.jobs.values())
        return {"jobs": len(self.jobs), "runs": sum(self.began.values()), "done": states["done"],
                "failed": states["failed"]}
