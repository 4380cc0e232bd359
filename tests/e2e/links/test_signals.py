# SPDX-License-Identifier: MIT
"""Signals: durable levels, those who wait for them, and how they are used up."""
import pytest

from waiting import eventually, parse_time

DEFINITIONS = """
queues:
  work: {}
  source: {retry: {max: 3, first: 0s}}
  raiser: {on_success: [{signal: dump, count: 2}], on_failure: [{signal: broken}]}
"""


@pytest.fixture
def server(servers):
    return servers(definitions=DEFINITIONS).start()


def raised(client, name, count=None, level=None):
    body = None if count is None else {"count": count}
    reply = client.ok("POST", f"/v1/signals/{name}", body, 200)
    assert reply["name"] == name
    if level is not None:
        assert reply["count"] == level, reply
    return reply["count"]


def level(client, name):
    return client.ok("GET", f"/v1/signals/{name}", status=200)["count"]


def waiting(client, signal="dump", count=1, **fields):
    job_id = client.submit(after=[{"signal": signal, "count": count, **fields}])
    assert client.state(job_id) == "held"
    return job_id


# ---- levels

def test_a_signal_is_a_counter_that_holds_until_it_is_cleared(client, server):
    assert raised(client, "dump") == 1
    assert raised(client, "dump", 4) == 5
    server.restart()
    client = server.tcp()
    shown = client.ok("GET", "/v1/signals/dump", status=200)
    assert shown["count"] == 5 and shown["waiters"] == 0 and shown["waiting"] == []
    parse_time(shown["changed_at"])
    assert client.ok("DELETE", "/v1/signals/dump", status=200) == {"name": "dump", "count": 0}
    assert level(client, "dump") == 0
    assert client.ok("GET", "/v1/signals")["signals"] == []


def test_one_that_was_never_raised_is_at_0(client):
    shown = client.ok("GET", "/v1/signals/never", status=200)
    assert shown["count"] == 0 and shown["changed_at"] is None and shown["waiting"] == []
    assert client.ok("DELETE", "/v1/signals/never", status=200)["count"] == 0
    assert client.ok("GET", "/v1/signals") == {"signals": [], "cursor": None}


def test_signals_are_listed_by_name_page_by_page(client):
    names = [f"s{n:02}" for n in range(25)] + ["ä b", "'\"&?"]
    for name in names:
        path = {"ä b": "%C3%A4%20b", "'\"&?": "%27%22%26%3F"}.get(name, name)
        client.ok("POST", f"/v1/signals/{path}", {"count": 3}, 200)
    seen, cursor, pages = [], "", 0
    while cursor is not None:
        page = client.ok("GET", f"/v1/signals?limit=10{cursor}", status=200)
        seen += [s["name"] for s in page["signals"]]
        pages += 1
        cursor = page["cursor"]
        if cursor is not None:
            assert cursor == seen[-1]
            cursor = f"&cursor={cursor}"
    assert pages == 3 and len(seen) == 27 and set(seen) == set(names)
    assert all(s["count"] == 3 for s in client.ok("GET", "/v1/signals")["signals"])
    client.refused(422, "invalid", "GET", "/v1/signals?limit=0")


@pytest.mark.parametrize("body, words", [
    ({"count": 0}, ["count"]), ({"count": -1}, ["count"]), ({"count": 1.5}, ["count"]),
    ({"count": "1"}, ["count"]), ({"count": 10 ** 12 + 1}, ["count"]), ({"cuont": 1}, ["count"]),
    ([], ["object"]), ({"count": True}, ["count"]),
])
def test_a_bad_raise_is_refused(client, body, words):
    error = client.refused(422, "invalid", "POST", "/v1/signals/dump", body)
    assert all(word in error["message"] for word in words), error
    assert level(client, "dump") == 0


@pytest.mark.parametrize("name", [".hidden", "x" * 201, "tab%09", "%7f"])
def test_a_bad_name_is_refused(client, name):
    for method in ("GET", "POST", "DELETE"):
        client.refused(422, "invalid", method, f"/v1/signals/{name}")


@pytest.mark.parametrize("name", ["%00", "a%00b", "%ff"])
def test_a_name_that_is_no_text_is_refused(client, name):
    for method in ("GET", "POST", "DELETE"):
        client.refused(400, "bad_request", method, f"/v1/signals/{name}")
    assert client.ok("GET", "/v1/signals")["signals"] == []


def test_a_level_does_not_grow_beyond_its_most(client):
    most = 10 ** 12
    assert raised(client, "dump", most) == most
    assert raised(client, "dump", most) == most


# ---- those who wait

def test_a_job_waits_until_the_level_is_reached(client):
    job_id = waiting(client, count=3)
    raised(client, "dump", 2)
    shown = client.show(job_id)
    assert shown["state"] == "held" and shown["reason"]["code"] == "after"
    assert "dump" in shown["reason"]["text"] and "2/3" in shown["reason"]["text"]
    raised(client, "dump", 1, level=3)
    assert client.state(job_id) == "ready"
    assert level(client, "dump") == 3


