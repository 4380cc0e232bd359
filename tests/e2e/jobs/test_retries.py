# SPDX-License-Identifier: MIT
"""Retries: pauses that grow, rules for exit statuses, and the ends of patience."""
import pytest

from waiting import now, parse_time


def pause_s(shown):
    """From the end of the last attempt to the next one's time."""
    ended = parse_time(shown["progress"][-1]["ended_at"])
    return (parse_time(shown["due_at"]) - ended).total_seconds()


def define(admin, name, **definition):
    reply = admin.request("PUT", f"/v1/queues/{name}", definition)
    assert reply.status in (200, 201), reply.body


def test_pauses_grow_until_the_retries_are_used_up(client, admin):
    define(admin, "slow", retry={"max": 4, "first": "1h", "factor": 3, "cap": "10h", "jitter": 0})
    job_id = client.submit("slow")
    pauses = []
    for _ in range(4):
        client.end(client.take("slow"), "failed", exit=1)
        shown = client.show(job_id)
        assert shown["state"] == "scheduled" and shown["reason"]["until"] == shown["due_at"]
        pauses.append(pause_s(shown))
        client.act(job_id, "now")
    assert pauses == pytest.approx([3600, 10800, 32400, 36000], abs=0.01)
    client.end(client.take("slow"), "failed", exit=1)
    shown = client.show(job_id)
    assert (shown["state"], shown["attempt"], len(shown["progress"])) == ("failed", 5, 5)


def test_jitter_varies_the_pause_within_its_share(client, admin):
    define(admin, "jit", retry={"max": 1, "first": "1000s", "jitter": 0.2})
    client.submit_many([{"queue": "jit"}] * 30)
    jobs = client.claim("jit", max=30)["jobs"]
    pauses = set()
    for job in jobs:
        client.end(job, "failed", exit=1)
        pauses.add(pause_s(client.show(job["id"])))
    assert len(pauses) > 10 and min(pauses) >= 800 and max(pauses) <= 1200


def test_a_retry_comes_by_itself(client):
    job_id = client.submit("again")
    begin = now()
    for attempt in (1, 2, 3):
        job = client.take("again")
        assert (job["id"], job["attempt"]) == (job_id, attempt)
        client.end(job, "failed", exit=1)
    assert (now() - begin).total_seconds() >= 0.15
    assert client.state(job_id) == "failed"
    assert client.claim("again", wait="300ms")["jobs"] == []


def test_without_a_rule_a_failure_is_the_end(client):
    job_id = client.submit()
    client.end(client.take(), "failed", exit=1)
    assert client.state(job_id) == "failed"


def test_an_exit_status_that_means_never_fails_at_once(client):
    for status in (64, 70, 74):
        job_id = client.submit("rules")
        client.end(client.take("rules"), "failed", exit=status)
        assert client.state(job_id) == "failed", status


def test_an_exit_status_that_means_later_is_not_counted(client):
    job_id = client.submit("rules")
    for _ in range(15):
        client.end(client.take("rules"), "failed", exit=75)
        assert client.state(job_id) in ("scheduled", "ready")
    client.end(client.take("rules"), "failed", exit=75)
    shown = client.show(job_id)
    assert (shown["state"], shown["attempt"]) == ("failed", 16)


def test_the_status_outside_the_rules_is_an_ordinary_failure(client):
    job_id = client.submit("rules")
    for _ in range(3):
        client.end(client.take("rules"), "failed", exit=63)
        assert client.state(job_id) in ("scheduled", "ready")
    client.end(client.take("rules"), "failed", exit=76)
    assert client.state(job_id) == "failed"


def test_a_final_failure_is_not_tried_again(client):
    job_id = client.submit("again")
    client.end(client.take("again"), "failed", exit=1, final=True)
    assert client.state(job_id) == "failed"


def test_the_jobs_own_retry_is_laid_over_the_queues(client):
    job_id = client.submit("again", retry={"max": 1})
    client.end(client.take("again"), "failed", exit=1)
    assert client.state(job_id) in ("scheduled", "ready")
    client.end(client.take("again"), "failed", exit=1)
    assert client.state(job_id) == "failed"
    job_id = client.submit("rules", retry={"max": 0, "exits": {"9": "never"}})
    client.end(client.take("rules"), "failed", exit=9)
    assert client.state(job_id) == "failed"


def test_a_retry_by_hand_starts_with_fresh_budgets(client):
    job_id = client.submit("again")
    for _ in range(3):
        client.end(client.take("again"), "failed", exit=1)
    assert client.state(job_id) == "failed"
    assert client.act(job_id, "retry")["state"] == "ready"
    client.end(client.take("again"), "failed", exit=1)
    shown = client.show(job_id)
    assert shown["state"] in ("scheduled", "ready") and shown["attempt"] == 4


def test_a_retry_waits_for_its_time_over_a_kill(server, client, admin):
    define(admin, "slow", retry={"max": 1, "first": "1h", "jitter": 0})
    job_id = client.submit("slow")
    client.end(client.take("slow"), "failed", exit=1)
    due = client.show(job_id)["due_at"]
    server.restart()
    shown = server.tcp().show(job_id)
    assert (shown["state"], shown["due_at"]) == ("scheduled", due)


def test_so_many_failures_in_a_row_pause_the_queue(client, admin):
    define(admin, "fragile", stop_after=3)
    client.submit_many([{"queue": "fragile"}] * 6)
    for state in ("failed", "failed", "done", "failed", "failed"):
        client.end(client.take("fragile"), state, exit=int(state == "failed"))
    assert client.ok("GET", "/v1/queues/fragile")["state"] == "up"
    client.end(client.take("fragile"), "failed", exit=1)
    assert client.ok("GET", "/v1/queues/fragile")["state"] == "pause"


def test_a_job_that_fails_again_and_again_is_one_job_that_fails(client, admin):
    define(admin, "stubborn", stop_after=2, retry={"max": 5, "first": 0, "jitter": 0})
    client.submit("stubborn")
    for _ in range(4):
        client.end(client.take("stubborn", wait="10s"), "failed", exit=1)
    assert client.ok("GET", "/v1/queues/stubborn")["state"] == "up"
    client.submit("stubborn", priority=1)
    client.end(client.take("stubborn"), "failed", exit=1)
    assert client.ok("GET", "/v1/queues/stubborn")["state"] == "pause"
