# SPDX-License-Identifier: MIT
"""Clients that are slow, rude, broken or gone."""
import json
import socket
import time

import pytest

from client import Client, Wire, unix_socket
from waiting import DEADLINE_S, Background, eventually
from waybill import Server

pytestmark = pytest.mark.embedded("ends at the HTTP thread")

GET = b"GET /v1/counts HTTP/1.1\r\nHost: localhost\r\n\r\n"


def post(path, body, *headers):
    head = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def test_bytes_that_dribble_in_are_put_together(server):
    request = post("/v1/jobs", b'{"queue":"work","params":{"a":1}}',
                   "Content-Type: application/json")
    with server.wire() as wire:
        wire.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        other = server.tcp()
        for n in range(len(request)):
            wire.send(request[n:n + 1])
            if n % 20 == 0:
                assert other.get("/healthz").status == 200
        assert wire.reply().status == 201


def test_many_slow_clients_do_not_hold_up_a_quick_one(server):
    wires = [server.wire() for _ in range(100)]
    try:
        for n, wire in enumerate(wires):
            wire.send(GET[:5 + n % 30])
        client = server.tcp()
        start = time.monotonic()
        for _ in range(20):
            client.end(client.take()) if client.submit() else None
        assert time.monotonic() - start < DEADLINE_S
        for n, wire in enumerate(wires):
            wire.send(GET[5 + n % 30:])
        assert all(wire.reply().status == 200 for wire in wires)
    finally:
        for wire in wires:
            wire.close()


def test_half_a_request_and_then_the_end_harms_nobody(server, client):
    body = b'{"queue":"work"}'
    whole = post("/v1/jobs", body)
    for cut in (1, 10, len(whole) - len(body) - 2, len(whole) - len(body), len(whole) - 1):
        with server.wire() as wire:
            wire.send(whole[:cut])
            wire.sock.shutdown(socket.SHUT_WR)
            reply = wire.reply()
            assert reply is None or reply.status == 400, reply.status
    assert client.counts() == {}


def test_a_client_that_closes_before_the_reply_harms_nobody(server, client):
    for _ in range(50):
        wire = server.wire()
        wire.send(post("/v1/jobs", b'{"queue":"work"}'))
        wire.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        wire.close()
    eventually(lambda: client.get("/healthz").status == 200)
    assert sum(client.counts().get("work", {}).values()) <= 50


def test_a_client_that_only_closed_its_sending_side_gets_its_reply(server):
    with server.wire() as wire:
        wire.send(GET)
        wire.sock.shutdown(socket.SHUT_WR)
        reply = wire.reply()
        assert reply is None or reply.status == 200


def test_a_claimer_that_vanishes_while_it_waits_is_granted_nothing(server, client):
    claim = json.dumps({"worker": "gone", "queues": {"work": 1}, "wait": "50s"}).encode()
    wires = [server.wire() for _ in range(5)]
    for wire in wires:
        wire.send(post("/v1/claim", claim))
    eventually(lambda: client.waiting() == 5)
    call = Background(server.tcp().claim, "work", worker="there", wait="30s", max=1)
    eventually(lambda: client.waiting() == 6)
    for n, wire in enumerate(wires):
        if n % 2:
            wire.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        wire.close()
    job_id = client.submit()
    jobs = call.result(5)["jobs"]
    assert [job["id"] for job in jobs] == [job_id]
    shown = client.show(job_id)
    assert (shown["worker"], shown["attempt"], shown["lost"]) == ("there", 1, 0)


def test_a_claimer_that_vanishes_on_the_unix_socket_is_granted_nothing(server, client):
    claim = json.dumps({"worker": "gone", "queues": {"work": 1}, "wait": "50s"}).encode()
    wire = Wire(unix_socket(server.socket_path))
    wire.send(post("/v1/claim", claim))
    eventually(lambda: client.waiting() == 1)
    wire.close()
    job_id = client.submit()
    job = client.take(worker="there", wait="5s")
    assert (job["id"], job["attempt"]) == (job_id, 1)


def test_pipelined_requests_are_answered_in_order(server):
    with server.wire() as wire:
        ids = []
        wire.send(b"".join(post("/v1/jobs",
                                b'{"queue":"work","params":{"n":%d}}' % n) for n in range(10)) +
                  GET)
        for _ in range(10):
            reply = wire.reply()
            assert reply.status == 201
            ids.append(reply.json["id"])
        assert ids == sorted(ids)
        assert wire.reply().json["counts"]["work"]["ready"] == 10
    client = server.tcp()
    assert [client.show(i)["params"]["n"] for i in ids] == list(range(10))


