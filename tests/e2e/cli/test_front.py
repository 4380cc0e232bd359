# SPDX-License-Identifier: MIT
"""The HTTP front: strict about what it reads, bounded in what it holds, and always there."""
import json
import os
import pwd
import resource
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from client import Client, Wire, unix_socket
from waiting import DEADLINE_S, PATIENCE, SANITIZED, Background, eventually
from waybill import BIN, QUEUES, Server

pytestmark = pytest.mark.embedded("ends at the HTTP thread")

GET = b"GET /v1/counts HTTP/1.1\r\nHost: localhost\r\n\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
MIB = 1 << 20
TOKEN = "s3cret-token-0123456789"


def post(path, body, *headers):
    head = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


SUBMIT = post("/v1/jobs", b'{"queue":"work"}')


def refusal(wire, status=400):
    """The refusal, after which nothing more comes."""
    reply = wire.reply()
    assert reply is not None, "there is no answer"
    assert reply.status == status, (reply.status, reply.body)
    assert reply.headers["Connection"] == "close"
    assert wire.closed()
    return reply.json["error"]


def resident_mib(server):
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as f:
        return int(next(line for line in f if line.startswith("VmRSS")).split()[1]) >> 10


def unsent(client):
    """Bytes of replies that nobody has read.  The connection is not kept: tests may be long."""
    try:
        return client.metrics()["waybill_http_unsent_bytes"]
    finally:
        client.close()


# ---- strict

DOUBTFUL = {
    "a folded length": b"Content-Length:\r\n 5\r\n",
    "a folded encoding": b"Transfer-Encoding:\r\n chunked\r\n",
    "a fold with a tab": b"X-A: b\r\n\tContent-Length: 5\r\n",
    "a fold before the first field": b" X-A: b\r\n",
    "a space before the colon of a length": b"Content-Length : 5\r\n",
    "a space before the colon of an encoding": b"Transfer-Encoding : chunked\r\n",
    "a tab before a colon": b"Transfer-Encoding\t: chunked\r\n",
    "a bare CR": b"X-A: b\rContent-Length: 5\r\n",
    "a bare LF": b"X-A: b\nContent-Length: 5\r\n",
    "a bare LF at an end": b"Content-Length: 5\n",
    "a NUL": b"X-A: b\0c\r\n",
    "a NUL in a length": b"Content-Length: 5\0\r\n",
    "a NUL in a name": b"X\0A: b\r\n",
    "two origins": b"Origin: http://localhost\r\nOrigin: http://evil.example\r\n",
    "two hosts": b"Host: localhost\r\n",
    "two lengths that agree": b"Content-Length: 5\r\nContent-Length: 5\r\n",
    "two encodings": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    "length and chunks": b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
    "another encoding": b"Transfer-Encoding: gzip\r\n",
    "chunks within chunks": b"Transfer-Encoding: chunked, chunked\r\n",
    "a list of lengths": b"Content-Length: 5, 5\r\n",
    "an empty length": b"Content-Length:\r\n",
    "no name": b": b\r\n",
    "no colon": b"Nonsense\r\n",
}


@pytest.mark.parametrize("lines", DOUBTFUL.values(), ids=DOUBTFUL.keys())
def test_a_doubtful_head_is_refused_and_hides_nothing(shared_server, lines):
    with shared_server.wire() as wire:
        wire.send(b"POST /v1/touch HTTP/1.1\r\nHost: localhost\r\n" + lines + b"\r\nhello" +
                  SUBMIT)
        assert refusal(wire)["code"] == "bad_request"
    assert shared_server.tcp().counts() == {}


@pytest.mark.parametrize("line, status", [
    (b"GET  /healthz HTTP/1.1", 400), (b"GET /healthz  HTTP/1.1", 400),
    (b"GET\t/healthz HTTP/1.1", 400), (b"GET /healthz HTTP/1.1 ", 400),
    (b"GET /healthz", 400), (b"GET /healthz HTTP/2.0", 505), (b"GET /heal\0thz HTTP/1.1", 400),
    (b"GET http://localhost/healthz HTTP/1.1", 400), (b" GET /healthz HTTP/1.1", 400),
])
def test_a_doubtful_request_line_is_refused(shared_server, line, status):
    with shared_server.wire() as wire:
        wire.send(line + b"\r\nHost: localhost\r\n\r\n" + SUBMIT)
        refusal(wire, status)
    assert shared_server.tcp().counts() == {}


def test_a_request_without_a_host_is_refused(shared_server):
    with shared_server.wire() as wire:
        wire.send(b"GET /healthz HTTP/1.1\r\n\r\n")
        assert "Host" in refusal(wire)["message"]


