# SPDX-License-Identifier: MIT
"""Gates: what lanes and resources cost a claim, and what a closed backlog costs.

- gates: jobs of a plain queue, and of one with 10,000 lanes and three resources, are claimed and
  finished by requests of 100; both in turn on one server.
- closed: a backlog behind a closed resource, with waiting claimers: context switches of the server
  compared with an idle one that has as many.
"""

import json
import os
import threading
import time

import api
import contenders

LANES = 10000
JOBS = 40000
ARRAY = 1000
CLAIM = 100
BACKLOG = 1000000
CLAIMERS = 20
WATCH_S = 10

DEFINITIONS = {
    "resources": {name: {"slots": 10000} for name in ("one", "two", "three")} |
                 {"shut": {"open": "00:00-00:01", "closed": "2024-01-01..2090-01-01"}},
    "queues": {
        "plain": {},
        "gated": {"needs": {"one": 1, "two": 1, "three": 1},
                  "lane": {"key": "{lane}", "limit": 1}},
        "closed": {"needs": {"shut": 1}},
    },
}


class Bench:
    """Workloads `gates` and `closed` of bench/run."""

    def __init__(self, options, say):
        self.options = options
        self.say = say
        self.rates = {}     # queue -> list of jobs a second
        self.switches = {}  # "idle", "closed" -> context switches a second

    def start(self):
        return contenders.Waybill(self.options.dir, os.path.join(self.options.build, "waybill"),
                                  "gates", 0, json.dumps({})).start()

    def define(self, calls):
        calls.call("POST", "/v1/definitions", DEFINITIONS)

    # Claims

    def gates(self):
        server = self.start()
        try:
            calls = api.Api(server.urls["waybill-unix"])
            self.define(calls)
            for _ in range(min(self.options.runs, 3)):
                for queue in ("plain", "gated"):
                    self.rates.setdefault(queue, []).append(self.one_run(calls, queue))
            calls.close()
        finally:
            server.stop()
        self.say(f"  10,000 lanes and 3 resources: {self.ratio():.2f} x plain"
                 f" ({self.best('gated'):.0f} and {self.best('plain'):.0f} jobs a second)")

    def best(self, queue):
        return max(self.rates[queue])

    def ratio(self):
        return self.best("gated") / self.best("plain")

    def one_run(self, calls, queue):
        jobs = JOBS if not self.options.quick else JOBS // 4
        for begin in range(0, jobs, ARRAY):
            calls.call("POST", "/v1/jobs", [{"queue": queue, "params": {"lane": str(n % LANES)}}
                                            for n in range(begin, begin + ARRAY)])
        began = time.monotonic()
        done = 0
        finish = []
        while done < jobs:
            reply = calls.call("POST", "/v1/claim", {"worker": "bench", "queues": {queue: CLAIM},
                                                     "max": CLAIM, "finish": finish})
            done += len(finish)
            finish = [{"id": j["id"], "lease": j["lease"], "state": "done"} for j in reply["jobs"]]
        return jobs / (time.monotonic() - began)

    # A closed backlog

    def closed(self):
        for way, backlog in (("idle", 0), ("closed", BACKLOG if not self.options.quick else 20000)):
            server = self.start()
            try:
                calls = api.Api(server.urls["waybill-unix"])
                self.define(calls)
                for _ in range(0, backlog, 10 * ARRAY):
                    calls.call("POST", "/v1/jobs", [{"queue": "closed"}] * (10 * ARRAY))
                self.switches[way] = self.watch(server)
                calls.close()
            finally:
                server.stop()
        self.say(f"  a closed backlog: {self.switches['closed']:.1f} context switches a second,"
                 f" idle {self.switches['idle']:.1f}")

    def watch(self, server):
        claimers = [threading.Thread(target=self.wait, args=(server,), daemon=True)
                    for _ in range(CLAIMERS)]
        for claimer in claimers:
            claimer.start()
        time.sleep(2)
        before = context_switches(server.process.pid)
        time.sleep(WATCH_S)
        switched = context_switches(server.process.pid) - before
        for claimer in claimers:
            claimer.join()
        return switched / WATCH_S

    def wait(self, server):
        calls = api.Api(server.urls["waybill-unix"])
        calls.call("POST", "/v1/claim", {"worker": "bench", "queues": {"closed": 1}, "max": 1,
                                         "wait": f"{WATCH_S + 4}s"})
        calls.close()


    # Results

    def demands(self):
        switched = None
        if "closed" in self.switches:
            switched = self.switches["closed"] - self.switches["idle"]
        return [
            (f"claims with {LANES} lanes and 3 resources / plain",
             self.ratio() if self.rates else None, ">=", 0.5, 0.5),
            ("context switches a second, closed backlog more than idle", switched, "<=", 0.5, 0),
        ]

    def markdown(self):
        if self.rates:
            yield "| claims, batches of 100 | jobs a second |"
            yield "|---|---:|"
        for queue, rates in self.rates.items():
            yield f"| {queue} | {max(rates):,.0f} |"
        yield ""

    def as_json(self):
        return {"rates": self.rates, "switches": self.switches}


def context_switches(pid):
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="ascii") as file:
            total += sum(int(line.split()[1]) for line in file if "ctxt_switches" in line)
    return total
