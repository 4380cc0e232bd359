# SPDX-License-Identifier: MIT
"""Clients that write down what they ask and what they are told; book.py has the format."""
import http.client
import json
import random
import threading
import time
from collections import deque

from client import Client  # run.py has shown the way to tests/e2e
from net import HTTP_PORT, server_address
from waiting import PATIENCE

REPLIES_WITHIN_S = 6.0 * PATIENCE
KNOWN = 400  # jobs that others choose from

QUEUES = {
    "work": {"retry": {"max": 4, "first": "100ms", "factor": 1, "cap": "1s", "jitter": 0.2}},
    "once": {},
    "chained": {"on_success": [{"queue": "noted", "params": {"way": "chain"}}, {"join": "meet"},
                               {"signal": "ended"}]},
    "noted": {}, "met": {}, "news": {}, "audit": {"subscribe": ["news"]},
}
JOINS = {"meet": {"key": "{group}", "count": 3,
                  "then": [{"queue": "met", "params": {"way": "join"}}]}}
RULES = {"op": "rules", "t0": 0, "patience": PATIENCE, "joins": {"meet": 3},
         "on_success": {"chained": [{"queue": "noted", "way": "chain"}, {"join": "meet"},
                                    {"signal": "ended"}]}}


class World:
    """What the clients share."""

    def __init__(self, path, servers, token):
        self.file = open(path, "w", encoding="utf-8")  # pylint: disable=consider-using-with
        self.lock = threading.Lock()
        self.servers, self.token = servers, token
        self.known = deque(maxlen=KNOWN)  # jobs as submitted, with their ids
        self.stop = threading.Event()      # of making more
        self.end = threading.Event()       # of everything
        self.backlog = 0
        self.acknowledged = [0.0] * servers  # when each was asked what it has acknowledged last
        self.faults = []  # replies that no server should give
        self.add(RULES)

    def add(self, operation):
        with self.lock:
            self.file.write(json.dumps(operation) + "\n")
            self.file.flush()


class Reply:
    """What became of a request."""

    def __init__(self, outcome, status=None, document=None):
        self.outcome, self.status = outcome, status
        self.document = document

    @property
    def code(self):
        error = self.document.get("error") if isinstance(self.document, dict) else None
        return error.get("code") if error else None


def outcome_of(status, code):
    """What the reply promises: docs/http.md says that 4xx, 503 and 507 changed nothing."""
    if status < 300:
        return "ok"
    if status < 500 or status == 503 and code in ("unavailable", "queue_down", "too_slow") or \
            status == 507:
        return "fail"
    return "unknown"


class Recorder(threading.Thread):
    """One client: a connection to each server, most requests to that at home."""

    def __init__(self, world, name, home, seed):
        super().__init__(daemon=True, name=name)
        self.world, self.home = world, home
        self.rng = random.Random(seed)
        self.count = 0
        self.clients = [Client((server_address(number), HTTP_PORT), world.token, REPLIES_WITHIN_S)
                        for number in range(world.servers)]

    def new_name(self):
        self.count += 1
        return f"{self.name}-{self.count}"

    def server(self):
        return self.home if self.rng.random() < 0.9 else self.rng.randrange(self.world.servers)

    def ask(self, server, method, path, body=None, **named):
        """(reply, when it was asked, when the outcome was known)."""
        client = self.clients[server]
        t0 = time.monotonic()
        if client.connection is None:
            client.connection = http.client.HTTPConnection(*client.address,
                                                           timeout=REPLIES_WITHIN_S)
            try:
                client.connection.connect()
            except OSError:
                client.close()  # nothing was sent
                return Reply("fail"), t0, time.monotonic()
        try:
            answer = client.request(method, path, body, **named)
            reply = self._judge(path, answer)
        except (OSError, http.client.HTTPException, ValueError):
            client.close()
            reply = Reply("unknown")
        return reply, t0, time.monotonic()

    def _judge(self, path, answer):
        if "ndjson" in (answer.headers.get("Content-Type") or ""):
            return Reply("ok", answer.status,
                         [json.loads(line) for line in answer.body.decode().splitlines()])
        document = json.loads(answer.body)
        reply = Reply("ok", answer.status, document)
        reply.outcome = outcome_of(answer.status, reply.code)
        if answer.status in (400, 401, 403, 405, 413, 415, 422, 500):
            self.world.faults.append(f"{path}: {answer.status} {answer.body[:300]!r}")
        return reply

    def note(self, kind, server, asked, **fields):
        """Writes down an operation that asked() has told of; gives its reply."""
        reply, t0, t1 = asked
        if kind != "read" and reply.outcome == "ok":
            self.world.acknowledged[server] = max(t0, self.world.acknowledged[server])
        self.world.add({"op": kind, "client": self.name, "server": server, "t0": t0, "t1": t1,
                        "outcome": reply.outcome,
                        **({"code": reply.code} if reply.code else {}), **fields})
        return reply

    def read(self, job_id):
        server = self.rng.randrange(self.world.servers)
        asked = self.ask(server, "GET", f"/v1/jobs/{job_id}")
        reply, shown = asked[0], None
        if reply.outcome == "ok":
            shown = {"state": reply.document["state"], "progress": reply.document["progress"]}
        elif reply.status == 404:
            reply.outcome = "ok"
        self.note("read", server, asked, id=job_id, job=shown)

    def pause(self, seconds):
        self.world.end.wait(seconds)
