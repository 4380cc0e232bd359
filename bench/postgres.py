# SPDX-License-Identifier: MIT
"""Waybill with its jobs in PostgreSQL, beside the same lives by plain SQL on the same cluster.

The cluster is one of tools/postgres, durable, with settings for a machine of this size; both sides
get the same one, each run a database of its own.  The ideal (bench-postgres, postgres_ideal.c) and
Waybill with one and with three servers take turns, so that what else the machine does hits all of
them; a round's ratio is that of neighbours, and the median of those is judged.

Idle servers are counted by PostgreSQL's log: every statement that a server sends, BEGIN and COMMIT
too.
"""

import collections
import importlib.machinery
import importlib.util
import json
import os
import re
import statistics
import subprocess
import tempfile
import time

import contenders
import machine

TOOL = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                    "tools", "postgres")
SETTINGS = {"shared_buffers": "256MB", "max_wal_size": "4GB", "checkpoint_timeout": "15min",
            "synchronous_commit": "on", "log_line_prefix": "%d %p "}
STATEMENT = re.compile(r"(\S+) (\d+) LOG:  (?:statement|execute ([^:]+)|fastpath function call)"
                       r": *(.*)")
FLEETS = (1, 3)  # servers on one store
IDEAL = "plain SQL"
BATCH = 100
WARM_S = 0.5
SETTLE_S = 15
IDLE_S = 120
IDLE_QUEUE = json.dumps({"command": ["/bin/true"]})


def load_tool():
    loader = importlib.machinery.SourceFileLoader("tools_postgres", TOOL)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def way_of(servers):
    if servers == 0:
        return IDEAL
    return f"waybill, {servers} server{'s' if servers > 1 else ''}"


