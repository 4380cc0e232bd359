# SPDX-License-Identifier: MIT
"""unique: of jobs with the same key one is kept."""
import json
from datetime import timedelta

import pytest

from waiting import eventually, parse_time

DEFINITIONS = """
queues:
  source: {retry: {max: 5, first: 0s}, on_success: [{queue: after}]}
  after: {filters: [{unique: {key: "{url}"}}]}
  work: {filters: [{unique: {key: "{url}", scope: queue}}]}
  one: {filters: [{unique: {key: "{url}", scope: all}}]}
  other: {filters: [{unique: {key: "{url}", scope: all}}]}
  strict: {filters: [{unique: {key: "{url}", scope: queue, on_clash: reject}}]}
  living: {filters: [{unique: {key: "{url}", scope: queue, counts: living}}]}
  joined: {filters: [{unique: {key: "{url}", scope: queue, on_clash: join}}]}
  calm: {filters: [{unique: {key: "{url}", scope: queue, on_clash: replace, max: 1h}}]}
  again: {filters: [{unique: {key: "{url}", scope: queue, on_clash: reuse}}]}
  short: {filters: [{unique: {key: "{url}", scope: queue, for: 300ms}}]}
"""


@pytest.fixture
def server(servers):
    return servers(definitions=DEFINITIONS).start()


def job(url, queue="work", **params):
    return {"queue": queue, "params": {"url": url, **params}}


def post(client, body, status=201):
    return client.ok("POST", "/v1/jobs", body, status)


def drops(client, queue="work"):
    return client.ok("GET", f"/v1/queues/{queue}/drops")


def emit(client, job, seq, jobs, **fields):
    body = {"id": job["id"], "lease": job["lease"], "seq": seq, "jobs": jobs, **fields}
    return client.ok("POST", "/v1/emit", body, 200)


def begin(client):
    client.submit("source")
    return client.take("source")


def ready(client, queue="work"):
    return [j["params"] for j in client.claim(queue, max=1000)["jobs"]]


# ---- replies

def test_a_second_job_with_the_key_is_dropped_and_names_the_first(client):
    first = post(client, job("a"))["id"]
    reply = post(client, job("a"), 200)
    assert reply["id"] is None
    assert reply["dropped"]["filter"] == "unique" and reply["dropped"]["job"] == first
    assert "'a'" in reply["dropped"]["text"]
    assert post(client, job("b"))["id"]
    assert client.counts() == {"work": {"ready": 2}}


def test_an_array_has_null_in_the_places_of_the_dropped_ones(client):
    reply = post(client, [job("a"), job("b"), job("a"), job("c")])
    a, b, none, c = reply["ids"]
    assert none is None and a and b and c
    assert [(d["index"], d["filter"], d["job"]) for d in reply["dropped"]] == [(2, "unique", a)]
    assert post(client, [job("a"), job("b")], 200)["ids"] == [None, None]


def test_lines_say_for_each_whether_it_was_dropped(client):
    body = "".join(json.dumps(j) + "\n" for j in (job("a"), job("a"), job("b"))).encode()
    reply = client.post("/v1/jobs", body, headers={"Content-Type": "application/x-ndjson"})
    lines = reply.lines
    assert [line["id"] is None for line in lines] == [False, True, False]
    assert lines[1]["dropped"]["job"] == lines[0]["id"]


def test_a_key_that_cannot_be_filled_is_an_error_that_names_it(client):
    error = client.refused(422, "invalid", "POST", "/v1/jobs", {"queue": "work", "params": {}})
    assert "url" in error["message"] and "unique" in error["message"]
    source = begin(client)
    body = {"id": source["id"], "lease": source["lease"], "seq": 1, "jobs": [{"queue": "work"}]}
    client.refused(422, "invalid", "POST", "/v1/emit", body)


# ---- scopes

def test_the_scope_all_is_over_all_queues(client):
    first = post(client, job("a", "one"))["id"]
    assert post(client, job("a", "other"), 200)["dropped"]["job"] == first
    assert post(client, job("a", "work"))["id"]
    assert post(client, job("a", "after"))["id"]


def test_keys_are_known_after_a_restart_and_after_the_job_is_gone(client, server, admin):
    first = post(client, job("a"))["id"]
    client.end(client.take("work"))
    admin.ok("DELETE", f"/v1/jobs/{first}", status=200)
    server.kill()
    server.start()
    client = server.tcp()
    assert post(client, job("a"), 200)["dropped"]["job"] == first


# ---- on_clash

def test_reject_refuses_the_request_as_a_whole(client):
    post(client, job("a", "strict"))
    error = client.refused(409, "conflict", "POST", "/v1/jobs", job("a", "strict"))
    assert "'a'" in error["message"]
    body = [job("b", "strict"), job("a", "strict")]
    client.refused(409, "conflict", "POST", "/v1/jobs", body)
    assert post(client, job("b", "strict"))["id"], "the refused array has taken nothing"


def test_join_answers_with_the_other_job(client):
    first = post(client, job("a", "joined"))["id"]
    assert post(client, job("a", "joined"), 200) == {"id": first}
    client.end(client.take("joined"))
    assert post(client, job("a", "joined"), 200) == {"id": first}


