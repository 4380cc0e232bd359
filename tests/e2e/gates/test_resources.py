# SPDX-License-Identifier: MIT
"""Resources: slots, rates, opening hours, over HTTP, on the command line and by programs."""
import datetime
import os
import time

import pytest

import faketime
from waiting import eventually
from waybill import plain_env, run_waybill

DEFINITIONS = """
resources:
  api: {slots: 2}
  quota: {rate: [3/1h]}
queues:
  work: {needs: {api: 1}}
  other: {}
  metered: {needs: {quota: 1}}
  fetch: {lane: {key: "{host}", limit: 1}}
"""


@pytest.fixture
def server(servers):
    return servers(definitions=DEFINITIONS).start()


@pytest.fixture(name="client")
def an_administrator(server):
    return server.unix()


def claimed(client, queue="work", count=10):
    return client.claim(queue, max=count)["jobs"]


def test_slots_are_shared_by_all_claimers_and_shown_with_their_holders(client, server):
    for _ in range(3):
        client.submit("work")
    jobs = claimed(client)
    assert len(jobs) == 2
    assert claimed(client) == []
    shown = client.ok("GET", "/v1/resources/api", status=200)
    assert (shown["slots"], shown["in_use"], shown["open"]) == (2, 2, True)
    assert shown["waiting"] == 1
    assert sorted(h["job"] for h in shown["holders"]) == sorted(j["id"] for j in jobs)
    client.finish(jobs[0])
    assert len(claimed(client)) == 1
    assert client.ok("GET", "/v1/resources/api")["in_use"] == 2


def test_a_waiting_job_names_the_resource(client, server):
    for _ in range(3):
        last = client.submit("work")
    claimed(client)
    reason = client.show(last)["reason"]
    assert reason["code"] == "resource"
    assert reason["text"] == "api has 2 of 2 slots in use"


def test_a_rate_holds_across_a_kill(client, server):
    for _ in range(5):
        client.submit("metered")
    assert len(claimed(client, "metered", 2)) == 2
    server.kill()
    server.start()
    client = server.unix()
    assert len(claimed(client, "metered")) == 1
    assert claimed(client, "metered") == []
    waiting = [j for j in client.list("queue=metered") if j["state"] == "ready"]
    assert waiting[0]["reason"]["text"] == "quota allows 3 starts in 1h"
    assert "until" in waiting[0]["reason"]


def test_shut_and_open_by_hand(client, server):
    client.submit("work")
    reply = client.ok("POST", "/v1/resources/api/shut", {"for": "1h", "why": "quota"}, 200)
    assert reply["shut"] is True
    assert claimed(client) == []
    shown = client.ok("GET", "/v1/resources/api")
    assert shown["open"] is False and shown["why"].startswith("api is shut until ")
    assert shown["why"].endswith(": quota")
    client.ok("POST", "/v1/resources/api/open", status=200)
    assert len(claimed(client)) == 1
    client.refused(404, "not_found", "POST", "/v1/resources/apo/shut", {})


def test_lanes_pass_over_one_that_cannot_go(client, server):
    for host in ("a", "a", "a", "b"):
        last = client.submit("fetch", params={"host": host})
    assert [j["params"]["host"] for j in claimed(client, "fetch")] == ["a", "b"]
    assert client.state(last) == "running"
    waiting = [j for j in client.list("queue=fetch") if j["state"] == "ready"]
    assert waiting[0]["reason"] == {"code": "lane", "text": "lane a has 1 of 1 slots in use"}


@pytest.mark.parametrize("definition, message", [
    ({"open": ["25:00-26:00"]}, "open[0]"),
    ({"open": ["22:00-22:00"]}, "open[0]"),
    ({"closed": ["2026-02-30"]}, "closed[0]"),
    ({"zone": "Europe/Berlon"}, "zone"),
    ({"rate": "100"}, "rate"),
    ({"slots": 0}, "slots"),
])
def test_bad_definitions_are_refused_with_their_place(client, server, definition, message):
    refused = client.refused(422, "invalid", "PUT", "/v1/resources/x", definition)
    assert message in str(refused)


