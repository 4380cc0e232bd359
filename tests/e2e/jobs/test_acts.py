# SPDX-License-Identifier: MIT
"""What can be done to one job by hand: cancel, hold, patch, now, move, clone, retry, delete."""
from datetime import timedelta

import pytest

from waiting import now, parse_time, time_text

STATES = ["ready", "scheduled", "held", "running", "done", "failed", "cancelled"]


def job_in(client, state, queue="work"):
    """A job in that state, and what claimed it (or None)."""
    job_id = client.submit(queue, params={"a": 1, "b": 2},
                           delay="1h" if state == "scheduled" else 0)
    job = None
    if state == "held":
        client.act(job_id, "hold")
    elif state == "cancelled":
        client.act(job_id, "cancel")
    elif state in ("running", "done", "failed"):
        job = client.take(queue)
        assert job["id"] == job_id
        if state != "running":
            client.end(job, state, exit=int(state == "failed"))
    assert client.state(job_id) == state
    return job_id, job


# What each verb makes of a job in each state; None: refused with 409 and nothing changes.
MOVES = {
    "cancel": {"ready": "cancelled", "scheduled": "cancelled", "held": "cancelled",
               "running": "running"},
    "hold": {"ready": "held", "scheduled": "held", "held": "held"},
    "release": {"held": "ready"},
    "now": {"ready": "ready", "scheduled": "ready"},
    "retry": {"done": "ready", "failed": "ready", "cancelled": "ready"},
    "move": {"ready": "ready", "scheduled": "scheduled", "held": "held"},
    "clone": {state: "ready" for state in STATES},
}
# What already is as it was asked for is answered as done, and nothing changes.
ALREADY = {("release", "ready"), ("release", "scheduled"), ("release", "running"), ("now", "held"),
           ("now", "running"),
           ("cancel", "cancelled")}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("verb", MOVES)
def test_every_verb_in_every_state(client, verb, state):
    job_id, _ = job_in(client, state)
    before = client.show(job_id)
    wanted = MOVES[verb].get(state)
    body = {"queue": "other"} if verb == "move" else None
    reply = client.post(f"/v1/jobs/{job_id}/{verb}", body)
    if (verb, state) in ALREADY:
        assert (reply.status, reply.json) == (200, {"id": job_id, "state": state})
        assert client.show(job_id) == before
        return
    if wanted is None:
        message = reply.error(409, "conflict")["message"]
        assert state in message, message
        assert client.show(job_id) == before
        return
    assert reply.status == {"clone": 201}.get(verb,
                                              202 if (verb, state) == ("cancel",
                                                      "running") else 200), reply.body
    if verb == "clone":
        assert reply.json["id"] != job_id and client.show(job_id) == before
    else:
        assert reply.json["id"] == job_id
    assert reply.json["state"] == wanted == client.state(reply.json["id"])


def test_cancel_of_a_waiting_job_is_final(client):
    job_id, _ = job_in(client, "ready")
    assert client.act(job_id, "cancel", status=200) == {"id": job_id, "state": "cancelled"}
    shown = client.show(job_id)
    assert shown["cause"] == "cancelled" and parse_time(shown["finished_at"])
    assert client.claim()["jobs"] == []


def test_cancel_of_a_running_job_reaches_its_worker(client):
    job_id, job = job_in(client, "running")
    reply = client.act(job_id, "cancel", status=202)
    assert reply == {"id": job_id, "state": "running", "cancelling": True}
    assert client.act(job_id, "cancel", status=202) == reply
    assert client.touch(job)["cancel"] == [{"id": job_id, "lease": job["lease"]}]
    client.end(job, "cancelled")
    assert client.state(job_id) == "cancelled"


def test_cancel_of_a_job_whose_worker_is_gone_ends_it(client):
    job_id = client.submit()
    client.take(lease="1s")
    client.act(job_id, "cancel", status=202)
    shown = client.ok("GET", f"/v1/jobs/{job_id}?wait=10s")
    assert shown["state"] == "cancelled"


def test_cancelling_survives_a_kill(server, client):
    job_id, job = job_in(client, "running")
    client.act(job_id, "cancel", status=202)
    server.restart()
    client = server.tcp()
    assert client.touch(job)["cancel"] == [{"id": job_id, "lease": job["lease"]}]
    client.end(job, "cancelled")


def test_a_held_job_is_not_claimed_until_it_is_released(client):
    job_id, _ = job_in(client, "held")
    assert client.claim()["jobs"] == []
    assert client.act(job_id, "release")["state"] == "ready"
    assert client.take()["id"] == job_id


def test_a_released_job_waits_for_its_time(client):
    job_id, _ = job_in(client, "scheduled")
    due = client.show(job_id)["due_at"]
    client.act(job_id, "hold")
    assert client.act(job_id, "release")["state"] == "scheduled"
    assert client.show(job_id)["due_at"] == due


def test_a_patch_changes_what_it_names(client):
    job_id = client.submit(params={"a": 1}, labels={"x": "1"}, priority=2)
    due = time_text((now() + timedelta(hours=2)).replace(microsecond=0))
    client.ok("PATCH", f"/v1/jobs/{job_id}", {"priority": -7})
    assert client.show(job_id)["priority"] == -7
    client.ok("PATCH", f"/v1/jobs/{job_id}", {"params": {"n": [1]}, "labels": {"y": "2"}})
    shown = client.show(job_id)
    assert (shown["params"], shown["labels"], shown["priority"], shown["state"]) == \
        ({"n": [1]}, {"y": "2"}, -7, "ready")
    client.ok("PATCH", f"/v1/jobs/{job_id}", {"due_at": due})
    shown = client.show(job_id)
    assert (shown["state"], parse_time(shown["due_at"])) == ("scheduled", parse_time(due))
    assert client.claim()["jobs"] == []
    client.ok("PATCH", f"/v1/jobs/{job_id}", {"due_at": "2001-01-01T00:00:00Z"})
    assert client.take()["params"] == {"n": [1]}


