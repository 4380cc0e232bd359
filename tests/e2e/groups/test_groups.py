# SPDX-License-Identifier: MIT
"""Groups over HTTP: members, ends, finalisers, trees, data, results."""
import json

import pytest

from waiting import eventually

DEFINITIONS = """
queues:
  source: {retry: {max: 0}}
  work: {retry: {max: 0}}
  last: {}
groups:
  site: {finally: {queue: last, params: {site: "{name}", n: "{made}", x: "{x:-none}"}}}
  strict: {finally: {queue: last}, fail: stop}
"""


@pytest.fixture
def server(servers):
    return servers(definitions=DEFINITIONS).start()


def group(client, group_id):
    return client.ok("GET", f"/v1/groups/{group_id}", status=200)


def act(client, group_id, verb, status=200):
    return client.ok("POST", f"/v1/groups/{group_id}/{verb}", {}, status)


def open_group(client, **fields):
    return client.ok("POST", "/v1/groups", fields, 201)["id"]


def site(name="a", **fields):
    return {"open": "site", "name": name, **fields}


def work_off(client, queue, count):
    for _ in range(count):
        client.end(client.take(queue))


# ---- members and ends

def test_jobs_of_a_request_share_a_group_that_ends_with_its_finaliser(client):
    ids = client.submit_many([{"queue": "work", "group": site(data={"x": 7})},
                              {"queue": "work", "group": site()}])
    shown = client.show(ids[0])["group"]
    assert (shown["kind"], shown["name"]) == ("site", "a")
    assert client.show(ids[1])["group"] == shown
    assert group(client, shown["id"])["counts"]["waiting"] == 2
    assert [j["id"] for j in client.list(f"group={shown['id']}")] == ids[::-1]
    work_off(client, "work", 2)
    assert group(client, shown["id"])["state"] == "finishing"
    finaliser = client.take("last")
    assert finaliser["params"] == {"site": "a", "n": 2, "x": 7}
    assert finaliser["closes"] == shown["id"] and "group" not in finaliser
    client.end(finaliser)
    ended = group(client, shown["id"])
    assert ended["state"] == "done" and ended["finaliser"] == finaliser["id"]
    assert ended["counts"]["done"] == 2 and ended["ended_at"]


def test_what_a_member_emits_is_a_member(client):
    client.submit("source", group=site())
    job = client.take("source")
    assert job["group"]["name"] == "a"
    emitted = client.ok("POST", "/v1/emit", {
        "id": job["id"], "lease": job["lease"], "seq": 1,
        "jobs": [{"queue": "work"} for _ in range(3)]}, 200)["ids"]
    assert group(client, job["group"]["id"])["counts"]["made"] == 4
    client.end(job)
    assert client.show(emitted[0])["group"]["id"] == job["group"]["id"]
    assert group(client, job["group"]["id"])["state"] == "open"
    work_off(client, "work", 3)
    assert group(client, job["group"]["id"])["state"] == "finishing"


def test_lines_of_one_request_share_a_group_and_it_waits_for_the_last(client):
    lines = "".join(json.dumps({"queue": "work", "group": site()}) + "\n" for _ in range(1200))
    reply = client.post("/v1/jobs", lines.encode(),
                        headers={"Content-Type": "application/x-ndjson"})
    ids = [line["id"] for line in reply.lines]
    group_id = client.show(ids[0])["group"]["id"]
    assert client.show(ids[-1])["group"]["id"] == group_id
    assert group(client, group_id)["counts"]["made"] == 1200
    act(client, group_id, "cancel")
    eventually(lambda: group(client, group_id)["state"] == "finishing", "all are cancelled")


def test_a_failure_stops_the_rest(client):
    ids = client.submit_many([{"queue": "work", "group": {"open": "strict"}} for _ in range(4)])
    group_id = client.show(ids[0])["group"]["id"]
    client.end(client.take("work"), "failed")
    eventually(lambda: group(client, group_id)["counts"]["cancelled"] == 3, "the rest is cancelled")
    client.end(client.take("last"))
    assert group(client, group_id)["state"] == "failed"


# ---- by hand

def test_a_group_is_opened_filled_and_sealed_by_hand(client):
    group_id = open_group(client, open="site", name="hand", data={"x": 1}, key="k1")
    again = client.ok("POST", "/v1/groups", {"open": "site", "name": "hand", "data": {"x": 1},
                                             "key": "k1"}, 200)
    assert again["id"] == group_id
    below = open_group(client, parent=group_id, name="below")
    client.submit("work", group=below)
    act(client, group_id, "seal")
    assert act(client, group_id, "seal")["sealed"]
    listed = client.ok("GET", f"/v1/groups?parent={group_id}&state=open", status=200)["groups"]
    assert [g["id"] for g in listed] == [below]
    work_off(client, "work", 1)
    assert group(client, group_id)["state"] == "open"
    act(client, below, "seal")
    assert group(client, below)["state"] == "done"
    assert group(client, group_id)["state"] == "finishing"


