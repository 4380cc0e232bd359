# SPDX-License-Identifier: MIT
"""The real binary: a server on a data directory of its own, and short-lived commands."""
import json
import os
import re
import select
import signal
import socket
import subprocess
import time
from pathlib import Path

import postgres
from client import Client, Wire
from waiting import DEADLINE_S, PATIENCE, eventually

ROOT = Path(__file__).resolve().parents[2]
BIN = str(Path(os.environ.get("WAYBILL_BIN", ROOT / "build" / "waybill")).resolve())

QUEUES = """
queues:
  work: {description: plain}
  other: {description: another}
  again: {retry: {max: 2, first: 50ms, factor: 2, jitter: 0}}
  rules: {retry: {max: 3, first: 30ms, factor: 1, jitter: 0, exits: {75: later, 64-74: never}}}
  own: {own_command: true}
  two words: {description: a name with a space}
"""

# What must not come in from the environment of whoever runs the tests.
FOREIGN = ("WAYBILL_URL", "WAYBILL_DATA", "WAYBILL_STORE", "WAYBILL_TOKEN", "WAYBILL_FAULT",
           "XDG_STATE_HOME", "XDG_DATA_HOME", "NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID",
           "LISTEN_FDNAMES", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
           "all_proxy")


def plain_env(**more):
    env = {name: value for name, value in os.environ.items()
           if name not in FOREIGN and not name.startswith("PG")}
    return {**env, **more}


def run_waybill(*args, env=None, stdin=b"", deadline_s=30 * PATIENCE):
    """A short-lived waybill: its exit status, output and errors as text."""
    done = subprocess.run([BIN, *map(str, args)], env=env or plain_env(), input=stdin,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=deadline_s,
                          check=False)
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


class Ran:
    def __init__(self, status, out, err):
        self.status = status
        self.out = out
        self.err = err

    def __repr__(self):
        return f"exit {self.status}, out {self.out!r}, err {self.err!r}"

    @property
    def json(self):
        return json.loads(self.out)


