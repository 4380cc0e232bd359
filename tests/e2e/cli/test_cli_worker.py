# SPDX-License-Identifier: MIT
"""The command line around programs that run: worker, workers, wait, log -f, the care of queues."""
import json
import re
import signal
import subprocess

import pytest

from processes import noted
from screens import Terminal
from waiting import DEADLINE_S, Background, eventually
from waybill import BIN, plain_env, run_waybill

pytestmark = pytest.mark.embedded("the worker alone decides it")

WAIT_FOR_A_FILE = 'echo $$ > "$1.pid"; while [ ! -e "$1" ]; do sleep 0.02; done'


def good(shop, *args, **named):
    ran = shop.server.cli(*args, **named)
    assert ran.status == 0, ran
    return ran


# ---- worker ----

def test_a_separate_worker_runs_what_it_is_told_to(shops, workers):
    shop = shops(slots=0).start()
    mine, other = shop.queue("echo mine"), shop.queue("echo other")
    workers(shop.server, "w", args=["-q", mine]).start()
    assert shop.run(mine)["progress"][-1]["worker"] == "w"
    job_id = shop.submit(other)
    assert "no live worker" in shop.client.show(job_id)["reason"]["text"]


def test_a_worker_tells_which_of_its_queues_it_cannot_serve(shops, workers):
    shop = shops(slots=0).start()
    bare = shop.queue()
    worker = workers(shop.server, "w", args=["-q", bare, "-q", "resizer"]).start()
    shop.define("resize", command=["true"])
    unknown = "queue resizer: the server has no such queue; it will be served once it is defined\n"
    eventually(lambda: unknown in worker.log_text(), "the unknown queue")
    assert f"queue {bare}: there is no command for its jobs" in worker.log_text()
    late = workers(shop.server, "late", args=["-q", "resizer"]).start()
    hint = "has no such queue (did you mean 'resize'?); it"
    eventually(lambda: hint in late.log_text(), "a hint")
    shop.define("resizer", command=["true"])
    assert shop.run("resizer")["state"] == "done"
    assert worker.log_text().count("queue resizer") == 1, "it is told once"


def test_its_own_definitions_count_more_than_the_servers(shops, workers, tmp_path):
    shop = shops(slots=0).start()
    queue, other = shop.queue("echo theirs"), shop.queue("echo theirs")
    own = tmp_path / "own.yaml"
    own.write_text(f"queues:\n  {queue}: {{command: [echo, mine]}}\n")
    workers(shop.server, "w", args=["-c", own]).start()
    assert shop.log(shop.run(queue)) == b"mine\n"
    assert shop.log(shop.run(other)) == b"theirs\n"


def test_own_only_never_runs_what_the_server_says(shops, workers, tmp_path):
    shop = shops(slots=0).start()
    queue, other = shop.queue("echo theirs"), shop.queue("echo theirs")
    own = tmp_path / "own.yaml"
    own.write_text(f"queues:\n  {queue}: {{command: [echo, mine]}}\n")
    workers(shop.server, "w", args=["-c", own, "--own-only"]).start()
    waits = shop.submit(other)
    assert shop.log(shop.run(queue)) == b"mine\n"
    assert shop.client.show(waits)["state"] == "ready"


@pytest.mark.parametrize("args, word", [
    (["--own-only"], "-c FILE"), (["-c", "/nowhere/x.yaml"], "x.yaml"), (["-j", "0"], "1 to"),
    (["--server", "ftp://x"], "http://"), (["--parent-fd", "77"], "--parent-fd"),
    (["--lease", "x"], "--lease"), (["--lease", "10ms"], "lease"),
])
def test_a_wrong_line_is_told(directory, args, word):
    ran = run_waybill("worker", "--data", directory, *args)
    assert ran.status == 2 and word in ran.err, ran


