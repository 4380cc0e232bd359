# SPDX-License-Identifier: MIT
"""What a reading of the worker brought to light: programs and servers that do not behave."""
import os

from processes import Process, noted
from test_programs import PYTHON
from waiting import DEADLINE_S, eventually


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
    if b'"early":true' in rest:
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
    place.touch()
    job = shop.ended(job_id)
    assert (job["state"], job["attempt"]) == ("done", 1)
