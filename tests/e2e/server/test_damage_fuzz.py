# SPDX-License-Identifier: MIT
"""Damage of any kind, by a seed: pages of the file, and rows that no server has written.  Whatever
it is, the server answers or refuses to start with a message; it is never ended by a signal, and
never silent."""
import contextlib
import http.client
import os
import random
import shutil
import signal
import sqlite3
import subprocess

import postgres
import pytest

from client import Client
from waiting import eventually
from waybill import PATIENCE, QUEUES, Server

PAGE = 8192
MANY = "WAYBILL_TORTURE" in os.environ
FIRST_SEED = int(os.environ.get("WAYBILL_SEED", "1"))

DEFINITIONS = QUEUES + """
joins:
  both: {key: "{on}", count: 3, then: [work]}
"""
NONSENSE_TEXT = [
    "", "x", "{", "[]", "{]}", "null", '{"a":', '"\\u', '{"text":7}', '{"at":"x","exit":{}}',
    '{"holds":-5}', '{"holds":99}', '{"outcome":99,"cause":4711}',
    '{"failures":-3,"lost":99999999999}', '{"step":77,"billed":1}', '{"steps":{}}',
    '{"steps":[7,{"number":"x","name":3}],"parent":"x"}', '{"after":7,"options":[]}',
    '{"retry":[],"timeout":{}}', '{"command":7}', "\\" * 9, '{"a":1,"a":2}', "[" * 200,
]
NONSENSE_NUMBER = [0, -1, 1, 6, 99, 2**31, -2**31, 2**62, -2**63, 2**63 - 1]
NONSENSE_BYTES = [0, 1, 7, 8, 9, 64, 4096]


def fill(server):
    """A store with a row in about every table."""
    admin = server.unix()
    admin.submit_many([{"queue": "work", "params": {"n": n}, "labels": {"k": str(n % 3)}}
                       for n in range(40)])
    admin.submit_many([{"queue": "again", "params": {"n": n}, "key": f"k{n}", "retry": {"max": 3}}
                       for n in range(10)])
    admin.submit_many([{"queue": "other", "delay": "1s"} for _ in range(5)])
    admin.submit("other", delay="1h")
    admin.act(admin.submit("other"), "hold")
    for _ in range(3):
        admin.ok("POST", "/v1/jobs", {"steps": [{"name": "one", "queue": "other"},
                                                {"name": "two", "queue": "work"}]}, 201)
    first = admin.submit("rules")
    admin.submit("rules", after=first)
    admin.submit("rules", after={"signal": "go"})
    running = admin.claim("work", max=20, lease="2s")["jobs"]
    admin.ok("POST", "/v1/emit", {"id": running[0]["id"], "lease": running[0]["lease"], "seq": 1,
                                  "jobs": [{"queue": "work", "key": "e"}, {"queue": "other"}]}, 200)
    for job in running[1:8]:
        admin.finish(job, result={"ok": True})
    admin.finish(running[8], "failed", text="no")
    for job in admin.claim("again", max=4)["jobs"]:
        admin.finish(job, "failed", text="again")
    for job in admin.claim("other", max=2)["jobs"]:
        admin.finish(job, set={"x": 1})
    admin.ok("POST", "/v1/joins/both", {"params": {"on": "a"}}, 200)
    admin.touch(running[10], text="half", done=1, total=2)
    admin.post(f"/v1/jobs/{running[11]['id']}/log", b"line\n")
    return [job["id"] for job in admin.list()], running


