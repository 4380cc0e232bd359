# SPDX-License-Identifier: MIT
"""What a worker reports besides ends: known definitions, its identity, when it woke."""
from client import waiting_claim
from waiting import Background, now, parse_time


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
                      "queue other is broken on box: fetch.sh: no such file"}

    client.claim({}, worker=described("w2", 8))
    assert client.show(job_id)["reason"]["code"] == "waiting"
    assert client.ok("GET", "/v1/queues/other")["served"] is True
    client.claim({}, worker=described())
    assert "broken" not in client.ok("GET", "/v1/queues/other")


def test_no_live_worker_is_said_though_described_workers_serve_other_queues(client, admin):
    admin.ok("PUT", "/v1/queues/run", {"command": ["true"]})
    job_id = client.submit("run")
    client.claim({}, worker=described(broken={"other": "gone"}))
    reason = client.show(job_id)["reason"]
    assert reason == {"code": "no_worker", "text": "no live worker for run"}


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


# ---- logs that come with finishes and touches

def log_of(client, job):
    return client.get(f"/v1/jobs/{job['id']}/log").body


def held(job, **fields):
    return {"id": job["id"], "lease": job["lease"], **fields}


def test_a_finish_brings_the_rest_of_the_log(client):
    client.submit()
    job = client.take()
    reply = client.ok("POST", "/v1/finish", {"finish": [
        held(job, state="done", log={"offset": 0, "text": "all there is\n"})]})
    assert reply == {"results": [{"id": job["id"], "ok": True}]}
    assert log_of(client, job) == b"all there is\n"
    assert client.state(job["id"]) == "done"


def test_a_touch_adds_to_the_log_and_a_claim_with_both_keeps_the_order(client):
    client.submit_many([{"queue": "work"}] * 2)
    one, two = client.claim(max=2)["jobs"]
    client.ok("POST", "/v1/touch", {"touch": [
        held(one, text="at it", log={"offset": 0, "base64": "AP8K"})]})
    assert log_of(client, one) == b"\0\xff\n" and client.show(one["id"])["text"] == "at it"
    reply = client.claim({}, touch=[held(two, log={"offset": 0, "text": "two\n"})],
                         finish=[held(one, state="failed", log={"offset": 3, "text": "end\n"})])
    assert reply["results"][0]["ok"] is True and "logs" not in reply
    assert log_of(client, one) == b"\0\xff\nend\n" and log_of(client, two) == b"two\n"
    assert client.state(one["id"]) == "failed"


def test_a_log_that_was_sent_again_is_there_once(client):
    client.submit()
    job = client.take()
    for piece in ({"offset": 0, "text": "abc"}, {"offset": 0, "text": "abc"},
                  {"offset": 1, "text": "bcdef"}, {"offset": 6, "text": ""}):
        assert "logs" not in client.ok("POST", "/v1/touch", {"touch": [held(job, log=piece)]})
    assert log_of(client, job) == b"abcdef"


def test_a_log_that_cannot_be_taken_says_where_it_ends_and_fails_nothing(client, admin):
    admin.ok("PUT", "/v1/queues/small", {"keep": {"log": 10}})
    client.submit("small")
    job = client.take("small")
    reply = client.ok("POST", "/v1/touch", {"touch": [held(job, log={"offset": 5, "text": "x"})]})
    assert reply["lost"] == [] and reply["logs"] == [held(job, size=0)]
    reply = client.ok("POST", "/v1/touch", {"touch": [
        held(job, log={"offset": 0, "text": "123456789"})]})
    assert "logs" not in reply
    reply = client.claim({}, wait="60s", finish=[
        held(job, state="done", log={"offset": 9, "text": "too much"})])
    assert reply["logs"] == [held(job, size=9)]
    assert reply["results"] == [{"id": job["id"], "ok": True}]
    assert log_of(client, job) == b"123456789" and client.state(job["id"]) == "done"


def test_a_stale_lease_adds_nothing_to_the_log(client):
    client.submit()
    first = client.take()
    client.end(first, "returned")
    second = client.take()
    reply = client.ok("POST", "/v1/touch", {"touch": [held(first, log={"offset": 0, "text": "x"})]})
    assert reply["lost"] == [held(first)] and "logs" not in reply
    result = client.ok("POST", "/v1/finish", {"finish": [
        held(first, state="done", log={"offset": 0, "text": "x"})]})
    assert result["results"][0]["error"]["code"] == "stale_lease"
    assert log_of(client, second) == b""


