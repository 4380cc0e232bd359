# SPDX-License-Identifier: MIT
"""Finishing: every outcome, repeated and late ones, and those of jobs that are gone."""
import pytest

from waiting import now, parse_time


def finish_all(client, items):
    return client.ok("POST", "/v1/finish", {"finish": items}, 200)["results"]


def item(job, state, **fields):
    return {"id": job["id"], "lease": job["lease"], "state": state, **fields}


def test_done_keeps_the_result_the_text_and_the_times(client):
    job_id = client.submit()
    job = client.take(worker="w7")
    client.end(job, exit=0, text="all well", result={"answer": [1, None, "ä"]})
    shown = client.show(job_id)
    assert (shown["state"], shown["text"], shown["exit"]) == ("done", "all well", 0)
    assert shown["result"] == {"answer": [1, None, "ä"]}
    assert shown["attempt"] == 1 and shown["worker"] == "w7"
    times = [parse_time(shown[name]) for name in ("created_at", "started_at", "finished_at")]
    assert times == sorted(times) and times[-1] <= now()
    entry, = shown["progress"]
    assert (entry["number"], entry["attempt"], entry["state"], entry["status"], entry["queue"]) == \
        (1, 1, "done", 0, "work")
    assert entry["worker"] == "w7" and entry["text"] == "all well"
    assert entry["started_at"] == shown["started_at"] and entry["ended_at"] == shown["finished_at"]


def test_what_was_set_is_the_result_unless_one_is_given(client):
    first, second = client.submit(), client.submit()
    one, two = client.claim(max=2)["jobs"]
    client.end(one, set={"a": 1, "b": "x"})
    client.end(two, set={"a": 1}, result="own")
    shown = client.show(first)
    assert shown["result"] == {"a": 1, "b": "x"} and shown["progress"][0]["set"] == {"a": 1,
                                                                                     "b": "x"}
    assert client.show(second)["result"] == "own"
    assert client.show(second)["progress"][0]["set"] == {"a": 1}


@pytest.mark.parametrize("fields, exit_status, cause", [
    ({"exit": 3}, 3, "exit"),
    ({"exit": 3, "cause": "exit"}, 3, "exit"),
    ({"exit": -9, "cause": "signal"}, -9, "signal"),
    ({"cause": "timeout"}, None, "timeout"),
    ({"cause": "memory", "exit": -9}, -9, "memory"),
    ({"cause": "start"}, None, "start"),
    ({"cause": "protocol"}, None, "protocol"),
])
def test_a_failure_says_what_it_was(client, fields, exit_status, cause):
    job_id = client.submit()
    client.end(client.take(), "failed", text="sorry", **fields)
    shown = client.show(job_id)
    assert (shown["state"], shown["text"], shown["cause"]) == ("failed", "sorry", cause)
    assert shown.get("exit") == exit_status
    entry, = shown["progress"]
    assert (entry["state"], entry["status"], entry["cause"], entry["text"]) == \
        ("failed", exit_status, cause, "sorry")


def test_the_sixteenth_later_fails(server, client):
    job_id = client.submit()
    for n in range(1, 17):
        job = client.take()
        assert job["attempt"] == n
        client.end(job, "later", delay=0, text=f"not now {n}")
        if n < 16:
            assert client.state(job_id) in ("scheduled", "ready")
    shown = client.show(job_id)
    assert (shown["state"], shown["cause"]) == ("failed", "protocol"), shown
    assert len(shown["progress"]) == 16
    about = server.cli("list", "--state", "failed").out
    assert "asked to run later 16 times: not now 16" in about, about
    assert [entry["text"] for entry in shown["progress"]] == [f"not now {n}" for n in range(1, 17)]


def test_later_waits_as_long_as_it_says(client):
    job_id = client.submit()
    client.end(client.take(), "later", delay="1h", text="busy")
    shown = client.show(job_id)
    assert shown["state"] == "scheduled"
    wait_s = (parse_time(shown["due_at"]) - now()).total_seconds()
    assert 3590 < wait_s <= 3600
    assert shown["reason"]["until"] == shown["due_at"]
    assert shown["reason"]["text"] == "attempt 1 asked to run later", shown


def test_later_without_a_delay_is_refused_and_changes_nothing(client):
    job_id = client.submit()
    job = client.take()
    reply = client.post("/v1/finish", {"finish": [item(job, "later")]})
    error = reply.json["error"] if "error" in reply.json else reply.json["results"][0]["error"]
    assert error["code"] == "invalid" and "delay" in error["message"]
    assert client.state(job_id) == "running"
    client.end(job)


def test_returned_counts_nothing(client):
    job_id = client.submit()
    for _ in range(20):
        job = client.take()
        assert job["attempt"] == 1
        client.end(job, "returned")
    shown = client.show(job_id)
    assert (shown["state"], shown["attempt"], shown["lost"]) == ("ready", 0, 0)


def test_a_returned_job_keeps_its_place(client):
    first = client.submit()
    second = client.submit()
    client.end(client.take(), "returned")
    assert [job["id"] for job in client.claim(max=2)["jobs"]] == [first, second]


def test_a_worker_may_end_a_job_as_cancelled(client):
    job_id = client.submit()
    job = client.take()
    client.act(job_id, "cancel", status=202)
    client.end(job, "cancelled", cause="cancelled", text="stopped")
    shown = client.show(job_id)
    assert (shown["state"], shown["cause"], shown["text"]) == ("cancelled", "cancelled", "stopped")


