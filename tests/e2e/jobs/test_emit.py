# SPDX-License-Identifier: MIT
"""Emits: jobs that a running job makes, who sees them when, and cursors."""
import pytest

from waiting import Background, eventually

DEFINITIONS = """
queues:
  source: {retry: {max: 5, first: 0s}}
  work: {}
  own: {own_command: true}
"""


@pytest.fixture
def server(servers):
    return servers(definitions=DEFINITIONS).start()


def emit(client, job, seq, jobs=None, **fields):
    """The ids of an emit that must be taken."""
    body = {"id": job["id"], "lease": job["lease"], "seq": seq, **fields}
    if jobs is not None:
        body["jobs"] = [{"queue": "work"}] * jobs if isinstance(jobs, int) else jobs
    return client.ok("POST", "/v1/emit", body, 200)["ids"]


def refused(client, job, status, code, **fields):
    body = {"id": job["id"], "lease": job["lease"], "seq": 1, "jobs": [{"queue": "work"}], **fields}
    return client.refused(status, code, "POST", "/v1/emit", body)


def begin(client, **fields):
    client.submit("source", **fields)
    return client.take("source")


def test_emits_become_visible_with_the_finish_that_is_done(client):
    job = begin(client)
    ids = emit(client, job, 1, [{"queue": "work", "params": {"n": n}} for n in range(3)])
    ids += emit(client, job, 2, 1)
    assert len(set(ids)) == 4
    assert client.claim("work")["jobs"] == []
    assert client.counts() == {"source": {"running": 1}, "work": {"staged": 4}}
    shown = client.show(ids[0])
    assert shown["state"] == "staged" and shown["params"] == {"n": 0}
    assert shown["reason"]["code"] == "staged" and job["id"] in shown["reason"]["text"]
    client.end(job)
    assert [granted["id"] for granted in client.claim("work")["jobs"]] == ids


@pytest.mark.parametrize("state, fields", [("failed", {}), ("later", {"delay": 0}),
                                           ("returned", {}), ("cancelled", {})])
def test_any_other_end_drops_them(client, state, fields):
    job = begin(client)
    ids = emit(client, job, 1, 3)
    assert client.finish(job, state, **fields)["ok"]
    for job_id in ids:
        client.refused(404, "not_found", "GET", f"/v1/jobs/{job_id}")
    assert "work" not in client.counts()


def test_a_lost_worker_drops_them(client):
    client.submit("source")
    job = client.take("source", lease="1s")
    emit(client, job, 1, 2)
    again = client.take("source", wait="20s", worker="another")
    assert again["id"] == job["id"]
    assert "work" not in client.counts()
    refused(client, job, 409, "stale_lease", seq=2)


def test_the_same_seq_again_is_the_same_answer(client, server):
    job = begin(client)
    first = emit(client, job, 1, 3)
    second = emit(client, job, 2, 2, visible=True)
    server.kill()
    server.start()
    client = server.tcp()
    assert emit(client, job, 1, 3) == first
    assert emit(client, job, 2, 7) == second
    error = refused(client, job, 422, "invalid", seq=4)
    assert "must be 3" in error["message"]
    client.end(job)
    assert client.counts()["work"] == {"ready": 5}


def test_a_bad_job_refuses_the_whole_request(client, server):
    job = begin(client)
    error = refused(client, job, 422, "invalid", jobs=[{"queue": "work"}, {"queue": "wrk"}])
    assert error["detail"]["index"] == 1 and "'work'" in error["message"]
    error = refused(client, job, 422, "invalid", jobs=[{"queue": "work"}, {"params": {}}])
    assert error["detail"]["index"] == 1 and "jobs[1]" in error["message"]
    error = refused(client, job, 403, "forbidden", jobs=[{"queue": "own", "command": "id"}])
    assert error["detail"]["index"] == 0
    refused(client, job, 413, "too_large", jobs=[{"queue": "work"}] * 1001)
    refused(client, job, 413, "too_large", cursor="x" * (64 << 10))
    refused(client, job, 422, "invalid", jobs=[])
    refused(client, job, 422, "invalid", jobs="work")
    refused(client, job, 422, "invalid", jbos=[])
    admin = server.unix()
    admin.ok("POST", "/v1/queues/work/drain")
    refused(client, job, 503, "queue_down")
    admin.ok("POST", "/v1/queues/work/up")
    assert "work" not in client.counts()
    emit(client, job, 1, 1000)
    client.end(job)
    eventually(lambda: client.counts()["work"] == {"ready": 1000})
    own = begin(admin)
    refused(admin, own, 403, "forbidden", jobs=[{"queue": "own", "command": ["id"]}])
    admin.ok("PUT", "/v1/queues/source", {"may_emit": {"command": True}})
    emit(admin, own, 1, [{"queue": "own", "command": ["id"]}])
    error = refused(admin, own, 422, "invalid", seq=2, jobs=[{"queue": "work", "command": "id"}])
    assert "own_command" in error["message"]