def test_a_log_is_told_when_its_parts_were_written(client):
    client.submit()
    job = client.take()
    path = f"/v1/jobs/{job['id']}/log?times=1"
    assert client.ok("GET", path) == {"times": [], "attempts": [[1, 0]], "errors": []}
    at = 1767225600000000
    piece = {"offset": 0, "text": "one\ntwo\n", "times": [[0, at], [4, at + 1500]]}
    for _ in range(2):
        client.ok("POST", "/v1/touch", {"touch": [held(job, log=piece)]})
    piece = {"offset": 4, "text": "two\nthree\n", "times": [[4, at + 7], [8, 0], [8, at + 2000000]]}
    client.end(job, log=piece)
    assert client.ok("GET", path)["times"] == [
        [0, "2026-01-01T00:00:00Z"], [4, "2026-01-01T00:00:00.001500Z"],
        [8, "2026-01-01T00:00:02Z"]]
    assert client.ok("GET", path)["errors"] == [8]
    client.refused(422, "invalid", "GET", path + "&follow=1")
    client.refused(404, "not_found", "GET", "/v1/jobs/0000000000000/log?times=1")


def test_times_go_with_their_job_and_beyond_a_good_number_are_not_kept(client, admin):
    client.submit()
    job = client.take()
    size = 0
    for _ in range(20):
        piece = {"offset": size, "text": "x" * 4000,
                 "times": [[size + n, 10**15 + size + n] for n in range(4000)]}
        assert client.touch(job, log=piece) == {"lost": [], "cancel": []}
        size += 4000
    kept = client.ok("GET", f"/v1/jobs/{job['id']}/log?times=1")["times"]
    assert [offset for offset, _ in kept] == list(range(len(kept))) and 60000 <= len(kept) <= size
    client.end(job)
    admin.ok("DELETE", f"/v1/jobs/{job['id']}")


def test_those_who_follow_a_log_see_what_comes_with_touches(server):
    client = server.tcp()
    client.submit()
    job = client.take()
    follower = Background(server.tcp().get, f"/v1/jobs/{job['id']}/log?follow=1")
    client.touch(job, log={"offset": 0, "text": "one\n"})
    client.end(job, log={"offset": 4, "text": "two\n"})
    assert follower.result().body == b"one\ntwo\n"


def test_a_bad_log_is_refused_and_nothing_of_the_request_happens(client):
    client.submit()
    job = client.take()
    for log, word in (({"text": "x"}, "offset"), ({"offset": 0}, "text"), ([], "object"),
                      ({"offset": -1, "text": "x"}, "offset"), ({"offset": 0, "text": 5}, "text"),
                      ({"offset": 0, "base64": "%"}, "base64"),
                      ({"offset": 0, "text": "x", "base64": "eA=="}, "exclude"),
                      ({"offset": 0, "text": "x", "times": 5}, "times"),
                      ({"offset": 0, "text": "x", "times": [[0]]}, "times"),
                      ({"offset": 0, "text": "x", "times": [[0, -1]]}, "times"),
                      ({"offset": 0, "text": "x", "times": [["0", 5]]}, "times"),
                      ({"offset": 0, "text": "x", "times": [[1, 5]]}, "times"),
                      ({"offset": 5, "text": "xy", "times": [[4, 5]]}, "times"),
                      ({"offset": 0, "text": "xy", "times": [[1, 5], [0, 5]]}, "times"),
                      ({"offset": 0, "text": "x", "size": 5}, "size")):
        error = client.refused(422, "invalid", "POST", "/v1/finish",
                               {"finish": [held(job, state="done", log=log)]})
        assert word in error["message"] and error["detail"] == {"index": 0}, error
    client.refused(413, "too_large", "POST", "/v1/touch", {"touch": [
        held(job, log={"offset": 0, "text": "x" * ((1 << 20) + 1)})]})
    assert client.state(job["id"]) == "running" and log_of(client, job) == b""


# ---- status, and what a claimed job knows of its past

def test_a_touch_tells_unit_and_when_it_expects_to_be_done(client):
    client.submit()
    job = client.take()
    client.touch(job, done=3, total=10, unit="MB", left=90)
    shown = client.show(job["id"])
    assert (shown["done"], shown["total"], shown["unit"]) == (3, 10, "MB")
    left = (parse_time(shown["expected_at"]) - now()).total_seconds()
    assert 60 < left <= 90
    client.touch(job, text="on")
    assert client.show(job["id"])["expected_at"] == shown["expected_at"]
    client.touch(job, done=4, left="2m")
    again = client.show(job["id"])
    assert again["expected_at"] > shown["expected_at"] and again["unit"] == "MB"
    client.touch(job, left=None)
    assert "expected_at" not in client.show(job["id"])
    client.touch(job, left=1)
    client.end(job)
    shown = client.show(job["id"])
    assert "expected_at" not in shown and shown["unit"] == "MB" and shown["done"] == 4


