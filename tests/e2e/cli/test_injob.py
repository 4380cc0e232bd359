# SPDX-License-Identifier: MIT
"""The verbs for programs inside a job, with a worker's end of the pipes played by the test.

What a real worker makes of the lines is in test_cli_worker.py.
"""
import json
import os
import select
import subprocess
import threading

import pytest

from waybill import BIN, plain_env

pytestmark = pytest.mark.embedded("has no server")

ID = "05D8K3Q9XW2RT"


class Desk:
    """Where a worker would sit: lines come in on one pipe, answers go out on the other."""

    def __init__(self, directory, answer=lambda line: "ok"):
        self.file = os.path.join(directory, "job.json")
        with open(self.file, "w", encoding="utf-8") as file:
            file.write("{}")
        self.lines = []
        self._answer = answer
        self._in, self.lines_fd = os.pipe()
        self.answers_fd, self._out = os.pipe()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self):
        with os.fdopen(self._in, "rb") as lines:
            for raw in lines:
                line = raw.decode().rstrip("\n")
                self.lines.append(line)
                if line.split(" ")[0] not in ("run", "progress"):
                    os.write(self._out, (self._answer(line) + "\n").encode())

    def start(self, *args, **named):
        """The command with descriptors 3 and 4 as a worker gives them."""
        def place():
            lines, answers = os.dup2(self.lines_fd, 100), os.dup2(self.answers_fd, 101)
            os.dup2(lines, 3)
            os.dup2(answers, 4)

        return subprocess.Popen([BIN, *args], preexec_fn=place, pass_fds=(3, 4),
                                env=plain_env(WAYBILL_ID=ID, WAYBILL_JOB_FILE=self.file),
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **named)

    def run(self, *args, stdin=b""):
        child = self.start(*args)
        out, err = child.communicate(stdin, timeout=30)
        return child.returncode, out.decode(), err.decode()

    def said(self, *args, **named):
        """The lines that the command has said; it must be content."""
        before = len(self.lines)
        status, _, err = self.run(*args, **named)
        assert status == 0, err
        self.settle()
        return self.lines[before:-1]

    def settle(self):
        """Everything before this has been read: answered words are read in turn."""
        status, _, err = self.run("emit", '{"queue":"settle"}')
        assert status == 0, err

    def close(self):
        os.close(self.lines_fd)
        os.close(self.answers_fd)
        self._thread.join(10)


