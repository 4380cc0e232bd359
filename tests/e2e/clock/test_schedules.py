# SPDX-License-Identifier: MIT
"""Schedules: each nominal time fires once; what people see and do with them."""
import json
import os
import time
from datetime import datetime, timezone

import pytest

import faketime
import postgres
from waiting import Background, eventually, parse_time
from waybill import Server

DEFINITIONS = """
queues:
  work: {}
  other: {subscribe: news}
  third: {subscribe: news}
schedules:
  tick: {every: 1s, queue: work, overlap: all, params: {at: "{now}", of: "{schedule}"}}
  once: {every: 1s, queue: other}
  rare: {cron: "0 0 29 2 *", queue: work, description: leap days}
"""

IDLE = """
queues:
  work: {}
  other: {}
schedules:
  nightly: {cron: "30 2 * * *", zone: Europe/Berlin, queue: work, params: {day: "{day}"}}
"""


def shown(client, name, query=""):
    return client.ok("GET", f"/v1/schedules/{name}{query}", status=200)


def fired(client, name):
    return shown(client, name)["fired"]


def nominals(client, name):
    """Of the entries that say fired, which are unique unless something is wrong."""
    times = [f["nominal"] for f in shown(client, name)["firings"] if f["state"] == "fired"]
    assert len(times) == len(set(times)), times
    return times


# ---- firing

def test_a_schedule_makes_a_job_for_each_of_its_times(servers):
    client = servers(definitions=DEFINITIONS).start().tcp()
    eventually(lambda: fired(client, "tick") >= 3)
    schedule = shown(client, "tick")
    entry = schedule["firings"][0]
    job = client.show(entry["job"])
    assert job["params"] == {"at": entry["nominal"], "of": "tick"}
    assert job["labels"] == {"schedule": "tick", "nominal": entry["nominal"]}
    assert entry["state"] == "fired" and entry["job_state"] == "ready"
    assert len({job["params"]["at"] for job in client.list("queue=work")}) >= 3
    assert parse_time(schedule["next_at"]) > parse_time(entry["nominal"])


def test_while_its_job_lives_none_is_made_and_the_entry_says_why(servers):
    client = servers(definitions=DEFINITIONS).start().tcp()
    eventually(lambda: shown(client, "once")["skipped"] >= 2)
    job, = client.list("queue=other")
    assert f"job {job['id']} is ready" in shown(client, "once")["firings"][0]["why"]
    client.end(client.take("other"))
    eventually(lambda: len(client.list("queue=other")) == 2)


def test_neither_kill_nor_restart_nor_the_same_definitions_fire_twice(servers):
    server = servers(definitions=DEFINITIONS).start()
    for _ in range(4):
        count = fired(server.tcp(), "tick")
        eventually(lambda: fired(server.tcp(), "tick") > count)
        server.restart()
    client = server.tcp()
    times = nominals(client, "tick")
    jobs = [job["params"]["at"] for job in client.list("queue=work")]
    assert len(jobs) == len(set(jobs)) and set(times) <= set(jobs)


def test_two_servers_fire_each_time_once(servers):
    if not postgres.STORE:
        pytest.skip("needs PostgreSQL")
    store = postgres.new_store()
    one = servers("a", definitions=DEFINITIONS, store=store).start()
    two = servers("b", definitions=DEFINITIONS, store=store).start()
    client = one.tcp()
    eventually(lambda: fired(client, "tick") >= 4)
    one.kill()
    client = two.tcp()
    count = fired(client, "tick")
    eventually(lambda: fired(client, "tick") >= count + 3, deadline_s=40)
    nominals(client, "tick")
    jobs = [job["params"]["at"] for job in client.list("queue=work")]
    assert len(jobs) == len(set(jobs))


def test_a_publication_reaches_each_subscriber(servers):
    server = servers(definitions="""
queues: {one: {subscribe: news}, two: {subscribe: news}}
schedules: {tell: {every: 1s, topic: news, params: {day: "{day}"}}}
""").start()
    client = server.tcp()
    eventually(lambda: client.list("queue=one") and client.list("queue=two"))
    assert "published to 2 queues" in shown(client, "tell")["firings"][-1]["why"]


# ---- nights on which clocks change

class Clock:
    """The wall clock of a server: set(instant) takes effect at once.

    While it is set, libfaketime may show the true time for a moment.
    """

    def __init__(self, directory):
        self.file = os.path.join(directory, "clock")

    def set(self, text):
        at = datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp()
        with open(self.file + ".new", "w", encoding="ascii") as file:
            file.write(f"{at - time.time():+.3f}\n")
        os.rename(self.file + ".new", self.file)

    def env(self):
        return faketime.env(FAKETIME_TIMESTAMP_FILE=self.file, FAKETIME_NO_CACHE="1")