def test_nothing_of_a_paused_tree_starts_and_its_jobs_say_so(client):
    top = open_group(client, name="top")
    below = open_group(client, parent=top, name="below")
    job = client.submit("work", group=below)
    act(client, top, "pause")
    assert client.claim("work")["jobs"] == []
    assert client.show(job)["reason"]["code"] == "group"
    assert top in client.show(job)["reason"]["text"]
    assert group(client, below)["paused"]
    act(client, top, "resume")
    eventually(lambda: client.state(job) == "ready", "it is released")
    assert client.take("work")["id"] == job


# ---- data and results

def test_data_has_a_version_and_root_has_data(client):
    group_id = open_group(client, data={"a": {"b": 1, "c": 2}})
    path = f"/v1/groups/{group_id}"
    assert client.ok("PATCH", path, {"data": {"a": {"b": None}}, "if_version": 1}) == {"version": 2}
    client.refused(409, "conflict", "PATCH", path, {"data": {}, "if_version": 1})
    client.refused(422, "invalid", "PATCH", path, {"data": [1]})
    assert group(client, group_id)["data"] == {"a": {"c": 2}}
    client.ok("PATCH", "/v1/groups/root", {"data": {"all": 1}})
    assert group(client, "root")["data"] == {"all": 1}


def test_a_finish_changes_the_data_and_the_next_claim_brings_it(client):
    client.submit_many([{"queue": "work", "group": site()}, {"queue": "work", "group": site()}])
    client.end(client.take("work"), group=[{"n": 1}, {"m": 2, "n": None}])
    assert client.take("work")["group"]["data"] == {"m": 2}


def test_results_are_streamed_and_continue_after_a_cursor(client):
    ids = client.submit_many([{"queue": "work", "params": {"i": i}, "group": site()}
                              for i in range(5)])
    group_id = client.show(ids[0])["group"]["id"]
    for _ in ids:
        job = client.take("work")
        client.end(job, result={"twice": 2 * job["params"]["i"]}, text="ok")
    lines = client.get(f"/v1/groups/{group_id}/results").lines
    assert [line["result"]["twice"] for line in lines] == [0, 2, 4, 6, 8]
    assert lines[0] == {"id": ids[0], "queue": "work", "state": "done", "params": {"i": 0},
                        "result": {"twice": 0}, "text": "ok"}
    rest = client.get(f"/v1/groups/{group_id}/results?cursor={ids[2]}").lines
    assert [line["id"] for line in rest] == ids[3:]


def test_a_job_waits_for_a_group(client):
    ids = client.submit_many([{"queue": "work", "group": site()}])
    group_id = client.show(ids[0])["group"]["id"]
    waiter = client.submit("source", after={"group": group_id})
    assert group_id in client.show(waiter)["reason"]["text"]
    work_off(client, "work", 1)
    assert client.state(waiter) == "held"
    work_off(client, "last", 1)
    eventually(lambda: client.state(waiter) == "ready", "its group has ended")


# ---- bad input

@pytest.mark.parametrize("choice, part", [
    (5, "must be the id of a group"),
    ("nonsense", "must be the id of a group"),
    ({"open": "nobody"}, "no kind of groups"),
    ({"open": "site", "data": [1]}, "data"),
    ({"finally": {"queue": "nowhere"}}, "nowhere"),
    ({"finally": {"params": {}}}, "one of queue and topic"),
    ({"finally": {"webhook": "http://x"}}, "not built"),
    ({"opne": "site"}, "did you mean 'open'"),
])
def test_a_group_that_cannot_be_is_refused(client, choice, part):
    error = client.refused(422, "invalid", "POST", "/v1/jobs", {"queue": "work", "group": choice})
    assert part in error["message"]


def test_nobody_joins_an_ended_group(client):
    group_id = open_group(client, sealed=True)
    error = client.refused(409, "conflict", "POST", "/v1/jobs",
                           {"queue": "work", "group": group_id})
    assert "has ended" in error["message"]
    client.refused(409, "conflict", "POST", "/v1/groups", {"parent": group_id})
    client.refused(409, "conflict", "POST", "/v1/groups/root/cancel", {})
    client.refused(404, "not_found", "GET", "/v1/groups/0AJSNE78C0003")


def test_groups_are_at_most_a_hundred_deep(client):
    parent = "root"
    for _ in range(100):
        parent = open_group(client, parent=parent)
    error = client.refused(422, "invalid", "POST", "/v1/groups", {"parent": parent})
    assert "100 deep" in error["message"]


def test_a_kind_names_a_queue_that_must_exist(admin):
    error = admin.refused(422, "invalid", "POST", "/v1/definitions",
                          {"groups": {"bad": {"finally": {"queue": "nowhere"}}}})
    assert "nowhere" in error["message"]


def test_groups_are_there_after_a_kill(server, client):
    ids = client.submit_many([{"queue": "work", "group": site()} for _ in range(2)])
    group_id = client.show(ids[0])["group"]["id"]
    client.end(client.take("work"))
    server.kill()
    server.start()
    again = server.tcp()
    assert group(again, group_id)["counts"] == {
        "made": 2, "waiting": 1, "running": 0, "done": 1, "failed": 0, "cancelled": 0,
        "dropped": 0, "groups": 0}
    again.end(again.take("work"))
    assert group(again, group_id)["state"] == "finishing"
