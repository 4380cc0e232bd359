# SPDX-License-Identifier: MIT
"""A real server in a temporary directory, and clients for it: what the tests stand on.

Nothing here sleeps for a fixed time: every wait is for a condition and has a deadline.
"""
import base64
import http.client
import json
import os
import re
import select
import signal
import socket
import subprocess
import threading
import time
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = str(Path(os.environ.get("WAYBILL_BIN", ROOT / "build" / "waybill")).resolve())

# The sanitizers make everything slower; what a test waits for may take so many times longer.
SANITIZED = any(name in os.environ for name in ("ASAN_OPTIONS", "TSAN_OPTIONS"))
PATIENCE = 6 if SANITIZED else 1
DEADLINE_S = 10 * PATIENCE

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
FOREIGN = ("WAYBILL_URL", "WAYBILL_DATA", "WAYBILL_TOKEN", "WAYBILL_FAULT", "NOTIFY_SOCKET", "LISTEN_FDS",
           "LISTEN_PID", "LISTEN_FDNAMES", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY",
           "ALL_PROXY", "all_proxy")


def eventually(condition, what="the condition", deadline_s=DEADLINE_S):
    """The first true value of condition(); fails when there is none in time."""
    end = time.monotonic() + deadline_s
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"{what} did not come true within {deadline_s} s"
        time.sleep(0.005)


def parse_time(text):
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3}|\.\d{6})?Z", text), text
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def time_text(moment):
    return moment.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


def now():
    return datetime.now(timezone.utc)


class Background:
    """A call in a thread of its own; result() gives what it returned or raises what it raised."""

    def __init__(self, call, *args, **named):
        self._value = self._error = None
        self._thread = threading.Thread(target=self._run, args=(call, args, named), daemon=True)
        self._thread.start()

    def _run(self, call, args, named):
        try:
            self._value = call(*args, **named)
        except BaseException as error:  # pylint: disable=broad-except
            self._error = error

    def running(self):
        return self._thread.is_alive()

    def result(self, deadline_s=DEADLINE_S):
        self._thread.join(deadline_s)
        assert not self._thread.is_alive(), f"the call did not end within {deadline_s} s"
        if self._error is not None:
            raise self._error
        return self._value


class Reply:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self):
        assert "json" in (self.headers.get("Content-Type") or ""), (self.status, self.headers, self.body)
        return json.loads(self.body)

    @property
    def lines(self):
        return [json.loads(line) for line in self.body.decode().splitlines()]

    def error(self, status, code):
        """The error object, after it was found to be the right one and well-formed."""
        assert self.status == status, (self.status, self.body[:500])
        document = self.json
        assert set(document) == {"error"}, document
        error = document["error"]
        assert {"code", "message"} <= set(error) <= {"code", "message", "detail"}, error
        assert error["code"] == code, error
        assert isinstance(error["message"], str) and len(error["message"]) >= 8, error
        if status == 503:
            assert self.headers.get("Retry-After") == "1", self.headers
        return error


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = unix_socket(self.path, self.timeout)