CHUNKED = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
BAD_CHUNKS = {
    "a line of 20,000 bytes": b"5;" + b"x" * 20000,
    "a size of 20,000 digits": b"0" * 20000,
    "extensions without end": b"1;abcdefgh\r\n \r\n" * 2000,
    "a sign": b"-5\r\nhello\r\n0\r\n\r\n",
    "hex with a prefix": b"0x5\r\nhello\r\n0\r\n\r\n",
    "a space": b"5 \r\nhello\r\n0\r\n\r\n",
    "a bare LF": b"5\nhello\r\n0\r\n\r\n",
    "more than was said": b"5\r\nhello!\r\n0\r\n\r\n",
    "trailer fields": b"5\r\nhello\r\n0\r\nX-A: b\r\n\r\n",
    "a size beyond all bounds": b"fffffffffffffffff\r\n",
}


@pytest.mark.parametrize("chunks", BAD_CHUNKS.values(), ids=BAD_CHUNKS.keys())
def test_bad_chunks_are_refused_at_once(shared_server, chunks):
    with shared_server.wire() as wire:
        wire.send(CHUNKED + chunks + SUBMIT)
        assert refusal(wire)["code"] == "bad_request"
    assert shared_server.tcp().counts() == {}


def test_chunk_extensions_are_passed_over(server):
    with server.wire() as wire:
        wire.send(CHUNKED + b'10;name="v"\r\n{"queue":"work"}\r\n0;last\r\n\r\n' + GET)
        assert wire.reply().status == 201 and wire.reply().status == 200


def test_chunks_that_dribble_in_cost_the_thread_little(server):
    def spent():
        with open(f"/proc/{server.process.pid}/stat", encoding="ascii") as f:
            fields = f.read().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    wires = [server.wire() for _ in range(20)]
    before = spent()
    for wire in wires:
        wire.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        wire.send(CHUNKED + b"5;")
    for _ in range(100):
        for wire in wires:
            wire.send(b"xxxxxxxxxx")
    for wire in wires:
        wire.send(b"xxxxxxxxxxxxxxxxxxxxxxxxx")
        refusal(wire)
        wire.close()
    assert spent() - before < 1 * PATIENCE


# ---- large heads, many parameters

def test_three_hundred_parameters_get_an_answer(server, client):
    query = "&".join(f"label.l{n}=v" for n in range(300))
    assert client.get("/v1/jobs?" + query).status == 200
    client.refused(422, "invalid", "GET", "/v1/jobs?" + "&".join(f"p{n}=1" for n in range(300)))
    client.refused(422, "invalid", "GET", "/v1/jobs?" + "&".join(["limit=1"] * 300))
    assert client.get("/v1/jobs?" + "&" * 4000).status == 200


