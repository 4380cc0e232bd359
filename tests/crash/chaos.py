#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Server, workers and programs killed, stopped and continued at random, under load.

  chaos.py [--load runs|links] [--seconds N] [--seed N] [--keep]

One server with its own worker and two separate workers carry out jobs of many kinds while things
happen to all of them, and to the connections of one.  In the end everything is started again and
the backlog is worked off.  Then: every job ran and is done (or was lost six times, which its record
tells), none is there that nobody handed in, none ran at the same time as itself or as something
that an earlier run had left, what was emitted is there exactly once, no process of ours is left,
and the store passes its check.  The last line is the verdict as JSON.
"""
import random
import signal
import sys

from turmoil import STOP_S, Turmoil, free_port, main, worker_is_up
from processes import Process, every  # turmoil.py has shown the way to tests/e2e
from proxy import Proxy
from waiting import Background, eventually
from waybill import Server
from worker import Worker

BACKLOG = 60


class Chaos(Turmoil):
    def __init__(self, args):
        super().__init__(args)
        self.server = Server(self.dir / "s", definitions="", slots=2,
                             listen=f"127.0.0.1:{free_port()}", store=Server.EMBEDDED)
        self.servers = [self.server]
        self.define(self.server)
        self.server.start()
        self.proxy = Proxy(self.server.port)
        self.workers = [Worker(self.server, "one", slots=3, args=self.worker_options(True)),
                        Worker(self.server, "two", slots=2, url=self.proxy.url,
                               args=self.worker_options(False))]
        for worker in self.workers:
            worker.start()
        self.submitters = [self.load.submitter(self.server.tcp, random.Random(self.rng.random()),
                                               BACKLOG)]

    # ---- what happens

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
            self.after(self.LEASE_S + 2 if longer else self.pause(),
                       lambda: self.start_worker(worker))

    def worker_told_to_end(self):
        worker = self.rng.choice(self.workers)
        if worker.running():
            worker.send(signal.SIGTERM)
            self.after(self.rng.uniform(0, 3), lambda: self.start_worker(worker))

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
        name = self.rng.choice(self.load.queues)
        Background(self.server.cli, "queue", "restart", name)

    HAPPENINGS = {"server_killed": 3, "server_stopped": 3, "worker_killed": 5, "worker_stopped": 4,
                  "worker_told_to_end": 2, "local_killed": 2, "local_stopped": 2,
                  "program_killed": 8, "program_stopped": 4, "queue_restarted": 1,
                  "connection_cut": 10}

    # ---- the end

    def calm(self):
        """The server is a fresh one."""
        self.all_goes_on()
        self.proxy.cut(None, 0)
        for worker in self.workers:
            eventually(lambda w=worker: not w.running() or worker_is_up(w), "the end of a worker")
            if not worker.running():
                worker.spawn()
        if self.server.running():
            self.server.stop()
        self.server.start()


if __name__ == "__main__":
    sys.exit(main(Chaos, __doc__))
