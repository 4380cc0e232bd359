# SPDX-License-Identifier: MIT
"""Queues: definitions over HTTP, the four states, and what each refuses."""
import pytest

from waiting import Background, eventually

STATES = {
    # state: (takes jobs, starts jobs)
    "up": (True, True),
    "pause": (True, False),
    "drain": (False, True),
    "down": (False, False),
}


def set_state(admin, state, queue="work"):
    return admin.ok("POST", f"/v1/queues/{queue}/{state}", status=200)


@pytest.mark.parametrize("state", STATES)
def test_a_queue_takes_and_starts_what_its_state_says(client, admin, state):
    takes, starts = STATES[state]
    before = client.submit()
    set_state(admin, state)
    assert client.ok("GET", "/v1/queues/work")["state"] == state
    if takes:
        client.submit()
    else:
        error = client.refused(503, "queue_down", "POST", "/v1/jobs", {"queue": "work"})
        assert "work" in error["message"] and state in error["message"]
        error = client.refused(503, "queue_down", "POST", "/v1/jobs",
                               [{"queue": "other"}, {"queue": "work"}])
        assert error["detail"]["index"] == 1
        assert "other" not in client.counts()
    assert [job["id"] for job in client.claim(max=1)["jobs"]] == ([before] if starts else [])


@pytest.mark.parametrize("state", STATES)
def test_what_runs_goes_on_in_every_state(client, admin, state):
    job_id = client.submit()
    job = client.take()
    set_state(admin, state)
    assert client.touch(job, text="on")["lost"] == []
    reply = client.request("POST", f"/v1/jobs/{job_id}/log?lease={job['lease']}&offset=0", b"x")
    assert reply.status == 200, reply.body
    client.end(job)
    assert client.state(job_id) == "done"


@pytest.mark.parametrize("state", ["drain", "down"])
def test_lines_for_a_queue_that_takes_nothing_are_told_one_by_one(client, admin, state):
    set_state(admin, state)
    reply = client.post("/v1/jobs", '{"queue":"other"}\n{"queue":"work"}\n',
                        headers={"Content-Type": "application/x-ndjson"})
    good, bad = reply.lines
    assert "id" in good and bad["line"] == 2 and bad["error"]["code"] == "queue_down"


@pytest.mark.parametrize("state", ["drain", "down"])
def test_a_queue_that_takes_nothing_takes_no_moved_or_cloned_job_either(client, admin, state):
    there = client.submit("work")
    here = client.submit("other")
    set_state(admin, state)
    client.refused(503, "queue_down", "POST", f"/v1/jobs/{here}/move", {"queue": "work"})
    client.refused(503, "queue_down", "POST", f"/v1/jobs/{there}/clone")
    assert client.counts() == {"work": {"ready": 1}, "other": {"ready": 1}}


def test_a_known_key_is_answered_also_by_a_queue_that_is_down(client, admin):
    fields = {"queue": "work", "key": "k"}
    first = client.ok("POST", "/v1/jobs", fields, 201)
    set_state(admin, "down")
    assert client.ok("POST", "/v1/jobs", fields, 200) == first


def test_the_state_survives_a_kill_and_the_definition_file(server, admin):
    set_state(admin, "pause")
    set_state(admin, "drain", "other")
    server.restart()
    client = server.tcp()
    assert client.ok("GET", "/v1/queues/work")["state"] == "pause"
    assert client.ok("GET", "/v1/queues/other")["state"] == "drain"


def test_resume_is_up(client, admin):
    set_state(admin, "down")
    assert set_state(admin, "resume")["state"] == "up"
    client.submit()
    set_state(admin, "pause")
    assert set_state(admin, "up")["state"] == "up"


def test_a_paused_queue_does_not_stop_the_others(server, client, admin):
    client.submit("work")
    set_state(admin, "pause")
    call = Background(server.tcp().claim, ["work", "other"], wait="20s", max=5)
    eventually(lambda: client.waiting() == 1)
    job_id = client.submit("other")
    assert [job["id"] for job in call.result()["jobs"]] == [job_id]


def test_queues_are_listed_with_state_and_counts(client):
    client.submit()
    client.submit(delay="1h")
    listed = {q["name"]: q for q in client.ok("GET", "/v1/queues")["queues"]}
    assert {"default", "work", "other", "again", "rules", "own", "two words"} <= set(listed)
    assert listed["work"]["state"] == "up"
    counts = {state: n for state, n in listed["work"]["counts"].items() if n}
    assert counts == {"ready": 1, "scheduled": 1}


def test_one_queue_is_shown_with_its_definition(client):
    shown = client.ok("GET", "/v1/queues/rules")
    assert shown["name"] == "rules"
    retry = shown["definition"]["retry"]
    assert retry["max"] == 3 and retry["exits"] == {"75": "later", "64-74": "never"}
    assert client.ok("GET", "/v1/queues/two%20words")["name"] == "two words"


def test_a_queue_that_is_not_there_is_not_found_with_the_nearest_name(client):
    error = client.refused(404, "not_found", "GET", "/v1/queues/wrok")
    assert "work" in error["message"]


