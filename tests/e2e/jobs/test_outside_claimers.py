# SPDX-License-Identifier: MIT
"""A server's own worker leaves alone what it does not know how to run."""
import pytest

from waiting import eventually
from waybill import Server


@pytest.fixture
def busy(tmp_path):
    server = Server(tmp_path, slots=2)
    server.start()
    yield server
    server.finish_up()


def state(client, job_id):
    return client.show(job_id)["state"]


def test_a_job_without_a_command_waits_for_a_claimer_while_the_worker_runs_the_others(busy):
    client = busy.unix()
    plain = [client.submit("default", params={"n": n}) for n in range(5)]
    own = client.post("/v1/jobs", {"queue": "default", "command": ["true"]}).json["id"]
    eventually(lambda: state(client, own) == "done", "the job that brings a command")
    assert {state(client, job_id) for job_id in plain} == {"ready"}
    assert "that runs jobs without a command" in client.show(plain[0])["reason"]["text"]
    taken = client.post("/v1/claim", {"queues": {"default": 5}}).json["jobs"]
    assert [job["id"] for job in taken] == plain
    assert all(job["attempt"] == 1 for job in taken)


def test_a_list_says_of_a_long_command_what_the_job_itself_says(busy):
    """Options above the bound of a list are not read for it, but the job still has them."""
    client = busy.unix()
    for _ in range(2):  # both slots
        client.post("/v1/jobs", {"queue": "default", "command": ["sleep", "60"]})
    eventually(lambda: len(client.get("/v1/jobs?state=running").json["jobs"]) == 2, "full slots")
    job = {"queue": "default", "command": ["true", "x" * 5000]}
    job_id = client.post("/v1/jobs", job).json["id"]
    shown = client.show(job_id)["reason"]
    listed = next(job for job in client.get("/v1/jobs").json["jobs"] if job["id"] == job_id)
    assert listed["cut"]["options"]["size"] > 4096
    assert listed["reason"] == shown and "without a command" not in shown["text"], shown
    busy.kill()
