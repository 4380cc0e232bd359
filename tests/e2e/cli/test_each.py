# SPDX-License-Identifier: MIT
"""`each`, the durable xargs: arguments, output, failures, resuming, ending."""
import base64
import json
import os
import pty
import random
import re
import signal
import subprocess
import time

import pytest

from each import Each, as_bytes
from waiting import DEADLINE_S, PATIENCE, eventually
from waybill import BIN

pytestmark = pytest.mark.embedded("each keeps its own store")

# The full measure is for the torture; make test has a short form.
KILLED_LINES = 100_000 if "WAYBILL_TORTURE" in os.environ else 3_000


@pytest.fixture
def each(directory):
    run = Each(directory)
    yield run
    run.finish_up()


def appending(each, more=""):
    """A program that writes its argument into a file `ran`, a line each time it runs."""
    return each.script("run.sh", f'echo "$1" >>ran\n{more}')


def ran(each):
    path = each.dir / "ran"
    return path.read_text().splitlines() if path.exists() else []


# ---- arguments


def test_each_line_is_one_argument(each):
    lines = ["plain", "two words", "it's", '"quoted" $HOME `id` *', "", "-n", "ünïcode €",
             "{}", "a\\b"]
    done = each.run("-k", "--", "printf", "<%s>\n", "{}", lines=lines)
    assert done.status == 0, done
    assert done.out.splitlines() == [f"<{line}>" for line in lines]


def test_braces_may_stand_anywhere_and_several_times(each):
    done = each.run("--", "echo", "a{}b", "{}{}", "{1}", "{x}", "}{", lines=["7"])
    assert (done.status, done.out) == (0, "a7b 77 7 {x} }{\n"), done


def test_without_columns_the_first_one_is_the_line(each):
    words = ["printf", "<%s|%s>", "{1}", "a{1}b"]
    dry = each.run("--dry-run", "--", *words, lines=["it's", "2"])
    assert dry.out.splitlines() == ["""printf '<%s|%s>' 'it'\\''s' 'ait'\\''sb'""",
                                    "printf '<%s|%s>' 2 a2b"], dry
    done = each.run("-k", "--", *words, lines=["two words", ""])
    assert (done.status, done.out) == (0, "<two words|atwo wordsb><|ab>"), done


def test_the_shells_own_braces_are_left_to_it(each):
    script = 'n=${1%.wav}; x=${#n}; echo "$n.flac ${x:-0} ${2:+two}" {a,b}'
    done = each.run("-k", "--", "bash", "-c", script, "bash", "{}",
                    lines=["a.wav", "some song.wav"])
    assert (done.status, done.out) == (0, "a.flac 1  a b\nsome song.flac 9  a b\n"), done


LITERAL = ["${1%.wav}", "${}", "$${x}", "{{.Names}}", "{a,b}", "{1..3}", '{"k":{"j":[{ }]}}',
           "BEGIN{n=0}{n+=$1}END{print n}", "{", "}", "{{", "}}", "${", "{x}", "{line}", "{id}",
           "{now:-x}", "{01}", "{1,}", "{2,2}"]


def test_all_other_braces_are_literal(each):
    done = each.run("--", "printf", "%s\n", *LITERAL, "{}", lines=["the line"])
    assert (done.status, done.out.splitlines()) == (0, [*LITERAL, "the line"]), done


@pytest.mark.parametrize("word", ["{1.}", "{2/}", "{1//}", "{3/.}", "{-1}", "{%}", "{..}", "{+/}",
                                  "{##}", "x{1.}y"])
def test_other_words_of_gnu_parallel_stay_and_are_told(each, word):
    done = each.run("--", "printf", "%s\n", word, "{}", lines=["the line"])
    assert (done.status, done.out.splitlines()) == (0, [word, "the line"]), done
    assert f"'{word.strip('xy')}' of GNU parallel is unsupported and left unchanged" in done.err


@pytest.mark.parametrize("word", ["${1%.*}", "{.}", "{/.}", "{1..3}", "{a.}", "{2,3}", "{}"])
def test_what_is_not_of_gnu_parallel_is_not_told(each, word):
    done = each.run("--", "printf", "%s\n", word, lines=["the line"])
    assert done.status == 0 and "parallel" not in done.err, done


def test_parts_of_the_line_are_those_of_gnu_parallel(each):
    lines = ["a/b.c/d.tar.gz", "x.wav", "/x", "a/.b", "no.dir/f", ""]
    done = each.run("-k", "--", "printf", "<%s|%s|%s|%s|%s>\n", "{.}", "{/}", "{//}", "{/.}", "{#}",
                    lines=lines)
    assert done.out.splitlines() == [
        "<a/b.c/d.tar|d.tar.gz|a/b.c|d.tar|1>", "<x|x.wav|.|x|2>", "</x|x|/|x|3>", "<a/|.b|a||4>",
        "<no.dir/f|f|no.dir|f|5>", "<||.||6>"], done


@pytest.mark.parametrize("words", [
    ["printf", "%s|", *LITERAL, "a{}b"],
    ["printf", "%s|", "{.}", "{/}", "{//}", "{/.}", "{#}", "{}"], ["printf", "%s|"]])
def test_dry_run_prints_exactly_what_runs(each, words):
    """What it prints, given to a shell, does what the run does."""
    lines = ["it's", '"$HOME" `id` *', "a/b.c d", "", "ünï\\n"]
    dry = each.run("--dry-run", "--", *words, lines=lines)
    pasted = subprocess.run(["sh"], input=dry.out, cwd=each.dir, capture_output=True,
                            text=True, check=True)
    done = each.run("-k", "--", *words, lines=lines)
    assert (done.status, done.out) == (0, pasted.stdout), done


def test_several_lines_a_command(each):
    done = each.run("-k", "-N", "3", "--", "echo", "a", "{}", "b", lines=7)
    assert (done.status, done.out) == (0, "a 1 2 3 b\na 4 5 6 b\na 7 b\n"), done
    done = each.run("-k", "-N", "2", "--", "printf", "%s+%s=%s\n", "{1}", "x{2}", "{#}",
                    lines=["a b", "c", "d"])
    assert (done.status, done.out) == (0, "a b+xc=1\nd+x=2\n"), done
    assert each.run("--dry-run", "-N", "2", "--", "cat", lines=3).out == "cat 1 2\ncat 3\n"
    done = each.run("-N", "2", "--", "echo", lines=["a", "b", "c"])
    assert "2 done, 0 failed" in done.err, done


def test_several_lines_a_command_is_a_run_of_its_own(each):
    """-N is part of what a run is known by."""
    program = appending(each, '[ "$1" != 2 ] || exit 3\n')
    assert each.run("-j", "1", "-N", "1", "--", program, lines=2).status == 1
    assert each.run("-j", "1", "-N", "2", "--", program, lines=2).status == 0
    assert len(each.runs()) == 2 and ran(each) == ["1", "2", "1"]
    done = each.run("-N", "2", "--", each.script("no.sh", "exit 1\n"), lines=3)
    assert "command 1: 1 2" in done.err and "--failed -N 2 --" in done.err, done


