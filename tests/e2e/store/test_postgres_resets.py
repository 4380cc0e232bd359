# SPDX-License-Identifier: MIT
"""A PostgreSQL connection reset during a commit: the backend continues unheard."""
import itertools
import select
import socket
import threading

import pytest

from postgres import Cluster, ask
from waiting import PATIENCE, Background, eventually

pytestmark = pytest.mark.embedded("has a PostgreSQL of its own")

NUMBERS = itertools.count(1)
BLOCKED_S = 30 * PATIENCE

# The backend waits for a lock, where whoever comes back may end it, or is busy, where nobody can.
WAITS = {
    "a lock": ("SELECT 1", "BEGIN; LOCK TABLE counts IN SHARE MODE"),
    "its own": ("CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS"
                " $$BEGIN WHILE NOT pg_try_advisory_xact_lock_shared(7) "
                "LOOP PERFORM pg_sleep(0.005); END LOOP; RETURN NULL; END$$;"
                "CREATE TRIGGER pause BEFORE INSERT OR UPDATE ON counts EXECUTE FUNCTION pause()",
                "BEGIN; SELECT pg_advisory_xact_lock(7)"),
}


class Proxy:
    """Forwards TCP to the socket of a cluster.  reset() closes the near side of every connection;
    the far side stays open, as behind a firewall that has forgotten it."""

    def __init__(self, path):
        self.path = str(path)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.near = []
        self.kept = []
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, database):
        return f"postgresql://waybill@127.0.0.1:{self.port}/{database}"

    def reset(self):
        near, self.near = self.near, []
        for sock in near:
            if sock.fileno() >= 0:
                sock.shutdown(socket.SHUT_RDWR)

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(self.path)
            self.near.append(near)
            self.kept.append(far)
            threading.Thread(target=self._forward, args=(near, far), daemon=True).start()

    @staticmethod
    def _forward(near, far):
        with near:
            while True:
                for sock in select.select([near, far], [], [])[0]:
                    try:
                        data = sock.recv(1 << 16)
                        (far if sock is near else near).sendall(data)
                    except OSError:
                        return
                    if not data:
                        return

    def close(self):
        self.listener.close()
        self.reset()
        for far in self.kept:
            far.close()


@pytest.fixture(scope="module", name="cluster")
def a_cluster():
    with Cluster(fast=True) as made:
        yield made


@pytest.fixture(name="database")
def a_database(cluster):
    name = f"resets_{next(NUMBERS)}"
    ask(cluster.url(), f"CREATE DATABASE {name}")
    return name


@pytest.fixture(name="proxy")
def a_proxy(cluster):
    made = Proxy(cluster.dir / ".s.PGSQL.5432")
    yield made
    made.close()


def backends(cluster, database, which):
    return {pid for pid, in ask(cluster.url(database),
                                "SELECT pid FROM pg_stat_activity "
                                "WHERE datname = current_database()"
                                f" AND application_name = 'waybill' AND {which}")}


def writers(cluster, database):
    """Backends in a transaction that reached the counts, which come before the signature."""
    return backends(cluster, database, "state = 'active' AND query LIKE '%INTO counts%'")


def workers(cluster, database):
    """Those that do more than to begin their session and to listen."""
    return backends(cluster, database, "query NOT LIKE 'SET %' AND query NOT LIKE '%LISTEN%'")


def reset_in_commit(cluster, proxy, database, wait, call):
    """What the call returns when the server's connection is reset while its batch is in front of
    the signature, and the lock is released after the server has come back.  It must have made such
    a call before: statements that are not prepared would wait for those in front of them."""
    prepare, hold = WAITS[wait]
    with cluster.session(database) as holder:
        holder.ask(prepare)
        holder.ask(hold)
        running = Background(call)
        eventually(lambda: writers(cluster, database),
                   "the batch is in front of its signature", BLOCKED_S)
        before = workers(cluster, database)
        proxy.reset()
        eventually(lambda: workers(cluster, database) - before,
                   "the server is back and at work", BLOCKED_S)
        holder.ask("ROLLBACK")
    value = running.result(BLOCKED_S)
    eventually(lambda: not writers(cluster, database), "nobody is at it any more", BLOCKED_S)
    return value


@pytest.mark.parametrize("wait", WAITS)
def test_what_was_submitted_once_is_there_once(cluster, database, proxy, servers, wait):
    client = servers(store=proxy.url(database)).start().tcp()
    client.submit("default", params={"n": 0})
    reset_in_commit(cluster, proxy, database, wait,
                    lambda: client.submit("default", params={"n": 1}))
    assert ask(cluster.url(database), "SELECT count(*) FROM jobs") == [["2"]]


@pytest.mark.parametrize("wait", WAITS)
def test_no_job_is_granted_in_a_commit_that_nobody_knows_of(
        cluster, database, proxy, servers, wait):
    client = servers(store=proxy.url(database)).start().tcp()
    client.submit("default")
    client.take("default")
    job_id = client.submit("default")
    granted = reset_in_commit(cluster, proxy, database, wait, lambda: client.take("default"))
    assert granted["id"] == job_id
    client.finish(granted)
    assert client.show(job_id)["state"] == "done"
