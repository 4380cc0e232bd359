# SPDX-License-Identifier: MIT
"""The live screen, on a terminal of its own."""
import os
import re
import signal

import pytest

from processes import Process
from screens import ENTER, Terminal
from waiting import eventually

pytestmark = pytest.mark.embedded("about the screen")


@pytest.fixture
def top(server):
    """Starts `top` on a terminal."""
    made = []

    def start(*args, **named):
        made.append(Terminal("top", "--data", server.data, *args, **named))
        return made[-1]

    yield start
    for terminal in made:
        terminal.close()


def started(top, **named):
    terminal = top(**named)
    terminal.until("q quits")
    return terminal


def test_it_shows_what_happens_as_it_happens(server, client, top):
    terminal = started(top)
    assert ENTER in terminal.text and "ENDED/S" in terminal.text
    mark = terminal.mark()
    client.submit()
    terminal.until(r"work: 1 ready.*no live worker", start=mark)
    job = client.take(worker={"name": "w9", "host": "box", "pid": 5})
    client.touch(job, done=30, total=60, text="half way", unit="MB", left=100)
    terminal.until(rf"{job['id']}.*━━━━━━━━╌╌╌╌╌╌╌╌  50%.*30/60MB half way, \d+s left", start=mark)
    terminal.until(r"w9 .*box", start=mark)
    client.end(job, "failed", exit=3, text="no more")
    terminal.until(rf"FAILED LAST[\s\S]*{job['id']}.*exit 3: no more", start=mark)


def test_a_rate_is_shown_while_jobs_end(server, client, top):
    terminal = started(top)
    mark = terminal.mark()

    def end_some():
        client.submit_many([{"queue": "other"}] * 5)
        for job in client.claim("other", max=5)["jobs"]:
            client.end(job)
        terminal.mark()
        return re.search(r"other +\S*up\S*( +\S+)+ +\d+(\.\d)?\x1b\[K",
                         terminal.text[mark:])

    eventually(end_some, "a rate")


@pytest.mark.parametrize("key, status", [("q", 0), ("\x03", 0)])
def test_a_key_quits_and_the_terminal_is_as_before(top, key, status):
    terminal = started(top)
    assert not terminal.restored()
    terminal.press(key)
    assert terminal.wait() == status
    assert terminal.restored(), terminal.text[-200:]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_ends_it_and_the_terminal_is_as_before(top, number):
    terminal = started(top)
    terminal.process.send_signal(number)
    assert terminal.wait() == 128 + number
    assert terminal.restored(), terminal.text[-200:]


def test_it_can_be_stopped_and_continued(top):
    terminal = started(top)
    process = Process(terminal.process.pid)
    terminal.process.send_signal(signal.SIGTSTP)
    eventually(lambda: process.state() == "T", "the stop")
    mark = terminal.mark()
    assert terminal.restored()
    terminal.process.send_signal(signal.SIGCONT)
    terminal.until("q quits", start=mark)
    assert not terminal.restored()
    terminal.press("q")
    assert terminal.wait() == 0 and terminal.restored()


def test_it_fits_into_a_terminal_that_changes_its_size(server, client, top):
    client.submit_many([{"queue": "work", "params": {"n": n}} for n in range(30)])
    client.claim(max=30)
    terminal = started(top)
    mark = terminal.mark()
    terminal.resize(5, 60)
    terminal.process.send_signal(signal.SIGWINCH)
    screen = terminal.until(r"\x1b\[H((?:(?!\x1b\[H)[\s\S])*)\x1b\[J", start=mark)[1]
    assert screen.count("\n") == 4 and "q quits" not in screen
    mark = terminal.mark()
    terminal.resize(60, 100)
    terminal.process.send_signal(signal.SIGWINCH)
    terminal.until("q quits", start=mark)
    terminal.until("and 20 more", start=mark)


def test_a_server_that_goes_away_is_told_and_waited_for(server, top):
    terminal = started(top)
    mark = terminal.mark()
    server.kill()
    terminal.until("no server at", start=mark)
    mark = terminal.mark()
    server.start()
    terminal.until("q quits", start=mark)
    terminal.press("q")
    assert terminal.wait() == 0 and terminal.restored()


def test_idle_it_draws_nothing(top):
    terminal = started(top)
    eventually(lambda: not terminal.read(0.5), "silence after the beginning")
    mark = terminal.mark()
    assert not terminal.read(2.5), terminal.text[mark:]


def test_without_a_terminal_it_prints_one_screen(server, client):
    client.submit()
    ran = server.cli("top")
    assert ran.status == 0 and "work: 1 ready" in ran.out and "\x1b" not in ran.out, ran
    ran = server.cli("top", "--json")
    assert {"server", "queues", "workers", "running", "failed"} == set(ran.json), ran
    terminal = Terminal("top", "--json", "--data", server.data)
    assert terminal.wait() == 0 and ENTER not in terminal.text
    terminal.close()


def test_without_a_server_it_says_so(directory):
    terminal = Terminal("top", "--data", os.path.join(directory, "none"))
    assert terminal.wait() == 5 and "no server" in terminal.text and ENTER not in terminal.text
    terminal.close()
