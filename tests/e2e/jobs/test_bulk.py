# SPDX-License-Identifier: MIT
"""Bulk actions: one request, thousands of jobs, durable from the reply on."""
import pytest

from waiting import eventually, parse_time

MANY = 4000
ONCE = pytest.mark.embedded("one such moment is enough there")


def bulk(admin, action, wanted_filter, **more):
    """Starts one; its id."""
    reply = admin.ok("POST", "/v1/bulk", {"action": action, "filter": wanted_filter, **more}, 202)
    assert set(reply) == {"id", "action", "state"} and reply["action"] == action
    assert reply["state"] in ("working", "done")
    return reply["id"]


def ended_bulk(client, bulk_id):
    """The bulk action as shown when it is done."""
    def done():
        shown = client.ok("GET", f"/v1/bulk/{bulk_id}?wait=10s", status=200)
        return shown if shown["state"] == "done" else None
    shown = eventually(done, "the bulk action to end", 60)
    assert {"id", "action", "state", "changed", "refused", "created_at",
            "finished_at"} <= set(shown)
    assert parse_time(shown["created_at"]) <= parse_time(shown["finished_at"])
    return shown


def fill(client, n=MANY, queue="work", **fields):
    return client.submit_many([{"queue": queue, "params": {"n": i}, **fields} for i in range(n)])


def end_all(client, state, n):
    while n > 0:
        jobs = client.claim(max=1000)["jobs"]
        assert jobs
        items = [{"id": j["id"], "lease": j["lease"], "state": state} for j in jobs]
        client.ok("POST", "/v1/finish", {"finish": items})
        n -= len(jobs)


def test_thousands_are_cancelled(client, admin):
    fill(client)
    keep = client.submit("other")
    shown = ended_bulk(admin, bulk(admin, "cancel", {"queue": "work"}))
    assert (shown["changed"], shown["refused"]) == (MANY, 0)
    assert client.counts() == {"work": {"cancelled": MANY}, "other": {"ready": 1}}
    assert client.state(keep) == "ready"


def test_thousands_of_failures_are_retried(client, admin):
    fill(client)
    end_all(client, "failed", MANY)
    assert client.counts() == {"work": {"failed": MANY}}
    shown = ended_bulk(admin, bulk(admin, "retry", {"queue": "work", "state": ["failed"]}))
    assert shown["changed"] == MANY
    assert client.counts() == {"work": {"ready": MANY}}


def test_thousands_are_held_released_moved_and_deleted(client, admin):
    fill(client, 2500)
    assert ended_bulk(admin, bulk(admin, "hold", {"queue": "work"}))["changed"] == 2500
    assert client.counts() == {"work": {"held": 2500}}
    assert ended_bulk(admin, bulk(admin, "release", {"state": ["held"]}))["changed"] == 2500
    assert client.counts() == {"work": {"ready": 2500}}
    assert ended_bulk(admin,
                      bulk(admin, "move", {"queue": "work"}, queue="other"))["changed"] == 2500
    assert client.counts() == {"other": {"ready": 2500}}
    assert ended_bulk(admin, bulk(admin, "delete", {"queue": "other"}))["changed"] == 2500
    assert client.counts() == {} and client.list() == []


def test_scheduled_jobs_are_pulled_forward(client, admin):
    fill(client, 1200, delay="1h")
    assert ended_bulk(admin, bulk(admin, "now", {"state": ["scheduled"]}))["changed"] == 1200
    assert client.counts() == {"work": {"ready": 1200}}


def test_a_filter_by_labels_and_text(client, admin):
    red = client.submit(labels={"colour": "red", "size": "1"})
    blue = client.submit(labels={"colour": "blue"})
    ink = client.submit(params={"what": "a bottle of ink"})
    ended_bulk(admin, bulk(admin, "hold", {"labels": {"colour": "red"}}))
    ended_bulk(admin, bulk(admin, "cancel", {"text": "bottle of"}))
    assert [client.state(i) for i in (red, blue, ink)] == ["held", "ready", "cancelled"]


def test_only_what_ended_long_enough_ago(client, admin):
    fill(client, 10)
    end_all(client, "done", 10)
    assert ended_bulk(admin,
                      bulk(admin, "delete", {"state": ["done"], "older": "7d"}))["changed"] == 0
    assert ended_bulk(admin,
                      bulk(admin, "delete", {"state": ["done"], "older": "0s"}))["changed"] == 10


def test_what_cannot_be_changed_is_left_and_told(client, admin):
    fill(client, 20)
    jobs = client.claim(max=5)["jobs"]
    shown = ended_bulk(admin, bulk(admin, "delete", {"queue": "work"}))
    assert (shown["changed"], shown["refused"]) == (15, 5)
    assert client.counts() == {"work": {"running": 5}}
    for job in jobs:
        client.end(job)


