# SPDX-License-Identifier: MIT
"""Bad input: each kind has its status, code and a message that helps; nothing is half done."""
import json

import pytest

DEEP = '{"queue":"work","params":' + '{"a":' * 100 + "1" + "}" * 100 + "}"
DEEP_ARRAY = '{"queue":"work","params":{"a":' + "[" * 100 + "]" * 100 + "}}"


def depth(levels):
    """A job whose JSON is so many levels deep in all."""
    return '{"queue":"work","params":' + '{"a":' * (levels - 2) + "{}" + "}" * (levels - 2) + "}"


SUBMITS = [
    # name, body, status, code, words that the message must have
    ("nothing", b"", 400, "bad_request", []),
    ("half an object", '{"queue":"work"', 400, "bad_request", ["line 1"]),
    ("garbage", "hello", 400, "bad_request", ["line 1"]),
    ("two documents", '{"queue":"work"} {"queue":"work"}', 400, "bad_request", ["column"]),
    ("a trailing comma", '{"queue":"work",}', 400, "bad_request", []),
    ("single quotes", "{'queue':'work'}", 400, "bad_request", []),
    ("a comment", '{"queue":"work" /* x */}', 400, "bad_request", []),
    ("a control character", '{"queue":"work","params":{"a":"\x01"}}', 400, "bad_request", []),
    ("a raw newline in a string", '{"queue":"work","params":{"a":"\n"}}', 400, "bad_request",
     ["line 1"]),
    ("bad UTF-8", b'{"queue":"work","params":{"a":"\xff\xfe"}}', 400, "bad_request", ["UTF-8"]),
    ("overlong UTF-8", b'{"queue":"work","params":{"a":"\xc0\xaf"}}', 400, "bad_request",
     ["UTF-8"]),
    ("half a UTF-8 character", b'{"queue":"work","params":{"a":"\xe2\x82"}}', 400, "bad_request",
     ["UTF-8"]),
    ("a UTF-8 surrogate", b'{"queue":"work","params":{"a":"\xed\xa0\x80"}}', 400, "bad_request",
     ["UTF-8"]),
    ("a lone surrogate escape", '{"queue":"work","params":{"a":"\\ud800"}}', 400, "bad_request",
     []),
    ("2^64", '{"queue":"work","params":{"a":18446744073709551616}}', 400, "bad_request",
     ["64 bit"]),
    ("2^63", '{"queue":"work","params":{"a":9223372036854775808}}', 400, "bad_request", []),
    ("1e400", '{"queue":"work","params":{"a":1e400}}', 400, "bad_request", []),
    ("NaN", '{"queue":"work","params":{"a":NaN}}', 400, "bad_request", []),
    ("a leading zero", '{"queue":"work","priority":01}', 400, "bad_request", []),
    ("\\u0000", '{"queue":"work","params":{"a":"\\u0000"}}', 400, "bad_request", ["u0000"]),
    ("\\u0000 in a name", '{"queue":"work","params":{"\\u0000":1}}', 400, "bad_request", ["u0000"]),
    ("a NUL byte", b'{"queue":"work"\x00}', 400, "bad_request", []),
    ("100 objects deep", DEEP, 400, "bad_request", ["64"]),
    ("100 arrays deep", DEEP_ARRAY, 400, "bad_request", ["64"]),
    ("65 levels", depth(65), 400, "bad_request", ["64"]),
    ("a member twice", '{"queue":"work","queue":"other"}', 400, "bad_request", ["queue"]),
    ("a member twice below", '{"queue":"work","params":{"a":1,"\\u0061":2}}', 400, "bad_request",
     ["twice"]),
    ("a number", "5", 422, "invalid", ["object"]),
    ("a string", '"x"', 422, "invalid", ["object"]),
    ("null", "null", 422, "invalid", ["object"]),
    ("no queue", "{}", 422, "invalid", ["queue"]),
    ("a queue that is a number", '{"queue":5}', 422, "invalid", ["queue", "text"]),
    ("an empty queue name", '{"queue":""}', 422, "invalid", ["queue"]),
    ("an unknown queue", '{"queue":"wrok"}', 422, "invalid", ["wrok", "work"]),
    ("an unknown queue far from all", '{"queue":"zzzzzzzz"}', 422, "invalid", ["zzzzzzzz"]),
    ("an unknown field", '{"queue":"work","prioritty":1}', 422, "invalid",
     ["prioritty", "priority"]),
    ("an unknown field far from all", '{"queue":"work","xyzzy":1}', 422, "invalid", ["xyzzy"]),
    ("params that are an array", '{"queue":"work","params":[1]}', 422, "invalid",
     ["params", "object"]),
    ("params that are a string", '{"queue":"work","params":"x"}', 422, "invalid",
     ["params", "object"]),
    ("labels that are no object", '{"queue":"work","labels":["x"]}', 422, "invalid", ["labels"]),
    ("a label that is no string", '{"queue":"work","labels":{"a":1}}', 422, "invalid",
     ["labels", "a"]),
    ("too many labels", json.dumps({"queue": "work", "labels": {f"l{n}": "x" for n in range(65)}}),
     422, "invalid",
     ["labels", "64"]),
    ("a label too long", json.dumps({"queue": "work", "labels": {"a": "x" * 1025}}), 422, "invalid",
     ["labels"]),
    ("an empty key", '{"queue":"work","key":""}', 422, "invalid", ["key"]),
    ("a key too long", json.dumps({"queue": "work", "key": "x" * 513}), 422, "invalid",
     ["key", "512"]),
    ("a key that is a number", '{"queue":"work","key":7}', 422, "invalid", ["key"]),
    ("a priority too high", '{"queue":"work","priority":1001}', 422, "invalid",
     ["priority", "1000"]),
    ("a priority too low", '{"queue":"work","priority":-1001}', 422, "invalid",
     ["priority", "1000"]),
    ("a priority with a fraction", '{"queue":"work","priority":1.5}', 422, "invalid", ["priority"]),
    ("a priority in words", '{"queue":"work","priority":"high"}', 422, "invalid", ["priority"]),
    ("a negative delay", '{"queue":"work","delay":-1}', 422, "invalid", ["delay"]),
    ("a negative delay in words", '{"queue":"work","delay":"-5s"}', 422, "invalid", ["delay"]),
    ("a delay for ever", '{"queue":"work","delay":1e30}', 422, "invalid", ["delay"]),
    ("a delay in no unit", '{"queue":"work","delay":"5 parsecs"}', 422, "invalid", ["delay"]),
    ("a delay that is an object", '{"queue":"work","delay":{}}', 422, "invalid", ["delay"]),
    ("a time that is none", '{"queue":"work","due_at":"tomorrow"}', 422, "invalid", ["due_at"]),
    ("a time without a zone", '{"queue":"work","due_at":"2030-01-01T00:00:00"}', 422, "invalid",
     ["due_at"]),
    ("the 30th of February", '{"queue":"work","due_at":"2030-02-30T00:00:00Z"}', 422, "invalid",
     ["due_at"]),
    ("a time that is a number", '{"queue":"work","due_at":5}', 422, "invalid", ["due_at"]),
    ("delay and due_at", '{"queue":"work","delay":1,"due_at":"2030-01-01T00:00:00Z"}', 422,
     "invalid",
     ["delay", "due_at"]),
    ("body and body_base64", '{"queue":"work","body":"a","body_base64":"YQ=="}', 422, "invalid",
     ["body"]),
    ("bad base64", '{"queue":"work","body_base64":"YQ="}', 422, "invalid", ["body_base64"]),
    ("base64 with other characters", '{"queue":"work","body_base64":"Y!=="}', 422, "invalid",
     ["body_base64"]),
    ("a body that is a number", '{"queue":"work","body":5}', 422, "invalid", ["body"]),
    ("a timeout that is none", '{"queue":"work","timeout":"soon"}', 422, "invalid", ["timeout"]),
    ("a negative timeout", '{"queue":"work","timeout":-1}', 422, "invalid", ["timeout"]),
    ("a retry that is no object", '{"queue":"work","retry":3}', 422, "invalid", ["retry"]),
    ("a retry with an unknown word", '{"queue":"work","retry":{"maxx":3}}', 422, "invalid",
     ["maxx", "max"]),
    ("steps", '{"steps":[]}', 422, "invalid", ["steps", "empty"]),
    ("after", '{"queue":"work","after":[7]}', 422, "invalid", ["after[0]"]),
    ("group", '{"queue":"work","group":"x"}', 422, "invalid", ["group", "id of a group"]),
    ("parent", '{"queue":"work","parent":"x"}', 422, "invalid", ["parent", "id"]),
    ("progress", '{"queue":"work","progress":[]}', 422, "invalid", ["progress", "steps"]),
]


