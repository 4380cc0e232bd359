# SPDX-License-Identifier: MIT
"""Groups: what membership costs, alone and on several servers; and a very large fan-out.

- groups: lives of plain jobs beside lives of the members of one group, in alternating runs.
- groups-shared: the same on three servers that share a PostgreSQL.
- emits: one job emits a million others, a thousand a request; the memory of the server before,
  while they are staged and after they are released.
"""

import os
import statistics
import time

import api
import contenders
import machine

PLAIN, GROUPED = "plain", "one group"
SERVERS = 3
BATCH = 100
WARM_S = 0.5
EMITTED = 1000000
QUICK_EMITTED = 100000
REQUEST = 1000  # jobs of one emit
ALLOWED_MIB = 40


class Bench:
    """Workloads `groups`, `groups-shared` and `emits` of bench/run."""

    def __init__(self, options, say, load, shared):
        self.options = options
        self.say = say
        self.load = load
        self.shared = shared  # the PostgreSQL of postgres.Bench
        self.rates = {}       # servers -> way -> list of jobs a second
        self.memory = {}      # moment -> MiB

    # Lives

    def lives(self, servers, way):
        """In a new group, if it is about one."""
        calls = api.Api(servers[0].urls["waybill-unix"])
        more = {}
        if way == GROUPED:
            more["g"] = calls.call("POST", "/v1/groups", {"name": "bench"})["id"]
        result = self.load(",".join(s.urls["waybill-unix"] for s in servers), "lives",
                           c=self.options.connections, b=BATCH, t=f"{self.options.seconds}s",
                           w=f"{WARM_S}s", **more)
        if more:
            made = calls.call("GET", f"/v1/groups/{more['g']}")["counts"]["made"]
            if made < result["submitted"]:
                raise RuntimeError(f"the group counts {made} of {result['submitted']} jobs")
        calls.close()
        self.rates.setdefault(len(servers), {}).setdefault(way, []).append(result["rate"])
        self.say(f"  {way:<10} {len(servers)} server(s) {result['rate']:>9.0f} /s")

    def alone(self):
        for _ in range(self.options.runs):
            for way in (PLAIN, GROUPED):
                server = self.start("groups")
                try:
                    self.lives([server], way)
                finally:
                    server.stop()

    def together(self):
        if not self.shared.start():
            return
        for _ in range(self.options.runs):
            for way in (PLAIN, GROUPED):
                servers = self.shared.start_servers(SERVERS, self.shared.new_database("grouped"))
                try:
                    self.lives(servers, way)
                finally:
                    self.shared.stop_servers(servers)
                    self.shared.ask("DROP DATABASE grouped WITH (FORCE)")

    def start(self, name):
        return contenders.Waybill(self.options.dir, os.path.join(self.options.build, "waybill"),
                                  name).start()

    # A very large fan-out

    def emits(self):
        count = QUICK_EMITTED if self.options.quick else EMITTED
        server = self.start("emits")
        try:
            self.emit_all(server, count)
        finally:
            server.stop()

    def emit_all(self, server, count):
        calls = api.Api(server.urls["waybill-unix"])
        calls.submit_many("bench", 1)
        job = calls.call("POST", "/v1/claim", {"worker": "enumerator", "queues": {"bench": 1},
                                               "max": 1, "lease": "1h"})["jobs"][0]
        held = {"id": job["id"], "lease": job["lease"]}
        self.note(server, "before")
        for seq in range(1, count // REQUEST + 1):
            jobs = [{"queue": "bench", "params": {"n": seq * REQUEST + n}} for n in range(REQUEST)]
            calls.call("POST", "/v1/emit", {**held, "seq": seq, "jobs": jobs})
        self.note(server, "staged")
        calls.call("POST", "/v1/finish", {"finish": [{**held, "state": "done"}]})
        deadline = time.monotonic() + 600
        while calls.counts("bench").get("staged", 0) > 0:
            if time.monotonic() > deadline:
                raise RuntimeError("the emitted jobs are not released after 600 s")
            time.sleep(0.2)
        self.note(server, "released")
        self.memory["jobs"] = count
        calls.close()

    def note(self, server, moment):
        self.memory[moment] = machine.memory_kib(server.pid)["rss"] / 1024
        self.say(f"  emits      {moment:<9} {self.memory[moment]:.1f} MiB")

    # Results

    def ratio(self, servers):
        """Of medians."""
        ways = self.rates.get(servers)
        if not ways:
            return None
        return statistics.median(ways[GROUPED]) / statistics.median(ways[PLAIN])

    def demands(self):
        grown = None
        if "released" in self.memory:
            grown = max(self.memory["staged"], self.memory["released"])
        return [
            ("lives of a group's members / plain, batches of 100", self.ratio(1), ">=", 0.8, 0.8),
            (f"the same, one group on {SERVERS} servers and PostgreSQL", self.ratio(SERVERS), ">=",
             0.6, 0.6),
            (f"resident MiB, one job emits {self.memory.get('jobs', EMITTED)}", grown, "<=",
             ALLOWED_MIB, ALLOWED_MIB),
        ]

    def print_figures(self):
        for servers, ways in self.rates.items():
            print(f"\ngroups, {servers} server(s)   median/s     least      most")
            for way, rates in ways.items():
                print(f"  {way:<22} {statistics.median(rates):>9.0f} {min(rates):>9.0f}"
                      f" {max(rates):>9.0f}")

    def markdown(self):
        if self.rates:
            yield "| lives, batches of 100 | jobs a second | least – most |"
            yield "|---|---:|---:|"
        for servers, ways in self.rates.items():
            for way, rates in ways.items():
                yield (f"| {way}, {servers} server(s) | {statistics.median(rates):,.0f} | "
                       f"{min(rates):,.0f} – {max(rates):,.0f} |")
        yield ""

    def as_json(self):
        return {"rates": self.rates, "memory": self.memory}
