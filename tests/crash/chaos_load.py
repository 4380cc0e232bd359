# SPDX-License-Identifier: MIT
"""The load of a chaos: programs that tell of their runs, and those who hand in jobs for them.

Each run appends `begin ID LEASE STEP` and `end ID LEASE STEP` to one file, and holds a lock of its
job's id, which all that it starts inherits: whoever finds it taken runs at the same time as its own
job, or as something that an earlier run of it has left.
"""
import json
import threading
from pathlib import Path

from waybill import BIN  # turmoil.py has shown the way to tests/e2e

LISTED = 12   # jobs that one of kind `list` makes, one by one, with a cursor after each
PARENTED = 2  # jobs that one of kind `parent` makes by ending well

PROGRAM = """#!/bin/sh
# PLACE KIND SECONDS
exec 9>>"$1/locks/$WAYBILL_ID"
flock -n -E 77 9
[ $? = 77 ] && echo "$WAYBILL_ID $WAYBILL_LEASE $$" >>"$1/overlaps"
echo "begin $WAYBILL_ID $WAYBILL_LEASE $WAYBILL_STEP" >>"$1/runs"

say() {
    echo "$1" >&3
    read -r answer <&4
    case $answer in ok*) ;; *) echo "$1: $answer"; exit 70 ;; esac
}

leaf() {
    printf '{"queue":"leaf","params":{"kind":"leaf","seconds":"0","parent":"%s","n":%s}}\\n' \\
        "$WAYBILL_ID" "$1"
}

case $2 in
daemon) setsid sleep 1000 & ;;
deep) sh -c 'setsid sleep 1000 & sleep 1000 & wait' & ;;
stubborn) trap '' TERM HUP INT ;;
chatty) yes "line of $WAYBILL_ID" | head -n 3000; echo 'progress 1/2 half' >&3 ;;
parent)
    say "emit $(leaf 1)"
    say "emit $(leaf 2)"
    ;;
list)
    [ -n "${WAYBILL_CURSOR:-}" ] || say 'cursor 0'
    n=${WAYBILL_CURSOR:-0}
    while [ "$n" -lt 12 ]; do
        n=$((n + 1))
        say "emit! $(leaf $n)"
        say "cursor $n"
    done
    ;;
flaky) [ "$WAYBILL_ATTEMPT" != 1 ] || exit 1 ;;
setter) say "set s$WAYBILL_STEP $WAYBILL_STEP" ;;
verbs)
    "${0%/*}/waybill" set "s$WAYBILL_STEP:=$WAYBILL_STEP" || exit 70
    "${0%/*}/waybill" raise dump 3 || exit 70
    ;;
raiser) say 'raise dump 3' ;;
adder) say 'step {"name":"added","queue":"third","params":{"kind":"setter","seconds":"0"}}' ;;
teller)
    from=$WAYBILL_ID/$WAYBILL_STEP
    say 'emit {"topic":"news","params":{"kind":"plain","seconds":"0","from":"'"$from"'"}}'
    ;;
bad)
    sleep "$3"
    say 'err it is bad'
    exit 0
    ;;
esac
sleep "$3"
echo "end $WAYBILL_ID $WAYBILL_LEASE $WAYBILL_STEP" >>"$1/runs"
"""

RESIDENT = """#!/usr/bin/python3
import fcntl, json, os, sys, time

place = sys.argv[1]

def tell(name, text):
    with open(f"{place}/{name}", "a") as file:
        file.write(text + "\\n")

for line in sys.stdin:
    job = json.loads(line)["job"]
    step = job.get("step", {}).get("number", 1)
    with open(f"{place}/locks/{job['id']}", "a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("overlaps", f"{job['id']} {job['lease']} {os.getpid()}")
        tell("runs", f"begin {job['id']} {job['lease']} {step}")
        time.sleep(float(job["params"]["seconds"]))
        tell("runs", f"end {job['id']} {job['lease']} {step}")
    if "step" in job:
        os.write(3, f"{job['id']} set s{step} {step}\\n".encode())
    os.write(3, f"{job['id']} done\\n".encode())
"""

