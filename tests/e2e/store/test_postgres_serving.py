# SPDX-License-Identifier: MIT
"""Servers that share a PostgreSQL: its configuration, their notices, its loss."""
import http.client
import itertools
import os
import signal
import time
from pathlib import Path

import pytest

from postgres import Cluster, ask
from screens import Terminal
from waiting import PATIENCE, Background, eventually
from waybill import QUEUES, Server

pytestmark = pytest.mark.embedded("has a PostgreSQL of its own")

NUMBERS = itertools.count(1)
AT_ONCE_S = 2 * PATIENCE  # far below the pace at which servers look around by themselves
LOCKED = "locked"
PASSWORD = "right?one"  # libpq takes it unencoded


@pytest.fixture(scope="module", name="cluster")
def a_cluster():
    """All may come in, but for one role that needs a password."""
    made = Cluster(fast=True)
    rules = made.data / "pg_hba.conf"
    rules.write_text(f"local all {LOCKED} scram-sha-256\n{rules.read_text()}")
    with made:
        ask(made.url(), f"CREATE ROLE {LOCKED} LOGIN PASSWORD '{PASSWORD}'")
        yield made


@pytest.fixture(name="database")
def a_database(cluster):
    """The URL of one of its own."""
    return new_database(cluster)


@pytest.fixture(name="own_cluster")
def a_cluster_that_may_be_stopped(cluster):
    """Ask for it before `servers`: they look at their store when they are done."""
    yield cluster
    if not cluster.running():
        cluster.start()


def new_database(cluster, more=""):
    name = f"serving_{next(NUMBERS)}"
    ask(cluster.url(), f"CREATE DATABASE {name} {more}")
    return cluster.url(name)


def pair(servers, url, **named):
    return (servers("a", store=url, **named).start(), servers("b", store=url, **named).start())


def store_of(server):
    return server.unix().ok("GET", "/v1/server")["store"]


def names_of(server):
    """{server id: node} of those that share the store, as this one sees them."""
    client = server.unix()
    try:
        return {one["name"]: one["node"] for one in client.ok("GET", "/v1/server")["servers"]}
    finally:
        client.close()


def name_of(server):
    return (server.data / "server-id").read_text().split()[0]


# ---- how a server is told

def test_jobs_are_in_the_store_that_the_option_names(servers, database):
    server = servers(store=database).start()
    job_id = server.tcp().submit(params={"n": 1})
    server.restart()
    assert server.tcp().show(job_id)["params"] == {"n": 1}
    assert store_of(server)["kind"] == "postgresql" and store_of(server)["url"] == database
    assert ask(database, "SELECT count(*) FROM jobs") == [["1"]]
    assert not (server.data / "waybill.db").exists()


def test_the_environment_names_the_store(servers, database):
    server = servers(store=Server.EMBEDDED, env={"WAYBILL_STORE": database}).start()
    assert store_of(server)["url"] == database


def test_definitions_name_the_store(servers, database):
    server = servers(store=Server.EMBEDDED,
                     definitions=f"{QUEUES}\nserver: {{store: '{database}'}}\n").start()
    assert store_of(server)["url"] == database


def test_the_option_is_heeded_before_the_environment_and_that_before_definitions(servers, database):
    elsewhere = "postgresql://nobody@/nothing?host=/nonexistent"
    definitions = f"{QUEUES}\nserver: {{store: '{elsewhere}'}}\n"
    server = servers(store=Server.EMBEDDED, env={"WAYBILL_STORE": database},
                     definitions=definitions).start()
    assert store_of(server)["url"] == database
    server.stop()
    server.store, server.env = database, {"WAYBILL_STORE": elsewhere}
    assert store_of(server.start())["url"] == database


def test_an_embedded_store_that_was_left_behind_is_told_of(servers, database):
    server = servers(store=Server.EMBEDDED).start()
    server.stop()
    server.store = database
    server.start()
    assert "waybill.db in the data directory is not used" in server.log_text()


def test_an_embedded_store_says_so_and_has_no_other_servers(servers):
    server = servers(store=Server.EMBEDDED).start()
    assert store_of(server)["kind"] == "embedded"
    assert store_of(server)["path"] == str(server.data / "waybill.db")
    assert "servers" not in server.unix().ok("GET", "/v1/server")
    assert not (server.data / "server-id").exists()


# ---- what is wrong with it

