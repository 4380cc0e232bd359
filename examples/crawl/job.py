# SPDX-License-Identifier: MIT
"""What the programs of this example share: lines to Waybill, and the results of a group."""
import http.client
import json
import os
import socket


def say(line):
    """A line on descriptor 3: docs/programs.md lists the words."""
    os.write(3, line.encode() + b"\n")


def emit(job):
    say("emit " + json.dumps(job))


def keep(name, value):
    say(f"set {name} {json.dumps(value)}")


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("waybill")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def ask(method, path, body=None):
    """The reply of the server that this job comes from."""
    server = UnixConnection(os.environ["WAYBILL_URL"].removeprefix("unix:"))
    server.request(method, path, None if body is None else json.dumps(body))
    reply = server.getresponse()
    if reply.status != 200:
        raise SystemExit(f"{path}: {reply.read().decode()}")
    return reply


def results(group):
    """The ended members of a group, one by one, however many there are."""
    for line in ask("GET", f"/v1/groups/{group}/results"):
        yield json.loads(line)


def shut(resource, seconds, why):
    """Nobody uses the resource for that long; this job is tried again then."""
    ask("POST", f"/v1/resources/{resource}/shut", {"for": f"{seconds}s", "why": why})
    say(f"resend {seconds}-{why}")