def test_the_next_attempt_begins_without_unit_and_estimate(client):
    client.submit()
    job = client.take()
    client.touch(job, done=3, unit="MB", left=90)
    client.end(job, "returned")
    client.take()
    shown = client.show(job["id"])
    assert shown["state"] == "running" and not {"unit", "done", "expected_at"} & set(shown)


def test_bad_units_and_estimates_are_refused(client):
    client.submit()
    job = client.take()
    for field, value in (("unit", 5), ("unit", "x" * 41), ("left", "soon"), ("left", -1),
                         ("left", [])):
        error = client.refused(422, "invalid", "POST", "/v1/touch",
                               {"touch": [held(job, **{field: value})]})
        assert field in error["message"], error


def test_a_claimed_job_says_how_often_it_was_lost_and_where_its_log_ends(client):
    client.submit()
    job = client.take(lease="1s")
    assert "lost" not in job and "log_size" not in job
    client.touch(job, log={"offset": 0, "text": "begun\n"})
    again = client.take()
    assert again["id"] == job["id"] and again["lost"] == 1 and again["log_size"] == 6
    client.end(again, "returned")
    third = client.take()
    assert third["lost"] == 1 and third["log_size"] == 6
    client.end(third)


# ---- queues: restart and what happened to them

def queue_log(client, name="work", limit=100):
    lines = client.ok("GET", f"/v1/queues/{name}/log?limit={limit}")["log"]
    assert all(set(line) == {"at", "what", "text"} for line in lines), lines
    times = [parse_time(line["at"]) for line in lines]
    assert times == sorted(times, reverse=True), lines
    return lines


def happened(client, name="work"):
    return [line["what"] for line in queue_log(client, name)]


def test_a_restart_is_counted_and_told_to_those_who_wait(server):
    client, admin = server.tcp(), server.unix()
    number = definitions(client)
    assert client.ok("GET", "/v1/queues/work")["restarts"] == 0
    call = waiting_claim(server, definitions=number)
    reply = admin.ok("POST", "/v1/queues/work/restart", status=200)
    assert reply == {"name": "work", "restarts": 1}
    assert call.result()["definitions"] == definitions(client) > number
    admin.ok("POST", "/v1/queues/work/restart")
    server.restart()
    client = server.tcp()
    assert client.ok("GET", "/v1/queues/work")["restarts"] == 2
    assert {q["name"]: q["restarts"] for q in client.ok("GET", "/v1/queues")["queues"]} == {
        name: 2 if name == "work" else 0
        for name in ("default", "work", "other", "again", "rules", "own", "two words")}
    assert happened(client)[:2] == ["restart", "restart"]


def test_a_restart_leaves_state_definition_and_jobs_alone(client, admin):
    client.submit()
    job = client.take()
    admin.ok("POST", "/v1/queues/work/pause")
    before = client.ok("GET", "/v1/queues/work")
    admin.ok("POST", "/v1/queues/work/restart")
    after = client.ok("GET", "/v1/queues/work")
    assert after == {**before, "restarts": 1}
    client.end(job, "returned")
    assert client.show(job["id"])["attempt"] == 0


def test_only_those_who_may_restart_queues(server, client):
    client.refused(403, "forbidden", "POST", "/v1/queues/work/restart")
    server.unix().refused(404, "not_found", "POST", "/v1/queues/wrok/restart")
    client.refused(404, "not_found", "GET", "/v1/queues/wrok/log")
    for limit in ("0", "1001", "x"):
        client.refused(422, "invalid", "GET", f"/v1/queues/work/log?limit={limit}")


def test_a_queue_keeps_a_log_of_what_happened_to_it(client, admin):
    admin.ok("PUT", "/v1/queues/fresh", {"slots": 1, "timeout": "5s"})
    admin.ok("PUT", "/v1/queues/fresh", {"slots": 2, "description": "x"})
    admin.ok("PUT", "/v1/queues/fresh", {"slots": 2, "description": "x"})
    for verb in ("pause", "pause", "up", "drain", "down"):
        admin.ok("POST", f"/v1/queues/fresh/{verb}")
    lines = queue_log(client, "fresh")
    assert [line["what"] for line in lines] == ["down", "drain", "up", "pause", "changed", "made"]
    assert {word.strip() for word in lines[4]["text"].split(",")} == {
        "slots", "timeout", "description"}
    assert lines[0]["text"] == "by request"
    assert [line["what"] for line in queue_log(client, "fresh", limit=2)] == ["down", "drain"]
    admin.ok("DELETE", "/v1/queues/fresh")
    admin.ok("PUT", "/v1/queues/fresh", {})
    assert happened(client, "fresh") == ["made"]


