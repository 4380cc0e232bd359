# SPDX-License-Identifier: MIT
"""How fast programs are started and looked after: Waybill beside xargs and GNU parallel.

Programs that do nothing, the same for all, as many at once for all.  A contender is given so many
lines that it works for about as long as the others; what counts is lines a second.

- xargs: `xargs -P N -n 1 PROGRAM`, which keeps no record.
- parallel: `parallel -j N --joblog FILE PROGRAM {}`, which keeps one.
- each: `waybill each -j N -- PROGRAM {}`; start and end of its server included.
- queue: a served queue, `waybill serve -j N`, filled before; from the first start to the last end,
  as the server has recorded them.
"""

import json
import os
import shutil
import statistics
import subprocess
import time

import api
import contenders
import machine

SLOTS = (2, 4, 8)
HEADLINE = ("noop", 4)  # twice the cores of the reference machine; see docs/performance.md
WARM_COUNT = 100
GROWTH_MAX = 8
RESIDENT_SLOTS = 32
START_ROUNDS = 300
END_PATIENCE_S = 120


class Lines:
    """A command that runs a program for each line of its input."""

    def __init__(self, options, programs):
        self.options = options
        self.programs = programs
        self.binary = shutil.which(self.command)
        if self.binary is None:
            raise contenders.Missing(f"{self.command} is not installed (Debian package "
                                     f"{self.package})")

    def run(self, program, slots, count):
        """What a run of so many lines took, in seconds, and the processor time of all of it."""
        directory = os.path.join(self.options.dir, self.name)
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)
        lines = os.path.join(directory, "lines")
        with open(lines, "w", encoding="ascii") as f:
            f.writelines(f"{n}\n" for n in range(count))
        try:
            return self.time(self.argv(self.programs[program], slots, directory), lines, directory)
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def time(self, argv, lines, directory):
        variables = dict(os.environ, PARALLEL_HOME=directory, WAYBILL_DATA=directory)
        with open(lines, "rb") as source, open(os.path.join(directory, "said"), "w+b") as said:
            began = time.monotonic()
            process = subprocess.Popen(argv, stdin=source, stdout=said, stderr=said, cwd=directory,
                                       env=variables)
            _, status, usage = os.wait4(process.pid, 0)
            took = time.monotonic() - began
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                said.seek(0)
                raise RuntimeError(f"{' '.join(argv)} ended with {process.returncode}: "
                                   f"{said.read()[-500:]!r}")
        return took, usage.ru_utime + usage.ru_stime


class Xargs(Lines):
    name = command = "xargs"
    package = "findutils"

    def argv(self, program, slots, _):
        return [self.binary, "-P", str(slots), "-n", "1", program]


class Parallel(Lines):
    name = command = package = "parallel"

    def argv(self, program, slots, directory):
        return [self.binary, "-j", str(slots), "--joblog", os.path.join(directory, "joblog"),
                program, "{}"]


class Each(Lines):
    name = "each"

    def __init__(self, options, programs):
        self.options = options
        self.programs = programs
        self.binary = os.path.join(options.build, "waybill")

    def argv(self, program, slots, _):
        return [self.binary, "each", "-j", str(slots), "--", program, "{}"]


class Queue:
    """A served queue; `resident` is fed instead of started."""

    name = "queue"

    def __init__(self, options, programs, resident=False):
        self.options = options
        self.programs = programs
        self.resident = resident

    def start(self, program, slots):
        command = [self.programs[program]] + ([] if self.resident else ["{n}"])
        queue = {"command": command, "resident": self.resident}
        return contenders.Waybill(self.options.dir, os.path.join(self.options.build, "waybill"),
                                  self.name, slots, json.dumps(queue)).start()

    def run(self, program, slots, count):
        server = self.start(program, slots)
        try:
            calls = api.Api(server.urls["waybill-unix"])
            calls.call("POST", "/v1/queues/bench/pause")
            first, last = calls.submit_many("bench", count)
            before = machine.tree_cpu_seconds(server.pid)
            calls.call("POST", "/v1/queues/bench/up")
            self.wait(calls, count, last)
            used = machine.tree_cpu_seconds(server.pid) - before
            began = api.seconds_of(calls.job(first)["started_at"])
            ended = max(api.seconds_of(job["finished_at"]) for job in calls.newest("bench"))
            calls.close()
            return ended - began, used
        finally:
            server.stop()

    def wait(self, calls, count, last):
        deadline = time.monotonic() + END_PATIENCE_S
        while calls.job(last, "30s")["state"] != "done" or calls.counts("bench")["done"] < count:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{count} programs have not ended after {END_PATIENCE_S} s: "
                                   f"{calls.counts('bench')}")
            time.sleep(0.01)


class Resident(Queue):
    name = "resident"

    def __init__(self, options, programs):
        super().__init__(options, programs, resident=True)


