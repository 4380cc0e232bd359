# SPDX-License-Identifier: MIT
"""Clocks that are wrong, or are set while the server runs."""
import os
import time

import pytest

import faketime
from waiting import eventually
from waybill import Server

TEXT = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

pytestmark = [pytest.mark.skipif(not faketime.is_usable(),
                                 reason="needs the package faketime, and no thread sanitizer"),
              pytest.mark.embedded("on PostgreSQL the database's clock is the time")]


class Clock:
    """The wall clock of a server: set(offset) takes effect at once; waits continue."""

    def __init__(self, directory):
        self.file = os.path.join(directory, "clock")
        self.set("+0")

    def set(self, offset):
        with open(self.file + ".new", "w", encoding="ascii") as file:
            file.write(offset + "\n")
        os.rename(self.file + ".new", self.file)

    def env(self):
        return faketime.env(FAKETIME_TIMESTAMP_FILE=self.file, FAKETIME_NO_CACHE="1")


@pytest.fixture
def clock(directory):
    return Clock(directory)


def year_of(job):
    value = 0
    for letter in job:
        value = value * 32 + TEXT.index(letter)
    return 2024 + (value >> 22) / 1000 / 86400 / 365.25


def refused(server, clock, offset):
    """What a start under that clock says."""
    clock.set(offset)
    server.spawn(clock.env())
    assert server.read_ready() == ""
    assert server.wait_exit() not in (0, -6)
    return server.log_text()


@pytest.mark.parametrize("offset", ["+80y", "-30y"])
def test_a_start_beyond_2093_or_before_2024_is_refused_with_a_clear_message(servers, clock, offset):
    assert "set the clock" in refused(servers(), clock, offset)


def test_a_new_store_is_not_begun_in_2090(servers, clock):
    assert "--trust-clock" in refused(servers(), clock, "+64y")


def test_a_start_years_ahead_of_the_store_is_refused_unless_the_clock_is_trusted(servers, clock):
    server = servers().start(clock.env())
    before = server.unix().submit("work")
    server.stop()
    assert "--trust-clock" in refused(server, clock, "+10y")
    server.args.append("--trust-clock")
    server.start(clock.env())
    assert year_of(server.unix().submit("work")) > year_of(before) + 9
    server.stop()
    clock.set("+0")
    server.start(clock.env())
    after = server.unix().submit("work")
    assert before < after and year_of(after) < year_of(before) + 1, "ids stay in the future"


def test_a_running_server_outlives_a_visit_to_any_time(servers, clock):
    server = servers().start(clock.env())
    admin = server.unix()
    last = admin.submit("work")
    first_year = year_of(last)
    for offset in ("+64y", "+90y", "+0", "-60y", "+0", "+64y", "+0"):
        clock.set(offset)
        job = admin.submit("work")
        assert job > last, offset
        assert year_of(job) < first_year + 1, offset
        last = job
    server.stop()
    server.start(clock.env())
    job = server.unix().submit("work")
    assert last < job and year_of(job) < first_year + 1


def test_a_delay_lasts_its_length_when_the_clock_is_set_back_or_forward(servers, clock):
    server = servers().start(clock.env())
    admin = server.unix()
    for offset in ("-500d", "+0", "+200d"):
        job = admin.submit("work", delay="2s")
        long = admin.submit("work", delay="1h")
        began = time.monotonic()
        clock.set(offset)
        eventually(lambda: admin.ok("GET", f"/v1/jobs/{job}")["state"] == "ready",
                   "the delayed job")
        assert time.monotonic() - began > 1.5, f"too early after {offset}"
        assert admin.ok("GET", f"/v1/jobs/{long}")["state"] == "scheduled", offset
        admin.ok("POST", f"/v1/jobs/{job}/cancel")


def test_a_retry_starts_after_its_pause_when_the_clock_is_set_back(servers, clock):
    server = servers(definitions="queues: {again: {retry: {max: 2, first: 1s, factor: 1, jitter: "
                                 "0}}}")
    server.start(clock.env())
    admin = server.unix()
    admin.submit("again")
    job = admin.claim("again")["jobs"][0]
    admin.finish(job, "failed", exit=1)
    clock.set("-500d")
    assert admin.claim("again", wait="20s")["jobs"][0]["attempt"] == 2


def test_a_delay_is_not_stretched_by_a_clock_set_back_while_the_server_was_down(servers, clock):
    server = servers().start(clock.env())
    job = server.unix().submit("work", delay="1s")
    server.kill()
    clock.set("-300d")
    server.start(clock.env())
    admin = server.unix()
    eventually(lambda: admin.ok("GET", f"/v1/jobs/{job}")["state"] == "ready", "the delayed job")


def test_a_step_of_more_than_a_minute_is_logged_once(servers, clock):
    server = servers().start(clock.env())
    admin = server.unix()
    for offset, line in (("+1h", "the clock was set forward by 1h"),
                         ("-2h", "the clock was set back by 3h")):
        clock.set(offset)
        for _ in range(3):
            admin.submit("work")
        assert server.log_text().count(line) == 1, server.log_text()
    clock.set("-7170")
    admin.submit("work")
    assert server.log_text().count("the clock was set") == 2, "half a minute is nothing to tell"
