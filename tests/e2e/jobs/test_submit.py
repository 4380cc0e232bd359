# SPDX-License-Identifier: MIT
"""Submitting: one job, an array, a stream of lines; keys, delays, priorities, bodies."""
import base64
import json
import re
from datetime import timedelta, timezone

import pytest

from client import body_of
from waiting import Background, now, parse_time, time_text

NDJSON = {"Content-Type": "application/x-ndjson"}


def post_lines(client, lines, content_type="application/x-ndjson"):
    reply = client.post("/v1/jobs", "\n".join(lines) + "\n", headers={"Content-Type": content_type})
    assert reply.headers["Content-Type"].startswith("application/x-ndjson"), reply.headers
    return reply


def test_a_job_is_submitted_and_shown(client):
    before = now()
    reply = client.post("/v1/jobs", {"queue": "work", "params": {"a": 1, "b": [True, None, "ä"]}})
    assert reply.status == 201
    assert set(reply.json) == {"id"}
    job_id = reply.json["id"]
    assert re.fullmatch(r"[0-9A-HJKMNP-TV-Z]{13}", job_id)
    job = client.show(job_id)
    assert job["id"] == job_id
    assert (job["queue"], job["state"], job["attempt"], job["lost"], job["priority"]) == \
        ("work", "ready", 0, 0, 0)
    assert job["params"] == {"a": 1, "b": [True, None, "ä"]}
    assert timedelta(seconds=-1) < parse_time(job["created_at"]) - before < timedelta(seconds=5)


def test_an_id_is_read_in_either_case(client):
    job_id = client.submit()
    assert client.show(job_id.lower())["id"] == job_id


def test_a_job_without_params_has_empty_ones(client):
    assert client.show(client.submit())["params"] == {}


def test_params_come_back_as_they_were_sent(client):
    text = ('{"n":1.50,"big":9223372036854775807,"small":-9223372036854775808,'
            '"e":1e3,"u":"\\u00e4\\n"}')
    reply = client.post("/v1/jobs", f'{{"queue":"work","params":{text}}}')
    assert reply.status == 201
    claimed = client.post("/v1/claim", {"worker": "w", "queues": {"work": 1}})
    assert text.encode() in claimed.body


def test_curl_without_a_content_type_of_its_own_works(client):
    for content_type in ("application/x-www-form-urlencoded", "application/json; charset=utf-8",
                         "text/json", "application/vnd.waybill+json"):
        reply = client.post("/v1/jobs", '{"queue":"work"}', headers={"Content-Type": content_type})
        assert reply.status == 201, (content_type, reply.body)
    assert client.post("/v1/jobs", '{"queue":"work"}').status == 201


def test_an_array_is_submitted_in_its_order(client):
    ids = client.ok("POST", "/v1/jobs", [{"queue": "work", "params": {"n": n}} for n in range(300)],
                    201)["ids"]
    assert len(set(ids)) == 300 and ids == sorted(ids)
    assert [client.show(i)["params"]["n"] for i in (ids[0], ids[150], ids[299])] == [0, 150, 299]
    assert [job["params"]["n"] for job in client.claim(max=300)["jobs"]] == list(range(300))


@pytest.mark.parametrize("bad, status, code", [
    ({"queue": "nowhere"}, 422, "invalid"),
    ({"queue": "work", "params": 7}, 422, "invalid"),
    ({"queue": "work", "priority": "high"}, 422, "invalid"),
    ("not an object", 422, "invalid"),
    ({"params": {}}, 422, "invalid"),
])
@pytest.mark.parametrize("index", [0, 2, 4])
def test_an_array_with_one_bad_job_is_refused_whole(client, bad, status, code, index):
    jobs = [{"queue": "work"} for _ in range(5)]
    jobs[index] = bad
    error = client.refused(status, code, "POST", "/v1/jobs", jobs)
    assert error["detail"]["index"] == index
    assert client.list() == [] and client.counts() == {}


def test_an_array_whose_last_key_clashes_leaves_nothing(client):
    client.submit(key="k", params={"v": 1})
    jobs = [{"queue": "work"}, {"queue": "work", "key": "k", "params": {"v": 2}}]
    error = client.refused(409, "conflict", "POST", "/v1/jobs", jobs)
    assert error["detail"]["index"] == 1
    assert len(client.list()) == 1