@pytest.fixture(scope="module")
def client(shared_server):
    return shared_server.tcp()


@pytest.fixture(autouse=True)
def nothing_is_left(request):
    """What was refused has left no trace."""
    yield
    if "shared_server" in request.fixturenames:
        client = request.getfixturevalue("shared_server").tcp()
        assert client.counts() == {} and client.list() == []


@pytest.mark.parametrize("body, status, code, words", [case[1:] for case in SUBMITS],
                         ids=[case[0] for case in SUBMITS])
def test_a_bad_job_is_refused(client, body, status, code, words):
    error = client.refused(status, code, "POST", "/v1/jobs", body)
    for word in words:
        assert word in error["message"], error


@pytest.mark.parametrize("body, status, code, words",
                         [case[1:] for case in SUBMITS if case[2] == 422 and
                          case[0] not in ("a number", "a string", "null")],
                         ids=[case[0] for case in SUBMITS if case[2] == 422 and
                              case[0] not in ("a number", "a string", "null")])
def test_a_bad_job_in_an_array_is_refused_with_its_index(client, body, status, code, words):
    error = client.refused(status, code, "POST", "/v1/jobs", f'[{{"queue":"work"}},{body}]')
    assert error["detail"]["index"] == 1
    for word in words:
        assert word in error["message"], error


