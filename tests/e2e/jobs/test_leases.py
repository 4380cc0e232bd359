# SPDX-License-Identifier: MIT
"""Leases: expiry, heartbeats, lost workers, and the fence against stale ones."""
import json
import signal
import time
from urllib.parse import quote

import pytest

from waiting import DEADLINE_S, eventually, now, parse_time

LATE_MAX_S = 1  # by which a stored deadline may be later than the lease is long


def test_an_expired_lease_makes_the_job_ready_at_once(client):
    job_id = client.submit()
    client.take(worker="first", lease="1s")
    start = time.monotonic()
    job = client.take(worker="second")
    assert time.monotonic() - start < 4
    assert (job["id"], job["attempt"]) == (job_id, 2)
    shown = client.show(job_id)
    assert (shown["state"], shown["lost"], shown["worker"]) == ("running", 1, "second")
    entry, = shown["progress"]
    assert (entry["state"], entry["cause"], entry["status"], entry["worker"]) == ("lost", "lost",
                                                                                  None, "first")
    client.end(job)


def test_the_sixth_lost_worker_fails_the_job(client):
    submitted = client.submit_many([{"queue": "work"}] * 5)
    for n in range(1, 7):
        jobs = []
        while len(jobs) < 5:
            more = client.claim(lease="1s", wait="10s", max=5)["jobs"]
            assert more, f"round {n}"
            jobs += more
        assert {job["attempt"] for job in jobs} == {n}
    eventually(lambda: client.counts() == {"work": {"failed": 5}}, "the jobs to fail")
    for job_id in submitted:
        shown = client.show(job_id)
        assert (shown["lost"], shown["cause"], shown["attempt"]) == (6, "lost", 6)
        assert [entry["cause"] for entry in shown["progress"]] == ["lost"] * 6


def test_a_lost_worker_does_not_use_up_a_retry(client):
    job_id = client.submit("again")
    client.take("again", lease="1s")
    client.end(client.take("again"), "failed", exit=1)
    client.end(client.take("again"), "failed", exit=1)
    job = client.take("again")
    assert job["attempt"] == 4
    client.end(job)
    assert client.show(job_id)["lost"] == 1


def test_what_a_worker_of_programs_lost_does_not_go_back_to_its_waiting_claim(client):
    job_id = client.submit()
    client.take(worker="stopped", lease="1s")
    assert client.claim(worker="stopped", wait="30s", commands=True)["jobs"] == []
    assert client.state(job_id) == "ready" and client.show(job_id)["lost"] == 1
    assert client.take(worker="stopped")["id"] == job_id


def test_a_touch_extends_the_lease(server, client):
    client.submit()
    job = client.take(worker="first", lease="1s")
    other = server.tcp()
    end = time.monotonic() + 3
    while time.monotonic() < end:
        assert client.touch(job) == {"lost": [], "cancel": []}
        assert other.claim(worker="second", wait="300ms")["jobs"] == []
    client.end(job)
    assert client.show(job["id"])["lost"] == 0


def test_a_touch_shows_status_and_progress(client):
    job_id = client.submit()
    job = client.take()
    client.touch(job, text="reading ä", done=3, total=10)
    shown = client.show(job_id)
    assert (shown["text"], shown["done"], shown["total"]) == ("reading ä", 3, 10)
    client.touch(job, done=4, total=10)
    shown = client.show(job_id)
    assert (shown["text"], shown["done"], shown["total"]) == ("reading ä", 4, 10)
    client.touch(job)
    assert client.show(job_id)["done"] == 4


def test_a_touch_moves_the_deadline(client):
    job_id = client.submit()
    job = client.take(lease="60s")
    before = parse_time(client.show(job_id)["lease_until"])

    def moved():
        """The allowance for slow commits, which a lease has on top, may have shrunk by more than
        the time between both: then a later touch moves the deadline."""
        client.touch(job)
        after = parse_time(client.show(job_id)["lease_until"])
        return after > before and after

    left = (eventually(moved, "a later deadline") - now()).total_seconds()
    assert 55 < left <= 60 + LATE_MAX_S


def test_a_touch_of_many_tells_which_are_lost(client):
    client.submit_many([{"queue": "work"}] * 3)
    jobs = client.claim(max=3)["jobs"]
    client.end(jobs[1])
    reply = client.touch(*jobs)
    assert reply["lost"] == [{"id": jobs[1]["id"],
                              "lease": jobs[1]["lease"]}] and reply["cancel"] == []


def test_a_stale_worker_is_fenced(client):
    job_id = client.submit(params={"n": 1})
    stale = client.take(worker="slow", lease="1s")
    fresh = client.take(worker="quick")
    assert fresh["lease"] != stale["lease"]
    before = client.show(job_id)
    assert client.finish(stale, "done", result="wrong")["error"]["code"] == "stale_lease"
    assert client.finish(stale, "failed", exit=1)["error"]["code"] == "stale_lease"
    assert client.touch(stale, text="wrong")["lost"] == [{"id": job_id, "lease": stale["lease"]}]
    reply = client.request("POST", f"/v1/jobs/{job_id}/log?lease={stale['lease']}&offset=0",
                           b"wrong")
    reply.error(409, "stale_lease")
    after = client.show(job_id)
    assert after == before
    client.end(fresh, result="right")
    assert client.show(job_id)["result"] == "right"
    assert client.finish(stale, "done", result="wrong")["error"]["code"] == "stale_lease"
    assert client.show(job_id)["result"] == "right"