def test_a_patched_priority_changes_the_order(client):
    first, second = client.submit(), client.submit()
    client.ok("PATCH", f"/v1/jobs/{second}", {"priority": 1})
    assert [job["id"] for job in client.claim(max=2)["jobs"]] == [second, first]


@pytest.mark.parametrize("state", ["running", "done", "failed", "cancelled"])
def test_a_job_that_does_not_wait_is_not_patched(client, state):
    job_id, _ = job_in(client, state)
    before = client.show(job_id)
    client.refused(409, "conflict", "PATCH", f"/v1/jobs/{job_id}", {"priority": 5})
    assert client.show(job_id) == before


def test_a_moved_job_is_claimed_from_its_new_queue(client):
    job_id = client.submit(priority=4)
    assert client.act(job_id, "move", {"queue": "other"}) == {"id": job_id, "state": "ready"}
    assert client.claim("work")["jobs"] == []
    assert client.counts() == {"other": {"ready": 1}}
    job = client.take("other")
    assert (job["id"], job["queue"], job["priority"]) == (job_id, "other", 4)


def test_a_move_to_nowhere_is_refused_with_the_nearest_name(client):
    job_id = client.submit()
    error = client.refused(422, "invalid", "POST", f"/v1/jobs/{job_id}/move", {"queue": "othre"})
    assert "other" in error["message"]
    client.refused(422, "invalid", "POST", f"/v1/jobs/{job_id}/move", {})
    assert client.show(job_id)["queue"] == "work"


def test_a_clone_is_a_new_job_with_the_same_content(client):
    job_id = client.submit(params={"a": 1, "b": 2}, labels={"l": "m"}, priority=3, body="text",
                           key="k")
    client.end(client.take(), result=1)
    reply = client.act(job_id, "clone", {"params": {"b": 3, "c": 4}}, 201)
    assert reply["id"] != job_id and reply["state"] == "ready"
    shown = client.show(reply["id"])
    assert shown["params"] == {"a": 1, "b": 3, "c": 4}
    assert (shown["labels"], shown["priority"], shown["body"]) == ({"l": "m"}, 3, "text")
    assert (shown["attempt"], shown["progress"]) == (0, [])
    assert shown.get("key") is None and shown.get("result") is None
    assert client.state(job_id) == "done"


@pytest.mark.parametrize("state", ["done", "failed", "cancelled"])
def test_an_ended_job_is_run_once_more(client, state):
    job_id, _ = job_in(client, state)
    record = client.show(job_id)["progress"]
    assert client.act(job_id, "retry", {"set": {"b": 7, "c": None}}) == {"id": job_id,
                                                                         "state": "ready"}
    job = client.take()
    assert job["id"] == job_id and job["params"] == {"a": 1, "b": 7, "c": None}
    assert job["attempt"] == (1 if state == "cancelled" else 2)
    client.end(job, result="second")
    shown = client.show(job_id)
    assert shown["state"] == "done" and shown["result"] == "second"
    assert shown["progress"][:len(record)] == record and len(shown["progress"]) == len(record) + 1
    assert client.counts() == {"work": {"done": 1}}


def test_a_lease_from_before_a_retry_is_stale(client):
    job_id, old = job_in(client, "failed")
    client.act(job_id, "retry")
    job = client.take()
    assert "error" in client.finish(old, "done")
    client.end(job)


@pytest.mark.parametrize("state", STATES)
def test_delete_takes_all_but_running_jobs(client, admin, state):
    job_id, job = job_in(client, state)
    if state == "running":
        error = admin.refused(409, "conflict", "DELETE", f"/v1/jobs/{job_id}")
        assert "cancel" in error["message"] or "running" in error["message"]
        client.end(job)
    assert admin.ok("DELETE", f"/v1/jobs/{job_id}", status=200) == {"id": job_id, "deleted": True}
    assert client.list() == [] and client.counts() == {}
    error = client.refused(404, "not_found", "GET", f"/v1/jobs/{job_id}")
    assert job_id in error["message"]
    admin.refused(404, "not_found", "DELETE", f"/v1/jobs/{job_id}")


@pytest.mark.parametrize("verb", ["cancel", "retry", "hold", "release", "clone", "now", "move"])
def test_a_verb_on_a_job_that_is_not_there_is_not_found(client, verb):
    client.refused(404, "not_found", "POST", f"/v1/jobs/0000000000001/{verb}",
                   {"queue": "work"} if verb == "move" else None)


def test_commit_is_not_built_yet(client):
    job_id = client.submit()
    client.refused(422, "invalid", "POST", f"/v1/jobs/{job_id}/commit")


def test_what_was_done_by_hand_survives_a_kill(server, client):
    held, cancelled, moved, patched, pulled = (client.submit(delay="1h" if n == 4 else 0) for n in
                                               range(5))
    client.act(held, "hold")
    client.act(cancelled, "cancel")
    client.act(moved, "move", {"queue": "other"})
    client.ok("PATCH", f"/v1/jobs/{patched}", {"priority": 9, "params": {"p": 1}})
    client.act(pulled, "now")
    before = {job["id"]: job for job in client.list()}
    server.restart()
    after = {job["id"]: job for job in server.tcp().list()}
    for jobs in (before, after):
        for job in jobs.values():
            job.pop("url", None)
    assert after == before
    assert [after[i]["state"] for i in (held, cancelled, moved, patched, pulled)] == \
        ["held", "cancelled", "ready", "ready", "ready"]