class Server:
    """One data directory and the server process on it.

    Its jobs are in that directory, or in the PostgreSQL that `store` names.  In a run on PostgreSQL
    each server gets a place there, unless it says EMBEDDED.
    """

    EMBEDDED = "embedded"

    def __init__(self, directory, definitions=QUEUES, args=(), env=None, data=None,
                 listen="127.0.0.1:0", slots=0, store=None):
        self.dir = Path(directory)
        self.dir.mkdir(parents=True, exist_ok=True)
        self.data = Path(data) if data else self.dir / "data"
        self.file = self.dir / "queues.yaml"
        self.log = self.dir / "server.log"
        self.listen = listen
        self.slots = slots  # of the local worker; 0: there is none
        self.store = None if store == self.EMBEDDED else store
        self.owned_store = None  # it goes with us
        if store is None and postgres.STORE:
            self.store = self.owned_store = postgres.new_store()
        self.args = list(args)
        self.env = dict(env or {})
        self.process = None
        self.port = None
        self.socket_path = None
        self.clients = []
        self.define(definitions)

    def define(self, definitions):
        self.file.write_text(definitions)

    def command(self):
        store = ["--store", self.store] if self.store else []
        return [BIN, "serve", "--data", str(self.data), *store, "--listen", self.listen, "-j",
                str(self.slots), "-c", str(self.file), *self.args]

    def spawn(self, env=None, **named):
        """Starts the process without waiting for anything."""
        assert self.process is None or self.process.poll() is not None
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL,
                                            stdout=subprocess.PIPE, stderr=log,
                                            env=plain_env(HOME=str(self.dir), **self.env,
                                                          **(env or {})),
                                            **named)
        return self

    def start(self, env=None, **named):
        self.spawn(env, **named)
        assert self.wait_ready(), f"the server is not ready; its log:\n{self.log_text()}"
        return self

    def wait_ready(self):
        """Its addresses are known when it is true."""
        match = re.fullmatch(r"ready http://(\S+):(\d+) unix:(.+)\n", self.read_ready())
        if match:
            self.port, self.socket_path = int(match[2]), match[3]
        return match is not None

    def read_ready(self, deadline_s=DEADLINE_S):
        """The first line of standard output, or what came of it until it was closed."""
        end = time.monotonic() + deadline_s
        out = self.process.stdout.fileno()
        line = b""
        while not line.endswith(b"\n"):
            left = end - time.monotonic()
            if left <= 0 or not select.select([out], [], [], left)[0]:
                break
            piece = os.read(out, 1)
            if not piece:
                break
            line += piece
        return line.decode()

    def log_text(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def threads_text(self):
        """What each thread is at: name, state, place in the kernel, ticks of processor time."""
        lines = []
        for task in Path(f"/proc/{self.process.pid}/task").glob("*"):
            name, _, rest = (task / "stat").read_text().partition(") ")
            fields = rest.split()
            place = (task / "wchan").read_text()
            lines.append(f"{name}) {fields[0]} {place} {fields[11]} {fields[12]}")
        return "\n".join(lines)

    def running(self):
        return self.process is not None and self.process.poll() is None

    def wait_exit(self, deadline_s=DEADLINE_S):
        """The exit status; what still runs then is killed and is a failure."""
        self._drop_clients()
        try:
            return self.process.wait(deadline_s)
        except subprocess.TimeoutExpired:
            threads = self.threads_text()
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the server did not exit within {deadline_s} s; its threads:\n"
                                 f"{threads}\nits log:\n{self.log_text()[-3000:]}") from None
        finally:
            self.process.stdout.close()

    def stop(self):
        """TERM; it must exit with 0 within 10 s."""
        self.process.send_signal(signal.SIGTERM)
        status = self.wait_exit(10 * PATIENCE)
        assert status == 0, f"exit status {status} after TERM; its log:\n{self.log_text()[-3000:]}"

    def kill(self):
        """kill -9."""
        if self.running():
            self.process.kill()
        self.wait_exit()

    def restart(self, env=None):
        """As after kill -9: on the same data, and perhaps another port."""
        if self.running():
            self.kill()
        return self.start(env)

    def _drop_clients(self):
        for client in self.clients:
            client.close()

    def _add(self, client):
        self.clients.append(client)
        return client

    def tcp(self, token=None):
        return self._add(Client(("127.0.0.1", self.port), token))

    def unix(self):
        return self._add(Client(self.socket_path))

    def wire(self, timeout=DEADLINE_S):
        """A raw TCP connection."""
        return Wire(socket.create_connection(("127.0.0.1", self.port), timeout))

    def cli(self, *args, stdin=b"", env=None):
        return run_waybill(*args, stdin=stdin, deadline_s=90 * PATIENCE,
                           env=plain_env(**{"HOME": str(self.dir), "WAYBILL_DATA": str(self.data),
                                            **self.store_env(), **(env or {})}))

    def full_check(self):
        """By the running server, which may first have to end the check of its start."""
        def check():
            ran = self.cli("check", "--store", "--full", "--json")
            return None if ran.status == 5 and "a check is running" in ran.err else ran

        return eventually(check, "the check of the start is through")

    def store_env(self):
        return {"WAYBILL_STORE": self.store} if self.store else {}

    def check_store(self):
        ran = run_waybill("check", "--store", "--full", "--json", deadline_s=120 * PATIENCE,
                          env=plain_env(WAYBILL_DATA=str(self.data), **self.store_env()))
        assert ran.status == 0, ran
        assert ran.json["findings"] == [], ran

    def finish_up(self):
        """After a test: a clean stop, and a store in which everything is right."""
        try:
            if self.running():
                self.stop()
        finally:
            if self.process is not None and self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self._drop_clients()
        if (self.data / "waybill.db").exists() or (self.store and self.port):
            self.check_store()
        if self.owned_store:
            postgres.give_back(self.owned_store)
            self.owned_store = None


