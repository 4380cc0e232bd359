# SPDX-License-Identifier: MIT
"""`waybill store copy`: a store moves into PostgreSQL and back, while nobody is at it."""
import hashlib
import itertools
import json
import os
import shutil
import signal
import sqlite3
import subprocess

import pytest

from postgres import Cluster, ask
from screens import Terminal
from waiting import eventually
from waybill import BIN, Server, plain_env, run_waybill

pytestmark = pytest.mark.embedded("it has stores of both kinds itself")

NUMBERS = itertools.count(1)
LARGE = {"text": "x" * 5000}  # stored once for the jobs of one publication
MANY = 3000
# Tables that are empty when no work is left, or without definitions of their nouns: the store's own
# tests copy a row of each.
UNSETTLED = {"releases", "revivals", "spreads", "follows", "members", "lanes", "gates", "gate_uses",
             "uniques", "gone_scopes", "drops", "filter_counts", "filter_waits", "group_kinds",
             "schedules", "firings", "expiries"}
KEY = "first\nsecond \t ü"
BYTES = bytes(range(256)) * 40
DEFINITIONS = """
queues:
  work: {description: plain}
  other: {description: another}
  again: {retry: {max: 2, first: 0s, jitter: 0}}
  source: {retry: {max: 5, first: 0s}}
  ties: {description: what waits and what has steps}
"""


@pytest.fixture(scope="module", name="cluster")
def a_cluster():
    with Cluster(fast=True) as made:
        yield made


@pytest.fixture(name="database")
def a_database(cluster):
    return new_database(cluster)


def new_database(cluster):
    name = f"copy_{next(NUMBERS)}"
    ask(cluster.url(), f"CREATE DATABASE {name}")
    return cluster.url(name)


@pytest.fixture(name="embedded")
def embedded_servers(servers):
    """Makes servers with a store in their data directory."""

    def make(name="a", **named):
        return servers(name, **{"definitions": DEFINITIONS, "store": Server.EMBEDDED, **named})

    return make


def copy(source, target, *more, **env):
    return run_waybill("store", "copy", "--from", source, "--to", target, *more,
                       env=plain_env(**env))


def copied(source, target):
    """The tables of a copy that must go well."""
    ran = copy(source, target, "--json")
    assert ran.status == 0 and ran.err == "", ran
    document = json.loads(ran.out)
    assert document["ok"] and document["findings"] == [], document
    for table in document["tables"]:
        assert table["ok"] and table["sum"] == table["copied_sum"], table
        assert table["rows"] == table["copied_rows"], table
    return {table["name"]: table["rows"] for table in document["tables"]}


def refused(status, words, source, target, **env):
    ran = copy(source, target, **env)
    assert ran.status == status and ran.out == "", ran
    assert ran.err.startswith("waybill: ") and words in ran.err, ran
    return ran.err


# ---- a store with something of everything


def log(client, job, data):
    reply = client.request("POST", f"/v1/jobs/{job['id']}/log?lease={job['lease']}&offset=0", data)
    assert reply.status == 200, reply.body


def emit(client, job, seq, **fields):
    return client.ok("POST", "/v1/emit",
                     {"id": job["id"], "lease": job["lease"], "seq": seq, **fields}, 200)["ids"]


