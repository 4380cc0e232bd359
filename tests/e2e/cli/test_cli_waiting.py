# SPDX-License-Identifier: MIT
"""`add --wait`, `wait`, `log -f`: what they print for a waiting, failed or abandoned job."""
import os
import pty
import re
import signal
import subprocess

import pytest

from proxy import Proxy
from waiting import DEADLINE_S, PATIENCE, Background, eventually
from waybill import BIN, Ran, plain_env

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"


def environment(shop):
    return plain_env(HOME=str(shop.server.dir), WAYBILL_DATA=str(shop.server.data))


class Watching:
    """A verb under way: what it has said so far, and its end."""

    def __init__(self, shop, *args, **env):
        self.err_path = shop.place("said")
        with self.err_path.open("wb") as err:
            self.child = subprocess.Popen([BIN, *map(str, args)], stdout=subprocess.PIPE,
                                          stderr=err, bufsize=0, env={**environment(shop), **env})

    def printed(self, count):
        """The next bytes of its output."""
        data = b""
        while len(data) < count and (piece := self.child.stdout.read(count - len(data))):
            data += piece
        return data

    def said(self, words):
        eventually(lambda: words in self.err_path.read_text(),
                   f"{words!r} on standard error", DEADLINE_S)
        return self

    def end(self):
        out, _ = self.child.communicate(timeout=60 * PATIENCE)
        return Ran(self.child.returncode, out.decode(), self.err_path.read_text())

    def interrupt(self, number=signal.SIGINT):
        self.child.send_signal(number)
        return self.end()


