# SPDX-License-Identifier: MIT
"""`run`: the machine of a definition file, from its start to nothing left."""
import json
import os
import re
import signal
import urllib.request
from datetime import timedelta

import pytest

from runs import Runs
from screens import Terminal
from waiting import PATIENCE, eventually, now

pytestmark = pytest.mark.embedded("run keeps its own store")

SPLIT = """
queues:
  split: {command: 'for i in $(seq {n}); do waybill emit work -p n:=$i; done; echo split >>ran'}
  work: {command: ["./work.sh", "{n}"]}
start: {queue: split, params: {n: "{n:-5}"}}
"""


@pytest.fixture
def runs(directory):
    made = Runs(directory)
    made.script("work.sh", 'echo "$1" >>ran\n')
    yield made
    made.finish_up()


def numbers(n):
    return sorted([str(i) for i in range(1, n + 1)] + ["split"])


def row(done, queue):
    """The counts of a queue in the report."""
    (line,) = [line for line in done.out.splitlines() if line.startswith(f"{queue} ")]
    return [int(word) for word in line.split()[1:6]]


# ---- from start to end


def test_the_start_jobs_and_all_that_follows_are_done(runs):
    done = runs.run(runs.file(SPLIT), "-j", 3)
    assert done.status == 0, done
    assert runs.lines() == numbers(5)
    assert row(done, "split") == [1, 0, 0, 0, 0] and row(done, "work") == [5, 0, 0, 0, 0], done
    assert done.out.endswith("\nnothing is left to do\n"), done
    assert runs.processes() == []


def test_a_finished_run_starts_anew_and_counts_anew(runs):
    file = runs.file(SPLIT)
    assert runs.run(file).status == 0
    done = runs.run(file)
    assert done.status == 0 and row(done, "work") == [5, 0, 0, 0, 0], done
    assert runs.lines() == sorted(2 * numbers(5))


def test_values_fill_the_start_jobs_or_are_merged_into_their_params(runs):
    file = runs.file("""
queues:
  show: {command: 'printf "%s\\n" "$WAYBILL_PARAM_URL" "$WAYBILL_PARAM_DEPTH" {day} >>ran'}
start: [{queue: show, priority: "{p:-1}", params: {url: "https://{host}/"}}]
""".replace('"{p:-1}"', '"{p}"'))
    done = runs.run(file, "host=x.org", "depth:=3", "p:=7")
    assert done.status == 0, done
    assert [line for line in runs.lines() if "-" not in line] == ["3", "https://x.org/"]


def test_a_file_is_known_by_its_real_path(runs):
    runs.file(SPLIT)
    os.symlink("f.yaml", runs.dir / "g.yaml")
    assert runs.run("f.yaml").status == 0
    assert runs.run("g.yaml").status == 0
    assert len(runs.runs()) == 1


def test_the_report_as_json(runs):
    done = runs.run(runs.file(SPLIT), "--json")
    assert done.status == 0 and len(done.out.splitlines()) == 1, done
    report = json.loads(done.out)
    assert (report["state"], report["done"], report["left"]) == ("done", 6, 0), report
    assert report["queues"]["work"]["done"] == 5 and report["queues"]["work"]["seconds"] > 0


def test_schedules_do_not_fire(runs):
    runs.script("work.sh", 'echo "$1" >>ran; while ! test -e go; do sleep 0.05; done\n')
    file = runs.file(SPLIT + "schedules: {often: {every: 1s, queue: work, params: {n: 7}}}\n")
    child = runs.start(file)
    eventually(lambda: "1" in runs.lines(), "the first job")
    assert runs.client().get("/v1/schedules").json["schedules"] == []
    (runs.dir / "go").touch()
    assert runs.end(child).status == 0


# ---- failures


def test_failed_jobs_are_told_with_the_commands_to_see_and_retry_them(runs):
    runs.script("work.sh", 'echo "$1" >>ran; echo "cannot do $1"; test "$1" != 3 || test -e mended')
    file = runs.file(SPLIT)
    done = runs.run(file)
    assert done.status == 1 and row(done, "work") == [4, 1, 0, 0, 0], done
    assert "n=3: exit 1" in done.out
    assert "to see what they printed: waybill run f.yaml --show\n" in done.out
    assert "to run them again: waybill run f.yaml --failed\n" in done.out
    shown = runs.run(file, "--show")
    assert shown.status == 0 and re.search(r"==> \w+  work  n=3.*<==\ncannot do 3\n", shown.out)
    (runs.dir / "mended").touch()
    again = runs.run(file, "--failed")
    assert again.status == 0 and row(again, "work") == [5, 0, 0, 0, 0], again
    assert runs.lines() == sorted(numbers(5) + ["3"])


