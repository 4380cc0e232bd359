# SPDX-License-Identifier: MIT
"""Filters: what `unique` costs an enumerator while many keys are known.

- unique: one job emits jobs with new keys into a queue with `unique`, beside the same into a queue
  without, in alternating runs; before that, keys are made known.  WAYBILL_BENCH_KEYS is their
  number: 10,000,000 for the long form.
"""

import os
import statistics
import time

import api
import contenders

PLAIN, UNIQUE = "plain", "unique"
KEYS = int(os.environ.get("WAYBILL_BENCH_KEYS", 200000))
QUICK_KEYS = 20000
EMITTED = 20000  # of a run
REQUEST = 1000


class Bench:
    """Workload `unique` of bench/run."""

    def __init__(self, options, say):
        self.options = options
        self.say = say
        self.keys = min(KEYS, QUICK_KEYS) if options.quick else KEYS
        self.rates = {}  # way -> list of jobs a second
        self.made = 0    # keys, so that none comes twice

    def unique(self):
        server = contenders.Waybill(self.options.dir, os.path.join(self.options.build, "waybill"),
                                    "unique").start()
        try:
            calls = api.Api(server.urls["waybill-unix"])
            calls.call("PUT", f"/v1/queues/{PLAIN}", {"keep": {"done": "0s"}})
            calls.call("PUT", f"/v1/queues/{UNIQUE}", {
                "keep": {"done": "0s"},
                "filters": [{"unique": {"key": "{url}", "scope": "queue"}}]})
            while self.made < self.keys:
                self.emit(calls, UNIQUE)
                calls.call("POST", "/v1/bulk", {"action": "delete",
                                                "filter": {"queue": UNIQUE, "state": "ready"}})
            for _ in range(max(3, self.options.runs)):
                for way in (PLAIN, UNIQUE):
                    rate = self.emit(calls, way)
                    self.rates.setdefault(way, []).append(rate)
                    self.say(f"  {way:<10} {rate:>9.0f} /s")
            calls.close()
        finally:
            server.stop()

    def emit(self, calls, queue):
        """Jobs a second, from the first emit to the release of the last."""
        calls.submit_many("bench", 1)
        job = calls.call("POST", "/v1/claim", {"worker": "enumerator", "queues": {"bench": 1},
                                               "max": 1, "lease": "1h"})["jobs"][0]
        held = {"id": job["id"], "lease": job["lease"]}
        begin = time.monotonic()
        for seq in range(1, EMITTED // REQUEST + 1):
            jobs = [{"queue": queue, "params": {"url": f"https://example.org/{self.made + n}"}}
                    for n in range(REQUEST)]
            self.made += REQUEST
            calls.call("POST", "/v1/emit", {**held, "seq": seq, "jobs": jobs})
        calls.call("POST", "/v1/finish", {"finish": [{**held, "state": "done"}]})
        while calls.counts(queue).get("staged", 0) > 0:
            time.sleep(0.01)
        return EMITTED / (time.monotonic() - begin)

    def ratio(self):
        if not self.rates:
            return None
        return statistics.median(self.rates[UNIQUE]) / statistics.median(self.rates[PLAIN])

    def demands(self):
        return [(f"emits with unique, {self.keys} keys known / without", self.ratio(), ">=", 0.5,
                 0.5)]

    def print_figures(self):
        if self.rates:
            print("\nemits                     median/s     least      most")
        for way, rates in self.rates.items():
            print(f"  {way:<22} {statistics.median(rates):>9.0f} {min(rates):>9.0f}"
                  f" {max(rates):>9.0f}")

    def markdown(self):
        if self.rates:
            yield "| emits | jobs a second | least – most |"
            yield "|---|---:|---:|"
        for way, rates in self.rates.items():
            yield (f"| {way} | {statistics.median(rates):,.0f} | "
                   f"{min(rates):,.0f} – {max(rates):,.0f} |")
        yield ""

    def as_json(self):
        return {"rates": self.rates, "keys": self.keys}
