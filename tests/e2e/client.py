# SPDX-License-Identifier: MIT
"""Clients: the words of the API, and raw connections for what no client would do."""
import base64
import http.client
import json
import os
import re
import select
import socket

from waiting import DEADLINE_S, PATIENCE, Background, eventually


class Reply:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self):
        assert "json" in (self.headers.get("Content-Type") or ""), (self.status, self.headers,
                                                                    self.body)
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

    def _was_closed(self):
        """Whether the server has closed the connection, as it does after half a minute without a
        request: then there is something to read although nothing was asked."""
        sock = self.connection.sock if self.connection else None
        if sock is None:
            return False
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        return bool(poll.poll(0))

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
        if self._was_closed():
            self.close()
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
        assert result.pop("state", state) and result == {"id": job["id"], "ok": True}, result

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

    def counts(self, may_be_away=False):
        """{queue: {state: n}} as kept, without zeros; None while a store is away that may be."""
        reply = self.get("/v1/counts")
        if may_be_away and reply.status == 503:
            return None
        assert reply.status == 200, (reply.status, reply.body[:500])
        kept = reply.json["counts"]
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


def waiting_claim(server, queues="work", wait="30s", count=1, **fields):
    """A claim that waits; returns when the server has it."""
    before = server.tcp().waiting()
    call = Background(server.tcp().claim, queues, wait=wait, **fields)
    watcher = server.tcp()
    eventually(lambda: watcher.waiting() == before + count or not call.running(), "a waiting claim")
    assert call.running()
    return call


def body_of(job):
    if "body_base64" in job:
        assert "body" not in job
        return base64.b64decode(job["body_base64"], validate=True)
    return job["body"].encode() if "body" in job else None


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
