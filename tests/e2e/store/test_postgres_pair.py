# SPDX-License-Identifier: MIT
"""Two servers on one PostgreSQL: what is said to one holds at the other."""
import itertools
import time

import pytest

from waiting import PATIENCE, Background, eventually
from waybill import Server

pytestmark = pytest.mark.embedded("has a PostgreSQL of its own")

NUMBERS = itertools.count(1)
AT_ONCE_S = 2 * PATIENCE


@pytest.fixture(name="queue")
def a_queue(a):
    """The name of a new one."""
    name = f"queue {next(NUMBERS)}"
    define(a, name)
    return name


def define(client, name, **definition):
    client.ok("PUT", f"/v1/queues/{name.replace(' ', '%20')}", definition)


def act_on_queue(client, name, verb):
    client.ok("POST", f"/v1/queues/{name.replace(' ', '%20')}/{verb}")


def queue_of(client, name):
    return client.ok("GET", f"/v1/queues/{name.replace(' ', '%20')}")


# ---- keys

def test_a_key_is_known_to_both(a, b, queue):
    job_id = a.submit(queue, key=queue, params={"n": 1})
    again = b.post("/v1/jobs", {"queue": queue, "key": queue, "params": {"n": 1}})
    assert (again.status, again.json["id"]) == (200, job_id)
    b.refused(409, "conflict", "POST", "/v1/jobs",
              {"queue": queue, "key": queue, "params": {"n": 2}})


def test_the_same_key_at_the_same_time_is_one_job(both, a, queue):
    def submit(server, first):
        client = server.tcp()
        ids = [client.ok("POST", "/v1/jobs", {"queue": queue, "key": f"{queue} {n}"})["id"]
               for n in range(first, first + 40)]
        client.close()
        return ids

    calls = [Background(submit, server, 0) for server in both * 2]
    results = [call.result(60 * PATIENCE) for call in calls]
    assert all(ids == results[0] for ids in results)
    assert len(a.list(f"queue={queue.replace(' ', '%20')}")) == 40


# ---- leases

def test_a_job_is_given_to_one_of_many_that_claim_at_both(both, a, queue):
    ids = a.submit_many([{"queue": queue}] * 300)

    def drain(server, name):
        client, got = server.tcp(), []
        while jobs := client.claim(queue, worker=name, max=7)["jobs"]:
            got += [job["id"] for job in jobs]
            client.ok("POST", "/v1/finish", {"finish": [
                {"id": job["id"], "lease": job["lease"], "state": "done"} for job in jobs]})
        client.close()
        return got

    calls = [Background(drain, server, f"w{n}") for n, server in enumerate(both * 3)]
    got = [job_id for call in calls for job_id in call.result(60 * PATIENCE)]

    # Others may hold rows that a claim then passes over: what is left is still there.
    eventually(lambda: got.extend(drain(both[0], "last")) or len(got) >= len(ids), "the rest")
    assert sorted(got) == sorted(ids)


def test_a_worker_that_moves_to_the_other_is_believed_about_what_it_holds(a, b, queue):
    a.submit_many([{"queue": queue}] * 2)
    held, unknown = a.claim(queue, worker="mover", max=2)["jobs"]
    touch = [{"id": held["id"], "lease": held["lease"]}]
    assert b.claim(queue, worker="mover", max=0, all=True, touch=touch)["lost"] == []
    shown = b.show(unknown["id"])
    assert (shown["state"], shown["attempt"], shown["lost"]) == ("ready", 0, 0), shown
    b.end(held)
    assert a.take(queue, worker="other")["id"] == unknown["id"]


def test_a_claim_names_a_queue_that_the_other_has_just_made(a, b):
    for most in (0, 1):
        name = f"fresh {next(NUMBERS)}"
        define(a, name)
        assert b.claim(name, max=most)["jobs"] == []


def test_a_finish_is_repeated_at_the_other(a, b, queue):
    a.submit(queue)
    job = a.take(queue)
    a.end(job)
    assert b.finish(job) == {"id": job["id"], "ok": True, "again": True}
    assert b.finish(job, "failed")["error"]["code"] == "stale_lease"


def test_a_log_is_written_through_both(a, b, queue):
    job_id = a.submit(queue)
    job = a.take(queue)
    path = f"/v1/jobs/{job_id}/log?lease={job['lease']}&offset="
    assert a.ok("POST", path + "0", "one ")["size"] == 4
    assert b.ok("POST", path + "4", "two ")["size"] == 8
    assert a.ok("POST", path + "4", "two ")["size"] == 8  # repeated
    b.end(job, log={"offset": 8, "text": "three"})
    assert a.get(f"/v1/jobs/{job_id}/log").body == b"one two three"


