# SPDX-License-Identifier: MIT
"""Jobs that have not started in time are cancelled, with cause expired."""
import pytest

from waiting import eventually, parse_time

DEFINITIONS = """
queues:
  work: {retry: {max: 3, first: 0s}}
  short: {expires: 300ms}
"""


@pytest.fixture
def server(servers):
    return servers(definitions=DEFINITIONS).start()


def expired(client, job_id):
    job = client.show(job_id)
    return job["state"] == "cancelled" and job["cause"] == "expired"


def test_a_job_that_waits_too_long_is_cancelled(client):
    job = client.submit("work", expires="300ms")
    assert parse_time(client.show(job)["expires_at"])
    eventually(lambda: expired(client, job))
    assert client.show(job)["text"] == "it did not start in time"
    assert client.claim("work")["jobs"] == []


def test_the_queues_expiry_holds_unless_the_job_has_its_own(client):
    queues = client.submit("short")
    own = client.submit("short", expires="1h")
    eventually(lambda: expired(client, queues))
    assert client.state(own) == "ready"


def test_held_and_scheduled_jobs_expire_and_started_ones_do_not(client):
    held = client.submit("work", expires="400ms")
    client.act(held, "hold")
    late = client.submit("work", expires="400ms")
    client.ok("PATCH", f"/v1/jobs/{late}", {"due_at": "2099-01-01T00:00:00Z"})
    begun = client.submit("work", expires="2s")
    job = client.take("work")
    assert job["id"] == begun
    eventually(lambda: expired(client, held) and expired(client, late))
    client.end(job, "failed")
    eventually(lambda: client.state(begun) == "ready")
    after = client.submit("work", expires="2s")
    eventually(lambda: expired(client, after))
    assert client.state(begun) == "ready"


def test_an_expiry_outlives_kill_9(server):
    job = server.tcp().submit("work", expires="700ms")
    server.restart()
    client = server.tcp()
    eventually(lambda: expired(client, job))


@pytest.mark.parametrize("fields, words", [
    ({"expires": "soon"}, "expires: must be a length"),
    ({"expires": 0}, "expires: must be at least"),
    ({"expires": ["1h"]}, "expires: must be a length"),
    ({"expires": "2020-01-01T00:00:00Z"}, "has passed"),
    ({"expires": "1h", "delay": "2h"}, "before it may start"),
    ({"expires": "1h", "due_at": "2099-01-01T00:00:00Z"}, "before it may start"),
])
def test_what_cannot_start_in_time_is_refused(client, fields, words):
    error = client.refused(422, "invalid", "POST", "/v1/jobs", {"queue": "work", **fields})
    assert words in error["message"]


def test_the_command_line_takes_lengths_and_instants(server):
    client = server.tcp()
    job = server.cli("add", "work", "--expires", "300ms").out.split()[0]
    eventually(lambda: expired(client, job))
    job = server.cli("add", "work", "--expires", "2099-01-01T00:00:00Z").out.split()[0]
    assert client.show(job)["expires_at"] == "2099-01-01T00:00:00Z"
    assert "expires" in server.cli("add", "work", "--expires", "now or never").err


def test_metrics_count_them(client):
    client.submit("work", expires="100ms")
    eventually(lambda: client.metrics()["waybill_expired_total"] >= 1)