def test_lines_may_come_from_a_file(each):
    (each.dir / "list").write_text("a\nb\n")
    done = each.run("-k", "-a", "list", "--", "echo", lines=["not", "read"])
    assert (done.status, done.out) == (0, "a\nb\n"), done
    assert each.run("-a", "list", "--dry-run", "--", "echo").out == "echo a\necho b\n"
    done = each.run("-a", "no-such-file", "--", "echo")
    assert done.status == 3 and "no-such-file" in done.err, done


def test_without_braces_the_line_comes_last(each):
    assert each.run("--", "echo", "x", lines=["a b"]).out == "x a b\n"


def test_columns(each):
    done = each.run("-k", "--colsep", r"\t", "--", "echo", "{2}-{1}", lines=["a\tb\tc", "1 2\t\t"])
    assert (done.status, done.out) == (0, "b-a\n-1 2\n"), done
    assert each.run("--colsep", ", ", "--", "echo", "{3}", "{}", lines=["x, y, z"]).out == \
        "z x, y, z\n"


def test_a_line_with_too_few_columns_is_told_by_its_number(each):
    done = each.run("--colsep", ",", "--", "echo", "{2}", lines=["a,b", "c"])
    assert done.status == 4 and "line 2: has 1 column" in done.err, done


def test_the_last_line_needs_no_end(each):
    assert each.run("-k", "--", "echo", lines=b"a\nb").out == "a\nb\n"


def test_items_between_nuls(each):
    done = each.run("-0", "-k", "--", "printf", "<%s>", lines=b"a\nb\0c\0")
    assert (done.status, done.out) == (0, "<a\nb><c>"), done


def test_a_line_may_have_any_bytes(each):
    lines = [b"caf\xe9 {}", b"\xff\\0\t'\"$HOME`id`%d", b"\xc3", b"plain", b"end \xe9\r"]
    child = each.start("-k", "--", "printf", "<%s|%s>", "{}", "x{}y")
    out, err = child.communicate(b"\n".join(lines), timeout=30 * PATIENCE)
    assert child.returncode == 0, err
    assert out == b"".join(b"<" + line + b"|x" + line + b"y>" for line in lines)


def test_a_nul_in_a_line_is_told_by_its_number(each):
    done = each.run("--", "echo", lines=b"a\nb\0c\n")
    assert done.status == 4 and "line 2 has a NUL byte" in done.err, done


def test_no_input_is_no_work(each):
    done = each.run("--", "echo", lines=b"")
    assert (done.status, done.out) == (0, ""), done
    assert "0 done, 0 failed" in done.err


def test_dry_run_prints_the_commands(each):
    done = each.run("--dry-run", "--", "rm", "-f", "{}.o", lines=["a", "b c", "it's"])
    assert (done.status, done.out) == (0, "rm -f a.o\nrm -f 'b c.o'\nrm -f 'it'\\''s.o'\n"), done
    assert each.runs() == []


def test_programs_run_where_each_was_started_with_its_environment(each):
    done = each.run("--", "sh", "-c", 'pwd; echo "$MINE"', "sh", lines=["x"], env={"MINE": "yes"})
    assert done.out == f"{each.dir}\nyes\n", done


def test_a_program_may_be_named_relative_to_the_directory(each):
    program = each.script("tool.sh", 'echo "tool $1"\n')
    assert each.run("--", program, lines=["a"]).out == "tool a\n"


def test_the_line_may_name_the_program(each):
    done = each.run("-k", "--", "{}", "x", lines=["echo", "no-such-program-here", "printf"])
    assert done.status == 1 and done.out.replace("\n", "") == "xx", done
    assert "2 done, 1 failed" in done.err and "no-such-program-here" in done.err


@pytest.mark.parametrize("args, words", [
    ([], "command is missing"),
    (["--", ""], "empty"),
    (["--rate", "fast", "--", "true"], "--rate"),
    (["--rate", "0/1m", "--", "true"], "--rate"),
    (["--rate", "1/0s", "--", "true"], "--rate"),
    (["--colsep", "", "--", "true"], "--colsep"),
    (["--colsep", ",", "--", "echo", "{65}"], "{64}"),
    (["--", "sh", "-c", "echo {}"], "sh -c 'echo \"$1\"' sh {}"),
    (["--", "sh", "{}"], "'{}': the line is in what a shell runs as a script"),
    (["--", "sh"], "the line at the end: it is in what a shell runs as a script"),
    (["--", "ssh", "host", "rm {}"], "'rm {}' is run by a shell on the other side, where the line "
                                     "would be code"),
    (["--", "ssh", "host", "rm {}"],
     """sh -c 'printf "%s\\0" "$1" | ssh host "xargs -0 rm --"' sh {}"""),
    (["-N", "2", "--", "ssh", "host", "cp", "{}", "to {2}"],
     "'{}' is run by a shell on the other side"),
    (["--colsep", ",", "--", "ssh", "{1}", "rm", "{2}"],
     "'{2}' is run by a shell on the other side"),
    (["--", "watch", "ls {1}"],
     "'ls {1}': the line is in words that are joined and run by a shell"),
    (["--again", "--failed", "--", "true"], "--again"),
    (["--dry-run", "--failed", "--", "true"], "--show prints the failed lines"),
    (["-j", "0", "--", "true"], "jobs"),
    (["-N", "2", "--", "echo", "x{}"], "a separate word"),
    (["--halt", "later", "--", "true"], "--halt"),
    (["--results", "x", "--json", "--", "true"], "exclude each other"),
    (["--halt", "soon,fail=0", "--", "true"], "--halt"),
    (["--halt", "soon,fail=101%", "--", "true"], "--halt"),
    (["--halt", "now,success=1", "--", "true"], "--halt"),
    (["-N", "2", "--", "echo", "{3}"], "2 lines"),
    (["-N", "2", "--colsep", ",", "--", "echo"], "exclude each other"),
    (["--", "echo", "{2}"], "{2}: a line is one value: give --colsep or -N (in a pattern write "
                            "{2,2})"),
    (["-N", "1", "--", "echo", "{1000}"], "{1000}: a line is one value"),
    (["-P", "3", "--", "echo"], "programs at once: -j N"),
    (["--max-procs=3", "--", "echo"], "programs at once: -j N"),
    (["-I", "R", "--", "echo", "R"], "the line is always {} in the command"),
    (["-IR", "--", "echo", "R"], "the line is always {} in the command"),
    (["-n", "1", "--", "echo"], "several lines per command: -N N (-n is --dry-run here)"),
    (["-n1", "--", "echo"], "several lines per command: -N N (-n is --dry-run here)"),
    (["-L", "1", "--", "echo"], "several lines per command: -N N"),
    (["-d", ",", "--", "echo"], "items between NULs: -0"),
    (["--joblog", "x", "--", "echo"], "a record of each line: --json"),
    (["--resume", "--", "echo"], "the same command continues the run"),
    (["echo", "{}", ":::", "a"], "give the items on standard input, one per line, or with -a FILE"),
    (["--", "echo", ":::", "a"], "give the items on standard input, one per line, or with -a FILE"),
    (["--", "echo", "{}", "::::", "items.txt"], "or with -a FILE"),
    (["--retries", "3", "--", "echo"], "retries of a line after a failure: --retry N"),
    (["--bar", "--", "echo"], "progress is always shown on a terminal"),
    (["--progress", "--", "echo"], "progress is always shown on a terminal"),
    (["--tag", "--", "echo"], "to see which line produced an output: --json, or --results DIR"),
    (["-t", "--", "echo"], "to see the commands: --dry-run"),
    (["-X", "--", "echo"], "several lines per command: -N N"),
    (["--pipe", "--", "wc"], "a line is an argument, not input"),
    (["-q", "--", "echo"], "no shell reads the command, so -q is not needed"),
    (["--no-run-if-empty", "--", "echo"], "nothing runs without input"),
    (["--halt", "never", "--", "echo"], "without --halt all lines are run"),
    (["echo {}"], "no shell reads the command"),
    (["--", "echo {}"], "each -- sh -c 'CMD \"$1\"' sh {}"),
    (["--halt", "2", "--", "true"], "GNU parallel's 1 is soon, its 2 is now"),
    (["--halt", "now,done=3", "--", "true"], "only failures can be counted: fail="),
    (["--results", "out/{}", "--", "true"], "--results: 'out/{}' must be one directory"),
])
def test_a_wrong_line_is_refused_before_anything_happens(each, args, words):
    done = each.run(*args)
    assert done.status == 2 and words in done.err, done
    assert each.runs() == []