class Bench:
    """Workloads `programs`, `start` and `resident` of bench/run."""

    def __init__(self, options, say):
        self.options = options
        self.say = say
        built = os.path.join(options.build, "bench")
        self.programs = {name: os.path.join(built, f"bench-{name}")
                         for name in ("noop", "stamp", "resident")}
        self.programs["true"] = shutil.which("true")
        self.rates = {}    # (workload, program, slots) -> contender -> list of {"rate", "cpu_us"}
        self.starts = {}   # way -> list of {"p50", "p99"}, milliseconds
        self.missing = {}
        for name, path in self.programs.items():
            if not os.access(path or "", os.X_OK):
                raise contenders.Missing(f"the program {path or name} is not there: ninja -C "
                                         f"{options.build} bench/bench-{name}")

    # Jobs a second

    def measure(self, key, contender, count):
        _, program, slots = key
        took, cpu = contender.run(program, slots, count)
        result = {"rate": count / took, "cpu_us": cpu * 1e6 / count, "count": count}
        self.rates.setdefault(key, {}).setdefault(contender.name, []).append(result)
        self.say(f"  {program:<9} -j {slots:<3} {contender.name:<9} {result['rate']:>8.0f} /s")

    def fitting_count(self, contender, program, slots, seconds):
        """How many lines it gets to work for so long: found in runs that grow, which also warm up.

        A short run says little: in it the start of a server or of residents is most of the time."""
        count, took = WARM_COUNT, contender.run(program, slots, WARM_COUNT)[0]
        while took < seconds / 2:
            count = int(count * min(GROWTH_MAX, seconds / took))
            took = contender.run(program, slots, count)[0]
        return max(WARM_COUNT, int(count / took * seconds))

    def alternate(self, key, ways, runs, seconds):
        """ways: contender -> program."""
        counts = {contender: self.fitting_count(contender, program, key[2], seconds)
                  for contender, program in ways.items()}
        for _ in range(runs):
            for contender, program in ways.items():
                self.measure((key[0], program, key[2]), contender, counts[contender])

    def line_contenders(self):
        for cls in (Xargs, Parallel, Each, Queue):
            try:
                yield cls(self.options, self.programs)
            except contenders.Missing as why:
                self.missing[cls.name] = str(why)
                self.say(f"  without {cls.name}: {why}")

    def spawn(self):
        """All combinations; what is judged gets as many runs as all else in the bench."""
        o = self.options
        found = list(self.line_contenders())
        for program in ("noop", "true"):
            for slots in SLOTS:
                judged = (program, slots) == HEADLINE
                self.alternate(("programs", program, slots), {c: program for c in found},
                               o.runs if judged else min(o.runs, 3),
                               o.seconds if judged else o.seconds / 2)

    def resident(self):
        ways = {Queue(self.options, self.programs): "noop",
                Resident(self.options, self.programs): "resident"}
        self.alternate(("resident", "", RESIDENT_SLOTS), ways, self.options.runs,
                       self.options.seconds)

    # From the submit to the program's first instruction

    def note_starts(self, way, times):
        times = sorted(times)
        self.starts.setdefault(way, []).append(
            {"p50": statistics.median(times), "p99": times[int(len(times) * 0.99)]})
        self.say(f"  start     {way:<13} p50 {statistics.median(times):.2f} ms")

    def start(self):
        """One at a time on an idle server, and the same program started directly."""
        pipe = os.path.join(self.options.dir, "stamps")
        os.makedirs(self.options.dir, exist_ok=True)
        os.mkfifo(pipe)
        stamps = os.fdopen(os.open(pipe, os.O_RDWR | os.O_CLOEXEC), "rb", buffering=0)
        server = Queue(self.options, self.programs).start("stamp", os.cpu_count())
        try:
            submitter = Submitter(server.urls["waybill-unix"], pipe, stamps)
            self.round(submitter, 20)
            for _ in range(self.options.runs):
                self.note_starts("direct", self.round(Direct(self.programs["stamp"], pipe, stamps)))
                self.note_starts("submitted", self.round(submitter))
            submitter.close()
        finally:
            server.stop()
            stamps.close()
            os.unlink(pipe)

    def round(self, way, rounds=None):
        times = []
        for i in range(rounds or (START_ROUNDS if not self.options.quick else 50)):
            times.append(way.once())
            way.settle()
            time.sleep(0.002 + 0.0007 * (i % 10))  # idle, and not in step with anything
        return times

    # Results

    def median(self, workload, program, slots, name, field="rate"):
        runs = self.rates.get((workload, program, slots), {}).get(name)
        return statistics.median(r[field] for r in runs) if runs else None

    def ratio(self, key, name, peer_key, peer):
        a, b = self.median(*key, name), self.median(*peer_key, peer)
        return a / b if a and b else None

    def start_median(self, way, field):
        runs = self.starts.get(way)
        return statistics.median(r[field] for r in runs) if runs else None

    def demands(self):
        program, slots = HEADLINE
        key = ("programs", program, slots)
        found = []
        for name, what in (("each", "each"), ("queue", "served queue")):
            for peer, limit, goal in (("xargs", 0.8, 0.9), ("parallel", 3, 3)):
                found.append((f"{what}, programs a second, {slots} at once / {peer}",
                              self.ratio(key, name, key, peer), ">=", limit, goal))
        found.append(("submit to first instruction, ms, p50",
                      self.start_median("submitted", "p50"), "<=", 3, 2))
        found.append((f"resident program / one a job, {RESIDENT_SLOTS} at once",
                      self.ratio(("resident", "resident", RESIDENT_SLOTS), "resident",
                                 ("resident", "noop", RESIDENT_SLOTS), "queue"), ">=", 10, 10))
        return found

    def rows(self):
        """(workload, program, slots, contender, median, least, most, / xargs, / parallel, µs)"""
        for key, ways in self.rates.items():
            for name, runs in ways.items():
                rates = [r["rate"] for r in runs]
                yield (*key, name, statistics.median(rates), min(rates), max(rates),
                       self.ratio(key, name, key, "xargs"), self.ratio(key, name, key, "parallel"),
                       statistics.median(r["cpu_us"] for r in runs))

    def print_figures(self):
        if self.rates:
            print(f"\n{'programs':<10} {'at once':>7} {'':<9} {'median/s':>9} {'least':>8}"
                  f" {'most':>8} {'/ xargs':>8} {'/ parallel':>10} {'all cpu us':>10}")
        for _, program, slots, name, median, least, most, xargs, parallel, cpu in self.rows():
            ratios = ["-" if r is None else f"{r:.2f}" for r in (xargs, parallel)]
            print(f"  {program:<8} {slots:>7} {name:<9} {median:>9.0f} {least:>8.0f} {most:>8.0f}"
                  f" {ratios[0]:>8} {ratios[1]:>10} {cpu:>10.0f}")
        if self.starts:
            print(f"\n{'first instruction after, ms':<28} {'p50':>6} {'p99':>6}")
        for way in self.starts:
            print(f"  {way:<26} {self.start_median(way, 'p50'):>6.2f}"
                  f" {self.start_median(way, 'p99'):>6.2f}")

    def markdown(self):
        if self.rates:
            yield "| program | at once | | a second | least – most | / xargs | / parallel | CPU |"
            yield "|---|---:|---|---:|---:|---:|---:|---:|"
        for _, program, slots, name, median, least, most, xargs, parallel, cpu in self.rows():
            ratios = ["–" if r is None else f"{r:.2f}" for r in (xargs, parallel)]
            yield (f"| {program} | {slots} | {name} | {median:,.0f} | {least:,.0f} – {most:,.0f} | "
                   f"{ratios[0]} | {ratios[1]} | {cpu:.0f} µs |")
        if self.starts:
            yield "\n| first instruction after | p50 | p99 |"
            yield "|---|---:|---:|"
        for way in self.starts:
            yield (f"| {way} | {self.start_median(way, 'p50'):.2f} ms | "
                   f"{self.start_median(way, 'p99'):.2f} ms |")
        yield ""

    def as_json(self):
        return {"rates": [{"workload": k[0], "program": k[1], "slots": k[2], "ways": v}
                          for k, v in self.rates.items()], "starts": self.starts}