def forgeries(mine, other):
    """Guesses of a client that knows its own lease and all of the other job but its lease."""
    fence, token, proof = mine["lease"].split(".")
    yield mine["lease"]
    yield other["id"]
    yield f"{int(fence) + 1}.{token}.{proof}"
    yield f"{fence}.{other['id']}.{proof}"
    yield f"{fence}.{token}.{'A' * len(proof)}"
    yield f"{fence}.{token}.{proof.swapcase()}"
    yield from (token, proof, "x", "\u2603", "-" * 38, "1" * 100)


def test_jobs_of_one_claim_have_a_lease_each(client):
    client.submit_many([{"queue": "work"}] * 20)
    jobs = client.claim(max=20)["jobs"]
    proofs = {job["lease"].split(".")[2] for job in jobs}
    assert len(proofs) == 20 and all(len(proof) == 22 for proof in proofs)


def test_a_lease_is_good_for_its_own_job_only(client):
    client.submit_many([{"queue": "work"}] * 2)
    mine, other = client.claim(max=2)["jobs"]
    before = client.show(other["id"])
    for lease in forgeries(mine, other):
        forged = {"id": other["id"], "lease": lease}
        for state in ("done", "returned", "lost"):
            assert client.finish(forged, state)["error"]["code"] == "stale_lease", lease
        assert client.touch(forged, text="mine")["lost"] == [forged]
        client.refused(409, "stale_lease", "POST", "/v1/emit",
                       {**forged, "seq": 1, "jobs": [{"queue": "work"}]})
        client.refused(409, "stale_lease", "POST",
                       f"/v1/jobs/{other['id']}/log?lease={quote(lease)}&offset=0", b"mine")
    assert client.show(other["id"]) == before
    client.end(other)
    client.end(mine)


def test_who_claims_all_says_what_it_holds_by_their_leases(client):
    client.submit_many([{"queue": "work"}] * 2)
    one, two = client.claim(worker="w", max=2)["jobs"]
    items = [{"id": one["id"], "lease": one["lease"]}, {"id": two["id"], "lease": one["lease"]}]
    reply = client.claim(worker="w", max=0, all=True, touch=items)
    assert reply["lost"] == items[1:]
    assert client.state(one["id"]) == "running" and client.state(two["id"]) == "ready"


def test_the_fence_counts_the_grants_of_a_job(client):
    client.submit()
    for fence in range(1, 12):
        job = client.take()
        assert job["lease"].split(".")[0] == str(fence)
        client.end(job, "returned" if fence % 3 else "done")
        if fence % 3 == 0:
            client.act(job["id"], "retry")


def test_leases_outlive_a_restart_and_know_those_of_before(server, client):
    client.submit_many([{"queue": "work"}] * 2)
    jobs = client.claim(max=2)["jobs"]
    server.restart()
    client = server.tcp()
    client.end(jobs[0])
    swapped = {"id": jobs[1]["id"], "lease": jobs[0]["lease"]}
    assert client.finish(swapped)["error"]["code"] == "stale_lease"
    client.end(jobs[1])


def test_a_late_finish_is_either_whole_or_nothing(server, client):
    """The server is frozen over the end of the lease: finish and sweep meet."""
    job_id = client.submit()
    job = client.take(lease="1s")
    end = time.monotonic() + 1.2
    server.process.send_signal(signal.SIGSTOP)
    try:
        with server.wire() as wire:
            item = {"id": job_id, "lease": job["lease"], "state": "done"}
            body = json.dumps({"finish": [item]}).encode()
            wire.send(b"POST /v1/finish HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" %
                      len(body) + body)
            eventually(lambda: time.monotonic() > end, "the end of the lease")
            server.process.send_signal(signal.SIGCONT)
            result, = wire.reply().json["results"]
    finally:
        server.process.send_signal(signal.SIGCONT)
    shown = client.show(job_id)
    if "ok" in result:
        assert (shown["state"], shown["lost"]) == ("done", 0)
    else:
        assert result["error"]["code"] == "stale_lease"
        assert (shown["state"], shown["lost"]) == ("ready", 1)


def test_a_restart_gives_every_lease_a_full_period(server, client):
    job_id = client.submit()
    job = client.take(lease="2s")
    server.kill()
    end = time.monotonic() + 2.2
    eventually(lambda: time.monotonic() > end, "the end of the lease")
    server.start()
    client = server.tcp()
    assert client.state(job_id) == "running"
    client.end(job)
    assert client.show(job_id)["lost"] == 0


def test_a_lease_found_at_a_restart_expires_when_nobody_comes(server, client):
    job_id = client.submit()
    client.take(lease="1s", worker="gone")
    server.restart()
    client = server.tcp()
    job = client.take(worker="new")
    assert job["id"] == job_id and client.show(job_id)["lost"] == 1


def test_a_touch_works_after_a_restart(server, client):
    client.submit()
    job = client.take(lease="2s")
    server.restart()
    client = server.tcp()
    assert client.touch(job, text="still here")["lost"] == []
    assert client.show(job["id"])["text"] == "still here"
    client.end(job)


def test_leases_run_in_a_queue_that_is_paused(client, admin):
    job_id = client.submit()
    client.take(lease="1s")
    admin.ok("POST", "/v1/queues/work/pause")
    eventually(lambda: client.state(job_id) == "ready", "the lease to expire", DEADLINE_S)
    assert client.show(job_id)["lost"] == 1


@pytest.mark.embedded("refused before the store is asked")
@pytest.mark.parametrize("lease", ["999ms", "25h", 0, -1, "x", [], "1s5"])
def test_a_lease_out_of_bounds_is_refused(client, lease):
    client.submit()
    error = client.refused(422, "invalid", "POST", "/v1/claim",
                           {"worker": "w", "queues": {"work": 1}, "lease": lease})
    assert "lease" in error["message"]
    assert client.counts() == {"work": {"ready": 1}}
