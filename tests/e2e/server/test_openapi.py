# SPDX-License-Identifier: MIT
"""The description of the interface, and the server held to it."""
import re

import pytest

pytestmark = pytest.mark.embedded("describes requests, whatever the store")

METHODS = {"get", "put", "post", "delete", "patch", "head", "options"}
CODES = {"bad_request", "unauthorized", "forbidden", "not_found", "method_not_allowed", "conflict",
         "stale_lease",
         "precondition", "too_large", "unsupported", "range_not_satisfiable", "invalid",
         "too_many", "internal",
         "unavailable",
         "queue_down", "too_slow", "full"}
# What the contract names; the document may not have less.
PROMISED = {
    ("post", "/v1/jobs"), ("get", "/v1/jobs"), ("get", "/v1/jobs/{id}"), ("patch", "/v1/jobs/{id}"),
    ("delete", "/v1/jobs/{id}"), ("get", "/v1/jobs/{id}/log"), ("post", "/v1/jobs/{id}/log"),
    ("post", "/v1/claim"), ("post", "/v1/finish"), ("post", "/v1/touch"), ("get", "/v1/queues"),
    ("get", "/v1/queues/{name}"), ("put", "/v1/queues/{name}"), ("delete", "/v1/queues/{name}"),
    ("post", "/v1/definitions"), ("post", "/v1/bulk"), ("get", "/v1/bulk"),
    ("get", "/v1/bulk/{id}"),
    ("get", "/v1/workers"), ("get", "/v1/counts"), ("get", "/v1/server"), ("get", "/v1/events"),
    ("get", "/metrics"), ("get", "/healthz"), ("get", "/readyz"), ("get", "/v1/openapi.json"),
    ("post", "/v1/backup"), ("post", "/v1/check"), ("get", "/job_start"),
    ("get", "/v1/topics"), ("get", "/v1/topics/{name}"), ("post", "/v1/topics/{name}"),
    ("post", "/v1/topics/{name}/subscribe"), ("get", "/v1/signals"),
    ("get", "/v1/signals/{name}"), ("post", "/v1/signals/{name}"),
    ("delete", "/v1/signals/{name}"), ("get", "/v1/joins"), ("get", "/v1/joins/{name}"),
    ("post", "/v1/joins/{name}"), ("delete", "/v1/joins/{name}"),
    ("get", "/v1/schedules"), ("get", "/v1/schedules/{name}"), ("put", "/v1/schedules/{name}"),
    ("delete", "/v1/schedules/{name}"), ("post", "/v1/schedules/{name}/run"),
    ("post", "/v1/schedules/{name}/pause"), ("post", "/v1/schedules/{name}/resume"),
}
ACTS = ["cancel", "retry", "hold", "release", "clone", "now", "move"]
STATES = ["pause", "resume", "drain", "down", "up"]


@pytest.fixture(scope="module")
def document(shared_server):
    reply = shared_server.tcp().get("/v1/openapi.json")
    assert reply.status == 200
    return reply.json


def operations(document):
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method in METHODS:
                yield method, path, operation


def fill_path(path, values):
    return re.sub(r"\{(\w+)\}", lambda match: values[match[1]], path)


def resolve(document, schema):
    while "$ref" in schema:
        target = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        schema = target
    return schema


def test_the_document_is_openapi_3(document):
    assert re.match(r"3\.\d+\.\d+", document["openapi"])
    assert document["info"]["title"] and document["info"]["version"]
    for method, path, operation in operations(document):
        assert operation["responses"], (method, path)
        assert operation.get("summary") or operation.get("description"), (method, path)
        named = {p["name"] for p in map(lambda p: resolve(document, p),
                                        operation.get("parameters", []) +
                                        document["paths"][path].get("parameters", [])) if p["in"] ==
                 "path"}
        assert named == set(re.findall(r"\{(\w+)\}", path)), (method, path)


def test_every_reference_leads_somewhere(document):
    def walk(node):
        if isinstance(node, dict):
            if "$ref" in node:
                resolve(document, node)
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)
    walk(document)


def test_all_that_was_promised_is_described(document):
    described = {(method, path) for method, path, _ in operations(document)}
    assert PROMISED <= described, PROMISED - described
    for act in ACTS:
        assert ("post", f"/v1/jobs/{{id}}/{act}") in described
    for state in STATES:
        assert ("post", f"/v1/queues/{{name}}/{state}") in described


def _call(client, method, path):
    if path == "/v1/events" or "follow" in path:
        return None
    body = None if method in ("get", "head", "delete") else {}
    return client.request(method.upper(), path, body)


