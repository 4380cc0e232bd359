# SPDX-License-Identifier: MIT
"""Routes and graphs: the time of a job through many small steps, and of a graph.

- steps: a job with 40 steps in sequence, each a program that does nothing, started anew or fed
  while it stays; from the request that makes it to the answer that it is done.
- graph: one job, then N that wait for it, then one that waits for all of them: submitted, claimed
  and finished in large requests, up to the moment the last one is ready.
"""

import json
import os
import statistics
import time

import api
import contenders
import programs

STEPS = 40
STEP_ROUNDS = 10
SIZES = (1000, 10000, 100000)
ARRAY = 1000  # jobs in one request
SPAWNING, RESIDENT = "spawning", "resident"


class Bench:
    """Workloads `steps` and `graph` of bench/run."""

    def __init__(self, options, say, built):
        self.options = options
        self.say = say
        self.programs = built
        self.times = {}   # way -> list of seconds
        self.graphs = {}  # N -> list of {"accepted", "released"}, seconds

    # A job through many steps

    def steps(self):
        for way, cls, program in ((SPAWNING, programs.Queue, "noop"),
                                  (RESIDENT, programs.Resident, "resident")):
            server = cls(self.options, self.programs).start(program, os.cpu_count())
            try:
                calls = api.Api(server.urls["waybill-unix"])
                self.route(calls)  # warms up, and starts the resident
                for _ in range(STEP_ROUNDS if not self.options.quick else 3):
                    self.times.setdefault(way, []).append(self.route(calls))
                calls.close()
            finally:
                server.stop()
            self.say(f"  {STEPS} steps   {way:<9} {self.step_median(way) * 1000:.0f} ms")

    def route(self, calls):
        job = {"steps": [{"name": f"step {n}", "queue": "bench"} for n in range(STEPS)],
               "params": {"n": 1}}
        began = time.monotonic()
        ended = calls.job(calls.call("POST", "/v1/jobs", job)["id"], "30s")
        took = time.monotonic() - began
        if ended["state"] != "done" or len(ended["progress"]) != STEPS:
            raise RuntimeError(f"a job of {STEPS} steps has not done them: {ended['state']}")
        return took

    # A graph

    def graph(self):
        for n in SIZES if not self.options.quick else SIZES[:2]:
            for _ in range(min(self.options.runs, 3)):
                result = self.one_graph(n)
                self.graphs.setdefault(n, []).append(result)
                self.say(f"  1 > {n} > 1   accepted {result['accepted']:.2f} s,"
                         f" released {result['released']:.2f} s")

    def one_graph(self, n):
        server = contenders.Waybill(self.options.dir, os.path.join(self.options.build, "waybill"),
                                    "graph", 0, json.dumps({})).start()
        try:
            calls = api.Api(server.urls["waybill-unix"])
            began = time.monotonic()
            last = self.submit(calls, n)
            accepted = time.monotonic() - began
            self.carry_out(calls, n + 1)
            self.until_ready(calls, last)
            released = time.monotonic() - began
            calls.close()
            return {"accepted": accepted, "released": released}
        finally:
            server.stop()

    def submit(self, calls, n):
        first = calls.call("POST", "/v1/jobs", {"queue": "bench"})["id"]
        middle = []
        for begin in range(0, n, ARRAY):
            jobs = [{"queue": "bench", "after": [first]}] * min(ARRAY, n - begin)
            middle += calls.call("POST", "/v1/jobs", jobs)["ids"]
        return calls.call("POST", "/v1/jobs", {"queue": "bench", "after": middle})["id"]

    def carry_out(self, calls, count):
        done = []
        while count > 0:
            reply = calls.call("POST", "/v1/claim",
                               {"worker": "bench", "queues": {"bench": min(ARRAY, count)},
                                "max": min(ARRAY, count), "wait": "10s", "finish": done})
            done = [{"id": j["id"], "lease": j["lease"], "state": "done"} for j in reply["jobs"]]
            count -= len(done)
            if not done:
                raise RuntimeError(f"{count} jobs of a graph are not released")
        calls.call("POST", "/v1/finish", {"finish": done})

    def until_ready(self, calls, last):
        deadline = time.monotonic() + 60
        while calls.job(last)["state"] != "ready":
            if time.monotonic() > deadline:
                raise RuntimeError("the last job of a graph is not released")
            time.sleep(0.001)

    # Results

    def step_median(self, way):
        times = self.times.get(way)
        return statistics.median(times) if times else None

    def graph_median(self, n, field="released"):
        runs = self.graphs.get(n)
        return statistics.median(r[field] for r in runs) if runs else None

    def demands(self):
        small, large = self.graph_median(SIZES[1]), self.graph_median(SIZES[2])
        return [
            (f"{STEPS} steps in sequence, spawning, s", self.step_median(SPAWNING), "<=", 0.25,
             0.2),
            (f"{STEPS} steps in sequence, resident, s", self.step_median(RESIDENT), "<=", 0.1, 0.1),
            (f"graph 1 > N > 1, t({SIZES[2]}) / t({SIZES[1]})",
             large / small if small and large else None, "<=", 13, 13),
        ]

    def print_figures(self):
        if self.times:
            print(f"\n{f'{STEPS} steps, ms':<28} {'median':>7} {'least':>7} {'most':>7}")
        for way, times in self.times.items():
            print(f"  {way:<26} {statistics.median(times) * 1000:>7.0f} {min(times) * 1000:>7.0f}"
                  f" {max(times) * 1000:>7.0f}")
        if self.graphs:
            print(f"\n{'graph 1 > N > 1':<28} {'accepted s':>10} {'released s':>10}"
                  f" {'us a job':>9}")
        for n in self.graphs:
            released = self.graph_median(n)
            print(f"  {n:<26} {self.graph_median(n, 'accepted'):>10.2f} {released:>10.2f}"
                  f" {released * 1e6 / n:>9.0f}")

    def markdown(self):
        if self.times:
            yield f"| {STEPS} steps in sequence | median | least – most |"
            yield "|---|---:|---:|"
        for way, times in self.times.items():
            yield (f"| {way} | {statistics.median(times) * 1000:.0f} ms | "
                   f"{min(times) * 1000:.0f} – {max(times) * 1000:.0f} ms |")
        if self.graphs:
            yield "\n| graph 1 → N → 1 | accepted | released | a job |"
            yield "|---|---:|---:|---:|"
        for n in self.graphs:
            released = self.graph_median(n)
            yield (f"| {n:,} | {self.graph_median(n, 'accepted'):.2f} s | {released:.2f} s | "
                   f"{released * 1e6 / n:.0f} µs |")
        yield ""

    def as_json(self):
        return {"steps": self.times, "graphs": self.graphs}
