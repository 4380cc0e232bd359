# SPDX-License-Identifier: MIT
"""More at once than one transaction, one page or the memory of a queue holds."""
import random

import pytest

from client import counted
from waiting import DEADLINE_S, eventually

MANY = 12000  # above what a queue keeps in memory of its ready jobs


def claim_all(client, wanted, queue="work", **fields):
    """Jobs in the order they are granted."""
    jobs = []
    while len(jobs) < wanted:
        more = client.claim(queue, max=min(1000, wanted - len(jobs)), wait="10s",
                            **fields)["jobs"]
        assert more, f"{len(jobs)} of {wanted} came"
        jobs += more
    assert len(jobs) == wanted
    return jobs


def in_order(items):
    """(priority, id) as they should be granted."""
    return [job_id for _, job_id in sorted(items, key=lambda item: (-item[0], item[1]))]


def test_the_order_holds_beyond_what_is_kept_in_memory(client):
    rng = random.Random(7)
    priorities = [rng.choice([-5, 0, 0, 0, 3, 9]) for _ in range(MANY)]
    ids = client.submit_many([{"queue": "work", "priority": p} for p in priorities])
    granted = [job["id"] for job in claim_all(client, MANY)]
    assert granted == in_order(zip(priorities, ids))


def test_a_late_job_with_a_higher_priority_overtakes_a_long_queue(client):
    ids = client.submit_many([{"queue": "work"}] * MANY)
    first = [job["id"] for job in client.claim(max=5)["jobs"]]
    urgent = client.submit(priority=5)
    client.ok("PATCH", f"/v1/jobs/{ids[-1]}", {"priority": 7})
    client.act(ids[5], "hold")
    client.ok("PATCH", f"/v1/jobs/{ids[6]}", {"priority": -1})
    rest = [job["id"] for job in claim_all(client, MANY - 5)]
    assert first == ids[:5]
    assert rest == [ids[-1], urgent, *ids[7:-1], ids[6]]


def test_a_long_queue_is_in_order_after_a_kill(server, client):
    ids = client.submit_many([{"queue": "work", "priority": n % 3} for n in range(MANY)])
    server.restart()
    granted = [job["id"] for job in claim_all(server.tcp(), MANY)]
    assert granted == in_order((n % 3, job_id) for n, job_id in enumerate(ids))


def test_many_jobs_due_at_one_instant_all_come(client):
    ids = client.submit_many([{"queue": "work", "delay": "700ms"}] * 3000)
    assert {job["id"] for job in claim_all(client, 3000)} == set(ids)


def test_many_leases_that_end_at_one_instant_all_come_back(client):
    ids = client.submit_many([{"queue": "work"}] * 3000)
    claim_all(client, 3000, worker="gone", lease="1s")
    jobs = claim_all(client, 3000, worker="there")
    assert {job["id"] for job in jobs} == set(ids) and {job["attempt"] for job in jobs} == {2}
    assert client.counts() == {"work": {"running": 3000}}


def test_a_worker_hands_back_thousands_at_once(client):
    ids = client.submit_many([{"queue": "work"}] * 3000)
    held = claim_all(client, 3000, worker="w")[::3]
    touch = [{"id": job["id"], "lease": job["lease"]} for job in held]
    reply = client.claim({"other": 1}, worker="w", all=True, touch=touch)
    assert reply["lost"] == []
    eventually(lambda: client.counts() == {"work": {"running": 1000, "ready": 2000}},
               "two thousand jobs to come back")
    back = claim_all(client, 2000, worker="v")
    assert {job["id"] for job in back} == set(ids) - {job["id"] for job in held}
    assert {job["attempt"] for job in back} == {1}


def test_what_is_too_old_is_removed_by_itself(client, admin):
    client.submit_many([{"queue": "work"}] * 1500 + [{"queue": "other"}] * 5)
    finish = [{"id": job["id"], "lease": job["lease"], "state": "done"}
              for job in claim_all(client, 1400) + claim_all(client, 5, "other")]
    client.ok("POST", "/v1/finish", {"finish": finish})
    admin.ok("PUT", "/v1/queues/work", {"keep": {"done": 0}})
    eventually(lambda: client.counts() == {"work": {"ready": 100}, "other": {"done": 5}},
               "the done jobs to be gone", 30 * DEADLINE_S / 10)
    assert client.counts() == counted(client.list())


@pytest.mark.parametrize("state", [
    "done", "failed",
    pytest.param("later", marks=pytest.mark.embedded("goes the way of a failure"))])
def test_ten_thousand_finishes_in_one_request(client, state):
    client.submit_many([{"queue": "work"}] * 10000)
    finish = [{"id": job["id"], "lease": job["lease"], "state": state, "delay": "1h"}
              if state == "later" else {"id": job["id"], "lease": job["lease"], "state": state}
              for job in claim_all(client, 10000)]
    results = client.ok("POST", "/v1/finish", {"finish": finish})["results"]
    assert all(result.get("ok") for result in results)
    assert client.counts() == {"work": {"scheduled" if state == "later" else state: 10000}}
