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
    terminal.until(r"work: 1 ready.*no command: waits for a claim over HTTP", start=mark)
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
        return re.search(r"other +\S*up\S*( +\S+)+ +\d+(\.\d)?\r",
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
    assert screen.count("\n") == 4 and "q quits" in screen and "1-4 of " in screen
    mark = terminal.mark()
    terminal.resize(60, 100)
    terminal.process.send_signal(signal.SIGWINCH)
    terminal.until("q quits", start=mark)
    terminal.until("FAILED LAST|30 jobs|n=29", start=mark)


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
    assert {"server", "queues", "workers", "running", "waiting", "failed"} == set(ran.json), ran
    terminal = Terminal("top", "--json", "--data", server.data)
    assert terminal.wait() == 0 and ENTER not in terminal.text
    terminal.close()


def test_without_a_server_it_says_so(directory):
    terminal = Terminal("top", "--data", os.path.join(directory, "none"))
    assert terminal.wait() == 5 and "no server" in terminal.text and ENTER not in terminal.text
    terminal.close()


ENTER_KEY, UP, DOWN, PAGE_DOWN, END = "\r", "\x1b[A", "\x1b[B", "\x1b[6~", "\x1b[F"


def press(terminal, key, pattern):
    """Presses a key and waits for what it shows."""
    mark = terminal.mark()
    terminal.press(key)
    return terminal.until(pattern, start=mark)


def test_a_job_is_chosen_and_looked_into(server, client, top):
    jobs = client.submit_many([{"queue": "work", "params": {"n": n}} for n in range(3)])
    claimed = client.claim(max=3)["jobs"]
    client.ok("POST", f"/v1/jobs/{jobs[1]}/log?lease={claimed[1]['lease']}&offset=0",
              b"one\n\x1b]0;title\x07two\n")
    terminal = started(top)
    press(terminal, DOWN, rf"\x1b\[7m{jobs[2]}")
    press(terminal, "j", rf"\x1b\[7m{jobs[1]}")
    press(terminal, ENTER_KEY, rf"job {jobs[1]}.*running[\s\S]*n = 1[\s\S]*q back")
    press(terminal, ENTER_KEY, r"one[\s\S]*two[\s\S]*g G")
    assert "title" not in terminal.text
    press(terminal, "q", rf"job {jobs[1]}")
    press(terminal, "\x1b", rf"\x1b\[7m{jobs[1]}")  # still chosen
    press(terminal, UP, rf"\x1b\[7m{jobs[2]}")
    press(terminal, "?", "choose a job[\\s\\S]*fold them")
    press(terminal, "q", "q quits")
    terminal.press("q")
    assert terminal.wait() == 0 and terminal.restored()


def test_jobs_that_wait_can_be_looked_into(server, client, top):
    later = client.submit("work", delay="1h", params={"n": "later"})
    held = client.submit("other", params={"n": "held"})
    client.act(held, "hold")
    ready = client.submit("work", params={"n": "ready"})
    terminal = started(top)
    terminal.until("WAITING")
    for job_id, words in ((ready, r"ready.*n=ready +queue work has no command"),
                          (held, "held.*n=held +held by hand"),
                          (later, "scheduled.*n=later +not due yet: starts in ")):
        press(terminal, DOWN, rf"\x1b\[7m{job_id} .*{words}")
    press(terminal, ENTER_KEY, rf"job {later}.*scheduled[\s\S]*q back")
    told = server.cli("status", "--json").json
    assert [job["id"] for job in told["waiting"]] == [ready, held, later]


def test_lines_that_are_cut_say_so(top):
    terminal = started(top, size=(24, 40))
    terminal.until(r"waybill .*unix:\S+…")


def test_a_long_screen_is_scrolled(server, client, top):
    client.submit_many([{"queue": "work", "params": {"n": n}} for n in range(40)])
    client.claim(max=40)
    terminal = started(top, size=(20, 100))
    terminal.until(r"1-19 of \d+")
    shown = press(terminal, PAGE_DOWN, r"20-38 of (\d+)")
    last = int(shown[1])
    press(terminal, END, rf"{last - 18}-{last} of {last}")
    press(terminal, "g", rf"1-19 of {last}")
    for _ in range(19):
        terminal.press(DOWN)
    press(terminal, DOWN, r"\x1b\[7m[0-9A-Z]{13}.*n=20")  # the chosen one stays in sight


def test_idle_queues_and_workers_that_are_gone_are_folded(server, client, top):
    client.submit("other")
    for name, leaves in (("stays", False), ("gone", True)):
        instance = {"name": name, "host": "box", "pid": 7, "instance": name * 8}
        for more in ({}, {"leaves": True}) if leaves else ({},):
            claim = {"worker": {**instance, **more}, "queues": {}, "max": 0}
            client.ok("POST", "/v1/claim", claim, 200)
    terminal = started(top)
    terminal.until(r"other +\S*up[\s\S]*and 6 idle queues[\s\S]*stays +[\s\S]*"
                   "and 1 worker stopped or silent")
    assert "gone " not in terminal.text
    press(terminal, "a", r"two words[\s\S]*gone +")
    press(terminal, "a", r"and 6 idle queues[\s\S]*and 1 worker stopped")


def test_the_last_column_of_a_full_line_is_seen(server, client, top):
    client.submit(params={"text": "x" * 300})
    client.end(client.take(), "failed", exit=1, text="y" * 300)
    terminal = started(top, size=(24, 80))
    terminal.until("y+…(?!\x1b\\[K)")


def test_status_folds_idle_queues_as_top_does(server, client):
    client.submit("other")
    out = server.cli("status").out
    assert "\nother " in out and "and 6 idle queues\n" in out and "two words" not in out, out
    for option in ("--all", "-a"):
        out = server.cli("status", option).out
        assert "\ntwo words " in out and "idle queues" not in out, out
    assert len(server.cli("status", "--json").json["queues"]) == 7
