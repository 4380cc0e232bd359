# SPDX-License-Identifier: MIT
"""Resident programs: started once, fed line by line, one job in hand at a time."""
import signal

import pytest

from processes import Process, must_end, noted
from waiting import DEADLINE_S, eventually, parse_time
from worker import PYTHON

pytestmark = pytest.mark.embedded("the worker alone decides it")

# Answers each job as its params say; tells its pid with each.
RESIDENT = PYTHON + """
import json, os, sys, time

def say(text):
    os.write(3, text.encode() + b"\\n")

jobs = 0
for line in sys.stdin:
    job = json.loads(line)["job"]
    jobs += 1
    print(f"pid {os.getpid()} job {jobs}", flush=True)
    params = job["params"]
    if "hold" in params:
        with open(params["hold"] + ".pid", "w") as file:
            file.write(f"{os.getpid()}\\n")
        while not os.path.exists(params["hold"]):
            time.sleep(0.01)
    for text in params.get("say", ["{id} done"]):
        say(text.replace("{id}", job["id"]))
    if "exit" in params:
        os._exit(params["exit"])
    if "signal" in params:
        os.kill(os.getpid(), params["signal"])
"""


def pid_of(shop, job):
    return int(shop.log(job).split()[1])


@pytest.fixture
def queue(shop):
    return shop.queue(RESIDENT, resident=True, slots=1)


def test_one_process_carries_out_many_jobs(shop, queue):
    jobs = [shop.run(queue) for _ in range(20)]
    assert all(job["state"] == "done" and job["attempt"] == 1 for job in jobs)
    assert len({pid_of(shop, job) for job in jobs}) == 1
    assert [shop.log(job).split()[-1] for job in jobs] == [str(n + 1).encode() for n in range(20)]


def test_what_it_says_of_a_job_counts_for_that_job(shop, queue):
    job = shop.run(queue, params={"say": ["{id} set x 5", "{id} run busy", "{id} progress 3/4",
                                          "{id} done all well"]})
    assert (job["state"], job["text"], job["result"]) == ("done", "all well", {"x": 5})
    assert (job["done"], job["total"]) == (3, 4)
    job = shop.run(queue, params={"say": ["{id} err no good"]})
    assert (job["state"], job["text"], job["cause"]) == ("failed", "no good", "exit")


def test_a_line_of_another_job_or_of_none_harms_nothing(shop, queue):
    other = shop.run(queue)
    job = shop.run(queue, params={"say": [f"{other['id']} err too late", "done", "nonsense",
                                          "0000000000000 done", "{id} done mine"]})
    assert (job["state"], job["text"]) == ("done", "mine")
    assert b"waybill: " in shop.log(job)
    assert shop.client.show(other["id"])["state"] == "done"


def test_as_many_as_there_are_slots_run_at_once_each_with_one_job(shop):
    queue = shop.queue(RESIDENT, resident=True, slots=2)
    holds = [shop.place("hold") for _ in range(4)]
    ids = [shop.submit(queue, params={"hold": str(hold)}) for hold in holds]
    first = {noted(f"{hold}.pid").pid for hold in holds[:2]}
    assert len(first) == 2
    assert [shop.client.show(job_id)["state"] for job_id in ids[2:]] == ["ready", "ready"]
    for hold in holds:
        hold.touch()
    pids = {pid_of(shop, shop.ended(job_id)) for job_id in ids}
    assert pids == first


@pytest.mark.parametrize("how, cause, status", [({"exit": 3}, "exit", 3),
                                                ({"exit": 0}, "protocol", 0),
                                                ({"signal": 9}, "signal", -9)])
def test_one_that_dies_costs_the_job_in_hand_an_attempt(shop, how, cause, status):
    queue = shop.queue(RESIDENT, resident=True, slots=1)
    assert shop.run(queue)["state"] == "done"
    job = shop.run(queue, params={"say": [], **how})
    assert (job["state"], job["cause"], job["exit"]) == ("failed", cause, status)
    job = shop.run(queue)
    assert job["state"] == "done" and shop.log(job).endswith(b"job 1\n"), "a new one"


def test_one_that_keeps_dying_is_started_with_growing_pauses(shop):
    place = shop.place("starts")
    queue = shop.queue("date +%s.%N >> \"$1\"; read -r line; exit 1", [str(place)], resident=True,
                       retry={"max": 20, "first": "1ms", "factor": 1, "jitter": 0})
    job_id = shop.submit(queue)
    eventually(lambda: place.exists() and len(place.read_text().split()) >= 4, "four starts",
               3 * DEADLINE_S)
    starts = [float(at) for at in place.read_text().split()]
    pauses = [b - a for a, b in zip(starts, starts[1:])]
    assert pauses[2] > 1.5 * pauses[1] > 0.5, pauses
    assert "ended with status 1" in shop.local()["broken"][queue]
    shop.admin.act(job_id, "cancel")
    shop.ended(job_id, 7 * DEADLINE_S)


