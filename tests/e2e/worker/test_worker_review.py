# SPDX-License-Identifier: MIT
"""What a reading of the worker brought to light: programs and servers that do not behave."""
import json
import os
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from processes import Process, noted
from waiting import DEADLINE_S, eventually
from waybill import BIN, plain_env
from worker import PYTHON

pytestmark = pytest.mark.embedded("the worker alone decides it")


def cpu_ticks(pid):
    fields = Process(pid)._stat()
    return int(fields[11]) + int(fields[12])


def worker_pid(shop):
    return shop.local()["pid"]


# ---- residents ----

STUBBORN = PYTHON + """
import json, os, signal, sys, time

def note(*_):
    with open(job["params"]["place"], "w") as file:
        file.write(f"{os.getpid()}\\n")

signal.signal(signal.SIGTERM, note)
job = json.loads(sys.stdin.readline())["job"]
os.write(3, (job["id"] + " done\\n").encode())
while True:
    time.sleep(0.1)
"""


def test_waiting_for_a_resident_that_does_not_end_costs_nothing(shop):
    place = shop.place("term")
    queue = shop.queue(STUBBORN, resident=True, slots=1, idle="1s")
    assert shop.run(queue, params={"place": str(place)})["state"] == "done"
    resident = eventually(lambda: place.exists() and noted(place), "TERM", 2 * DEADLINE_S)
    pid = worker_pid(shop)
    before = cpu_ticks(pid)
    begun = os.times().elapsed
    eventually(lambda: os.times().elapsed > begun + 1, "a second")
    assert resident.alive() and cpu_ticks(pid) - before < os.sysconf("SC_CLK_TCK") / 4
    resident.kill()


CLOSES = PYTHON + """
import json, os, sys, time
job = json.loads(sys.stdin.readline())["job"]
os.close(0)
os.write(3, (job["id"] + " done\\n").encode())
while True:
    time.sleep(0.1)
"""


def test_a_resident_that_reads_no_more_is_replaced_and_the_job_not_counted(shop):
    queue = shop.queue(CLOSES, resident=True, slots=1)
    for _ in range(3):
        job = shop.run(queue)
        assert (job["state"], job["attempt"]) == ("done", 1)


EARLY = PYTHON + """
import json, os, sys, time
rest = b""
while True:
    data = os.read(0, 4096)
    if not data:
        break
    rest += data
    if b'"early"' in rest:
        os.write(3, rest[len(b'{"job":{"id":"'):][:13] + b" done\\n")
        rest = b""
        while not os.path.exists(sys.argv[1]):
            time.sleep(0.01)
    while b"\\n" in rest:
        line, rest = rest.split(b"\\n", 1)
        os.write(3, (json.loads(line)["job"]["id"] + " done\\n").encode())
"""


def test_a_resident_that_answers_before_it_has_read_gets_no_torn_line(shop):
    place = shop.place("go")
    queue = shop.queue(EARLY, [str(place)], resident=True, slots=1)
    early = shop.run(queue, params={"early": True, "long": "x" * 900000})
    assert early["state"] == "done"
    job_id = shop.submit(queue)
    eventually(lambda: shop.client.show(job_id)["state"] != "ready", "the next one in hand")
    place.touch()
    job = shop.ended(job_id)
    assert (job["state"], job["attempt"]) == ("done", 1)


# ---- servers that do not behave ----