@pytest.mark.parametrize("head, status", [
    (b"GET /" + b"x" * 100000, 414),
    (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Big: " + b"x" * 100000, 431),
    (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 150 + b"\r\n", 431),
])
def test_a_head_beyond_its_bounds_is_told_so(shared_server, head, status):
    with shared_server.wire() as wire:
        wire.send(head)
        assert refusal(wire, status)["code"] == "too_large"


# ---- versions, methods, waiting for permission

def test_http_1_0_keeps_a_connection_that_asks_for_it(shared_server):
    with shared_server.wire() as wire:
        for _ in range(3):
            wire.send(b"GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            reply = wire.reply()
            assert reply.status == 200 and reply.headers["Connection"] == "keep-alive"


def test_http_1_0_gets_no_chunks(server):
    body = b'{"queue":"work"}\n' * 3
    with server.wire() as wire:
        wire.send(b"POST /v1/jobs HTTP/1.0\r\nContent-Type: application/x-ndjson\r\n"
                  b"Connection: keep-alive\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        reply = wire.reply()
        assert "Transfer-Encoding" not in reply.headers and len(reply.lines) == 3
        assert wire.closed()


def test_head_is_answered_without_a_body(shared_server):
    with shared_server.wire() as wire:
        wire.send(HEALTH.replace(b"GET", b"HEAD") + GET)
        reply = wire.reply(to_head=True)
        assert reply.status == 200 and reply.headers["Content-Length"] == "3"
        assert wire.reply().status == 200


@pytest.mark.parametrize("head, status", [
    (b"POST /v1/nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n", 404),
    (b"POST /v1/touch HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000000\r\n", 413),
    (b"POST /v1/queues/work/pause HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n", 403),
])
def test_who_asks_first_is_refused_before_the_body(shared_server, head, status):
    with shared_server.wire() as wire:
        wire.send(head + b"Expect: 100-continue\r\n\r\n")
        refusal(wire, status)


def test_another_expectation_fails(shared_server):
    with shared_server.wire() as wire:
        wire.send(GET[:-2] + b"Expect: miracles\r\n\r\n")
        assert wire.reply().status == 417


@pytest.mark.parametrize("head, status", [
    (b"POST /v1/touch HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000000\r\n\r\n", 413),
    (b"POST /v1/nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 90000000\r\n\r\n", 404),
    (b"POST /v1/backup HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500000\r\n\r\n", 403),
    (b"GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500000\r\n\r\n", 413),
    (b"POST /v1/nowhere HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
     b"5\r\n", 404),
])
def test_a_refusal_does_not_wait_for_the_body(shared_server, head, status):
    with shared_server.wire() as wire:
        wire.send(head + b"hello")
        refusal(wire, status)


def test_a_client_that_goes_on_sending_sees_the_refusal(shared_server):
    body = b"x" * (32 * MIB)
    with shared_server.wire() as wire:
        wire.send(b"POST /v1/touch HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" %
                  (len(body) * 100) + body)
        refusal(wire, 413)


def test_a_small_refused_body_leaves_the_connection(shared_server):
    with shared_server.wire() as wire:
        wire.send(post("/v1/nowhere", b"x" * 60000) + post("/v1/touch", b"x" * 60000) + GET)
        assert [wire.reply().status for _ in range(3)] == [404, 400, 200]


# ---- bounded

def with_large_job(directory):
    """A server with a job of 15 MiB, and the request for it."""
    server = Server(directory).start()
    job_id = server.tcp().submit(body="x" * (15 * MIB))
    return server, f"GET /v1/jobs/{job_id} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    server, request = with_large_job(tmp_path_factory.mktemp("large"))
    yield server, request
    server.finish_up()


def small_window(server):
    """A connection whose client takes little at once."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.settimeout(90)
    sock.connect(("127.0.0.1", server.port))
    return Wire(sock)


@pytest.fixture(scope="session", autouse=True)
def unread(tmp_path_factory):
    """A reply that nobody reads, begun with the first test and looked at with the last."""
    server, request = with_large_job(tmp_path_factory.mktemp("unread"))
    wire = small_window(server).send(request)
    client = server.tcp()
    eventually(lambda: unsent(client) > 0, "an unread reply")
    yield server, wire, time.monotonic()
    wire.close()
    server.finish_up()


def test_unread_replies_are_bounded_in_all(large):
    server, request = large
    before = resident_mib(server)
    wires = [small_window(server).send(request) for _ in range(60)]
    client = server.tcp()
    try:
        eventually(lambda: client.metrics()["waybill_http_requests_total{class=\"2xx\"}"] > 60,
                   "sixty replies", 60 * PATIENCE)
        assert 0 < unsent(client) <= 64 * MIB
        assert client.metrics()["waybill_http_connections"] <= 10
        if not SANITIZED:
            assert resident_mib(server) - before < 250
        assert client.get("/healthz").status == 200
        assert "unread" in server.log_text()
    finally:
        for wire in wires:
            wire.close()
    eventually(lambda: unsent(client) == 0, "their memory back")


def test_who_reads_slowly_but_reads_gets_all_of_it(large):
    server, request = large
    with small_window(server) as wire:
        wire.send(request)
        reply = wire.reply()
        assert reply.status == 200 and len(reply.json["body"]) == 15 * MIB


def take_slowly(wire, size, seconds, until):
    """Takes so much at a time, so often, until the condition holds; all of it."""
    taken = b""
    while not until():
        piece = wire.sock.recv(size)
        if not piece:
            return taken
        taken += piece
        time.sleep(seconds)
    return taken


def open_with_stall(servers, stall):
    server = servers(args=["--client-stall", stall]).start()
    job_id = server.tcp().submit(body="x" * (15 * MIB))
    return server, f"GET /v1/jobs/{job_id} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def unix_wire(server):
    return Wire(unix_socket(str(server.data / "waybill.sock"), 90))


@pytest.mark.parametrize("connect", [small_window, unix_wire])
def test_what_a_client_takes_from_the_socket_is_progress(servers, connect):
    """Far less than what would make room in the socket, but in every period and fast enough."""
    server, request = open_with_stall(servers, "4s")
    with connect(server) as wire:
        wire.send(request)
        end = time.monotonic() + 13
        begun = take_slowly(wire, 16384, 0.3, lambda: time.monotonic() > end)
        assert begun.startswith(b"HTTP/1.1 200")
        rest = wire.file.read(15 * MIB - len(begun))
        assert len(begun) + len(rest) == 15 * MIB


def small_segments(server):
    """A client that takes little at once, all of which its kernel tells at once."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
    sock.settimeout(90)
    sock.connect(("127.0.0.1", server.port))
    return Wire(sock)


# Nothing that the kernel would tell; something in every period, but too little in all.
@pytest.mark.parametrize("connect, size, stall", [
    (small_window, 1, "2s"), (unix_wire, 1, "2s"), (small_segments, 800, "4s")])
def test_a_reply_that_is_taken_byte_by_byte_is_cut_off(servers, connect, size, stall):
    server, request = open_with_stall(servers, stall)
    client = server.unix()
    with connect(server) as wire:
        wire.send(request)
        eventually(lambda: unsent(client) > 0, "an unread reply")
        end = time.monotonic() + 30 * PATIENCE
        taken = take_slowly(wire, size, 0.4,
                            lambda: unsent(client) == 0 or time.monotonic() > end)
        assert unsent(client) == 0 and 0 < len(taken) < MIB


def test_a_log_is_read_only_as_fast_as_it_is_taken(servers):
    server = servers(definitions="queues: {work: {keep: {log: 32M}}}").start()
    client = server.tcp()
    client.submit()
    job = client.take()
    piece = b"x" * (MIB - 1) + b"\n"
    for n in range(20):
        reply = client.post(f"/v1/jobs/{job['id']}/log?offset={n * MIB}&lease={job['lease']}",
                            piece)
        assert reply.status == 200, reply.body
    wires = [small_window(server) for _ in range(5)]
    for wire in wires:
        wire.send(f"GET /v1/jobs/{job['id']}/log HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    eventually(lambda: unsent(client) > 5 * MIB - 1, "five unread pieces")
    assert unsent(client) < 6 * MIB
    assert len(wires[0].reply().body) == 20 * MIB
    for wire in wires:
        wire.close()
    eventually(lambda: unsent(client) == 0, "their memory back")


def test_an_idle_connection_costs_next_to_nothing(server, client):
    wires = [server.wire() for _ in range(100)]
    for wire in wires:
        assert wire.send(GET).reply().status == 200
    before = resident_mib(server)
    try:
        for _ in range(850):
            wires.append(server.wire())
            assert wires[-1].send(GET).reply().status == 200
        assert client.get("/healthz").status == 200
        if not SANITIZED:
            assert resident_mib(server) - before <= 4
    finally:
        for wire in wires:
            wire.close()


def test_what_follows_a_waiting_request_is_not_read_before_its_turn(server, client):
    claim = json.dumps({"worker": "w", "queues": {"work": 1}, "wait": "50s"}).encode()
    before = resident_mib(server)
    padded = HEALTH[:-2] + b"X-Padding: " + b"x" * 500 + b"\r\n\r\n"
    count = 40000
    with server.wire() as wire:
        wire.sock.settimeout(None)
        wire.send(post("/v1/claim", claim))
        eventually(lambda: client.waiting() == 1)
        flood = Background(wire.send, padded * count)
        eventually(lambda: client.get("/healthz").status == 200)
        assert flood.running() and (SANITIZED or resident_mib(server) - before < 8)
        client.submit()
        assert len(wire.reply().json["jobs"]) == 1
        assert all(wire.reply().body == b"ok\n" for _ in range(count))
        flood.result()


def test_one_that_never_stops_asking_does_not_hold_up_others(server, client):
    with server.wire() as wire:
        wire.sock.settimeout(None)
        flood = Background(wire.send, HEALTH * 80000)
        reader = Background(lambda: [wire.reply().status for _ in range(80000)])
        for _ in range(20):
            assert client.submit()
        assert set(reader.result(120 * PATIENCE)) == {200}
        flood.result()


def test_a_listener_that_hangs_up_is_noticed_at_once(server, client):
    connections = client.metrics()["waybill_http_connections"]
    wires = [server.wire().send(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
             for _ in range(5)]
    for wire in wires:
        assert wire.file.readline().startswith(b"HTTP/1.1 200")
    client.submit()
    job = client.take()
    wires.append(server.wire().send(f"GET /v1/jobs/{job['id']}/log?follow=1 HTTP/1.1\r\n"
                                    "Host: localhost\r\n\r\n".encode()))
    assert wires[-1].file.readline().startswith(b"HTTP/1.1 200")
    for wire in wires:
        wire.close()
    eventually(lambda: client.metrics()["waybill_http_connections"] == connections,
               "the streams to be gone", 5 * PATIENCE)


def lines_head(length):
    return (b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
            b"Content-Length: %d\r\n\r\n" % length)


def test_windows_into_long_bodies_are_bounded_in_all(server, client):
    long_line = b'"' + b"x" * (19 * MIB) + b'"\n'
    body = long_line + b"x\n" * 150000
    before, most = resident_mib(server), 0
    wires = [small_window(server) for _ in range(16)]
    try:
        for wire in wires:
            wire.send(lines_head(len(body)) + body)
            most = max(most, resident_mib(server))
        eventually(lambda: unsent(client) > len(wires) * 40000, "sixteen replies that nobody reads",
                   60 * PATIENCE)
        most = max(most, resident_mib(server))
        assert SANITIZED or most - before < 150
    finally:
        for wire in wires:
            wire.close()
    eventually(lambda: unsent(client) == 0, "their memory back")


@pytest.mark.skipif(SANITIZED, reason="the sanitizers need all addresses")
def test_a_length_that_is_only_announced_takes_no_memory_from_others(servers):
    server = servers().start(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS,
                                                                   (2 << 30, 2 << 30)))
    head = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n[" % (64 * MIB)
    wires = [server.wire().send(head) for _ in range(100)]
    client = server.tcp()
    try:
        eventually(lambda: client.metrics()["waybill_http_connections"] > 100, "the hundred")
        job_id = client.submit(body="x" * (15 * MIB))
        assert len(client.show(job_id)["body"]) == 15 * MIB
    finally:
        for wire in wires:
            wire.close()


def test_a_body_that_has_no_room_is_refused_before_it_is_sent(server):
    head = "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
    wires = [server.wire(60) for _ in range(4)]
    try:
        for wire in wires:
            wire.send((head % (64 * MIB)).encode() + b" " * (63 * MIB))
        with server.wire() as late:
            eventually(lambda: asked(server, head % (8 * MIB)) == 503, "a refusal")
            assert late.send(post("/v1/jobs", b'{"queue":"work"}')).reply().status == 201
    finally:
        for wire in wires:
            wire.close()
    eventually(lambda: asked(server, head % (8 * MIB)) == 100, "room again")


def asked(server, head):
    """The first status for a request that waits for permission to send its body."""
    with server.wire() as wire:
        wire.send(head[:-2].encode() + b"Expect: 100-continue\r\n\r\n")
        return int(wire.file.readline().split()[1])


def test_a_body_that_the_disk_had_no_room_for_leaves_room_for_others(servers):
    server = servers().start(preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))
    client, pid = server.tcp(), server.process.pid
    headers = {"Content-Type": "application/x-ndjson"}
    limit = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    body = b'{"queue":"work","body":"' + b"x" * (3 * MIB) + b'"}\n'
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (700 << 10, limit[1]))
    for _ in range(2):
        with server.wire() as wire:
            assert wire.send(lines_head(len(body)) + body).reply().status in (500, 507)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, limit)
    reply = client.post("/v1/jobs", body, headers=headers)
    assert reply.status == 200 and "id" in reply.lines[0], reply.body[:500]


def test_a_claimer_that_leaves_requests_behind_and_dies_gets_no_job(server, client):
    claim = json.dumps({"worker": "w", "queues": {"work": 1}, "wait": "50s"}).encode()
    wire = server.wire().send(post("/v1/claim", claim))
    eventually(lambda: client.waiting() == 1)
    wire.send(GET * 3).close()
    eventually(lambda: client.waiting() == 0, "the dead claimer to be gone")
    client.submit()
    assert client.take(worker="other")


@pytest.mark.last
def test_a_reply_that_nobody_reads_is_cut_off(unread):
    server, wire, begun = unread
    client = server.tcp()
    eventually(lambda: unsent(client) == 0, "the unread reply to be gone",
               begun + 31 - time.monotonic() + DEADLINE_S)
    got = 0
    try:
        while piece := wire.sock.recv(MIB):
            got += len(piece)
    except ConnectionError:
        pass
    assert got < 15 * MIB


# ---- lean

def calls_of(server, names, asked):
    """How often each of these system calls is made by the server while asked() runs."""
    if shutil.which("strace") is None:
        pytest.skip("needs strace")
    with tempfile.NamedTemporaryFile(mode="r", prefix="waybill-calls.") as told:
        tracer = subprocess.Popen(["strace", "-f", "-qq", "-e", "trace=" + ",".join(names),
                                   "-o", told.name, "-p", str(server.process.pid)],
                                  stderr=subprocess.PIPE)
        status = f"/proc/{server.process.pid}/status"

        def is_traced():
            with open(status, encoding="ascii") as f:
                return f"TracerPid:\t{tracer.pid}\n" in f.read() or tracer.poll() is not None

        eventually(is_traced, "strace")
        if tracer.poll() is not None:
            pytest.skip(f"strace: {tracer.stderr.read().decode()}")
        try:
            asked()
        finally:
            tracer.terminate()
            tracer.communicate()
        lines = told.read().splitlines()
    return {name: sum(f" {name}(" in line for line in lines) for name in names}


@pytest.mark.skipif(SANITIZED, reason="the leak sanitizer traces, too")
def test_in_the_steady_state_a_request_is_one_recv_and_one_send(server):
    """Also one that the engine answers: the connection waits and stays in the loop."""
    with server.wire() as wire:
        def ask(count=200):
            for _ in range(count):
                assert wire.send(SUBMIT).reply().status == 201

        ask(10)
        names = ["recvfrom", "recvmsg", "sendto", "sendmsg", "writev", "epoll_ctl"]
        calls = calls_of(server, names, ask)
    taken = calls["recvfrom"] + calls["recvmsg"]
    sent = calls["sendto"] + calls["sendmsg"] + calls["writev"]
    assert 200 <= sent <= 210 and 200 <= taken <= 210 and calls["epoll_ctl"] <= 10, calls


# ---- descriptors

def few_files(count):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))


