# SPDX-License-Identifier: MIT
"""Logs: appended by offset, read by range, followed to the end."""
import pytest

from waiting import Background, eventually


def append(client, job, data, offset):
    return client.request("POST", f"/v1/jobs/{job['id']}/log?lease={job['lease']}&offset={offset}",
                          data,
                          {"Content-Type": "application/octet-stream"})


def added(client, job, data, offset, size):
    reply = append(client, job, data, offset)
    assert (reply.status, reply.json) == (200, {"size": size}), reply.body


def read(client, job, **headers):
    return client.get(f"/v1/jobs/{job['id']}/log",
                      headers={k.replace("_", "-"): v for k, v in headers.items()})


@pytest.fixture
def job(client):
    client.submit()
    return client.take()


def test_a_log_is_empty_at_first(client, job):
    reply = read(client, job)
    assert (reply.status, reply.body) == (200, b"")


def test_pieces_add_up(client, job):
    pieces = [b"one\n", bytes(range(256)), b"x" * 100000, "ä\n".encode()]
    size = 0
    for piece in pieces:
        added(client, job, piece, size, size + len(piece))
        size += len(piece)
    reply = read(client, job)
    assert reply.body == b"".join(pieces)
    assert reply.headers["Accept-Ranges"] == "bytes"


def test_a_piece_sent_again_is_there_once(client, job):
    added(client, job, b"hello ", 0, 6)
    added(client, job, b"hello ", 0, 6)
    added(client, job, b"lo world", 3, 11)
    added(client, job, b"he", 0, 11)
    assert read(client, job).body == b"hello world"


def test_a_gap_is_refused(client, job):
    added(client, job, b"abc", 0, 3)
    error = append(client, job, b"x", 4).error(422, "invalid")
    assert "3" in error["message"]
    assert read(client, job).body == b"abc"


@pytest.mark.embedded("refused before the store is asked")
@pytest.mark.parametrize("query",
                         ["", "lease={lease}", "offset=0", "lease={lease}&offset=-1",
                          "lease={lease}&offset=x",
                                   "lease={lease}&offset=99999999999999999999", "lease=&offset=0"])
def test_a_piece_needs_a_lease_and_an_offset(client, job, query):
    reply = client.post(f"/v1/jobs/{job['id']}/log?{query.format(**job)}", b"x")
    assert reply.status in (400, 409, 422), (reply.status, reply.body)
    assert reply.json["error"]["message"]
    assert read(client, job).body == b""


def test_a_piece_above_a_megabyte_is_refused(client, job):
    added(client, job, b"x" * (1 << 20), 0, 1 << 20)
    append(client, job, b"x" * ((1 << 20) + 1), 1 << 20).error(413, "too_large")
    assert len(read(client, job).body) == 1 << 20


def test_only_the_lease_may_write(client, job):
    append(client, {**job, "lease": "0000000000001"}, b"x", 0).error(409, "stale_lease")
    client.end(job)
    append(client, job, b"x", 0).error(409, "stale_lease")
    append(client, {**job, "id": "0000000000001"}, b"x", 0).error(404, "not_found")
    assert read(client, job).body == b""


@pytest.mark.parametrize("asked, got, content_range", [
    ("bytes=0-4", b"01234", "bytes 0-4/20"),
    ("bytes=5-", b"56789abcdefghij", "bytes 5-19/20"),
    ("bytes=-5", b"fghij", "bytes 15-19/20"),
    ("bytes=-100", b"0123456789abcdefghij", "bytes 0-19/20"),
    ("bytes=18-999", b"ij", "bytes 18-19/20"),
    ("bytes=19-19", b"j", "bytes 19-19/20"),
])
def test_a_range_of_a_log(client, job, asked, got, content_range):
    added(client, job, b"0123456789abcdefghij", 0, 20)
    reply = read(client, job, Range=asked)
    assert (reply.status, reply.body, reply.headers["Content-Range"]) == (206, got, content_range)


@pytest.mark.parametrize("asked", ["bytes=20-", "bytes=99-100"])
def test_a_range_outside_is_refused(client, job, asked):
    added(client, job, b"0123456789abcdefghij", 0, 20)
    reply = read(client, job, Range=asked)
    reply.error(416, "range_not_satisfiable")
    assert reply.headers["Content-Range"] == "bytes */20"


