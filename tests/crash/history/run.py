#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Servers in network namespaces, clients that record requests and replies, faults, and a judge.

  run.py [--store postgres|sqlite] [--seconds N] [--seed N] [--kinds KIND,…] [--keep]

Three servers on one PostgreSQL, or one on the embedded store.  Every kind of fault happens at least
once, however short the time.  In the end everything is healed and worked off, the final state is
read over HTTP, and judge.py judges.  The last line is the verdict as JSON.  Exit status 77: this
machine cannot do it, the last line says why.
"""
import argparse
import faulthandler
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "e2e"))

import net  # noqa: E402
from book import ENDED, read  # noqa: E402
from claimer import Claimer, Reader  # noqa: E402
from judge import judge  # noqa: E402
from nemesis import Nemesis  # noqa: E402
from record import JOINS, QUEUES, World  # noqa: E402
from submitter import Submitter  # noqa: E402
from postgres import Cluster, program, tool  # noqa: E402
from waiting import PATIENCE, eventually  # noqa: E402
from waybill import Server  # noqa: E402

SKIPPED = 77
DRAIN_S = 60 * PATIENCE
MISSING_S = 180 * PATIENCE  # to go on with faults that had no effect so far
SHOWN = 8  # of what speaks against each property
TOKEN = "a-token-for-tests-only"
DISK = "256m"  # 30 minutes of history need about 70 of it


class Run:
    def __init__(self, args):
        self.args = args
        self.rng = random.Random(args.seed)
        self.shared = args.store == "postgres"
        self.cluster = self.links = self.mounted = None
        self.servers, self.threads, self.broken = [], [], []
        self.net = net.Net(3 if self.shared else 1)
        self.dir = Path(tempfile.mkdtemp(prefix=f"waybill-history.{os.getpid()}."))
        os.chmod(self.dir, 0o755)

    # ---- the beginning

    def begin(self):
        number = 3 if self.shared else 1
        if self.shared:
            self._start_store(number)
        definitions = {"queues": QUEUES, "joins": JOINS,
                       "server": {"token_file": str(self.dir / "token")}}
        (self.dir / "token").write_text(TOKEN + "\n")
        os.chmod(self.dir / "token", 0o600)
        for n in range(number):
            server = Server(self.dir / f"s{n}", definitions=json.dumps(definitions),
                            store=self._store_of(n),
                            listen=f"{net.server_address(n)}:{net.HTTP_PORT}")
            self.servers.append(server)
        if not self.shared:
            self.mounted = self.servers[0].data
            self.mounted.mkdir()
            net.run("mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(self.mounted))
            os.chmod(self.mounted, 0o700)
        self.world = World(self.dir / "history.jsonl", number, TOKEN)
        self.nemesis = Nemesis(self, random.Random(self.rng.random()))
        for n in range(number):
            self.nemesis.start(n)
        self.nemesis.wait_ready()
        for server in self.servers:
            server.wait_ready()
        self._make_clients(number)

    def _start_store(self, servers):
        self.cluster = Cluster(settings={"listen_addresses": net.STORE})
        with (self.cluster.data / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all all {net.SUBNET}.0/24 trust\n")
        with self.net.inside("pg"):
            self.cluster.start()
        command = [sys.executable, str(Path(__file__).with_name("wire.py")), str(servers)]
        self.links = subprocess.Popen(command, stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True,
                                      preexec_fn=tool.die_with_parent)
        assert self.links.stdout.readline() == "ok\n", "the links do not start"

    def _store_of(self, number):
        if not self.shared:
            return Server.EMBEDDED
        return f"postgresql://{tool.OWNER}@{net.HUB}:{net.LINK_PORT + number}/postgres"

    def link(self, command):
        self.links.stdin.write(command + "\n")
        self.links.stdin.flush()
        answer = self.links.stdout.readline().split()
        assert answer[:1] == ["ok"], command
        return int(answer[1])

    def _make_clients(self, servers):
        def make(kind, name, number):
            self.threads.append(kind(self.world, name, number % servers, self.rng.random()))
        for n in range(3):
            make(Submitter, f"s{n}", n)
        for n in range(8):
            make(Claimer, f"w{n}", n)
        make(Reader, "r0", 0)

    # ---- the course of events

    def go(self):
        for thread in self.threads:
            thread.start()
        end = time.monotonic() + self.args.seconds
        chosen = self.chosen()
        kinds = []
        while time.monotonic() < end + MISSING_S:
            over = time.monotonic() > end
            if over and self.nemesis.happened >= set(chosen):
                return
            if not kinds:
                kinds = self.rng.sample(chosen, len(chosen))
            kind = kinds.pop()
            if not over or kind not in self.nemesis.happened:
                time.sleep(self.rng.uniform(0.3, 0.8))
                self.nemesis.inflict(kind)

    def chosen(self):
        return self.args.kinds.split(",") if self.args.kinds else self.nemesis.kinds

    def drain(self):
        """Everybody behaves; who waits for a signal gets it."""
        self.world.stop.set()
        helper = Submitter(self.world, "helper", 0, self.rng.random())

        def is_drained():
            reply, _, _ = helper.ask(0, "GET", "/v1/counts")
            if reply.outcome != "ok" or \
                    any(t.is_alive() for t in self.threads if isinstance(t, Submitter)):
                return False
            left = {state for states in reply.document["counts"].values()
                    for state, n in states.items() if n} - ENDED
            if "held" in left:
                self._raise_all(helper)
            return not left

        try:
            eventually(is_drained, "the end of all jobs", DRAIN_S)
        except AssertionError as fault:
            print(fault)
        self.world.end.set()
        for thread in self.threads:
            thread.join(30)
        return helper

    @staticmethod
    def _raise_all(helper):
        reply, _, _ = helper.ask(0, "GET", "/v1/signals?limit=1000")
        for one in reply.document["signals"] if reply.outcome == "ok" else []:
            if one["waiters"]:
                helper.raise_it(one["name"], 3, 0)

    def final(self, client):
        """As the API shows it; each job by any of the servers."""
        jobs, cursor = [], ""
        while cursor is not None:
            page = self._must(client, 0,
                              f"/v1/jobs?limit=1000{f'&cursor={cursor}' if cursor else ''}")
            jobs += page["jobs"]
            cursor = page["cursor"]
        shown = [self._must(client, n % len(self.servers), f"/v1/jobs/{job['id']}")
                 for n, job in enumerate(jobs)]
        signals = self._must(client, 0, "/v1/signals?limit=1000")["signals"]
        arrivals = {name: self._must(client, 0, f"/v1/joins/{name}?limit=1000")["arrivals"]
                    for name in JOINS}
        return {"jobs": shown, "signals": {one["name"]: one["count"] for one in signals},
                "joins": {name: {one["key"]: one["count"] for one in keys}
                          for name, keys in arrivals.items()}}

    @staticmethod
    def _must(client, server, path):
        def asked():
            reply, _, _ = client.ask(server, "GET", path)
            return reply.document if reply.outcome == "ok" else None
        return eventually(asked, path, 30)

    # ---- the end

    def judge(self, final):
        (self.dir / "final.json").write_text(json.dumps(final))
        verdict, against = judge(read(self.dir / "history.jsonl"), final)
        for name, found in against.items():
            for text in found[:SHOWN]:
                print(f"{name}: {text}")
        for text in self.world.faults[:SHOWN] + self.broken:
            print(f"broken: {text}")
        missing = sorted(set(self.chosen()) - set(verdict["faults"]))
        return {**verdict, "broken": len(self.world.faults) + len(self.broken),
                "missing_faults": missing, "store": self.args.store, "seed": self.args.seed}

    def close(self):
        """All of it, whatever has happened."""
        for server in self.servers:
            if server.running():
                server.process.send_signal(signal.SIGCONT)
                server.process.kill()
                server.process.wait()
        if self.cluster:
            if self.args.keep:
                shutil.copy(self.cluster.log, self.dir / "postgres.log")
            self.cluster.close()
        if self.links:
            self.links.kill()
            self.links.wait()
        if self.mounted:
            shutil.copytree(self.mounted, self.dir / "store",
                            ignore=shutil.ignore_patterns("*.sock", "filler"))
            net.run("umount", "-l", str(self.mounted))
        self.net.close()

    def check_stores(self):
        for server in self.servers[:1]:
            try:
                server.stop()
                server.check_store()
            except AssertionError as fault:
                self.broken.append(str(fault))

    def dump_store(self):
        if self.cluster and self.cluster.running():
            with (self.dir / "store.sql").open("wb") as dump:
                subprocess.run([program("pg_dump"), self.cluster.url()], stdout=dump, check=False)


def carry_out(run):
    run.begin()
    run.go()
    final = run.final(run.drain())
    run.check_stores()
    verdict = run.judge(final)
    bad = verdict["violations"] or verdict["broken"] or verdict["missing_faults"]
    if bad:
        run.dump_store()
    return verdict, bool(bad)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--store", choices=["postgres", "sqlite"], default="postgres")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--kinds", help="only these faults")
    parser.add_argument("--keep", action="store_true",
                        help="the history and the logs, also of a good run")
    args = parser.parse_args()
    args.seed = args.seed if args.seed is not None else random.randrange(1 << 31)
    faulthandler.register(signal.SIGUSR1)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    try:
        run = Run(args)
    except net.Unavailable as fault:
        print(fault)
        return SKIPPED
    bad = True
    try:
        verdict, bad = carry_out(run)
    finally:
        run.close()
        if bad or args.keep:
            print(f"the history and the logs are in {run.dir}; seed {args.seed}")
        else:
            shutil.rmtree(run.dir, ignore_errors=True)
    print(json.dumps(verdict))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
