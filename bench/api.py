# SPDX-License-Identifier: MIT
"""Waybill's HTTP, for what is done around a measurement: fill a queue, wait, read the record."""

import http.client
import json
import os
import socket
from datetime import datetime

ARRAY = 1000  # jobs in one request
PATIENCE_S = 120


def connect(path):
    """Also when the path is too long for an address."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(PATIENCE_S)
    directory = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        sock.connect(f"/proc/self/fd/{directory}/{os.path.basename(path)}")
    except OSError:
        sock.close()
        raise
    finally:
        os.close(directory)
    return sock


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE_S)
        self.path = path

    def connect(self):
        self.sock = connect(self.path)


class Api:
    """Speaks to one server over its Unix socket, on one connection."""

    def __init__(self, url):
        self.path = url.removeprefix("unix:")
        self.connection = UnixConnection(self.path)

    def call(self, method, path, body=None):
        self.connection.request(method, path, None if body is None else json.dumps(body))
        reply = self.connection.getresponse()
        text = reply.read()
        if reply.status >= 300:
            raise RuntimeError(f"{method} {path}: {reply.status} {text[:300]}")
        return json.loads(text)

    def close(self):
        self.connection.close()

    def submit_many(self, queue, count):
        """Ids of the first and the last of them."""
        first = last = None
        for begin in range(0, count, ARRAY):
            numbers = range(begin, min(begin + ARRAY, count))
            jobs = [{"queue": queue, "params": {"n": n}} for n in numbers]
            ids = self.call("POST", "/v1/jobs", jobs)["ids"]
            first, last = first or ids[0], ids[-1]
        return first, last

    def counts(self, queue):
        return self.call("GET", f"/v1/queues/{queue}")["counts"]

    def job(self, job_id, wait="0s"):
        return self.call("GET", f"/v1/jobs/{job_id}?wait={wait}")

    def newest(self, queue):
        return self.call("GET", f"/v1/jobs?queue={queue}&limit={ARRAY}")["jobs"]


def seconds_of(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