def scripted_load(admin, ids, running):
    """Every kind of request.  What they are answered does not matter, only that they are."""
    def all_of(path, *more):
        for body in more:
            yield "POST", path, body

    yield "GET", "/readyz", None
    for path in ("/v1/jobs?limit=1000", "/v1/jobs?state=failed", "/v1/jobs?label=k:1", "/v1/queues",
                 "/v1/workers", "/v1/counts", "/v1/server", "/v1/signals", "/v1/joins",
                 "/v1/topics", "/v1/bulk", "/metrics", "/v1/queues/work", "/v1/queues/work/log"):
        yield "GET", path, None
    yield from all_of("/v1/jobs", {"queue": "work", "params": {"a": 1}},
                      {"queue": "again", "key": "k1"}, {"queue": "other", "after": ids[0]},
                      {"queue": "rules", "after": {"signal": "go"}})
    yield from all_of("/v1/claim",
                      *({"worker": f"w{n}",
                         "queues": {"work": 9, "other": 9, "again": 9, "rules": 9}, "max": 9}
                        for n in range(4)))
    for job in running:
        yield "POST", "/v1/touch", {"touch": [{"id": job["id"], "lease": job["lease"],
                                               "text": "x"}]}
        yield "POST", "/v1/finish", {"finish": [{"id": job["id"], "lease": job["lease"],
                                                 "state": "done"}]}
    for place, job in enumerate(ids):
        yield "GET", f"/v1/jobs/{job}", None
        yield "GET", f"/v1/jobs/{job}/log", None
        verb = ("cancel", "retry", "hold", "release", "now", "clone")[place % 6]
        yield "POST", f"/v1/jobs/{job}/{verb}", None
    yield "POST", "/v1/signals/go", {}
    yield "POST", "/v1/joins/both", {"params": {"on": "a"}}
    yield from all_of("/v1/bulk", {"action": "retry", "filter": {"state": ["failed"]}},
                      {"action": "cancel", "filter": {"queue": "other"}},
                      {"action": "delete", "filter": {"queue": "again"}})
    yield "POST", "/v1/check", {"full": True}
    yield "GET", "/v1/counts", None
    yield "GET", "/readyz", None


def ended_by_itself(server):
    """Asserts that nothing ended it by a signal."""
    status = server.process.poll()
    assert status is None or status >= 0, \
        f"signal {signal.Signals(-status).name}:\n{server.log_text()[-3000:]}"


def run_on(server, ids, running, what):
    """Starts on what is left of a store.  True: it started."""
    server.log.write_text("")
    server.spawn()
    if not server.wait_ready():
        status = server.wait_exit()
        assert status >= 1, (what, status, server.log_text()[-3000:])
        assert "waybill" in server.log_text() or "error" in server.log_text(), (what, "no message")
        return False
    admin = Client(server.socket_path, timeout=30 * PATIENCE)
    for method, path, body in scripted_load(admin, ids, running):
        try:
            reply = admin.request(method, path, body)
        except (OSError, http.client.HTTPException) as error:
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.process.wait(5)
            ended_by_itself(server)
            raise AssertionError(f"{what}: {method} {path}: {error}\n"
                                 f"{server.log_text()[-3000:]}") from error
        assert reply.status, (what, path)
    admin.close()
    ended_by_itself(server)
    assert len(server.log_text()) < 1 << 20, (what, "the log has no bound")
    server.process.send_signal(signal.SIGTERM)
    status = server.wait_exit(20 * PATIENCE)
    assert status >= 0, (what, status, server.log_text()[-3000:])
    return True


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """(directory, ids, claimed jobs) of an embedded store whose server was killed."""
    made = Server(tmp_path_factory.mktemp("filled"), DEFINITIONS, store=Server.EMBEDDED).start()
    ids, running = fill(made)
    made.stop()
    return made, ids, running


def copy_of(filled, directory):
    made, ids, running = filled
    server = Server(os.path.join(directory, "d"), DEFINITIONS, store=Server.EMBEDDED)
    shutil.copytree(made.data, server.data)
    return server, ids, running


# ---- pages

def spoil_pages(path, rng):
    """Some pages, in one of five ways; says which."""
    data = bytearray(path.read_bytes())
    pages = len(data) // PAGE
    how = rng.choice(["flip", "zero", "another", "truncate", "noise"])
    chosen = [rng.randrange(1, pages) for _ in range(rng.choice([1, 1, 2, 5]))]
    for page in chosen:
        at = page * PAGE
        if how == "flip":
            for _ in range(rng.choice([1, 3, 30])):
                data[at + rng.randrange(PAGE)] ^= 1 << rng.randrange(8)
        elif how == "zero":
            data[at:at + PAGE] = bytes(PAGE)
        elif how == "another":
            other = rng.randrange(1, pages) * PAGE
            data[at:at + PAGE] = data[other:other + PAGE]
        elif how == "noise":
            data[at:at + PAGE] = rng.randbytes(PAGE)
    if how == "truncate":
        del data[rng.randrange(PAGE, len(data)):]
    path.write_bytes(data)
    return f"{how} {sorted(chosen)} of {pages}"


