# SPDX-License-Identifier: MIT
"""Properties of jobs that lead to, make or wait for others, as judge.py judges them."""
from collections import defaultdict

FOR_EVER = float("inf")


def emits(book):
    """Jobs that an attempt emitted exist once if it was done, else not; visible ones at once."""
    for name, ops in book.emits.items():
        there = len(book.own[name])
        if any(op.get("page") is not None for op in ops):
            continue  # pages() judges these
        if any(op.get("visible") and op["outcome"] == "ok" for op in ops) and there == 0:
            yield f"{name} was emitted as visible, and is not there"
        hidden = [op for op in ops if not op.get("visible")]
        done = [op for op in hidden if book.done_by(op["id"], op["lease"])]
        if any(op["outcome"] == "ok" for op in done) and there == 0:
            yield (f"{name} was emitted by an attempt of {done[0]['id']} that "
                   f"was done, and is not there")
        if hidden and not done and there:
            yield (f"{name} was emitted by an attempt of {hidden[0]['id']} that "
                   f"was not done, and is there")


def pages(book):
    """Who resumes from a cursor makes each part once."""
    for name, attempts in book.attempts.items():
        wanted = attempts[0][3].get("pages") or 0
        done = [job for job in book.own[name] if job["state"] == "done"]
        for page in range(wanted if done else 0):
            if len(book.own[f"{name}/{page}"]) != 1:
                yield (f"{name} is done, and "
                       f"page {page} is there {len(book.own[f'{name}/{page}'])} times")


def _leads(book, job):
    """Where its success leads, by its queue and by itself."""
    params = job.get("params") or {}
    leads = list(book.rules.get("on_success", {}).get(job["queue"], []))
    attempts = book.attempts.get(params.get("name"))
    if attempts and "way" not in params and "join" not in params:
        leads += attempts[0][3].get("leads") or []
    return leads


def chains(book):
    """Every success makes one job for each of its destinations."""
    for job in book.jobs.values():
        wanted = book.done_times(job)
        for lead in _leads(book, job):
            made = book.made[job["id"], lead["way"]] if "way" in lead else None
            if made is not None and len(made) != wanted:
                yield (f"{job['id']} was done {wanted} times and "
                       f"made {len(made)} jobs as {lead['way']}")
    for (cause, way), jobs in book.made.items():
        if jobs and cause not in book.jobs:
            yield f"{jobs[0]['id']} was made as {way} by {cause}, which is not there"


def joins(book):
    """A join fires as often as its count goes into the arrivals; the rest wait."""
    certain, doubtful = defaultdict(int), defaultdict(int)
    for op in book.of["arrive"]:
        if op["outcome"] != "fail":
            (certain if op["outcome"] == "ok" else doubtful)[op["join"], op["key"]] += 1
    for job in book.jobs.values():
        for lead in _leads(book, job):
            if "join" in lead:
                certain[lead["join"], job["params"]["group"]] += book.done_times(job)
    for join, key in {*certain, *doubtful, *book.fired}:
        fired, left = len(book.fired[join, key]), book.joins.get(join, {}).get(key, 0)
        count = book.rules["joins"][join]
        arrived = fired * count + left
        least = certain[join, key]
        if not least <= arrived <= least + doubtful[join, key] or left >= count:
            yield (f"{join} {key} has fired {fired} times for {count} each and {left} wait, after "
                   f"{least} arrivals and {doubtful[join, key]} in doubt")


def _raises(book):
    """(signal, count, asked at, certain) of all that may have raised one."""
    for op in book.of["raise"]:
        if op["outcome"] != "fail":
            yield op["signal"], op["count"], op["t0"], op["outcome"] == "ok"
    told = set()
    for op in book.of["finish"]:
        for name, count in (op.get("raises") or {}).items():
            if op["outcome"] != "fail" and (op["id"], op["lease"]) not in told:
                told.add((op["id"], op["lease"]))
                if book.done_by(op["id"], op["lease"]):
                    yield name, count, op["t0"], True
    for job in book.jobs.values():
        for lead in _leads(book, job):
            if "signal" in lead:
                ends = [op["t0"] for op in book.finished[job["id"]]]
                yield lead["signal"], book.done_times(job), min(ends, default=FOR_EVER), True


def _conditions(book):
    """(job, condition) of all that wait for something."""
    for name, attempts in book.attempts.items():
        for condition in attempts[0][3].get("after") or []:
            for job in book.own[name]:
                yield job, condition


def signals(book):
    """The level of a signal is what it was raised by, less what was taken."""
    least, most, taken = defaultdict(int), defaultdict(int), defaultdict(int)
    for name, count, _, certain in _raises(book):
        most[name] += count
        least[name] += count if certain else 0
    for job, condition in _conditions(book):
        if condition.get("take") and job["state"] in ("done", "failed"):
            taken[condition["signal"]] += condition["count"]
    for name in {*most, *book.signals}:
        level = book.signals.get(name, 0)
        if not least[name] <= level + taken[name] <= most[name]:
            yield (f"signal {name} is at {level}, {taken[name]} were taken, and it was raised by "
                   f"{least[name]} to {most[name]}")


def waiting(book):
    """Who waits is released after what it waits for, and only then."""
    raised = sorted(_raises(book), key=lambda one: one[2])
    taken = defaultdict(list)  # signal: (granted at, count)
    for job, condition in _conditions(book):
        grants = book.grants[job["id"]]
        first = grants[0] if grants else None
        if "signal" not in condition:
            yield from _after_job(book, job, condition, first)
        elif first:
            if condition.get("take"):
                taken[condition["signal"]].append((first.t1, condition["count"]))
            elif _sum(raised, condition["signal"], first.t1) < condition["count"]:
                yield f"{job['id']} waited for {condition}, and was granted too early: {first}"
    for name, takes in taken.items():
        total = 0
        for at, count in sorted(takes):
            total += count
            if total > _sum(raised, name, at):
                yield (f"signal {name}: {total} were taken by {at:.3f}, "
                       f"and it was not yet raised by as much")
                break


def _sum(raised, name, until):
    return sum(count for signal, count, at, _ in raised if signal == name and at < until)


def _after_job(book, job, condition, first):
    """On the success of another job."""
    targets = book.own[condition["name"]]
    target = targets[0] if targets else None
    if target is None:
        yield f"{job['id']} waits for {condition['name']}, which is not there"
        return
    ends = [op["t0"] for op in book.finished[target["id"]] if op["outcome"] != "fail" and
            op["state"] == "done"]
    if first and first.t1 < min(ends, default=FOR_EVER):
        yield f"{job['id']} waited for {target['id']}, and was granted too early: {first}"
    if book.retries[target["id"]] or book.retries[job["id"]]:
        return
    given_up = job["state"] == "cancelled" and job.get("cause") == "dependency"
    if target["state"] == "done" and given_up:
        yield f"{job['id']} was cancelled, though {target['id']}, for which it waited, was done"
    if target["state"] in ("failed", "cancelled") and job["state"] != "cancelled":
        yield (f"{job['id']} is {job['state']}, though {target['id']}, "
               f"for which it waited, is {target['state']}")


PROPERTIES = {"emits": emits, "pages": pages, "chains": chains, "joins": joins, "signals": signals,
              "waiting": waiting}
