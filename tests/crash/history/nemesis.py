# SPDX-License-Identifier: MIT
"""Faults of servers, links and PostgreSQL during a history: one at a time, each healed first.

A method of Nemesis is a fault; its name is the kind in the history.  It returns when the fault is
healed, and its value is its effect: how many packets, connections, backends or processes it hit.
A fault without an effect has not happened.  Then the nemesis waits until all servers are ready.
BOTH, SHARED and EMBEDDED say which kinds a run has.
"""
import errno
import json
import os
import signal
import time
import urllib.error
import urllib.request
from datetime import datetime
from pathlib import Path

import faketime  # run.py has shown the way to tests/e2e
from net import HTTP_PORT, LINK_PORT, chain, link_address, server_address
from postgres import Error, tool
from waiting import PATIENCE, eventually

READY_S = 30 * PATIENCE
FREEZE_TRIES = 100
EPOLL_WAITS = {"232", "281", "441"}  # epoll_wait, epoll_pwait, epoll_pwait2 on x86-64
SHORT_S, LONG_S = 1.5, 6.0  # below and above the longest lease
SLOW_S, VERY_SLOW_S = 0.05, 0.13  # one way: about 100 and 300 ms there and back
BOTH = ["kill9", "stop_short", "stop_long", "term", "request_lost", "reply_lost", "clients_lossy",
        "clients_reset", "clock_off", "commit_before", "commit_after"]
SHARED = ["drop_out", "drop_in", "drop_both", "reset_near", "reset_far", "reset_both", "slow_link",
          "very_slow_link", "lossy_link", "store_crash", "store_restart", "backend_terminated",
          "backend_killed", "backend_frozen",
          "tables_locked", "locked_and_reset", "commit_cut", "commit_lost"]
EMBEDDED = ["disk_full"]
TARGETLESS = {"store_crash", "store_restart", "tables_locked", "backend_killed"}