def test_the_data_directory_of_a_worker_is_not_its_server(shops, workers, tmp_path):
    """It is sought there only when nobody names one, and the message says how to name it."""
    shop = shops(slots=0).start()
    one = workers(shop.server, "w", data=tmp_path)
    one.url = None
    one.spawn()
    told = (f"no server at unix:{tmp_path}/waybill.sock: start one with 'waybill serve', "
            "or name another with --server URL")
    eventually(lambda: told in one.log_text(), "what is wrong")
    assert "WAYBILL_URL" not in one.log_text()
    one.kill()
    one.env = {"WAYBILL_URL": f"unix:{shop.server.socket_path}"}
    one.start()


def test_the_message_names_what_helps(tmp_path):
    ran = run_waybill("list", "--data", tmp_path)
    assert ran.status == 5 and "or name another with --url URL\n" in ran.err, ran
    ran = run_waybill("list", env={"WAYBILL_URL": f"unix:{tmp_path}/none.sock"})
    assert ran.status == 5 and "or name another with --url URL or in WAYBILL_URL\n" in ran.err, ran


def test_two_workers_of_one_name_are_refused(shops, workers):
    shop = shops(slots=0).start()
    first = workers(shop.server, "w").start()
    second = workers(shop.server, "w").spawn()
    assert second.wait_exit() == 4
    assert "--name" in second.log_text() and str(first.process.pid) in second.log_text()


# ---- workers ----

def test_workers_are_shown_with_what_they_run_and_what_is_broken(shops, workers):
    shop = shops(slots=0).start()
    place = shop.place()
    queue = shop.queue(WAIT_FOR_A_FILE, [str(place)])
    shop.define("missing", command=["/nowhere/program"])
    separate = workers(shop.server, "w", slots=3).start()
    job_id, broken_id = shop.submit(queue), shop.submit("missing")
    noted(f"{place}.pid")
    eventually(lambda: "BROKEN" in good(shop, "workers").out, "the broken queue")
    row = good(shop, "workers").out.splitlines()[1]
    assert re.search(rf"w +\S+ +{separate.process.pid} +\S+ +1/3 +\d+s ago", row), row
    page = good(shop, "workers", "show", "w").out
    assert re.search(r"slots +3, 1 in use", page) and job_id in page, page
    assert re.search(r"broken +missing: .*/nowhere/program", page), page
    assert "/nowhere/program" in good(shop, "queue", "log", "missing").out
    assert "queue missing is broken on " in good(shop, "show", broken_id).out
    for command in (["status"], ["queue", "show", "missing"]):
        assert re.search(r"broken on \S+: .*/nowhere/program", good(shop, *command).out), command
    status = good(shop, "status").out
    assert re.search(r"missing: 1 ready.*: the queue is broken: mend its program or command; it is "
                     r"tried again within a minute\n", status), status
    assert "no live worker" not in status, status
    place.touch()
    shop.ended(job_id)


# ---- wait, add --wait, log -f ----

@pytest.mark.parametrize("program, status, out", [
    ("echo hello", 0, "hello\n"), ("echo oops; exit 7", 7, "oops\n"),
    ("echo dying; kill -9 $$", 137, "dying\n"), ("echo term; kill $$", 143, "term\n"),
])
def test_add_and_wait_is_like_running_the_program(shop, program, status, out):
    ran = shop.server.cli("add", shop.queue(program), "--wait")
    assert ran.status == status and ran.out == out, ran


def test_a_job_with_its_own_command_can_be_waited_for(shop):
    ran = shop.server.cli("add", "default", "--wait", "--",
                          "sh", "-c", "echo $1; exit 3", "x", "y z")
    assert ran.status == 3 and ran.out == "y z\n", ran
    ran = shop.server.cli("add", "default", "--wait", "--", "/nowhere/program")
    assert ran.status == 1 and ran.out == "", ran