def refused(server, status, *words):
    server.spawn()
    assert server.read_ready() == ""
    assert server.wait_exit() == status, server.log_text()
    text = server.log_text()
    server.process = None  # nothing to be looked after
    for word in words:
        assert word in text, text
    return text


def test_a_kind_of_store_that_there_is_not_is_a_mistake_in_the_line(servers):
    refused(servers(store="mysql://me:secret@host/db"), 2, "--store", "mysql://me:***@host/db",
            "postgresql://")
    refused(servers("env", store=Server.EMBEDDED, env={"WAYBILL_STORE": "nonsense"}), 2,
            "WAYBILL_STORE", "'nonsense'")


def test_a_start_without_a_database_server_is_refused(servers, directory):
    refused(servers(store=f"postgresql://me@/db?host={directory}"), 5, directory)


def test_a_start_on_an_unknown_database_is_refused(servers, cluster):
    refused(servers(store=cluster.url("nowhere")), 5, '"nowhere" does not exist')


def test_a_start_on_a_database_that_is_not_utf8_is_refused(servers, cluster):
    url = new_database(cluster, "TEMPLATE template0 ENCODING 'LATIN1'")
    refused(servers(store=url), 5, "UTF8", "LATIN1")


def test_a_start_without_the_right_to_make_tables_is_refused(servers, cluster, database):
    name = f"weak_{next(NUMBERS)}"
    ask(cluster.url(), f"CREATE ROLE {name} LOGIN")
    refused(servers(store=database.replace("waybill@", f"{name}@")), 5, "permission denied")


def locked(database, password=None):
    """The URL for the role with a password, which may be in it."""
    return database.replace("waybill@", f"{LOCKED}:{password}@" if password else f"{LOCKED}@")


@pytest.fixture(name="locked_database")
def a_database_of_the_role_with_a_password(cluster):
    url = new_database(cluster)
    ask(url, f"GRANT ALL ON SCHEMA public TO {LOCKED}")
    return url


def test_a_wrong_password_is_refused_and_not_shown(servers, locked_database):
    text = refused(servers(store=locked(locked_database, "wrong-one")), 5, "password", LOCKED)
    assert "wrong-one" not in text


def test_a_password_is_shown_nowhere(servers, locked_database):
    server = servers(store=locked(locked_database, PASSWORD), slots=1).start()
    shown = server.unix().get("/v1/server").body.decode()
    assert f"{LOCKED}:***@" in shown and PASSWORD not in shown
    assert PASSWORD not in server.log_text()
    worker = server.unix().ok("GET", "/v1/server")["worker"]
    for pid in (server.process.pid, worker["pid"]):
        assert PASSWORD.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
    assert b"WAYBILL_STORE" not in Path(f"/proc/{worker['pid']}/environ").read_bytes()


def test_the_local_worker_does_not_learn_the_store_from_the_environment(servers, database):
    server = servers(store=Server.EMBEDDED, env={"WAYBILL_STORE": database}, slots=1).start()
    pid = server.unix().ok("GET", "/v1/server")["worker"]["pid"]
    assert b"WAYBILL_STORE" not in Path(f"/proc/{pid}/environ").read_bytes()


def test_a_password_file_works(servers, locked_database, directory):
    file = Path(directory) / "pgpass"
    file.write_text(f"*:*:*:{LOCKED}:{PASSWORD}\n")
    file.chmod(0o600)
    server = servers(store=locked(locked_database), env={"PGPASSFILE": str(file)}).start()
    assert server.tcp().submit()
    server.store = locked(locked_database, PASSWORD)  # for the check at the end


# ---- several servers

def test_servers_see_each_others_jobs_and_counts(servers, database):
    a, b = pair(servers, database)
    ids = [a.tcp().submit(), b.tcp().submit()]
    assert len(set(ids)) == 2
    for server in (a, b):
        assert {job["id"] for job in server.tcp().list()} == set(ids)
        assert server.tcp().counts() == {"work": {"ready": 2}}


def test_servers_see_each_other(servers, database):
    a, b = pair(servers, database)
    names = {name_of(a), name_of(b)}
    for server in (a, b):
        shown = server.unix().ok("GET", "/v1/server")["servers"]
        assert {one["name"] for one in shown} == names
        assert len({one["node"] for one in shown}) == 2
        assert {one["pid"] for one in shown} == {a.process.pid, b.process.pid}
        assert [one["name"] for one in shown if one["self"]] == [name_of(server)]
        assert f"http://127.0.0.1:{server.port}" in [one["url"] for one in shown]
    text = a.cli("status").out
    assert str(b.process.pid) in text and "this one" in text, text