def unix_socket(path, timeout=DEADLINE_S):
    """Connected, also when the path is too long for an address."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(timeout)
    try:
        if len(os.fsencode(path)) < 108:
            sock.connect(path)
        else:
            directory = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY)
            try:
                sock.connect(f"/proc/self/fd/{directory}/{os.path.basename(path)}")
            finally:
                os.close(directory)
    except OSError:
        sock.close()
        raise
    return sock


class Client:
    """Speaks HTTP to one address.  Keeps its connection; one thread at a time."""

    def __init__(self, address, token=None, timeout=70 * PATIENCE):
        self.address = address
        self.token = token
        self.timeout = timeout
        self.connection = None

    def _connect(self):
        if isinstance(self.address, tuple):
            return http.client.HTTPConnection(*self.address, timeout=self.timeout)
        return UnixConnection(self.address, self.timeout)

    def request(self, method, path, body=None, headers=None):
        """One request.  Never repeated: a broken connection is the caller's to know."""
        headers = dict(headers or {})
        if self.token is not None:
            headers.setdefault("Authorization", f"Bearer {self.token}")
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        if isinstance(body, str):
            body = body.encode()
        if self.connection is None:
            self.connection = self._connect()
        try:
            self.connection.request(method, path, body, headers)
            answer = self.connection.getresponse()
            reply = Reply(answer.status, answer.headers, answer.read())
            if answer.will_close:
                self.close()
            return reply
        except BaseException:
            self.close()
            raise

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def get(self, path, **named):
        return self.request("GET", path, **named)

    def post(self, path, body=None, **named):
        return self.request("POST", path, body, **named)

    def ok(self, method, path, body=None, status=None, headers=None):
        """The JSON of a reply that must be a success."""
        reply = self.request(method, path, body, headers)
        wanted = [status] if status else [200, 201, 202]
        assert reply.status in wanted, (method, path, reply.status, reply.body[:500])
        return reply.json

    def refused(self, status, code, method, path, body=None, headers=None):
        """The error object of a reply that must be this refusal."""
        return self.request(method, path, body, headers).error(status, code)

    # ---- the words of the API

    def submit(self, queue="work", **fields):
        return self.ok("POST", "/v1/jobs", {"queue": queue, **fields}, 201)["id"]

    def submit_many(self, jobs):
        ids = []
        for first in range(0, len(jobs), 1000):
            ids += self.ok("POST", "/v1/jobs", jobs[first:first + 1000], 201)["ids"]
        return ids

    def claim(self, queues="work", worker="tester", **fields):
        """The whole reply of a claim; queues may be one name, a list or name to maximum."""
        if isinstance(queues, str):
            queues = [queues]
        if not isinstance(queues, dict):
            queues = {name: 1000 for name in queues}
        return self.ok("POST", "/v1/claim", {"worker": worker, "queues": queues, **fields}, 200)

    def take(self, queues="work", **fields):
        """Exactly one job, which must come within the time that `wait` says."""
        jobs = self.claim(queues, **{"wait": "10s", "max": 1, **fields})["jobs"]
        assert len(jobs) == 1, jobs
        return jobs[0]

    def finish(self, job, state="done", **fields):
        """One finish; the result's item."""
        items = [{"id": job["id"], "lease": job["lease"], "state": state, **fields}]
        results = self.ok("POST", "/v1/finish", {"finish": items}, 200)["results"]
        assert len(results) == 1 and results[0]["id"] == job["id"], results
        return results[0]

    def end(self, job, state="done", **fields):
        result = self.finish(job, state, **fields)
        assert result == {"id": job["id"], "ok": True}, result

    def touch(self, *jobs, **fields):
        items = [{"id": job["id"], "lease": job["lease"], **fields} for job in jobs]
        return self.ok("POST", "/v1/touch", {"touch": items}, 200)

    def show(self, job_id):
        return self.ok("GET", f"/v1/jobs/{job_id}", status=200)

    def state(self, job_id):
        return self.show(job_id)["state"]

    def act(self, job_id, verb, body=None, status=None):
        return self.ok("POST", f"/v1/jobs/{job_id}/{verb}", body, status)

    def list(self, query="", limit=1000):
        """All jobs of a query, page by page."""
        jobs, cursor = [], None
        while True:
            parts = [f"limit={limit}", query, f"cursor={cursor}" if cursor else ""]
            page = self.ok("GET", "/v1/jobs?" + "&".join(filter(None, parts)), status=200)
            assert set(page) == {"jobs", "cursor"} and len(page["jobs"]) <= limit, page.keys()
            jobs += page["jobs"]
            cursor = page["cursor"]
            if cursor is None:
                return jobs

    def counts(self):
        """{queue: {state: n}} as kept, without zeros."""
        kept = self.ok("GET", "/v1/counts", status=200)["counts"]
        shown = {queue: {s: n for s, n in states.items() if n} for queue, states in kept.items()}
        return {queue: states for queue, states in shown.items() if states}

    def metrics(self):
        """{name with labels: value}."""
        values = {}
        for line in self.get("/metrics").body.decode().splitlines():
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                values[name] = float(value)
        return values

    def waiting(self):
        """How many claims and waits are not answered yet."""
        return int(self.metrics()["waybill_waiting"])


