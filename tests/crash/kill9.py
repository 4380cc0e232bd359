#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""kill -9 under load, and a checker that knows every operation that was attempted and acknowledged.

  kill9.py [--rounds N] [--operations N] [--actors N] [--seed N]
  kill9.py --fault commit.before [--counts 1-40]

Each round: several clients do things of all kinds; after so many acknowledged operations the
server is killed at a random moment (or kills itself at the COUNT-th hit of a fault point) and
started again, which must work unaided; then its whole state is compared with the books.  The last
line is the verdict as JSON.  Exit status 0: lost 0, unexpected 0, nothing broken.
"""
import argparse
import faulthandler
import json
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from actor import Actor  # noqa: E402
from books import Ledger  # noqa: E402
from checker import Checker  # noqa: E402
from waiting import PATIENCE  # noqa: E402
from waybill import Server  # noqa: E402

ROUNDS_A_STORE = 20  # then a fresh one: the lists must not grow for ever
ROUND_DEADLINE_S = 120 * PATIENCE


def definitions(actors):
    lines = ["queues:", "  shared: {}", "  lossy: {}", "  empty: {}"]
    for n in range(actors):
        lines.append(f"  home{n}: {{retry: {{max: 2, first: 20ms, jitter: 0}}}}")
        lines.append(f"  away{n}: {{}}")
    return "\n".join(lines) + "\n"


class Torture:
    def __init__(self, args):
        self.args = args
        self.rng = random.Random(args.seed)
        self.rounds = 0
        self.totals = dict.fromkeys(("attempted", "acknowledged", "recovered"), 0)
        self.lost, self.unexpected, self.broken = [], [], []

    # ---- one store

    def new_store(self):
        self.dir = tempfile.mkdtemp(prefix="waybill-kill9.")
        self.server = Server(self.dir, definitions=definitions(self.args.actors))
        self.ledger = Ledger()
        self.actors = [Actor(n, random.Random(self.rng.random()),
                             self.ledger) for n in range(self.args.actors)]
        self.records = {}
        self.server.start()

    def end_store(self):
        try:
            self.server.finish_up()
        except AssertionError as fault:
            self.broken.append(f"the end: {fault}")
        for name in self.totals:
            self.totals[name] += getattr(self.ledger, name)
        if self.failed():
            print(f"the store is kept in {self.dir}")
        else:
            shutil.rmtree(self.dir, ignore_errors=True)

    def failed(self):
        return bool(self.lost or self.unexpected or self.broken)

    # ---- one round

    def work(self, until):
        """Lets the actors work until the condition holds or the server is gone; then kills it."""
        stop = threading.Event()
        threads = []
        for actor in self.actors:
            actor.connect(self.server)
            threads.append(threading.Thread(target=actor.run, args=(stop,), daemon=True))
            threads[-1].start()
        end = time.monotonic() + ROUND_DEADLINE_S
        while not until() and not stop.is_set() and self.server.running():
            if time.monotonic() > end:
                self.broken.append(f"the round took longer than {ROUND_DEADLINE_S} s")
                break
            stop.wait(0.005)
        self.server.kill()
        for thread in threads:
            thread.join(60)
            if thread.is_alive():
                self.broken.append("a client hangs though the server is gone")
        self.broken += self.ledger.faults
        self.ledger.faults = []

    def random_kill(self):
        """True when the moment has come: enough is acknowledged, and a little later."""
        goal = self.ledger.acknowledged + self.args.operations
        pause = self.rng.uniform(0, 0.1)
        moment = None

        def now():
            nonlocal moment
            if moment is None and self.ledger.acknowledged >= goal:
                moment = time.monotonic() + pause
            return moment is not None and time.monotonic() >= moment
        return now

    def restart(self, env=None):
        begun = time.monotonic()
        try:
            self.server.start(env)
        except AssertionError as fault:
            self.broken.append(f"no restart: {fault}")
            return None
        return time.monotonic() - begun

    def start_with(self, fault):
        """True when it has come so far as to be ready; else it must have died of the fault."""
        self.server.stop()
        self.server.spawn({"WAYBILL_FAULT": fault})
        if self.server.wait_ready():
            return True
        status = self.server.wait_exit()
        if status != -9:
            self.broken.append(f"exit status {status} at the start, with {fault}")
        return False

    def check(self):
        checker = Checker(self.server, self.ledger, self.actors, self.records, self.rng)
        try:
            checker.run()
        except (AssertionError, OSError, KeyError, ValueError) as error:
            self.broken.append(f"the check: {type(error).__name__}: {error}")
        self.lost += checker.lost
        self.unexpected += checker.unexpected
        self.broken += checker.broken

    def round(self, fault=None):
        self.rounds += 1
        faulthandler.dump_traceback_later(3 * ROUND_DEADLINE_S, exit=True)  # nothing hangs for ever
        before = self.ledger.acknowledged
        if not fault:
            self.work(self.random_kill())
        elif self.start_with(fault):
            self.work(lambda: False)
        took = self.restart()
        if took is not None:
            self.check()
            done = self.ledger.acknowledged - before
            print(f"round {self.rounds}: {done} acknowledged, ready after {took * 1000:.0f} ms"
                  f"{', ' + fault if fault else ''}")
        for kind in ("lost", "unexpected", "broken"):
            for text in getattr(self, kind)[:10]:
                print(f"  {kind}: {text}")

    def run(self):
        plans = [None] * self.args.rounds
        if self.args.fault:
            first, last = (int(n) for n in self.args.counts.split("-"))
            plans = [f"{self.args.fault}:{count}" for count in range(first, last + 1)]
        for n, plan in enumerate(plans):
            if n % ROUNDS_A_STORE == 0:
                if n:
                    self.end_store()
                self.new_store()
            self.round(plan)
            if self.failed():
                break
        self.end_store()

    def verdict(self):
        return {**self.totals, "lost": len(self.lost), "unexpected": len(self.unexpected),
                "broken": len(self.broken),
                "rounds": self.rounds, "seed": self.args.seed}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=int(os.environ.get("WAYBILL_ROUNDS", 3)))
    parser.add_argument("--operations", type=int, default=1000, help="acknowledged before a kill")
    parser.add_argument("--actors", type=int, default=6)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--fault", help="a fault point, see src/base/os/fault.h")
    parser.add_argument("--counts", default="1-20", help="hits of the fault point, FIRST-LAST")
    args = parser.parse_args()
    if args.seed is None:
        args.seed = random.SystemRandom().randrange(1 << 32)
    sys.stdout.reconfigure(line_buffering=True)
    torture = Torture(args)
    torture.run()
    print(json.dumps(torture.verdict()))
    return 1 if torture.failed() else 0


if __name__ == "__main__":
    sys.exit(main())
