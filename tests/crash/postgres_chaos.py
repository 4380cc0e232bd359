#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Three servers on one PostgreSQL, and everything killed at random, under load.

  postgres_chaos.py [--load runs|links] [--seconds N] [--seed N] [--keep] [--servers N]

Six workers, two at each server, carry out programs; others claim and finish over HTTP, at any
server.  Servers and workers are killed with -9 and come back, workers sometimes at another server;
PostgreSQL is restarted every 5 to 15 s, in order or as in a crash, and its backends are terminated.
In the end everything is started again and the backlog is worked off.  Then: every acknowledged job
has ended, none is there that nobody handed in, none had two live leases, none was done twice, after
each restart work went on within 5 s of PostgreSQL taking connections, no process is left, and the
store passes its check.  The last line is the verdict as JSON.
"""
import random
import shutil
import subprocess
import sys
import time

from claimer import Claimer, double_finishes
from turmoil import Turmoil, free_port, main
from chaos_load import Submitter
from client import Client  # turmoil.py has shown the way to tests/e2e
from postgres import Cluster, Error, program
from waiting import eventually
from waybill import Server
from worker import Worker

BACKLOG = 60
CLAIMERS = 5
RECOVERS_WITHIN_S = 5
WORKERS_A_SERVER = 2
SUBSCRIBED = 2  # workers
LOGGED = {"log_statement": "all", "log_line_prefix": "%m [%p] %x ", "log_min_messages": "info"}


class Anywhere(Client):
    """Asks another server each time."""

    def __init__(self, servers, rng):
        super().__init__(None)
        self.ports = [int(server.listen.rsplit(":")[-1]) for server in servers]
        self.rng = rng

    def request(self, *args, **named):
        self.close()
        self.address = ("127.0.0.1", self.rng.choice(self.ports))
        return super().request(*args, **named)


class PostgresChaos(Turmoil):
    HAPPENINGS = {"server_killed": 2, "worker_killed": 4, "backends_terminated": 4}
    MEAN_PAUSE_S = 0.4
    LEASE_S = 3

    @staticmethod
    def add_options(parser):
        parser.add_argument("--servers", type=int, default=3)
        parser.add_argument("--log-statements", action="store_true",
                            help="by PostgreSQL, for --keep")

    def __init__(self, args):
        super().__init__(args)
        self.accepting_from = []  # instants at which PostgreSQL took connections again
        self.recoveries = []
        self.terminated = 0  # connections
        self.claimers = []
        self.cluster = Cluster(settings=LOGGED if args.log_statements else None)
        try:
            self.cluster.start()
            self.make_servers()
            self.make_load()
        except BaseException:
            self.give_up()
            raise

    def make_servers(self):
        url = self.cluster.url()
        self.servers = [Server(self.dir / f"s{n}", definitions="", store=url,
                               listen=f"127.0.0.1:{free_port()}") for n in range(self.args.servers)]
        first = self.servers[0]
        self.define(first)
        for server in self.servers:
            server.file = first.file
            server.start()

    def make_load(self):
        for n in range(WORKERS_A_SERVER * len(self.servers)):
            server = self.servers[n % len(self.servers)]
            self.workers.append(Worker(server, f"w{n}", url=self.url_of(server),
                                       data=self.dir / f"w{n}",
                                       args=self.worker_options(n < SUBSCRIBED)))
            self.workers[-1].start()
        self.submitters = [self.load.submitter(self.anywhere, self.luck(), BACKLOG),
                           Submitter(self.anywhere, self.luck(), BACKLOG, {"hand": 1})]
        self.claimers = [Claimer(f"hand{n}", self.anywhere(), self.luck(), self.place, self.LEASE_S)
                         for n in range(CLAIMERS)]

    def luck(self):
        return random.Random(self.rng.random())

    def anywhere(self):
        return Anywhere(self.servers, self.luck())

    @staticmethod
    def url_of(server):
        return f"http://{server.listen}"

    # ---- what happens

    def server_killed(self):
        running = [server for server in self.servers if server.running()]
        if running:
            server = self.rng.choice(running)
            server.kill()
            self.after(self.pause(), lambda: self.keep_server(server))

    def keep_server(self, server):
        """It gives up when there is no PostgreSQL: whoever started it tries again."""
        if not server.running():
            server.spawn()
        self.after(0.5, lambda: self.keep_server(server) if not server.running() else None)

    def worker_killed(self):
        worker = self.rng.choice(self.workers)
        if not worker.running():
            return
        worker.kill()
        if self.rng.random() < 0.3:
            worker.server = self.rng.choice(self.servers)
            worker.url = self.url_of(worker.server)
        self.after(self.pause(), lambda: self.start_worker(worker))

    def backends_terminated(self):
        """One of them, or all at once."""
        most = self.rng.choice(["LIMIT 1", "LIMIT 3", ""])
        try:
            with self.cluster.session() as session:
                self.terminated += len(session.ask(
                    "SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity"
                    " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
                    f" ORDER BY random() {most}) AS picked"))
        except (Error, OSError):
            pass  # it is down just now

    def postgres_restarted(self):
        self.cluster.stop(self.rng.choice(["fast", "immediate"]))
        self.done["postgres_restarted"] += 1
        self.after(self.pause(), self.start_postgres)

    def start_postgres(self):
        self.cluster.start()
        self.accepting_from.append(time.monotonic())
        self.plan_restart()

    def plan_restart(self):
        self.after(self.rng.uniform(5, 15), self.postgres_restarted)

    # ---- the run

    def run(self):
        for claimer in self.claimers:
            claimer.thread.start()
        self.plan_restart()
        super().run()

    def calm(self):
        """PostgreSQL, servers and workers are there to stay."""
        self.later = [item for item in self.later if item[1] != self.postgres_restarted]
        if not self.cluster.running():
            self.start_postgres()
        self.all_goes_on()
        self.later = []
        # Live servers continue with what they have in memory: that is judged, too.
        for server in self.servers:
            if not server.running():
                server.start()
        eventually(lambda: self.recovery_times()[-1:] != [float("inf")],
                   "a finish that is accepted", 60)
        for worker in self.workers:
            if not worker.running():
                worker.spawn()

    def drain(self):
        super().drain()
        for claimer in self.claimers:
            claimer.stop.set()
        for claimer in self.claimers:
            claimer.thread.join(30)

    def judge(self):
        super().judge()
        for claimer in self.claimers:
            self.broken += claimer.faults
        self.judgement.overlapping += double_finishes(self.claimers)
        self.recoveries = self.recovery_times()
        if self.done["backends_terminated"] >= 5 and self.terminated == 0:
            self.broken.append("no connection to PostgreSQL was ever terminated")
        self.broken += [f"work went on {seconds:.1f} s after PostgreSQL was there again"
                        for seconds in self.recoveries if seconds > RECOVERS_WITHIN_S]

    def recovery_times(self):
        """From each time PostgreSQL took connections again to the next accepted finish."""
        accepted = sorted(entry[3] for claimer in self.claimers for entry in claimer.accepted)
        return sorted(next((at - since for at in accepted if at > since), float("inf"))
                      for since in self.accepting_from)

    def end(self):
        super().end()
        if self.failed() or self.args.keep:
            self.keep_store()
        self.cluster.close()

    def keep_store(self):
        """What PostgreSQL held, and what it said, for whoever looks for the cause."""
        with (self.dir / "store.sql").open("wb") as dump:
            subprocess.run([program("pg_dump"), self.cluster.url()], stdout=dump, check=False)
        shutil.copy(self.cluster.log, self.dir / "postgres.log")

    def give_up(self):
        super().give_up()
        self.cluster.close()

    # ---- the verdict

    def verdict(self):
        times = self.recoveries
        shown = {"p50": times[len(times) // 2], "p99": times[len(times) * 99 // 100],
                 "max": times[-1]} if times else {}
        return {**super().verdict(), "restarts": len(times), "terminated": self.terminated,
                **{f"recovery_{name}_ms": round(seconds * 1000) for name, seconds in shown.items()}}


if __name__ == "__main__":
    sys.exit(main(PostgresChaos, __doc__))
