# SPDX-License-Identifier: MIT
"""Write-ahead logs that are removed or cut off: the loss is reported until somebody was told."""
import os
import sqlite3
import subprocess
import sys

import pytest

from waiting import eventually
from waybill import Server

pytestmark = pytest.mark.embedded("the files of PostgreSQL are its own business")


@pytest.fixture
def server(directory):
    """Without the check of its store afterwards."""
    made = Server(os.path.join(directory, "d"), store=Server.EMBEDDED)
    yield made.start()
    if made.running():
        made.kill()


def wal_of(server):
    return server.data / "waybill.db-wal"


def ready(server):
    return server.unix().get("/readyz")


def check_reported(server):
    reply = ready(server)
    assert reply.status == 503 and b"commits are missing" in reply.body, reply.body
    assert "commits are missing" in server.log_text()
    server.restart()
    assert ready(server).status == 503, "a restart does not make it good"
    ran = server.full_check()
    assert any("commits are missing" in finding for finding in ran.json["findings"]), ran
    eventually(lambda: ready(server).status == 200, "somebody was told")
    server.kill()
    server.start()
    assert ready(server).status == 200


@pytest.mark.parametrize("stopped_before", [False, True])
@pytest.mark.parametrize("how", ["removed", "emptied"])
def test_a_log_that_is_lost_after_a_crash_is_reported(server, how, stopped_before):
    server.unix().submit("work")
    if stopped_before:
        server.restart()
        server.unix().submit("work")
    server.kill()
    if how == "removed":
        wal_of(server).unlink()
    else:
        os.truncate(wal_of(server), 0)
    ran = server.cli("check", "--store")
    assert ran.status == 1 and "commits are missing" in ran.out, ran
    server.start()
    check_reported(server)


@pytest.mark.parametrize("end", ["stop", "kill"])
@pytest.mark.parametrize("left", [0, 32, 50000])
def test_nothing_is_acknowledged_into_a_log_that_was_cut_off(server, left, end):
    admin = server.unix()
    for _ in range(5):
        admin.submit("work")
    os.truncate(wal_of(server), left)
    reply = ready(server)
    assert reply.status == 503 and b"cut off" in reply.body, reply.body
    reply = admin.post("/v1/jobs", {"queue": "work"})
    assert reply.status == 503, reply.body
    getattr(server, end)()
    server.start()
    check_reported(server)


# What any program that uses SQLite does, in a process of its own.
CHECKPOINTS = """
import sqlite3, sys
path, mode, count = sys.argv[1:]
database = sqlite3.connect(path, isolation_level=None)
for _ in range(int(count)):
    database.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()
"""


def checkpoints(server, mode, count):
    return subprocess.Popen([sys.executable, "-c", CHECKPOINTS, server.data / "waybill.db", mode,
                             str(count)])


@pytest.mark.parametrize("end", ["stop", "kill"])
@pytest.mark.parametrize("mode", ["PASSIVE", "FULL", "RESTART", "TRUNCATE"])
def test_another_program_checkpoints_the_log_of_a_running_server(server, mode, end):
    admin = server.unix()
    added = [admin.submit("work") for _ in range(3)]
    assert checkpoints(server, mode, 1).wait() == 0
    if mode == "TRUNCATE":
        assert wal_of(server).stat().st_size == 0
    assert ready(server).status == 200
    added.append(admin.submit("work"))
    with checkpoints(server, mode, 200) as other:
        while other.poll() is None:
            added.append(admin.submit("work"))
            assert ready(server).status == 200
        assert other.returncode == 0
    added.append(admin.submit("work"))
    getattr(server, end)()
    server.start()
    assert ready(server).status == 200
    for job in added:
        assert server.unix().get(f"/v1/jobs/{job}").status == 200
    assert not any(words in server.log_text() for words in ("missing", "cut off"))


@pytest.mark.parametrize("mode", ["PASSIVE", "FULL", "RESTART", "TRUNCATE"])
def test_a_log_that_is_lost_after_a_checkpoint_of_another_program_is_reported(server, mode):
    server.unix().submit("work")
    assert checkpoints(server, mode, 1).wait() == 0
    server.unix().submit("work")
    server.kill()
    os.truncate(wal_of(server), 0)
    server.start()
    check_reported(server)


def test_a_log_that_is_cut_off_after_a_checkpoint_of_another_program_is_seen(server):
    admin = server.unix()
    admin.submit("work")
    assert checkpoints(server, "TRUNCATE", 1).wait() == 0
    admin.submit("work")
    os.truncate(wal_of(server), 32)
    assert b"cut off" in ready(server).body
    assert admin.post("/v1/jobs", {"queue": "work"}).status == 503
    server.restart()
    check_reported(server)


def test_a_log_that_another_program_checkpointed_is_no_loss(server):
    server.unix().submit("work")
    server.kill()
    database = sqlite3.connect(server.data / "waybill.db")
    assert database.execute("SELECT COUNT(*) FROM jobs").fetchone() == (1,)
    database.close()
    assert not wal_of(server).exists()
    server.start()
    assert ready(server).status == 200
    assert "missing" not in server.log_text()