def test_a_failed_run_has_finished_and_starts_anew(runs):
    file = runs.file("queues: {a: {command: 'echo x >>ran; exit 1'}}\nstart: {queue: a}\n")
    assert runs.run(file).status == 1
    done = runs.run(file)
    assert done.status == 1 and row(done, "a") == [0, 1, 0, 0, 0], done
    assert runs.lines() == ["x", "x"]


# ---- killed, interrupted, resumed


@pytest.mark.parametrize("point", ["began", "opened", "submitted", "begun", "reported"])
def test_a_run_killed_at_any_point_is_resumed_and_nothing_is_done_twice(runs, point):
    file = runs.file(SPLIT)
    killed = runs.run(file, env={"WAYBILL_FAULT": f"run.{point}:1"})
    assert killed.status == -signal.SIGKILL, killed
    done = runs.run(file)
    assert done.status == 0 and row(done, "work") == [5, 0, 0, 0, 0], done
    assert runs.lines() == numbers(5)
    assert runs.run(file).status == 0
    assert runs.lines() == sorted(2 * numbers(5))


SLOW = """
queues:
  split: {command: 'for i in $(seq 12); do waybill emit work -p n:=$i; done'}
  work: {command: ["./work.sh", "{n}"], retry: {max: 0}}
start: {queue: split}
"""


def test_kills_in_the_middle_lose_nothing(runs):
    runs.script("work.sh", 'sleep 0.1; echo "$1" >>ran\n')
    file = runs.file(SLOW)
    for least in (2, 5, 8):
        child = runs.start(file, "-j", 2)
        eventually(lambda least=least: len(set(runs.lines())) >= least, f"{least} jobs")
        child.kill()
        runs.end(child)
    done = runs.run(file, "-j", 2)
    assert done.status == 0 and row(done, "work") == [12, 0, 0, 0, 0], done
    assert "continuing this run" in done.err
    assert set(runs.lines()) == {str(i) for i in range(1, 13)}
    assert len(runs.lines()) <= 12 + 3 * 2  # only what was running has run again


def test_ctrl_c_ends_cleanly_and_the_same_command_goes_on(runs):
    runs.script("work.sh", 'sleep 0.2; echo "$1" >>ran\n')
    file = runs.file(SLOW)
    child = runs.start(file, "-j", 2)
    eventually(lambda: len(runs.lines()) >= 2, "two jobs")
    runs.interrupt(child)
    stopped = runs.end(child)
    assert stopped.status == 130 and "the same command continues" in stopped.err, stopped
    assert runs.processes() == []
    done = runs.run(file, "-j", 2)
    assert done.status == 0 and row(done, "work") == [12, 0, 0, 0, 0], done
    assert runs.lines() == sorted(str(i) for i in range(1, 13))  # programs had time to end


def test_two_runs_of_one_file_at_once_are_refused(runs):
    runs.script("work.sh", 'echo "$1" >>ran; while ! test -e go; do sleep 0.05; done\n')
    file = runs.file(SPLIT)
    child = runs.start(file)
    eventually(lambda: "1" in runs.lines(), "the first job")
    second = runs.run(file)
    assert second.status == 4 and f"already active (process id {child.pid})" in second.err, second
    assert runs.run(file, "--no-wait").status == 75
    told = runs.run(file, "--status")
    assert told.status == 0 and "f.yaml: running" in told.out, told
    (runs.dir / "go").touch()
    assert runs.end(child).status == 0
    assert runs.lines() == numbers(5)


def test_again_starts_over(runs):
    file = runs.file(SPLIT.replace("start: {", "start: {delay: 1h, "))
    assert runs.run(file, "--no-wait").status == 75
    runs.file(SPLIT)
    assert runs.run(file, "--no-wait").status == 75  # the old one goes on
    done = runs.run(file, "--again")
    assert done.status == 0 and row(done, "split") == [1, 0, 0, 0, 0], done


def test_a_changed_file_is_read_again_and_its_jobs_are_not_started_twice(runs):
    file = runs.file("queues: {a: {command: 'echo old >>ran'}}\nstart: {queue: a, delay: 2s}\n")
    assert runs.run(file, "--no-wait").status == 75
    runs.file("queues: {a: {command: 'echo new >>ran'}, b: {command: 'echo b >>ran'}}\n"
              "start: [{queue: a}, {queue: b}]\n")
    assert runs.run(file).status == 0
    assert runs.lines() == ["new"]
    assert runs.run(file).status == 0
    assert runs.lines() == ["b", "new", "new"]