class FakeServer:
    """Serves what a worker needs; `answer(body)` returns the reply to a claim, or a status."""

    def __init__(self, answer, queues=None):
        self.answer = answer
        self.definitions = 1
        self.queues = {"a": {"command": ["true"]}} if queues is None else queues
        self.claims = []
        self.asked = self.wakes = 0
        self.heeds = True  # it does what it is told
        self.gone = threading.Event()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def reply(self, status, body, kind="application/json"):
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", kind)
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except ConnectionError:
                    self.close_connection = True

            def do_GET(self):
                fake.asked += 1
                self.reply(200, {"definitions": fake.definitions, "queues": [
                    {"name": name, "definition": text} for name, text in fake.queues.items()]})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                fake.claims.append(body)
                answer = fake.answer(body)
                if isinstance(answer, tuple):
                    self.reply(*answer)
                    return
                if body.get("wake"):
                    fake.wakes += 1
                if not answer and "wait" in body:
                    fake.wait()
                ends = [{"id": item["id"], "state": "done"} for item in body.get("finish", [])]
                self.reply(200, {"results": ends, "touched": 0, "jobs": [],
                                 "definitions": fake.definitions, **answer})

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def wait(self):
        wakes = self.wakes
        while not self.gone.wait(0.01) and not (self.heeds and self.wakes > wakes):
            pass

    def close(self):
        self.gone.set()
        self.http.shutdown()
        self.http.server_close()

    def finishes(self):
        return [item for body in list(self.claims) for item in body.get("finish", [])]


def a_job(number=1, queue="a"):
    return {"id": f"{number:013d}", "lease": f"{number:013d}", "queue": queue, "attempt": 1,
            "params": {}}


class Once:
    """Gives a job to the first who has room for it."""

    def __init__(self, *jobs):
        self.jobs = list(jobs)
        self.lock = threading.Lock()

    def __call__(self, body):
        with self.lock:
            if body.get("max") and self.jobs:
                return {"jobs": [self.jobs.pop(0)]}
        return {}


@pytest.fixture
def faked(directory):
    """Makes a fake server with a worker of it: faked(answer, …), started."""
    made = []

    def make(answer, args=(), **named):
        fake = FakeServer(answer, **named)
        log = open(os.path.join(directory, "log"), "ab")
        worker = subprocess.Popen([BIN, "worker", "--server", fake.url, "--data", directory,
                                   "--name", "w", "-j", "2", *args], stdin=subprocess.DEVNULL,
                                  stdout=log, stderr=log, env=plain_env(HOME=directory))
        log.close()
        fake.log = Path(directory, "log")
        made.append((fake, worker))
        return fake, worker

    yield make
    for fake, worker in made:
        try:
            worker.terminate()
            assert worker.wait(DEADLINE_S) == 0, fake.log.read_text()
        finally:
            worker.kill()
            worker.wait()
            fake.close()


REFUSED = (422, {"error": {"code": "invalid", "message": "it is not taken"}})


def test_a_server_that_takes_no_end_of_a_job_costs_that_job_alone(faked):
    first, second = a_job(1), a_job(2)
    jobs = Once(first)

    def tries():
        return [item for item in fake.finishes() if item["id"] == first["id"]]

    def answer(body):
        if any(item["id"] == first["id"] for item in body.get("finish", [])):
            return REFUSED
        if tries() and body["max"] and "finish" not in body:
            return {"jobs": [second]}  # to each that asks: a reply may find nobody
        return jobs(body)

    fake, worker = faked(answer)
    eventually(lambda: any(item["id"] == second["id"] for item in fake.finishes()), "the other")
    eventually(lambda: tries()[-1]["state"] == "failed", "the end as a failure")
    eventually(lambda: "refuses its result" in fake.log.read_text(), "the job given up")
    assert worker.poll() is None


@pytest.mark.parametrize("status", [400, 401, 403, 404, 407, 429, 500, 502, 503])
def test_an_answer_that_is_not_the_servers_word_loses_no_end(faked, status):
    jobs = Once(a_job())
    bad = [3]

    def answer(body):
        if body.get("finish") and bad[0] > 0:
            bad[0] -= 1
            return (status, b"<html>somebody on the way</html>", "text/html")
        return jobs(body)

    fake, _ = faked(answer)
    eventually(lambda: len(fake.finishes()) == 4, "the end")
    assert {item["state"] for item in fake.finishes()} == {"done"}


def test_a_page_that_says_200_loses_no_end(faked):
    jobs = Once(a_job())
    bad = [3]

    def answer(body):
        if body.get("finish") and bad[0] > 0:
            bad[0] -= 1
            return (200, b"<html>please log in</html>", "text/html")
        return jobs(body)

    fake, _ = faked(answer)
    eventually(lambda: len(fake.finishes()) == 4, "the end")
    assert {item["state"] for item in fake.finishes()} == {"done"}