def test_connections_leave_descriptors_for_the_unix_socket(servers):
    server = servers().start(preexec_fn=few_files(300))
    admin = server.unix()
    wires = []
    try:
        told = 0
        for _ in range(300):
            wires.append(server.wire(5 * PATIENCE))
        for wire in wires[:200]:
            try:
                reply = wire.send(GET).reply()
            except (TimeoutError, ConnectionError):
                break
            told += reply is not None and reply.status == 429
        assert told > 0
        for _ in range(5):
            client = Client(server.socket_path)
            assert client.get("/v1/counts").status == 200
            assert client.submit()
            client.close()
        body = b'{"queue":"work"}\n' * 100000
        reply = admin.post("/v1/jobs", body, headers={"Content-Type": "application/x-ndjson"})
        assert reply.status == 200 and len(reply.lines) == 100000
    finally:
        for wire in wires:
            wire.close()
    assert "limit of open files" in server.log_text()
    eventually(lambda: answers(server), "a free place")


def answers(server):
    try:
        with server.wire(2 * PATIENCE) as wire:
            reply = wire.send(GET).reply()
            return reply is not None and reply.status == 200
    except (TimeoutError, ConnectionError):
        return False


def test_accepting_goes_on_after_the_descriptors_ran_out(server, client):
    pid = server.process.pid
    assert client.get("/v1/counts").status == 200
    used = len(os.listdir(f"/proc/{pid}/fd"))
    limit = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + 3, limit[1]))
    wires = [server.wire(60) for _ in range(10)]
    for wire in wires:
        wire.send(GET)
    eventually(lambda: "no new connections for now" in server.log_text(), "a line in the log")
    with Wire(unix_socket(server.socket_path)) as wire:
        assert wire.send(GET).reply().status == 200
    assert client.get("/v1/counts").status == 200
    resource.prlimit(pid, resource.RLIMIT_NOFILE, limit)
    assert all(wire.reply().status == 200 for wire in wires)
    for wire in wires:
        wire.close()
    assert server.log_text().count("no new connections for now") == 1