@pytest.mark.embedded("refused before the store is asked")
@pytest.mark.parametrize("asked",
                         ["bytes=-0", "bytes=5-2", "lines=1-2", "bytes=a-b", "bytes=0-1,3-4",
                          "bytes=99999999999999999999-"])
def test_a_range_that_is_none_is_ignored_or_refused(client, job, asked):
    added(client, job, b"0123456789abcdefghij", 0, 20)
    reply = read(client, job, Range=asked)
    assert reply.status in (200, 416, 400), reply.status
    if reply.status == 200:
        assert reply.body == b"0123456789abcdefghij"


def test_a_large_log_by_pieces(client, admin):
    admin.request("PUT", "/v1/queues/long", {"keep": {"log": "10M"}})
    client.submit("long")
    job = client.take("long")
    blob = bytes(i * 7 % 251 for i in range(3 << 20))
    for first in range(0, len(blob), 1 << 20):
        added(client, job, blob[first:first + (1 << 20)], first, first + (1 << 20))
    assert read(client, job).body == blob
    middle = read(client, job, Range="bytes=1048000-2100000")
    assert middle.body == blob[1048000:2100001]


def test_a_log_is_followed_until_the_job_has_ended(server, client, job):
    added(client, job, b"one\n", 0, 4)
    connection = server.tcp()
    call = Background(connection.get, f"/v1/jobs/{job['id']}/log?follow=1")
    added(client, job, b"two\n", 4, 8)
    added(client, job, b"three\n", 8, 14)
    assert call.running()
    client.end(job)
    assert call.result().body == b"one\ntwo\nthree\n"


def test_a_follower_sees_each_piece_when_it_is_written(server, client, job):
    with server.wire() as wire:
        wire.send(
            f"GET /v1/jobs/{job['id']}/log?follow=1 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        received = Background(_collect, wire, 3)
        size = 0
        for word in (b"first.", b"second.", b"third."):
            added(client, job, word, size, size + len(word))
            size += len(word)
        assert b"third." in received.result()
        client.end(job)


def _collect(wire, words):
    data = b""
    while data.count(b".", data.find(b"\r\n\r\n") + 1) < words or b"third." not in data:
        piece = wire.sock.recv(4096)
        assert piece, data
        data += piece
    return data


def test_follow_of_an_ended_job_ends(client, job):
    added(client, job, b"text", 0, 4)
    client.end(job)
    assert client.get(f"/v1/jobs/{job['id']}/log?follow=1").body == b"text"


def test_a_log_goes_on_over_attempts(client):
    client.submit("again")
    first = client.take("again")
    added(client, first, b"first\n", 0, 6)
    client.end(first, "failed", exit=1)
    second = client.take("again")
    added(client, second, b"second\n", 6, 13)
    client.end(second)
    assert read(client, first).body == b"first\nsecond\n"


def test_a_log_survives_a_clean_stop(server, client, job):
    added(client, job, b"kept", 0, 4)
    client.end(job)
    server.stop()
    server.start()
    assert read(server.tcp(), job).body == b"kept"


def test_a_log_goes_with_its_job(client, admin, job):
    added(client, job, b"text", 0, 4)
    client.end(job)
    admin.ok("DELETE", f"/v1/jobs/{job['id']}")
    read(client, job).error(404, "not_found")


def test_a_follower_that_leaves_harms_nobody(server, client, job):
    with server.wire() as wire:
        wire.send(
            f"GET /v1/jobs/{job['id']}/log?follow=1 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert wire.file.readline().startswith(b"HTTP/1.1 200")
    added(client, job, b"text", 0, 4)
    eventually(lambda: read(client, job).body == b"text")
    client.end(job)


def test_what_is_kept_of_a_log_is_bounded(client, admin):
    admin.request("PUT", "/v1/queues/chatty", {"keep": {"log": "64K"}})
    client.submit("chatty")
    chatty = client.take("chatty")
    piece = b"0123456789abcdef" * 1024
    for n in range(4):
        added(client, chatty, piece, n * len(piece), (n + 1) * len(piece))
    error = append(client, chatty, b"x", 4 * len(piece)).error(413, "too_large")
    assert "keep.log" in error["message"]
    client.end(chatty)
    assert read(client, chatty).body == piece * 4
