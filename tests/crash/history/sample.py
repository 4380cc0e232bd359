# SPDX-License-Identifier: MIT
"""A small history in which everything is right, for test_history_judge.py to bend."""

PERIOD_S = 4.0
RULES = {"op": "rules", "t0": 0,
         "on_success": {"chained": [{"queue": "noted", "way": "chain"}, {"join": "meet"},
                                    {"signal": "ended"}]},
         "joins": {"meet": 3}}


class Sample:
    """Each method is an operation that takes 0.01 s; `jobs` becomes the final state."""

    def __init__(self):
        self.now = 100.0
        self.ops = [dict(RULES)]
        self.jobs = {}
        self.leases = 0
        self.signals = {}
        self.joins = {"meet": {}}

    def op(self, kind, outcome="ok", server=0, **fields):
        self.now += 0.02
        self.ops.append({"op": kind, "client": "c", "server": server, "t0": self.now,
                         "t1": self.now + 0.01, "outcome": outcome, **fields})
        return self.ops[-1]

    def pass_time(self, seconds):
        self.now += seconds

    def job(self, queue, **params):
        job_id = f"J{len(self.jobs):03}"
        self.jobs[job_id] = {"id": job_id, "queue": queue, "state": "ready", "params": params,
                             "progress": []}
        return job_id

    def submit(self, name, queue="work", outcome="ok", known=None, **fields):
        job_id = known or (None if outcome == "fail" else self.job(queue, name=name, group="g"))
        self.op("submit", outcome, jobs=[{"name": name, "queue": queue, **fields}],
                outcomes=[outcome], ids=[job_id if outcome == "ok" else None])
        return job_id

    def claim(self, job_id, server=0):
        self.leases += 1
        lease = f"{self.leases}.L"
        self.op("claim", server=server, worker="w", period=PERIOD_S, grants=[
            {"id": job_id, "lease": lease, "name": self.jobs[job_id]["params"]["name"],
             "attempt": 1}])
        return lease

    def finish(self, job_id, lease, state="done", outcome="ok", **fields):
        self.op("finish", outcome, id=job_id, lease=lease, state=state,
                mark=f"{state} {lease}", **fields)
        job = self.jobs[job_id]
        entry = {"state": state, "attempt": 1, "text": f"{state} {lease}"}
        if outcome != "fail" and entry not in job["progress"]:
            job["progress"].append(entry)
            if state in ("done", "cancelled"):
                job.update(state=state,
                           **({"result": fields["result"]} if "result" in fields else {}))

    def work_off(self, job_id, **fields):
        self.finish(job_id, self.claim(job_id), **fields)

    def read(self, job_id, server=1):
        job = self.jobs[job_id]
        return self.op("read", server=server, id=job_id,
                       job={"state": job["state"],
                            "progress": [dict(entry) for entry in job["progress"]]})

    def final(self):
        return {"jobs": list(self.jobs.values()), "signals": self.signals, "joins": self.joins}


def _attempts(sample):
    """plain, keyed, refused, taken over after a lost worker, failed and tried again, cancelled,
    retried by hand."""
    plain = sample.submit("plain")
    sample.read(plain)
    sample.work_off(plain, result="one")
    sample.read(plain)
    doubtful = sample.submit("keyed", outcome="unknown", key="k")
    sample.submit("keyed", known=doubtful, key="k")
    sample.work_off(doubtful)
    sample.submit("refused", outcome="fail")
    taken = sample.submit("taken")
    late = sample.claim(taken)
    sample.pass_time(PERIOD_S + 0.5)
    lease = sample.claim(taken, server=1)
    sample.op("finish", "fail", id=taken, lease=late, state="done", mark=f"done {late}",
              code="stale_lease")
    sample.finish(taken, lease, result="two")
    sample.finish(taken, lease, result="two")
    failing = sample.submit("failing")
    sample.finish(failing, sample.claim(failing), "failed")
    sample.read(failing)
    sample.work_off(failing)
    cancelled = sample.submit("cancelled")
    sample.op("cancel", id=cancelled, state="cancelled")
    sample.jobs[cancelled]["state"] = "cancelled"
    retried = sample.submit("retried")
    sample.work_off(retried)
    sample.op("retry", id=retried)
    sample.work_off(retried)


def _links(sample):
    """Chains that meet in a join, signals, who waits, and a publication."""
    first = None
    for number in range(4):
        job_id = sample.submit(f"chained{number}", "chained")
        first = first or job_id
        if number == 0:
            waiter = sample.submit("waiter", after=[{"name": "chained0"}])
        sample.work_off(job_id)
        cause = {"id": job_id}
        sample.work_off(sample.job("noted", name=f"chained{number}", group="g", way="chain",
                                   cause=cause))
        if number == 2:
            sample.work_off(sample.job("met", name="chained2", group="g", way="join", cause=cause,
                                       join={"name": "meet", "key": "g", "jobs": []}))
    sample.work_off(waiter)
    sample.op("arrive", join="meet", key="g")
    sample.joins["meet"]["g"] = 2
    sample.signals["ended"] = 4
    taker = sample.submit("taker", after=[{"signal": "s", "count": 2, "take": True}])
    level = sample.submit("level", after=[{"signal": "s", "count": 3, "take": False}])
    sample.op("raise", signal="s", count=3)
    sample.work_off(level)
    sample.work_off(taker)
    sample.op("raise", "unknown", signal="s", count=1)
    sample.signals["s"] = 1
    ids = [sample.job(queue, name="told") for queue in ("news", "audit")]
    sample.op("publish", topic="news", name="told", ids=ids)
    for job_id in ids:
        sample.work_off(job_id)


def _emits(sample):
    """Of an attempt that is done, of one that has failed, and pages."""
    maker = sample.submit("maker")
    failed = sample.claim(maker)
    sample.op("emit", id=maker, lease=failed, seq=1, names=["dropped"], visible=False, page=None)
    sample.op("emit", id=maker, lease=failed, seq=2, names=["seen"], visible=True, page=None)
    sample.finish(maker, failed, "failed")
    lease = sample.claim(maker)
    sample.op("emit", id=maker, lease=lease, seq=1, names=["kept"], visible=False, page=None)
    sample.finish(maker, lease, emits=["with it"])
    lister = sample.submit("lister", pages=2)
    lease = sample.claim(lister)
    for page in range(2):
        sample.op("emit", id=lister, lease=lease, seq=page + 1, names=[f"lister/{page}"],
                  visible=True, page=page)
    sample.finish(lister, lease)
    for name in ("seen", "kept", "with it", "lister/0", "lister/1"):
        sample.work_off(sample.job("work", name=name))


def good():
    """(operations, final state)."""
    sample = Sample()
    _attempts(sample)
    _links(sample)
    _emits(sample)
    begun = sample.now
    for number in range(40):
        sample.pass_time(0.1)
        sample.op("raise", "fail", server=number % 2, signal="s", count=1)
        sample.op("touch", server=number % 2, id="J000", lease="none", lost=True)
    sample.ops.append({"op": "fault", "kind": "slow_link", "target": 2, "t0": begun,
                       "t1": sample.now, "effect": 40})
    return sample.ops, sample.final()