def test_a_queue_is_put_changed_and_deleted(client, admin):
    assert admin.request("PUT", "/v1/queues/new", {"retry": {"max": 1}}).status == 201
    assert admin.request("PUT", "/v1/queues/new", {"retry": {"max": 1}}).status == 200
    assert admin.request("PUT", "/v1/queues/new", {"retry": {"max": 2}}).status == 200
    assert client.ok("GET", "/v1/queues/new")["definition"]["retry"]["max"] == 2
    job_id = client.submit("new")
    error = admin.refused(409, "conflict", "DELETE", "/v1/queues/new")
    assert "job" in error["message"]
    admin.ok("DELETE", f"/v1/jobs/{job_id}")
    admin.ok("DELETE", "/v1/queues/new", status=200)
    client.refused(404, "not_found", "GET", "/v1/queues/new")
    client.refused(422, "invalid", "POST", "/v1/jobs", {"queue": "new"})
    admin.refused(404, "not_found", "DELETE", "/v1/queues/new")


def test_a_queue_that_was_put_survives_a_kill(server, admin):
    admin.request("PUT", "/v1/queues/new", {"retry": {"max": 7}})
    server.restart()
    assert server.tcp().ok("GET", "/v1/queues/new")["definition"]["retry"]["max"] == 7


def test_a_changed_definition_is_in_force_at_once(client, admin):
    job_id = client.submit()
    job = client.take()
    admin.request("PUT", "/v1/queues/work", {"retry": {"max": 1, "first": "1h"}})
    client.end(job, "failed", exit=1)
    assert client.state(job_id) == "scheduled"


def test_the_default_queue_is_there_and_stays(client, admin):
    shown = client.ok("GET", "/v1/queues/default")
    assert shown["definition"]["own_command"] is True
    admin.refused(409, "conflict", "DELETE", "/v1/queues/default")
    client.submit("default")


@pytest.mark.embedded("refused before the store is asked")
@pytest.mark.parametrize("definition, words", [
    ({"retri": {}}, ["retri", "retry"]),
    ({"retry": {"maxx": 1}}, ["retry", "maxx", "max"]),
    ({"retry": {"max": -1}}, ["retry.max"]),
    ({"retry": {"max": "many"}}, ["retry.max"]),
    ({"retry": {"first": "10 years"}}, ["retry.first"]),
    ({"retry": {"exits": {"300": "later"}}}, ["exits"]),
    ({"retry": {"exits": {"5": "latre"}}}, ["later"]),
    ({"slots": 0}, ["slots"]),
    ({"slots": 1.5}, ["slots"]),
    ({"command": 5}, ["command"]),
    ({"command": []}, ["command"]),
    ({"command": ["ls", 5]}, ["command"]),
    ({"timeout": "soon"}, ["timeout"]),
    ({"keep": {"done": "-1d"}}, ["keep.done"]),
    ({"own_command": "yes"}, ["own_command"]),
    ([], ["object"]),
    ('"x"', ["object"]),
])
def test_a_bad_definition_is_refused_with_its_place(client, admin, definition, words):
    error = admin.refused(422, "invalid", "PUT", "/v1/queues/bad", definition)
    for word in words:
        assert word in error["message"], error
    client.refused(404, "not_found", "GET", "/v1/queues/bad")


@pytest.mark.embedded("refused before the store is asked")
@pytest.mark.parametrize("name", ["a%2Fb", ".hidden", "x" * 201, "%01", "%ff", "%E2%82"])
def test_a_bad_name_is_refused(admin, name):
    reply = admin.request("PUT", f"/v1/queues/{name}", {})
    assert reply.status in (400, 404, 422), (reply.status, reply.body)
    assert reply.json["error"]["message"]


def test_definitions_are_applied_together(client, admin):
    queues = {"a": {"slots": 2}, "b": {}, "work": {"description": "changed"}}
    path = "/v1/definitions"
    dry = admin.ok("POST", f"{path}?dry_run=1", {"queues": queues}, 200)
    changes = {c["name"]: c["change"] for c in dry["changes"]}
    assert (changes["a"], changes["b"], changes["work"]) == ("added", "added", "changed")
    assert dry["dry_run"] is True and all(c["kind"] == "queue" for c in dry["changes"])
    client.refused(404, "not_found", "GET", "/v1/queues/a")
    wet = admin.ok("POST", path, {"queues": queues}, 200)
    assert wet["dry_run"] is False and {c["name"]: c["change"] for c in wet["changes"]} == changes
    again = admin.ok("POST", path, {"queues": queues}, 200)
    assert {c["change"] for c in again["changes"]} == {"same"}
    assert client.ok("GET", "/v1/queues/a")["definition"]["slots"] == 2


def test_prune_removes_what_is_not_named(client, admin):
    reply = admin.ok("POST", "/v1/definitions?prune=1",
                     {"queues": {"work": {"description": "plain"}}}, 200)
    changes = {c["name"]: c["change"] for c in reply["changes"]}
    assert changes["other"] == "removed" and changes["work"] == "same" and "default" not in changes
    names = {q["name"] for q in client.ok("GET", "/v1/queues")["queues"]}
    assert names == {"default", "work"}


def test_prune_of_a_queue_with_jobs_is_refused_whole(client, admin):
    client.submit("other")
    error = admin.refused(409, "conflict", "POST", "/v1/definitions?prune=1",
                          {"queues": {"new": {}}})
    assert "other" in error["message"]
    client.refused(404, "not_found", "GET", "/v1/queues/new")
    client.ok("GET", "/v1/queues/work")


def test_one_bad_definition_refuses_all(client, admin):
    error = admin.refused(422, "invalid", "POST", "/v1/definitions",
                          {"queues": {"a": {}, "b": {"slots": -1}}})
    assert "b" in error["message"] and "slots" in error["message"]
    client.refused(404, "not_found", "GET", "/v1/queues/a")