def test_a_server_that_stops_leaves_and_comes_back_under_its_name(servers, database):
    a, b = pair(servers, database)
    name = name_of(a)
    a.stop()
    eventually(lambda: set(names_of(b)) == {name_of(b)}, "the leave")
    assert "this one" not in b.cli("status").out
    a.start()
    assert name_of(a) == name and set(names_of(b)) == {name, name_of(b)}


def test_a_claim_that_waits_is_woken_by_a_job_that_another_server_got(servers, database):
    a, b = pair(servers, database)
    call = Background(b.tcp().claim, "work", wait="50s")
    eventually(lambda: b.tcp().waiting() == 1)
    job_id = a.tcp().submit()
    start = time.monotonic()
    jobs = call.result()["jobs"]
    assert [job["id"] for job in jobs] == [job_id]
    assert time.monotonic() - start < AT_ONCE_S
    a.tcp().end(jobs[0])  # whichever server it is told
    assert b.tcp().state(job_id) == "done"


def test_a_job_that_is_delayed_is_given_out_by_whichever_server_waits(servers, database):
    a, b = pair(servers, database)
    call = Background(b.tcp().claim, "work", wait="50s")
    eventually(lambda: b.tcp().waiting() == 1)
    job_id = a.tcp().submit(delay="1s")
    assert [job["id"] for job in call.result(15 * PATIENCE)["jobs"]] == [job_id]


def test_a_wait_is_answered_when_the_job_ends_through_another_server(servers, database):
    a, b = pair(servers, database)
    job_id = a.tcp().submit()
    job = a.tcp().take()
    call = Background(b.tcp().ok, "GET", f"/v1/jobs/{job_id}?wait=50s")
    eventually(lambda: b.tcp().waiting() == 1)
    start = time.monotonic()
    a.tcp().end(job, result=5)
    assert call.result()["result"] == 5
    assert time.monotonic() - start < AT_ONCE_S


def test_a_job_is_cancelled_through_another_server_than_its_workers(servers, database):
    queues = "queues: {sleep: {command: [sleep, '1000']}}\n"
    a, b = pair(servers, database, definitions=queues)
    a.stop()
    a.slots = 1
    a.start()
    job_id = b.tcp().submit("sleep")
    eventually(lambda: b.tcp().state(job_id) == "running", "the start")
    b.tcp().act(job_id, "cancel", status=202)
    eventually(lambda: b.tcp().state(job_id) == "cancelled", "the end of the program")


def test_a_lease_lives_by_touches_through_another_server(servers, database):
    a, b = pair(servers, database)
    a.tcp().submit()
    job = a.tcp().claim(lease="1s")["jobs"][0]
    client, until = b.tcp(), time.monotonic() + 5

    def touched_long_enough():
        assert client.touch(job)["lost"] == []
        return time.monotonic() > until

    eventually(touched_long_enough, "five leases")
    shown = a.tcp().show(job["id"])
    assert (shown["state"], shown["attempt"], shown["lost"]) == ("running", 1, 0), shown
    client.end(job)


def test_a_lease_that_nobody_touches_runs_out_for_all_servers(servers, database):
    a, b = pair(servers, database)
    job_id = a.tcp().submit()
    old = a.tcp().claim(lease="1s")["jobs"][0]
    b.tcp().touch(old)
    fresh = b.tcp().take(wait="30s")
    assert fresh["id"] == job_id and fresh["lease"] != old["lease"]
    assert a.tcp().finish(old)["error"]["code"] == "stale_lease"
    a.tcp().end(fresh)


def test_definitions_put_through_one_server_hold_for_all(servers, database):
    a, b = pair(servers, database)
    call = Background(b.tcp().claim, "work", wait="50s", definitions=definitions_of(b))
    eventually(lambda: b.tcp().waiting() == 1)
    a.unix().ok("PUT", "/v1/queues/fresh", {"description": "new"}, 201)
    assert call.result()["definitions"] == definitions_of(a) == definitions_of(b)
    job_id = b.tcp().submit("fresh")
    assert a.tcp().take("fresh")["id"] == job_id


def definitions_of(server):
    return server.tcp().ok("GET", "/v1/queues")["definitions"]