def test_waiting_claims_over_tcp_leave_room_for_those_of_the_unix_socket(server, client):
    claim = json.dumps({"worker": "w", "queues": {"work": 1}, "wait": "50s"}).encode()
    wires = [server.wire().send(post("/v1/claim", claim)) for _ in range(900)]
    try:
        eventually(lambda: client.waiting() == 900, "nine hundred waiting claims", 30 * PATIENCE)
        client.refused(429, "too_many", "POST", "/v1/claim",
                       {"worker": "w", "queues": {"work": 1}, "wait": "10s"})
        call = Background(server.unix().claim, "other", worker="local", wait="30s", max=1)
        eventually(lambda: client.waiting() == 901, "the claim of the Unix socket")
        job_id = client.submit("other")
        assert [job["id"] for job in call.result()["jobs"]] == [job_id]
    finally:
        for wire in wires:
            wire.close()


# ---- secrets

@pytest.fixture
def token_server(servers):
    server = servers()
    path = server.dir / "token"
    path.write_text(TOKEN + "\n")
    path.chmod(0o600)
    server.define(QUEUES + f'server: {{token_file: "{path}"}}\n')
    return server


SLOW_LIST = b"GET /v1/jobs?text=nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n"


def ask_for_slow_lists(server, count):
    """So many connections that have each asked for a list that takes a while."""
    wires = [server.wire() for _ in range(count)]
    for wire in wires:
        wire.send(SLOW_LIST)
    return wires