class Rich:
    """What is in the store, and who waits for what."""

    def __init__(self, server):
        self.server = server
        client, admin = server.tcp(), server.unix()
        self.many = client.submit_many([{"queue": "work", "params": {"n": n}} for n in range(MANY)])
        self.keyed = client.submit("other", key=KEY, params={"a": "\x01ü"}, labels={"l": "x"},
                                   body_base64="AP/+AA==", priority=7)
        self.done = client.take("other", worker="one")
        log(client, self.done, BYTES)
        client.touch(self.done, log={"offset": len(BYTES), "text": "more\n",
                                     "times": [[len(BYTES), 1_760_000_000_000_000]]})
        client.end(self.done, result={"r": [1, None]}, text="well\x01done", set={"a": 1})
        self.fail(client)
        self.wait(client)
        client.submit_many([{"queue": "other"}] * 3)
        self.late, self.lost, self.third = client.claim("other", "gone", lease="60s")["jobs"]
        client.submit("other")
        self.short = client.take("other", worker="gone", lease="1s")
        self.emits(client)
        self.ties(client, admin)
        self.bulk(server, admin)

    def fail(self, client):
        self.failed = client.submit("again")
        for n in range(3):
            job = client.take("again")
            client.end(job, "failed", exit=n + 1, text=f"try {n} \x01")
        assert client.state(self.failed) == "failed"

    def wait(self, client):
        self.held = client.submit("other")
        client.act(self.held, "hold")
        self.cancelled = client.submit("other")
        client.act(self.cancelled, "cancel")
        self.later = client.submit("other", delay="1h")

    def emits(self, client):
        client.submit("source")
        self.emitter = client.take("source", lease="60s")
        self.staged = emit(client, self.emitter, 1, jobs=[{"queue": "other", "key": "staged"}] * 1)
        self.staged += emit(client, self.emitter, 2, jobs=[{"queue": "other"}] * 2)
        self.walker = client.submit("source")
        job = client.take("source")
        emit(client, job, 1, jobs=[{"queue": "again"}], visible=True, cursor={"next": 17})
        client.end(job, "failed")
        assert client.show(self.walker)["cursor"] == {"next": 17}

    def ties(self, client, admin):
        both = {"subscribe": ["pair"]}
        admin.ok("POST", "/v1/definitions", {"queues": {"left": both, "right": both},
                                             "joins": {"meet": {"count": 2, "then": ["other"]}}},
                 200)
        self.pair = client.ok("POST", "/v1/topics/pair", {"params": LARGE}, 202)["ids"]
        client.ok("POST", "/v1/joins/meet", {"params": {}}, 200)
        client.ok("POST", "/v1/signals/dump", {"count": 4}, 200)
        self.waits = client.submit("ties", after=[{"signal": "dump", "count": 5}])
        assert client.state(client.submit("ties", after=[self.failed])) == "cancelled"
        self.routed = client.ok("POST", "/v1/jobs",
                                {"steps": [{"queue": "ties"}, {"name": "last", "queue": "ties"}]},
                                201)["id"]
        client.end(client.take("ties"), set={"x": 1})

    def bulk(self, server, admin):
        """Half of it is done when the server is killed."""
        server.stop()
        server.start(env={"WAYBILL_FAULT": "commit.after:7"})
        admin = server.unix()
        try:
            admin.post("/v1/bulk", {"action": "hold", "filter": {"queue": "work"}})
        except (ConnectionError, OSError):
            pass
        assert server.wait_exit() == -9

    def goes_on(self, server):
        """Whoever has the store now works on it as if nothing had been."""
        client, admin = server.tcp(), server.unix()
        newest = max(job["id"] for job in client.list())
        assert client.submit("other") > newest
        assert client.finish(self.late)["ok"] and client.state(self.late["id"]) == "done"
        assert client.finish(self.late)["again"]
        assert client.touch(self.third)["lost"] == []
        log(client, self.third, b"goes on")
        client.end(self.third, "failed")
        eventually(lambda: client.show(self.short["id"])["lost"] == 1, "the lost job was noticed")
        assert client.state(self.lost["id"]) == "running"
        assert {client.state(job) for job in self.staged} == {"staged"}
        client.end(self.emitter)
        eventually(lambda: {client.state(job) for job in self.staged} == {"ready"},
                   "the staged jobs are there")
        assert client.take("source", worker="next")["cursor"] == {"next": 17}
        (work,) = admin.ok("GET", "/v1/bulk")["bulk"]
        shown = admin.ok("GET", f"/v1/bulk/{work['id']}?wait=10s")
        assert shown["state"] == "done" and shown["changed"] == MANY, shown
        assert client.counts()["work"] == {"held": MANY}
        self.is_as_it_was(client)

    def is_as_it_was(self, client):
        reply = client.post("/v1/jobs", {"queue": "other", "key": KEY, "params": {"a": "\x01ü"},
                                         "labels": {"l": "x"}, "body_base64": "AP/+AA==",
                                         "priority": 7})
        assert reply.status == 200 and reply.json["id"] == self.keyed
        assert client.get(f"/v1/jobs/{self.keyed}/log").body == BYTES + b"more\n"
        shown = client.show(self.keyed)
        assert shown["result"] == {"r": [1, None]} and shown["text"] == "well\x01done"
        assert [client.show(job)["params"] for job in self.pair] == [LARGE, LARGE]
        progress = client.show(self.failed)["progress"]
        assert [entry["status"] for entry in progress] == [1, 2, 3]
        assert progress[0]["text"] == "try 0 \x01"
        assert client.state(self.held) == "held" and client.state(self.later) == "scheduled"
        assert client.state(self.cancelled) == "cancelled"
        client.ok("POST", "/v1/signals/dump", {}, 200)
        assert client.state(self.waits) == "ready"
        routed = client.show(self.routed)
        assert (routed["step"], routed["set"], len(routed["progress"])) == (2, {"x": 1}, 1), routed
        assert client.ok("POST", "/v1/joins/meet", {"params": {}}, 200)["fired"]
        assert {worker["name"] for worker in client.ok("GET", "/v1/workers")["workers"]} >= {"one",
                                                                                            "gone"}


