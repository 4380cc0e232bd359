#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A crawl in nested groups, whose servers are killed with -9 while it runs.

  run.py [--messages N] [--kills N] [--servers N] [--seed N] [--keep]

One instruction opens the group of the crawl, its job emits sites, each in a group of its own, these
emit sections, and their pages emit links: three of five links are duplicates, which the filter of
the pages drops within their site.  One server is on SQLite, several share a PostgreSQL.  In the end
each distinct page of a site was done once, all other links were dropped, each group had its
finaliser once, after the last of its members and inner groups, and the finalisers' counts are
right.  The last line is the verdict as JSON.
"""
import argparse
import http.client
import json
import random
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "e2e"))

from client import Client  # noqa: E402
from postgres import Cluster  # noqa: E402
from waiting import PATIENCE, eventually, parse_time  # noqa: E402
from waybill import Server  # noqa: E402

QUEUES = ("start", "site", "section", "page", "summary")
DEFINITIONS = """
queues:
  start: {}
  site: {}
  section: {}
  page:
    filters:
      - unique: {key: "{url}", scope: {group: site}}
  summary: {}
groups:
  crawl: {finally: {queue: summary, params: &counts {level: "{kind}", name: "{name}",
          group: "{group}", made: "{made}", done: "{done}", failed: "{failed}",
          dropped: "{dropped}"}}}
  site: {finally: {queue: summary, params: *counts}}
  section: {finally: {queue: summary, params: *counts}}
