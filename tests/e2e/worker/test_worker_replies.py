# SPDX-License-Identifier: MIT
"""Replies that a worker never gets: whatever they said has happened once."""
import json
import signal
import time

import pytest

from processes import Process, noted
from proxy import Proxy
from test_worker_life import Held
from waiting import DEADLINE_S, eventually


@pytest.fixture
def shop(shops):
    return shops(slots=0).start()


@pytest.fixture
def proxy(shop):
    made = Proxy(shop.server.port)
    yield made
    made.close()


@pytest.mark.parametrize("unheard", [False, True])
def test_an_end_whose_reply_was_lost_counts_once(shop, workers, proxy, unheard):
    workers(shop.server, "w", url=proxy.url).start()
    place = shop.place("runs")
    queue = shop.queue("echo run >> \"$1\"; echo printed", [str(place)])
    proxy.cut(b'"finish":[', 3, unheard)
    job = shop.run(queue)
    eventually(lambda: proxy.cuts == 3, "three cuts")
    assert (job["state"], job["attempt"], job["lost"]) == ("done", 1, 0)
    assert shop.run(queue)["state"] == "done"
    assert place.read_text() == "run\nrun\n"
    assert shop.log(job) == b"printed\n"
    assert len(shop.client.show(job["id"])["progress"]) == 1


def test_a_grant_whose_reply_was_lost_comes_back_uncounted_and_runs_once(shop, workers, proxy):
    workers(shop.server, "w", url=proxy.url).start()
    place = shop.place("runs")
    queue = shop.queue("echo run >> \"$1\"", [str(place)])
    assert shop.run(queue)["state"] == "done"
    proxy.cut(b'"queues":{"', times=2)
    job = shop.run(queue)
    assert (job["state"], job["attempt"], job["lost"]) == ("done", 1, 0)
    assert place.read_text() == "run\nrun\n"


def test_an_emit_whose_reply_was_lost_makes_one_job(shop, workers, proxy):
    workers(shop.server, "w", url=proxy.url).start()
    sink = shop.queue()
    queue = shop.queue(f"echo 'emit! {{\"queue\":\"{sink}\"}}' >&3; read -r answer <&4; "
                       "echo \"$answer\"; echo 'cursor 5' >&3; read -r answer <&4; "
                       "echo \"$answer\"")
    proxy.cut(b"/v1/emit", times=2)
    job = shop.run(queue)
    assert job["state"] == "done" and proxy.cuts == 2
    answers = shop.log(job).decode().splitlines()
    assert len(answers) == 2 and answers[0].startswith("ok ") and answers[1].startswith("ok")
    made = shop.client.list(f"queue={sink}")
    assert [m["id"] for m in made] == [answers[0].split()[1]]


@pytest.mark.parametrize("unheard", [False, True])
def test_a_lost_reply_does_not_keep_the_worker_from_holding_its_other_jobs(
        shop, workers, proxy, unheard):
    workers(shop.server, "w", slots=4, url=proxy.url, args=["--lease", "1s"]).start()
    held = Held(shop)
    held.process()
    proxy.cut(b'"finish":[', 1, unheard)
    assert shop.carry_out("true")["state"] == "done"
    eventually(lambda: proxy.cuts == 1, "the cut")
    begun = time.monotonic()
    eventually(lambda: time.monotonic() - begun > 3, "three leases")
    held.go()
    job = held.ended()
    assert (job["state"], job["attempt"], job["lost"]) == ("done", 1, 0)


def test_what_a_worker_said_that_is_gone_takes_no_jobs_from_the_next_of_its_name(shop):
    """The server was stopped while it came, and hears it late."""
    job_id = shop.submit(shop.queue())
    queue = shop.client.show(job_id)["queue"]
    job = shop.client.take(queue, worker="w")
    body = json.dumps({"worker": "w", "queues": {}, "max": 0, "all": True}).encode()
    server = Process(shop.server.process.pid)
    late = shop.server.wire()
    server.send(signal.SIGSTOP)
    eventually(lambda: server.state() == "T", "the stop")
    late.send(b"POST /v1/claim HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
              b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    late.close()
    server.send(signal.SIGCONT)
    for _ in range(20):
        assert shop.client.show(job_id)["state"] == "running"
    assert shop.client.finish(job) == {"id": job_id, "ok": True}


def test_much_output_while_the_server_is_away_is_bounded_and_delivered(shop, workers):
    worker = workers(shop.server, "w").start()
    base = shop.place("pid")
    queue = shop.queue("echo $$ > \"$1\"; while ! [ -e \"$1.go\" ]; do sleep 0.01; done; "
                       "echo the first line; head -c 300000000 /dev/zero | tr '\\0' x; "
                       "echo; echo the last line; touch \"$1.over\"", [str(base)],
                       keep={"log": "100M"})
    job_id = shop.submit(queue)
    noted(base)
    shop.server.kill()
    base.with_name(base.name + ".go").touch()
    eventually(base.with_name(base.name + ".over").exists, "the end of the output", 3 * DEADLINE_S)
    assert memory_of(worker.process.pid) < 200 << 20
    shop.restart()
    job = shop.ended(job_id, 3 * DEADLINE_S)
    assert job["state"] == "done"
    log = shop.log(job)
    assert log.startswith(b"the first line\nxxx") and log.endswith(b"x\nthe last line\n")


def memory_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) << 10
    raise AssertionError("no VmRSS")
