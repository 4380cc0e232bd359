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


def results(group):
    """The ended members of a group, one by one, however many there are."""
    server = UnixConnection(os.environ["WAYBILL_URL"].removeprefix("unix:"))
    server.request("GET", f"/v1/groups/{group}/results")
    reply = server.getresponse()
    if reply.status != 200:
        raise SystemExit(f"the results of group {group}: {reply.read().decode()}")
    for line in reply:
        yield json.loads(line)