def test_replace_puts_new_params_and_due_time_into_the_job_that_waits(client):
    first = post(client, {**job("a", "calm", n=1), "delay": "10m"})["id"]
    assert post(client, {**job("a", "calm", n=2), "delay": "20m"}, 200) == {"id": first}
    shown = client.show(first)
    assert shown["params"]["n"] == 2 and shown["state"] == "scheduled"
    before = shown["due_at"]
    post(client, {**job("a", "calm", n=3), "delay": "10h"}, 200)
    shown = client.show(first)
    assert shown["params"]["n"] == 3 and before < shown["due_at"] < "9"
    assert parse_time(shown["due_at"]) - parse_time(shown["created_at"]) <= timedelta(hours=1)
    post(client, job("a", "calm", n=4), 200)
    got = client.take("calm")
    assert got["id"] == first and got["params"]["n"] == 4
    second = post(client, job("a", "calm", n=5))["id"]
    assert second != first, "the first runs: it cannot be replaced"


def test_reuse_makes_a_job_that_is_done_with_the_known_result(client):
    first = post(client, job("a", "again"))["id"]
    assert post(client, job("a", "again"), 200)["id"] == first, "it is still under way"
    client.finish(client.take("again"), "done", result={"pages": 7})
    second = post(client, job("a", "again"))["id"]
    shown = client.show(second)
    assert second != first and shown["state"] == "done" and shown["result"] == {"pages": 7}


def test_living_frees_the_key_with_the_end(client):
    first = post(client, job("a", "living"))["id"]
    assert post(client, job("a", "living"), 200)["dropped"]["job"] == first
    client.end(client.take("living"))
    assert post(client, job("a", "living"))["id"] not in (None, first)


def test_a_key_with_for_is_free_again_that_long_after_the_end(client):
    first = post(client, job("a", "short"))["id"]
    assert post(client, job("a", "short"), 200)["id"] is None
    client.end(client.take("short"))
    eventually(lambda: client.ok("POST", "/v1/jobs", job("a", "short"))["id"])
    assert client.state(first) == "done"


# ---- emits

def test_a_staged_job_takes_its_key_when_it_is_released(client):
    source = begin(client)
    assert all(emit(client, source, 1, [job("a"), job("b")])["ids"])
    assert post(client, job("a"))["id"], "nothing is taken by an attempt that may fail"
    client.end(source)
    assert sorted(p["url"] for p in ready(client)) == ["a", "b"]
    assert drops(client)["dropped"] == {"unique": 1}


def test_an_attempt_that_fails_takes_no_key(client):
    source = begin(client)
    emit(client, source, 1, [job("a")])
    client.finish(source, "failed")
    source = client.take("source")
    emit(client, source, 1, [job("a"), job("a")])
    client.end(source)
    assert ready(client) == [{"url": "a"}]


def test_an_emit_says_what_is_dropped_at_once_and_says_it_again(client):
    first = post(client, job("a"))["id"]
    source = begin(client)
    reply = emit(client, source, 1, [job("b"), job("a"), job("c")])
    assert reply["ids"][1] is None and reply["dropped"][0]["index"] == 1
    assert reply["dropped"][0]["job"] == first
    assert emit(client, source, 1, [job("b"), job("a"), job("c")]) == reply
    visible = emit(client, source, 2, [job("d"), job("d"), job("a")], visible=True)
    assert visible["ids"][0] and visible["ids"][1:] == [None, None]
    assert emit(client, source, 2, [job("d")], visible=True) == visible
    client.end(source)
    assert sorted(p["url"] for p in ready(client)) == ["a", "b", "c", "d"]


def test_what_a_finish_emits_is_judged(client):
    post(client, job("a"))
    source = begin(client)
    client.finish(source, "done", emit=[job("a"), job("b"), job("b")])
    assert sorted(p["url"] for p in ready(client)) == ["a", "b"]


def test_jobs_that_follow_others_are_judged(client):
    for _ in range(3):
        client.submit("source", params={"url": "x"})
        client.end(client.take("source"))
    assert len(ready(client, "after")) == 1
    assert drops(client, "after")["dropped"] == {"unique": 2}


def test_a_retry_is_not_judged(client):
    post(client, job("a"))
    got = client.take("work")
    client.finish(got, "failed")
    client.ok("POST", f"/v1/jobs/{got['id']}/retry", status=200)
    assert client.take("work")["id"] == got["id"]


# ---- what is kept of it

def test_drops_are_counted_and_the_last_hundred_listed(client):
    first = post(client, job("a"))["id"]
    post(client, [job("a") for _ in range(130)], 200)
    shown = drops(client)
    assert shown["dropped"] == {"unique": 130} and len(shown["drops"]) == 100
    assert shown["drops"][0]["job"] == first and shown["drops"][0]["filter"] == "unique"
    queue = client.ok("GET", "/v1/queues/work")
    assert queue["dropped"] == {"unique": 130} and queue["keys_kept"] == 1


def test_an_array_with_one_key_twice_reuses_once(server):
    client = server.unix()
    client.submit("again", params={"url": "a"})
    client.end(client.take("again"), result={"v": 1})
    ids = post(client, [{**job("a", "again"), "key": "k"}] * 3)["ids"]
    assert len(set(ids)) == 1
    shown = client.show(ids[0])
    assert (shown["state"], shown["result"]) == ("done", {"v": 1})


def test_a_client_without_rights_cannot_replace_the_params_of_a_command(servers):
    server = servers(definitions="""
queues:
  own:
    own_command: true
    command: ["true"]
    filters: [{unique: {key: "{k}", scope: queue, on_clash: replace}}]
""").start()
    admin = server.unix()
    mine = admin.submit("own", command=["echo", "{msg}"], params={"k": 1, "msg": "safe"},
                        delay="1h")
    reply = post(server.tcp(), {"queue": "own", "params": {"k": 1, "msg": "evil"}}, 200)
    assert reply["id"] is None and reply["dropped"]["job"] == mine, reply
    assert admin.show(mine)["params"] == {"k": 1, "msg": "safe"}
