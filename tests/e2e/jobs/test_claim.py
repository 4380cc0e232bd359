# SPDX-License-Identifier: MIT
"""Claiming: order, maxima, the long wait and what ends it, several things in one request."""
import time

import pytest

from client import waiting_claim
from waiting import Background, eventually, parse_time


def ids(reply):
    return [job["id"] for job in reply["jobs"]]


def test_a_claimed_job_says_all_a_worker_needs(client):
    job_id = client.submit(params={"a": 1}, labels={"l": "m"}, key="k", priority=3, body="b")
    job = client.take(lease="30s")
    assert job["id"] == job_id and job["queue"] == "work" and job["attempt"] == 1
    assert job["params"] == {"a": 1} and job["labels"] == {"l": "m"} and job["key"] == "k"
    assert job["priority"] == 3 and job["body"] == "b" and job["lease"]
    assert job["url"].endswith(f"/v1/jobs/{job_id}")
    until = parse_time(job["lease_until"])
    shown = client.show(job_id)
    assert shown["state"] == "running" and shown["worker"] == "tester"
    assert parse_time(shown["lease_until"]) == until
    assert 25 < (until - parse_time(shown["started_at"])).total_seconds() <= 31


def test_first_come_first_served(client):
    submitted = [client.submit(params={"n": n}) for n in range(20)]
    got = []
    while len(got) < 20:
        got += ids(client.claim(max=3))
    assert got == submitted


def test_several_queues_each_with_its_maximum(client):
    for _ in range(5):
        client.submit("work")
        client.submit("other")
    jobs = client.claim({"work": 2, "other": 1}, max=10)["jobs"]
    assert sorted(job["queue"] for job in jobs) == ["other", "work", "work"]
    jobs = client.claim({"work": 9, "other": 9}, max=4)["jobs"]
    assert len(jobs) == 4
    assert len(client.claim({"work": 9, "other": 9}, max=100)["jobs"]) == 3


def test_a_queue_that_was_not_named_is_left_alone(client):
    client.submit("other")
    assert ids(client.claim("work")) == []


def test_a_claim_without_wait_answers_at_once(client):
    reply = client.claim()
    assert reply["jobs"] == []


def test_a_wait_that_is_up_answers_with_nothing(client):
    start = time.monotonic()
    assert client.claim(wait="300ms")["jobs"] == []
    assert 0.25 <= time.monotonic() - start < 5


def test_a_waiting_claim_is_woken_by_a_submit(server, client):
    call = waiting_claim(server)
    job_id = client.submit()
    assert ids(call.result(5)) == [job_id]


def test_a_waiting_claim_is_not_woken_by_another_queue(server, client):
    call = waiting_claim(server, wait="500ms")
    client.submit("other")
    assert ids(call.result()) == []


def test_a_waiting_claim_is_woken_by_a_due_instant(server, client):
    call = waiting_claim(server)
    start = time.monotonic()
    job_id = client.submit(delay="400ms")
    assert ids(call.result(5)) == [job_id]
    assert time.monotonic() - start >= 0.4


def test_a_waiting_claim_is_woken_by_a_retry(server, client):
    job_id = client.submit("again")
    job = client.take("again")
    call = waiting_claim(server, "again")
    client.end(job, "failed", exit=1)
    got = call.result(5)["jobs"]
    assert [(j["id"], j["attempt"]) for j in got] == [(job_id, 2)]


def test_a_waiting_claim_is_woken_by_a_lost_lease(server, client):
    job_id = client.submit()
    client.take(lease="1s")
    call = waiting_claim(server, worker="second")
    assert ids(call.result(8)) == [job_id]


@pytest.mark.parametrize("how", ["release", "now", "move", "retry", "clone", "returned", "resume"])
def test_a_waiting_claim_is_woken_by_whatever_makes_a_job_ready(server, client, admin, how):
    job_id = client.submit("other" if how == "move" else "work", delay="1h" if how == "now" else 0)
    held = None
    if how == "release":
        client.act(job_id, "hold")
    elif how == "retry":
        client.end(client.take())
    elif how in ("clone", "returned"):
        held = client.take()
    elif how == "resume":
        admin.ok("POST", "/v1/queues/work/pause")
    call = waiting_claim(server)
    if how == "returned":
        client.end(held, "returned")
    elif how == "resume":
        admin.ok("POST", "/v1/queues/work/resume")
    elif how == "move":
        client.act(job_id, "move", {"queue": "work"})
    else:
        reply = client.act(job_id, how)
        job_id = reply["id"]
    assert ids(call.result(5)) == [job_id]