# ---- waiting


def test_no_wait_exits_with_75_when_all_that_is_left_must_wait(runs):
    file = runs.file("queues: {a: {command: 'echo a >>ran'}}\n"
                     "start: [{queue: a}, {queue: a, delay: 1h}]\n")
    done = runs.run(file, "--no-wait")
    assert done.status == 75 and row(done, "a") == [1, 0, 0, 0, 1], done
    assert re.search(r"1 job of a: not due yet \((59|60)m\)", done.out), done
    assert runs.run(file, "--no-wait").status == 75
    assert runs.lines() == ["a"]
    told = runs.run(file, "--status")
    assert told.status == 0 and "f.yaml: unfinished" in told.out and "not due yet" in told.out


def test_no_wait_exits_with_75_when_a_resource_is_closed(runs):
    days = f"{now() - timedelta(days=1):%Y-%m-%d}..{now() + timedelta(days=2):%Y-%m-%d}"
    file = runs.file(f"""
resources: {{api: {{closed: ["{days}"]}}}}
queues:
  a: {{command: 'echo a >>ran', needs: {{api: 1}}}}
  b: {{command: 'echo b >>ran', needs: {{api: 1}}, lane: {{key: "{{host}}", limit: 1}}}}
start: [{{queue: a}}, {{queue: b, params: {{host: x}}}}, {{queue: b, params: {{host: y}}}}]
""")
    done = runs.run(file, "--no-wait")
    assert done.status == 75 and runs.lines() == [], done
    assert re.search(r"1 job of a: .*api.*closed until", done.out), done
    assert re.search(r"2 jobs of b: .*api.*closed until", done.out), done


def test_a_run_waits_for_a_resource_that_opens(runs):
    runs.script("work.sh", f"""cd {runs.dir}
if mkdir once; then echo "busy api 1 too many requests" >&3; exit 0; fi
echo "$1" >>ran
""")
    gated = SPLIT.replace('"{n}"]}', '"{n}"], needs: {api: 1}}')
    file = runs.file(gated + "resources: {api: {slots: 1}}\n")
    done = runs.run(file)
    assert done.status == 0 and row(done, "work") == [5, 0, 0, 0, 0], done
    assert runs.lines() == numbers(5)
    assert re.search(r"jobs of work: api is shut.*too many requests", done.err), done


def test_a_job_that_waits_for_ever_ends_the_run_and_is_named(runs):
    file = runs.file("queues: {a: {command: 'echo a >>ran'}}\n"
                     "start: [{queue: a}, {queue: a, after: [{signal: dump}]}]\n")
    done = runs.run(file)
    assert done.status == 1, done
    assert "1 job of a: signal dump 0/1" in done.out, done
    assert "nothing that is left can go on by itself" in done.err
    assert runs.lines() == ["a"]


def test_what_waits_for_ever_may_be_released_over_http(runs):
    file = runs.file("queues: {a: {command: 'echo a >>ran'}}\n"
                     "start: {queue: a, after: [{signal: dump}]}\n")
    child = runs.start(file, "--listen", "127.0.0.1:0")
    url = re.search(rb"serving (\S+)", child.stderr.readline()).group(1).decode()
    request = urllib.request.Request(f"{url}/v1/signals/dump", data=b"{}", method="POST")
    with urllib.request.urlopen(request, timeout=20 * PATIENCE) as reply:
        assert reply.status == 200
    assert runs.end(child).status == 0
    assert runs.lines() == ["a"]


def test_a_queue_without_a_command_is_named(runs):
    done = runs.run(runs.file("queues: {a: }\nstart: {queue: a}\n"))
    assert done.status == 1 and "queue a has no command" in done.out, done


# ---- mistakes


@pytest.mark.parametrize("text, status, message", [
    ("queues: {a: }\n", 2, "f.yaml has no section 'start'"),
    ("start: {queue: b}\n", 2, "f.yaml:1: start[0]: queue: there is no queue 'b'"),
    ("queues: {a: {comand: x}}\nstart: {queue: a}\n", 2,
     "f.yaml:1: queue 'a': unknown key 'comand', did you mean 'command'?"),
    ("queues: {a: }\nstart:\n- {queue: a, params: {u: '{url}'}}\n", 2,
     "f.yaml:3: start[0]: {url} has no value: add url=VALUE to the command"),
    ("start: [\n", 2, "f.yaml:2: "),
])
def test_a_wrong_file_is_refused_with_its_line(runs, text, status, message):
    done = runs.run(runs.file(text))
    assert done.status == status and message in done.err, done