def test_a_log_is_followed_through_another_server(servers, database):
    a, b = pair(servers, database)
    job_id = a.tcp().submit()
    job = a.tcp().take()
    wire = b.wire()
    wire.send(f"GET /v1/jobs/{job_id}/log?follow=1 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    reply = Background(wire.reply)
    for at, text in ((0, "one "), (4, "two ")):
        a.tcp().ok("POST", f"/v1/jobs/{job_id}/log?lease={job['lease']}&offset={at}", text)
    a.tcp().end(job, log={"offset": 8, "text": "three"})
    assert reply.result().body == b"one two three"
    wire.close()


def test_the_live_screen_shows_what_another_server_does(servers, database):
    a, b = pair(servers, database)
    terminal = Terminal("top", "--data", b.data)
    try:
        terminal.until("q quits")
        for count in (1, 2):  # the first may be seen because the screen has only just begun
            mark = terminal.mark()
            a.tcp().submit("other")
            terminal.until(f"other: {count} ready", start=mark)
    finally:
        terminal.close()


def test_a_backup_is_the_databases_business_and_a_check_is_ours(servers, database, directory):
    server = servers(store=database).start()
    server.tcp().submit()
    message = server.unix().refused(422, "invalid", "POST", "/v1/backup",
                                    {"dir": f"{directory}/copy"})["message"]
    assert "pg_dump" in message
    ran = server.cli("backup", f"{directory}/copy")
    assert ran.status == 4 and "pg_dump" in ran.err, ran
    assert server.unix().ok("POST", "/v1/check", {"full": True}) == {"ok": True, "findings": []}
    ask(database, "UPDATE counts SET n = n + 1")
    found = server.unix().ok("POST", "/v1/check", {"full": True})
    assert not found["ok"] and found["findings"], found
    ask(database, "UPDATE counts SET n = n - 1")


# ---- a server that was taken for dead

def test_what_a_frozen_server_granted_is_looked_after_by_another(servers, database):
    a, b = pair(servers, database)
    job_ids = [a.tcp().submit(), a.tcp().submit()]
    jobs = a.tcp().claim(max=2, lease="60s")["jobs"]
    name, node = name_of(a), names_of(a)[name_of(a)]
    a.process.send_signal(signal.SIGSTOP)
    try:
        # Instead of waiting for its time to pass.
        ask(database, f"UPDATE servers SET alive_until_at = 1 WHERE node = {node}")
        eventually(lambda: name not in names_of(b), "its burial", 30 * PATIENCE)
        b.tcp().end(jobs[0])
    finally:
        a.process.send_signal(signal.SIGCONT)
    eventually(lambda: name in names_of(b), "its return", 30 * PATIENCE)
    eventually(lambda: a.tcp().get("/readyz").status == 200, "work")
    a.tcp().end(jobs[1])
    assert [b.tcp().state(job_id) for job_id in job_ids] == ["done", "done"]
    fresh = a.tcp().submit()
    assert b.tcp().take()["id"] == fresh and fresh not in job_ids


def test_a_killed_servers_claims_run_out_by_another_ones_watch(servers, database):
    a, b = pair(servers, database)
    job_id = a.tcp().submit()
    a.tcp().claim(lease="1s")
    node = names_of(a)[name_of(a)]
    a.kill()
    ask(database, f"UPDATE servers SET alive_until_at = 1 WHERE node = {node}")
    call = Background(b.tcp().claim, "work", wait="50s")
    assert [job["id"] for job in call.result(40 * PATIENCE)["jobs"]] == [job_id]


# ---- the database is away

def away(server):
    return server.tcp().metrics().get("waybill_store_up") == 0


def test_without_its_database_a_server_refuses_at_once_and_says_so(own_cluster, servers):
    server = servers(store=new_database(own_cluster)).start()
    client = server.tcp()
    job_id = client.submit()
    assert client.metrics()["waybill_store_up"] == 1
    own_cluster.stop()
    eventually(lambda: client.post("/v1/jobs", {"queue": "work"}).status == 503, "the loss")
    for method, path, body in (("POST", "/v1/jobs", {"queue": "work"}),
                               ("POST", "/v1/claim", {"worker": "w", "queues": {"work": 1},
                                                      "wait": "50s"}),
                               ("POST", f"/v1/jobs/{job_id}/cancel", None),
                               ("GET", f"/v1/jobs/{job_id}", None), ("GET", "/v1/jobs", None),
                               ("GET", f"/v1/jobs/{job_id}?wait=50s", None)):
        start = time.monotonic()
        client.refused(503, "unavailable", method, path, body)
        assert time.monotonic() - start < 4 * PATIENCE, (method, path)
    assert client.get("/healthz").status == 200
    assert "database" in client.get("/readyz").error(503, "unavailable")["message"]
    eventually(lambda: away(server), "the gauge")
    assert store_of(server)["up"] is False
    assert server.cli("add", "work").status == server.cli("status").status == 5
    ran = server.cli("check")
    assert ran.status == 2 and "CRITICAL" in ran.out and "database" in ran.out, ran
    own_cluster.start()
    eventually(lambda: client.get("/readyz").status == 200, "recovery")
    assert client.state(job_id) == "ready"
    assert client.take()["id"] == job_id
    assert client.metrics()["waybill_store_up"] == 1


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_claim_that_waits_stays_while_the_database_is_away(own_cluster, servers, mode):
    server = servers(store=new_database(own_cluster)).start()
    call = Background(server.tcp().claim, "work", wait="50s")
    eventually(lambda: server.tcp().waiting() == 1)
    own_cluster.stop(mode)
    eventually(lambda: server.tcp().post("/v1/jobs", {"queue": "work"}).status == 503, "the loss")
    assert call.running() and server.tcp().waiting() == 1
    own_cluster.start()
    start = time.monotonic()
    eventually(lambda: server.tcp().post("/v1/jobs", {"queue": "work"}).status == 201, "recovery")
    assert len(call.result()["jobs"]) == 1
    assert time.monotonic() - start < 5 * PATIENCE


def test_a_waiting_claim_is_served_after_an_outage_that_nobody_else_noticed(own_cluster, servers):
    """No request comes that could find out: the server does so by itself."""
    a, b = pair(servers, new_database(own_cluster))
    call = Background(b.tcp().claim, "work", wait="50s")
    eventually(lambda: b.tcp().waiting() == 1)
    own_cluster.stop()
    own_cluster.start()
    eventually(lambda: a.tcp().post("/v1/jobs", {"queue": "work"}).status == 201, "recovery")
    assert len(call.result()["jobs"]) == 1


def test_a_program_runs_through_an_outage_and_its_end_is_told_afterwards(own_cluster, servers,
                                                                         directory):
    gate = Path(directory) / "gate"
    script = f"while [ ! -e {gate} ]; do sleep 0.05; done; echo through"
    queues = f"queues: {{gate: {{command: '{script}'}}}}\n"
    server = servers(store=new_database(own_cluster), definitions=queues, slots=1).start()
    job_id = server.tcp().submit("gate")
    eventually(lambda: server.tcp().state(job_id) == "running", "the start")
    own_cluster.stop()
    eventually(lambda: server.tcp().post("/v1/jobs", {"queue": "gate"}).status == 503, "the loss")
    gate.write_text("")
    own_cluster.start()
    eventually(lambda: server.tcp().get(f"/v1/jobs/{job_id}").status == 200, "recovery")
    eventually(lambda: server.tcp().state(job_id) == "done", "the end")
    job = server.tcp().show(job_id)
    assert job["attempt"] == 1 and job.get("lost", 0) == 0, job
    assert server.tcp().get(f"/v1/jobs/{job_id}/log").body == b"through\n"


def test_a_wait_in_the_shell_lasts_through_an_outage(own_cluster, servers):
    server = servers(store=new_database(own_cluster)).start()
    client = server.tcp()
    job_id = client.submit()
    job = client.take()
    call = Background(server.cli, "wait", job_id)
    eventually(lambda: client.waiting() == 1)
    own_cluster.stop()
    eventually(lambda: client.post("/v1/jobs", {"queue": "work"}).status == 503, "the loss")
    late = Background(server.cli, "wait", job_id).result()
    assert late.status == 5, late
    own_cluster.start()
    eventually(lambda: client.get("/readyz").status == 200, "recovery")
    client.end(job)
    assert call.result().status == 0


def test_a_followed_log_goes_on_after_an_outage(own_cluster, servers):
    server = servers(store=new_database(own_cluster)).start()
    client = server.tcp()
    job_id = client.submit()
    job = client.take()
    path = f"/v1/jobs/{job_id}/log?lease={job['lease']}&offset="
    client.ok("POST", path + "0", "before ")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=client.timeout)
    connection.request("GET", f"/v1/jobs/{job_id}/log?follow=1")
    stream = connection.getresponse()
    assert stream.read(7) == b"before "
    rest = Background(stream.read)
    own_cluster.stop()
    eventually(lambda: client.post("/v1/jobs", {"queue": "work"}).status == 503, "the loss")
    assert client.get(f"/v1/jobs/{job_id}/log").status == 503
    own_cluster.start()
    eventually(lambda: client.post(path + "7", "after").status == 200, "recovery")
    client.end(job)
    assert rest.result() == b"after"
    connection.close()