"""
SITES = 5
SECTIONS = 4
CLAIMERS = 4
LEASE = "5s"
STALLED_S = 60 * PATIENCE
GONE = (OSError, http.client.HTTPException)


class Site:
    """What is linked from where, by rule: who crawls need not remember anything."""

    def __init__(self, messages):
        self.pages = max(2, messages * 2 // 5 // (SITES * SECTIONS))  # of a section

    def links(self, params):
        """The jobs that a job emits."""
        level = params.get("level", "crawl")
        if level == "crawl":
            return [self.inner("site", f"site{n}", params) for n in range(SITES)]
        if level == "site":
            return [self.inner("section", f"{params['name']}/section{n}", params)
                    for n in range(SECTIONS)]
        if level == "section":
            return [self.page(params["name"], 0)]
        section, number = params["url"].rsplit("/", 1)
        return [self.page(section, n) for n in self.numbers(int(number))]

    @staticmethod
    def inner(kind, name, _):
        return {"queue": kind, "params": {"level": kind, "name": name},
                "group": {"open": kind, "name": name}}

    @staticmethod
    def page(section, number):
        return {"queue": "page", "params": {"level": "page", "url": f"{section}/{number}"}}

    def numbers(self, n):
        """Each page but the first is the child of one other; the rest leads back."""
        children = [child for child in (2 * n + 1, 2 * n + 2) if child < self.pages]
        return children + [n * k // 7 for k in range(1, 4) if n % 2 == 0]

    def expected(self):
        """For a site: distinct pages, links emitted for them."""
        links = 1 + sum(len(self.numbers(n)) for n in range(self.pages))
        return SECTIONS * self.pages, SECTIONS * links


class Crawler(threading.Thread):
    """Claims at any server that answers, and finishes with what it emits."""

    def __init__(self, crawl, number):
        super().__init__(daemon=True)
        self.crawl = crawl
        self.name = f"crawler-{number}"
        self.rng = random.Random(f"{crawl.args.seed} {number}")
        self.client = None
        self.finish = []

    def exchange(self):
        reply = self.client.post("/v1/claim", {
            "worker": self.name, "queues": {queue: 50 for queue in QUEUES}, "max": 50,
            "wait": "1s", "lease": LEASE, "all": True, "finish": self.finish})
        if reply.status == 503:
            return []
        assert reply.status == 200, (reply.status, reply.body[:300])
        for result in reply.json["results"]:
            error = result.get("error", {}).get("code")
            assert error in (None, "stale_lease", "not_found"), result
        self.finish = []
        return reply.json["jobs"]

    def run(self):
        try:
            while not self.crawl.over.is_set():
                self.step()
        except AssertionError as fault:
            self.crawl.broken.append(f"{self.name}: {fault}")

    def step(self):
        if self.client is None:
            self.client = Client(("127.0.0.1", self.rng.choice(self.crawl.servers).port))
        try:
            jobs = self.exchange()
        except GONE:  # what it held is given back by its next claim
            self.client, self.finish = None, []
            self.crawl.over.wait(0.02)
            return
        for job in jobs:
            done = {"id": job["id"], "lease": job["lease"], "state": "done"}
            if job["queue"] != "summary":
                done["emit"] = self.crawl.site.links(job.get("params", {}))
            self.finish.append(done)
        self.crawl.progressed += len(jobs)


class Crawl:
    def __init__(self, args):
        self.args = args
        self.rng = random.Random(args.seed)
        self.site = Site(args.messages)
        self.over = threading.Event()
        self.broken = []
        self.progressed = 0
        self.kills = 0
        self.dir = Path(tempfile.mkdtemp(prefix="waybill-crawl."))
        self.cluster = Cluster(fast=True).start() if args.servers > 1 else None
        store = self.cluster.url() if self.cluster else Server.EMBEDDED
        self.servers = [Server(self.dir / f"server{n}", DEFINITIONS, store=store)
                        for n in range(args.servers)]

    # ---- the run

    def instruct(self):
        return self.any().ok("POST", "/v1/jobs", {
            "queue": "start", "key": "the crawl", "group": {"open": "crawl", "name": "all"}})["id"]

    def any(self):
        return self.rng.choice(self.servers).tcp()

    def kill_one(self):
        server = self.rng.choice(self.servers)
        server.kill()
        server.start()
        self.kills += 1

    def ended(self, group):
        return self.any().ok("GET", f"/v1/groups/{group}")["ended_at"] is not None

    def watch(self, group):
        """Kills at as many points of the work as it is told, and waits for the end."""
        distinct = self.site.expected()[0] * SITES
        points = sorted(self.rng.sample(range(1, distinct), self.args.kills))
        seen, seen_at = 0, time.monotonic()
        while points or not self.ended(group):
            if points and self.progressed >= points[0]:
                points.pop(0)
                self.kill_one()
            if self.progressed != seen:
                seen, seen_at = self.progressed, time.monotonic()
            if time.monotonic() > seen_at + STALLED_S:
                self.broken.append(f"nothing has moved for {STALLED_S} s")
                break
            if self.broken:
                break
            self.over.wait(0.01 if points else 0.1)

    def run(self):
        for server in self.servers:
            server.start()
        job = self.instruct()
        group = self.any().ok("GET", f"/v1/jobs/{job}")["group"]["id"]
        crawlers = [Crawler(self, n) for n in range(CLAIMERS)]
        for crawler in crawlers:
            crawler.start()
        self.watch(group)
        self.over.set()
        for crawler in crawlers:
            crawler.join(30 * PATIENCE)
        if not self.broken:
            self.judge(group)

    # ---- the verdict

    def list_all(self, path, noun):
        client, rows, cursor = self.any(), [], None
        while True:
            page = client.ok("GET", f"{path}&limit=1000" + (f"&cursor={cursor}" if cursor else ""))
            rows += page[noun]
            cursor = page["cursor"]
            if cursor is None:
                return rows

    def check(self, holds, what):
        if not holds:
            self.broken.append(what)

    def judge(self, crawl):
        groups = {row["id"]: row for row in self.list_all("/v1/groups?state=done", "groups")}
        jobs = self.list_all("/v1/jobs?state=done", "jobs")
        self.check(len(groups) == 1 + SITES + SITES * SECTIONS, f"{len(groups)} groups")
        self.check(all(group["state"] == "done" for group in groups.values()),
                   "a group is not done")
        self.judge_pages(groups, [job for job in jobs if job["queue"] == "page"])
        self.judge_finalisers(groups, jobs)
        self.check(groups.get(crawl, {}).get("counts", {}).get("groups") == 0,
                   "the crawl has inner groups that are open")

    def judge_pages(self, groups, pages):
        """Each page once in its site; the rest of the links was dropped."""
        distinct, links = self.site.expected()
        seen = {}
        for page in pages:
            url = page["params"]["url"]
            seen[url] = seen.get(url, 0) + 1
        self.check(len(seen) == distinct * SITES, f"{len(seen)} of {distinct * SITES} pages")
        self.check(set(seen.values()) == {1}, "a page was done twice")
        dropped = sum(group["counts"]["dropped"] for group in groups.values())
        self.check(dropped == (links - distinct) * SITES,
                   f"{dropped} links were dropped, not {(links - distinct) * SITES}")

    def judge_finalisers(self, groups, jobs):
        finalisers = {}
        for job in jobs:
            if job["queue"] == "summary":
                finalisers.setdefault(job["params"]["group"], []).append(job)
        self.check({group: 1 for group in groups} ==
                   {group: len(some) for group, some in finalisers.items()},
                   "a group has no finaliser, or several")
        last_end = {}
        for job in jobs:
            inside = (job.get("group") or {}).get("id")
            if inside is not None:
                last_end[inside] = max(last_end.get(inside, ""), job["finished_at"])
        for group, some in finalisers.items():
            self.judge_finaliser(groups.get(group), some[0], last_end.get(group))

    def judge_finaliser(self, group, finaliser, last_end):
        """The milliseconds of its id may be those of the end before it."""
        if group is None or last_end is None:
            self.broken.append(f"the finaliser {finaliser['id']} has no group, or an empty one")
            return
        created, ended = parse_time(finaliser["created_at"]), parse_time(last_end)
        self.check((created - ended).total_seconds() > -0.002,
                   f"{group['name']}: the finaliser was made before the last member ended")
        told = {name: int(finaliser["params"][name])
                for name in ("made", "done", "failed", "dropped")}
        kept = {name: group["counts"][name] for name in told}
        self.check(told == kept, f"{group['name']}: the finaliser was told {told}, kept is {kept}")

    def end(self):
        for server in self.servers:
            try:
                if server.process is not None:
                    server.finish_up()
            except AssertionError as fault:
                self.broken.append(f"the end: {fault}")
        if self.cluster:
            self.cluster.close()
        if self.broken or self.args.keep:
            print(f"kept: {self.dir}")
        else:
            shutil.rmtree(self.dir, ignore_errors=True)

    def verdict(self):
        distinct, links = self.site.expected()
        return {"messages": links * SITES, "distinct": distinct * SITES, "kills": self.kills,
                "broken": len(self.broken), "seed": self.args.seed}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--messages", type=int, default=5000)
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--keep", action="store_true")
    crawl = Crawl(parser.parse_args())
    try:
        crawl.run()
    finally:
        crawl.over.set()
        crawl.end()
    for text in crawl.broken[:20]:
        print(f"broken: {text}")
    verdict = crawl.verdict()
    if verdict["kills"] < crawl.args.kills:  # a fault that is not injected proves nothing
        verdict["broken"] += 1
    print(json.dumps(verdict))
    return 1 if verdict["broken"] else 0


if __name__ == "__main__":
    sys.exit(main())
