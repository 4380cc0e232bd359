# SPDX-License-Identifier: MIT
"""Stores that are not what was written to them: it is seen, told, and kills nobody."""
import os
import random
import shutil
import sqlite3
import struct
from concurrent.futures import ThreadPoolExecutor

import pytest

from waiting import eventually
from waybill import Server

pytestmark = pytest.mark.embedded("the files of PostgreSQL are its own business")

PAGE = 8192
FRAME = 24 + PAGE


@pytest.fixture
def server(directory):
    """Without the check of its store afterwards."""
    made = Server(os.path.join(directory, "d"), store=Server.EMBEDDED)
    yield made.start()
    if made.running():
        made.kill()


def wal_of(server):
    return server.data / "waybill.db-wal"


def flip(path, at):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 0x20]))


def commits_in(wal):
    """Frames of the log that end a transaction, from 0."""
    data = wal.read_bytes()
    salts = data[16:24]
    ends = []
    for number in range((len(data) - 32) // FRAME):
        head = data[32 + number * FRAME:][:24]
        if head[8:16] != salts:
            break
        if struct.unpack(">I", head[4:8])[0]:
            ends.append(number)
    return ends


def ready(server):
    return server.unix().get("/readyz")


def blank(path, first, last):
    with open(path, "r+b") as file:
        file.seek(first)
        file.write(bytes(last - first))


@pytest.mark.parametrize("where", ["page", "checksum", "salt of the log", "magic of the log",
                                   "page size of the log", "header gone", "first block gone"])
def test_commits_behind_a_bad_frame_are_reported_until_a_full_check(server, where):
    admin = server.unix()
    for _ in range(10):
        admin.submit("work")
    server.kill()
    ends = commits_in(wal_of(server))
    assert len(ends) >= 10
    bad = ends[-6] + 1
    if where.endswith("gone"):
        blank(wal_of(server), 0, {"header gone": 32, "first block gone": 4096}[where])
    else:
        flip(wal_of(server), {"page": 32 + bad * FRAME + 24 + 100,
                              "checksum": 32 + bad * FRAME + 17, "salt of the log": 17,
                              "magic of the log": 0, "page size of the log": 10}[where])
    server.start()
    reply = ready(server)
    assert reply.status == 503 and b"damaged" in reply.body, reply.body
    assert "commits behind it are lost" in server.log_text()
    assert b"waybill_store_damaged 1" in server.unix().get("/metrics").body
    server.restart()
    assert ready(server).status == 503, "a restart does not make it good"
    ran = server.full_check()
    assert any("write-ahead log was damaged" in finding for finding in ran.json["findings"]), ran
    eventually(lambda: ready(server).status == 200, "somebody was told")
    assert b"waybill_store_damaged 0" in server.unix().get("/metrics").body


@pytest.mark.parametrize("args", [["--store", "--full"], ["--store", "--full", "--json"]])
def test_what_a_check_finds_makes_it_not_ready_until_it_is_mended(server, args):
    """A count that is wrong: no statement would ever meet it."""
    def spoil(change):
        server.stop()
        with sqlite3.connect(server.data / "waybill.db") as database:
            assert database.execute(f"UPDATE counts SET n = n {change} WHERE n > 9").rowcount == 1
        database.close()
        server.start()

    server.unix().submit_many([{"queue": "work"}] * 10)
    spoil("+ 1")
    assert ready(server).status == 200
    assert server.cli("check", *args).status == 1
    reply = ready(server)
    assert reply.status == 503 and b"a check found: " in reply.body, reply.body
    assert b"waybill_store_damaged 1" in server.unix().get("/metrics").body
    spoil("- 1")
    assert server.cli("check", *args).status == 0 and ready(server).status == 200


def test_one_loss_is_told_once_though_the_server_is_killed_again(server):
    for _ in range(10):
        server.unix().submit("work")
    server.kill()
    bad = commits_in(wal_of(server))[-8] + 1
    flip(wal_of(server), 32 + bad * FRAME + 24 + 100)
    server.start()
    note = (server.data / "damage").read_text()
    assert note.count("\n") == 1, note
    server.unix().submit("work")
    server.kill()
    server.start()
    assert (server.data / "damage").read_text() == note


def test_a_loss_that_cannot_be_noted_is_in_the_log(server):
    for _ in range(10):
        server.unix().submit("work")
    server.kill()
    flip(wal_of(server), 32 + (commits_in(wal_of(server))[-8] + 1) * FRAME + 24 + 100)
    (server.data / "damage").mkdir()
    server.start()
    assert "commits behind it are lost" in server.log_text()
    assert "the next start does not know of this loss" in server.log_text()


def test_a_log_that_ends_in_the_middle_of_a_transaction_is_no_damage(server):
    admin = server.unix()
    for _ in range(5):
        admin.submit("work")
    server.kill()
    wal = wal_of(server)
    ends = commits_in(wal)
    with open(wal, "r+b") as file:
        file.truncate(32 + ends[-1] * FRAME + 5000)
    server.start()
    assert ready(server).status == 200
    assert "damaged" not in server.log_text()


@pytest.mark.parametrize("name", ["waybill.db", "waybill.db-wal"])
@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_nothing_is_acknowledged_into_a_file_that_is_gone(server, name, how):
    admin = server.unix()
    admin.submit("work")
    path = server.data / name
    if how == "replaced":
        shutil.copy(path, server.dir / "copy")
        os.rename(server.dir / "copy", path)
    else:
        path.unlink()
    reply = admin.post("/v1/jobs", {"queue": "work"})
    assert reply.status == 503 and b"removed or replaced" in reply.body, reply.body
    reply = ready(server)
    assert reply.status == 503 and b"removed or replaced" in reply.body, reply.body
    assert "removed or replaced" in server.log_text()


def test_nothing_is_acknowledged_when_another_directory_is_in_its_place(server):
    admin = server.unix()
    admin.submit("work")
    shutil.copytree(server.data, server.dir / "copy", ignore=shutil.ignore_patterns("*.sock"))
    os.rename(server.data, server.dir / "away")
    os.rename(server.dir / "copy", server.data)
    reply = server.tcp().post("/v1/jobs", {"queue": "work"})
    assert reply.status == 503 and b"removed or replaced" in reply.body, reply.body


def test_an_idle_server_tells_that_its_file_is_gone_when_it_is_asked(server):
    (server.data / "waybill.db").unlink()
    assert ready(server).status == 503


def submit_until_it_ends(server, submitter, told):
    """Submits until the server answers no more; books what it was told."""
    client = server.tcp()
    for number in range(20000):
        key = f"{submitter}-{number}"
        try:
            reply = client.post("/v1/jobs", {"queue": "work", "key": key})
        except OSError:
            return
        told.append((key, reply.status, reply.body))
        if reply.status != 201:
            return


def test_a_sync_that_fails_later_stops_the_server_and_nothing_told_is_lost(server):
    """With several clients a commit is synced while the next batch runs."""
    server.stop()
    server.start(env={"WAYBILL_FAULT": "log.sync:20:fail"})
    told = []
    with ThreadPoolExecutor(8) as pool:
        for submitter in range(8):
            pool.submit(submit_until_it_ends, server, submitter, told)
    assert server.wait_exit() == 5
    assert "log.sync fails" in server.log_text()
    assert "could not be synced" in server.log_text()
    assert any(status == 503 and b"could not be synced" in body for _, status, body in told)
    server.start()
    client = server.tcp()
    for key, status, _ in told:
        again = client.post("/v1/jobs", {"queue": "work", "key": key})
        if status == 201:
            assert again.status == 200, key
    assert server.unix().ok("POST", "/v1/check", {"full": True})["findings"] == []
