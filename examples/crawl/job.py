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


def results():
    """What the members of the group that has ended have brought, one by one, however many."""
    where, _, rest = os.environ["WAYBILL_GROUP_RESULTS"].partition("/v1/")
    server = (UnixConnection(where.removeprefix("unix:")) if where.startswith("unix:")
              else http.client.HTTPConnection(where.removeprefix("http://")))
    server.request("GET", "/v1/" + rest)
    reply = server.getresponse()
    if reply.status != 200:
        raise SystemExit(f"the results of the group: {reply.read().decode()}")
    for line in reply:
        yield json.loads(line)
