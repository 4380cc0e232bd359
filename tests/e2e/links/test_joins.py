# SPDX-License-Identifier: MIT
"""Joins: meeting points that fire once for every so many with the same key."""
import pytest

from waiting import Background, eventually, parse_time

DEFINITIONS = """
queues:
  part: {on_success: [{join: whole}]}
  summary: {}
  other: {}
joins:
  whole: {key: "{date}", count: 3, then: [summary]}
  all: {count: 2, then: [{queue: other, params: {by: all}}, {signal: met}]}
"""


@pytest.fixture
def server(servers):
    return servers(definitions=DEFINITIONS).start()


def arrive(client, name="whole", **params):
    return client.ok("POST", f"/v1/joins/{name}", {"params": params}, 200)


def run_part(client, **params):
    job_id = client.submit("part", params=params)
    client.end(client.take("part"))
    return job_id


def shown(client, name="whole", query=""):
    return client.ok("GET", f"/v1/joins/{name}{query}", status=200)


# ---- arriving and firing

def test_a_join_fires_when_so_many_have_arrived_and_begins_again(client):
    first = [run_part(client, date="d1", n=n) for n in range(3)]
    job, = eventually(lambda: client.list("queue=summary"))
    params = client.show(job["id"])["params"]
    assert params["date"] == "d1" and params["n"] == 2
    assert params["join"] == {"name": "whole", "key": "d1", "jobs": first}
    assert params["cause"]["id"] == first[-1] and params["cause"]["state"] == "done"
    for n in range(3):
        run_part(client, date="d1", n=n)
    eventually(lambda: len(client.list("queue=summary")) == 2)
    join = shown(client)
    assert join["fired"] == 2 and join["arrivals"] == [] and join["keys"] == 0
    parse_time(join["fired_at"])


def test_keys_are_counted_apart(client):
    for date in ("a", "b", "a", "b", "a"):
        run_part(client, date=date)
    join = shown(client)
    assert join["fired"] == 1 and join["keys"] == 1
    arrivals, = join["arrivals"]
    assert arrivals["key"] == "b" and arrivals["count"] == 2 and len(arrivals["jobs"]) == 2
    parse_time(arrivals["first_at"])
    assert len(client.list("queue=summary")) == 1


def test_an_arrival_may_come_by_request(client):
    assert arrive(client, date="x") == {"name": "whole", "key": "x", "count": 1, "fired": False}
    assert arrive(client, date="x") == {"name": "whole", "key": "x", "count": 2, "fired": False}
    assert arrive(client, date="x") == {"name": "whole", "key": "x", "count": 0, "fired": True}
    job, = client.list("queue=summary")
    assert client.show(job["id"])["params"]["join"] == {"name": "whole", "key": "x", "jobs": []}


def test_a_join_without_a_key_counts_all(client):
    assert arrive(client, "all", a=1)["key"] == ""
    assert shown(client, "all")["arrivals"][0]["key"] == ""
    assert arrive(client, "all", b=2)["fired"]
    job, = client.list("queue=other")
    assert client.show(job["id"])["params"]["by"] == "all"
    assert client.ok("GET", "/v1/signals/met")["count"] == 1


def test_many_at_once_fire_exactly_once_for_every_so_many(client, server):
    client.submit_many([{"queue": "part", "params": {"date": str(n % 7)}} for n in range(420)])

    def work():
        own = server.tcp()
        while True:
            jobs = own.claim("part", max=20)["jobs"]
            if not jobs:
                return
            body = {"finish": [{"id": j["id"], "lease": j["lease"], "state": "done"} for j in jobs]}
            own.ok("POST", "/v1/finish", body)

    for call in [Background(work) for _ in range(4)]:
        call.result(60)
    eventually(lambda: shown(client)["fired"] == 140)
    assert shown(client)["arrivals"] == []
    made = [client.show(job["id"])["params"] for job in client.list("queue=summary")]
    assert len(made) == 140
    arrived = [job_id for params in made for job_id in params["join"]["jobs"]]
    assert len(arrived) == len(set(arrived)) == 420
    assert client.metrics()['waybill_join_fired_total{join="whole"}'] == 140


def test_what_has_arrived_survives_a_kill(client, server):
    run_part(client, date="d")
    arrive(client, date="d")
    server.restart()
    client = server.tcp()
    assert shown(client)["arrivals"][0]["count"] == 2
    run_part(client, date="d")
    eventually(lambda: shown(client)["fired"] == 1)


def test_a_join_whose_queue_takes_nothing_fires_nevertheless(client, server):
    server.unix().ok("POST", "/v1/queues/summary/down")
    for _ in range(3):
        run_part(client, date="d")
    eventually(lambda: len(client.list("queue=summary")) == 1)


# ---- what is shown