def test_a_connection_is_kept_after_an_error(server):
    with server.wire() as wire:
        wire.send(post("/v1/jobs", b"{") + post("/v1/nowhere", b"{}") + GET)
        assert [wire.reply().status for _ in range(3)] == [400, 404, 200]


def test_http_1_0_and_connection_close_are_understood(server):
    with server.wire() as wire:
        wire.send(b"GET /v1/counts HTTP/1.0\r\nHost: localhost\r\n\r\n")
        assert wire.reply().status == 200 and wire.closed()
    with server.wire() as wire:
        wire.send(b"GET /v1/counts HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert wire.reply().status == 200 and wire.closed()


def test_a_chunked_body_is_understood(server):
    body = b'{"queue":"work","params":{"a":1}}'
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(body[i:i + 7]), body[i:i + 7]) for i in range(0,
            len(body), 7)) + b"0\r\n\r\n"
    with server.wire() as wire:
        wire.send(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\n"
                  b"Transfer-Encoding: chunked\r\n\r\n" +
                  chunks + GET)
        assert wire.reply().status == 201
        assert wire.reply().json["counts"]["work"]["ready"] == 1


def test_expect_100_continue_is_answered(server):
    body = b'{"queue":"work"}'
    with server.wire() as wire:
        wire.send(post("/v1/jobs", body, "Expect: 100-continue")[:-len(body)])
        assert wire.reply().status == 100
        wire.send(body)
        assert wire.reply().status == 201