def test_a_level_that_is_there_lets_a_job_go_at_once(client):
    raised(client, "dump", 3)
    job_id = client.submit(after=[{"signal": "dump", "count": 3}])
    assert client.state(job_id) == "ready"
    job_id = client.submit(after={"signal": "dump"})
    assert client.state(job_id) == "ready"


def test_who_waits_is_shown(client):
    ids = [waiting(client, count=n + 1, take=n == 0) for n in range(3)]
    shown = client.ok("GET", "/v1/signals/dump", status=200)
    assert shown["count"] == 0 and shown["waiters"] == 3
    assert shown["waiting"] == [{"id": ids[0], "count": 1, "take": True},
                                {"id": ids[1], "count": 2, "take": False},
                                {"id": ids[2], "count": 3, "take": False}]
    listed, = client.ok("GET", "/v1/signals")["signals"]
    assert listed["waiters"] == 3
    metrics = client.metrics()
    assert metrics['waybill_signal_waiters{signal="dump"}'] == 3
    assert metrics['waybill_signal{signal="dump"}'] == 0


def test_a_level_that_is_taken_is_used_up_in_the_order_of_those_who_wait(client):
    ids = [waiting(client, count=2, take=True) for _ in range(3)]
    raised(client, "dump", 3)
    assert [client.state(job_id) for job_id in ids] == ["ready", "held", "held"]
    assert level(client, "dump") == 1
    raised(client, "dump", 3)
    assert [client.state(job_id) for job_id in ids] == ["ready", "ready", "ready"]
    assert level(client, "dump") == 0


def test_many_that_take_one_each_are_let_go_exactly_once(client, server):
    ids = client.submit_many([{"queue": "work", "after": [{"signal": "dump", "take": True}]}] * 500)
    raised(client, "dump", 200)
    eventually(lambda: client.counts()["work"] == {"ready": 200, "held": 300})
    assert level(client, "dump") == 0
    server.restart()
    client = server.tcp()
    assert client.counts()["work"] == {"ready": 200, "held": 300}
    raised(client, "dump", 1000)
    eventually(lambda: client.counts()["work"] == {"ready": 500})
    assert level(client, "dump") == 700
    granted = client.claim("work")["jobs"]
    assert sorted(job["id"] for job in granted) == sorted(ids)


def test_a_cleared_signal_holds_those_who_come_later(client):
    raised(client, "dump", 2)
    client.ok("DELETE", "/v1/signals/dump")
    job_id = waiting(client, count=1)
    client.ok("DELETE", "/v1/signals/dump")
    assert client.state(job_id) == "held"
    raised(client, "dump", 1)
    assert client.state(job_id) == "ready"


def test_a_job_may_wait_for_a_job_and_a_signal(client):
    first = client.submit()
    both = client.submit("source", after=[first, {"signal": "dump"}])
    raised(client, "dump")
    assert client.state(both) == "held"
    client.end(client.take())
    eventually(lambda: client.state(both) == "ready")


def test_who_is_cancelled_waits_no_more(client):
    job_id = waiting(client)
    client.act(job_id, "cancel")
    shown = client.ok("GET", "/v1/signals/dump", status=200)
    assert shown["waiters"] == 0 and shown["waiting"] == []


# ---- raised by jobs

def test_a_finish_raises_with_its_commit_and_only_when_it_is_done(client):
    job_id = waiting(client, count=2)
    client.submit("source")
    job = client.take("source")
    assert client.finish(job, "failed", **{"raise": {"dump": 2}})["ok"]
    assert level(client, "dump") == 0
    job = client.take("source")
    client.end(job, **{"raise": {"dump": 2, "other": 5}})
    assert client.state(job_id) == "ready"
    assert level(client, "dump") == 2 and level(client, "other") == 5


def test_a_repeated_finish_raises_once(client):
    client.submit("source")
    job = client.take("source")
    client.end(job, **{"raise": {"dump": 1}})
    assert client.finish(job, **{"raise": {"dump": 1}})["again"]
    assert level(client, "dump") == 1


@pytest.mark.parametrize("value", [[], {"dump": 0}, {"": 1}, {"a/b": 1}, {"dump": "1"}, 1])
def test_a_finish_with_a_bad_raise_is_refused_and_changes_nothing(client, value):
    job_id = client.submit("source")
    job = client.take("source")
    body = {"finish": [{"id": job["id"], "lease": job["lease"], "state": "done", "raise": value}]}
    error = client.refused(422, "invalid", "POST", "/v1/finish", body)
    assert "raise" in error["message"] and error["detail"]["index"] == 0
    assert client.state(job_id) == "running"


def test_the_end_of_a_job_raises(client):
    client.submit("raiser")
    client.end(client.take("raiser"))
    eventually(lambda: level(client, "dump") == 2)
    client.submit("raiser", retry={"max": 0})
    client.end(client.take("raiser"), "failed")
    eventually(lambda: level(client, "broken") == 1)
    assert level(client, "dump") == 2
