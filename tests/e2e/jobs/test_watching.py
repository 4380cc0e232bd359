# SPDX-License-Identifier: MIT
"""What watches the server: workers, events, metrics, health, the server's own page."""
import json
import os
import re
from pathlib import Path

import pytest

from waiting import Background, eventually, now, parse_time


class Events:
    """An open event stream."""

    def __init__(self, server, query=""):
        self.wire = server.wire()
        self.wire.send(f"GET /v1/events{query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        status = self.wire.file.readline()
        assert status.startswith(b"HTTP/1.1 200"), status
        self.headers = {}
        for line in iter(self.wire.file.readline, b"\r\n"):
            name, value = line.decode().split(":", 1)
            self.headers[name.lower()] = value.strip()
        self.buffer = b""

    def _line(self):
        """One line of the stream, its chunks put together."""
        while b"\n" not in self.buffer:
            if self.headers.get("transfer-encoding") == "chunked":
                size = int(self.wire.file.readline(), 16)
                assert size, "the stream has ended"
                self.buffer += self.wire.file.read(size)
                self.wire.file.readline()
            else:
                piece = self.wire.file.read1(65536)
                assert piece, "the stream has ended"
                self.buffer += piece
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode().rstrip("\r")

    def next(self):
        """(kind, data) of the next event; comments are passed over."""
        kind, data = None, ""
        while True:
            line = self._line()
            if line.startswith("event:"):
                kind = line[6:].strip()
            elif line.startswith("data:"):
                data += line[5:].strip()
            elif line == "" and kind is not None:
                return kind, json.loads(data)

    def close(self):
        self.wire.close()


@pytest.fixture
def events(server):
    opened = []

    def open_stream(query=""):
        stream = Events(server, query)
        opened.append(stream)
        return stream

    yield open_stream
    for stream in opened:
        stream.close()


def test_events_tell_a_jobs_life(client, events):
    stream = events()
    assert stream.headers["content-type"].startswith("text/event-stream")
    job_id = client.submit()
    client.end(client.take())
    seen = [stream.next() for _ in range(3)]
    assert all(kind == "job" for kind, _ in seen)
    assert [(data["id"], data["queue"], data["state"]) for _, data in seen] == \
        [(job_id, "work", "ready"), (job_id, "work", "running"), (job_id, "work", "done")]
    assert all(data["what"] and parse_time(data["at"]) for _, data in seen)


def test_events_of_one_queue_only(client, events):
    stream = events("?queue=other")
    client.submit("work")
    job_id = client.submit("other")
    kind, data = stream.next()
    assert (kind, data["id"], data["queue"]) == ("job", job_id, "other")


def test_events_of_an_unknown_queue_are_refused(server):
    with server.wire() as wire:
        wire.send(b"GET /v1/events?queue=wrok HTTP/1.1\r\nHost: localhost\r\n\r\n")
        status = wire.file.readline()
        assert status.split()[1] in (b"404", b"422"), status


def test_queue_events(admin, events):
    stream = events()
    admin.ok("POST", "/v1/queues/work/pause")
    kind, data = stream.next()
    assert kind == "queue" and data["queue"] == "work" and data["state"] == "pause"


def test_events_tell_of_lost_leases_and_retries(client, events):
    stream = events("?queue=again")
    job_id = client.submit("again")
    client.take("again", lease="1s")
    job = client.take("again")
    client.end(job, "failed", exit=1)
    client.end(client.take("again"))
    states = []
    while not states or states[-1] != "done":
        _, data = stream.next()
        assert data["id"] == job_id
        states.append(data["state"])
    assert states[:3] == ["ready", "running", "ready"] and "scheduled" in states


def test_a_subscriber_that_takes_nothing_does_not_stop_the_server(client, events):
    events()
    for _ in range(20):
        client.submit_many([{"queue": "work", "params": {"n": 1}}] * 1000)
        assert len(client.claim(max=1000)["jobs"]) == 1000
    assert client.get("/healthz").status == 200


def test_workers_are_listed_with_what_they_serve(client):
    client.submit_many([{"queue": "work"}] * 3)
    client.claim({"work": 2, "other": 4},
                 worker={"name": "w1", "host": "box", "pid": 7, "version": "0.1"}, max=2)
    client.claim({"work": 1}, worker="w2", max=1)
    workers = {w["name"]: w for w in client.ok("GET", "/v1/workers")["workers"]}
    assert set(workers) == {"w1", "w2"}
    assert workers["w1"]["queues"] == {"work": 2, "other": 4}
    assert abs((parse_time(workers["w1"]["seen_at"]) - now()).total_seconds()) < 60


def test_workers_are_known_after_a_kill(server, client):
    client.submit()
    client.take(worker="w1")
    server.restart()
    client = server.tcp()
    worker, = client.ok("GET", "/v1/workers")["workers"]
    assert worker["name"] == "w1"


def test_metrics_are_prometheus_text(client):
    client.submit()
    client.end(client.take())
    reply = client.get("/metrics")
    assert reply.status == 200 and reply.headers["Content-Type"].startswith("text/plain")
    text = reply.body.decode()
    assert text.endswith("\n")
    sample = re.compile(r'[a-zA-Z_:][a-zA-Z0-9_:]*(\{([a-z_]+="([^"\\]|\\.)*",?)*\})? '
                        r'-?(\d+(\.\d+)?(e[+-]?\d+)?|\+Inf|NaN)')
    typed, helped, seen = {}, set(), set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert kind in ("counter", "gauge", "histogram", "summary",
                            "untyped") and name not in typed, line
            typed[name] = kind
        elif line.startswith("# HELP "):
            helped.add(line.split(" ")[2])
        elif line and not line.startswith("#"):
            assert sample.fullmatch(line), line
            name = re.match(r"[a-zA-Z0-9_:]+", line)[0]
            base = re.sub(r"_(bucket|sum|count)$", "", name)
            assert name in typed or base in typed, line
            assert line.rsplit(" ", 1)[0] not in seen, f"twice: {line}"
            seen.add(line.rsplit(" ", 1)[0])
    assert helped == set(typed) and all(name.startswith(("waybill_", "process_")) for name in typed)


def test_metrics_count_what_happened(client):
    before = client.metrics()
    client.submit_many([{"queue": "work"}] * 5)
    for job in client.claim(max=3)["jobs"]:
        client.end(job)
    after = client.metrics()
    grown = {name: after[name] - before.get(name, 0) for name in after}
    assert 5 in [grown[n] for n in grown if "submitted" in n], grown
    assert 3 in [grown[n] for n in grown if "claimed" in n], grown
    jobs = {n: v for n, v in after.items() if 'queue="work"' in n}
    assert any('state="ready"' in n and v == 2 for n, v in jobs.items()), jobs
    assert any('state="done"' in n and v == 3 for n, v in jobs.items()), jobs


def test_a_queue_name_is_escaped_in_metrics(client, admin):
    admin.request("PUT", "/v1/queues/a%22b%5Cc", {})
    client.submit('a"b\\c')
    assert 'queue="a\\"b\\\\c"' in client.get("/metrics").body.decode()


def test_health(client, admin):
    for c in (client, admin):
        reply = c.get("/healthz")
        assert (reply.status, reply.body.strip()) == (200, b"ok")
        assert c.get("/readyz").status == 200


def test_the_server_shows_itself(client, server):
    shown = client.ok("GET", "/v1/server", status=200)
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", shown["version"])
    assert shown["pid"] == server.process.pid
    assert shown["store"] and shown["uptime"] is not None
    assert any("disk" in name for name in shown), shown


def switches(server):
    """Context switches of all threads so far."""
    total = 0
    for task in Path(f"/proc/{server.process.pid}/task").iterdir():
        for line in (task / "status").read_text().splitlines():
            if "ctxt_switches" in line:
                total += int(line.split()[1])
    return total


def check_idleness(server, client):
    """A job in an hour, an open connection, a claim that waits in vain: all of it costs nothing."""
    client.submit(delay="1h")
    call = Background(server.tcp().claim, "other", wait="3s")
    eventually(lambda: client.waiting() == 1)
    before = switches(server)
    call.result()
    assert switches(server) - before <= 15


own_thread = pytest.mark.skipif("TSAN_OPTIONS" in os.environ,
                                reason="the sanitizer has a thread that ticks")


@own_thread
def test_an_idle_server_does_no_work(server, client):
    check_idleness(server, client)


@own_thread
def test_a_subscriber_costs_an_idle_server_nothing(server, client, events):
    events()
    check_idleness(server, client)