def test_hints_for_other_tools_leave_the_command_alone(each):
    """Behind `--` options are the program's."""
    done = each.run("--", "echo", "-P", "-I", "-n", "1", "{}", lines=["a"])
    assert (done.status, done.out) == (0, "-P -I -n 1 a\n"), done
    done = each.run("-j", "1", "-P", "2", "--", "echo", "-I")
    assert done.status == 2 and "-j N" in done.err and "{}" not in done.err, done


def test_results_that_are_no_directory_are_told_before_anything_runs(each):
    (each.dir / "file").write_text("")
    done = each.run("--results", "file", "--", appending(each), lines=["a"])
    assert done.status == 4 and "--results file: Not a directory" in done.err and \
        ran(each) == [], done


@pytest.mark.parametrize("program, words", [("no-such-program-here", "no program"),
                                            ("./no-such-file", "no program"),
                                            ("/etc/passwd", "Permission denied")])
def test_a_program_that_cannot_be_started_is_told_at_once(each, program, words):
    done = each.run("--", program, lines=["a"])
    assert done.status in (3, 4) and words in done.err, done


def test_a_program_that_vanishes_ends_the_run_and_it_can_go_on(each):
    program = appending(each, '[ "$1" != 2 ] || rm -f run.sh\n')
    done = each.run("-j", "1", "--", program, lines=5)
    assert done.status == 5 and "cannot be started" in done.err, done
    appending(each)
    done = each.run("-j", "1", "--", program, lines=5)
    assert done.status == 0 and ran(each) == ["1", "2", "3", "4", "5"], done


# ---- output


def test_output_is_whole_and_not_mixed(each):
    program = each.script("slow.sh", 'for i in 1 2 3 4 5; do echo "$1 $i"; sleep 0.01; done\n')
    done = each.run("-j", "6", "--", program, lines=12)
    lines = done.out.splitlines()
    assert done.status == 0 and len(lines) == 60, done
    for first in range(0, 60, 5):
        name = lines[first].split()[0]
        assert lines[first:first + 5] == [f"{name} {i}" for i in range(1, 6)]


def test_order_is_kept_when_asked_for(each):
    program = each.script("late.sh", 'sleep "0.0$((9 - $1 % 10))"; echo "$1"\n')
    done = each.run("-j", "8", "-k", "--", program, lines=40)
    assert done.out.splitlines() == [str(i) for i in range(1, 41)], done


def test_large_output_that_has_to_wait_is_read_back(each):
    """More than is held in memory, behind a first line that waits for it all to be there."""
    program = each.script("large.sh", '''
        if [ "$1" = 1 ]; then until [ -e 24 ]; do sleep 0.02; done; echo first; exit; fi
        head -c 1000000 /dev/zero | tr '\\0' x; echo; : >"$1"
    ''')
    done = each.run("-j", "2", "-k", "--", program, lines=24)
    assert done.status == 0, done.err
    assert [len(line) for line in done.out.splitlines()] == [5] + [1000000] * 23


def test_a_reader_that_is_slow_loses_nothing(each):
    child = each.start("-j", "2", "-k", "--", "sh", "-c", "head -c 200000 /dev/zero | tr '\\0' x",
                       "sh")
    child.stdin.write(as_bytes(60))
    child.stdin.close()
    child.stdin = None
    client = each.client()
    eventually(lambda: client.counts().get("each", {}).get("done") == 60, "all ends",
               3 * DEADLINE_S)
    assert child.poll() is None
    done = each.end(child)
    assert done.status == 0 and len(done.out) == 60 * 200000, done.err


def test_a_reader_that_leaves_ends_the_run(each):
    child = each.start("-j", "1", "--", "echo", stdin=subprocess.PIPE)
    child.stdout.close()
    child.stdout = None
    child.stdin.write(as_bytes(2000))
    child.stdin.close()
    child.stdin = None
    child.wait(30 * PATIENCE)
    assert child.returncode == 128 + signal.SIGPIPE
    done = each.run("-j", "2", "--", "echo", lines=2000)
    assert done.status == 0 and "continuing this run" in done.err, done
    assert set(done.out.split()) <= {str(i) for i in range(1, 2001)}


def test_output_that_cannot_be_written_is_an_error(each):
    with open("/dev/full", "wb") as full:
        child = each.start("--", "echo", stdout=full)
    _, err = child.communicate(as_bytes(10), timeout=30 * PATIENCE)
    assert child.returncode == 1 and b"cannot write the output" in err, err


def documents(text):
    return [json.loads(line) for line in text.splitlines()]


def test_json_is_a_document_a_line(each):
    program = each.script("j.sh", 'printf "%s\\377" "$1"; [ "$1" != 2 ] || exit 7\n')
    done = each.run("--json", "-k", "--", program, lines=3)
    assert done.status == 1, done
    found = documents(done.out)
    assert [(d["line"], d["input"], d["state"]) for d in found] == [
        (1, "1", "done"), (2, "2", "failed"), (3, "3", "done")]
    assert base64.b64decode(found[0]["output_base64"]) == b"1\377"
    assert (found[1]["exit"], found[1]["cause"], found[0]["exit"]) == (7, "exit", 0)
    (shown,) = documents(each.run("--json", "--show", "--", program).out)
    assert (shown["line"], shown["exit"], shown["output_base64"]) == \
        (2, 7, found[1]["output_base64"])
    done = each.run("--json", "--dry-run", "--", "echo", "{} {}", lines=["a b"])
    assert documents(done.out) == [["echo", "a b a b"]]


# ---- standard error, and results in files


def test_standard_error_is_kept_apart(each):
    program = each.script("both.sh", 'echo "err $1" >&2; echo "out $1"; echo "more $1" >&2\n')
    done = each.run("-k", "-j", "3", "--", program, lines=5)
    assert done.out == "".join(f"out {n}\n" for n in range(1, 6)), done
    assert done.err.startswith("".join(f"err {n}\nmore {n}\n" for n in range(1, 6))), done
    done = each.run("--json", "--", program, lines=1)
    (document,) = documents(done.out)
    assert (document["output"], document["errors"]) == ("out 1\n", "err 1\nmore 1\n"), done