def test_emits_go_through_both(a, b, queue):
    a.submit(queue)
    job = a.take(queue)
    item = {"id": job["id"], "lease": job["lease"]}
    first = a.ok("POST", "/v1/emit", {**item, "seq": 1, "jobs": [{"queue": queue}]})["ids"]
    assert b.ok("POST", "/v1/emit", {**item, "seq": 1, "jobs": [{"queue": queue}]})["ids"] == first
    second = b.ok("POST", "/v1/emit", {**item, "seq": 2, "jobs": [{"queue": queue}]})["ids"]
    assert [a.state(job_id) for job_id in first + second] == ["staged", "staged"]
    b.end(job)
    eventually(lambda: {a.state(job_id) for job_id in first + second} == {"ready"}, "the release")


def test_a_cancel_reaches_a_worker_that_listens_at_the_other(both, a, b, queue):
    a.submit(queue)
    job = a.take(queue, worker="far")
    call = Background(both[0].unix().claim, queue, worker="far", max=0, wait="30s",
                      touch=[{"id": job["id"], "lease": job["lease"]}])
    eventually(lambda: a.waiting() == 1)
    start = time.monotonic()
    b.act(job["id"], "cancel", status=202)
    assert call.result()["cancel"] == [{"id": job["id"], "lease": job["lease"]}]
    assert time.monotonic() - start < AT_ONCE_S
    b.end(job, "cancelled")
    assert a.state(job["id"]) == "cancelled"


def test_a_retry_is_given_out_by_the_other(both, a, b):
    name = f"again {next(NUMBERS)}"
    define(a, name, retry={"max": 1, "first": "200ms", "jitter": 0})
    a.submit(name)
    a.end(a.take(name), "failed")
    job = Background(b.take, name, wait="30s").result(20 * PATIENCE)
    assert job["attempt"] == 2
    b.end(job)


# ---- queues

def test_a_queue_that_one_pauses_starts_nothing_at_the_other(a, b, queue):
    job_id = a.submit(queue)
    act_on_queue(a, queue, "pause")
    assert b.claim(queue)["jobs"] == []
    act_on_queue(b, queue, "drain")
    a.refused(503, "queue_down", "POST", "/v1/jobs", {"queue": queue})
    act_on_queue(a, queue, "up")
    assert b.take(queue)["id"] == job_id


def test_a_claim_that_waits_at_a_paused_queue_is_served_when_the_other_lets_it_go(
        both, a, b, queue):
    act_on_queue(a, queue, "pause")
    job_id = b.submit(queue)
    call = Background(both[1].unix().claim, queue, wait="30s")
    eventually(lambda: b.waiting() == 1)
    start = time.monotonic()
    act_on_queue(a, queue, "up")
    assert [job["id"] for job in call.result()["jobs"]] == [job_id]
    assert time.monotonic() - start < AT_ONCE_S


def test_a_queue_that_one_removes_is_unknown_to_the_other(a, b, queue):
    assert b.claim(queue)["jobs"] == []
    a.ok("DELETE", f"/v1/queues/{queue.replace(' ', '%20')}")
    assert b.post("/v1/jobs", {"queue": queue}).status in (404, 422)
    assert b.post("/v1/claim", {"worker": "w", "queues": {queue: 1}}).status in (404, 422)


def test_a_worker_at_one_serves_the_queue_for_both(both, a, b, queue):
    job_id = a.submit("work")
    call = Background(both[0].unix().claim, queue, worker=f"of {queue}", wait="20s")
    eventually(lambda: a.waiting() == 1)
    eventually(lambda: queue_of(b, queue)["served"], "the sight of it")
    assert f"of {queue}" in [one["name"] for one in b.ok("GET", "/v1/workers")["workers"]]
    b.submit(queue)
    assert len(call.result()["jobs"]) == 1
    a.ok("DELETE", f"/v1/jobs/{job_id}")


# ---- acts

def test_acts_hold_at_both(a, b, queue):
    job_id = a.submit(queue)
    assert b.act(job_id, "hold")["state"] == "held"
    assert a.claim(queue)["jobs"] == []
    assert a.act(job_id, "release")["state"] == "ready"
    b.ok("PATCH", f"/v1/jobs/{job_id}", {"priority": 7})
    assert a.show(job_id)["priority"] == 7
    other = b.submit(queue)
    assert a.take(queue)["id"] == job_id  # it stands before the other
    assert b.act(other, "cancel")["state"] == "cancelled"
    assert a.act(other, "retry")["state"] == "ready"
    assert b.ok("DELETE", f"/v1/jobs/{other}")["deleted"]
    a.refused(404, "not_found", "GET", f"/v1/jobs/{other}")


def test_a_wait_at_both_ends_with_a_cancel(both, a, b, queue):
    job_id = a.submit(queue)
    calls = [Background(server.unix().ok, "GET", f"/v1/jobs/{job_id}?wait=30s") for server in both]
    eventually(lambda: a.waiting() == b.waiting() == 1)
    start = time.monotonic()
    b.act(job_id, "cancel")
    assert [call.result()["state"] for call in calls] == ["cancelled"] * 2
    assert time.monotonic() - start < AT_ONCE_S