def answered(wires):
    """How many replies are there to be read."""
    waiting = select.poll()
    for wire in wires:
        waiting.register(wire.sock, select.POLLIN)
    return len(waiting.poll(0))


@pytest.fixture
def full_server(server, client):
    """One whose lists without an index are slow: each looks at many jobs."""
    line = json.dumps({"queue": "work", "params": {"text": "x" * 400}}) + "\n"
    reply = client.post("/v1/jobs", line * 10000,
                        headers={"Content-Type": "application/x-ndjson"})
    assert reply.status == 200, reply.body[:200]
    return server


def test_reads_over_tcp_do_not_hold_up_the_unix_socket(full_server):
    wires = ask_for_slow_lists(full_server, 300)
    eventually(lambda: answered(wires) > 0, "the first answer")
    for _ in range(3):
        assert full_server.unix().get("/v1/queues").status == 200
    assert answered(wires) < 200
    for wire in wires:
        assert wire.reply().status == 200
        wire.close()


def test_waiting_reads_are_bounded(full_server):
    wires = ask_for_slow_lists(full_server, 700)
    refused = wires[-1].reply()
    assert "reads over TCP are waiting" in refused.error(503, "unavailable")["message"]
    assert refused.headers["Retry-After"] == "1"
    assert wires[0].reply().status == 200
    assert full_server.unix().get("/v1/queues").status == 200
    for wire in wires:
        wire.close()
    eventually(lambda: full_server.tcp().get("/v1/queues").status == 200, "room")