def test_good_lines_stay_and_bad_lines_say_what_is_wrong(client):
    lines = [json.dumps({"queue": "work", "params": {"n": n}}) for n in range(1300)]
    lines[3] = '{"queue":"work",'
    lines[700] = '{"queue":"wrok"}'
    lines[1299] = '{"queue":"work","prioritty":3}'
    reply = post_lines(client, lines)
    assert reply.status in (200, 201)
    results = reply.lines
    assert len(results) == 1300
    bad = {i: r for i, r in enumerate(results) if "error" in r}
    assert sorted(bad) == [3, 700, 1299]
    assert [r["line"] for r in bad.values()] == [4, 701, 1300]
    assert [r["error"]["code"] for r in bad.values()] == ["bad_request", "invalid", "invalid"]
    assert "work" in bad[700]["error"]["message"] and "priority" in bad[1299]["error"]["message"]
    good = [r["id"] for r in results if "id" in r]
    assert good == sorted(set(good)) and len(good) == 1297
    shown = {job["id"]: job["params"]["n"] for job in client.list()}
    assert [shown[i] for i in good] == [n for n in range(1300) if n not in (3, 700, 1299)]


def test_many_megabytes_of_lines_are_spooled_and_leave_no_file(client, server):
    before = {path.name for path in server.data.iterdir()}
    lines = [json.dumps({"queue": "work", "params": {"n": n, "x": "y" * 3000}}) for n in
             range(1500)]
    results = post_lines(client, lines).lines
    assert len(results) == 1500 and all("id" in r for r in results)
    assert client.counts() == {"work": {"ready": 1500}}
    assert {path.name for path in server.data.iterdir()} == before


def test_lines_with_keys_can_be_sent_again(client):
    lines = [json.dumps({"queue": "work", "key": f"k{n}", "params": {"n": n}}) for n in range(600)]
    first = post_lines(client, lines, "application/jsonl").lines
    lines[5] = json.dumps({"queue": "work", "key": "k5", "params": {"n": "other"}})
    second = post_lines(client, lines).lines
    assert [r["id"] for i, r in enumerate(first) if i != 5] == [r["id"] for i,
                                                                r in enumerate(second) if i != 5]
    assert second[5]["line"] == 6 and second[5]["error"]["code"] == "conflict"
    assert client.counts() == {"work": {"ready": 600}}


def test_the_last_line_needs_no_newline(client):
    reply = client.post("/v1/jobs", '{"queue":"work"}\n{"queue":"work"}', headers=NDJSON)
    assert [set(line) for line in reply.lines] == [{"id"}, {"id"}]


def test_a_known_key_answers_with_the_job_that_has_it(client, server):
    fields = {"queue": "work", "key": "order 7/ä", "params": {"v": 1}}
    first = client.ok("POST", "/v1/jobs", fields, 201)
    assert client.ok("POST", "/v1/jobs", fields, 200) == first
    error = client.refused(409, "conflict", "POST", "/v1/jobs", {**fields, "params": {"v": 2}})
    assert first["id"] in error["message"] or "key" in error["message"]
    client.end(client.take())
    assert client.ok("POST", "/v1/jobs", fields, 200) == first
    assert client.show(first["id"])["key"] == "order 7/ä"
    server.restart()
    client = server.tcp()
    assert client.ok("POST", "/v1/jobs", fields, 200) == first
    assert client.counts() == {"work": {"done": 1}}


def test_a_key_twice_in_one_array_is_one_job(client):
    same = {"queue": "work", "key": "k", "params": {"v": 1}}
    ids = client.ok("POST", "/v1/jobs", [same, same])["ids"]
    assert ids[0] == ids[1]
    other = {"queue": "work", "key": "j", "params": {"v": 2}}
    error = client.refused(409, "conflict", "POST", "/v1/jobs", [other, {**other, "params": {}}])
    assert error["detail"]["index"] == 1
    assert client.counts() == {"work": {"ready": 1}}


def test_a_key_is_free_again_when_its_job_is_deleted(client, admin):
    first = client.submit(key="k", params={"v": 1})
    assert admin.ok("DELETE", f"/v1/jobs/{first}", status=200) == {"id": first, "deleted": True}
    assert client.submit(key="k", params={"v": 2}) != first


def test_the_idempotency_key_header_is_the_key(client):
    headers = {"Idempotency-Key": "abc"}
    first = client.ok("POST", "/v1/jobs", {"queue": "work"}, 201, headers)
    assert client.ok("POST", "/v1/jobs", {"queue": "work"}, 200, headers) == first
    assert client.show(first["id"])["key"] == "abc"
    client.refused(409, "conflict", "POST", "/v1/jobs", {"queue": "other"}, headers)


def test_the_idempotency_key_of_an_array_counts_its_jobs(client):
    jobs = [{"queue": "work", "params": {"n": n}} for n in range(3)]
    headers = {"Idempotency-Key": "batch"}
    first = client.ok("POST", "/v1/jobs", jobs, 201, headers)
    assert client.ok("POST", "/v1/jobs", jobs, headers=headers) == first
    assert [client.show(i)["key"] for i in first["ids"]] == ["batch/0", "batch/1", "batch/2"]
    assert client.counts() == {"work": {"ready": 3}}