@pytest.mark.embedded("the files of PostgreSQL are its own business")
@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + (500 if MANY else 24)))
def test_a_server_lives_on_bad_pages(filled, directory, seed):
    server, ids, running = copy_of(filled, directory)
    what = spoil_pages(server.data / "waybill.db", random.Random(seed))
    run_on(server, ids, running, f"seed {seed}: {what}")


@pytest.mark.embedded("the files of PostgreSQL are its own business")
def test_a_bad_page_that_a_request_meets_makes_it_not_ready(filled, directory):
    server, ids, _ = copy_of(filled, directory)
    path = server.data / "waybill.db"
    db = sqlite3.connect(path)
    root, = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'ended'").fetchone()
    db.close()
    with open(path, "r+b") as file:
        file.seek((root - 1) * PAGE)
        file.write(b"\xff" * PAGE)
    server.start()
    admin = server.unix()
    replies = [admin.get(f"/v1/jobs/{job}").status for job in ids]
    assert 500 in replies and 200 in replies, "the others are there"
    reply = admin.get("/readyz")
    assert reply.status == 503 and b"damaged" in reply.body, reply.body
    server.kill()


# ---- rows

def columns_of(server):
    """[(table, column, kind)]"""
    if server.store:
        name = server.store.rpartition("%3D")[2]
        rows = postgres.ask(server.store, "SELECT table_name, column_name, data_type "
                                          "FROM information_schema.columns "
                                          f"WHERE table_schema = '{name}' ORDER BY 1, 2")
        return [(table, column, {"bigint": "i", "integer": "i", "bytea": "b"}.get(kind, "t"))
                for table, column, kind in rows
                if table not in ("meta", "servers")]
    with sqlite3.connect(server.data / "waybill.db") as db:
        tables = [name for name, in db.execute("SELECT name FROM sqlite_schema "
                                               "WHERE type = 'table' ORDER BY name")
                  if not name.startswith("sqlite_") and name != "meta"]
        found = [(table, row[1], {"INTEGER": "i", "BLOB": "b"}.get(row[2], "t"))
                 for table in tables for row in db.execute(f"PRAGMA table_info({table})")]
    db.close()
    return found


def change(server, table, column, value):
    """True: the database took it."""
    if server.store:
        literal = ("NULL" if value is None else str(value) if isinstance(value, int) else
                   f"'\\x{value.hex()}'" if isinstance(value, bytes) else
                   "'" + value.replace("'", "''") + "'")
        try:
            postgres.ask(server.store, f"UPDATE {table} SET {column} = {literal} WHERE ctid IN "
                                       f"(SELECT ctid FROM {table} ORDER BY random() LIMIT 5)")
        except (postgres.Error, subprocess.CalledProcessError, OSError):
            return False
        return True
    db = sqlite3.connect(server.data / "waybill.db")
    try:
        keys = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[5]] or ["rowid"]
        key = ", ".join(keys)
        changed = db.execute(f"UPDATE {table} SET {column} = ? WHERE ({key}) IN "
                             f"(SELECT {key} FROM {table} ORDER BY random() LIMIT 5)",
                             [value]).rowcount
        db.commit()
        return changed > 0
    except (sqlite3.Error, OverflowError):
        return False
    finally:
        db.close()


def spoil_history(server, job, table="jobs"):
    number = 0
    for char in job:
        number = number * 32 + "0123456789ABCDEFGHJKMNPQRSTVWXYZ".index(char)
    sql = f"UPDATE {table} SET history = '[]' WHERE id = {number}"
    if server.store:
        postgres.ask(server.store, sql)
        return
    db = sqlite3.connect(server.data / "waybill.db")
    assert db.execute(sql).rowcount == 1
    db.commit()
    db.close()


def drop(server):
    """Its place is not given back: it is not as new."""
    if server.store:
        postgres.ask(server.store, f"DROP SCHEMA {server.store.rpartition('%3D')[2]} CASCADE")


def spoil_rows(server, rng):
    columns = columns_of(server)
    done = []
    for _ in range(200):
        table, column, kind = rng.choice(columns)
        value = rng.choice([None, *NONSENSE_TEXT]) if kind == "t" else \
            rng.choice([None, *NONSENSE_NUMBER]) if kind == "i" else \
            rng.randbytes(rng.choice(NONSENSE_BYTES))
        if change(server, table, column, value):
            done.append(f"{table}.{column} = {value!r:.60}")
        if len(done) == 8:
            break
    assert done, "damage that does not happen shows nothing"
    return "; ".join(done)