def test_only_who_holds_the_job_emits(client):
    job = begin(client)
    refused(client, {"id": job["id"], "lease": job["id"]}, 409, "stale_lease")
    refused(client, {"id": "0000000000001", "lease": job["lease"]}, 404, "not_found")
    client.end(job)
    refused(client, job, 409, "stale_lease")


def test_a_key_is_judged_when_the_job_is_released(client):
    job = begin(client)
    staged, = emit(client, job, 1, [{"queue": "work", "key": "k"}])
    submitted = client.submit("work", key="k")
    assert submitted != staged
    client.end(job)
    client.refused(404, "not_found", "GET", f"/v1/jobs/{staged}")
    assert client.counts()["work"] == {"ready": 1}
    other = begin(client)
    assert emit(client, other, 1, [{"queue": "work", "key": "k"}], visible=True) == [submitted]


def test_nobody_else_touches_a_staged_job(client, server):
    job = begin(client)
    staged, = emit(client, job, 1, 1)
    admin = server.unix()
    for verb in ("cancel", "retry", "hold", "release", "clone", "now"):
        error = admin.refused(409, "conflict", "POST", f"/v1/jobs/{staged}/{verb}")
        assert job["id"] in error["message"]
    admin.refused(409, "conflict", "DELETE", f"/v1/jobs/{staged}")
    admin.refused(409, "conflict", "PATCH", f"/v1/jobs/{staged}", {"priority": 1})
    assert [shown["id"] for shown in client.list("state=staged")] == [staged]
    client.end(job)
    assert client.state(staged) == "ready"


def test_visible_ones_are_there_at_once(client):
    job = begin(client)
    ids = emit(client, job, 1, 2, visible=True)
    assert [granted["id"] for granted in client.claim("work")["jobs"]] == ids
    client.finish(job, "failed")
    assert client.counts()["work"] == {"running": 2}


def test_a_cursor_resumes_exactly(client, server):
    """An enumeration that fails again and again makes each job once."""
    job_id = client.submit("source")
    attempts = 0
    while True:
        job = client.take("source")
        at = job.get("cursor", {"next": 0})["next"]
        attempts += 1
        assert client.show(job_id).get("cursor", {"next": 0}) == {"next": at}
        for seq, n in enumerate(range(at, 40, 5), 1):
            emit(client, job, 2 * seq - 1, [{"queue": "work", "params": {"n": k}}
                                            for k in range(n, n + 5)], visible=True)
            if seq == 3:
                break
            emit(client, job, 2 * seq, cursor={"next": n + 5})
        else:
            break
        if attempts == 2:
            server.kill()
            server.start()
            client = server.tcp()
        client.finish(job, "returned")
    client.end(job)
    assert attempts > 3
    numbers = [granted["params"]["n"] for granted in client.claim("work")["jobs"]]
    assert numbers == list(range(40))
    assert "cursor" not in client.show(job_id)


def test_a_retry_by_hand_keeps_the_cursor(client):
    job = begin(client)
    emit(client, job, 1, cursor=[1, {"deep": None}])
    client.finish(job, "failed", final=True)
    assert client.show(job["id"])["cursor"] == [1, {"deep": None}]
    client.act(job["id"], "retry")
    assert client.take("source")["cursor"] == [1, {"deep": None}]


def test_a_finish_can_emit(client):
    job = begin(client)
    result = client.finish(job, emit=[{"queue": "work"}, {"queue": "wrk"}])
    assert result["error"]["code"] == "invalid" and "emit[1]" in result["error"]["message"]
    client.finish(job, "failed", emit=[{"queue": "work"}])
    assert "work" not in client.counts()
    job = client.take("source")
    client.end(job, emit=[{"queue": "work", "params": {"n": n}} for n in range(3)])
    assert client.finish(job, emit=[{"queue": "work"}])["again"]
    assert [granted["params"]["n"] for granted in client.claim("work")["jobs"]] == [0, 1, 2]


def test_a_large_number_is_released_after_a_kill_too(client, server):
    job = begin(client)
    for seq in range(1, 9):
        emit(client, job, seq, 1000)
    client.end(job)
    server.kill()
    server.start()
    client = server.tcp()
    eventually(lambda: client.counts()["work"] == {"ready": 8000})


def test_a_waiting_claim_gets_what_is_released(client, server):
    job = begin(client)
    emit(client, job, 1, 1)
    waiting = Background(server.tcp().take, "work", wait="30s")
    eventually(lambda: client.waiting() == 1)
    client.end(job)
    assert waiting.result()["queue"] == "work"