def test_every_route_answers_as_described(shared_server, document):
    admin = shared_server.unix()
    job_id = admin.submit()
    admin.ok("POST", "/v1/definitions", {"joins": {"work": {"count": 9, "then": ["other"]}},
                                         "resources": {"work": {"slots": 1}},
                                         "schedules": {"work": {"every": "9h", "queue": "other"}}})
    values = {"id": job_id, "name": "work", "queue": "work"}
    group_id = admin.ok("POST", "/v1/groups", {"name": "x"}, 201)["id"]
    # Deletes last: the others need what they delete.
    ordered = sorted(operations(document), key=lambda o: (o[0] == "delete", o[1]))
    for method, path, operation in ordered:
        if path == "/v1/bulk/{id}":
            reply = _call(admin, method, fill_path(path, {"id": "0000000000001"}))
            assert reply.status == 404
            continue
        of_group = path.startswith("/v1/groups/")
        reply = _call(admin, method, fill_path(path, {"id": group_id} if of_group else values))
        if reply is None:
            continue
        assert reply.status not in (404, 405, 500, 501), (method, path, reply.status, reply.body)
        responses = operation["responses"]
        described = set(responses) | {str(s) for s in range(400, 600) if "default" in responses}
        for status in list(described):
            if status.endswith("XX"):
                described |= {str(s) for s in range(int(status[0]) * 100,
                                                    int(status[0]) * 100 + 100)}
        assert str(reply.status) in described, (method, path, reply.status, sorted(described)[:10])
        if reply.status >= 400:
            error = reply.json["error"]
            assert error["code"] in CODES and error["message"], (method, path, error)
    for job in admin.list():
        admin.request("DELETE", f"/v1/jobs/{job['id']}")


def test_the_error_schema_is_the_one_that_is_sent(document):
    schemas = document["components"]["schemas"]
    schema = resolve(document, schemas.get("error") or schemas["Error"])
    error = resolve(document, schema["properties"]["error"])
    assert {"code", "message", "detail"} <= set(error["properties"])
    assert {"code", "message"} <= set(error["required"])
    code = resolve(document, error["properties"]["code"])
    assert set(code["enum"]) - {"ok"} == CODES


def allowed(document, path):
    methods = {method.upper() for method in document["paths"][path] if method in METHODS}
    # A GET that starts something has no HEAD.
    return methods | ({"HEAD"} if "GET" in methods and path != "/job_start" else set())


def test_a_wrong_method_is_told_the_right_ones(shared_server, document):
    client = shared_server.tcp()
    values = {"id": "0000000000001", "name": "work", "queue": "work"}
    for path in document["paths"]:
        right = allowed(document, path)
        for method in ("GET", "PUT", "POST", "DELETE", "PATCH", "PROPFIND"):
            if method in right:
                continue
            reply = client.request(method, fill_path(path, values))
            reply.error(405, "method_not_allowed")
            told = {m.strip() for m in reply.headers["Allow"].split(",")} - {"OPTIONS"}
            assert told == right, (method, path, told, right)


def test_head_answers_like_get_without_a_body(shared_server, document):
    client = shared_server.tcp()
    job_id = client.submit()
    values = {"id": job_id, "name": "work", "queue": "work"}
    for path, item in document["paths"].items():
        if "get" not in item or path in ("/v1/events", "/v1/bulk/{id}", "/job_start"):
            continue
        full = client.request("GET", fill_path(path, values))
        head = client.request("HEAD", fill_path(path, values))
        assert (head.status, head.body) == (full.status, b""), path
        assert head.headers["Content-Type"] == full.headers["Content-Type"], path
    shared_server.unix().request("DELETE", f"/v1/jobs/{job_id}")


@pytest.mark.parametrize("path", [
    "/", "/v1", "/v1/", "/v2/jobs", "/v1/job", "/v1/jobs/", "/v1/jobs/0000000000001/",
    "/v1/jobs//log", "/v1/flows",
    "/v1/workflows", "/v1/flows", "/v1/resources/", "/v1/signals/", "/v1/joins/", "/v1/schedules/",
    "/v1/topics/", "/v1/topics/x", "/v1/joins/x",
    "/job_start?job_name=x", "/job_start/x", "/v1/jobs/0000000000001/attachments/x",
    "/../etc/passwd", "/v1/../metrics", "//metrics",
])
def test_a_path_that_is_not_there_is_not_found(shared_server, path):
    reply = shared_server.tcp().get(path)
    if path == "/" and reply.status == 200:
        return
    error = reply.error(404, "not_found")
    assert error["message"]


def test_a_get_that_starts_something_has_no_head(shared_server):
    reply = shared_server.tcp().request("HEAD", "/job_start?job_name=work")
    assert reply.status == 405 and reply.headers["Allow"] == "GET"
    assert shared_server.tcp().list("queue=work") == []


def test_an_emit_needs_a_job_and_a_lease(shared_server):
    reply = shared_server.tcp().post("/v1/emit", {"id": "0000000000001"})
    assert reply.status in (404, 422) and reply.json["error"]["message"]