def test_a_worker_that_is_refused_asks_with_growing_pauses(faked):
    fake, _ = faked(lambda body: (403, {"error": {"code": "forbidden", "message": "not you"}}))
    eventually(lambda: len(fake.claims) >= 3, "three tries")
    begun, count = time.monotonic(), len(fake.claims)
    eventually(lambda: time.monotonic() > begun + 1.5, "a while")
    assert len(fake.claims) - count <= 6 and fake.asked <= 10


def test_after_an_outage_the_queues_are_asked_for_anew(faked):
    """The server may be another by then, with the same number by chance."""
    away = [False]
    jobs = Once(a_job(queue="b"))

    def answer(body):
        if away[0]:
            return (503, {"error": {"code": "unavailable", "message": "not now"}})
        if "a" in body["queues"]:
            return {}
        return jobs(body) if "b" in body["queues"] else {}

    fake, _ = faked(answer)
    eventually(lambda: any(body["max"] for body in fake.claims), "a claim")
    away[0] = True
    fake.queues = {"b": {"command": ["true"]}}
    fake.gone.set()  # what waits is answered
    seen = len(fake.claims)
    eventually(lambda: len(fake.claims) > seen, "a claim that is refused")
    away[0] = False
    eventually(fake.finishes, "the job of the other server")


def test_no_job_is_asked_for_while_it_is_told_what_is_held(faked):
    """Such a request might overtake the other, which would take the job back while it runs."""
    seen, early = threading.Event(), []

    def answer(body):
        if body.get("all"):
            eventually(lambda: fake.asked, "the question for queues")
            early.append(seen.wait(0.3))
        elif body["max"]:
            seen.set()
        return {}

    fake, _ = faked(answer)
    eventually(seen.is_set, "a claim")
    assert early == [False]


def test_an_idle_worker_ends_soon_although_its_server_hangs(faked):
    fake, worker = faked(lambda body: {})
    fake.heeds = False
    eventually(lambda: any(body["max"] for body in fake.claims), "a claim that waits")
    worker.terminate()
    assert worker.wait(DEADLINE_S) == 0


# ---- large numbers ----

def test_a_worker_may_have_more_slots_than_a_claim_takes_jobs(shops, workers):
    shop = shops(slots=0).start()
    queue = shop.queue("exit 0")
    workers(shop.server, "wide", slots=1300).start()
    ids = [shop.submit(queue) for _ in range(20)]
    assert {shop.ended(job_id)["state"] for job_id in ids} == {"done"}


def test_a_worker_may_serve_more_queues_than_a_claim_names(shops, workers):
    shop = shops(slots=0, definitions="queues:\n" + "".join(
        f"  many{n}: {{command: ['true']}}\n" for n in range(1100))).start()
    workers(shop.server, "wide").start()
    ids = [shop.submit(f"many{n}") for n in (0, 550, 1099)]
    assert {shop.ended(job_id)["state"] for job_id in ids} == {"done"}


def test_a_worker_has_no_more_slots_than_its_open_files_allow(shops, directory):
    shop = shops(slots=0).start()
    queue = shop.queue("sleep 0.05")
    ids = [shop.submit(queue) for _ in range(40)]
    log = Path(directory, "log")
    with log.open("ab") as out:
        worker = subprocess.Popen(
            ["sh", "-c", 'ulimit -n 128; exec "$@"', "sh", BIN, "worker", "--server",
             f"unix:{shop.server.socket_path}", "--data", str(shop.server.data), "--name", "few",
             "-j", "100"], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            env=plain_env(HOME=directory))
    try:
        assert {shop.ended(job_id)["state"] for job_id in ids} == {"done"}
        assert "broken" not in log.read_text() and "100 slots are wanted" in log.read_text()
    finally:
        worker.terminate()
        assert worker.wait(DEADLINE_S) == 0