def test_term_ends_a_server_whose_database_is_away(own_cluster, servers):
    server = servers(store=new_database(own_cluster), slots=1).start()
    client = server.tcp()
    call = Background(server.tcp().post, "/v1/claim",
                      {"worker": "w", "queues": {"work": 1}, "wait": "50s"})
    eventually(lambda: client.waiting() >= 1)
    own_cluster.stop()
    eventually(lambda: client.post("/v1/jobs", {"queue": "work"}).status == 503, "the loss")
    server.process.send_signal(signal.SIGTERM)
    assert server.wait_exit(15 * PATIENCE) == 0
    assert call.result().status in (200, 503)
    own_cluster.start()


@pytest.mark.parametrize("slots", [0, 1])
def test_term_ends_a_server_that_waits_for_the_outcome_of_a_commit(cluster, servers, slots):
    """Its connection is lost in a commit, and the database does not let it in again."""
    role = f"shut_out_{slots}"
    url = new_database(cluster)
    ask(url, f"CREATE ROLE {role} LOGIN; GRANT ALL ON SCHEMA public TO {role}")
    server = servers(store=url.replace("//waybill@", f"//{role}@"), slots=slots,
                     env={"WAYBILL_FAULT": "commit.lost:40:fail"}).start()
    client = server.tcp()
    ask(url, f"ALTER ROLE {role} NOLOGIN")
    call = Background(lambda: next(status for status in iter(
        lambda: client.post("/v1/jobs", {"queue": "work"}).status, None) if status != 201))
    eventually(lambda: "a commit got no answer" in server.log_text(), "a commit in doubt")
    server.process.send_signal(signal.SIGTERM)
    assert server.wait_exit(15 * PATIENCE) == 0
    assert call.result() == 503
    assert "this server stops before the store has answered" in server.log_text()
    ask(url, f"ALTER ROLE {role} LOGIN")