def test_cancel_of_running_jobs_reaches_their_workers(client, admin):
    fill(client, 20)
    jobs = client.claim(max=5)["jobs"]
    ended_bulk(admin, bulk(admin, "cancel", {"queue": "work"}))
    assert client.counts() == {"work": {"running": 5, "cancelled": 15}}
    assert {c["id"] for c in client.touch(*jobs)["cancel"]} == {job["id"] for job in jobs}


def test_what_comes_after_the_request_is_not_meant(client, admin):
    fill(client)
    bulk_id = bulk(admin, "cancel", {"queue": "work"})
    late = client.submit()
    ended_bulk(admin, bulk_id)
    assert client.state(late) == "ready"


def test_bulk_actions_are_listed(client, admin):
    fill(client, 10)
    bulk_id = bulk(admin, "hold", {"queue": "work"})
    ended_bulk(admin, bulk_id)
    listed = {b["id"]: b for b in admin.ok("GET", "/v1/bulk")["bulk"]}
    assert listed[bulk_id]["action"] == "hold" and listed[bulk_id]["state"] == "done"
    admin.refused(404, "not_found", "GET", "/v1/bulk/0000000000001")


@pytest.mark.embedded("refused before the store is asked")
@pytest.mark.parametrize("action", ["cancel", "retry", "hold", "release", "now", "move", "delete"])
def test_an_empty_filter_is_refused(client, admin, action):
    client.submit()
    more = {"queue": "other"} if action == "move" else {}
    for body in ({"action": action, "filter": {}, **more}, {"action": action, **more}):
        error = admin.refused(422, "invalid", "POST", "/v1/bulk", body)
        assert "which jobs" in error["message"], error
    assert client.counts() == {"work": {"ready": 1}}


@pytest.mark.embedded("refused before the store is asked")
@pytest.mark.parametrize("body, word", [
    ({"action": "cancle", "filter": {"queue": "work"}}, "cancel"),
    ({"action": "clone", "filter": {"queue": "work"}}, "action"),
    ({"filter": {"queue": "work"}}, "action"),
    ({"action": "cancel", "filter": {"queue": "wrok"}}, "work"),
    ({"action": "cancel", "filter": {"state": ["redy"]}}, "ready"),
    ({"action": "cancel", "filter": {"stat": ["ready"]}}, "state"),
    ({"action": "cancel", "filter": "work"}, "filter"),
    ({"action": "move", "filter": {"queue": "work"}}, "queue"),
    ({"action": "move", "filter": {"queue": "work"}, "queue": "othr"}, "other"),
    ({"action": "cancel", "filter": {"older": "-1s"}}, "older"),
    ({"action": "cancel", "filter": {"labels": ["x"]}}, "labels"),
])
def test_a_bad_bulk_request_says_what_is_wrong(client, admin, body, word):
    client.submit()
    error = admin.refused(422, "invalid", "POST", "/v1/bulk", body)
    assert word in error["message"], error
    assert client.counts() == {"work": {"ready": 1}}


def test_others_are_served_while_a_bulk_action_is_under_way(client, admin):
    fill(client)
    bulk_id = bulk(admin, "hold", {"queue": "work"})
    for _ in range(20):
        job_id = client.submit("other")
        job = client.take("other")
        assert job["id"] == job_id
        client.end(job)
    assert ended_bulk(admin, bulk_id)["changed"] == MANY


@pytest.mark.parametrize("action, result", [
    ("cancel", {"work": {"cancelled": MANY}}),
    ("hold", {"work": {"held": MANY}}),
    ("move", {"other": {"ready": MANY}}),
    ("delete", {}),
])
@pytest.mark.parametrize("commits", [pytest.param(4, marks=ONCE), 6, pytest.param(8, marks=ONCE)])
def test_a_bulk_action_goes_on_after_a_kill_in_the_middle(servers, action, result, commits):
    server = servers().start()
    fill(server.tcp())
    server.stop()
    joining = 3 if server.store else 0  # commits before it is ready
    server.start(env={"WAYBILL_FAULT": f"commit.after:{commits + joining}"})
    admin = server.unix()
    more = {"queue": "other"} if action == "move" else {}
    try:
        admin.post("/v1/bulk", {"action": action, "filter": {"queue": "work"}, **more})
        acknowledged = True
    except (ConnectionError, OSError):
        acknowledged = False
    assert server.wait_exit() == -9
    server.start()
    client = server.unix()
    listed = client.ok("GET", "/v1/bulk")["bulk"]
    if not listed:
        assert not acknowledged
        assert client.counts() == {"work": {"ready": MANY}}
        return
    shown = ended_bulk(client, listed[0]["id"])
    assert (shown["changed"], shown["refused"]) == (MANY, 0)
    assert client.counts() == result