def test_in_one_pipe_a_programs_errors_stand_behind_its_output(each):
    program = each.script("both.sh", 'echo "err $1" >&2; echo "out $1"\n')
    ran_ = subprocess.run(["sh", "-c", f"seq 4 | {BIN} each -k -j 2 -- {program} 2>&1"],
                          cwd=each.dir, env=each.env(), capture_output=True, text=True, check=True)
    assert ran_.stdout.startswith("".join(f"out {n}\nerr {n}\n" for n in range(1, 5))), ran_


def test_errors_that_were_not_printed_before_a_kill_are_kept_apart_as_well(each):
    """The reader takes nothing: all of it is read back by the next run."""
    program = each.script("both.sh", 'echo "err $1 $WAYBILL_ATTEMPT" >&2; head -c 100000 /dev/zero '
                                     '| tr "\\0" x; echo; '
                          '[ "$1" != 3 ] || [ "$WAYBILL_ATTEMPT" = 2 ]\n')
    child = each.start("-k", "-j", "2", "--retry", "1", "--", program)
    child.stdin.write(as_bytes(30))
    child.stdin.close()
    child.stdin = None
    client = each.client()
    eventually(lambda: client.counts().get("each", {}).get("done") == 30, "all ends",
               3 * DEADLINE_S)
    child.kill()
    child.wait()
    done = each.run("-k", "-j", "2", "--retry", "1", "--results", "res", "--", program, lines=30)
    lines = done.out.splitlines()
    assert done.status == 0 and lines and {len(line) for line in lines} == {100_000}, done.err
    errors = [line for line in done.err.splitlines() if line.startswith("err ")]
    assert errors[-1] == "err 30 1" and len(errors) == len(lines), done.err
    for place in (each.dir / "res").iterdir():
        wanted = f"err {place.name} {2 if place.name == '3' else 1}\n"
        assert (place / "stderr").read_text() == wanted and \
            len((place / "stdout").read_text()) == 100_001


def test_errors_alone_are_not_lost_by_a_kill(each):
    """Nobody takes them: a line without other output is not printed before they are out."""
    program = each.script("errors.sh",
                          '{ echo "err $1"; head -c 50000 /dev/zero | tr "\\0" x; echo; } >&2\n')
    child = each.start("-k", "-j", "2", "--", program)
    child.stdin.write(as_bytes(10))
    child.stdin.close()
    child.stdin = None
    client = each.client()
    eventually(lambda: client.counts().get("each", {}).get("done") == 10, "all ends",
               3 * DEADLINE_S)
    child.kill()
    seen = child.stderr.read().decode()
    child.wait()
    done = each.run("-k", "-j", "2", "--", program, lines=10)
    assert done.status == 0, done.err
    whole = re.compile(r"err (\d+)\nx{50000}\n")
    assert sorted(map(int, set(whole.findall(seen)) | set(whole.findall(done.err)))) == \
        list(range(1, 11))


def test_much_on_standard_error_loses_its_middle_and_stops_nobody(each):
    program = each.script("much.sh", 'head -c 9000000 /dev/zero | tr "\\0" e >&2; echo last >&2; '
                                     'echo out\n')
    done = each.run("--", program, lines=1)
    assert (done.status, done.out) == (0, "out\n") and "bytes are left out here" in done.err and \
        "last\n" in done.err


def test_results_in_files(each):
    program = each.script("both.sh", 'echo "err $1" >&2; echo "out $1"; [ "$1" != 2 ]\n')
    done = each.run("--results", "res", "--", program, lines=3)
    assert done.status == 1 and sorted(done.out.splitlines()) == ["out 1", "out 2", "out 3"], done
    found = {str(path.relative_to(each.dir / "res")): path.read_text()
             for path in (each.dir / "res").rglob("std*")}
    assert found == {f"{n}/std{kind}": f"{kind} {n}\n" for n in (1, 2, 3)
                     for kind in ("out", "err")}
    done = each.run("--results", "/no/such/place", "--", program, lines=3)
    assert done.status == 4 and "/no/such/place" in done.err, done


# ---- halting


def test_halt_soon_starts_no_more_and_lets_end_what_runs(each):
    program = appending(each, 'case $1 in 2) exit 3;; 1) until [ -e go ]; do sleep 0.02; done; '
                              'echo out of 1;; esac\n')
    child = each.start("-j", "2", "--halt", "soon", "--", program)
    child.stdin.write(as_bytes(200))
    child.stdin.close()
    child.stdin = None
    eventually(lambda: "2" in ran(each), "the failure")
    time.sleep(0.3)
    (each.dir / "go").touch()
    done = each.end(child)
    assert done.status == 1 and "out of 1" in done.out, done
    assert "1 failed" in done.err and "line 2: 2  (exit 3)" in done.err and \
        "continues from here" in done.err, done
    assert len(ran(each)) < 20, "no more was started"
    done = each.run("-j", "2", "--", program, lines=200)
    assert done.status == 1 and "199 done, 1 failed" in done.err, done
    assert sorted(map(int, ran(each))) == list(range(1, 201)), "each line once"


def test_halt_now_ends_what_runs(each):
    program = appending(each, '[ "$1" != 2 ] || { until grep -qx 1 ran; do sleep 0.02; done; '
                              'exit 3; }\n[ "$1" != 1 ] || [ -e again ] || sleep 60\n')
    begin = time.monotonic()
    done = each.run("-j", "2", "--halt", "now,fail=1", "--", program, lines=50)
    assert done.status == 1 and "(exit 3)" in done.err and \
        time.monotonic() - begin < 30 * PATIENCE, done
    (each.dir / "again").touch()
    done = each.run("-j", "2", "--", program, lines=50)
    assert "49 done, 1 failed" in done.err and ran(each).count("1") == 2, \
        "what was ended is run again"


@pytest.mark.parametrize("halt, status, started",
                         [("soon,fail=3", 1, 3), ("soon,fail=30%", 1, 6), ("now,fail=4", 1, 4)])
def test_halt_after_several_failures(each, halt, status, started):
    """One after the other, every one fails: 30% of 20 lines are 6."""
    program = appending(each, "exit 1\n")
    done = each.run("-j", "1", "--halt", halt, "--", program, lines=20)
    assert done.status == status, done
    assert started <= len(ran(each)) <= started + 2


# ---- failures


def test_failures_are_listed_with_what_to_do(each):
    program = each.script("odd.sh", 'echo "out of $1"; [ $(($1 % 2)) = 0 ] || exit $1\n')
    done = each.run("--", program, "{}", lines=6)
    assert done.status == 1, done
    assert "3 done, 3 failed" in done.err
    assert re.findall(r"line (\d): (\d) +\(exit (\d)", done.err) == [(n, n, n) for n in "135"]
    assert f"waybill each --show -- {program} '{{}}'" in done.err
    assert f"waybill each --failed -- {program} '{{}}'" in done.err


