# SPDX-License-Identifier: MIT
"""Two servers on one PostgreSQL: gates hold over both."""
import shutil
import tempfile
import threading

import pytest

from client import waiting_claim
from postgres import Cluster
from waybill import Server

pytestmark = pytest.mark.embedded("has a PostgreSQL of its own")

DEFINITIONS = """
resources:
  api: {slots: 3}
  quota: {rate: [20/1h]}
queues:
  work: {needs: {api: 1}}
  metered: {needs: {quota: 1}}
  fetch: {lane: {key: "{host}", limit: 1}}
"""


@pytest.fixture(scope="module", name="both")
def two_servers():
    path = tempfile.mkdtemp(prefix="waybill-e2e.")
    with Cluster(fast=True) as cluster:
        made = [Server(f"{path}/{name}", definitions=DEFINITIONS, store=cluster.url())
                for name in ("a", "b")]
        try:
            for server in made:
                server.start()
            yield made
            for server in made:
                server.finish_up()
        finally:
            for server in made:
                if server.running():
                    server.kill()
            shutil.rmtree(path, ignore_errors=True)


class Work(threading.Thread):
    """Claims and finishes until nothing is left; counts what runs at once by key."""

    lock = threading.Lock()

    def __init__(self, server, queue, left, running, most):
        super().__init__()
        self.client = server.unix()
        self.queue, self.left, self.running, self.most = queue, left, running, most
        self.failure = None

    def note(self, job, by):
        key = job["params"].get("host", self.queue)
        with self.lock:
            self.running[key] = self.running.get(key, 0) + by
            self.most[key] = max(self.most.get(key, 0), self.running[key])

    def run(self):
        try:
            while self.left[0] > 0:
                jobs = self.client.claim(self.queue, max=2, wait="200ms")["jobs"]
                for job in jobs:
                    self.note(job, 1)
                for job in jobs:
                    self.note(job, -1)
                    self.client.end(job)
                    with self.lock:
                        self.left[0] -= 1
        except Exception as error:  # pylint: disable=broad-except
            self.failure = error
            self.left[0] = 0


def work_off(both, queue, n):
    left, running, most = [n], {}, {}
    threads = [Work(server, queue, left, running, most) for server in both for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive() and thread.failure is None, thread.failure
    return most


def test_slots_come_back_at_a_server_that_never_granted_any(both):
    a, b = both[0].unix(), both[1].unix()
    a.submit("work")
    job = a.take("work")
    assert a.ok("GET", "/v1/resources/api")["in_use"] == 1
    b.end(job)
    assert a.ok("GET", "/v1/resources/api")["in_use"] == 0
    a.submit("fetch", params={"host": "x"})
    b.end(a.take("fetch"))
    a.submit("fetch", params={"host": "x"})
    b.end(a.take("fetch"))


def test_slots_are_never_exceeded_over_two_servers(both):
    both[0].unix().submit_many([{"queue": "work", "params": {}} for _ in range(300)])
    most = work_off(both, "work", 300)
    assert 1 <= most["work"] <= 3
    assert both[1].unix().ok("GET", "/v1/resources/api")["in_use"] == 0


def test_lanes_are_never_exceeded_over_two_servers(both):
    both[1].unix().submit_many([{"queue": "fetch", "params": {"host": f"h{i % 10}"}}
                                for i in range(200)])
    most = work_off(both, "fetch", 200)
    assert len(most) == 10 and max(most.values()) == 1


def test_a_rate_holds_over_two_servers(both):
    both[0].unix().submit_many([{"queue": "metered", "params": {}} for _ in range(50)])
    got = [0, 0]

    def take(i):
        client = both[i].unix()
        while True:
            jobs = client.claim("metered", max=3, wait="300ms")["jobs"]
            got[i] += len(jobs)
            if not jobs:
                return

    threads = [threading.Thread(target=take, args=(i,)) for i in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sum(got) == 20


def test_a_slot_that_comes_back_at_one_server_wakes_a_claim_at_the_other(both):
    a, b = both[0].unix(), both[1].unix()
    a.submit_many([{"queue": "work", "params": {}} for _ in range(4)])
    held = a.claim("work", max=10)["jobs"]
    assert len(held) == 3
    waiting = waiting_claim(both[1], "work")
    a.end(held[0])
    assert len(waiting.result()["jobs"]) == 1
    b.ok("GET", "/v1/resources/api")