def test_a_log_is_followed_live_and_its_end_is_the_jobs(shop):
    place = shop.place()
    job_id = shop.submit(shop.queue('echo begin; ' + WAIT_FOR_A_FILE + '; echo end; exit 5',
                                    [str(place)]))
    with subprocess.Popen([BIN, "log", "-f", job_id, "--data", str(shop.server.data)],
                          env=plain_env(), stdout=subprocess.PIPE) as follower:
        assert follower.stdout.readline() == b"begin\n"
        place.touch()
        assert follower.stdout.readline() == b"end\n"
        assert follower.wait(DEADLINE_S) == 5
    assert shop.server.cli("log", "-f", job_id).status == 5
    assert shop.server.cli("log", job_id).status == 0
    assert shop.server.cli("wait", job_id).status == 5


def test_a_terminal_shows_the_progress_below_the_log(shop):
    place = shop.place()
    queue = shop.queue("echo a line; echo progress 3/4MB copying >&3; " + WAIT_FOR_A_FILE,
                       [str(place)])
    terminal = Terminal("add", queue, "--wait", "--data", shop.server.data)
    terminal.until("a line")
    terminal.until("━━━━━━━━━━━━━━━╌╌╌╌╌  75%  3/4MB copying")
    place.touch()
    assert terminal.wait() == 0
    assert terminal.text.endswith("\r\x1b[K"), terminal.text  # nothing of it is left
    terminal.close()


def test_a_terminal_tells_why_a_job_waits(shop):
    job_id = shop.submit(shop.queue())
    terminal = Terminal("wait", job_id, "--data", shop.server.data)
    terminal.until("ready: queue .* has no command")
    good(shop, "cancel", job_id)
    assert terminal.wait() == 1
    terminal.close()


def test_each_line_of_a_log_has_its_time(shop):
    job = shop.carry_out("echo one; sleep 0.3; echo two; printf three")
    out = good(shop, "log", "--times", job["id"]).out
    lines = re.findall(r"(?m)^(\d{4}-\d\d-\d\dT[\d:.]+Z) +(.*)$", out)
    assert [text for _, text in lines] == ["one", "two", "three"], out
    assert lines[0][0] < lines[1][0], out
    assert good(shop, "log", "--times", "-n", "1", job["id"]).out.endswith("  three")
    assert "times" in good(shop, "log", "--times", "--json", job["id"]).json


# ---- queues ----

def test_restart_hands_running_jobs_back_and_runs_them_anew(shop):
    place = shop.place()
    queue = shop.queue('echo $$ >> "$1.pid"; ' + WAIT_FOR_A_FILE.split("; ", 1)[1], [str(place)])
    job_id = shop.submit(queue)
    first = noted(f"{place}.pid")
    ran = good(shop, "queue", "restart", queue)
    assert ran.out == f"{queue}  restarted\n"
    eventually(lambda: len((shop.server.dir / f"{place.name}.pid").read_text().split()) == 2,
               "the second start")
    assert not first.alive()
    place.touch()
    job = shop.ended(job_id)
    assert job["state"] == "done" and job["attempt"] == 1, job
    log = good(shop, "queue", "log", queue).out
    assert "restart" in log, log
    assert re.search(r"restarts +1", good(shop, "queue", "show", queue).out)


def test_a_queues_log_is_in_the_order_of_time(shop):
    queue = shop.queue("exit 1")
    shop.run(queue)
    good(shop, "queue", "pause", queue)
    lines = good(shop, "queue", "log", queue).out.splitlines()
    times = [line.split()[0] for line in lines[1:]]
    assert lines[0].split() == ["AT", "WHAT", "TEXT"] and times == sorted(times) and len(times) >= 3
    rows = [json.loads(line)
            for line in good(shop, "queue", "log", queue, "--json").out.splitlines()]
    assert {"at", "what", "text"} <= set(rows[0]) and len(rows) == len(times)
    assert len(good(shop, "queue", "log", queue, "-n", "1", "--json").out.splitlines()) == 1
    ran = shop.server.cli("queue", "log", "nothing")
    assert ran.status == 3, ran