def test_an_idle_one_is_stopped_and_started_again_on_demand(shop):
    queue = shop.queue(RESIDENT, resident=True, idle="200ms")
    first = Process(pid_of(shop, shop.run(queue)))
    assert first.alive()
    must_end(first)
    job = shop.run(queue)
    assert job["state"] == "done" and pid_of(shop, job) != first.pid
    assert queue not in shop.local()["broken"]


def test_an_idle_one_that_ignores_the_end_of_its_input_is_told_and_killed(shop):
    place = shop.place("pid")
    queue = shop.queue(PYTHON + "import json, os, signal, sys, time\n"
                       "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                       "print(os.getpid(), file=open(sys.argv[1], 'w'))\n"
                       "job = json.loads(sys.stdin.readline())['job']\n"
                       "os.write(3, (job['id'] + ' done\\n').encode())\ntime.sleep(1000)",
                       [str(place)], resident=True, idle="100ms")
    assert shop.run(queue)["state"] == "done"
    must_end(noted(place), 4 * DEADLINE_S)


def test_a_time_out_ends_the_program_and_the_next_job_gets_a_new_one(shop):
    queue = shop.queue(RESIDENT, resident=True, slots=1)
    job = shop.run(queue, timeout="400ms", params={"hold": str(shop.place("never"))})
    assert (job["state"], job["cause"]) == ("failed", "timeout")
    job = shop.run(queue)
    assert job["state"] == "done" and shop.log(job).endswith(b"job 1\n")


def test_a_cancelled_job_ends_the_program(shop):
    queue = shop.queue(RESIDENT, resident=True, slots=1)
    hold = shop.place("never")
    job_id = shop.submit(queue, params={"hold": str(hold)})
    program = noted(f"{hold}.pid")
    shop.admin.act(job_id, "cancel")
    assert shop.ended(job_id)["state"] == "cancelled"
    must_end(program)
    assert shop.run(queue)["state"] == "done"


def test_a_restart_of_the_queue_starts_programs_anew(shop):
    queue = shop.queue(RESIDENT, resident=True, slots=1)
    first = pid_of(shop, shop.run(queue))
    shop.admin.ok("POST", f"/v1/queues/{queue}/restart")
    must_end(Process(first))
    job = shop.run(queue)
    assert job["state"] == "done" and pid_of(shop, job) != first


def test_a_changed_definition_starts_programs_anew_after_the_job_in_hand(shop):
    queue = shop.queue(RESIDENT, resident=True, slots=1)
    hold = shop.place("hold")
    job_id = shop.submit(queue, params={"hold": str(hold)})
    old = noted(f"{hold}.pid")
    shop.define(queue, command=[str(shop.program(RESIDENT))], resident=True, slots=1, idle="30s")
    hold.touch()
    assert shop.ended(job_id)["state"] == "done"
    must_end(old)
    assert pid_of(shop, shop.run(queue)) != old.pid


def test_a_job_of_a_strict_resident_queue_and_large_jobs_come_whole(shop):
    queue = shop.queue(PYTHON + "import json, os, sys\nfor line in sys.stdin:\n"
                       "    job = json.loads(line)['job']\n"
                       "    os.write(3, f\"{job['id']} done {len(job['params']['x'])} "
                       "{len(job.get('body', ''))}\\n\".encode())", resident=True)
    job = shop.run(queue, params={"x": "y" * 200_000}, body="z" * 3_000_000)
    assert (job["state"], job["text"]) == ("done", "200000 3000000")


def test_residents_and_what_they_started_end_with_the_server(shops):
    shop = shops().start()
    place = shop.place("pid")
    queue = shop.queue("setsid sleep 1000 >/dev/null 2>&1 3>&- 4>&- & echo $! > \"$1\"\n"
                       "while read -r line; do echo \"${line#*\\\"id\\\":\\\"}\" | cut -c1-13 | "
                       "sed 's/$/ done/' >&3; done", [str(place)], resident=True)
    job = shop.run(queue)
    assert job["state"] == "done", shop.log(job)
    daemon = noted(place)
    assert daemon.alive()
    shop.server.stop()
    assert not daemon.alive()


def test_a_killed_worker_with_a_resident_loses_the_job_in_hand_only(shops, workers):
    shop = shops(slots=0).start()
    worker = workers(shop.server, "w").start()
    queue = shop.queue(RESIDENT, resident=True, slots=1)
    done = shop.run(queue)
    hold = shop.place("hold")
    job_id = shop.submit(queue, params={"hold": str(hold)})
    program = noted(f"{hold}.pid")
    worker.send(signal.SIGKILL)
    worker.wait_exit()
    must_end(program)
    workers(shop.server, "w").start()
    hold.touch()
    job = shop.ended(job_id)
    assert (job["state"], job["lost"]) == ("done", 1)
    assert shop.client.show(done["id"])["lost"] == 0
    assert parse_time(job["finished_at"]) > parse_time(done["finished_at"])
