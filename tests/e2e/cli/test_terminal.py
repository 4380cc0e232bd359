# SPDX-License-Identifier: MIT
"""Output to a terminal: no control codes from outside, except the colours of a log."""
import json
import re
import subprocess

import pytest

from each import Each
from screens import Terminal
from waybill import BIN, plain_env

pytestmark = pytest.mark.embedded("about the screen")

# Title, link, clear, answer back, colours by C1, right-to-left, bell, other marks of direction,
# the end of a line, a tag.
HOSTILE = ("\x1b]0;owned\x07\x1b]8;;http://evil\x1b\\x\x1b[2J\x1b[6n\x9b31m\u202egnp\u2066\x7f\b"
           "\u200f\u061c\u2028\ufeff\U000e0041")
# Our own: colours, a line drawn again, the page of `top`.
OWN = re.compile(r"\x1b\[(0|1|2|7|31|32|33|34)m|\x1b\[[KJH]|\x1b\[2J|\x1b\[\?(1049|25|7)[hl]|\r")
UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffd"
                    "\U000e0000-\U000e007f]")


def shown(*args, status=0, **named):
    """What the verb writes on a terminal, to its end."""
    terminal = Terminal(*args, size=(50, 500), **named)
    try:
        assert terminal.wait() == status, terminal.text
        return terminal.text.replace("\r\n", "\n")
    finally:
        terminal.close()


def assert_safe(text):
    found = UNSAFE.search(OWN.sub("", text))
    assert found is None, (found, text)


@pytest.fixture
def hostile(server):
    """A server that was given such text wherever text can be given."""
    client = server.unix()
    ids = []
    for _ in range(2):
        ids.append(client.submit(params={HOSTILE: HOSTILE, "n": [HOSTILE]}, labels={"l": HOSTILE},
                                 body=HOSTILE, key="k" + HOSTILE + str(len(ids))))
    job = client.take(worker={"name": "w" + HOSTILE, "host": HOSTILE, "pid": 1,
                              "version": HOSTILE})
    client.touch(job, text=HOSTILE, done=1, total=2, unit="\u202eMB")
    return server, ids


@pytest.mark.parametrize("verb", [
    ["status"], ["list"], ["queue", "list"], ["queue", "show", "work"], ["workers"],
    ["workers", "show", "w" + HOSTILE]])
def test_what_came_from_outside_is_shown_and_not_obeyed(hostile, verb):
    server, _ = hostile
    text = shown(*verb, "--data", server.data)
    assert_safe(text)
    if verb[0] in ("status", "workers"):
        assert "\\x1b]0;owned\\x07" in text, text


def test_a_job_is_shown_and_not_obeyed(hostile):
    server, ids = hostile
    for job_id in ids:
        text = shown("show", job_id, "--data", server.data)
        assert_safe(text)
        assert "\\x1b]0;owned\\x07" in text and "\\u202egnp\\u2066" in text, text


def test_a_queue_that_a_worker_calls_broken_is_shown_and_not_obeyed(hostile):
    server, _ = hostile
    server.unix().request("POST", "/v1/claim", {
        "worker": {"name": "w" + HOSTILE}, "queues": [], "broken": [
            {"queue": "work", "text": HOSTILE}]})
    for verb in (["queue", "show", "work"], ["status"]):
        assert_safe(shown(*verb, "--data", server.data))


def test_errors_quote_values_and_do_not_obey_them(hostile):
    server, _ = hostile
    for verb, status in ([["queue", "show", HOSTILE], 3], [["show", HOSTILE], 2],
                         [["list", "--state", HOSTILE], 2], [["add", HOSTILE], 3],
                         [[HOSTILE], 2], [["add", "work", "-p", HOSTILE], 2]):
        terminal = Terminal(*verb, *(["--data", server.data] if len(verb) > 1 else []))
        terminal.wait()
        assert terminal.process.returncode != 0
        text = terminal.text.replace("\r\n", "\n")
        terminal.close()
        assert_safe(text)
        assert text.startswith("waybill: "), text


def test_top_shows_and_does_not_obey(hostile):
    server, _ = hostile
    terminal = Terminal("top", "--data", server.data, size=(60, 300))
    terminal.until("q quits")
    terminal.press("q")
    assert terminal.wait() == 0
    assert_safe(terminal.text.replace("\r\n", "\n"))
    assert "\\x1b]0;owned" in terminal.text
    terminal.close()


def test_names_are_safe_in_a_pipe_too_and_json_is_as_it_came(hostile):
    server, ids = hostile
    assert_safe(server.cli("show", ids[0]).out)
    assert json.loads(server.cli("show", ids[0], "--json").out)["params"][HOSTILE] == HOSTILE