@pytest.mark.parametrize("delay", ["1h", 3600, 3600.5, "3600000ms"])
def test_a_delayed_job_is_scheduled(client, delay):
    before = now()
    job = client.show(client.submit(delay=delay))
    assert job["state"] == "scheduled"
    due = parse_time(job["due_at"])
    assert timedelta(seconds=3595) < due - before < timedelta(seconds=3610)
    assert job["reason"]["until"] == job["due_at"]
    assert client.claim()["jobs"] == []


def test_a_job_with_no_delay_is_ready(client):
    assert client.state(client.submit(delay=0)) == "ready"
    assert client.state(client.submit(due_at="2001-01-01T00:00:00Z")) == "ready"


def test_due_at_takes_any_offset(client):
    moment = (now() + timedelta(hours=5)).replace(microsecond=123000)
    job = client.show(client.submit(due_at=time_text(moment)))
    assert job["state"] == "scheduled" and parse_time(job["due_at"]) == moment
    east = moment.astimezone(timezone(timedelta(hours=2)))
    job = client.show(client.submit(due_at=east.isoformat()))
    assert parse_time(job["due_at"]) == moment


def test_a_job_becomes_ready_at_its_time(client):
    before = now()
    job_id = client.submit(delay="300ms")
    job = client.take()
    assert job["id"] == job_id
    assert now() - before >= timedelta(seconds=0.3)


def test_higher_priority_first_then_first_come_first_served(client):
    priorities = [0, 5, -1000, 5, 1000, 0, -1]
    ids = [client.submit(priority=p) for p in priorities]
    got = [job["id"] for job in client.claim(max=10)["jobs"]]
    assert got == [ids[i] for i in (4, 1, 3, 0, 5, 6, 2)]


def test_labels_are_kept_and_shown(client):
    labels = {"site": "x.org", "größe": "ä\n\"", "empty": ""}
    job_id = client.submit(labels=labels)
    assert client.show(job_id)["labels"] == labels
    assert client.take()["labels"] == labels


def test_every_byte_of_a_body_comes_back(client):
    bodies = [bytes([b]) * 2 for b in range(256)] + [bytes(range(256)) * 40, "ä€😀".encode(), b""]
    lines = [json.dumps({"queue": "work", "body_base64": base64.b64encode(body).decode()}) for
             body in bodies]
    assert all("id" in r for r in post_lines(client, lines).lines)
    jobs = client.claim(max=1000)["jobs"]
    assert [body_of(job) for job in jobs] == bodies
    assert [body_of(client.show(job["id"])) for job in jobs[-3:]] == bodies[-3:]


def test_a_text_body_comes_back_as_text(client):
    text = "line\n\ttab \"quoted\" \u2028 ä 😀 \x7f"
    client.submit(body=text)
    assert client.take()["body"] == text


def test_a_submit_can_wait_for_the_end(server):
    waiter = Background(server.tcp().ok, "POST", "/v1/jobs?wait=30s",
                        {"queue": "work", "params": {"n": 1}}, 200)
    client = server.tcp()
    job = client.take()
    client.end(job, result={"answer": 42})
    shown = waiter.result()
    assert (shown["id"], shown["state"], shown["result"]) == (job["id"], "done", {"answer": 42})


def test_a_submit_that_waits_in_vain_shows_the_job_as_it_is(client):
    job = client.ok("POST", "/v1/jobs?wait=100ms", {"queue": "work"}, 200)
    assert job["state"] == "ready" and client.state(job["id"]) == "ready"


def test_a_large_job_is_taken_and_a_larger_one_is_not(client):
    text = "x" * (15 << 20)
    job_id = client.submit(params={"text": text})
    assert client.show(job_id)["params"]["text"] == text
    client.refused(413, "too_large", "POST", "/v1/jobs",
                   {"queue": "work", "params": {"text": text + "y" * (2 << 20)}})
    assert client.counts() == {"work": {"ready": 1}}


def test_own_timeout_and_retry_are_the_jobs(client):
    job_id = client.submit(timeout="5m", retry={"max": 1, "first": "20ms", "jitter": 0})
    job = client.take()
    assert job["timeout"] in ("5m", 300, "300s")
    client.end(job, "failed", exit=1)
    assert client.state(job_id) in ("scheduled", "ready")
    client.end(client.take(), "failed", exit=1)
    assert client.state(job_id) == "failed"


def test_a_queue_whose_name_has_a_space(client):
    job_id = client.submit("two words")
    assert client.take("two words")["id"] == job_id
    assert client.list("queue=two%20words")[0]["id"] == job_id