def test_sixty_four_levels_are_taken(servers):
    client = servers().start().tcp()
    reply = client.post("/v1/jobs", depth(64))
    assert reply.status == 201, reply.body


@pytest.mark.parametrize("content_type",
                         ["text/plain", "application/xml", "multipart/form-data; boundary=x",
                                          "application/octet-stream", "image/png"])
def test_another_type_is_unsupported(client, content_type):
    error = client.refused(415, "unsupported", "POST", "/v1/jobs", '{"queue":"work"}',
                           {"Content-Type": content_type})
    assert "json" in error["message"]


def test_a_body_that_is_too_large_is_refused(client):
    error = client.refused(413, "too_large", "POST", "/v1/jobs",
                           b'{"queue":"work","params":{"a":"' + b"x" * (17 << 20) + b'"}}')
    assert "16" in error["message"]


def test_a_body_that_says_it_is_too_large_is_refused(shared_server):
    with shared_server.wire() as wire:
        wire.send(b"POST /v1/touch HTTP/1.1\r\nHost: localhost\r\n"
                  b"Content-Length: 99999999999\r\n\r\n{")
        reply = wire.reply()
        assert reply is None or reply.error(413, "too_large")


def test_too_many_jobs_in_one_array_are_refused(client):
    body = "[" + ",".join(['{"queue":"work"}'] * 10001) + "]"
    error = client.refused(413, "too_large", "POST", "/v1/jobs", body)
    assert "10000" in error["message"] or "10,000" in error["message"]


def test_bad_idempotency_keys_are_refused(client):
    error = client.refused(422, "invalid", "POST", "/v1/jobs", {"queue": "work"},
                           {"Idempotency-Key": "x" * 600})
    assert "ey" in error["message"]


def test_an_empty_line_or_a_line_of_garbage_harms_no_other(servers):
    client = servers().start().tcp()
    body = b'{"queue":"work"}\n\xff\xfe\n{"queue":"work","params":{"a":1e999}}\n[1]\n' + \
        DEEP.encode() + b'\n{"queue":"work","x":1}\n{"queue":"work"}\n'
    reply = client.post("/v1/jobs", body, headers={"Content-Type": "application/x-ndjson"})
    lines = reply.lines
    assert [line.get("line") for line in lines] == [None, 2, 3, 4, 5, 6, None]
    assert [line["error"]["code"] for line in lines if "error" in line] == \
        ["bad_request", "bad_request", "invalid", "bad_request", "invalid"]
    assert client.counts() == {"work": {"ready": 2}}