SMUGGLED = post("/v1/jobs", b'{"queue":"work"}')
AMBIGUOUS = [
    ("two lengths", b"Content-Length: 5\r\nContent-Length: 6\r\n"),
    ("length and chunks", b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
    ("a negative length", b"Content-Length: -5\r\n"),
    ("a length with a sign", b"Content-Length: +5\r\n"),
    ("a length that is no number", b"Content-Length: five\r\n"),
    ("a length with a space", b"Content-Length: 5 5\r\n"),
    ("a list of lengths", b"Content-Length: 5, 5\r\n"),
    ("an enormous length", b"Content-Length: 99999999999999999999999\r\n"),
    ("chunks in disguise", b"Transfer-Encoding: xchunked\r\n"),
    ("a space before the colon", b"Content-Length : 5\r\n"),
    ("a folded header", b"X-A: b\r\n Content-Length: 5\r\n"),
    ("a NUL in a header", b"X-A: b\0c\r\n"),
    ("a header without a colon", b"Nonsense\r\n"),
    ("two hosts", b"Host: evil.example\r\n"),
]


@pytest.mark.parametrize("lines", [case[1] for case in AMBIGUOUS],
                         ids=[case[0] for case in AMBIGUOUS])
def test_a_request_that_could_hide_another_is_refused(server, client, lines):
    with server.wire() as wire:
        wire.send(b"POST /v1/touch HTTP/1.1\r\nHost: localhost\r\n" + lines + b"\r\nhello" +
                  SMUGGLED)
        wire.sock.shutdown(socket.SHUT_WR)
        reply = wire.reply()
        assert reply is None or 400 <= reply.status < 600, reply.status
        while reply is not None and reply.headers.get("Connection") != "close":
            assert reply.status != 201, "the hidden request was carried out"
            reply = wire.reply()
    assert client.counts() == {}


@pytest.mark.parametrize("line",
                         [b"GET\r\n\r\n", b"GET /v1/counts\r\n\r\n",
                          b"GET /v1/counts HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\r\n\r\n",
                                  b"get /v1/counts HTTP/1.1\r\n\r\n",
                          b"GET  /v1/counts  HTTP/1.1\r\n\r\n", b"\0" * 100 + b"\r\n\r\n",
                                  b"GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
                          b"GET http://evil.example/v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n",
                                  b"\r\n" * 1000])
def test_a_broken_request_line_harms_nobody(server, client, line):
    with server.wire(2) as wire:
        wire.send(line)
        wire.sock.shutdown(socket.SHUT_WR)
        try:
            reply = wire.reply()
            assert reply is None or reply.status >= 400 or line.startswith(b"GET ")
        except (AssertionError, TimeoutError):
            pass
    assert client.get("/healthz").status == 200


@pytest.mark.parametrize("request_head", [
    b"GET /v1/counts HTTP/1.1\r\nHost: localhost\r\nX-Big: " + b"x" * (1 << 20) + b"\r\n\r\n",
    b"GET /v1/counts?" + b"x" * (1 << 20) + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /v1/counts HTTP/1.1\r\nHost: localhost\r\n" + b"X-A: b\r\n" * 20000 + b"\r\n",
], ids=["a header", "a path", "headers"])
def test_a_head_that_is_too_large_is_refused(server, client, request_head):
    with server.wire() as wire:
        try:
            wire.send(request_head)
        except OSError:
            pass
        reply = wire.reply()
        assert reply is None or reply.status in (400, 413, 414, 431), reply.status
    assert client.get("/healthz").status == 200


def test_a_large_body_that_stops_coming_is_not_kept_in_the_way(server, client):
    with server.wire() as wire:
        wire.send(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000000\r\n\r\n" +
                  b" " * 500000)
        assert client.submit()
        assert client.take()


def test_above_the_limit_of_connections_one_is_told_so(server):
    wires = []
    try:
        for _ in range(1000):
            wires.append(server.wire())
        for wire in wires[::100]:
            wire.send(GET)
            assert wire.reply().status == 200
        refused = 0
        for _ in range(5):
            with server.wire() as extra:
                try:
                    extra.send(GET)
                    reply = extra.reply()
                except ConnectionError:
                    reply = None
                if reply is None:
                    refused += 1
                else:
                    error = reply.error(429, "too_many")
                    assert "connections" in error["message"]
                    refused += 1
        assert refused == 5
        assert Client(server.socket_path).get("/healthz").status == 200
        for wire in wires[:50]:
            wire.close()

        def free_again():
            with server.wire() as wire:
                wire.send(GET)
                reply = wire.reply()
                return reply is not None and reply.status == 200
        eventually(free_again, "a free place")
    finally:
        for wire in wires:
            wire.close()


def test_too_many_waiting_claims_are_told_so(server, client):
    claim = json.dumps({"worker": "w", "queues": {"work": 1}, "wait": "50s"}).encode()
    wires = []
    try:
        for _ in range(900):
            wires.append(server.wire())
            wires[-1].send(post("/v1/claim", claim))
        eventually(lambda: client.waiting() == 900, "nine hundred waiting claims", 30)
        client.refused(429, "too_many", "POST", "/v1/claim",
                       {"worker": "w", "queues": {"work": 1}, "wait": "10s"})
        assert client.claim("other")["jobs"] == []
        job_id = client.submit()
        assert client.state(job_id) == "running"
    finally:
        for wire in wires:
            wire.close()
    eventually(lambda: client.waiting() == 0, "the waiting claims to be gone")


@pytest.fixture(scope="session", autouse=True)
def idle_connections(tmp_path_factory):
    """Half-open connections, begun with the first test and looked at with the last."""
    server = Server(tmp_path_factory.mktemp("idle"))
    try:
        server.start()
    except (AssertionError, OSError):
        yield None
        return
    wires = {
        "nothing": server.wire(45),
        "half a head": server.wire(45).send(GET[:20]),
        "half a body": server.wire(45).send(post("/v1/jobs", b" " * 100)[:-99]),
    }
    stream = server.wire(60).send(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    begun = time.monotonic()
    yield server, wires, stream, begun
    for wire in [stream, *wires.values()]:
        wire.close()
    server.finish_up()


@pytest.mark.last
def test_half_open_connections_are_dropped(idle_connections):
    assert idle_connections, "the server did not start"
    server, wires, _, begun = idle_connections
    for name, wire in wires.items():
        reply = wire.reply()
        assert reply is None or reply.status in (400, 408), (name, reply.status)
        assert time.monotonic() - begun > 20 or name == "nothing"
    assert server.tcp().counts() == {}


@pytest.mark.last
def test_an_event_stream_without_events_has_a_heartbeat(idle_connections):
    assert idle_connections, "the server did not start"
    stream = idle_connections[2]
    line = b"HTTP/1.1"
    while line and not line.startswith(b":"):
        line = stream.file.readline()
    assert line, "the stream has ended"
