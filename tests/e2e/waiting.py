# SPDX-License-Identifier: MIT
"""Time in the tests: conditions with a deadline, calls in the background, instants as texts.

Nothing sleeps for a fixed time: every wait is for a condition.
"""
import os
import re
import threading
import time
from datetime import datetime, timezone

# The sanitizers make everything slower; what a test waits for may take so many times longer.
SANITIZED = any(name in os.environ for name in ("ASAN_OPTIONS", "TSAN_OPTIONS"))
PATIENCE = 6 if SANITIZED else 1
DEADLINE_S = 30 * PATIENCE  # for what takes milliseconds on an idle machine


def eventually(condition, what="the condition", deadline_s=DEADLINE_S):
    """The first true value of condition(); fails when there is none in time."""
    end = time.monotonic() + deadline_s
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"{what} did not come true within {deadline_s} s"
        time.sleep(0.005)


def parse_time(text):
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3}|\.\d{6})?Z", text), text
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def time_text(moment):
    return moment.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


def now():
    return datetime.now(timezone.utc)


class Background:
    """A call in a thread of its own; result() gives what it returned or raises what it raised."""

    def __init__(self, call, *args, **named):
        self._value = self._error = None
        self._thread = threading.Thread(target=self._run, args=(call, args, named), daemon=True)
        self._thread.start()

    def _run(self, call, args, named):
        try:
            self._value = call(*args, **named)
        except BaseException as error:  # pylint: disable=broad-except
            self._error = error

    def running(self):
        return self._thread.is_alive()

    def result(self, deadline_s=DEADLINE_S):
        self._thread.join(deadline_s)
        assert not self._thread.is_alive(), f"the call did not end within {deadline_s} s"
        if self._error is not None:
            raise self._error
        return self._value
