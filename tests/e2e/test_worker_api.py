# SPDX-License-Identifier: MIT
"""What a worker tells the server besides finishing: definitions it knows, who it is, when it woke."""
from test_claim import waiting_claim


def definitions(client):
    return client.ok("GET", "/v1/queues")["definitions"]


# ---- the definitions that a claimer works by

def test_the_number_of_the_definitions_grows_with_each_change_of_them(client, admin):
    seen = [definitions(client)]

    def must_grow(*request):
        admin.ok(*request)
        seen.append(definitions(client))
        assert seen[-1] > seen[-2], (request, seen)

    must_grow("PUT", "/v1/queues/work", {"description": "other"})
    must_grow("PUT", "/v1/queues/fresh", {})
    must_grow("DELETE", "/v1/queues/fresh")
    admin.ok("PUT", "/v1/queues/work", {"description": "other"})
    for verb in ("pause", "drain", "down", "up"):
        admin.ok("POST", f"/v1/queues/work/{verb}")
    assert definitions(client) == seen[-1]


def test_the_number_of_the_definitions_survives_a_restart(server):
    server.unix().ok("PUT", "/v1/queues/fresh", {})
    before = definitions(server.tcp())
    server.restart()
    assert definitions(server.tcp()) == before


def test_a_claim_with_the_current_definitions_gets_jobs(client):
    job_id = client.submit()
    number = definitions(client)
    reply = client.claim(definitions=number)
    assert [job["id"] for job in reply["jobs"]] == [job_id]
    assert reply["definitions"] == number


def test_a_claim_with_other_definitions_gets_nothing_at_once_but_its_finishes_count(client):
    first, second = client.submit(), client.submit()
    job = client.take()
    number = definitions(client)
    item = {"id": job["id"], "lease": job["lease"], "state": "done"}
    reply = client.claim(definitions=number + 1, wait="60s", finish=[item])
    assert reply["jobs"] == [] and reply["definitions"] == number
    assert reply["results"] == [{"id": job["id"], "ok": True}]
    assert job["id"] == first and client.state(second) == "ready"


def test_a_claim_with_old_definitions_may_name_queues_that_are_gone(client, admin):
    admin.ok("PUT", "/v1/queues/fleeting", {})
    number = definitions(client)
    client.submit()
    job = client.take()
    admin.ok("DELETE", "/v1/queues/fleeting")
    item = {"id": job["id"], "lease": job["lease"], "state": "done"}
    reply = client.claim({"fleeting": 1, "work": 1}, definitions=number, finish=[item])
    assert reply["jobs"] == [] and reply["definitions"] == definitions(client)
    assert reply["results"] == [{"id": job["id"], "ok": True}]
    client.refused(422, "invalid", "POST", "/v1/claim", {
        "queues": {"fleeting": 1}, "definitions": definitions(client)})


def test_a_waiting_claim_is_told_of_changed_definitions(server):
    number = definitions(server.tcp())
    call = waiting_claim(server, definitions=number)
    server.unix().ok("PUT", "/v1/queues/work", {"description": "changed"})
    reply = call.result()
    assert reply["jobs"] == [] and reply["definitions"] == definitions(server.tcp()) > number


def test_a_waiting_claim_that_knows_no_definitions_is_not_disturbed(server):
    call = waiting_claim(server)
    server.unix().ok("PUT", "/v1/queues/other", {"description": "changed"})
    job_id = server.tcp().submit()
    reply = call.result()
    assert [job["id"] for job in reply["jobs"]] == [job_id] and "definitions" not in reply


# ---- listening and waking

def test_a_claim_for_no_queues_listens_for_cancels(server):
    client = server.tcp()
    client.submit()
    job = client.take(worker="listener")
    call = waiting_claim(server, {}, worker="listener")
    client.act(job["id"], "cancel", status=202)
    assert call.result()["cancel"] == [{"id": job["id"], "lease": job["lease"]}]


def test_a_claim_for_at_most_0_jobs_listens_while_there_is_work(server):
    client = server.tcp()
    job_id = client.submit()
    call = waiting_claim(server, max=0, worker="listener")
    client.submit()
    client.claim({}, worker="listener", wake=True)
    assert call.result()["jobs"] == []
    assert client.state(job_id) == "ready"


def test_wake_answers_the_waiting_claims_of_the_same_worker_only(server):
    same = [waiting_claim(server, worker="one"), waiting_claim(server, "other", worker="one")]
    another = waiting_claim(server, worker="two", max=1)
    nobody = waiting_claim(server, worker=None, max=1)
    client = server.tcp()
    reply = client.claim({}, worker="one", wake=True)
    assert reply["jobs"] == []
    for call in same:
        assert call.result()["jobs"] == []
    assert another.running() and nobody.running() and client.waiting() == 2
    client.submit_many([{"queue": "work"}] * 2)
    assert len(another.result()["jobs"]) + len(nobody.result()["jobs"]) == 2


def test_a_claim_that_wakes_may_wait_itself(server):
    first = waiting_claim(server, worker="one")
    second = waiting_claim(server, worker="one", count=0, wake=True)
    assert first.result()["jobs"] == []
    job_id = server.tcp().submit()
    assert [job["id"] for job in second.result()["jobs"]] == [job_id]


def test_wake_needs_a_name(client):
    error = client.refused(422, "invalid", "POST", "/v1/claim", {"queues": {}, "wake": True})
    assert "name" in error["message"]