REQUESTS = [
    # path, body, status, code, words
    ("/v1/claim", "{", 400, "bad_request", []),
    ("/v1/claim", [], 422, "invalid", ["object"]),
    ("/v1/claim", {}, 422, "invalid", ["queues"]),
    ("/v1/claim", {"worker": "w", "queues": []}, 422, "invalid", ["queues"]),
    ("/v1/claim", {"worker": "w", "queues": {"wrok": 1}}, 422, "invalid", ["wrok", "work"]),
    ("/v1/claim", {"worker": "w", "queues": {"work": -1}}, 422, "invalid", ["queues"]),
    ("/v1/claim", {"worker": "w", "queues": {"work": "1"}}, 422, "invalid", ["queues"]),
    ("/v1/claim", {"worker": "w", "queues": {"work": 1}, "max": -1}, 422, "invalid", ["max"]),
    ("/v1/claim", {"worker": "w", "queues": {"work": 1}, "max": 1001}, 422, "invalid",
     ["max", "1000"]),
    ("/v1/claim", {"worker": "w", "queues": {"work": 1}, "wait": "61s"}, 422, "invalid",
     ["wait", "1m"]),
    ("/v1/claim", {"worker": "w", "queues": {"work": 1}, "wait": -1}, 422, "invalid", ["wait"]),
    ("/v1/claim", {"worker": "w", "queues": {"work": 1}, "all": "yes"}, 422, "invalid", ["all"]),
    ("/v1/claim", {"worker": 5, "queues": {"work": 1}}, 422, "invalid", ["worker"]),
    ("/v1/claim", {"worker": {"nam": "w"}, "queues": {"work": 1}}, 422, "invalid", ["nam", "name"]),
    ("/v1/claim", {"worker": "w" * 201, "queues": {"work": 1}}, 422, "invalid", ["worker"]),
    ("/v1/claim", {"worker": "w", "queues": {"work": 1}, "waitt": 1}, 422, "invalid",
     ["waitt", "wait"]),
    ("/v1/claim", {"worker": "w", "queues": {"work": 1}, "finish": {}}, 422, "invalid", ["finish"]),
    ("/v1/claim", {"worker": "w", "queues": {"work": 1}, "touch": 1}, 422, "invalid", ["touch"]),
    ("/v1/finish", {}, 422, "invalid", ["finish"]),
    ("/v1/finish", {"finish": 1}, 422, "invalid", ["finish"]),
    ("/v1/finish", {"finish": [1]}, 422, "invalid", ["object"]),
    ("/v1/finish", {"finish": [{"lease": "0000000000001", "state": "done"}]}, 422, "invalid",
     ["id"]),
    ("/v1/finish", {"finish": [{"id": "0000000000001", "state": "done"}]}, 422, "invalid",
     ["lease"]),
    ("/v1/finish", {"finish": [{"id": "0000000000001", "lease": "0000000000001"}]}, 422, "invalid",
     ["state"]),
    ("/v1/finish", {"finish": [{"id": "0000000000001", "lease": 5, "state": "done"}]},
     422, "invalid", ["lease"]),
    ("/v1/finish", {"finish": [{"id": "0000000000001", "lease": "0000000000001", "state": "dnoe"}]},
     422, "invalid", ["done"]),
    ("/v1/finish", {"finish": [{"id": "0000000000001", "lease": "0000000000001", "state": "none"}]},
     422, "invalid", ["state"]),
    ("/v1/finish",
     {"finish": [{"id": "0000000000001", "lease": "0000000000001", "state": "done", "exit": "0"}]},
     422, "invalid",
     ["exit"]),
    ("/v1/finish",
     {"finish": [{"id": "0000000000001", "lease": "0000000000001", "state": "failed",
                  "cause": "bad"}]}, 422,
     "invalid", ["cause"]),
    ("/v1/finish",
     {"finish": [{"id": "0000000000001", "lease": "0000000000001", "state": "done", "set": []}]},
     422, "invalid",
     ["set"]),
    ("/v1/finish",
     {"finish": [{"id": "0000000000001", "lease": "0000000000001", "state": "done", "emit": {}}]},
     422, "invalid",
     ["emit"]),
    ("/v1/finish",
     {"finish": [{"id": "0000000000001", "lease": "0000000000001", "state": "done", "txet": "a"}]},
     422, "invalid",
     ["txet", "text"]),
    ("/v1/finish",
     {"finish": [{"id": "0000000000001", "lease": "0000000000001", "state": "later", "delay": -1}]},
     422, "invalid",
     ["delay"]),
    ("/v1/touch", {"touch": [{"id": "0000000000001"}]}, 422, "invalid", ["lease"]),
    ("/v1/touch", {"touch": [{"id": "0000000000001", "lease": "0000000000001", "done": "x"}]}, 422,
     "invalid", ["done"]),
    ("/v1/touch", {"touch": [{"id": "0000000000001", "lease": "0000000000001", "done": -1}]}, 422,
     "invalid", ["done"]),
    ("/v1/touch", {}, 422, "invalid", ["touch"]),
]