def test_wrong_lines_are_refused(runs):
    file = runs.file(SPLIT)
    for args, message in [(["x"], "does not have the form"), (["n=1", "n=2"], "'n' is given twice"),
                          (["n:={"], "is not JSON"), (["a b=1"], "is no name"),
                          (["--status", "n=1"], "--status takes no KEY=VALUE"),
                          (["--again", "--failed"], "exclude each other")]:
        done = runs.run(file, *args)
        assert done.status == 2 and message in done.err, done
    missing = runs.run("nowhere.yaml")
    assert missing.status == 3 and "nowhere.yaml" in missing.err, missing
    assert runs.run(file, "--status").status == 3
    assert runs.run(file, "--failed").status == 3


def test_serve_and_apply_say_that_only_run_reads_the_start(runs, servers):
    server = servers().start()
    done = server.cli("apply", str(runs.dir / runs.file(SPLIT)))
    assert done.status == 0, done
    assert "the sections 'start' and 'finally' are ignored: only 'run' reads them" in done.err


# ---- on a terminal


def test_progress_is_drawn_on_a_terminal_and_erased_at_the_end(runs):
    runs.script("work.sh", 'while ! test -e go; do sleep 0.05; done\n')
    screen = Terminal("run", runs.file(SPLIT), "-j", "2", size=(24, 80), cwd=runs.dir,
                      env={k: v for k, v in runs.env().items() if k != "TERM"})
    screen.until(r"1/6 +16% \[.*2 running")
    (runs.dir / "go").touch()
    assert screen.wait() == 0
    assert "nothing is left to do" in screen.text


# ---- instructions and groups


REPORTING = """
queues:
  split: {command: 'for i in $(seq 3); do waybill emit work -p n:=$i; done'}
  work: {command: ["./work.sh", "{n}"]}
  report: {command: 'echo {who} made {made}, {done} done, {failed} failed; echo {who} >>reports'}
start: {queue: split}
finally: {queue: report, params: {who: "{who}", made: "{made}", done: "{done}", failed: "{failed}"}}
"""


def test_the_output_of_the_finaliser_ends_the_report(runs):
    file = runs.file(REPORTING)
    done = runs.run(file, "who=Ada")
    assert done.status == 0, done
    assert done.out.endswith("\nAda made 4, 4 done, 0 failed\n"), done
    assert "nothing is left" not in done.out
    runs.script("work.sh", 'test "$1" != 2\n')
    failed = runs.run(file, "who=Ada")
    assert failed.status == 1 and "\nAda made 4, 3 done, 1 failed\n" in failed.out, failed
    assert runs.lines("reports") == ["Ada", "Ada"]


def test_a_new_instruction_is_added_to_an_unfinished_machine(runs):
    runs.script("work.sh", 'echo "$1" >>ran; while ! test -e go; do sleep 0.05; done\n')
    file = runs.file(REPORTING)
    child = runs.start(file, "who=Ada", "-j", 2)
    eventually(lambda: len(runs.lines()) == 2, "two jobs at work")
    child.kill()
    runs.end(child)
    (runs.dir / "go").touch()
    done = runs.run(file, "who=Bob", "-j", 2)
    assert done.status == 0 and row(done, "work") == [6, 0, 0, 0, 0], done
    assert "\n==> who=Ada <==\nAda made 4, 4 done, 0 failed\n" in done.out, done
    assert "\n==> who=Bob <==\nBob made 4, 4 done, 0 failed\n" in done.out, done
    assert runs.lines("reports") == ["Ada", "Bob"]


def test_an_instruction_that_a_run_has_had_is_not_given_again(runs):
    file = runs.file("queues: {a: {command: 'echo {n} >>ran'}}\n"
                     "start: {queue: a, delay: '{d}', params: {n: '{n}'}}\n")
    assert runs.run(file, "n=1", "d=1h", "--no-wait").status == 75
    assert runs.run(file, "n=2", "d:=0", "--no-wait").status == 75
    again = runs.run(file, "d:=0", "n=2", "--no-wait")
    assert again.status == 75 and row(again, "a") == [1, 0, 0, 0, 1], again
    assert runs.lines() == ["2"]


def test_the_tree_of_open_groups_is_drawn(runs):
    runs.script("work.sh", 'while ! test -e go; do sleep 0.05; done\n')
    screen = Terminal("run", runs.file(REPORTING), "who=Ada", "-j", "2", size=(24, 80),
                      cwd=runs.dir, env={k: v for k, v in runs.env().items() if k != "TERM"})
    screen.until(r"run who=Ada .* 1/4, 2 running")
    (runs.dir / "go").touch()
    assert screen.wait() == 0