def test_failed_lines_can_be_seen_and_run_again(each):
    program = appending(each, 'echo "out of $1"; [ -e ok ] || [ "$1" != 3 ]\n')
    assert each.run("--", program, lines=4).status == 1
    shown = each.run("--show", "--", program)
    assert shown.status == 0 and "out of 3" in shown.out and "line 3" in shown.out, shown
    assert "out of 2" not in shown.out
    done = each.run("--failed", "--", program)
    assert done.status == 1 and done.out == "out of 3\n", done
    (each.dir / "ok").touch()
    done = each.run("--failed", "--", program)
    assert (done.status, done.out) == (0, "out of 3\n"), done
    assert sorted(ran(each)) == ["1", "2", "3", "3", "3", "4"]
    assert "no line has failed" in each.run("--show", "--", program).err


def test_one_line_is_counted_as_one(each):
    program = each.script("one.sh", '[ -e ok ] || [ "$1" != 1 ]\n')
    assert each.run("-j", "1", "--halt", "soon", "--", program, lines=40).status == 1
    (each.dir / "ok").touch()
    done = each.run("-j", "1", "--", program, lines=40)
    (count,) = re.findall(r"(\d+) lines? ha\w+ already ended", done.err)
    wanted = "1 line has" if count == "1" else f"{count} lines have"
    assert f"{wanted} already ended" in done.err, done


def test_failed_runs_no_line_that_a_halt_left_unrun(each):
    program = appending(each, '[ -e ok ] || [ "$1" != 3 ]\n')
    assert each.run("-j", "1", "--halt", "soon", "--", program, lines=9).status == 1
    before = ran(each)
    assert "9" not in before
    (each.dir / "ok").touch()
    done = each.run("--failed", "--", program)
    assert ran(each) == before + ["3"] and " left" in done.err, done
    assert done.status == 1, "lines are left"
    assert "the same command without --failed runs them" in done.err, done
    assert "interrupted" in each.run("--list").out
    done = each.run("-j", "1", "--", program, lines=9)
    assert done.status == 0 and "9 done, 0 failed" in done.err, done
    assert sorted(ran(each)) == sorted("1234567893"), "each line once, the failed one twice"


def stop_failed(each, how):
    """Twelve lines have ended, the even ones failed.  A --failed is stopped; returns the program,
    repaired, and the lines that have failed again."""
    program = appending(each, '[ -e ok ] || [ $(($1 % 2)) = 1 ] || exit 3\n'
                              'while [ -e block ]; do sleep 0.01; done\n')
    assert each.run("--", program, lines=12).status == 1
    if how == "halted":
        assert each.run("--failed", "-j", "1", "--halt", "soon", "--", program).status == 1
        (each.dir / "ok").touch()
    else:
        (each.dir / "ok").touch()
        (each.dir / "block").touch()
        child = each.start("--failed", "-j", "1", "--", program)
        eventually(lambda: len(ran(each)) > 12, "a line that runs again")
        if how == "killed":
            child.kill()
        else:  # a second signal stops the program at once
            eventually(lambda: child.poll() is not None or each.interrupt(child), "its end")
        each.end(child)
        (each.dir / "block").unlink()
    again = ran(each)[12:] if how == "halted" else []
    (each.dir / "ran").unlink()
    return program, again


@pytest.mark.parametrize("how", ["halted", "interrupted", "killed"])
def test_failed_continues_after_a_failed_that_was_stopped(each, how):
    program, _ = stop_failed(each, how)
    done = each.run("--failed", "--", program)
    assert done.status == 0 and "12 done, 0 failed" in done.err, done
    assert sorted(ran(each), key=int) == ["2", "4", "6", "8", "10", "12"]
    assert "no run is unfinished" in each.run("--list").err
    assert each.run("--", program, lines=12).status == 0
    assert len(ran(each)) == 18, "the run was finished: the same command starts a new one"


@pytest.mark.parametrize("how", ["halted", "interrupted", "killed"])
def test_the_same_command_continues_after_a_failed_that_was_stopped(each, how):
    program, again = stop_failed(each, how)
    assert "interrupted" in each.run("--list").out
    done = each.run("--", program, lines=12)
    assert sorted(ran(each) + again, key=int) == ["2", "4", "6", "8", "10", "12"], again
    assert done.status == (1 if again else 0), done
    assert "no run is unfinished" in each.run("--list").err


def test_failed_finds_failed_lines_among_lines_that_never_ran(each):
    program = appending(each, '[ -e ok ] || case "$1" in [1-4]) exit 3;; esac\n')
    assert each.run("-j", "1", "--halt", "soon,fail=4", "--", program, lines=9).status == 1
    never = sorted(set("123456789") - set(ran(each)))
    assert "9" in never
    assert each.run("--failed", "-j", "1", "--halt", "soon", "--", program).status == 1
    # Refused for its input, but it has released the lines that never ran.
    assert each.run("--", program, lines=["another"]).status == 4
    (each.dir / "ok").touch()
    (each.dir / "ran").unlink()
    done = each.run("--failed", "--", program)
    assert sorted(ran(each)) == ["1", "2", "3", "4"], done
    assert done.status == 1 and f"{len(never)} left" in done.err, done
    done = each.run("--", program, lines=9)
    assert done.status == 0 and sorted(ran(each)[4:]) == never, done


def test_failed_runs_a_line_that_waited_for_its_retry(each):
    program = appending(each, '[ -e ok ] || [ "$1" != 1 ]\n')
    child = each.start("-j", "1", "--retry", "9", "--", program)
    child.stdin.write(b"1\n2\n")
    child.stdin.flush()
    eventually(lambda: {"1", "2"} <= set(ran(each)), "both lines")
    each.interrupt(child)
    each.end(child)
    (each.dir / "ok").touch()
    count = ran(each).count("1")
    done = each.run("--failed", "--", program)
    assert ran(each).count("1") > count and "2 done, 0 failed" in done.err, done
    assert done.status == 1 and "may not have been read to its end" in done.err, done
    done = each.run("--", program, lines=3)
    assert done.status == 0 and ran(each)[-1] == "3", done


def test_failed_leaves_unprinted_outputs_to_the_same_command(each):
    program = appending(each, "[ -e ok ] || exit 3\n"
                              "head -c 200000 /dev/zero | tr '\\0' \"$1\"\n")
    assert each.run("--", program, lines=2).status == 1
    (each.dir / "ok").touch()
    child = each.start("--failed", "--", program)  # nobody reads its output
    client = each.client()
    eventually(lambda: client.counts().get("each", {}).get("done") == 2, "both ends")
    child.kill()
    each.end(child)
    done = each.run("--failed", "--", program)
    assert (done.status, done.out) == (1, "") and "2 done, 0 failed" in done.err, done
    assert "not printed before a kill: 2; the same command without --failed" in done.err, done
    done = each.run("-k", "--", program, lines=2)
    assert (done.status, done.out) == (0, "1" * 200_000 + "2" * 200_000), done.err
    assert len(ran(each)) == 4, "each line twice"
    assert "no run is unfinished" in each.run("--list").err


def test_failed_finishes_no_run_whose_input_has_grown(each):
    program, _ = stop_failed(each, "halted")
    child = each.start("-j", "1", "--", program)
    child.stdin.write(as_bytes(13))
    child.stdin.flush()
    eventually(lambda: "13" in ran(each), "the new line")
    child.kill()
    each.end(child)
    done = each.run("--failed", "--", program)
    assert done.status == 1 and "13 done, 0 failed" in done.err, done
    assert "interrupted" in each.run("--list").out
    assert each.run("--", program, lines=14).status == 0
    assert ran(each)[-1] == "14" and ran(each).count("1") == 0