def files_of(server):
    """The bytes of the store: what a copy must not change."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in server.data.glob("waybill.db*") if not path.name.endswith("-shm")}


def rows_of(server, tmp_path):
    """{table: rows}, read from a copy of the files; the node that wrote them is left out."""
    place = tmp_path / f"rows{next(NUMBERS)}"
    place.mkdir()
    for path in server.data.glob("waybill.db*"):
        shutil.copy(path, place)
    with sqlite3.connect(place / "waybill.db") as db:
        tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        names = [name for (name,) in tables]
        found = {name: all_of(db, name) for name in names}
    found["meta"] = [row for row in found["meta"] if row[0] not in (b"running", b"log")]
    return found


def all_of(db, table):
    columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[1] != "node"]
    values = ", ".join(f"typeof({name}), CAST({name} AS BLOB)" for name in columns)
    if table == "meta":
        values = "CAST(key AS BLOB), value"
    return sorted(map(tuple, db.execute(f"SELECT {values} FROM {table}")), key=repr)


def test_everything_goes_into_postgresql_and_back(embedded, cluster, tmp_path):
    rich = Rich(embedded().start())
    before = files_of(rich.server)
    first, second, back = new_database(cluster), new_database(cluster), embedded("back")
    counts = copied(rich.server.data, first)
    assert all(n for table, n in counts.items() if table not in UNSETTLED), \
        [t for t in counts if not counts[t]]
    assert copied(first, second) == counts
    assert copied(second, back.data) == counts
    assert files_of(rich.server) == before
    assert rows_of(back, tmp_path) == rows_of(rich.server, tmp_path)


@pytest.mark.parametrize("kind", ["postgresql", "embedded"])
def test_a_server_goes_on_with_the_copy(embedded, servers, database, kind):
    rich = Rich(embedded().start())
    copied(rich.server.data, database)
    if kind == "postgresql":
        rich.goes_on(servers("b", definitions=DEFINITIONS, store=database).start())
        return
    back = embedded("back")
    copied(database, back.data)
    rich.goes_on(back.start())


def test_what_several_servers_have_made_goes_into_one_directory(servers, embedded, database):
    pair = [servers(name, definitions=DEFINITIONS, store=database).start() for name in "xy"]
    ids = [server.tcp().submit("work") for server in pair for _ in range(5)]
    leases = [server.tcp().take("work", lease="60s") for server in pair]
    for server in pair:
        server.stop()
    back = embedded("back")
    assert copied(database, back.data)["claims"] == 2
    client = back.start().tcp()
    for job in leases:
        client.end(job)
    assert client.counts() == {"work": {"ready": 8, "done": 2}}
    assert client.submit("work") > max(ids)


def test_people_see_a_table(embedded, database):
    server = embedded().start()
    server.tcp().submit()
    server.stop()
    ran = copy(server.data, database)
    assert ran.status == 0 and ran.err == "", ran
    lines = ran.out.splitlines()
    assert lines[0].split() == ["TABLE", "ROWS", "SUM", "COPIED", "SUM"]
    assert any(line.startswith("jobs ") and line.endswith("the same") for line in lines), ran.out
    assert "both agree" in lines[-1] and database in lines[-1]


def test_on_a_terminal_it_shows_how_far_it_is(embedded, database):
    server = embedded().start()
    server.tcp().submit_many([{"queue": "work"}] * MANY)
    server.stop()
    screen = Terminal("store", "copy", "--from", server.data, "--to", database)
    try:
        screen.until(r"copying \w+  \d+ rows")
        screen.until(r"checking the target  \d{4,} rows")
        screen.until(r"both agree")
        assert screen.wait() == 0
    finally:
        screen.close()


# ---- what is refused


def test_a_directory_in_use_is_refused_at_either_end(embedded, database, directory):
    server = embedded().start()
    refused(5, "in use by the server with process id", server.data, database)
    idle = embedded("b").start()
    idle.stop()
    refused(5, "in use by the server with process id", idle.data, server.data)
    assert not (server.dir / "new").exists() and directory


def test_a_database_in_use_is_refused_at_either_end(embedded, servers, cluster, database):
    used = servers("used", definitions=DEFINITIONS, store=database).start()
    plain = embedded().start()
    plain.stop()
    refused(5, "the source: server", database, new_database(cluster))
    refused(5, "the target: server", plain.data, database)
    used.kill()  # it may be taken for alive for a while
    assert "declared dead" in refused(5, "the source: server", database, new_database(cluster))
    used.start()
    used.stop()
    copied(database, new_database(cluster))


def test_a_target_that_holds_something_is_refused(embedded, cluster, database):
    server = embedded().start()
    server.tcp().submit()
    server.stop()
    copied(server.data, database)
    refused(4, "not empty: there are rows in jobs", server.data, database)
    defined = embedded("b").start()  # definitions were applied
    defined.stop()
    refused(4, "not empty", server.data, defined.data)
    refused(4, "not empty", database, defined.data)
    copied(database, new_database(cluster))


def test_a_store_that_was_only_started_is_a_target(embedded, servers, database):
    server = embedded().start()
    server.tcp().submit()
    server.stop()
    new = servers("new", definitions="queues: {}", store=database).start()
    new.stop()
    copied(server.data, database)
    assert new.start().tcp().counts() == {"work": {"ready": 1}}


def test_the_mark_of_a_removed_store_does_not_fail_a_copy(embedded):
    """waybill.db-mark tells of commits that a new store cannot have lost."""
    source, target = embedded("a"), embedded("b")
    for server in (source.start(), target.start()):
        server.unix().submit("work")
        server.stop()
    (target.data / "waybill.db").unlink()
    assert (target.data / "waybill.db-mark").exists()
    copied(source.data, target.data)
    assert not (target.data / "damage").exists()
    target.start()
    assert target.unix().get("/readyz").status == 200


def test_the_same_place_twice_is_refused(embedded, database):
    server = embedded().start()
    server.stop()
    refused(4, "the same directory", server.data, f"{server.data}/.")
    copied(server.data, database)
    refused(4, "it is the source", database, f"{database}&application_name=other")


@pytest.mark.parametrize("version, words", [(2, "has version 2"), (99, "version 99")])
def test_another_version_is_refused(embedded, cluster, database, version, words):
    server = embedded().start()
    server.stop()
    copied(server.data, database)
    ask(database, f"UPDATE meta SET value = {version} WHERE key = 'version'")
    ran = copy(database, new_database(cluster))
    assert ran.status != 0 and words in ran.err, ran


def test_what_is_no_store_is_refused(embedded, cluster, database, tmp_path):
    server = embedded().start()
    server.stop()
    refused(3, "there is no store in", tmp_path / "nowhere", database)
    refused(4, "is not a store like", server.data, "mysql://user@host/name")
    refused(5, "holds no store yet", database, tmp_path / "new")
    missing = cluster.url("missing").replace("waybill@", "waybill:geheim@")
    assert "geheim" not in refused(5, "missing", server.data, missing)
    assert run_waybill("store", "copy", "--from", server.data).status == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_another_user_is_no_target(embedded, tmp_path):
    server = embedded().start()
    server.stop()
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    os.chown(foreign, 65534, 65534)
    refused(4, "belongs to another user (65534)", server.data, foreign)
    assert list(foreign.iterdir()) == []


# ---- interrupted


def refuses_to_serve(server):
    server.spawn()
    assert server.read_ready() == ""
    assert server.wait_exit() != 0
    assert "was not finished: repeat `waybill store copy`" in server.log_text()


@pytest.mark.parametrize("commits", [1, 2, 3])
def test_a_copy_that_was_killed_can_be_repeated(embedded, servers, database, commits):
    source = embedded().start()
    source.tcp().submit_many([{"queue": "work", "params": {"n": n}} for n in range(MANY)])
    source.stop()
    targets = [(database, servers("pg", definitions="queues: {}", store=database))]
    back = embedded("back", definitions="queues: {}")
    targets.append((back.data, back))
    for target, server in targets:
        ran = copy(source.data, target, WAYBILL_FAULT=f"copy.committed:{commits}")
        assert ran.status == -9, ran
        refuses_to_serve(server)
        refused(5, "was not finished", target, new_name(back))
        copied(source.data, target)
        assert server.start().tcp().counts() == {"work": {"ready": MANY}}


@pytest.mark.parametrize("fault", ["commit.cut", "commit.lost"])
@pytest.mark.parametrize("commits", [1, 3, 5])
def test_a_copy_that_lost_its_connection_can_be_repeated(
        embedded, servers, database, fault, commits):
    source = embedded().start()
    source.tcp().submit_many([{"queue": "work", "params": {"n": n}} for n in range(MANY)])
    source.stop()
    ran = copy(source.data, database, WAYBILL_FAULT=f"{fault}:{commits}:fail")
    assert ran.status == 5 and ran.out == "", ran
    server = servers("pg", definitions="queues: {}", store=database)
    if "the copy is whole" not in ran.err or fault == "commit.cut":
        copied(source.data, database)
    assert server.start().tcp().counts() == {"work": {"ready": MANY}}


def new_name(server):
    return server.dir / f"new{next(NUMBERS)}"


def test_an_interrupt_ends_a_copy_and_harms_nothing(embedded, database):
    source = embedded().start()
    source.tcp().submit_many([{"queue": "work"}] * MANY)
    source.stop()
    before = files_of(source)
    with subprocess.Popen([BIN, "store", "copy", "--from", source.data, "--to", database],
                          env=plain_env(), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        process.send_signal(signal.SIGINT)
        assert process.wait(10) in (-signal.SIGINT, 0)
    assert files_of(source) == before
    ran = copy(source.data, database)
    assert ran.status == 0 or "not empty" in ran.err, ran