@pytest.mark.parametrize("path, body, status, code, words", REQUESTS)
def test_a_bad_request_of_a_worker_is_refused(client, path, body, status, code, words):
    error = client.refused(status, code, "POST", path, body)
    for word in words:
        assert word in error["message"], error


@pytest.mark.parametrize("job_id",
                         ["x", "0000000000000", "00000000000000", "ZZZZZZZZZZZZZ", "000000000000U",
                          "%00",
                                    "%ff", "1", "-1", "0000000000001%20"])
def test_an_id_that_is_none_is_not_found(client, job_id):
    for method, path in (("GET", ""), ("POST", "/cancel"), ("GET", "/log")):
        reply = client.request(method, f"/v1/jobs/{job_id}{path}")
        assert reply.status in (400, 404), (reply.status, reply.body)
        assert reply.json["error"]["code"] in ("bad_request", "not_found")


@pytest.mark.parametrize("bad", ["", "x", 5, None, "ZZZZZZZZZZZZZ"])
def test_a_finish_with_an_id_that_is_none_is_refused(client, bad):
    reply = client.post("/v1/finish",
                        {"finish": [{"id": bad, "lease": "0000000000001", "state": "done"}]})
    if reply.status == 200:
        assert reply.json["results"][0]["error"]["code"] in ("not_found", "invalid")
    else:
        reply.error(422, "invalid")


@pytest.mark.parametrize("body, word", [
    ({"state": "done"}, "state"), ({"due_at": "x"}, "due_at"), ({"priority": 1001}, "priority"),
    ({"params": []}, "params"), ({"labels": {"a": 1}}, "labels"), ({"priorty": 1}, "priority"),
    ([], "object"), ({"queue": "other"}, "queue"),
])
def test_a_bad_patch_is_refused_and_changes_nothing(servers, body, word):
    client = servers().start().tcp()
    job_id = client.submit(params={"a": 1})
    before = client.show(job_id)
    error = client.refused(422, "invalid", "PATCH", f"/v1/jobs/{job_id}", body)
    assert word in error["message"], error
    assert client.show(job_id) == before


@pytest.mark.parametrize("verb, body", [
    ("retry", {"set": []}), ("retry", {"sett": {}}), ("clone", {"params": 1}), ("clone", []),
    ("cancel", {"x": 1}),
    ("move", {"queue": 1}), ("hold", "{"),
])
def test_a_bad_act_is_refused(servers, verb, body):
    client = servers().start().tcp()
    job_id = client.submit()
    if verb == "retry":
        client.end(client.take())
    before = client.show(job_id)
    reply = client.post(f"/v1/jobs/{job_id}/{verb}", body)
    assert reply.status in (400, 422), (reply.status, reply.body)
    assert client.show(job_id) == before and len(client.list()) == 1