def test_retries(each):
    program = appending(each, '[ "$(grep -cx "$1" ran)" -ge 3 ]\n')
    done = each.run("-j", "4", "--retry", "2", "--", program, lines=2)
    assert done.status == 0 and sorted(ran(each)) == ["1", "1", "1", "2", "2", "2"], done
    assert "2 done, 0 failed" in done.err


def test_a_time_out_is_a_failure(each):
    done = each.run("--timeout", "200ms", "--", "sleep", lines=["0", "300"])
    assert done.status == 1 and "1 done, 1 failed" in done.err and "timeout" in done.err, done


def test_a_line_that_fails_with_exit_0_says_only_its_reason(each):
    done = each.run("--", "sh", "-c", "echo err no good >&3", lines=["x"])
    assert done.status == 1 and "  line 1: x  (no good)\n" in done.err, done


def test_signals_are_told(each):
    done = each.run("--", "sh", "-c", 'kill -9 $$', "sh", lines=["a"])
    assert done.status == 1 and "signal 9" in done.err, done


# ---- a run and the next


def test_a_finished_run_begins_anew(each):
    program = appending(each)
    assert each.run("--", program, lines=2).status == 0
    assert each.run("--", program, lines=3).status == 0
    assert sorted(ran(each)) == ["1", "1", "2", "2", "3"]
    assert len(each.runs()) == 1


def test_runs_differ_by_directory_command_and_separator(each):
    other = each.dir / "other"
    other.mkdir()
    each.run("--", "true", "{}", lines=["1"])
    each.run("--", "true", "{}", lines=["1"], cwd=other)
    each.run("--", "true", "{}", "x", lines=["1"])
    each.run("--colsep", ",", "--", "true", "{}", lines=["1"])
    each.run("-j", "7", "--retry", "2", "--", "true", "{}", lines=["1"])
    assert len(each.runs()) == 4


def test_finished_runs_go_after_a_month(each):
    for word in ("old", "young", "unfinished"):
        assert each.run("--", "true", word, lines=["x"]).status == 0
    made = {json.loads((run / "run.json").read_text())["command"][1]: run for run in each.runs()}
    month_ago = time.time() - 31 * 86400
    os.utime(made["old"] / "finished", (month_ago, month_ago))
    (made["unfinished"] / "finished").unlink()
    os.utime(made["unfinished"], (month_ago, month_ago))
    assert each.run("--", "true", "another", lines=["x"]).status == 0
    assert not made["old"].exists() and made["young"].exists() and made["unfinished"].exists()


def interrupted(each, program, lines=8, number=signal.SIGINT, patient=False):
    """A run that was stopped while line 3 of many blocked it; at once, or after its grace."""
    child = each.start("-j", "1", "--", program)
    child.stdin.write(as_bytes(lines))
    child.stdin.flush()
    eventually(lambda: "3" in ran(each), "the third line")
    each.interrupt(child, number)
    if not patient:
        assert b"stopping" in child.stderr.readline()
        each.interrupt(child, number)
    child.stdin.close()
    child.stdin = None
    return each.end(child)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_stops_cleanly_and_goes_on(each, number):
    program = appending(each, '[ "$1" != 3 ] || [ -e go ] || sleep 300\necho "out $1"\n')
    begun = time.monotonic()
    done = interrupted(each, program, number=number, patient=True)
    assert done.out == "out 1\nout 2\n", done
    assert time.monotonic() - begun < 20 * PATIENCE
    assert done.status == 128 + number, done
    assert "2 done, 0 failed, 6 left" in done.err and "the same command continues" in done.err
    assert ran(each) == ["1", "2", "3"]
    (each.dir / "go").touch()
    done = each.run("-j", "1", "--", program, lines=8)
    assert done.status == 0 and "8 done" in done.err and \
        "2 lines have already ended" in done.err, done
    assert ran(each) == ["1", "2", "3", "3", "4", "5", "6", "7", "8"]
    assert done.out == "".join(f"out {i}\n" for i in range(3, 9)), "nothing is printed twice"


def test_a_signal_that_is_ignored_stays_ignored(each):
    """As below nohup: whoever started it wants it so."""
    program = appending(each, '[ -e go ] || exec sleep 300\n')
    child = subprocess.Popen(["nohup", BIN, "each", "-j", "1", "--", program], cwd=each.dir,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             env=each.env())
    each.started.append(child)
    child.stdin.write(as_bytes(2))
    child.stdin.close()
    child.stdin = None
    eventually(lambda: ran(each), "the first line")
    each.interrupt(child, signal.SIGHUP)
    each.interrupt(child, signal.SIGTERM)
    done = each.end(child)
    assert done.status == 128 + signal.SIGTERM, done


def test_closed_input_is_empty_input(each):
    done = subprocess.run(["sh", "-c", f"'{BIN}' each -- echo x <&-"], cwd=each.dir, env=each.env(),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          timeout=30 * PATIENCE)
    assert (done.returncode, done.stdout) == (0, b""), done


def test_the_data_directory_may_have_a_long_path(each):
    each.data = each.data / ("d" * 120)
    assert each.run("--", "echo", lines=["a"]).out == "a\n"


def test_a_second_signal_stops_at_once(each):
    program = appending(each, 'trap "" TERM; sleep 300; sleep 300\n')
    child = each.start("-j", "1", "--", program)
    child.stdin.write(as_bytes(3))
    child.stdin.close()
    child.stdin = None
    eventually(lambda: ran(each), "the first line")
    each.interrupt(child)
    assert b"stopping" in child.stderr.readline()
    begun = time.monotonic()
    each.interrupt(child)
    assert each.end(child).status == 130
    assert time.monotonic() - begun < 4 * PATIENCE


def test_a_line_that_has_changed_is_an_error(each):
    program = appending(each, '[ "$1" != 3 ] || [ -e go ] || sleep 300\n')
    interrupted(each, program)
    (each.dir / "go").touch()
    lines = list(range(1, 9))
    lines[4] = "five"
    done = each.run("-j", "1", "--", program, lines=lines)
    assert done.status == 4 and \
        "line 5 differs from the input this run started with" in done.err and \
        "five" in done.err, done
    assert "--again" in done.err and "continues" not in done.err, done
    done = each.run("-j", "1", "--", program, lines=4)
    assert done.status == 4 and "ends after line 4" in done.err and \
        "continues" not in done.err, done
    done = each.run("-j", "1", "--again", "--", program, lines=lines)
    assert done.status == 0 and ran(each)[-8:] == [str(line) for line in lines], done


def test_after_a_wrong_line_the_same_command_goes_on_with_the_input_mended(each):
    command = ("--colsep", ",", "-k", "--", "echo", "{2}", "{1}", "{3}")
    done = each.run(*command, lines=["a,b,c", "d,e"])
    assert done.status != 0 and "line 2: has 2 columns, and the command wants {3}" in done.err, done
    assert done.err.endswith("\nfix the input; the same command then continues from here\n"), done
    mended = each.run(*command, lines=["a,b,c", "d,e,f"])
    assert mended.status == 0 and done.out + mended.out == "b a c\ne d f\n", (done, mended)