def test_each_of_many_waiting_claims_gets_one_job(server, client):
    calls = [Background(server.tcp().claim, "work", worker=f"w{n}", wait="30s",
                        max=1) for n in range(20)]
    eventually(lambda: client.waiting() == 20, "twenty waiting claims")
    submitted = client.submit_many([{"queue": "work"}] * 20)
    got = [ids(call.result()) for call in calls]
    assert sorted(sum(got, [])) == sorted(submitted) and all(len(g) == 1 for g in got)


def test_a_claim_with_all_hands_back_what_it_does_not_name(client):
    submitted = [client.submit() for _ in range(4)]
    jobs = client.claim(worker="w", max=3)["jobs"]
    kept = [{"id": jobs[0]["id"], "lease": jobs[0]["lease"]}]
    reply = client.claim({"other": 1}, worker="w", all=True, touch=kept)
    assert reply["jobs"] == [] and reply["lost"] == []
    states = {i: client.show(i) for i in submitted}
    assert [states[i]["state"] for i in submitted] == ["running", "ready", "ready", "ready"]
    assert [states[i]["attempt"] for i in submitted] == [1, 0, 0, 0]
    assert [states[i]["lost"] for i in submitted] == [0, 0, 0, 0]
    assert client.finish(jobs[1])["error"]["code"] == "stale_lease"
    client.end(jobs[0])


def test_a_claim_with_all_leaves_other_workers_alone(client):
    client.submit()
    job = client.take(worker="a")
    client.claim(worker="b", all=True, touch=[])
    assert client.state(job["id"]) == "running"
    client.end(job)


def test_finish_touch_and_claim_in_one_request(client):
    first, second, third = (client.submit() for _ in range(3))
    one, two = client.claim(max=2)["jobs"]
    reply = client.claim(max=1,
                         finish=[{"id": first, "lease": one["lease"], "state": "done",
                                  "result": 1}],
                         touch=[{"id": second, "lease": two["lease"], "text": "half", "done": 1,
                                 "total": 2}])
    assert ids(reply) == [third]
    assert reply["results"] == [{"id": first, "ok": True}]
    assert reply["lost"] == [] and reply["cancel"] == []
    shown = client.show(second)
    assert (shown["text"], shown["done"], shown["total"]) == ("half", 1, 2)
    assert client.show(first)["result"] == 1


def test_what_is_finished_with_a_claim_is_done_before_the_wait_is_over(server, client):
    job_id = client.submit()
    job = client.take()
    call = waiting_claim(server, finish=[{"id": job_id, "lease": job["lease"], "state": "done"}])
    assert client.state(job_id) == "done"
    client.submit()
    assert call.result()["results"] == [{"id": job_id, "ok": True}]


def test_a_claim_does_not_wait_when_a_finish_has_failed(client):
    job_id = client.submit()
    job = client.take()
    client.end(job, "returned")
    fresh = client.take()
    client.end(fresh)
    start = time.monotonic()
    reply = client.claim({"other": 1}, wait="30s",
                         finish=[{"id": job_id, "lease": job["lease"], "state": "failed"}])
    assert time.monotonic() - start < 5
    assert reply["results"][0]["error"]["code"] == "stale_lease" and reply["jobs"] == []


def test_a_claim_does_not_wait_when_a_touch_has_failed(client):
    client.submit()
    job = client.take()
    client.end(job)
    start = time.monotonic()
    reply = client.claim({"other": 1}, wait="30s", touch=[{"id": job["id"], "lease": job["lease"]}])
    assert time.monotonic() - start < 5
    assert reply["lost"] == [{"id": job["id"], "lease": job["lease"]}]


def test_a_claim_tells_of_a_cancelled_job(client):
    job_id = client.submit()
    job = client.take()
    client.act(job_id, "cancel", status=202)
    reply = client.claim({"other": 1}, touch=[{"id": job_id, "lease": job["lease"]}])
    assert reply["cancel"] == [{"id": job_id, "lease": job["lease"]}] and reply["lost"] == []


def test_a_worker_may_say_more_about_itself(client):
    client.submit()
    about = {"name": "w1", "host": "h.example.org", "pid": 4711, "version": "1.2.3"}
    client.take(worker=about)
    worker, = client.ok("GET", "/v1/workers")["workers"]
    assert {k: worker[k] for k in about} == about


def test_an_anonymous_claimer_may_claim(client):
    job_id = client.submit()
    reply = client.ok("POST", "/v1/claim", {"queues": {"work": 1}})
    assert ids(reply) == [job_id]
    client.end(reply["jobs"][0])


def test_a_job_granted_once_is_granted_to_nobody_else(client):
    client.submit()
    assert len(ids(client.claim(worker="a"))) == 1
    assert ids(client.claim(worker="b")) == [] and ids(client.claim(worker="a")) == []


def test_a_thousand_jobs_in_one_claim(client):
    submitted = client.submit_many([{"queue": "work"}] * 1000)
    assert ids(client.claim(max=1000)) == submitted