needs_faketime = pytest.mark.skipif(not faketime.is_usable(),
                                    reason="needs the package faketime, no thread sanitizer")


@needs_faketime
@pytest.mark.embedded("on PostgreSQL the database's clock is the time")
@pytest.mark.parametrize("before, at, later, nominal, day", [
    # 02:30 does not exist: right after the gap, at 03:00 of summer time
    ("2026-03-29 00:59:30", "2026-03-29 01:00:01", "2026-03-29 01:30:01", "2026-03-29T01:00:00Z",
     "2026-03-29"),
    # 02:30 comes twice: the first one
    ("2026-10-25 00:29:30", "2026-10-25 00:30:01", "2026-10-25 01:30:01", "2026-10-25T00:30:00Z",
     "2026-10-25")])
def test_half_past_two_fires_once_on_both_nights(servers, directory, before, at, later, nominal,
                                                 day):
    clock = Clock(directory)
    clock.set(before)
    server = servers(definitions=IDLE).start(clock.env())
    client = server.tcp()
    assert shown(client, "nightly", "?next=1")["next"] == [nominal]
    clock.set(at)
    client.submit("other")
    eventually(lambda: fired(client, "nightly") == 1)
    entry, = [f for f in shown(client, "nightly")["firings"] if f["state"] == "fired"]
    assert entry["nominal"] == nominal
    assert client.show(entry["job"])["params"] == {"day": day}
    clock.set(later)
    client.submit("other")
    eventually(lambda: shown(client, "nightly")["next"][0][:10] > day)
    assert fired(client, "nightly") == 1 and len(client.list("queue=work")) == 1


@needs_faketime
@pytest.mark.embedded("on PostgreSQL the database's clock is the time")
def test_a_clock_that_jumps_is_one_entry_and_fires_nothing_twice(servers, directory):
    clock = Clock(directory)
    clock.set("2026-05-01 12:00:00")
    client = servers(definitions=DEFINITIONS).start(clock.env()).tcp()
    eventually(lambda: fired(client, "tick") >= 2)
    clock.set("2036-05-01 12:00:00")
    client.submit("work")
    eventually(lambda: shown(client, "tick")["missed"] > 300_000_000)
    entry, = [f for f in shown(client, "tick")["firings"] if f.get("until", "")[:4] == "2036"]
    assert entry["state"] == "missed" and entry["count"] > 300_000_000
    clock.set("2026-05-01 12:00:30")
    count = fired(client, "tick")
    eventually(lambda: fired(client, "tick") >= count + 3)
    nominals(client, "tick")


def test_the_next_times_are_those_of_the_zone(servers):
    server = servers(definitions=IDLE).start()
    next_of = server.cli("schedule", "next", "nightly", "-n", "3", "--from",
                         "2026-03-27T12:00:00Z")
    assert next_of.out.split() == ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z",
                                   "2026-03-30T00:30:00Z"]
    asked = server.tcp().ok("GET", "/v1/schedules/nightly?next=2&from=2026-10-24T12:00:00Z")
    assert asked["next"] == ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]


# ---- people

def test_a_paused_schedule_fires_nothing_until_it_is_resumed(servers):
    server = servers(definitions=DEFINITIONS).start()
    admin = server.unix()
    eventually(lambda: fired(admin, "tick") >= 1)
    assert server.cli("schedule", "pause", "tick").out == "tick  paused\n"
    count = fired(admin, "tick")
    assert shown(admin, "tick")["paused"] and shown(admin, "tick")["next_at"] is None
    eventually(lambda: shown(admin, "once")["skipped"] >= 3)  # two more seconds
    assert fired(admin, "tick") == count
    assert server.cli("schedule", "resume", "tick").out == "tick  on\n"
    eventually(lambda: fired(admin, "tick") > count)
    assert any(f["state"] == "skipped" and f["why"] == "it was paused"
               for f in shown(admin, "tick")["firings"])


def test_run_makes_its_job_now(servers):
    server = servers(definitions=IDLE).start()
    ran = server.cli("schedule", "run", "nightly")
    job = ran.out.split()[1]
    assert server.tcp().show(job)["queue"] == "work"
    again = server.cli("schedule", "run", "nightly")
    assert again.status != 0 and f"job {job} is ready" in again.err
    server.tcp().refused(404, "not_found", "POST", "/v1/schedules/none/run")


