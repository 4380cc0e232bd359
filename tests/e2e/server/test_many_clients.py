# SPDX-License-Identifier: MIT
"""Several client processes at once, and exact books about what they did."""
import json
import subprocess
import sys
from pathlib import Path

from client import counted
from waiting import PATIENCE

HELPERS = Path(__file__).resolve().parents[1]

# One client process: submits, claims and finishes; prints what was acknowledged.
CLIENT = r"""
import json, random, sys
sys.path.insert(0, sys.argv[1])
from client import Client
port, name, jobs, expected = int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
client = Client(("127.0.0.1", port))
rng = random.Random(name)
submitted, ended, granted = [], [], []
sent = 0
idle = 0
while sent < jobs or idle < 3:
    if sent < jobs:
        n = min(rng.choice([1, 1, 5, 20]), jobs - sent)
        items = [{"queue": "work", "key": f"{name}-{i}", "params": {"by": name, "n": i}}
                 for i in range(sent, sent + n)]
        ids = client.ok("POST", "/v1/jobs", items)["ids"]
        if rng.random() < 0.2:
            assert client.ok("POST", "/v1/jobs", items)["ids"] == ids
        submitted += ids
        sent += n
    wait = "0s" if sent < jobs else "500ms"
    taken = client.claim(worker=name, max=rng.choice([1, 4, 30]), wait=wait)["jobs"]
    idle = 0 if taken else idle + 1
    finish = []
    for job in taken:
        granted.append([job["id"], job["attempt"]])
        state = rng.choice(["done", "done", "done", "returned", "later"])
        item = {"id": job["id"], "lease": job["lease"], "state": state}
        finish.append({**item, "delay": 0} if state == "later" else item)
    if finish:
        results = client.ok("POST", "/v1/finish", {"finish": finish})["results"]
        for item, result in zip(finish, results):
            assert result.get("ok") and "again" not in result, result
            if item["state"] == "done":
                ended.append(item["id"])
            else:
                idle = 0
print(json.dumps({"submitted": submitted, "ended": ended, "granted": granted}))
"""


def test_every_job_is_done_exactly_once(server, client):
    clients, jobs = 5, 400
    processes = [subprocess.Popen([sys.executable, "-c", CLIENT, str(HELPERS), str(server.port),
                                   f"c{n}", str(jobs), str(clients * jobs)],
                                  stdout=subprocess.PIPE) for n in range(clients)]
    try:
        books = [json.loads(process.communicate(timeout=120 * PATIENCE)[0]) for process in
                 processes]
        assert [process.returncode for process in processes] == [0] * clients
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()
    submitted = sum((book["submitted"] for book in books), [])
    ended = sum((book["ended"] for book in books), [])
    assert len(set(submitted)) == len(submitted) == clients * jobs
    for job in client.claim(max=1000)["jobs"]:  # what came back after the last client had left
        client.end(job)
        ended.append(job["id"])
    assert sorted(ended) == sorted(submitted)
    listed = client.list()
    assert {job["id"] for job in listed} == set(submitted)
    assert client.counts() == {"work": {"done": clients * jobs}} == counted(listed)
    marks = {(job["params"]["by"], job["params"]["n"]) for job in listed}
    assert len(marks) == clients * jobs