def test_bad_needs_are_refused(client, server):
    text = str(client.refused(422, "invalid", "PUT", "/v1/queues/x", {"needs": {"apo": 1}}))
    assert "did you mean 'api'?" in text
    text = str(client.refused(422, "invalid", "PUT", "/v1/queues/x", {"needs": {"api": 3}}))
    assert "can never grant 3" in text
    text = str(client.refused(422, "invalid", "POST", "/v1/jobs",
                          {"queue": "other", "needs": {"api": "many"}}))
    assert "needs.api" in text
    text = str(client.refused(422, "invalid", "POST", "/v1/jobs", {"queue": "fetch"}))
    assert "host" in text
    client.refused(409, "conflict", "DELETE", "/v1/resources/api")


# ---- programs and the command line

def test_a_program_that_meets_a_quota_shuts_the_resource_for_everybody(servers, directory):
    script = os.path.join(directory, "quota.sh")
    with open(script, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\necho 'busy api 3600 429 Too Many Requests' >&3\n")
    os.chmod(script, 0o755)
    server = servers(definitions=f"""
resources:
  api: {{}}
queues:
  work: {{command: ["{script}"], needs: {{api: 1}}}}
""", slots=1).start()
    client = server.unix()
    job = client.submit("work")
    eventually(lambda: client.ok("GET", "/v1/resources/api")["open"] is False, "it is shut")
    shown = eventually(lambda: client.state(job) == "ready" and client.show(job), "it is back")
    assert shown["attempt"] == 0
    assert shown["reason"]["code"] == "resource"
    assert "429 Too Many Requests" in shown["reason"]["text"]


def test_resources_on_the_command_line(client, server):
    env = plain_env(WAYBILL_URL="unix:" + server.socket_path)
    listed = run_waybill("resource", "list", env=env)
    assert "api" in listed.out and "0/2" in listed.out
    assert "shut until" in run_waybill("resource", "shut", "api", "--for", "1h", env=env).out
    assert "closed" in run_waybill("resource", "show", "api", env=env).out
    assert run_waybill("resource", "open", "api", env=env).out == "api  not shut\n"
    assert "open" in run_waybill("resource", "show", "api", "--at", "2027-01-01T00:00:00Z",
                                 env=env).out


# ---- opening hours over both changes of daylight saving

BERLIN = """
resources:
  night: {open: ["22:00-06:00"], zone: Europe/Berlin}
queues:
  work: {needs: {night: 1}}
"""


class Clock:
    """The wall clock of a server, at an instant."""

    def __init__(self, directory):
        self.file = os.path.join(directory, "clock")

    def set(self, text):
        at = datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
        with open(self.file + ".new", "w", encoding="ascii") as file:
            file.write(f"{at - time.time():+.3f}\n")
        os.rename(self.file + ".new", self.file)

    def env(self):
        return faketime.env(FAKETIME_TIMESTAMP_FILE=self.file, FAKETIME_NO_CACHE="1")


@pytest.mark.skipif(not faketime.is_usable(),
                    reason="needs the package faketime, and no thread sanitizer")
@pytest.mark.embedded("on PostgreSQL the database's clock is the time")
@pytest.mark.parametrize("opens, closes", [
    ("2027-03-27T21:00:00Z", "2027-03-28T04:00:00Z"),  # a night of 7 hours
    ("2027-10-30T20:00:00Z", "2027-10-31T05:00:00Z"),  # one of 9
])
def test_hours_in_berlin_over_a_change_of_daylight_saving(servers, directory, opens, closes):
    clock = Clock(directory)
    second = datetime.timedelta(seconds=1)

    def at(text, seconds):
        instant = datetime.datetime.fromisoformat(text.replace("Z", "+00:00")) + seconds * second
        return instant.isoformat().replace("+00:00", "Z")

    clock.set(at(opens, -30))
    server = servers(definitions=BERLIN).start(clock.env())
    client = server.unix()
    ids = [client.submit("work") for _ in range(3)]
    assert claimed(client, count=1) == []
    shown = client.ok("GET", "/v1/resources/night")
    assert (shown["open"], shown["until"]) == (False, opens)
    assert client.show(ids[0])["reason"]["until"] == opens
    clock.set(at(opens, 1))
    eventually(lambda: len(claimed(client, count=1)) == 1, "a job starts when it opens")
    assert client.ok("GET", "/v1/resources/night")["until"] == closes
    clock.set(at(closes, -60))
    eventually(lambda: len(claimed(client, count=1)) == 1, "it is open to the end")
    clock.set(at(closes, 1))
    assert client.ok("GET", "/v1/resources/night")["open"] is False
    assert claimed(client, count=1) == []
    assert client.ok("GET", f"/v1/resources/night?at={at(closes, -1)}")["open"] is True