def test_a_job_that_is_done_although_it_was_to_be_cancelled_is_done(client):
    job_id = client.submit()
    job = client.take()
    client.act(job_id, "cancel", status=202)
    client.end(job)
    assert client.state(job_id) == "done"


def test_a_job_to_be_cancelled_is_not_tried_again(client):
    job_id = client.submit("again")
    job = client.take("again")
    client.act(job_id, "cancel", status=202)
    client.end(job, "failed", exit=1)
    assert client.state(job_id) in ("cancelled", "failed")


@pytest.mark.parametrize("state, more", [
    ("done", {"result": 1}), ("failed", {"exit": 2}), ("later", {"delay": "1h"}),
    ("returned", {}), ("cancelled", {}),
])
def test_the_same_finish_again_is_ok_and_has_no_effect(client, state, more):
    job_id = client.submit()
    job = client.take()
    client.end(job, state, **more)
    before = client.show(job_id)
    assert client.finish(job, state, **more) == {"id": job_id, "ok": True, "again": True}
    after = client.show(job_id)
    assert after == before
    assert client.counts()["work"] == {before["state"]: 1}


def test_a_finish_may_be_repeated_after_the_job_was_claimed_again(client):
    job_id = client.submit("again")
    first = client.take("again")
    client.end(first, "failed", exit=1)
    second = client.take("again")
    assert client.finish(first, "failed", exit=1) == {"id": job_id, "ok": True, "again": True}
    assert client.state(job_id) == "running"
    client.end(second)


def test_another_outcome_under_the_same_lease_is_refused(client):
    job_id = client.submit()
    job = client.take()
    client.end(job)
    assert client.finish(job, "failed", exit=1)["error"]["code"] in ("stale_lease", "conflict")
    assert client.state(job_id) == "done"


def test_a_lease_that_was_never_given_is_stale(client):
    job_id = client.submit()
    job = client.take()
    for lease in ("0000000000001", "7ZZZZZZZZZZZZ", job_id,
                  job["lease"][:-1] + ("1" if job["lease"][-1] == "0" else "0")):
        result = client.finish({"id": job_id, "lease": lease})
        assert result["error"]["code"] == "stale_lease", (lease, result)
    assert client.state(job_id) == "running"
    client.end(job)


def test_a_finish_of_a_job_that_waits_is_stale(client):
    job_id = client.submit()
    assert client.finish({"id": job_id, "lease": "0000000000001"})["error"]["code"] == "stale_lease"
    assert client.state(job_id) == "ready"


def test_a_finish_of_a_deleted_job_is_not_found(client, admin):
    job_id = client.submit()
    job = client.take()
    client.end(job)
    admin.ok("DELETE", f"/v1/jobs/{job_id}")
    error = client.finish(job)["error"]
    assert error["code"] == "not_found" and error["message"]
    assert client.counts() == {}


def test_each_finish_of_many_is_answered_on_its_own(client):
    submitted = client.submit_many([{"queue": "work"}] * 5)
    jobs = client.claim(max=5)["jobs"]
    client.end(jobs[2], "returned")
    items = [item(job, "done") for job in jobs]
    results = finish_all(client, items)
    assert [r["id"] for r in results] == submitted
    assert [r.get("ok", False) for r in results] == [True, True, False, True, True]
    assert results[2]["error"]["code"] == "stale_lease"
    assert [client.state(i) for i in submitted] == ["done", "done", "ready", "done", "done"]


def test_the_same_job_twice_in_one_request_is_finished_once(client):
    job_id = client.submit()
    job = client.take()
    results = finish_all(client, [item(job, "done"), item(job, "done")])
    assert results[0] == {"id": job_id, "ok": True}
    assert results[1] == {"id": job_id, "ok": True, "again": True}
    assert client.counts() == {"work": {"done": 1}}
    assert len(client.show(job_id)["progress"]) == 1


def test_a_thousand_jobs_are_finished_in_one_request(client):
    client.submit_many([{"queue": "work"}] * 1000)
    jobs = client.claim(max=1000)["jobs"]
    results = finish_all(client, [item(job, "done") for job in jobs])
    assert all(result["ok"] for result in results)
    assert client.counts() == {"work": {"done": 1000}}


def test_progress_only_grows(client):
    job_id = client.submit("again")
    client.end(client.take("again"), "failed", exit=1, text="one")
    seen = [client.show(job_id)["progress"]]
    client.end(client.take("again"), "later", delay=0, text="two")
    seen.append(client.show(job_id)["progress"])
    client.end(client.take("again"), text="three", set={"x": 1})
    seen.append(client.show(job_id)["progress"])
    client.act(job_id, "retry")
    client.end(client.take("again"), text="four")
    seen.append(client.show(job_id)["progress"])
    assert [len(record) for record in seen] == [1, 2, 3, 4]
    for older, newer in zip(seen, seen[1:]):
        assert newer[:len(older)] == older
    assert [entry["state"] for entry in seen[-1]] == ["failed", "later", "done", "done"]
    assert [entry["attempt"] for entry in seen[-1]] == [1, 2, 3, 4]


def test_what_was_acknowledged_is_there_after_a_kill(server, client):
    job_id = client.submit(params={"n": 1})
    client.end(client.take(), result={"r": 1}, text="t")
    before = client.show(job_id)
    server.restart()
    after = server.tcp().show(job_id)
    before.pop("url", None), after.pop("url", None)
    assert after == before