def backends_of(server):
    """Process ids of PostgreSQL that serve this one."""
    rows = ask(server.store, "SELECT pid FROM pg_stat_activity WHERE"
               " datname = current_database() AND application_name = 'waybill'")
    return [int(row[0]) for row in rows]


def test_nobody_waits_for_a_database_that_does_not_let_us_in(own_cluster, servers):
    """Each attempt to connect takes seconds; requests are answered meanwhile."""
    server = servers(store=new_database(own_cluster)).start()
    client = server.tcp()
    job_id, backends = client.submit(), backends_of(server)
    own_cluster.process.send_signal(signal.SIGSTOP)
    try:
        for pid in backends:
            os.kill(pid, signal.SIGTERM)
        client.refused(503, "unavailable", "POST", "/v1/jobs", {"queue": "work"})
        for _ in range(5):
            start = time.monotonic()
            client.refused(503, "unavailable", "POST", f"/v1/jobs/{job_id}/hold")
            assert time.monotonic() - start < 0.5 * PATIENCE
            assert client.get("/healthz").status == 200
            assert time.monotonic() - start < 1 * PATIENCE
            client.refused(503, "unavailable", "GET", f"/v1/jobs/{job_id}")  # takes its time
    finally:
        own_cluster.process.send_signal(signal.SIGCONT)
    eventually(lambda: client.get("/readyz").status == 200, "recovery")
    assert client.state(job_id) == "ready"


def test_a_database_that_hangs_holds_up_neither_health_nor_a_stop(own_cluster, servers):
    server = servers(store=new_database(own_cluster)).start()
    backends = backends_of(server)
    assert len(backends) == 5
    for pid in backends:
        os.kill(pid, signal.SIGSTOP)
    try:
        wire = server.wire(20 * PATIENCE)
        wire.send(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 16\r\n\r\n"
                  b'{"queue":"work"}')
        assert server.tcp().get("/healthz").status == 200
        server.process.send_signal(signal.SIGTERM)
        server.wait_exit(12 * PATIENCE)
    finally:
        for pid in backends:
            os.kill(pid, signal.SIGCONT)
    reply = wire.reply()
    assert reply is None or reply.status == 503
    wire.close()
