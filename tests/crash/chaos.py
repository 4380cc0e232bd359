#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Server, workers and programs killed, stopped and continued at random, under load.

  chaos.py [--seconds N] [--seed N] [--keep]

One server with its own worker and two separate workers carry out jobs of many kinds while things
happen to all of them, and to the connections of one.  In the end everything is started again and the backlog is worked off.  Then:
every job ran and is done (or was lost six times, which its record tells), none ran at the same time
as itself or as something that an earlier run had left, what was emitted is there exactly once, no
process of ours is left, and the store passes its check.  The last line is the verdict as JSON.
"""
import argparse
import faulthandler
import json
import random
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from chaos_judge import Judge  # noqa: E402
from chaos_load import Submitter, write_programs  # noqa: E402
from proxy import Proxy  # noqa: E402
from processes import Process, every, of_place  # noqa: E402
from waiting import PATIENCE, Background, eventually  # noqa: E402
from waybill import Server  # noqa: E402
from worker import Worker  # noqa: E402

LEASE_S = 5            # of the separate workers
STOP_S = 1.2           # the longest stop: well below it
BACKLOG = 60
DRAIN_S = 150 * PATIENCE


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Chaos:
    def __init__(self, args):
        self.args = args
        self.rng = random.Random(args.seed)
        self.dir = Path(tempfile.mkdtemp(prefix="waybill-chaos."))
        self.place = self.dir / "place"
        self.server = Server(self.dir / "s", definitions="", slots=2,
                             listen=f"127.0.0.1:{free_port()}")
        self.server.define(write_programs(self.server.dir, self.place))
        self.server.start()
        options = ["--lease", f"{LEASE_S}s", "--grace", "1s"]
        self.proxy = Proxy(self.server.port)
        self.workers = [Worker(self.server, "one", slots=3, args=options),
                        Worker(self.server, "two", slots=2, url=self.proxy.url, args=options)]
        for worker in self.workers:
            worker.start()
        self.submitter = Submitter(self.server.tcp, random.Random(self.rng.random()), BACKLOG)
        self.later = []  # (when, what): things that are to follow
        self.done = Counter()
        self.broken, self.left = [], []

    # ---- what happens

    def after(self, seconds, call):
        self.later.append((time.monotonic() + seconds, call))

    def pause(self):
        return self.rng.choice([0, self.rng.uniform(0, 0.3), self.rng.uniform(0, STOP_S)])

    def stop_and_continue(self, process):
        process.send(signal.SIGSTOP)
        self.after(self.rng.uniform(0.02, STOP_S), lambda: process.send(signal.SIGCONT))

    def server_killed(self):
        if self.server.running():
            self.server.kill()
            self.after(self.pause(), self.start_server)

    def server_stopped(self):
        if self.server.running():
            self.stop_and_continue(Process(self.server.process.pid))

    def start_server(self):
        if not self.server.running():
            self.server.start()

    def worker_killed(self):
        worker = self.rng.choice(self.workers)
        if worker.running():
            worker.kill()
            longer = self.rng.random() < 0.15
            self.after(LEASE_S + 2 if longer else self.pause(), lambda: self.start_worker(worker))

    def worker_told_to_end(self):
        worker = self.rng.choice(self.workers)
        if worker.running():
            worker.send(signal.SIGTERM)
            self.after(self.rng.uniform(0, 3), lambda: self.start_worker(worker))

    def start_worker(self, worker):
        if worker.running():  # not gone yet
            self.after(0.2, lambda: self.start_worker(worker))
        else:
            worker.spawn()

    def worker_stopped(self):
        worker = self.rng.choice(self.workers)
        if worker.running():
            self.stop_and_continue(Process(worker.process.pid))

    def local_worker(self):
        """The child of serve; None when there is none now."""
        if not self.server.running():
            return None
        children = [p for p in every() if p.alive() and b"worker" in p.command()
                    and p.parent() == self.server.process.pid]
        return children[0] if children else None

    def local_killed(self):
        local = self.local_worker()
        if local:
            local.kill()

    def local_stopped(self):
        local = self.local_worker()
        if local:
            self.stop_and_continue(local)

    def programs(self):
        mark = str(self.server.data).encode()
        return [p for p in every() if p.alive() and b"WAYBILL_LEASE" in p.environ()
                and any(mark in value for value in p.environ().values())]

    def program_killed(self):
        programs = self.programs()
        for process in self.rng.sample(programs, min(len(programs), self.rng.randrange(1, 4))):
            process.send(signal.SIGKILL)

    def program_stopped(self):
        programs = self.programs()
        if programs:
            self.stop_and_continue(self.rng.choice(programs))

    def connection_cut(self):
        self.proxy.cut(b"POST", self.rng.randrange(1, 6), self.rng.random() < 0.5)

    def queue_restarted(self):
        """By somebody else: the server may be stopped, and would keep us."""
        name = self.rng.choice(["work", "resident"])
        Background(self.server.cli, "queue", "restart", name)

    HAPPENINGS = {"server_killed": 3, "server_stopped": 3, "worker_killed": 5, "worker_stopped": 4,
                  "worker_told_to_end": 2, "local_killed": 2, "local_stopped": 2,
                  "program_killed": 8, "program_stopped": 4, "queue_restarted": 1,
                  "connection_cut": 10}

    # ---- the run

    def do_what_is_due(self):
        due = [item for item in self.later if item[0] <= time.monotonic()]
        self.later = [item for item in self.later if item not in due]
        for _, call in due:
            call()

    def rage(self):
        end = time.monotonic() + self.args.seconds
        next_at = 0.0
        while time.monotonic() < end:
            self.do_what_is_due()
            if time.monotonic() >= next_at:
                name = self.rng.choices(list(self.HAPPENINGS), self.HAPPENINGS.values())[0]
                getattr(self, name)()
                self.done[name] += 1
                next_at = time.monotonic() + self.rng.expovariate(1 / 0.25)
            time.sleep(0.01)

    def calm(self):
        """All goes on; everything that should run runs, and the server is a fresh one."""
        for _, call in list(self.later):
            call()
        self.later = []
        self.proxy.cut(None, 0)
        for process in of_place(self.dir):
            process.send(signal.SIGCONT)
        for worker in self.workers:
            eventually(lambda w=worker: not w.running() or worker_is_up(w), "the end of a worker")
            if not worker.running():
                worker.spawn()
        if self.server.running():
            self.server.stop()
        self.server.start()

    def drain(self):
        client = self.server.tcp()

        def is_drained():
            counts = client.counts()
            return not any(n for states in counts.values() for state, n in states.items()
                           if state not in ("done", "failed", "cancelled"))

        try:
            eventually(is_drained, "the end of all jobs", DRAIN_S)
        except AssertionError as fault:
            waiting = [(job["id"], job["state"], job.get("reason")) for job in client.list()
                       if job["state"] not in ("done", "failed", "cancelled")]
            self.broken.append(f"{fault}: {waiting[:5]}")

    def judge(self):
        judge = Judge(self.server.tcp(), self.place, self.submitter.acknowledged)
        judge.run()
        self.judgement = judge
        self.broken += judge.broken + self.submitter.faults

    def end(self):
        for worker in self.workers:
            try:
                worker.finish_up()
            except AssertionError as fault:
                self.broken.append(str(fault))
        try:
            self.server.finish_up()
        except AssertionError as fault:
            self.broken.append(f"the end: {fault}")
        try:
            eventually(lambda: not of_place(self.dir), "the end of all processes")
        except AssertionError:
            left = of_place(self.dir)
            self.left = [repr(process) for process in left]
            for process in left:
                process.kill()

    def run(self):
        faulthandler.dump_traceback_later(self.args.seconds + 3 * DRAIN_S, exit=True)
        self.submitter.thread.start()
        self.rage()
        self.submitter.stop.set()
        self.calm()
        self.submitter.thread.join(60)
        self.drain()
        self.judge()
        self.end()

    # ---- the verdict

    def failed(self):
        return bool(self.broken or self.left or self.judgement.lost or self.judgement.overlapping)

    def verdict(self):
        judge = self.judgement
        return {"attempted": self.submitter.attempted,
                "acknowledged": len(self.submitter.acknowledged), **judge.counts(),
                "lost": len(judge.lost), "overlapping": len(judge.overlapping),
                "left": len(self.left), "broken": len(self.broken),
                "happened": sum(self.done.values()), "seed": self.args.seed}

    def report(self):
        print(", ".join(f"{name} {count}" for name, count in sorted(self.done.items())))
        found = (("lost", self.judgement.lost), ("overlapping", self.judgement.overlapping),
                 ("left", self.left), ("broken", self.broken))
        for word, texts in found:
            for text in texts[:10]:
                print(f"  {word}: {text}")
        if self.failed() or self.args.keep:
            print(f"everything is kept in {self.dir}")
        else:
            shutil.rmtree(self.dir, ignore_errors=True)
        print(json.dumps(self.verdict()))


def worker_is_up(worker):
    return "stopping" not in worker.log_text().rsplit("\n", 3)[-1] and worker.running()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--keep", action="store_true", help="leave everything, also after success")
    args = parser.parse_args()
    if args.seed is None:
        args.seed = random.SystemRandom().randrange(1 << 32)
    sys.stdout.reconfigure(line_buffering=True)
    faulthandler.register(signal.SIGUSR1)
    print(f"seed {args.seed}")
    chaos = Chaos(args)
    try:
        chaos.run()
    except BaseException:
        for process in of_place(chaos.dir):
            process.kill()
        raise
    chaos.report()
    return 1 if chaos.failed() else 0


if __name__ == "__main__":
    sys.exit(main())