class Submitter:
    """Submits a job; its program says when it began."""

    def __init__(self, url, pipe, stamps):
        self.calls = api.Api(url)
        self.sock = api.connect(self.calls.path)
        self.stamps = stamps
        body = json.dumps({"queue": "bench", "params": {"n": pipe}}).encode()
        self.request = (b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
                        % len(body)) + body
        self.last = None

    def once(self):
        began = time.monotonic_ns()
        self.sock.sendall(self.request)
        reply = self.sock.recv(65536)
        self.last = json.loads(reply[reply.index(b"\r\n\r\n"):])["id"]
        return (int(self.stamps.read(64)) - began) / 1e6

    def settle(self):
        job = self.calls.job(self.last, "10s")
        if job["state"] != "done":
            raise RuntimeError(f"the program that tells the time has not: {job}")

    def close(self):
        self.sock.close()
        self.calls.close()


class Direct:
    """The same program without anything between."""

    def __init__(self, program, pipe, stamps):
        self.argv = [program, pipe]
        self.stamps = stamps
        self.pid = 0

    def once(self):
        began = time.monotonic_ns()
        self.pid = os.posix_spawn(self.argv[0], self.argv, {})
        return (int(self.stamps.read(64)) - began) / 1e6

    def settle(self):
        os.waitpid(self.pid, 0)
