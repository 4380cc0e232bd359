# SPDX-License-Identifier: MIT
"""What chaos.py and postgres_chaos.py have in common: random faults under load,
then calm, then judgement.

Who derives from Turmoil makes `servers`, `workers` and `submitters`, has a method for each of its
HAPPENINGS (name: weight), and brings everything back in calm().  What is carried out meanwhile is
one of LOADS.
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
from collections import Counter, namedtuple
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import chaos_load  # noqa: E402
import links_load  # noqa: E402
from chaos_judge import Judge  # noqa: E402
from links_judge import LinksJudge  # noqa: E402
from processes import of_place  # noqa: E402
from waiting import PATIENCE, eventually  # noqa: E402

STOP_S = 1.2  # the longest stop: well below any lease
DRAIN_S = 150 * PATIENCE
ENDED = {"done", "failed", "cancelled"}


Load = namedtuple("Load", "definitions submitter judge topic queues worker_options")
LOADS = {
    "runs": Load(chaos_load.DEFINITIONS, chaos_load.Submitter, Judge, None, ("work", "resident"),
                 lambda subscribed: []),
    "links": Load(links_load.definitions(), links_load.LinksSubmitter, LinksJudge, links_load.TOPIC,
                  links_load.STEP_QUEUES, links_load.worker_options),
}


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Turmoil:
    HAPPENINGS = {}
    MEAN_PAUSE_S = 0.25
    LEASE_S = 5  # of the separate workers
    FAULTS = ("lost", "unexpected", "overlapping", "left", "broken")

    @staticmethod
    def add_options(parser):
        """Those of its own."""

    def __init__(self, args):
        self.args = args
        self.load = LOADS[args.load]
        self.rng = random.Random(args.seed)
        self.dir = Path(tempfile.mkdtemp(prefix="waybill-chaos."))
        self.place = self.dir / "place"
        self.servers, self.workers, self.submitters = [], [], []
        self.later = []  # (when, what): things that are to follow
        self.done = Counter()
        self.broken, self.left = [], []
        self.judgement = None

    def define(self, server):
        """The programs are beside the definitions."""
        server.define(chaos_load.write_programs(server.dir, self.place, self.load.definitions))

    def worker_options(self, subscribed):
        options = self.load.worker_options(subscribed)
        return ["--lease", f"{self.LEASE_S}s", "--grace", "1s", *options]

    def await_subscribers(self):
        """What is published from now on goes to all of them."""
        topic = self.load.topic
        wanted = {f"{topic}@{worker.name}"
                  for worker in self.workers if "--subscribe" in worker.args}
        client = self.servers[0].tcp()
        eventually(lambda: not wanted or
                   wanted <= set(client.ok("GET", f"/v1/topics/{topic}")["queues"]),
                   "the subscriptions")

    # ---- what happens

    def after(self, seconds, call):
        self.later.append((time.monotonic() + seconds, call))

    def pause(self):
        return self.rng.choice([0, self.rng.uniform(0, 0.3), self.rng.uniform(0, STOP_S)])

    def start_worker(self, worker):
        if worker.running():  # not gone yet
            self.after(0.2, lambda: self.start_worker(worker))
        else:
            worker.spawn()

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
                next_at = time.monotonic() + self.rng.expovariate(1 / self.MEAN_PAUSE_S)
            time.sleep(0.01)

    # ---- the end

    def calm(self):
        """All goes on; everything that should run runs."""
        raise NotImplementedError

    def all_goes_on(self):
        for _, call in list(self.later):
            call()
        self.later = []
        for process in of_place(self.dir):
            process.send(signal.SIGCONT)

    def drain(self):
        client = self.servers[0].tcp()

        def is_drained():
            counts = client.counts(may_be_away=True)  # a reader finds the database on its own
            if counts is None:
                return False
            left = {state for states in counts.values() for state in states} - ENDED
            if left == {"held"}:
                for submitter in self.submitters:
                    submitter.help_out(client)
            return not left

        try:
            eventually(is_drained, "the end of all jobs", DRAIN_S)
        except AssertionError as fault:
            waiting = [(job["id"], job["state"], job.get("reason")) for job in client.list()
                       if job["state"] not in ENDED]
            self.broken.append(f"{fault}: {waiting[:5]}")

    def judge(self):
        judge = self.load.judge(self.servers[0].tcp(), self.place, self.submitters,
                                len(self.servers))
        judge.run()
        self.judgement = judge
        self.broken += judge.broken
        for submitter in self.submitters:
            self.broken += submitter.faults

    def end(self):
        for one in self.workers + self.servers:
            try:
                one.finish_up()
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
        self.await_subscribers()
        for submitter in self.submitters:
            submitter.thread.start()
        self.rage()
        for submitter in self.submitters:
            submitter.stop.set()
        self.calm()
        for submitter in self.submitters:
            submitter.thread.join(60)
        self.drain()
        self.judge()
        self.end()

    def give_up(self):
        """Whatever went wrong, nothing goes on."""
        for process in of_place(self.dir):
            process.kill()

    # ---- the verdict

    def found(self):
        judge = self.judgement
        return dict(zip(self.FAULTS, (judge.lost, judge.unexpected, judge.overlapping, self.left,
                                      self.broken)))

    def failed(self):
        return any(self.found().values())

    def verdict(self):
        return {"attempted": sum(submitter.attempted for submitter in self.submitters),
                "acknowledged": len(self.judgement.acknowledged), **self.judgement.counts(),
                **{word: len(texts) for word, texts in self.found().items()},
                "happened": sum(self.done.values()), "seed": self.args.seed}

    def report(self):
        print(", ".join(f"{name} {count}" for name, count in sorted(self.done.items())))
        for word, texts in self.found().items():
            for text in texts[:10]:
                print(f"  {word}: {text}")
        if self.failed() or self.args.keep:
            print(f"everything is kept in {self.dir}")
        else:
            shutil.rmtree(self.dir, ignore_errors=True)
        print(json.dumps(self.verdict()))


def worker_is_up(worker):
    return "stopping" not in worker.log_text().rsplit("\n", 3)[-1] and worker.running()


def main(kind, about):
    parser = argparse.ArgumentParser(description=about,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--load", choices=LOADS, default="runs",
                        help="what is carried out meanwhile")
    parser.add_argument("--keep", action="store_true", help="leave everything, also after success")
    kind.add_options(parser)
    args = parser.parse_args()
    if args.seed is None:
        args.seed = random.SystemRandom().randrange(1 << 32)
    sys.stdout.reconfigure(line_buffering=True)
    faulthandler.register(signal.SIGUSR1)
    print(f"seed {args.seed}")
    turmoil = kind(args)
    try:
        turmoil.run()
    except BaseException:
        turmoil.give_up()
        raise
    turmoil.report()
    return 1 if turmoil.failed() else 0