def test_joins_are_listed_with_their_definition(client):
    page = client.ok("GET", "/v1/joins", status=200)
    assert page["cursor"] is None
    assert [join["name"] for join in page["joins"]] == ["all", "whole"]
    whole = page["joins"][1]
    assert whole["key"] == "{date}" and whole["count"] == 3 and whole["fired"] == 0
    assert whole["then"] == [{"queue": "summary"}] and whole["fired_at"] is None
    page = client.ok("GET", "/v1/joins?limit=1", status=200)
    assert [join["name"] for join in page["joins"]] == ["all"] and page["cursor"] == "all"
    page = client.ok("GET", "/v1/joins?limit=1&cursor=all", status=200)
    assert [join["name"] for join in page["joins"]] == ["whole"] and page["cursor"] is None


def test_keys_are_listed_page_by_page(client):
    for n in range(25):
        arrive(client, date=f"k{n:02}")
    assert shown(client)["keys"] == 25
    seen, cursor = [], ""
    while cursor is not None:
        page = shown(client, query=f"?limit=10{cursor}")
        seen += [a["key"] for a in page["arrivals"]]
        cursor = None if page["cursor"] is None else f"&cursor={page['cursor']}"
    assert seen == [f"k{n:02}" for n in range(25)]


# ---- clearing

def test_what_has_arrived_can_be_cleared(client, server):
    admin = server.unix()
    for date in ("a", "a", "b"):
        arrive(client, date=date)
    client.refused(403, "forbidden", "DELETE", "/v1/joins/whole?key=a")
    assert admin.ok("DELETE", "/v1/joins/whole?key=a", status=200)["name"] == "whole"
    assert [a["key"] for a in shown(client)["arrivals"]] == ["b"]
    assert arrive(client, date="a")["count"] == 1
    admin.ok("DELETE", "/v1/joins/whole", status=200)
    assert shown(client)["arrivals"] == [] and shown(client)["name"] == "whole"
    arrive(client, "all")
    admin.ok("DELETE", "/v1/joins/all?key=", status=200)
    assert shown(client, "all")["keys"] == 0


# ---- definitions

def test_joins_are_defined_and_pruned_with_the_rest(client, server):
    admin = server.unix()
    reply = admin.ok("POST", "/v1/definitions", {"joins": {
        "new": {"count": 5, "then": ["summary"]}, "all": {"count": 9, "then": ["other"]}}})
    changes = {(c["kind"], c["name"]): c["change"] for c in reply["changes"]}
    assert changes[("join", "new")] == "added" and changes[("join", "all")] == "changed"
    assert shown(client, "all")["count"] == 9
    admin.ok("POST", "/v1/definitions?prune=1&dry_run=1", {"joins": {}, "queues": {}})
    assert len(client.ok("GET", "/v1/joins")["joins"]) == 3


@pytest.mark.parametrize("join, words", [
    ({"then": ["summary"]}, ["count"]), ({"count": 0, "then": ["summary"]}, ["count"]),
    ({"count": 2}, ["then"]), ({"count": 2, "then": []}, ["then"]),
    ({"count": 2, "then": ["sumary"]}, ["sumary", "summary"]),
    ({"count": 2, "then": [{"join": "hole"}]}, ["hole"]),
    ({"count": 2, "then": ["summary"], "key": 7}, ["key"]),
    ({"count": 2, "then": ["summary"], "kye": "x"}, ["kye", "key"]), (7, ["object"]),
])
def test_a_bad_join_is_refused_and_nothing_changes(client, server, join, words):
    error = server.unix().refused(422, "invalid", "POST", "/v1/definitions",
                                  {"joins": {"bad": join}, "queues": {"fresh": {}}})
    assert all(word in error["message"] for word in ["bad", *words]), error
    client.refused(404, "not_found", "GET", "/v1/joins/bad")
    client.refused(404, "not_found", "GET", "/v1/queues/fresh")


def test_an_arrival_without_what_the_key_names_is_refused(client):
    error = client.refused(422, "invalid", "POST", "/v1/joins/whole", {"params": {}})
    assert "date" in error["message"] and "whole" in error["message"]
    client.refused(404, "not_found", "POST", "/v1/joins/nowhere", {})
    client.refused(422, "invalid", "POST", "/v1/joins/whole", {"params": []})
    client.refused(422, "invalid", "POST", "/v1/joins/whole", {"prams": {}})
    client.refused(404, "not_found", "GET", "/v1/joins/nowhere")
    assert shown(client)["arrivals"] == []


def test_a_job_that_cannot_arrive_leaves_a_trace(client):
    run_part(client, other="x")
    log = client.ok("GET", "/v1/queues/part/log")["log"]
    assert any("whole" in line["text"] and "date" in line["text"] for line in log), log