def test_failures_are_in_the_log_of_their_queue_at_most_one_a_second(client):
    client.submit_many([{"queue": "work"}] * 50)
    jobs = client.claim(max=50)["jobs"]
    client.end(jobs[0], "failed", exit=3, cause="exit", text="no route")
    for job in jobs[1:]:
        client.end(job, "failed", text="again")
    lines = queue_log(client)
    failed = [line for line in lines if line["what"] == "failed"]
    assert 1 <= len(failed) < 25
    first = failed[-1]["text"]
    assert jobs[0]["id"] in first and "exit 3" in first and first.endswith(": no route")


def test_how_many_failures_were_passed_over_is_told_with_the_next(client):
    client.submit_many([{"queue": "work"}] * 4)
    jobs = client.claim(max=4)["jobs"]
    for job in jobs[:3]:
        client.end(job, "failed", text="early")
    said = sum(line["what"] == "failed" for line in queue_log(client))
    client.submit("other", delay="1.2s")
    client.take("other", wait="10s")
    client.end(jobs[3], "failed", text="late")
    last = queue_log(client)[0]
    assert last["what"] == "failed" and jobs[3]["id"] in last["text"]
    assert (f"and {3 - said} more" in last["text"]) == (said < 3)


def test_a_queue_that_stops_by_itself_says_why(client, admin):
    admin.ok("PUT", "/v1/queues/frail", {"stop_after": 2})
    client.submit_many([{"queue": "frail"}] * 3)
    jobs = client.claim("frail", max=2)["jobs"]
    for job in jobs:
        client.end(job, "failed")
    assert client.ok("GET", "/v1/queues/frail")["state"] == "pause"
    stopped = next(line for line in queue_log(client, "frail") if line["what"] == "pause")
    assert stopped["text"] == f"stop_after: 2 jobs failed in a row, the last was {jobs[1]['id']}"
    assert client.ok("GET", "/v1/queues/frail")["why"] == {
        "text": stopped["text"], "at": stopped["at"]}


def test_a_broken_program_is_in_the_log_when_it_appears_changes_and_is_mended(client):
    for broken in ({"work": "no such file"}, {"work": "no such file"}, {"work": "not allowed"},
                   {}, {"nowhere": "x", "other": "gone"}):
        client.claim({}, worker=described(broken=broken))
    lines = [line for line in queue_log(client) if line["what"] in ("broken", "mended")]
    assert [(line["what"], line["text"]) for line in reversed(lines)] == [
        ("broken", "on box, worker w1: no such file"),
        ("broken", "on box, worker w1: not allowed"), ("mended", "on box, worker w1")]
    assert queue_log(client, "other")[0]["text"] == "on box, worker w1: gone"


def test_an_emptied_queue_says_so(client, admin):
    client.submit_many([{"queue": "work"}] * 3)
    running = client.take()
    work = admin.ok("POST", "/v1/bulk", {"action": "delete", "filter": {
        "queue": "work", "state": ["held", "scheduled", "ready"]}}, 202)
    done = admin.ok("GET", f"/v1/bulk/{work['id']}?wait=10s")
    assert done["state"] == "done" and done["changed"] == 2
    assert queue_log(client)[0] == {**queue_log(client)[0], "what": "emptied",
                                    "text": "2 jobs removed, by request"}
    client.end(running)


def test_a_lost_job_is_in_the_log_of_its_queue(client):
    job_id = client.submit()
    client.take(lease="1s")
    client.end(client.take())
    lost = next(line for line in queue_log(client) if line["what"] == "lost")
    assert job_id in lost["text"]


def test_a_worker_that_finds_what_another_left_says_that_it_is_lost(client):
    client.submit("again")
    job = client.take("again", lease="60s")
    for again in (False, True):
        result = client.finish(job, "lost")
        assert result["ok"] is True and result.get("again", False) is again, result
    shown = client.show(job["id"])
    assert shown["state"] == "ready" and shown["lost"] == 1
    assert client.take("again")["lost"] == 1
