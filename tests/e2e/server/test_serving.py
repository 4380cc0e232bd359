# SPDX-License-Identifier: MIT
"""Starting and stopping: signals, one server for a directory, definitions read again."""
import os
import shutil
import signal
import socket
import sqlite3
import time

import pytest

from waiting import PATIENCE, Background, eventually
from waybill import QUEUES, run_waybill

IN_FILES = pytest.mark.embedded("about the files of the store")


def refused_start(server, *words, status=None):
    """A start that must fail; what it wrote."""
    server.spawn()
    assert server.read_ready() == ""
    code = server.wait_exit()
    assert code not in (0, -6, -11), code
    if status is not None:
        assert code == status, (code, server.log_text())
    text = server.log_text()
    for word in words:
        assert word in text, text
    return text


def test_the_ready_line_names_both_addresses(server):
    assert server.port > 0 and server.socket_path == str(server.data / "waybill.sock")
    assert server.tcp().get("/healthz").status == 200
    assert server.unix().get("/healthz").status == 200


@IN_FILES
def test_term_stops_with_0_and_leaves_all_in_one_file(server, client, servers, directory):
    job_id = client.submit()
    server.stop()
    with pytest.raises(OSError):
        server.unix().get("/healthz")
    copy = os.path.join(directory, "copy")
    os.mkdir(copy, 0o700)
    shutil.copy(server.data / "waybill.db", copy)
    assert servers("second", data=copy).start().tcp().state(job_id) == "ready"


def test_int_stops_as_term_does(server):
    server.process.send_signal(signal.SIGINT)
    assert server.wait_exit() == 0


def test_term_answers_waiting_claims(server, client):
    calls = [Background(server.tcp().post, "/v1/claim",
                        {"worker": f"w{n}", "queues": {"work": 1}, "wait": "50s"})
             for n in range(5)]
    job_id = client.submit("other")
    calls.append(Background(server.tcp().get, f"/v1/jobs/{job_id}?wait=50s"))
    eventually(lambda: client.waiting() == 6)
    server.process.send_signal(signal.SIGTERM)
    for call in calls[:5]:
        reply = call.result()
        assert (reply.status, reply.json["jobs"]) == (200, []) or reply.error(503, "unavailable")
    reply = calls[5].result()
    assert reply.status == 503 or reply.json["state"] == "ready"
    assert server.wait_exit() == 0


def test_term_ends_event_streams_and_followed_logs(server, client):
    client.submit()
    job = client.take()
    wires = []
    for path in ("/v1/events", f"/v1/jobs/{job['id']}/log?follow=1"):
        wire = server.wire()
        wire.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert b"200" in wire.file.readline()
        wires.append(wire)
    start = time.monotonic()
    server.stop()
    assert time.monotonic() - start < 8 * PATIENCE
    for wire in wires:
        wire.close()


def test_what_was_answered_before_term_is_there_afterwards(server, client):
    ids = client.submit_many([{"queue": "work"}] * 500)
    server.stop()
    server.start()
    assert {job["id"] for job in server.tcp().list()} == set(ids)