def counted(jobs):
    """What the kept counts should be, counted over a list."""
    result = {}
    for job in jobs:
        states = result.setdefault(job["queue"], {})
        states[job["state"]] = states.get(job["state"], 0) + 1
    return result


def body_of(job):
    if "body_base64" in job:
        assert "body" not in job
        return base64.b64decode(job["body_base64"], validate=True)
    return job["body"].encode() if "body" in job else None


def plain_env(**more):
    env = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    return {**env, **more}


def run_waybill(*args, env=None, stdin=b"", deadline_s=30 * PATIENCE):
    """A short-lived waybill: its exit status, output and errors as text."""
    done = subprocess.run([BIN, *map(str, args)], env=env or plain_env(), input=stdin,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=deadline_s, check=False)
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
    """One data directory and the server process on it."""

    def __init__(self, directory, definitions=QUEUES, args=(), env=None, data=None, listen="127.0.0.1:0"):
        self.dir = Path(directory)
        self.dir.mkdir(parents=True, exist_ok=True)
        self.data = Path(data) if data else self.dir / "data"
        self.file = self.dir / "queues.yaml"
        self.log = self.dir / "server.log"
        self.listen = listen
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
        return [BIN, "serve", "--data", str(self.data), "--listen", self.listen, "-j", "0",
                "-c", str(self.file), *self.args]

    def spawn(self, env=None, **named):
        """Starts the process without waiting for anything."""
        assert self.process is None or self.process.poll() is not None
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL,
                                            stdout=subprocess.PIPE, stderr=log,
                                            env=plain_env(HOME=str(self.dir), **self.env, **(env or {})),
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

    def running(self):
        return self.process is not None and self.process.poll() is None

    def wait_exit(self, deadline_s=DEADLINE_S):
        """The exit status; what still runs then is killed and is a failure."""
        self._drop_clients()
        try:
            return self.process.wait(deadline_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the server did not exit within {deadline_s} s; its log:\n"
                                 f"{self.log_text()[-3000:]}") from None
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
                           env=plain_env(HOME=str(self.dir), WAYBILL_DATA=str(self.data), **(env or {})))

    def check_store(self):
        ran = run_waybill("check", "--store", "--full", "--data", self.data, "--json",
                          deadline_s=120 * PATIENCE)
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
        if (self.data / "waybill.db").exists():
            self.check_store()


class Wire:
    """A raw connection: bytes out, replies in."""

    def __init__(self, sock):
        self.sock = sock
        self.file = sock.makefile("rb")

    def send(self, data):
        self.sock.sendall(data)
        return self

    def reply(self, to_head=False):
        """One whole reply; None when the other side has closed before it began."""
        try:
            line = self.file.readline()
        except ConnectionError:
            return None
        if not line:
            return None
        assert re.match(rb"HTTP/1\.[01] \d{3} ", line), line
        status = int(line.split()[1])
        headers = http.client.parse_headers(self.file)
        if to_head or status in (204, 304) or status < 200:
            body = b""
        elif (headers.get("Transfer-Encoding") or "") == "chunked":
            body = self._chunks()
        elif headers.get("Content-Length") is not None:
            body = self.file.read(int(headers["Content-Length"]))
        else:
            body = self.file.read()
        return Reply(status, headers, body)

    def _chunks(self):
        body = b""
        while True:
            size = int(self.file.readline().split(b";")[0], 16)
            body += self.file.read(size)
            self.file.readline()
            if size == 0:
                return body

    def closed(self):
        """The other side closes, within the socket's time limit."""
        try:
            return self.file.read(1) == b""
        except ConnectionError:
            return True

    def close(self):
        self.file.close()
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