def test_bulk_work_that_one_takes_is_awaited_at_the_other(a, b, queue):
    ids = a.submit_many([{"queue": queue}] * 700)
    work = a.ok("POST", "/v1/bulk", {"action": "hold", "filter": {"queue": queue}})["id"]
    done = b.ok("GET", f"/v1/bulk/{work}?wait=30s")
    assert (done["state"], done["changed"], done["refused"]) == ("done", len(ids), 0), done
    assert b.counts()[queue] == {"held": len(ids)}


def test_kept_counts_agree_with_what_both_did(both, a, b, queue):
    def work(server, name):
        client = server.tcp()
        for n in range(20):
            client.submit_many([{"queue": queue}] * 5)
            for job in client.claim(queue, worker=name, max=3)["jobs"]:
                client.end(job, ("done", "failed", "returned")[n % 3])
        client.close()

    for call in [Background(work, server, f"c{n}") for n, server in enumerate(both * 2)]:
        call.result(60 * PATIENCE)
    shown = {}
    for job in a.list(f"queue={queue.replace(' ', '%20')}"):
        shown[job["state"]] = shown.get(job["state"], 0) + 1
    assert a.counts()[queue] == b.counts()[queue] == shown
    assert sum(shown.values()) == 400


# ---- failures

def fail_all(client, worker, queues, backwards):
    """Claims of both queues, and says of each job that it failed, in one order or the other."""
    while jobs := client.claim({name: 3 for name in queues}, worker=worker, max=6)["jobs"]:
        jobs.sort(key=lambda job: job["queue"], reverse=backwards)
        client.ok("POST", "/v1/finish", {"finish": [
            {"id": job["id"], "lease": job["lease"], "state": "failed", "exit": 1}
            for job in jobs]})


def test_servers_whose_jobs_fail_do_not_wait_for_each_other(both, a):
    names = [f"queue {next(NUMBERS)}" for _ in range(2)]
    for name in names:
        define(a, name, stop_after=100000, retry={"max": 0})
        a.submit_many([{"queue": name}] * 300)
    said = len(both[0].cluster.log_text())
    calls = [Background(fail_all, server.unix(), f"failing {place} {k}", names, place == 1)
             for place, server in enumerate(both) for k in range(2)]
    for call in calls:
        call.result()
    assert [queue_of(a, name)["counts"]["failed"] for name in names] == [300, 300]
    assert "deadlock" not in both[0].cluster.log_text()[said:]


# ---- rows that come and go while they are judged

REVIVED = """
BEGIN;
INSERT INTO jobs
SELECT id, queue, 4, priority, 0, token, prev_token, started_at, id, worker, attempt, history
FROM ended WHERE id = {0};
INSERT INTO counts SELECT queue, 4, 0, 1 FROM ended WHERE id = {0}
UNION ALL SELECT queue, 6, 0, -1 FROM ended WHERE id = {0};
DELETE FROM ended WHERE id = {0}"""


def waits_at(session, statement):
    return session.ask("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
                       f"AND query LIKE '{statement}%'") != []


def test_a_job_that_comes_back_while_it_is_judged_is_held(both, a, queue):
    """A third server, played by hand, runs it again while this one is asked to delete it."""
    job_id = a.submit(queue, params={"n": 1})
    a.end(a.take(queue))
    cluster = both[0].cluster
    with cluster.session() as other, cluster.session() as pause, cluster.session() as look:
        number = look.ask("SELECT MAX(id) FROM ended")[0][0]
        other.ask(REVIVED.format(number))
        deleting = Background(a.ok, "DELETE", f"/v1/jobs/{job_id}")
        eventually(lambda: waits_at(look, "SELECT 1 FROM ended"), "the delete waits for the job")
        # Between its check and its write.
        pause.ask("BEGIN; LOCK TABLE claims IN EXCLUSIVE MODE")
        other.ask("COMMIT")
        eventually(lambda: waits_at(look, "DELETE FROM claims"), "the delete is about to write")
        taken = look.ask(f"SELECT id FROM jobs WHERE id = {number} FOR UPDATE SKIP LOCKED")
        pause.ask("COMMIT")
    deleting.result()
    assert taken == [], "nobody else could have claimed it meanwhile"


def test_a_dead_server_is_taken_over_and_that_is_logged(both):
    """It counts as alive for at most 14 s; tests/unit/engine/test_engine_shared.c tests what the
    others do then."""
    third = Server(f"{both[0].dir}-third", store=both[0].cluster.url(), definitions="").start()
    url = f"http://127.0.0.1:{third.port}"
    third.kill()
    with both[0].cluster.session() as look:
        ((left,),) = look.ask("SELECT alive_until_at - "
                              "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)"
                              f" FROM servers WHERE url = '{url}'")
    assert int(left) <= 14_000_000
    eventually(lambda: any(f"taken over from {url}" in server.log_text() for server in both),
               "the line in a log", deadline_s=60 * PATIENCE)