def test_list_and_show_name_times_and_reasons(servers):
    server = servers(definitions=DEFINITIONS).start()
    eventually(lambda: fired(server.tcp(), "tick") >= 1)
    listed = server.cli("schedule", "list").out
    assert "tick" in listed and "every 1s" in listed and "0 0 29 2 *" in listed
    assert server.cli("schedule", "list", "--names").out.split() == ["once", "rare", "tick"]
    page = server.cli("schedule", "show", "tick").out
    assert "NOMINAL" in page and "fired" in page
    lines = server.cli("schedule", "list", "--json").out.splitlines()
    assert [json.loads(line)["name"] for line in lines] == ["once", "rare", "tick"]
    assert server.tcp().ok("GET", "/v1/schedules?limit=1")["cursor"] == "once"


def test_firings_are_told_as_events(servers):
    server = servers(definitions=DEFINITIONS).start()
    wire = server.wire(60).send(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    wire.reply(to_head=True)

    lines = Background(lambda: [line for line in iter(wire.file.readline, b"")
                                if b'"schedule":"tick","what":"fired"' in line][:1])
    eventually(lambda: fired(server.tcp(), "tick") >= 3)
    server.stop()
    line, = lines.result()
    assert b'"nominal":"20' in line and b'"job":"' in line


def test_metrics_count_them(servers):
    client = servers(definitions=DEFINITIONS).start().tcp()
    eventually(lambda: client.metrics()["waybill_fired_total"] >= 2)
    assert client.metrics()['waybill_schedule_fired_total{schedule="tick"}'] >= 1
    assert client.metrics()['waybill_schedule_missed_total{schedule="rare"}'] == 0


# ---- definitions

@pytest.mark.parametrize("definition, words", [
    ({"cron": "61 * * * *", "queue": "work"}, "cron"),
    ({"cron": "0 0 30 2 *", "queue": "work"}, "cron"),
    ({"cron": "@sometimes", "queue": "work"}, "cron"),
    ({"cron": "@daily", "every": "1h", "queue": "work"}, "cron and every exclude each other"),
    ({"cron": "@daily", "queue": "work", "zone": "Europe/Berlim"}, "Europe/Berlin"),
    ({"cron": "@daily", "queue": "work", "zone": "../../etc/passwd"}, "time zone"),
    ({"cron": "@daily", "queue": "wrok"}, "did you mean 'work'?"),
    ({"cron": "@daily"}, "'queue' or a 'topic'"),
    ({"queue": "work"}, "'cron' or 'every'"),
    ({"every": "10ms", "queue": "work"}, "every"),
    ({"every": "1h", "queue": "work", "params": {"a": "{b}"}}, "{day}, {now} and {schedule}"),
    ({"every": "1h", "queue": "work", "overlap": "never"}, "overlap"),
    ({"every": "1h", "topic": "t", "overlap": "skip"}, "only 'all' is possible"),
    ({"every": "1h", "queue": "work", "jitter": "2h"}, "jitter"),
    ({"every": "1h", "queue": "work", "catch_up_all": True}, "catch_up"),
])
def test_what_cannot_fire_is_refused_with_a_reason(admin, definition, words):
    error = admin.refused(422, "invalid", "PUT", "/v1/schedules/bad", definition)
    assert words in error["message"], error


def test_a_queue_stays_while_a_schedule_names_it(servers):
    server = servers(definitions=IDLE).start()
    refused = server.unix().refused(409, "conflict", "DELETE", "/v1/queues/work")
    assert refused["message"] == "queue 'work' is in use: schedule 'nightly' names it in 'queue'"
    assert server.cli("schedule", "rm", "nightly").out == "nightly  deleted\n"
    server.unix().ok("DELETE", "/v1/queues/work")


def test_mistakes_in_files_have_their_line(servers):
    server = servers(definitions=IDLE + '  odd: {cron: "0 25 * * *", queue: work}\n')
    checked = server.cli("check", server.file)
    assert checked.status != 0 and "queues.yaml:7: schedule 'odd': cron" in checked.err
    server.define(IDLE + '  odd: {cron: "@daily", zone: Europe/Berlim, queue: work}\n')
    checked = server.cli("check", server.file)
    assert checked.status != 0 and "queues.yaml:7: schedule 'odd': zone" in checked.err
    assert "Europe/Berlin" in checked.err


def test_a_changed_schedule_begins_anew(servers):
    server = servers(definitions=IDLE, store=Server.EMBEDDED).start()
    admin = server.unix()
    admin.ok("PUT", "/v1/schedules/nightly", {"every": "1h", "queue": "other"}, 200)
    schedule = shown(admin, "nightly")
    assert schedule["every"] == "1h" and "cron" not in schedule and schedule["firings"] == []