def test_a_second_term_exits_at_once(server, client):
    wire = server.wire()
    wire.send(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
    assert client.get("/healthz").status == 200
    start = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    eventually(lambda: not accepts(server), "the server to stop taking")
    if server.running():
        server.process.send_signal(signal.SIGTERM)
    server.wait_exit(4 * PATIENCE)
    assert time.monotonic() - start < 5 * PATIENCE
    wire.close()


def accepts(server):
    try:
        with server.wire(1) as wire:
            wire.send(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            reply = wire.reply()
            return reply is not None and reply.status == 200
    except OSError:
        return False


def test_a_slow_request_in_hand_does_not_hold_up_the_stop(server):
    with server.wire() as wire:
        wire.send(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        server.stop()


def test_one_server_for_a_data_directory(server, servers):
    second = servers("second", data=server.data)
    refused_start(second, "in use", status=5)
    assert server.tcp().get("/healthz").status == 200


def test_a_killed_server_leaves_no_lock_behind(server, client):
    job_id = client.submit()
    for _ in range(5):
        server.restart()
        assert server.tcp().state(job_id) == "ready"


def test_a_port_in_use_is_told(servers):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused_start(servers(listen=f"127.0.0.1:{port}"), str(port), "in use", status=5)


@pytest.mark.embedded("refused before the store is asked")
@pytest.mark.parametrize("listen",
                         ["127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000", ":", "nonsense:0x",
                          "127.0.0.1:-1"])
def test_a_bad_address_is_told(servers, listen):
    refused_start(servers(listen=listen), listen)


@IN_FILES
def test_a_store_of_a_newer_version_is_refused_and_left_alone(server, client):
    client.submit()
    server.stop()
    path = server.data / "waybill.db"
    with sqlite3.connect(path) as database:
        version, = database.execute("PRAGMA user_version").fetchone()
        if version:
            database.execute(f"PRAGMA user_version = {version + 7}")
        else:
            database.execute("UPDATE meta SET value = value + 7 WHERE key LIKE '%version%'")
        database.commit()
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = path.read_bytes()
    refused_start(server, "newer", "version", status=5)
    assert path.read_bytes() == before
    with sqlite3.connect(path) as database:
        if version:
            database.execute(f"PRAGMA user_version = {version}")
        else:
            database.execute("UPDATE meta SET value = value - 7 WHERE key LIKE '%version%'")
        database.commit()
    server.start()
    assert len(server.tcp().list()) == 1


@IN_FILES
def test_a_file_that_is_no_store_is_refused_and_left_alone(servers):
    server = servers()
    server.data.mkdir(mode=0o700)
    path = server.data / "waybill.db"
    path.write_bytes(b"this is no database, it is something else entirely\n" * 100)
    before = path.read_bytes()
    refused_start(server, "waybill.db")
    assert path.read_bytes() == before
    path.unlink()


def test_a_data_directory_that_cannot_be_made_is_told(servers, tmp_path):
    (tmp_path / "file").write_text("x")
    refused_start(servers(data=tmp_path / "file" / "data"), str(tmp_path / "file"))


def test_a_data_path_longer_than_a_sockets_address_works(servers, tmp_path):
    deep = tmp_path / ("d" * 60) / ("e" * 60) / "data"
    deep.parent.mkdir(parents=True)
    server = servers(data=deep).start()
    assert len(server.socket_path) > 108
    admin = server.unix()
    admin.ok("POST", "/v1/queues/work/pause")
    job_id = server.tcp().submit()
    ran = run_waybill("show", job_id, "--json", "--data", deep)
    assert ran.status == 0 and ran.json["id"] == job_id, ran


def test_hup_reads_the_definitions_again(server):
    server.define(QUEUES + "  fresh: {slots: 3}\n")
    server.process.send_signal(signal.SIGHUP)
    client = server.tcp()
    eventually(lambda: client.get("/v1/queues/fresh").status == 200, "the new queue")


def test_hup_does_not_prune(server):
    server.define("queues:\n  fresh: {}\n")
    server.process.send_signal(signal.SIGHUP)
    client = server.tcp()
    eventually(lambda: client.get("/v1/queues/fresh").status == 200, "the new queue")
    assert client.get("/v1/queues/work").status == 200


def test_hup_with_wrong_definitions_keeps_the_old_ones_and_says_why(server):
    before = server.tcp().ok("GET", "/v1/queues")
    server.define(QUEUES + "  fresh: {}\n  broken: {slotz: 1}\n")
    server.process.send_signal(signal.SIGHUP)
    eventually(lambda: "slotz" in server.log_text(), "a word about it in the log")
    text = server.log_text()
    line = len(QUEUES.splitlines()) + 2
    assert f"queues.yaml:{line}" in text and "slots" in text, text
    assert server.tcp().ok("GET", "/v1/queues") == before
    server.define(QUEUES + "  fresh: {}\n")
    server.process.send_signal(signal.SIGHUP)
    eventually(lambda: server.tcp().get("/v1/queues/fresh").status == 200, "the new queue")


def test_hup_with_a_file_that_is_gone_keeps_the_old_ones(server):
    server.file.unlink()
    server.process.send_signal(signal.SIGHUP)
    eventually(lambda: "queues.yaml" in server.log_text(), "a word about it in the log")
    assert server.tcp().get("/v1/queues/work").status == 200


@pytest.mark.embedded("refused before the store is asked")
@pytest.mark.parametrize("text, words", [
    ("queues:\n  a: {slotz: 1}\n", ["queues.yaml:2", "slots"]),
    ("queues:\n  a:\n    retry: {max: lots}\n", ["queues.yaml:3", "max"]),
    ("queus:\n  a: {}\n", ["queues.yaml:1", "queues"]),
    ("queues: [a, b]\n", ["queues.yaml:1"]),
    ("queues:\n  a: {}\n  a: {}\n", ["queues.yaml:3", "a"]),
    ("queues: {a: {]\n", ["queues.yaml:1"]),
    ("queues:\n\ta: {}\n", ["queues.yaml:2"]),
    ("resources: {x: {slots: 0}}\n", ["queues.yaml:1", "slots"]),
    (b"queues:\n  \xff: {}\n".decode("latin-1"), ["queues.yaml"]),
])
def test_wrong_definitions_are_refused_at_the_start_with_their_place(servers, text, words):
    if "ÿ" in text:
        server = servers()
        server.file.write_bytes(b"queues:\n  \xff: {}\n")
    else:
        server = servers(definitions=text)
    refused_start(server, *words)


def test_definitions_come_from_several_files_and_directories(servers, tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.yaml").write_text("queues: {from_a: {}}\n")
    (tmp_path / "d" / "b.yml").write_text("queues: {from_b: {}}\n")
    (tmp_path / "d" / "notes.txt").write_text("not yaml: [")
    (tmp_path / "c.yaml").write_text("queues: {from_c: {}}\n")
    server = servers(args=["-c", str(tmp_path / "d"), "-c", str(tmp_path / "c.yaml")]).start()
    names = {q["name"] for q in server.tcp().ok("GET", "/v1/queues")["queues"]}
    assert {"work", "from_a", "from_b", "from_c"} <= names


def test_the_same_queue_in_two_files_names_both_places(servers, tmp_path):
    (tmp_path / "x.yaml").write_text("queues:\n  work: {slots: 1}\n")
    refused_start(servers(args=["-c", str(tmp_path / "x.yaml")]), "x.yaml:2", "queues.yaml:3",
                  "work")


def test_a_stale_socket_is_replaced_and_a_foreign_file_is_not(server):
    server.kill()
    assert (server.data / "waybill.sock").exists()
    server.start()
    server.stop()
    path = server.data / "waybill.sock"
    if path.exists():
        path.unlink()
    path.write_text("precious")
    refused_start(server, "waybill.sock")
    assert path.read_text() == "precious"
    path.unlink()


@IN_FILES
def test_the_directory_is_made_and_can_be_moved(servers, directory):
    server = servers().start()
    job_id = server.tcp().submit()
    server.stop()
    moved = os.path.join(directory, "moved")
    shutil.move(server.data, moved)
    other = servers("other", data=moved).start()
    assert other.tcp().state(job_id) == "ready"


def test_a_fault_plan_that_is_none_is_refused(servers):
    server = servers(env={"WAYBILL_FAULT": "nonsense"})
    refused_start(server, "WAYBILL_FAULT")