def test_a_bad_row_is_named_and_stops_nobody_else(directory):
    """The request that meets it fails with its id; the engine leaves it alone; all others go on."""
    server = Server(os.path.join(directory, "d"), DEFINITIONS).start()
    admin = server.unix()
    bad = admin.submit("work")
    due = admin.submit("other", delay="1s")
    good = admin.submit("other", delay="1s")
    server.stop()
    for job in (bad, due):
        spoil_history(server, job)
    server.start()
    admin = server.unix()
    reply = admin.get(f"/v1/jobs/{bad}")
    assert reply.error(500, "internal") and bad.encode() in reply.body, reply.body
    assert admin.get("/readyz").status == 503
    other = admin.submit("work")
    assert [job["id"] for job in admin.claim("work", max=9)["jobs"]] == [other]
    assert admin.take("other")["id"] == good, "it is woken beside one that cannot be"
    assert admin.post(f"/v1/jobs/{bad}/cancel").status == 500
    assert len(server.log_text().splitlines()) < 100, server.log_text()[-3000:]
    server.kill()
    drop(server)


def with_waiters(directory, after, count):
    """A server, a job that others may wait for, and those."""
    server = Server(os.path.join(directory, "d"), DEFINITIONS).start()
    admin = server.unix()
    first = admin.submit("work")
    return server, first, admin.submit_many([{"queue": "other", "after": after or first}] * count)


def assert_passed_over(server, bad):
    """The others went on; that one is told, and not tried for ever."""
    log = server.log_text()
    assert f"job {bad} is skipped until the next start" in log, log[-3000:]
    assert server.unix().get("/readyz").status == 503
    assert server.unix().metrics()["waybill_store_damaged"] == 1
    assert len(log.splitlines()) < 100, log[-3000:]
    server.kill()
    drop(server)


@pytest.mark.parametrize("count, place", [(3, 0), (1500, 1200), (1500, 999)])
def test_damage_met_while_an_end_is_told_is_passed_over(directory, count, place):
    """Within the commit of the end, and in the releases that follow it."""
    server, _, waiters = with_waiters(directory, None, count)
    server.stop()
    spoil_history(server, waiters[place])
    server.start()
    admin = server.unix()
    admin.finish(admin.take("work"))
    eventually(lambda: admin.counts()["other"].get("ready") == count - 1, "the others")
    assert_passed_over(server, waiters[place])


def test_damage_met_while_a_signal_is_told_is_passed_over(directory):
    server, _, waiters = with_waiters(directory, {"signal": "go", "take": True}, 3)
    server.stop()
    spoil_history(server, waiters[1])
    server.start()
    admin = server.unix()
    admin.ok("POST", "/v1/signals/go", {"count": 9}, 200)
    eventually(lambda: admin.counts()["other"].get("ready") == 2, "the others")
    assert_passed_over(server, waiters[1])


def test_damage_met_while_jobs_are_brought_back_is_passed_over(directory):
    server, first, waiters = with_waiters(directory, None, 3)
    admin = server.unix()
    admin.act(first, "cancel")
    eventually(lambda: admin.counts()["other"].get("cancelled") == 3, "those who waited")
    server.stop()
    spoil_history(server, waiters[1], "ended")
    server.start()
    admin = server.unix()
    admin.act(first, "retry")
    eventually(lambda: admin.counts()["other"].get("held") == 2, "the others")
    assert_passed_over(server, waiters[1])


@pytest.mark.embedded("it has a test of its own")
@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + (500 if MANY else 24)))
def test_a_server_lives_on_rows_that_no_server_has_written(filled, directory, seed):
    server, ids, running = copy_of(filled, directory)
    what = spoil_rows(server, random.Random(seed))
    run_on(server, ids, running, f"seed {seed}: {what}")


@pytest.mark.skipif(not postgres.STORE, reason="there is no PostgreSQL")
@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + (100 if MANY else 8)))
def test_a_server_lives_on_such_rows_in_postgresql(directory, seed):
    server = Server(os.path.join(directory, "d"), DEFINITIONS).start()
    ids, running = fill(server)
    server.stop()
    what = spoil_rows(server, random.Random(seed))
    run_on(server, ids, running, f"seed {seed}: {what}")
    drop(server)