@pytest.mark.parametrize("verb", [
    ["show", "{id}"], ["list"], ["status"], ["workers"], ["workers", "show", "w" + HOSTILE],
    ["queue", "show", "work"]])
def test_json_on_a_terminal_is_the_same_json_and_not_obeyed(hostile, verb):
    server, ids = hostile
    verb = [ids[0] if word == "{id}" else word for word in verb] + ["--json"]
    text = shown(*verb, "--data", server.data)
    assert_safe(text)
    if verb[0] == "show":
        assert "\\u009b31m\\u202egnp\\u2066\\u007f" in text, text
        raw = server.cli(*verb).out
        assert "\x9b31m\u202egnp\u2066\x7f" in raw
        assert json.loads(text)["params"] == json.loads(raw)["params"]
    for line in text.splitlines():
        json.loads(line)


def test_errors_beside_json_are_not_obeyed_either(hostile):
    server, _ = hostile
    assert_safe(shown("show", HOSTILE, "--json", "--data", server.data, status=2))


LOG = b"\x1b[1;35mcolour\x1b[0m \x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\ " \
      b"\x1b[2Jclear\x1b[6n\x07 50%\r100%\r\n\xff\n"
SEEN = "\x1b[1;35mcolour\x1b[0m link clear 50%\n100%\n\\xff\n"


def printing(shop):
    """A queue whose program prints the log above."""
    return shop.queue("printf '" + "".join(f"\\{byte:03o}" for byte in LOG) + "'")


def test_a_log_on_a_terminal_keeps_its_colours_and_nothing_else(shop):
    job = shop.run(printing(shop))
    for args in (["log", job["id"]], ["log", "-f", job["id"]], ["log", "--tail", "9", job["id"]]):
        assert shown(*args, "--data", shop.server.data).startswith(SEEN), args
    timed = shown("log", "--times", job["id"], "--data", shop.server.data)
    assert re.sub(r"(?m)^\S+Z  ", "", timed).startswith(SEEN), timed


def test_a_log_that_is_waited_for_keeps_its_colours_and_nothing_else(shop):
    text = shown("add", printing(shop), "--wait", "--data", shop.server.data)
    assert SEEN in text, text
    assert_safe(text.replace("\x1b[1;35m", ""))


def exact(server, *args):
    """Standard output, to the byte."""
    return subprocess.run([BIN, *args, "--data", str(server.data)], env=plain_env(),
                          stdout=subprocess.PIPE, check=True).stdout


def test_a_log_in_a_pipe_is_exact(shop):
    job = shop.run(printing(shop))
    ran = shop.server.cli("log", job["id"], "--json")
    assert "".join(json.loads(line)["latin1"]
                   for line in ran.out.splitlines()).encode("latin1") == LOG
    assert exact(shop.server, "log", job["id"]) == LOG
    assert exact(shop.server, "log", "-f", job["id"]) == LOG


def test_each_keeps_colours_on_a_terminal_and_every_byte_in_a_pipe(directory):
    each = Each(directory)
    program = each.script("say.sh", "printf '" + "".join(f"\\{byte:03o}" for byte in LOG) + "'\n")
    terminal = Terminal("each", "--", program, "{}", env={"WAYBILL_DATA": str(each.data)},
                        cwd=each.dir, size=(50, 200))
    terminal.press("one\n\x04")
    assert terminal.wait() == 0, terminal.text
    text = terminal.text.replace("\r\n", "\n")
    terminal.close()
    assert SEEN in re.sub(r"\r[^\n]*?\x1b\[K", "", text), text
    assert "\x1b]8" not in text and "\x07" not in text
    child = each.start("--again", "--", program, "{}")
    assert child.communicate(b"one\n")[0] == LOG
    each.finish_up()


def test_each_escapes_json_on_a_terminal(directory):
    each = Each(directory)
    program = each.script("say.sh", "printf '\\302\\23331m\\342\\200\\256'\n")
    terminal = Terminal("each", "--json", "--", program, "{}", env={"WAYBILL_DATA": str(each.data)},
                        cwd=each.dir, size=(50, 200))
    terminal.press("one\n\x04")
    assert terminal.wait() == 0, terminal.text
    text = terminal.text
    terminal.close()
    assert_safe(text.replace("\r\n", "\n"))
    document = next(part for part in re.split(r"[\r\n]|\x1b\[K", text) if part.startswith("{"))
    assert json.loads(document)["output"] == "\x9b31m\u202e"
    each.finish_up()