class Bench:
    """Workloads `postgres` and `postgres-idle` of bench/run."""

    def __init__(self, options, say, load):
        self.options = options
        self.say = say
        self.load = load
        self.ideal_binary = os.path.join(options.build, "bench", "bench-postgres")
        self.tool = load_tool()
        self.cluster = None
        self.servers = []
        self.rounds = []   # each: way -> result
        self.idle = {}     # servers -> {"per_minute", "statements"}
        self.missing = {}

    # The cluster and what runs on it

    def start(self):
        """False: there is no PostgreSQL here."""
        if self.cluster is not None:
            return True
        try:
            if not os.access(self.ideal_binary, os.X_OK):
                raise contenders.Missing(f"{self.ideal_binary} is not there (libpq-dev, then ninja "
                                         f"-C {self.options.build} bench/bench-postgres)")
            self.cluster = self.make_cluster()
        except (contenders.Missing, KeyError, self.tool.Error) as why:
            self.missing["postgres"] = str(why)
            self.say(f"  without PostgreSQL: {why}")
        return self.cluster is not None

    def make_cluster(self):
        """Where all other data is: a disk, and the one that --dir names."""
        usual, tempfile.tempdir = tempfile.tempdir, self.options.dir
        try:
            os.makedirs(self.options.dir, exist_ok=True)
            return self.tool.Cluster(settings=SETTINGS).__enter__()
        finally:
            tempfile.tempdir = usual

    def stop(self):
        for server in self.servers:
            server.stop()
        self.servers = []
        if self.cluster is not None:
            self.cluster.close()
            self.cluster = None

    def ask(self, sql):
        with self.cluster.session() as session:
            return session.ask(sql)

    def new_database(self, name):
        self.ask(f"CREATE DATABASE {name}")
        self.ask("CHECKPOINT")  # what a page costs after one is the same for all
        return self.cluster.url(name)

    def start_servers(self, count, url, slots=0, queue="{}"):
        """The first makes the tables; all are there when this returns."""
        started = []
        for number in range(count):
            server = contenders.Waybill(self.options.dir,
                                        os.path.join(self.options.build, "waybill"),
                                        f"postgres-{len(self.servers)}-{number}", slots, queue, url)
            self.servers.append(server)
            started.append(server.start())
        return started

    def stop_servers(self, servers):
        for server in servers:
            server.stop()
            self.servers.remove(server)

    # Lives

    def run_ideal(self, url):
        o = self.options
        done = subprocess.run([self.ideal_binary, url, "-c", str(o.connections), "-b", str(BATCH),
                               "-t", f"{o.seconds}s", "-w", f"{WARM_S}s"],
                              stdout=subprocess.PIPE, text=True, check=True, timeout=1200)
        return json.loads(done.stdout)

    def run_waybill(self, servers):
        o = self.options
        return self.load(",".join(s.urls["waybill-unix"] for s in servers), "lives",
                         c=o.connections, b=BATCH, t=f"{o.seconds}s", w=f"{WARM_S}s")

    def used(self, servers):
        """Processor time of PostgreSQL and of the servers, in seconds; bytes of WAL."""
        written = self.ask("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')")[0][0]
        return (machine.tree_cpu_seconds(self.cluster.process.pid),
                sum(machine.cpu_seconds(s.pid) for s in servers), int(written))

    def measure(self, way, count):
        """In a database of its own.  What it used is counted from when its servers are ready."""
        url = self.new_database("lives")
        servers = self.start_servers(count, url)
        before = self.used(servers)
        result = self.run_waybill(servers) if servers else self.run_ideal(url)
        jobs = max(result["finished"], 1)
        used = [(b - a) / jobs for a, b in zip(before, self.used(servers))]
        result["postgres_cpu_us"], result["wal_bytes"] = used[0] * 1e6, used[2]
        result["client_cpu_us"] = result["cpu_s"] * 1e6 / jobs
        if servers:
            result["server_cpu_us"] = used[1] * 1e6
        self.stop_servers(servers)
        self.ask("DROP DATABASE lives WITH (FORCE)")
        self.say(f"  {way:<21} {result['rate']:>8.0f} /s  PostgreSQL "
                 f"{result['postgres_cpu_us']:>5.1f} us a job")
        return result

    def lives(self):
        if not self.start():
            return
        for _ in range(self.options.runs):
            self.rounds.append({way_of(count): self.measure(way_of(count), count)
                                for count in (0, *FLEETS)})

    # Idle

    def count_idle(self):
        """Fleets of servers with their local workers and nothing to do, all at the same time."""
        if not self.start():
            return
        seconds = IDLE_S if not self.options.quick else 20
        for count in FLEETS:
            self.ask(f"CREATE DATABASE idle_{count}")
            self.ask(f"ALTER DATABASE idle_{count} SET log_statement = 'all'")
            self.start_servers(count, self.cluster.url(f"idle_{count}"), 1, IDLE_QUEUE)
        time.sleep(SETTLE_S)
        begin = len(self.cluster.log_text())
        time.sleep(seconds)
        log = self.cluster.log_text()[begin:]
        for count in FLEETS:
            said = collections.Counter(self.statements(log, f"idle_{count}"))
            rate = sum(said.values()) * 60 / seconds / count
            self.idle[count] = {"per_minute": rate, "seconds": seconds, "statements": dict(said)}
            self.say(f"  {way_of(count):<21} {rate:>6.1f} statements a minute each")
        self.stop_servers(list(self.servers))

    def statements(self, log, database):
        """By the name they were prepared under, else by their beginning."""
        for found in STATEMENT.finditer(log):
            if found[1] == database:
                named = found[3] if found[3] not in (None, "<unnamed>") else None
                yield named or " ".join(found[4].split())[:60]

    # Results

    def ratio(self, count):
        return next((row[4] for row in self.rows() if row[0] == way_of(count)), None)

    def median(self, way, field):
        found = [r[way][field] for r in self.rounds if field in r[way]]
        return statistics.median(found) if found else None

    def demands(self):
        found = [(f"lives on PostgreSQL, {BATCH} a request, {way_of(count)} / {IDEAL}",
                  self.ratio(count), ">=", 0.5, 0.5) for count in FLEETS]
        rates = [i["per_minute"] for i in self.idle.values()]
        found.append(("statements a minute of an idle server on PostgreSQL",
                      max(rates) if rates else None, "<=", 6, 6))
        return found

    def rows(self):
        """(way, median, least, most, / ideal, p50, p99, µs of PostgreSQL, server, client, WAL)"""
        for way in self.rounds[0] if self.rounds else ():
            rates = [r[way]["rate"] for r in self.rounds]
            ratio = statistics.median(r[way]["rate"] / r[IDEAL]["rate"] for r in self.rounds)
            yield (way, statistics.median(rates), min(rates), max(rates), ratio,
                   *(self.median(way, field) for field in
                     ("p50_us", "p99_us", "postgres_cpu_us", "server_cpu_us", "client_cpu_us",
                      "wal_bytes")))

    def print_figures(self):
        if self.rounds:
            print(f"\n{'postgres':<21} {'median/s':>9} {'least':>7} {'most':>7} {'/ plain':>7} "
                  f"{'p50 us':>7} {'p99 us':>7} {'pg us':>6} {'server':>6} {'client':>6} "
                  f"{'WAL B':>6}")
        for way, median, least, most, ratio, p50, p99, pg, server, client, wal in self.rows():
            print(f"  {way:<19} {median:>9.0f} {least:>7.0f} {most:>7.0f} {ratio:>7.2f} "
                  f"{p50:>7.0f} {p99:>7.0f} {pg:>6.1f} {server or 0:>6.1f} {client:>6.1f} "
                  f"{wal:>6.0f}")
        for count, found in self.idle.items():
            print(f"\nidle, {way_of(count)}: {found['per_minute']:.1f} statements a minute each")
            for text, n in sorted(found["statements"].items(), key=lambda item: -item[1]):
                print(f"  {n:>5} in {found['seconds']} s  {text}")

    def markdown(self):
        if self.rounds:
            yield ("| on PostgreSQL | jobs a second | least – most | / plain SQL | p50 | p99 | "
                   "PostgreSQL's CPU a job | servers' | WAL a job |")
            yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
        for way, median, least, most, ratio, p50, p99, pg, server, _, wal in self.rows():
            yield (f"| {way} | {median:,.0f} | {least:,.0f} – {most:,.0f} | {ratio:.2f} | "
                   f"{p50 / 1000:.1f} ms | {p99 / 1000:.1f} ms | {pg:.0f} µs | "
                   f"{'–' if server is None else f'{server:.0f} µs'} | {wal:,.0f} B |")
        if self.idle:
            yield "\n| idle, each with a local worker | statements a minute, each |"
            yield "|---|---:|"
        for count, found in self.idle.items():
            yield f"| {way_of(count)} | {found['per_minute']:.1f} |"
        yield ""

    def as_json(self):
        return {"rounds": self.rounds, "idle": self.idle}
