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


# ---- what a worker tells of itself

def described(name="w1", pid=7, **fields):
    return {"name": name, "host": "box", "pid": pid, "version": "9", "slots": 4,
            "queues": {"work": 4, "other": 2}, **fields}


def worker_named(client, name):
    shown = client.ok("GET", "/v1/workers")["workers"]
    return next(worker for worker in shown if worker["name"] == name)


def test_a_described_worker_is_shown_by_its_description(client):
    client.claim({"work": 1}, worker=described())
    shown = worker_named(client, "w1")
    assert shown["queues"] == {"work": 4, "other": 2} and shown["slots"] == 4
    assert shown["host"] == "box" and shown["pid"] == 7 and shown["version"] == "9"
    assert shown["broken"] == {} and shown["running"] == 0 and shown["jobs"] == []
    assert shown["live"] is True


def test_single_claims_of_a_described_worker_change_nothing_of_what_is_shown(client):
    client.claim({"work": 1}, worker=described())
    for worker in ("w1", {"name": "w1", "pid": 7}):
        client.claim({"other": 1}, worker=worker)
        shown = worker_named(client, "w1")
        assert shown["queues"] == {"work": 4, "other": 2} and shown["slots"] == 4
        assert shown["host"] == "box" and shown["pid"] == 7
    client.claim({"other": 1}, worker={"name": "w1", "pid": 8})
    shown = worker_named(client, "w1")
    assert shown["queues"] == {"other": 1} and shown["pid"] == 8 and "slots" not in shown


def test_a_description_survives_a_restart(server):
    server.tcp().claim({}, worker=described(broken={"other": "no such file"}))
    server.restart()
    client = server.tcp()
    client.claim({"work": 1}, worker="w1")
    shown = worker_named(client, "w1")
    assert shown["slots"] == 4 and shown["broken"] == {"other": "no such file"}


def test_a_worker_is_shown_with_the_jobs_it_runs(client):
    first, second = client.submit(), client.submit("other")
    jobs = client.claim({"work": 1, "other": 1}, worker=described())["jobs"]
    assert {job["id"] for job in jobs} == {first, second}
    shown = worker_named(client, "w1")
    assert shown["running"] == 2
    assert {job["id"]: job["queue"] for job in shown["jobs"]} == {first: "work", second: "other"}
    assert all(job["started_at"] == client.show(job["id"])["started_at"] for job in shown["jobs"])
    for job in jobs:
        client.end(job)
    shown = worker_named(client, "w1")
    assert shown["running"] == 0 and shown["jobs"] == []


def test_a_worker_with_many_jobs_shows_100_of_them(client):
    client.submit_many([{"queue": "work"}] * 150)
    client.claim(max=70, worker="busy")
    client.claim(max=70, worker="busy")
    client.claim(max=10, worker="other")
    shown = worker_named(client, "busy")
    assert shown["running"] == 140 and len({job["id"] for job in shown["jobs"]}) == 100


def test_a_queue_whose_program_cannot_be_started_says_so(client):
    job_id = client.submit("other")
    assert client.show(job_id)["reason"]["code"] == "no_worker"
    client.claim({}, worker=described(broken={"other": "fetch.sh: no such file"}))
    assert worker_named(client, "w1")["broken"] == {"other": "fetch.sh: no such file"}
    queue = client.ok("GET", "/v1/queues/other")
    assert queue["broken"] == [{"worker": "w1", "host": "box", "text": "fetch.sh: no such file"}]
    assert queue["served"] is False
    listed = {q["name"]: q for q in client.ok("GET", "/v1/queues")["queues"]}
    assert listed["other"] == queue and "broken" not in listed["work"]
    reason = client.show(job_id)["reason"]
    assert reason == {"code": "broken", "text":
                      "its program cannot be started on box: fetch.sh: no such file"}

    client.claim({}, worker=described("w2", 8))
    assert client.show(job_id)["reason"]["code"] == "waiting"
    assert client.ok("GET", "/v1/queues/other")["served"] is True
    client.claim({}, worker=described())
    assert "broken" not in client.ok("GET", "/v1/queues/other")


def test_no_live_worker_is_said_though_described_workers_serve_other_queues(client):
    job_id = client.submit("again")
    client.claim({}, worker=described(broken={"other": "gone"}))
    reason = client.show(job_id)["reason"]
    assert reason == {"code": "no_worker", "text": "no live worker for again"}


def test_a_bad_description_is_refused(client):
    for worker, word in ((described(queues=["work"]), "queues"),
                         (described(queues={"work": -1}), "queues"),
                         (described(queues={"work": "x"}), "queues"),
                         (described(slots="4"), "slots"),
                         (described(broken={"work": 5}), "broken"),
                         (described(broken={"work": "x" * 3000}), "broken"),
                         ({"name": "w", "slots": 4}, "queues"),
                         ({"name": "w", "broken": {"work": "x"}}, "queues"),
                         (described(colour="red"), "colour")):
        error = client.refused(422, "invalid", "POST", "/v1/claim",
                               {"queues": {}, "worker": worker})
        assert word in error["message"], error
    too_many = {f"q{n}": 1 for n in range(1001)}
    client.refused(413, "too_large", "POST", "/v1/claim",
                   {"queues": {}, "worker": described(queues=too_many)})
    assert client.ok("GET", "/v1/workers")["workers"] == []