def test_replies_are_neither_kept_nor_guessed_at(server, client):
    client.submit()
    with server.wire() as wire:
        wire.send(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        stream = b"".join(iter(wire.file.readline, b"\r\n")).decode()
    for headers in (client.get("/v1/jobs").headers, client.get("/metrics").headers,
                    client.get("/v1/nowhere").headers, client.post("/v1/jobs", b"{").headers):
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
    assert "X-Content-Type-Options: nosniff" in stream and "Cache-Control: no-store" in stream


def test_wrong_tokens_are_logged_and_slowed_down(token_server):
    server = token_server.start()
    guesser, friend, admin = server.tcp("wrong-token-0123456789"), server.tcp(TOKEN), server.unix()

    def took(client):
        begun = time.monotonic()
        client.post("/v1/queues/work/pause")
        return time.monotonic() - begun

    for _ in range(3):
        took(guesser)
    delays = [took(guesser) for _ in range(4)]
    assert all(delay >= 0.09 * 2 ** n for n, delay in enumerate(delays)), delays
    begun = time.monotonic()
    held = Background(took, guesser)
    assert friend.post("/v1/queues/work/pause").status == 200
    assert admin.request("POST", "/v1/queues/work/resume",
                         headers={"Authorization": "Bearer wrong"}).status == 200
    assert client_is_served(server) and held.running() and time.monotonic() - begun < 1.6
    held.result()
    lines = [line for line in server.log_text().splitlines() if "wrong token" in line]
    assert 1 <= len(lines) <= 3 and "127.0.0.1" in lines[0]
    assert "wrong-token" not in server.log_text()


def test_wrong_tokens_count_where_none_is_needed(token_server):
    server = token_server.start()
    guesser = server.tcp("wrong-token-0123456789")

    def guess(path):
        guesser.refused(401, "unauthorized", "GET", path)

    for path in ("/v1/counts", "/healthz", "/v1/jobs"):
        guess(path)
    delays = [took(lambda: guess("/v1/counts")) for _ in range(4)]
    assert all(delay >= 0.09 * 2 ** n for n, delay in enumerate(delays)), delays
    assert "wrong token from 127.0.0.1" in server.log_text()
    assert server.tcp().get("/v1/counts").status == 200
    assert server.tcp(TOKEN).get("/v1/counts").status == 200


def took(request):
    begun = time.monotonic()
    request()
    return time.monotonic() - begun


def test_the_right_token_is_not_slowed_down_when_something_else_is_wrong(token_server):
    server = token_server.start()
    client = server.tcp(TOKEN)
    elsewhere = {"Host": "elsewhere.example", "Authorization": f"Bearer {TOKEN}"}
    for _ in range(8):
        error = client.refused(403, "forbidden", "GET", "/v1/counts", None, elsewhere)
        assert "Host" in error["message"]
    assert "wrong token" not in server.log_text()


def test_a_server_without_a_token_counts_no_wrong_ones(server, client):
    for _ in range(8):
        client.refused(403, "forbidden", "POST", "/v1/queues/work/pause", None,
                       {"Authorization": "Bearer something"})
    assert "wrong token" not in server.log_text()


def test_ipv4_clients_of_an_ipv6_socket_are_told_apart(token_server):
    token_server.listen = "[::]:0"
    server = token_server.start()

    def guess(address):
        sock = socket.create_connection(("127.0.0.1", server.port), DEADLINE_S, (address, 0))
        with Wire(sock) as wire:
            wire.send(GET[:-2] + b"Authorization: Bearer wrong\r\n\r\n")
            assert wire.reply().status == 401

    for _ in range(7):
        guess("127.0.0.1")
    assert took(lambda: guess("127.0.0.2")) < 0.7 < took(lambda: guess("127.0.0.1"))
    assert "from 127.0.0.1 " in server.log_text()


WRONG = GET[:-2] + b"Authorization: Bearer wrong\r\n\r\n"


def connections(client):
    return client.metrics()["waybill_http_connections"]


def refused_or_open(client):
    """Requests that were refused or are not answered yet, without the one that asks."""
    metrics = client.metrics()
    refused = metrics['waybill_http_requests_total{class="4xx"}']
    return refused + metrics["waybill_http_requests_open"] - 1


def make_answers_slow(server, admin):
    """From now on the answer to a wrong token waits for seconds."""
    wires = [server.wire().send(WRONG) for _ in range(12)]
    eventually(lambda: refused_or_open(admin) == 12, "twelve wrong tokens")
    for wire in wires:
        wire.close()
    eventually(lambda: connections(admin) == 1, "the guessers to be gone")


def test_a_guesser_who_has_left_keeps_no_connection(token_server):
    server = token_server.start()
    admin = server.unix()
    make_answers_slow(server, admin)
    with server.wire() as stays:
        stays.send(WRONG)
        eventually(lambda: admin.metrics()["waybill_http_requests_open"] == 2, "one that waits")
        for _ in range(20):
            server.wire().send(WRONG).close()
        assert client_is_served(server)
        eventually(lambda: connections(admin) == 3, "those that left to be gone")
        assert not select.select([stays.sock], [], [], 0)[0], "the first was answered before"
        assert stays.reply().status == 401


def test_guessers_who_wait_leave_connections_to_others(token_server):
    server = token_server.start(preexec_fn=few_files(272))  # 40 connections over TCP
    admin = server.unix()
    make_answers_slow(server, admin)
    waiting = [server.wire().send(WRONG) for _ in range(5)]
    eventually(lambda: admin.metrics()["waybill_http_requests_open"] == 6, "five that wait")
    more = [server.wire() for _ in range(30)]
    for wire in more:
        refusal(wire.send(WRONG), 401)
    assert server.tcp(TOKEN).get("/v1/counts").status == 200
    assert not select.select([wire.sock for wire in waiting], [], [], 0)[0]
    for wire in waiting + more:
        wire.close()


def client_is_served(server):
    return server.tcp().get("/v1/counts").status == 200


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_token_file_that_others_can_write_is_refused(token_server, mode):
    (token_server.dir / "token").chmod(mode)
    server = token_server.spawn()
    assert server.read_ready() == "" and server.wait_exit() != 0
    assert "chmod go-w" in server.log_text() and "token" in server.log_text()


@pytest.mark.parametrize("mode", [0o770, 0o1777, 0o733])
def test_a_data_directory_that_others_can_write_is_refused(servers, mode):
    server = servers()
    server.data.mkdir()
    server.data.chmod(mode)
    server.spawn()
    assert server.read_ready() == "" and server.wait_exit() != 0
    assert "chmod go-w" in server.log_text() and str(server.data) in server.log_text()
    server.data.chmod(0o755)
    server.start()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be somebody else")
def test_nobody_looks_into_the_memory_of_a_server_with_a_token(token_server):
    if not all(parent.stat().st_mode & 0o001 for parent in Path(BIN).parents):
        pytest.skip("the binary is where others cannot reach it")
    nobody = pwd.getpwnam("nobody")
    token_server.slots = 1
    token_server.data.mkdir()
    token_server.dir.parent.chmod(0o711)
    for path in (token_server.dir, *token_server.dir.iterdir()):
        os.chown(path, nobody.pw_uid, nobody.pw_gid)
    token_server.start(user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[])
    assert os.stat(f"/proc/{token_server.process.pid}/mem").st_uid == 0
    worker = eventually(lambda: token_server.unix().ok("GET", "/v1/server")["worker"].get("pid"))
    eventually(lambda: os.stat(f"/proc/{worker}/mem").st_uid == nobody.pw_uid,
               "a worker that is not shut off")
    assert token_server.unix().submit()
