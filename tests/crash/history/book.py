# SPDX-License-Identifier: MIT
"""A recorded history and the final state, indexed for those who judge them.

A history is a list of operations, one JSON object a line.  Common to all:

  op        the request (below), `fault` for an act of the nemesis, or `rules` for definitions
  client    who asked, and `server`: the number of the server that was asked
  t0, t1    when it was invoked and when its outcome was known, in seconds on one monotonic clock
  outcome   ok: acknowledged · fail: surely without effect · unknown: anything may have happened

  submit    jobs [{name, queue, key?, after?, kind?}], outcomes [one a job], ids [one a job or null]
  claim     worker, period (of the leases, in seconds), grants [{id, lease, name, attempt, left}];
            left: the seconds until the deadline in the reply, when the reply came
  touch     id, lease, lost (the reply said that the lease is)
  finish    id, lease, state, mark (its text), result?, emits [names], raises {signal: n},
            code (of a refusal), ended (the state that the job has got instead of done)
  emit      id, lease, seq, names, visible, page (with a cursor) or null
  cancel    id, state (of the reply)            retry    id
  raise     signal, count                       arrive   join, key
  publish   topic, name, ids                    read     id, job (null: 404)
  fault     kind, target (a server's number, or null: the store), t0, t1, effect (what it has hit;
            0: it has not happened)
  rules     on_success {queue: [{queue, way} | {join} | {signal}]}, joins {name: count}, patience

The name of a job is in its params.  A job that another's end has made has the name of that one, and
`way` beside it.  The final state is what the API shows when all is healed and drained: {jobs: [all,
with progress], signals: {name: level}, joins: {name: {key: waiting}}}.
"""
import json
from collections import defaultdict

ENDED = {"done", "failed", "cancelled"}


class Grant:
    """One job of one claim's reply, and what is known of its lease."""

    def __init__(self, claim, item):
        self.id, self.lease = item["id"], item["lease"]
        self.fence = int(self.lease.split(".")[0])
        self.attempt, self.name = item.get("attempt"), item.get("name")
        self.left = item.get("left", claim["period"])
        self.t0, self.t1, self.period = claim["t0"], claim["t1"], claim["period"]
        self.worker, self.server = claim["worker"], claim["server"]
        self.released_at = float("inf")  # the first request that may have given it back
        self.lives_until = self.t0 + self.period  # for certain, unless it is given back

    def __repr__(self):
        return (f"lease {self.lease} of {self.worker} at server {self.server}, "
                f"{self.t0:.3f}-{self.t1:.3f}")

    def certain(self):
        """The time in which it was live, whatever the clocks and delays were."""
        return self.t1, min(self.lives_until, self.released_at)


class Book:
    def __init__(self, operations, final):
        self.ops = sorted(operations, key=lambda op: op["t0"])
        self.of = defaultdict(list)  # kind: operations
        for op in self.ops:
            self.of[op["op"]].append(op)
        self.rules = self.of["rules"][0] if self.of["rules"] else {}
        # How many times slower than usual everything may be.
        self.patience = self.rules.get("patience", 1)
        self.faults = self.of["fault"]
        self.jobs = {job["id"]: job for job in final["jobs"]}
        self.signals, self.joins = final["signals"], final["joins"]
        self.listed = [job["id"] for job in final["jobs"]]
        self._index_submits()
        self._index_leases()
        self._index_jobs()

    def _index_submits(self):
        self.attempts = defaultdict(list)  # name: (operation, outcome, id, job)
        for op in self.of["submit"]:
            for job, outcome, job_id in zip(op["jobs"], op["outcomes"], op["ids"]):
                self.attempts[job["name"]].append((op, outcome, job_id, job))
        self.emits = defaultdict(list)  # name: operations, finishes with `emits` among them
        for op in self.of["emit"]:
            for name in op["names"]:
                self.emits[name].append(op)
        for op in self.of["finish"]:
            for name in op.get("emits") or []:
                self.emits[name].append(op)
        self.published = defaultdict(list)
        for op in self.of["publish"]:
            self.published[op["name"]].append(op)

    def _index_leases(self):
        self.grants = defaultdict(list)  # id: grants, in the order of their replies
        self.granted = {}  # (id, lease): the first grant
        for op in self.of["claim"]:
            for item in op.get("grants") or []:
                grant = Grant(op, item)
                self.grants[grant.id].append(grant)
                self.granted.setdefault((grant.id, grant.lease), grant)
        for grants in self.grants.values():
            grants.sort(key=lambda grant: grant.t1)
        self.finishes = defaultdict(list)  # (id, lease): finishes
        self.finished = defaultdict(list)  # id: finishes
        for op in self.of["finish"]:
            self.finishes[op["id"], op["lease"]].append(op)
            self.finished[op["id"]].append(op)
            grant = self.granted.get((op["id"], op["lease"]))
            if grant and op["outcome"] != "fail":
                grant.released_at = min(grant.released_at, op["t0"])
        for op in self.of["touch"]:
            grant = self.granted.get((op["id"], op["lease"]))
            if grant and op["outcome"] == "ok" and not op["lost"]:
                grant.lives_until = max(grant.lives_until, op["t0"] + grant.period)

    def _index_jobs(self):
        self.own = defaultdict(list)   # name: jobs that somebody made
        self.made = defaultdict(list)  # (id of the cause, way): jobs that an end made
        self.fired = defaultdict(list)  # (join, key): jobs that a join made
        for job in self.jobs.values():
            params = job.get("params") or {}
            if "join" in params:
                self.fired[params["join"]["name"], params["join"]["key"]].append(job)
            elif "way" in params:
                self.made[params["cause"]["id"], params["way"]].append(job)
            else:
                self.own[params.get("name")].append(job)
        self.retries = defaultdict(list)  # id: retries that may have had an effect
        for op in self.of["retry"]:
            if op["outcome"] != "fail":
                self.retries[op["id"]].append(op)

    def done_times(self, job):
        """How often its record says that it was done."""
        return sum(1 for entry in job.get("progress") or [] if entry["state"] == "done")

    def done_by(self, job_id, lease):
        """The finish under that lease has made the job done, as its record says."""
        marks = {op["mark"] for op in self.finishes[job_id, lease] if op["state"] == "done"}
        record = (self.jobs.get(job_id) or {}).get("progress") or []
        return any(entry["state"] == "done" and entry.get("text") in marks for entry in record)

    def at_risk(self, start, end, but=()):
        """Whether any fault, but these kinds, was there at any time of these."""
        return any(fault["t0"] < end and start < fault["t1"] and fault["kind"] not in but
                   for fault in self.faults)


def read(path):
    """The operations of a file; a last line that was cut off is left out."""
    operations = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):
                operations.append(json.loads(line))
    return operations