@pytest.fixture
def desk(tmp_path):
    made = Desk(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("args, lines", [
    (["progress", "40/100", "page 40"], ["progress 40/100 page 40"]),
    (["progress", "40/100MB"], ["progress 40/100MB"]),
    (["progress", "7"], ["progress 7"]),
    (["progress", "7", "two", "words"], ["progress 7 two words"]),
    (["progress", "cleaning up"], ["run cleaning up"]),
    (["progress", "two\nlines\x1b"], ["run two lines\\x1b"]),
    (["progress", "--left", "90s"], ["progress left 90s"]),
    (["progress", "1/2", "--left", "90s"], ["progress 1/2", "progress left 90s"]),
    (["progress", "left", "90s"], ["progress left 90s"]),
    (["done"], ["done"]),
    (["done", "all", "fetched"], ["done all fetched"]),
    (["fail", "no route"], ["fail no route"]),
    (["resend", "90"], ["resend 90"]),
    (["resend", "1m", "the archive", "is busy"], ["resend 60-the archive is busy"]),
    (["resend", "100ms"], ["resend 1"]),
    (["raise", "dump"], ['raise "dump"']),
    (["raise", 'two "words"', "12"], ['raise "two \\"words\\"" 12']),
])
def test_a_verb_writes_its_line(desk, args, lines):
    assert desk.said(*args) == lines


def parsed(lines, words):
    """The lines with the JSON after so many words read."""
    split = [line.split(" ", words) for line in lines]
    return [(*parts[:-1], json.loads(parts[-1])) for parts in split]


@pytest.mark.parametrize("args, step", [
    (["step", "unpack"], {"name": "unpack"}),
    (["step", "unpack", "-q", "two words", "-p", "part:=3", "-p", "a=b", "--go-on", "--retry", "2",
      "--timeout", "5m"],
     {"name": "unpack", "queue": "two words", "params": {"part": 3, "a": "b"},
      "on_error": "continue", "retry": {"max": 2}, "timeout": "5m"}),
    (["step", "own", "--", "echo", "a b", "--json"],
     {"name": "own", "command": ["echo", "a b", "--json"]}),
    (["step", '{"process name":\n"x"}'], {"process name": "x"}),
])
def test_step_says_a_step_as_json(desk, args, step):
    assert parsed(desk.said(*args), 1) == [("step", step)]


@pytest.mark.parametrize("args, word", [
    (["step", "[]"], "a JSON object"), (["step", '{"queue":7}'], "queue"),
    (["step", '{"name":"a"}', "-p", "a=b"], "no other options"), (["step", "a", "-p", "x"], "K=V"),
    (["raise", "a/b"], "'/'"), (["raise", ""], "name"), (["raise", "a", "0"], "1 to"),
])
def test_a_step_or_signal_that_makes_no_sense_is_not_sent(desk, args, word):
    status, _, err = desk.run(*args)
    assert status == 2 and word in err, err
    desk.settle()
    assert len(desk.lines) == 1


@pytest.mark.parametrize("args, values", [
    (["set", "pages", "12"], [("set", '"pages"', "12")]),
    (["set", "pages:=12", "title=a=b"], [("set", '"pages"', 12), ("set", '"title"', "a=b")]),
    (["set", 'a:={"x":\n[1]}'], [("set", '"a"', {"x": [1]})]),
    (["set", "t", 'say "hi"\n'], [("set", '"t"', 'say "hi"\n')]),
])
def test_set_keeps_texts_and_json(desk, args, values):
    assert parsed(desk.said(*args), 2) == values


def test_a_name_with_a_space_is_a_json_string(desk):
    assert desk.said("set", "two words=x") == ['set "two words" "x"']


@pytest.mark.parametrize("args, stdin, jobs", [
    (["emit", '{"queue":"q",\n"params":{"a":1}}'], b"", [{"queue": "q", "params": {"a": 1}}]),
    (["emit", '[{"queue":"q"},{"queue":"r"}]'], b"", [{"queue": "q"}, {"queue": "r"}]),
    (["emit", "-"], b'{"queue":"q"}\n\n [{"queue":"r"}]\n{"queue":"s"}',
     [{"queue": "q"}, {"queue": "r"}, {"queue": "s"}]),
    (["emit", "-"], b"", []),
    (["emit", "q", "-p", "a=b", "-p", "c:=[1]", "--priority", "5", "--key", "k"], b"",
     [{"queue": "q", "params": {"a": "b", "c": [1]}, "priority": 5, "key": "k"}]),
    (["emit", "q", "--body", "-"], b"text\nmore", [{"queue": "q", "body": "text\nmore"}]),
    (["emit", "default", "--", "ls", "-l"], b"", [{"queue": "default", "command": ["ls", "-l"]}]),
])
def test_emit_takes_json_lines_and_options(desk, args, stdin, jobs):
    assert parsed(desk.said(*args, stdin=stdin), 1) == [("emit", job) for job in jobs]


@pytest.mark.parametrize("option", ["--now", "-!"])
def test_emit_at_once_prints_the_id(tmp_path, option):
    desk = Desk(tmp_path, lambda line: f"ok {ID}")
    status, out, _ = desk.run("emit", option, "q")
    assert (status, out) == (0, f"{ID}\n") and desk.lines == ['emit! {"queue":"q"}']
    desk.close()


def test_a_refusal_is_told(tmp_path):
    desk = Desk(tmp_path, lambda line: "fail there is no queue 'q'")
    status, out, err = desk.run("emit", "q")
    assert (status, out) == (4, "") and "there is no queue 'q'" in err, err
    status, _, err = desk.run("emit", "-", stdin=b'{"queue":"a"}\n{"queue":"b"}\n')
    assert status == 4 and "line 1" in err, err
    desk.close()


def test_each_of_many_at_once_gets_its_own_answer(tmp_path):
    desk = Desk(tmp_path, lambda line: "ok " + json.loads(line.split(" ", 1)[1])["key"])
    children = [desk.start("emit", "--now", "q", "--key", f"k{n}", "-p", "pad=" + "x" * 9000)
                for n in range(20)]
    for n, child in enumerate(children):
        out, err = child.communicate(timeout=30)
        assert child.returncode == 0 and out == f"k{n}\n".encode(), err
    assert len(desk.lines) == 20
    desk.close()


def test_answers_that_nobody_has_read_are_not_taken_for_ours(tmp_path):
    answers = iter(["ok old", "ok new"])
    desk = Desk(tmp_path, lambda line: next(answers))
    os.write(desk.lines_fd, b"emit {}\n")
    assert select.select([desk.answers_fd], [], [], 10)[0]
    assert desk.run("emit", "--now", "q")[1] == "new\n"
    desk.close()


def test_a_worker_that_is_gone_is_told(tmp_path):
    desk = Desk(tmp_path)
    lines, lines_fd = os.pipe()
    os.close(lines)
    os.dup2(lines_fd, desk.lines_fd)  # the desk's thread ends
    os.set_inheritable(desk.lines_fd, True)
    status, _, err = desk.run("progress", "1/2")
    assert status == 5 and "does not listen" in err, err
    os.close(lines_fd)
    desk.close()


VERBS = [["progress", "1/2"], ["emit", "q"], ["set", "a=b"], ["done"], ["fail", "x"],
         ["resend", "5s"]]


@pytest.mark.parametrize("args", VERBS)
def test_outside_a_job_a_verb_says_so(args, tmp_path):
    ran = subprocess.run([BIN, *args], env=plain_env(), stdin=subprocess.DEVNULL,
                         capture_output=True, timeout=30, check=False)
    assert ran.returncode == 2 and b"not inside a job" in ran.stderr and ran.stdout == b"", ran
    (tmp_path / "job.json").write_text("{}")
    env = plain_env(WAYBILL_ID=ID, WAYBILL_JOB_FILE=str(tmp_path / "job.json"))
    ran = subprocess.run([BIN, *args], env=env, stdin=subprocess.DEVNULL, capture_output=True,
                         timeout=30, check=False)
    assert ran.returncode == 2 and b"descriptors 3 and 4" in ran.stderr and ran.stdout == b"", ran


@pytest.mark.parametrize("args, word", [
    (["progress"], "give a progress"), (["progress", "1/x"], "progress"), (["emit", "{"], "JSON"),
    (["emit", "a/b"], "QUEUE"), (["emit", "{}", "-p", "a=b"], "options"), (["set", "x"], "form"),
    (["set", "a", "b", "c"], "form"), (["set", "a:={"], "JSON"), (["set", "=b"], "form"),
    (["fail"], "TEXT"), (["resend", "soon"], "soon"),
])
def test_what_is_wrong_is_refused_before_anything_is_said(desk, args, word):
    status, out, err = desk.run(*args)
    assert (status, out) == (2, "") and word in err, (status, err)
    desk.settle()
    assert desk.lines == ['emit {"queue":"settle"}']


def test_a_job_that_is_too_large_for_a_line_is_refused(desk):
    job = json.dumps({"queue": "q", "params": {"a": "x" * (1 << 20)}}).encode()
    status, _, err = desk.run("emit", "-", stdin=job)
    assert status == 2 and "1024 KiB" in err, err
    desk.settle()
    assert desk.lines == ['emit {"queue":"settle"}']
