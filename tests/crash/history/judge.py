#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Judges a history: what clients asked and were told, and what the API shows in the end.

  judge.py DIR

DIR is that of a run: its history.jsonl and final.json.  Exit status 1: something speaks against a
property.  The judge knows nothing of the server's code and books.  Each property is a function over
a Book (book.py) that gives what speaks against it; links.py has those of jobs that lead to, make or
wait for others.  An interval is counted against the server only as far as it is certain: from a
reply to the next request.
"""
import argparse
import json
import sys
from bisect import bisect
from collections import Counter
from pathlib import Path

import links
from book import ENDED, Book, read

# Between the commit of a grant and its reply, without faults, on a busy machine.
LEASE_SLACK_S = 1.0
UNHEARD_S = 20.0      # how long a request may wait in a server after its client gave up
SILENCE_S = 3.0       # the longest pause of servers that nothing was done to
RETRY_S = 0.5         # who was refused asks again within this
BUSY = {None, "unavailable", "too_slow"}  # codes of refusals while the store is out of reach
GENTLE = {"slow_link", "very_slow_link"}  # faults in which a reply comes later by round trips only
# Faults in which a request waits: in a server that is stopped or cannot reach its store, or on its
# way to the server.
HOLDING = {"stop_short", "stop_long", "request_lost", "clients_lossy", "drop_out", "drop_in",
           "drop_both", "lossy_link", "slow_link", "very_slow_link", "reset_near", "reset_far",
           "reset_both", "backend_frozen", "backend_killed", "backend_terminated", "store_crash",
           "store_restart", "tables_locked", "locked_and_reset"}
# What is done to one server only, and to its connections; the others must go on.
ALONE = {"stop_short", "stop_long", "slow_link", "very_slow_link", "lossy_link", "drop_out",
         "drop_in", "drop_both", "reset_near", "reset_far", "backend_frozen"}


# ---- jobs

def lost(book):
    """What was acknowledged is there."""
    for name, attempts in book.attempts.items():
        for _, outcome, job_id, _ in attempts:
            if outcome == "ok" and job_id not in book.jobs:
                yield f"submit of {name} was acknowledged as {job_id}, which is not there"
            elif outcome == "ok" and (book.jobs[job_id].get("params") or {}).get("name") != name:
                yield f"submit of {name} was acknowledged as {job_id}, which is another job"
    for name, ops in book.published.items():
        for job_id in (job_id for op in ops if op["outcome"] == "ok" for job_id in op["ids"]):
            if job_id not in book.jobs:
                yield f"publication {name} was acknowledged with {job_id}, which is not there"


def duplicated(book):
    """One attempt makes one job at most; a key never makes two."""
    for name, jobs in book.own.items():
        places = Counter(job["queue"] for job in jobs) if name in book.published else \
            {None: len(jobs)}
        for place, count in places.items():
            if count > 1:
                yield f"{name} is there {count} times{f' in {place}' if place else ''}: " + \
                    ", ".join(job["id"] for job in jobs)
    for name, attempts in book.attempts.items():
        ids = {job_id for _, outcome, job_id, _ in attempts if outcome == "ok"}
        if len(ids) > 1:
            yield f"{name} has one key and was acknowledged as {sorted(ids)}"
    for job_id, count in Counter(book.listed).items():
        if count > 1:
            yield f"{job_id} is listed {count} times"


def unexpected(book):
    """Nothing is there that nobody attempted."""
    for name, jobs in book.own.items():
        if not (name in book.attempts or name in book.emits or name in book.published):
            yield f"{name} is there as {jobs[0]['id']}, and nobody has made it"
    for job_id in book.grants:
        if job_id not in book.jobs:
            yield f"{job_id} was granted, and is not there"


def refused(book):
    """What was refused had no effect."""
    for name, attempts in book.attempts.items():
        if all(outcome == "fail" for _, outcome, _, _ in attempts) and book.own[name]:
            yield f"submit of {name} was refused, and {book.own[name][0]['id']} is there"
    for name, ops in book.published.items():
        if all(op["outcome"] == "fail" for op in ops) and book.own[name]:
            yield f"publication {name} was refused, and {book.own[name][0]['id']} is there"
    for name, ops in book.emits.items():
        if all(op["outcome"] == "fail" for op in ops) and book.own[name]:
            yield f"emit of {name} was refused, and {book.own[name][0]['id']} is there"
    for (job_id, lease), ops in book.finishes.items():
        if all(op["outcome"] == "fail" for op in ops) and _entries(book, job_id, ops):
            yield f"{job_id}: the finish under {lease} was refused, and is in the record"


def _entries(book, job_id, ops):
    marks = {op["mark"] for op in ops}
    record = (book.jobs.get(job_id) or {}).get("progress") or []
    return [entry for entry in record if entry.get("text") in marks]


def hanging(book):
    """In the end, with everything healed, every job has ended."""
    for job in book.jobs.values():
        if job["state"] not in ENDED:
            yield f"{job['id']} is {job['state']}: {job.get('reason')}"


# ---- leases

def overlapping(book):
    """No two live leases of a job."""
    for job_id, grants in book.grants.items():
        for number, first in enumerate(grants):
            for second in grants[number + 1:]:
                start = max(first.certain()[0], second.certain()[0])
                end = min(first.certain()[1], second.certain()[1])
                if start < end and first.lease != second.lease:
                    yield f"{job_id}: {first} and {second} are live at {start:.3f}-{end:.3f}"


def fence(book):
    """Leases of a job never repeat, and their fence, the number they begin with, grows with each
    grant."""
    for job_id, grants in book.grants.items():
        for lease, count in Counter(grant.lease for grant in grants).items():
            if count > 1:
                yield f"{job_id}: lease {lease} was granted {count} times"
        for number, first in enumerate(grants):
            for second in grants[number + 1:]:
                if first.t1 <= second.t0 and second.fence <= first.fence:
                    yield f"{job_id}: {second} is below {first}"


def lease_short(book):
    """A granted lease lasts its period after the reply, unless it is given back."""
    for job_id, grants in book.grants.items():
        for number, first in enumerate(grants):
            if book.at_risk(first.t0 - 0.5, first.t1, GENTLE):
                continue
            slack = LEASE_SLACK_S * book.patience
            if first.left < first.period - slack:
                yield (f"{job_id}: {first} for {first.period} s had {first.left:.3f} s left "
                       "when it came")
            until = first.t1 + first.period - slack
            for second in grants[number + 1:]:
                if first.t1 <= second.t0 and second.t1 < min(until, first.released_at):
                    yield f"{job_id}: {first} for {first.period} s, then {second}"
            for op in book.finishes[job_id, first.lease]:
                if op.get("code") == "stale_lease" and op["t1"] < until and \
                        op["t0"] <= first.released_at:
                    yield f"{job_id}: {first} for {first.period} s was stale at {op['t1']:.3f}"


def stale(book):
    """Under a lease that another has followed nothing is accepted."""
    for op in [*book.of["finish"], *book.of["emit"]]:
        grant = book.granted.get((op["id"], op["lease"]))
        if op["outcome"] != "ok" or grant is None:
            continue
        for later in book.grants[op["id"]]:
            if grant.t1 <= later.t0 and later.t1 < op["t0"] and not _said_before(book, op, later):
                yield (f"{op['id']}: {op['op']} under {grant} was accepted "
                       f"at {op['t1']:.3f}, after {later}")


def _said_before(book, op, later):
    """The same was said when it may still have counted."""
    if op["op"] == "finish":
        same = book.finishes[op["id"], op["lease"]]
    else:
        same = [one for one in book.of["emit"] if (one["id"], one["lease"], one["seq"]) ==
                (op["id"], op["lease"], op["seq"])]
    return any(one["outcome"] != "fail" and one["t0"] < later.t1 for one in same)


# ---- ends

def finality(book):
    """An end that was acknowledged stays, with its result, unless somebody retries the job: after
    the first finish with that lease, as a repeated one is told of the end that there was."""
    tried = {}
    for op in book.of["finish"]:
        tried[op["id"], op["lease"]] = min(op["t0"], tried.get((op["id"], op["lease"]), op["t0"]))
    for job_id, end, state in _ends(book):
        job = book.jobs.get(job_id)
        since = tried.get((job_id, end.get("lease")), end["t0"])
        again = [op for op in book.retries[job_id] if _may_work_after(book, op, since)]
        if job is None or again:
            continue
        if job["state"] != state:
            yield f"{job_id} was {state} at {end['t1']:.3f}, and is {job['state']}"
        elif state == "done" and "result" in end and job.get("result") != end["result"]:
            yield f"{job_id} was done with {end['result']}, and shows {job.get('result')}"
        for grant in book.grants[job_id]:
            if grant.t0 > end["t1"]:
                yield f"{job_id} was {state} at {end['t1']:.3f}, then granted: {grant}"


def _may_work_after(book, op, moment):
    """A request whose client gave up may wait in a server that is held up, and take effect when
    the server goes on."""
    return op["t1"] > moment or op["outcome"] == "unknown" and op["t1"] + UNHEARD_S > moment and \
        _was_held_up(book, op)


def _was_held_up(book, request):
    """Whether a fault held up the server while this request was open.  A fault counts until the
    server has acknowledged a write that was asked after the healing."""
    server = request["server"]
    moved_at = max((op["t0"] for op in book.ops if op.get("server") == server and
                    op["op"] != "read" and op["outcome"] == "ok" and op["t1"] <= request["t0"]),
                   default=0)
    return any(fault["kind"] in HOLDING and fault["effect"] > 0 and
               fault["target"] in (None, server) and
               fault["t0"] < request["t1"] and fault["t1"] >= moved_at for fault in book.faults)


def _ends(book):
    """(id, operation, state) of those that were acknowledged."""
    for op in book.of["finish"]:
        if op["outcome"] == "ok" and op["state"] == "done" and "ended" not in op:
            yield op["id"], op, "done"
    for op in book.of["cancel"]:
        if op["outcome"] == "ok" and op.get("state") == "cancelled":
            yield op["id"], op, "cancelled"


def progress(book):
    """Every acknowledged end of an attempt is in the record, once; the record only grows."""
    for (job_id, lease), ops in book.finishes.items():
        counted = [op for op in ops if op["state"] in ("done", "failed", "later")]
        entries = _entries(book, job_id, counted) if counted else []
        if any(op["outcome"] == "ok" for op in counted) and not entries:
            yield f"{job_id}: the finish under {lease} was acknowledged, and is not in the record"
        if len(entries) > 1:
            yield f"{job_id}: the finish under {lease} is in the record {len(entries)} times"
    before = {}
    for op in sorted(book.of["read"], key=lambda op: op["t1"]):
        if op["outcome"] == "ok" and op.get("job"):
            before.setdefault(op["id"], []).append((op["t0"], op["t1"], op["job"]["progress"]))
    for job_id, reads in before.items():
        if job_id in book.jobs:
            reads.append((float("inf"), float("inf"), book.jobs[job_id].get("progress") or []))
        yield from _shrunk(job_id, reads)


def _shrunk(job_id, reads):
    for number, (_, t1, first) in enumerate(reads):
        for t0, _, second in reads[number + 1:number + 4]:
            if t1 <= t0 and [_short(e) for e in second[:len(first)]] != [_short(e) for e in first]:
                yield (f"{job_id}: the record had {len(first)} entries at {t1:.3f}, "
                       f"and is another at {t0:.3f}")


def _short(entry):
    return entry["state"], entry.get("attempt"), entry.get("text")


def reads(book):
    """What was acknowledged is seen by whoever asks afterwards, at any server."""
    made = {job_id: op["t1"] for op in book.of["submit"]
            for job_id, outcome in zip(op["ids"], op["outcomes"]) if outcome == "ok"}
    ended = {}
    for job_id, end, state in _ends(book):
        if not book.retries[job_id] and end["t1"] < ended.get(job_id, (float("inf"),))[0]:
            ended[job_id] = end["t1"], state
    for op in book.of["read"]:
        if op["outcome"] != "ok":
            continue
        if op.get("job") is None:
            if made.get(op["id"], float("inf")) < op["t0"]:
                yield (f"{op['id']} was made before {op['t0']:.3f}, "
                       f"and not found by server {op['server']}")
        elif op["id"] in ended and ended[op["id"]][0] < op["t0"] and \
                op["job"]["state"] != ended[op["id"]][1]:
            yield (f"{op['id']} was {ended[op['id']][1]} before {op['t0']:.3f}, and "
                   f"{op['job']['state']} by server {op['server']}")


# ---- servers

def silences(book):
    """(length, server, fault): how long servers were asked in vain while something was done to
    another one only."""
    asked = {}  # server: writes
    for op in sorted(book.ops, key=lambda op: op["t0"]):
        if "outcome" in op and op["op"] != "read":
            asked.setdefault(op["server"], []).append(op)
    for server, ops in asked.items():
        starts = [op["t0"] for op in ops]
        slowest = max(op["t1"] - op["t0"] for op in ops)
        for fault in book.faults:
            if fault["kind"] not in ALONE or server == fault["target"]:
                continue
            first, last = bisect(starts, fault["t0"] - slowest), bisect(starts, fault["t1"])
            yield _longest_pause(ops[first:last], fault["t0"], fault["t1"]), server, fault


def _is_answered(op):
    """By the engine; what clients are told while the store is out of reach is no answer."""
    return op["outcome"] == "ok" or op["outcome"] == "fail" and op.get("code") not in BUSY


def _longest_pause(ops, start, end):
    """The longest time within these in which requests were asked and none was answered.  While
    nobody asks, nobody is kept waiting: clients may all be waiting for the server that has the
    fault."""
    answers = [start,
               *sorted(op["t1"] for op in ops if _is_answered(op) and start < op["t1"] < end), end]
    longest = 0.0
    for before, after in zip(answers, answers[1:]):
        if after - before > longest:
            longest = max(longest, _longest_run(ops, before, after))
    return longest


def _longest_run(ops, start, end):
    """The longest time within these in which requests were open, or were made again soon."""
    longest, since, until = 0.0, start, float("-inf")
    for op in (op for op in ops if op["t0"] < end and op["t1"] > start):
        t0, t1 = max(op["t0"], start), min(op["t1"], end)
        if t0 - until > RETRY_S:
            since = t0
        until = max(until, t1)
        longest = max(longest, until - since)
    return longest


def silence(book):
    for length, server, fault in silences(book):
        if length > SILENCE_S * book.patience:
            yield (f"server {server} acknowledged nothing for {length:.1f} s of {fault['kind']} at "
                   f"server {fault['target']}, {fault['t0']:.3f}-{fault['t1']:.3f}")


PROPERTIES = {
    "lost": lost, "duplicated": duplicated, "unexpected": unexpected, "refused": refused,
    "hanging": hanging, "overlapping": overlapping, "fence": fence, "lease_short": lease_short,
    "stale": stale, "finality": finality, "progress": progress, "reads": reads, "silence": silence,
    **links.PROPERTIES,
}


def judge(operations, final):
    """The verdict, and what speaks against each property."""
    book = Book(operations, final)
    against = {name: list(find(book)) for name, find in PROPERTIES.items()}
    outcomes = Counter(op["outcome"] for op in book.ops if "outcome" in op)
    verdict = {
        "attempted": sum(outcomes.values()), "acknowledged": outcomes["ok"],
        "unknown": outcomes["unknown"], "refusals": outcomes["fail"], "jobs": len(book.jobs),
        "grants": sum(map(len, book.grants.values())),
        "lost": len(against["lost"]), "duplicated": len(against["duplicated"]),
        "unexpected": len(against["unexpected"]),
        "violations": {name: len(found) for name, found in against.items() if found},
        "faults": dict(sorted(Counter(fault["kind"] for fault in book.faults
                                      if fault["effect"] > 0).items())),
        "max_silence_s": round(max((one[0] for one in silences(book)), default=0), 2),
    }
    return verdict, against


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("dir", type=Path, help="the directory that run.py names when it keeps one")
    run = parser.parse_args().dir
    verdict, against = judge(read(run / "history.jsonl"),
                             json.loads((run / "final.json").read_text()))
    for name, found in against.items():
        for text in found[:20]:
            print(f"{name}: {text}")
    print(json.dumps(verdict))
    return 1 if verdict["violations"] else 0


if __name__ == "__main__":
    sys.exit(main())