@pytest.mark.parametrize("json_too", [[], ["--json"]])
def test_dry_run_of_an_unfinished_run_leaves_out_what_has_ended(each, json_too):
    program = appending(each, '[ "$1" != 3 ] || [ -e go ] || sleep 300\n')
    interrupted(each, program)
    before = ran(each)
    dry = each.run("--dry-run", *json_too, "-j", "1", "--", program, lines=10)
    printed = [json.loads(line) for line in dry.out.splitlines()] if json_too else \
        [line.split() for line in dry.out.splitlines()]
    assert printed == [[program, str(i)] for i in range(3, 11)], dry
    assert dry.status == 0 and "2 lines have already ended" in dry.err, dry
    again = each.run("--dry-run", "--again", "--", program, lines=10)
    assert len(again.out.splitlines()) == 10, again
    assert ran(each) == before, "a dry run runs nothing"
    (each.dir / "go").touch()
    done = each.run("-j", "1", "--", program, lines=10)
    assert done.status == 0 and ran(each)[3:] == [words[1] for words in printed], done
    assert len(each.run("--dry-run", "--", program, lines=10).out.splitlines()) == 10, "a new run"


def test_dry_run_refuses_the_input_that_the_run_would_refuse(each):
    program = appending(each, '[ "$1" != 3 ] || [ -e go ] || sleep 300\n')
    interrupted(each, program)
    changed = [1, 2, 3, 4, "five", 6, 7, 8]
    dry = each.run("--dry-run", "--", program, lines=changed)
    assert (dry.status, dry.out) == (4, ""), dry
    assert "line 5 differs from the input this run started with; now it is 'five'" in dry.err, dry
    dry = each.run("--dry-run", "--", program, lines=4)
    assert (dry.status, dry.out) == (4, "") and "ends after line 4" in dry.err, dry


def test_dry_run_beside_the_active_run_is_refused_and_leaves_no_run_behind(each):
    child = each.start("--", "sleep", "{}")
    child.stdin.write(b"300\n")
    child.stdin.flush()
    each.client()
    dry = each.run("--dry-run", "--", "sleep", "{}", lines=["300"])
    assert dry.status == 4 and "already active" in dry.err, dry
    assert each.run("--dry-run", "--", "echo", lines=["a"]).out == "echo a\n"
    assert len(each.runs()) == 1, "a dry run makes no directory"
    child.kill()


def test_input_that_has_grown_is_taken(each):
    program = appending(each, '[ "$1" != 3 ] || [ -e go ] || sleep 300\n')
    interrupted(each, program)
    (each.dir / "go").touch()
    done = each.run("-j", "1", "--", program, lines=10)
    assert done.status == 0 and ran(each)[3:] == [str(i) for i in range(3, 11)], done


def test_a_second_each_of_the_same_run_is_refused(each):
    child = each.start("--", "cat", "{}")
    each.client()
    done = each.run("--", "cat", "{}", lines=["x"])
    assert done.status == 4 and str(child.pid) in done.err and "already active" in done.err, done
    assert each.run("--", "echo", "{}", lines=["x"]).status == 0
    child.stdin.close()
    child.stdin = None
    assert each.end(child).status == 0


def test_what_failed_can_be_seen_while_the_run_goes_on(each):
    child = each.start("--", "sh", "-c", 'echo "seen $1"; exit 1', "sh")
    child.stdin.write(b"a\n")
    child.stdin.flush()
    client = each.client()
    eventually(lambda: client.counts().get("each", {}).get("failed") == 1, "the failure")
    shown = each.run("--show", "--", "sh", "-c", 'echo "seen $1"; exit 1', "sh")
    assert shown.status == 0 and "seen a" in shown.out, shown
    child.stdin.close()
    child.stdin = None
    assert each.end(child).status == 1


def test_show_and_failed_need_a_run(each):
    for option in ("--show", "--failed"):
        done = each.run(option, "--", "true")
        assert done.status == 3 and "no such run" in done.err, done


def test_input_is_taken_as_it_comes(each):
    child = each.start("--", "echo")
    for word in (b"one", b"two"):
        child.stdin.write(word + b"\n")
        child.stdin.flush()
        assert child.stdout.readline() == word + b"\n"
    child.stdin.close()
    child.stdin = None
    assert each.end(child).status == 0


def test_a_server_that_is_killed_ends_the_run_and_it_goes_on(each):
    program = appending(each, '[ "$1" != 3 ] || [ -e go ] || sleep 300\n')
    child = each.start("-j", "1", "--", program)
    child.stdin.write(as_bytes(5))
    child.stdin.close()
    child.stdin = None
    client = each.client()
    eventually(lambda: "3" in ran(each) and client.counts().get("each", {}).get("done") == 2,
               "the third line")
    client.close()
    (lock,) = each.data.glob("each/*/store/waybill.lock")
    os.kill(int(lock.read_text()), signal.SIGKILL)
    done = each.end(child)
    assert done.status == 5 and "has ended" in done.err, done
    (each.dir / "go").touch()
    assert each.run("-j", "1", "--", program, lines=5).status == 0
    assert ran(each) == ["1", "2", "3", "3", "4", "5"]


# ---- rate


def test_starts_are_spaced(each):
    program = each.script("when.sh", "date +%s%N >>when\n")
    assert each.run("-j", "4", "--rate", "10/1s", "--", program, lines=6).status == 0
    times = [int(line) / 1e9 for line in (each.dir / "when").read_text().split()]
    assert len(times) == 6 and max(times) - min(times) > 0.4


# ---- kill -9


def kill_when(each, enough, *args):
    """Starts the run and kills it with -9 when so many lines have run."""
    with open(each.dir / "lines", "rb") as lines:
        child = each.start(*args, stdin=lines, stdout=subprocess.DEVNULL)

    def has_come():
        assert child.poll() is None, child.stderr.read()
        return count_lines(each.dir / "ran") >= enough

    eventually(has_come, f"{enough} lines", 600)
    child.kill()
    child.communicate()