class Nemesis:
    def __init__(self, run, rng):
        self.run, self.rng = run, rng
        self.net, self.servers = run.net, run.servers
        self.cluster = run.cluster
        self.kinds = BOTH + (SHARED if self.cluster else EMBEDDED)
        if not faketime.is_usable():
            self.kinds.remove("clock_off")
        self.tables = None
        self.happened = set()  # kinds that had an effect

    def inflict(self, kind):
        target = self.rng.randrange(len(self.servers))
        t0 = time.monotonic()
        effect = getattr(self, kind)(target)
        self.wait_ready()
        healed = time.monotonic()
        self.run.world.add({"op": "fault", "kind": kind, "t0": t0, "t1": healed, "effect": effect,
                            "target": None if kind in TARGETLESS else target})
        if effect > 0:
            self.happened.add(kind)
        self.wait_recovered(healed)

    def wait_recovered(self, since):
        """Each server acknowledges writes again.  A cut connection may recover seconds after it was
        healed, when TCP sends again: the next fault must not be blamed for that."""
        eventually(lambda: min(self.run.world.acknowledged) > since,
                   "writes at all servers", READY_S)

    def wait_ready(self):
        """Who has given up because its store was away is started again."""
        def all_are():
            for number, server in enumerate(self.servers):
                if not server.running():
                    self.start(number)
            return all(map(is_ready, range(len(self.servers))))
        eventually(all_are, "all servers ready", READY_S)

    def sleep(self, seconds):
        time.sleep(seconds * self.rng.uniform(0.8, 1.2))

    # ---- servers

    def start(self, number, env=None):
        with self.net.inside(f"s{number}"):
            self.servers[number].spawn(env, preexec_fn=lambda: tool.die_with_parent(signal.SIGKILL))

    def kill9(self, target):
        self.servers[target].kill()
        killed = was_killed(self.servers[target])
        self.sleep(0.3)
        self.start(target)
        return killed

    def term(self, target):
        server = self.servers[target]
        server.process.send_signal(signal.SIGTERM)
        status = server.wait_exit(30 * PATIENCE)
        self.start(target)
        return int(status >= 0)  # it ended by itself

    def stop_short(self, target, seconds=SHORT_S):
        process = self.servers[target].process
        process.send_signal(signal.SIGSTOP)
        self.sleep(seconds)
        stopped = is_stopped(process.pid)
        process.send_signal(signal.SIGCONT)
        return int(stopped)

    def stop_long(self, target):
        return self.stop_short(target, LONG_S)

    def clock_off(self, target):
        """By up to a day, either way, from its start on until it is started again."""
        self.servers[target].kill()
        offset = self.rng.choice([-86400, -3600, 60, 3600, 86400])
        self.start(target, faketime.env(FAKETIME=f"{offset:+d}"))
        eventually(lambda: is_ready(target) or not self.servers[target].running(),
                   "a server with another time", READY_S)
        believed = self.starts_at(target)
        self.sleep(2.5)
        self.servers[target].kill()
        self.start(target)
        return int(abs(believed - time.time()) > 30)

    def starts_at(self, target):
        """When that server says it was started; now when it says nothing."""
        request = urllib.request.Request(f"http://{server_address(target)}:{HTTP_PORT}/v1/server")
        request.add_header("Authorization", f"Bearer {self.run.world.token}")
        try:
            with urllib.request.urlopen(request, timeout=2) as reply:
                told = json.load(reply)["started_at"]
        except (OSError, urllib.error.URLError):
            return time.time()
        return datetime.fromisoformat(told.replace("Z", "+00:00")).timestamp()

    def restarted_with_fault(self, target, point):
        self.servers[target].kill()
        self.start(target, {"WAYBILL_FAULT": point})

    def dies_at(self, target, name):
        """Under load it comes there soon; a later count would be reached as well."""
        self.restarted_with_fault(target, f"{name}:{self.rng.randrange(5, 40)}")
        eventually(lambda: not self.servers[target].running(), f"death at {name}", READY_S)
        return was_killed(self.servers[target])

    def commit_before(self, target):
        return self.dies_at(target, "commit.before")

    def commit_after(self, target):
        return self.dies_at(target, "commit.after")

    def loses_connection_at(self, target, name):
        """Only the server knows that it was there, and its log says so."""
        server, words = self.servers[target], f"WAYBILL_FAULT: {name} fails"
        before = server.log_text().count(words)
        self.restarted_with_fault(target, f"{name}:{self.rng.randrange(5, 40)}:fail")
        return eventually(lambda: server.log_text().count(words) - before, words, READY_S)

    def commit_cut(self, target):
        """The connection ends before the COMMIT is sent."""
        return self.loses_connection_at(target, "commit.cut")

    def commit_lost(self, target):
        """The connection ends before the COMMIT is answered."""
        return self.loses_connection_at(target, "commit.lost")

    # ---- between clients and a server

    def filtered(self, target, chains, seconds=3.0):
        self.net.filter(f"s{target}", chains)
        self.sleep(seconds)
        dropped = self.net.dropped(f"s{target}")
        self.net.filter(f"s{target}")
        return dropped

    def request_lost(self, target):
        return self.filtered(target, chain("in", f"tcp dport {HTTP_PORT}"), 2.5)

    def reply_lost(self, target):
        return self.filtered(target, chain("out", f"tcp sport {HTTP_PORT}"), 2.5)

    def clients_lossy(self, target):
        rule = f"tcp {{}} {HTTP_PORT} numgen random mod 100 < 25"
        return self.filtered(target, chain("in", rule.format("dport")) +
                             chain("out", rule.format("sport")))

    def clients_reset(self, target):
        cut = 0
        for _ in range(4):
            cut += self.net.reset(f"s{target}", "sport", "=", f":{HTTP_PORT}")
            self.sleep(0.3)
        return cut

    # ---- between a server and PostgreSQL

    def drop_out(self, target):
        return self.filtered(target, chain("out", f"tcp dport {LINK_PORT + target}"))

    def drop_in(self, target):
        return self.filtered(target, chain("in", f"tcp sport {LINK_PORT + target}"))

    def drop_both(self, target):
        return self.filtered(target, chain("out", f"tcp dport {LINK_PORT + target}") +
                             chain("in", f"tcp sport {LINK_PORT + target}"), 4)

    def lossy_link(self, target):
        rule = f"tcp {{}} {LINK_PORT + target} numgen random mod 100 < 20"
        return self.filtered(target, chain("out", rule.format("dport")) +
                             chain("in", rule.format("sport")), 4)

    def slow_link(self, target, one_way_s=SLOW_S):
        self.run.link(f"delay {target} {one_way_s}")
        self.sleep(5)
        return self.run.link(f"delay {target} 0")

    def very_slow_link(self, target):
        return self.slow_link(target, VERY_SLOW_S)

    def reset_end(self, target, end, times):
        cut = 0
        for _ in range(times):
            cut += self.run.link(f"reset {target} {end}")
            self.sleep(0.5)
        return cut

    def reset_near(self, target):
        return self.reset_end(target, "near", 3)

    def reset_far(self, target):
        return self.reset_end(target, "far", 2)

    def reset_both(self, target):
        cut = 0
        for _ in range(3):
            cut += self.net.reset(f"s{target}", "dport", "=", f":{LINK_PORT + target}")
            self.sleep(0.4)
        return cut

    # ---- PostgreSQL

    def start_store(self):
        with self.net.inside("pg"):
            self.cluster.start()

    def store_crash(self, _, mode="immediate"):
        self.cluster.stop(mode)
        ended = not self.cluster.accepts()
        self.sleep(0.5)
        self.start_store()
        return int(ended)

    def store_restart(self, _):
        return self.store_crash(_, "fast")

    def backends(self, target, which="TRUE"):
        """Pids of the connections of a server, busy ones first."""
        with self.cluster.session() as session:
            rows = session.ask("SELECT pid FROM pg_stat_activity WHERE "
                               "backend_type = 'client backend' AND "
                               f"client_addr = '{link_address(target)}' AND {which} "
                               "ORDER BY (state <> 'idle') DESC")
        return [int(row[0]) for row in rows]

    def backend_terminated(self, target):
        ended = 0
        for pid in self.backends(target)[:2]:
            with self.cluster.session() as session:
                ended += session.ask(f"SELECT pg_terminate_backend({pid})") == [["t"]]
            self.sleep(0.3)
        return ended

    def backend_killed(self, target):
        """PostgreSQL ends all connections then, and recovers."""
        killed = signal_all(self.backends(target)[:1], signal.SIGKILL)
        eventually(self.cluster.accepts, "PostgreSQL", READY_S)
        return killed

    def backend_frozen(self, target):
        """All of a server's, within a transaction if one can be caught there."""
        pids = []
        for _ in range(FREEZE_TRIES):
            signal_all(pids, signal.SIGCONT)
            pids = self.backends(target)
            signal_all(pids, signal.SIGSTOP)
            if pids and all(map(waits_outside, pids)) and \
                    self.backends(target, "xact_start IS NOT NULL"):
                break
        else:
            eventually(lambda: stop_outside(pids), "backends that wait outside", READY_S)
        self.sleep(4.5)
        frozen = sum(map(is_stopped, pids))
        signal_all(pids, signal.SIGCONT)
        return frozen

    def locking(self):
        """A session that holds one of the tables, or all of them."""
        session = self.cluster.session()
        if self.tables is None:
            self.tables = [row[0] for row in session.ask("SELECT tablename FROM pg_tables "
                                                         "WHERE schemaname = 'public'")]
        chosen = self.rng.choice([self.tables, [self.rng.choice(self.tables)]])
        try:
            session.ask("SET lock_timeout = '3s'")
            session.ask("BEGIN")
            session.ask(f"LOCK TABLE {', '.join(chosen)} IN SHARE ROW EXCLUSIVE MODE")
        except Error:
            pass  # somebody else was slow; what it has is released with the session
        return session

    def kept_waiting(self, seconds, which="TRUE"):
        """The most backends that waited for a lock at once during that time."""
        end, most = time.monotonic() + seconds * self.rng.uniform(0.8, 1.2), 0
        with self.cluster.session() as session:
            while time.monotonic() < end:
                ((count,),) = session.ask("SELECT count(*) FROM pg_stat_activity"
                                          f" WHERE wait_event_type = 'Lock' AND {which}")
                most = max(most, int(count))
                time.sleep(0.05)
        return most

    def tables_locked(self, _):
        with self.locking():
            return self.kept_waiting(2.5)

    def locked_and_reset(self, target):
        """Closes the server's end while its backends wait for a lock; then they get it."""
        met = 0
        for _ in range(2):
            with self.locking():
                waiting = self.kept_waiting(0.5, f"client_addr = '{link_address(target)}'")
                cut = self.run.link(f"reset {target} near")
                met += min(waiting, cut)
                self.sleep(1.5)
            self.sleep(0.7)
        return met

    # ---- the disk

    def disk_full(self, _):
        filler = self.servers[0].data / "filler"
        with filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(1 << 16))
            except OSError as fault:
                full = fault.errno == errno.ENOSPC
        self.sleep(2)
        filler.unlink()
        return int(full)


def signal_all(pids, number):
    """How many of them were there."""
    sent = 0
    for pid in pids:
        try:
            os.kill(pid, number)
            sent += 1
        except ProcessLookupError:
            pass
    return sent


def is_stopped(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] == "T"
    except OSError:
        return False


def was_killed(server):
    return int(server.process.returncode == -signal.SIGKILL)


def waits_outside(pid):
    """Whether a stopped backend waits for its client or for a lock.  One that is stopped anywhere
    else, say as it syncs the WAL, may hold what all of PostgreSQL needs: no server could go on,
    whatever it does."""
    try:
        return Path(f"/proc/{pid}/syscall").read_text().split()[0] in EPOLL_WAITS
    except OSError:
        return True  # it is gone


def stop_outside(pids):
    """Stops backends if all of them wait outside; else lets them go on."""
    signal_all(pids, signal.SIGSTOP)
    if all(map(waits_outside, pids)):
        return True
    signal_all(pids, signal.SIGCONT)
    return False


def is_ready(number):
    try:
        with urllib.request.urlopen(f"http://{server_address(number)}:{HTTP_PORT}/readyz",
                                    timeout=2) as reply:
            return reply.status == 200
    except (OSError, urllib.error.URLError):
        return False