def on_terminal(shop, *args):
    """Everything that it prints on a terminal, which is both of its outputs."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen([BIN, *map(str, args)], stdin=theirs, stdout=theirs, stderr=theirs,
                             close_fds=True, env={**environment(shop), "TERM": "xterm"})
    os.close(theirs)
    text = b""
    try:
        while piece := os.read(ours, 65536):
            text += piece
    except OSError:
        pass
    os.close(ours)
    child.wait(30 * PATIENCE)
    return re.sub(r"\x1b\[[0-9;]*[mK]", "", text.decode()).replace("\r\n", "\n")


def add(shop, *args):
    return shop.server.cli("add", *args).out.strip()


# ---- why it failed

@pytest.mark.parametrize("script, status, why", [
    ("echo first; echo the last word; exit 7", 7, "failed: exit 7: the last word"),
    ("exit 3", 3, "failed: exit 3"),
    ("echo x; kill -9 $$", 137, "failed: signal 9 (KILL): killed, perhaps out of memory"),
    ("kill -TERM $$", 143, "failed: signal 15 (TERM)"),
    ("echo 'err no such page' >&3; exit 1", 1, "failed: exit 1: no such page"),
])
def test_why_a_job_failed_is_told(shop, script, status, why):
    ran = shop.server.cli("add", "--wait", "--", "sh", "-c", script)
    last = ran.err.splitlines()[-1]
    assert ran.status == status and \
        re.fullmatch(rf"waybill: job \w{{13}} {re.escape(why)}", last), ran
    job_id = last.split()[2]
    for verb in (["wait", job_id], ["log", "-f", job_id]):
        ran = shop.server.cli(*verb)
        assert ran.status == status and ran.err.splitlines()[-1] == last, ran


def test_so_is_a_program_that_cannot_be_started_and_a_timeout(shop):
    ran = shop.server.cli("add", "--wait", "--", "/no/such/program")
    assert ran.status == 1 and "failed: start: " in ran.err and "/no/such/program" in ran.err, ran
    ran = shop.server.cli("add", "--wait", "--timeout", "50ms", "--", "sleep", "60")
    assert ran.status != 0 and "failed: timeout" in ran.err and \
        "took longer than 50ms" in ran.err, ran


def test_a_cancelled_job_is_told(shop):
    job_id = add(shop, "--delay", "1h", "--", "true")
    watching = Watching(shop, "wait", job_id).said("not due yet")
    shop.client.act(job_id, "cancel")
    ran = watching.end()
    assert ran.status == 1 and f"job {job_id} was cancelled" in ran.err, ran


@pytest.mark.parametrize("script, why",
                         [("trap 'exit 2' TERM", "exit 2"), ("", "signal 15 (TERM)")])
def test_how_a_cancelled_program_ended_is_told_once(shop, script, why):
    job_id = add(shop, "--", "sh", "-c", f"{script}\necho begun; while :; do sleep 0.05; done")
    watching = Watching(shop, "wait", job_id)
    shop.logged(job_id, b"begun")
    shop.client.act(job_id, "cancel")
    ran = watching.end()
    assert ran.err.endswith(f"job {job_id} was cancelled: {why}\n"), ran
    row = next(line for line in shop.server.cli("list").out.splitlines() if job_id in line)
    assert row.endswith(f"  {why}") and row.count("cancelled") == 1, row
    assert f"about      {why}\n" in shop.server.cli("show", job_id).out


@pytest.mark.parametrize("script, why",
                         [("exit 2", "exit 2"),
                          ("kill -9 $$", "signal 9 (KILL): killed, perhaps out of memory"),
                          ("kill -TERM $$", "signal 15 (TERM)")])
def test_the_log_of_a_queue_says_it_once_as_well(shop, script, why):
    queue = shop.queue(script, stop_after=1)
    job_id = shop.run(queue)["id"]
    stopped, failed = shop.queue_log(queue)[:2]
    assert failed["text"] == f"job {job_id}, attempt 1, {why}" and failed["what"] == "failed"
    assert stopped["text"] == f"stop_after: job {job_id} failed"


def test_nothing_is_said_of_one_that_is_done_nor_with_json(shop):
    ran = shop.server.cli("add", "--wait", "--", "true")
    assert ran.status == 0 and len(ran.err.splitlines()) == 1, ran
    ran = shop.server.cli("add", "--wait", "--json", "--", "false")
    assert (ran.status, ran.err) == (1, "") and ran.json["state"] == "failed", ran


# ---- what it waits for

def test_what_a_job_waits_for_is_told(shop):
    queue = shop.queue("echo ran")
    shop.admin.ok("POST", f"/v1/queues/{queue}/pause", {})
    watching = Watching(shop, "add", queue, "--wait").said(f"is ready: queue {queue} is on pause")
    shop.admin.ok("POST", f"/v1/queues/{queue}/resume", {})
    ran = watching.end()
    assert (ran.status, ran.out) == (0, "ran\n") and ran.err.count("on pause") == 1, ran


@pytest.mark.parametrize("verb", [["add", "--wait"], ["wait"], ["log", "-f"]])
def test_of_a_paused_queue_it_is_told_why_and_what_to_do(shop, verb):
    queue = shop.queue("echo ran")
    shop.admin.ok("POST", f"/v1/queues/{queue}/pause", {})
    watching = Watching(shop, *verb, queue if verb[0] == "add" else add(shop, queue))
    watching.said(f"queue {queue} is on pause, by request: it starts no jobs until 'waybill queue "
                  f"resume {queue}'")
    ran = watching.interrupt()
    assert re.search(r"job \w+ stays in the queue; ", ran.err) and "continues" not in ran.err, ran


@pytest.mark.parametrize("verb", [["wait"], ["log", "-f"]])
def test_each_reason_is_told(shop, verb):
    unserved = shop.queue()
    broken = shop.queue(command=["/no/such/program"])
    first = add(shop, "--delay", "1h", "--", "true")
    held = add(shop, "--delay", "1h", "--", "true")
    shop.client.act(held, "hold")
    for job_id, words in ((add(shop, unserved), f"is ready: queue {unserved} has no command: waits "
                           "for a claim over HTTP or a worker with its own"),
                          (add(shop, broken), f"is ready: queue {broken} is broken on "),
                          (held, "is held: held by hand"),
                          (first, "is scheduled: not due yet: starts in "),
                          (add(shop, "--after", first, "--", "true"),
                           f"is held: waits for job {first}")):
        watching = Watching(shop, *verb, job_id).said(words)
        ran = watching.interrupt()
        assert ran.err.count(words) == 1, ran


def test_between_attempts_it_says_when_the_next_one_comes(shop):
    queue = shop.queue("echo one; exit 1", retry={"max": 1, "first": "2s", "jitter": 0})
    ran = shop.server.cli("add", queue, "--wait")
    assert "attempt 1 failed; next attempt in " in ran.err, ran
    assert "failed: exit 1: one (attempt 2)" in ran.err and ran.out == "one\none\n", ran


@pytest.mark.parametrize("verb", [["add", "--wait"], ["log", "-f"]])
def test_output_beyond_the_logs_bound_is_told(shop, verb):
    queue = shop.queue("seq 2000", keep={"log": 2000})
    ran = shop.server.cli(*verb, queue if verb[0] == "add" else add(shop, queue))
    missing = re.search(r"waybill: (\d+) bytes are left out here\n", ran.out)[1]
    assert ran.status == 0, ran
    assert f"waybill: {missing} bytes of output are missing: " in ran.err, ran
    assert f"keep.log of queue {queue}; raise keep.log, or let the command write to a file\n" in \
        ran.err, ran
    small = shop.queue("echo 'waybill: bytes are left out here'")
    assert "missing" not in shop.server.cli("add", small, "--wait").err


# ---- a server that goes away

HOLDS = "echo begun; until [ -e {} ]; do sleep 0.05; done; echo ended"


@pytest.mark.parametrize("verb, ends", [(["add"], "stop"), (["log", "-f"], "kill")])
def test_a_server_that_is_restarted_is_waited_for(shops, verb, ends):
    shop = shops().start()
    place = shop.place("go")
    queue = shop.queue(HOLDS.format(place))
    args = ["add", queue, "--wait"] if verb == ["add"] else [*verb, add(shop, queue)]
    watching = Watching(shop, *args)
    assert watching.printed(6) == b"begun\n"
    getattr(shop.server, ends)()
    watching.said("; retrying for up to 1m")
    place.touch()
    shop.start()
    ran = watching.end()
    assert ran.status == 0 and ran.err.count("retrying for up to") == 1 and \
        "continues" not in ran.err, ran
    assert ran.out.endswith("ended\n"), ran
    if ends == "kill":
        assert ") was lost; retrying for up to" in ran.err and "outstanding" not in ran.err, ran


@pytest.mark.parametrize("verb", [["add", "--wait"], ["log", "-f"]])
def test_when_an_attempt_is_lost_with_its_server_the_next_one_is_announced(shops, verb):
    shop = shops().start()
    place = shop.place("go")
    queue = shop.queue(HOLDS.format(place))
    watching = Watching(shop, *verb, queue if verb[0] == "add" else add(shop, queue))
    assert watching.printed(6) == b"begun\n"
    shop.server.kill()
    watching.said(") was lost; retrying for up to")
    shop.start()
    watching.said("waybill: attempt 1 was lost; attempt 2 begins\n")
    place.touch()
    ran = watching.end()
    assert (ran.status, ran.out) == (0, "begun\nended\n") and ran.err.count("begins") == 1, ran


def test_wait_goes_on_after_a_restart_of_the_server(shops):
    shop = shops(slots=0).start()
    job_id = shop.submit(shop.queue())
    watching = Watching(shop, "wait", job_id)
    eventually(lambda: shop.client.waiting() == 1, "the one who waits")
    shop.server.kill()
    watching.said("; retrying for up to 1m")
    shop.start()
    eventually(lambda: shop.client.waiting() == 1, "the one who waits")
    shop.client.act(job_id, "cancel")
    ran = watching.end()
    assert ran.status == 1 and "cancelled" in ran.out, ran
    assert ran.err.count("retrying for up to") == 1, ran


@pytest.mark.parametrize("verb",
                         [["add", "--wait"], ["add", "--wait", "--json"], ["wait"], ["log", "-f"]])
def test_a_server_that_stays_away_is_given_up_with_what_to_do(shops, verb):
    shop = shops().start()
    queue = shop.queue(HOLDS.format(shop.place("never")))
    before = [add(shop, queue)] if verb[0] != "add" else [queue]
    proxy = Proxy(shop.server.port)
    watching = Watching(shop, *verb, *before, "--patience", "1s", WAYBILL_URL=proxy.url)
    (job,) = eventually(lambda: shop.client.ok("GET", "/v1/jobs?state=running")["jobs"], "the job")
    if "--json" in verb or verb == ["wait"]:
        eventually(lambda: b"?wait=30000ms" in proxy.heard, "the one who waits")
    else:
        assert watching.printed(6) == b"begun\n"
    shop.server.kill()
    ran = watching.end()
    proxy.close()
    assert ran.status == 5 and ran.err.count("retrying for up to 1s") == 1, ran
    id = job["id"]
    again = f"no answer for 1s; job {id} is kept; to wait for it again: waybill wait {id}"
    assert again in ran.err, ran


# ---- left alone

@pytest.mark.parametrize("verb", [["wait"], ["log", "-f"]])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_watcher_says_that_the_job_goes_on(shop, verb, number):
    place = shop.place("go")
    job_id = add(shop, "--",
                 "sh", "-c", f"echo begun; until [ -e {place} ]; do sleep 0.05; done; echo ended")
    shop.logged(job_id, b"begun")
    watching = Watching(shop, *verb, job_id)
    if verb[0] == "log":
        assert watching.printed(6) == b"begun\n"
    else:
        eventually(
            lambda: "SigCgt:\t" in (text := open(f"/proc/{watching.child.pid}/status").read()) and
            int(text.split("SigCgt:\t")[1].split()[0], 16) & (1 << (number - 1)),
            "the handler")
    ran = watching.interrupt(number)
    assert ran.status == -number, "the shell sees a signal"
    assert f"job {job_id} continues" in ran.err and f"waybill log -f {job_id}" in ran.err, ran
    place.touch()
    assert shop.ended(job_id)["state"] == "done"


def test_so_does_an_interrupted_add_though_the_job_waited_before(shop):
    place = shop.place("go")
    queue = shop.queue(HOLDS.format(place))
    shop.admin.ok("POST", f"/v1/queues/{queue}/pause", {})
    watching = Watching(shop, "add", queue, "--wait").said("is on pause")
    shop.admin.ok("POST", f"/v1/queues/{queue}/resume", {})
    assert watching.printed(6) == b"begun\n"
    ran = watching.interrupt()
    (job,) = shop.client.ok("GET", "/v1/jobs?state=running")["jobs"]
    assert ran.status == -signal.SIGINT and f"job {job['id']} continues" in ran.err, ran
    place.touch()
    assert shop.ended(job["id"])["state"] == "done"


# ---- attempts

def three_attempts(shop, **more):
    queue = shop.queue("echo \"this is $WAYBILL_ATTEMPT\"; [ \"$WAYBILL_ATTEMPT\" != 2 ] || "
                       "printf half; [ \"$WAYBILL_ATTEMPT\" = 3 ]",
                       retry={"max": 2, "first": "10ms", "jitter": 0}, **more)
    job = shop.run(queue)
    assert job["attempt"] == 3
    return job["id"]


def test_one_attempt_of_a_log(shop):
    job_id = three_attempts(shop)
    assert shop.server.cli("log", job_id).out == "this is 1\nthis is 2\nhalfthis is 3\n", \
        "byte for byte in a pipe"
    for attempt, text in ((1, "this is 1\n"), (2, "this is 2\nhalf"), (3, "this is 3\n")):
        ran = shop.server.cli("log", job_id, "--attempt", attempt)
        assert (ran.status, ran.out) == (0, text), ran
    ran = shop.server.cli("log", job_id, "--attempt", "4")
    assert ran.status == 3 and "no attempt 4" in ran.err, ran
    ran = shop.server.cli("log", "-f", job_id, "--attempt", "2")
    assert (ran.status, ran.out) == (0, "this is 2\nhalfthis is 3\n"), ran
    assert shop.client.ok("GET", f"/v1/jobs/{job_id}/log?times=1")["attempts"] == \
        [[1, 0], [2, 10], [3, 24]]


def test_an_attempt_that_printed_nothing_has_nothing(shop):
    queue = shop.queue("[ \"$WAYBILL_ATTEMPT\" = 1 ] || echo second; [ \"$WAYBILL_ATTEMPT\" = 2 ]",
                       retry={"max": 1, "first": "10ms"})
    job_id = shop.run(queue)["id"]
    assert shop.server.cli("log", job_id, "--attempt", "1").out == ""
    assert shop.server.cli("log", job_id, "--attempt", "2").out == "second\n"


def test_on_a_terminal_attempts_are_set_apart(shop):
    job_id = three_attempts(shop)
    wanted = ("── attempt 1 ──\nthis is 1\n── attempt 2 ──\nthis is 2\nhalf\n"
              "── attempt 3 ──\nthis is 3\n")
    assert on_terminal(shop, "log", job_id) == wanted
    assert on_terminal(shop, "log", "-f", job_id).replace("\r", "") == wanted
    once = shop.carry_out("echo only")["id"]
    assert on_terminal(shop, "log", once) == "only\n"


def test_with_redo_only_the_new_attempt_is_printed(shop):
    args = ["--wait", "--key", "redone", "--", "sh", "-c", "echo attempt $WAYBILL_ATTEMPT; exit 3"]
    ran = shop.server.cli("add", *args)
    assert (ran.status, ran.out) == (3, "attempt 1\n"), ran
    ran = shop.server.cli("add", "--redo", *args)
    assert (ran.status, ran.out) == (3, "attempt 2\n"), ran
    ran = shop.server.cli("add", "--redo", *args)
    assert (ran.status, ran.out) == (3, "attempt 3\n"), ran


def test_times_can_be_followed(shop):
    place = shop.place("go")
    job_id = add(shop, "--", "sh", "-c", f"echo one; printf tw; until [ -e {place} ]; "
                                         "do sleep 0.05; done; echo o; echo three")
    shop.logged(job_id, b"tw")
    watching = Watching(shop, "log", "-f", "--times", job_id)
    first = watching.printed(40)
    assert re.match(rf"{TIME} +one\n".encode(), first), first
    place.touch()
    ran = watching.end()
    text = first.decode() + ran.out
    assert ran.status == 0 and \
        re.fullmatch(rf"{TIME} +one\n{TIME} +two\n{TIME} +three\n", text), text
    assert shop.server.cli("log", "--times", job_id).out == text


# ---- what is shown

def test_how_long_it_took_is_for_people(shop):
    job = shop.carry_out("sleep 1.2")
    assert re.search(r" 1\.[2-9] s ", shop.server.cli("show", job["id"]).out)
    job = shop.carry_out("exit 7")
    page = shop.server.cli("show", job["id"]).out
    assert "exit status" not in page and re.search(r"about +exit 7\n", page), page
    job = shop.carry_out("kill -9 $$")
    page = shop.server.cli("show", job["id"]).out
    assert "signal 9 (KILL)" in page and "-9" not in page, page


@pytest.mark.parametrize("options, asked", [(("--json",), 1), ((), 3)])
def test_add_wait_does_not_ask_for_the_job_that_it_was_just_told_of(server, client, options, asked):
    """After the submit: the question that waits; or attempts, log, and the job at its end."""
    name = 'waybill_http_requests_total{class="2xx"}'
    before = client.metrics()[name]
    waiting = Background(server.cli, "add", "work", "--wait", *options)
    client.end(client.take())
    assert waiting.result().status == 0
    others = 4  # submit, claim, finish, and the first question for metrics
    assert client.metrics()[name] - before == asked + others