def count_lines(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_a_run_that_is_killed_three_times_ends_complete(each):
    """Every line ran; twice only those that ran when a kill came, as their record says, and those
    whose end was not with the server yet."""
    if KILLED_LINES > 10_000:
        signal.alarm(1800)
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    slots = 4
    program = appending(each)
    (each.dir / "lines").write_bytes(as_bytes(KILLED_LINES))
    enough = 0
    for _ in range(3):
        enough += chance.randrange(KILLED_LINES // 10, KILLED_LINES // 4)
        kill_when(each, enough, "-j", slots, "--", program)
    done = each.run("-j", slots, "--", program, lines=KILLED_LINES, deadline_s=900)
    assert done.status == 0 and f"{KILLED_LINES:,} done, 0 failed" in done.err, done
    counts = {}
    for line in ran(each):
        counts[line] = counts.get(line, 0) + 1
    assert set(counts) == {str(i) for i in range(1, KILLED_LINES + 1)}
    twice = {line for line, count in counts.items() if count > 1}
    assert len(twice) <= 3 * slots * 8, twice
    with each.looked_into() as client:
        jobs = {job["key"]: job for job in client.list()}
        assert len(jobs) == KILLED_LINES
        records = [client.show(jobs[line]["id"])["progress"] for line in twice]
    states = [[entry["state"] for entry in record] for record in records]
    assert all(one in (["lost", "done"], ["done"]) for one in states), states
    assert ["lost", "done"] in states, states


def test_output_is_not_lost_by_a_kill(each):
    """What had ended and was not printed when the kill came is printed by the next run."""
    program = each.script("hold.sh", '[ "$1" != 1 ] || [ -e go ] || sleep 300\necho "out $1"\n')
    child = each.start("-j", "2", "-k", "--", program)
    child.stdin.write(as_bytes(30))
    child.stdin.close()
    child.stdin = None
    client = each.client()
    eventually(lambda: client.counts().get("each", {}).get("done") == 29, "all but the first")
    child.kill()
    out, _ = child.communicate()
    assert out == b""
    (each.dir / "go").touch()
    done = each.run("-j", "2", "-k", "--", program, lines=30)
    assert done.status == 0 and done.out.splitlines() == [f"out {i}" for i in range(1, 31)], done


def test_much_input_does_not_fill_the_memory(each):
    """Lines wait in the pipe, not in memory or in the store."""
    program = each.script("wait.sh", "exec sleep 300\n")
    child = each.start("-j", "1", "--", program, stdout=subprocess.DEVNULL)
    os.set_blocking(child.stdin.fileno(), False)
    chunk = b"x" * 99 + b"\n"
    chunk *= 1000
    sent, last = 0, time.monotonic()
    while time.monotonic() - last < 2 * PATIENCE and sent < 100 << 20:
        try:
            sent += os.write(child.stdin.fileno(), chunk)
            last = time.monotonic()
        except BlockingIOError:
            time.sleep(0.01)
    assert sent < 20 << 20, "there is no back-pressure"
    status = open(f"/proc/{child.pid}/status", encoding="ascii").read()
    if PATIENCE == 1:
        assert int(re.search(r"VmRSS:\s+(\d+)", status)[1]) < 60_000, status
    child.kill()


# ---- on a terminal


def test_a_terminal_shows_the_bar(each):
    master, slave = pty.openpty()
    child = subprocess.Popen([BIN, "each", "-j", "1", "--", "sh", "-c", "sleep 0.3", "sh"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=slave,
                             cwd=each.dir, env=each.env())
    each.started.append(child)
    child.stderr = None
    os.close(slave)
    child.stdin.write(b"\n\n")
    child.stdin.close()
    child.stdin = None
    text = b""
    with os.fdopen(master, "rb", 0) as terminal:
        while True:
            try:
                piece = terminal.read(1000)
            except OSError:
                break
            text += piece
    assert child.wait(30 * PATIENCE) == 0, text
    assert re.search(rb"\d/2 +\d+% \[", text) and b"running" in text, text


# ---- another input, and runs that wait


def killed_halfway(each, program, lines=40):
    """A run of which lines are left in the store: it was killed."""
    child = each.start("-j", "2", "--", program)
    child.stdin.write(as_bytes(lines))
    child.stdin.close()
    child.stdin = None
    client = each.client()
    eventually(lambda: sum(client.counts().get("each", {}).values()) == lines and
               len(ran(each)) >= 4, "half of a run")
    child.kill()
    child.wait()
    eventually(lambda: not each.processes(), "the end of all of it", 2 * DEADLINE_S)


def test_with_another_input_nothing_of_the_old_one_runs(each):
    program = appending(each, "[ -e go ] || sleep 0.2\n")
    killed_halfway(each, program)
    before = ran(each)
    done = each.run("-j", "2", "--", program, lines=[*range(1, 40), "other"])
    assert done.status == 4 and \
        "line 40 differs from the input this run started with" in done.err, done
    assert ran(each) == before, "a stored line ran before the input had confirmed it"
    done = each.run("-j", "2", "--", program, lines=10)
    assert done.status == 4 and "the input ends after line 10" in done.err, done
    assert ran(each) == before
    (each.dir / "go").touch()
    done = each.run("-j", "2", "--", program, lines=40)
    assert done.status == 0 and set(ran(each)) == {str(n) for n in range(1, 41)}, done


def test_a_slow_input_confirms_what_it_has(each):
    """Lines arrive one by one: the stored ones run once all were seen, later ones on arrival."""
    program = appending(each, "[ -e go ] || sleep 0.2\n")
    killed_halfway(each, program, lines=8)
    before = ran(each)
    (each.dir / "go").touch()
    child = each.start("-j", "2", "--", program)
    client = each.client()
    for n in range(1, 9):
        if n == 8:  # a worker is there, and the queue is held back
            eventually(lambda: [w for w in client.ok("GET", "/v1/workers")["workers"] if w["live"]],
                       "the worker")
            eventually(lambda: client.ok("GET", "/v1/queues/each")["state"] == "pause",
                       "the queue that waits")
            assert ran(each) == before, "a stored line ran before the input had confirmed it"
        child.stdin.write(f"{n}\n".encode())
        child.stdin.flush()
    client.close()
    eventually(lambda: set(ran(each)) == {str(n) for n in range(1, 9)}, "the stored lines")
    child.stdin.write(b"9\n")
    child.stdin.flush()
    eventually(lambda: "9" in ran(each), "the new line")
    child.stdin.close()
    child.stdin = None
    assert each.end(child).status == 0


def test_unfinished_runs_are_listed(each):
    assert "no run is unfinished" in each.run("--list").err
    each.run("--", "echo", lines=3)
    assert "no run is unfinished" in each.run("--list").err, "a finished one is none"
    program = appending(each, "sleep 0.2\n")
    killed_halfway(each, program)
    done = each.run("--list")
    (line,) = done.out.splitlines()[1:]
    assert "interrupted" in line and str(each.dir) in line and program in line and \
        "ago" in line, done
    (run,) = documents(each.run("--list", "--json").out)
    assert (run["directory"], run["command"], run["running"]) == (str(each.dir), [program], False)
    assert 0 < run["printed"] < 40, run


def test_the_list_has_the_beginning_and_the_options_of_a_run(each):
    program = each.script("stop.sh", '[ ! -e stop ] || [ "$1" != 2 ]\n')
    words = ["--colsep", "\\t", "--", program, "{1}"]
    assert each.run(*words, lines=3).status == 0
    identity = next(each.data.glob("each/*/run.json"))
    os.utime(identity, (1_000_000_000, 1_000_000_000))
    (each.dir / "stop").touch()
    assert each.run("-j", "1", "--halt", "soon", *words, lines=9).status == 1
    listed = each.run("--list")
    assert f"--colsep '\\t' -- {program} '{{1}}'" in listed.out, listed
    (run,) = documents(each.run("--list", "--json").out)
    assert run["began_at"] > "2026", run


def test_a_refused_run_is_not_listed(each):
    for args, line in ((["--", "echo"], b"a\0b\n"),
                       (["--colsep", ",", "--", "echo", "{3}"], b"a\n")):
        assert each.run(*args, lines=line).status == 4
        assert "no run is unfinished" in each.run("--list").err, args
    assert each.run("--", "echo", lines=b"a\nb\0\n").status == 4
    assert "interrupted" in each.run("--list").out, "its first line has ended"