DEFINITIONS = """
queues:
  work: &plain
    command: [./program, "{place}", "{{kind}}", "{{seconds}}"]
    retry: {{max: 1000, first: 30ms, factor: 1.5, cap: 500ms, jitter: 0.5}}
  leaf: *plain
  resident:
    command: [./resident, "{place}"]
    resident: true
    slots: 1
    idle: 2s
    retry: {{max: 1000, first: 30ms, cap: 500ms}}
  hands:
    retry: {{max: 1000, first: 30ms, cap: 500ms}}
"""

KINDS = {"plain": 10, "daemon": 3, "deep": 2, "stubborn": 2, "chatty": 1, "parent": 3, "list": 1,
         "resident": 4}
QUEUE_OF = {"resident": "resident", "hand": "hands"}  # of kinds; of others: work


def write_programs(directory, place, definitions=DEFINITIONS):
    """Into the directory of the definitions; the definitions."""
    for name, text in (("program", PROGRAM), ("resident", RESIDENT)):
        path = Path(directory) / name
        path.write_text(text)
        path.chmod(0o755)
    (Path(directory) / "waybill").symlink_to(BIN)
    (place / "locks").mkdir(parents=True)
    return definitions.format(place=place)


class Submitter:
    """Submits jobs of some kinds until told to stop; repeats unanswered ones with the same key."""

    def __init__(self, make_client, rng, backlog, kinds=None):
        self.make_client = make_client
        self.rng = rng
        self.backlog = backlog
        self.kinds = kinds or KINDS
        self.queues = {QUEUE_OF.get(kind, "work") for kind in self.kinds} | {"leaf"}
        self.attempted = 0
        self.acknowledged = {}  # id: the job as it was handed in
        self.faults = []
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _job(self):
        kind = self.rng.choices(list(self.kinds), self.kinds.values())[0]
        seconds = self.rng.choice([0, 0, 0.01, 0.05, 0.2, 0.6])
        self.attempted += 1
        return {"queue": QUEUE_OF.get(kind, "work"),
                "key": f"{kind}-{self.attempted}",
                "params": {"kind": kind, "seconds": str(seconds)}}

    def _jobs(self):
        """Those of one request."""
        return [self._job() for _ in range(self.rng.randrange(1, 20))]

    def _ask(self, client, path, *args, refusals=(), **named):
        """The reply, or None: nobody knows."""
        try:
            reply = client.post(path, *args, **named)
        except Exception:  # pylint: disable=broad-except
            return None  # http.client says in many ways that a reply was cut off
        if reply.status in (200, 201, 202, *refusals):
            return reply
        if reply.status not in (503, 507):
            self.faults.append(f"{path}: {reply.status} {reply.body[:300]!r}")
        return None

    def _ids(self, client, jobs):
        """What they are called; None: the same again is safe."""
        text = "".join(json.dumps(job) + "\n" for job in jobs)
        reply = self._ask(client, "/v1/jobs", text,
                          headers={"Content-Type": "application/x-ndjson"})
        if reply is None or len(reply.lines) != len(jobs):
            return None
        ids = [line.get("id") for line in reply.lines]
        return ids if all(ids) else None

    def _hand_in(self, client, jobs):
        ids = self._ids(client, jobs)
        if ids:
            self.acknowledged.update(zip(ids, jobs))
        return ids

    def _besides(self, client):
        """What else there is to do, now and then."""

    def help_out(self, client):
        """Called in the end, when nothing is left that could go on by itself."""

    def _waiting(self, client):
        counts = client.counts()
        return sum(n for queue in self.queues for state, n in counts.get(queue, {}).items()
                   if state in ("ready", "running", "scheduled", "staged", "held"))

    def _run(self):
        client = self.make_client()
        while not self.stop.is_set():
            try:
                if self._waiting(client) >= self.backlog:
                    self.stop.wait(0.05)
                    continue
            except Exception:  # pylint: disable=broad-except
                self.stop.wait(0.05)
                continue
            jobs = self._jobs()
            while not self._hand_in(client, jobs):
                self.stop.wait(0.05)
            self._besides(client)