def test_empty_deletes_what_waits_and_leaves_the_rest(server, client):
    ids = client.submit_many([{"queue": "work"}] * 5)
    running = client.take()
    good_ids = [job_id for job_id in ids if job_id != running["id"]]
    client.act(good_ids[0], "hold")
    client.submit("work", delay="1h")
    other = client.submit("other")
    ran = server.cli("queue", "empty", "work")
    assert ran.status == 0 and ran.out == "deleted 5 jobs\n", ran
    assert client.show(running["id"])["state"] == "running"
    assert client.show(other)["state"] == "ready"
    assert server.cli("queue", "empty", "work").out == "deleted 0 jobs\n"
    client.end(running)


# ---- programs that speak by our verbs ----

def with_verbs(text):
    return f'waybill() {{ "{BIN}" "$@"; }}\n{text}'


def test_the_verbs_say_what_the_lines_say(shop):
    target = shop.queue()
    job = shop.carry_out(with_verbs(f"""
        waybill progress 1/3MB one || exit 11
        waybill set pages:=12 title="a b" || exit 12
        waybill emit {target} -p n=1 || exit 13
        waybill emit '{{"queue":"{target}","params":{{"n":2}}}}' || exit 14
        id=$(waybill emit --now {target} -p n=3) || exit 15
        echo now $id
        waybill done all of it || exit 16
    """))
    assert job["state"] == "done" and job["text"] == "all of it", (job, shop.log(job))
    assert job["result"] == {"pages": 12, "title": "a b"}
    jobs = shop.client.list(f"queue={target}")
    assert sorted(str(one["params"]["n"]) for one in jobs) == ["1", "2", "3"]
    now = [one for one in jobs if str(one["params"]["n"]) == "3"][0]
    assert shop.log(job) == f"now {now['id']}\n".encode()


def test_what_a_failed_job_emitted_is_gone(shop):
    target = shop.queue()
    job = shop.carry_out(with_verbs(f"waybill emit {target}; waybill fail no good; exit 0"))
    assert job["state"] == "failed" and job["text"] == "no good", job
    assert shop.client.list(f"queue={target}") == []


def test_a_program_that_fails_with_exit_0_says_only_its_reason(shop):
    queue = shop.queue("echo 'err no good' >&3")
    waited = shop.server.cli("add", queue, "--wait")
    assert waited.status == 1 and "failed: no good\n" in waited.err, waited
    for words in (["show", "@last"], ["list"], ["queue", "log", queue]):
        text = good(shop, *words).out
        assert "no good" in text and "exit 0" not in text, text
    assert re.search(r"job \w+, attempt 1: no good", good(shop, "queue", "log", queue).out)


def test_a_refused_emit_is_seen_by_the_program(shop):
    job = shop.carry_out(with_verbs("waybill emit nothing-of-that-name; echo status $?"))
    log = shop.log(job).decode()
    assert "status 4" in log and "nothing-of-that-name" in log, log


def test_resend_comes_again(shop):
    job = shop.carry_out(with_verbs("""
        [ -e "$WAYBILL_PARAM_MARK" ] && exit 0
        touch "$WAYBILL_PARAM_MARK"; waybill resend 1 not yet
    """), job={"params": {"mark": str(shop.place())}})
    assert job["state"] == "done" and len(job["progress"]) == 2, job


def test_many_emits_at_once_from_one_job(shop):
    target = shop.queue()
    job = shop.carry_out(with_verbs(f"""
        for i in 1 2 3 4 5 6 7 8 9 10; do waybill emit --now {target} -p n=$i & done; wait
    """))
    assert job["state"] == "done", shop.log(job)
    ids = sorted(shop.log(job).decode().split())
    assert ids == sorted(one["id"] for one in shop.client.list(f"queue={target}"))


def test_stopping_a_worker_lets_its_jobs_end(shops, workers):
    shop = shops(slots=0).start()
    place = shop.place()
    queue = shop.queue(WAIT_FOR_A_FILE, [str(place)])
    separate = workers(shop.server, "w").start()
    job_id = shop.submit(queue)
    noted(f"{place}.pid")
    separate.send(signal.SIGTERM)
    call = Background(separate.wait_exit)
    place.touch()
    assert call.result() == 0
    assert shop.client.show(job_id)["state"] == "done"
