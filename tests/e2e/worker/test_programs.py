# SPDX-License-Identifier: MIT
"""Programs that misbehave: each harms at most its own job, and nothing of it is left."""
import hashlib
import json
import os
import signal

import pytest

from processes import Process, must_end, noted, of_place
from waiting import DEADLINE_S, PATIENCE, eventually, parse_time
from worker import PYTHON

pytestmark = pytest.mark.embedded("the worker alone decides it")


def assert_works(shop):
    """The worker goes on: another job is done."""
    assert shop.carry_out("echo fine")["state"] == "done"


# ---- output without measure

def test_a_gigabyte_of_output_keeps_its_head_and_its_tail(shop):
    job = shop.carry_out("echo the first line; yes 0123456789abcdef | head -c 1073741824; "
                         "echo; echo the last line", keep={"log": "1M"})
    assert job["state"] == "done"
    log = shop.log(job)
    assert log.startswith(b"the first line\n0123456789abcdef\n"), log[:100]
    assert log.endswith(b"\nthe last line\n"), log[-100:]
    assert 900_000 < len(log) <= (1 << 20) + 200
    assert b"left out" in log or b"bytes" in log, "a line tells what is missing"
    assert_works(shop)


def test_output_with_nul_bytes_is_kept_byte_for_byte(shop):
    job = shop.carry_out(PYTHON + "import os\nos.write(1, bytes(range(256)) * 40)\n"
                         "os.write(2, b'\\0\\xff\\xfe end')")
    assert job["state"] == "done"
    assert shop.log(job) == bytes(range(256)) * 40 + b"\0\xff\xfe end"


def test_output_that_ends_without_a_newline_is_kept(shop):
    assert shop.log(shop.carry_out("printf 'no newline'")) == b"no newline"


# ---- bad lines on descriptor 3

def test_a_line_without_end_on_descriptor_3_is_logged_and_harms_nothing(shop):
    job = shop.carry_out("head -c 50000000 /dev/zero | tr '\\0' x >&3; echo >&3; "
                         "echo 'run after it' >&3; echo printed")
    assert job["state"] == "done" and job["text"] == "after it"
    log = shop.log(job)
    assert b"printed\n" in log and b"waybill: " in log and len(log) < 10_000, log[:500]


def test_a_line_without_end_that_is_the_last_harms_nothing(shop):
    job = shop.carry_out("head -c 3000000 /dev/zero | tr '\\0' x >&3")
    assert job["state"] == "done"
    assert b"waybill: " in shop.log(job)


def test_nul_bytes_on_descriptor_3_are_logged_and_harm_nothing(shop):
    job = shop.carry_out("printf 'run a\\0b\\n\\0\\0\\n\\0done\\n' >&3; echo 'set x 1' >&3")
    assert job["state"] == "done"
    assert job["result"] == {"x": 1}
    assert "\0" not in (job.get("text") or "")
    assert_works(shop)


@pytest.mark.parametrize("line", ["resend", "resend soon", "resend -5", "resend 99999999999999999",
                                  "resend -"])
def test_a_resend_without_a_number_is_logged_and_not_heeded(shop, line):
    job = shop.carry_out(f"echo '{line}' >&3; exit 7")
    assert (job["state"], job["cause"], job["exit"]) == ("failed", "exit", 7)
    log = shop.log(job)
    assert b"waybill: " in log and b"resend" in log, log


@pytest.mark.parametrize("line", [
    "gibberish", "emit", "emit {", "emit []", "emit {\"queue\":\"no such queue\"}", "set", "set x",
    "set x {", "progress", "progress x/y", "cursor", "cursor {", "emit! {\"queue\":5}",
    "group [1]", "step {}", "raise", "raise s x", "attach x", "relayed http://x", "dup 5-X-y",
    "\\xff\\xfe", "done\\r"])
def test_a_malformed_line_is_logged_and_harms_nothing(shop, line):
    job = shop.carry_out(PYTHON + f"import os\nos.write(3, b'''{line}\\n''')\n")
    assert job["state"] == "done", job
    if line != "done\\r":
        assert b"waybill: " in shop.log(job), shop.log(job)


def test_an_unknown_word_that_expects_an_answer_is_answered(shop):
    job = shop.carry_out("echo 'attach x' >&3; read -r answer <&4; echo \"got $answer\"")
    assert job["state"] == "done"
    assert b"got fail unknown word" in shop.log(job)


# ---- end words that contradict

def test_of_two_end_words_the_first_wins(shop):
    job = shop.carry_out("echo 'done first' >&3; echo 'err second' >&3")
    assert (job["state"], job["text"]) == ("done", "first")
    job = shop.carry_out("echo 'err first' >&3; echo 'done second' >&3")
    assert (job["state"], job["text"]) == ("failed", "first")


def test_done_and_then_another_exit_status_is_a_failure(shop):
    job = shop.carry_out("echo 'done all well' >&3; exit 1")
    assert (job["state"], job["cause"], job["exit"]) == ("failed", "exit", 1)
    assert "said done" in job["text"]


def test_err_is_final_and_resend_is_no_failure(shop):
    job = shop.carry_out("echo 'err no use' >&3", retry={"max": 5, "first": "10ms"})
    assert (job["state"], job["attempt"], job["text"]) == ("failed", 1, "no use")
    job = shop.carry_out("[ \"$WAYBILL_ATTEMPT\" = 1 ] && echo 'resend 0-not yet' >&3; exit 0")
    assert (job["state"], job["attempt"]) == ("done", 2)
    assert job["progress"][0]["text"] == "not yet"


# ---- processes that would stay

DAEMON = PYTHON + """
import os, sys, time
place = sys.argv[1]
if os.fork() == 0:
    os.setsid()
    if os.fork() != 0:
        os._exit(0)
    %s
    with open(place, "w") as file:
        file.write(f"{os.getpid()}\\n")
    time.sleep(1000)
    os._exit(0)
os.wait()
while not os.path.exists(place) or not os.path.getsize(place):
    time.sleep(0.002)
print("the program ends")
"""


@pytest.mark.parametrize("how", [
    "pass",
    "os.chdir('/')",
    "[os.close(fd) for fd in range(5)]",
], ids=["as it is", "elsewhere", "without descriptors"])
def test_a_daemon_does_not_outlive_its_job(shop, how):
    place = shop.place("pid")
    job = shop.carry_out(DAEMON % how, [str(place)])
    assert job["state"] == "done" and b"the program ends" in shop.log(job)
    assert not noted(place).alive(), "it is gone before the job's end is told"


def test_a_daemon_without_our_environment_does_not_outlive_its_job(shop):
    place = shop.place("pid")
    shop_in = ("setsid env -i /bin/sh -c 'cd /; echo $$ > \"$0\"; exec sleep 1000' \"$1\" "
               ">/dev/null 2>&1 3>&- 4>&- &\n"
               "while ! [ -s \"$1\" ]; do sleep 0.01; done")
    job = shop.carry_out(shop_in, [str(place)])
    assert job["state"] == "done"
    must_end(noted(place))


def test_the_daemon_of_one_job_ends_with_it_and_that_of_another_goes_on(shop):
    one, other = shop.place("pid"), shop.place("pid")
    waiting = shop.submit(shop.queue(DAEMON % "pass" + "time.sleep(1000)", [str(other)]))
    stays = noted(other)
    shop.carry_out(DAEMON % "pass", [str(one)])
    assert not noted(one).alive() and stays.alive()
    shop.admin.act(waiting, "cancel")
    assert shop.ended(waiting)["state"] == "cancelled"
    assert not stays.alive()


def test_the_daemons_of_jobs_that_were_claimed_together_are_told_apart(shop):
    """Jobs of one claim have the same lease."""
    hold = shop.place("hold")
    hold.touch()
    queue = shop.queue("setsid sleep 1000 >/dev/null 2>&1 3>&- 4>&- & echo $! > \"$1.new\"; "
                       "mv \"$1.new\" \"$1\"; [ $2 = ends ] && kill -KILL $$; "
                       "while [ -e \"$3\" ]; do sleep 0.01; done", ["{place}", "{how}", str(hold)])
    shop.admin.ok("POST", f"/v1/queues/{queue}/pause")
    hows = ["stays", "ends", "stays", "ends"]
    places = [shop.place("pid") for _ in hows]
    ids = shop.admin.submit_many([{"queue": queue, "params": {"place": str(place), "how": how}}
                                  for place, how in zip(places, hows)])
    shop.admin.ok("POST", f"/v1/queues/{queue}/up")
    for n in (1, 3):
        assert shop.ended(ids[n])["cause"] == "signal"
        assert not noted(places[n]).alive()
    assert noted(places[0]).alive() and noted(places[2]).alive()
    hold.unlink()
    for n in (0, 2):
        assert shop.ended(ids[n])["state"] == "done" and not noted(places[n]).alive()


def test_children_that_hold_the_pipes_do_not_keep_the_job(shop):
    place = shop.place("pid")
    job = shop.carry_out("sleep 1000 & echo $! > \"$1\"; echo said; exit 5", [str(place)])
    assert (job["state"], job["exit"]) == ("failed", 5)
    assert shop.log(job) == b"said\n"
    assert not noted(place).alive()


def test_a_child_that_goes_on_writing_does_not_keep_the_job(shop):
    place = shop.place("pid")
    job = shop.carry_out("(setsid yes >&1 & echo $! > \"$1\"); exit 0", [str(place)])
    assert job["state"] == "done"
    must_end(noted(place))
    assert_works(shop)


def test_many_children_at_once_all_end(shop):
    place = shop.place("pids")
    job = shop.carry_out("for n in $(seq 200); do setsid sleep 1000 & done; ps -o pid= --ppid $$ "
                         "> \"$1\"; exit 0", [str(place)])
    assert job["state"] == "done"
    for pid in place.read_text().split():
        assert not Process(pid).alive()


# ---- programs that do not want to end

def test_a_program_that_ignores_term_is_killed(shop):
    place = shop.place("pid")
    job = shop.carry_out("trap '' TERM; echo $$ > \"$1\"; while :; do sleep 0.05; done",
                         [str(place)], timeout="1s")
    assert (job["state"], job["cause"], job["exit"]) == ("failed", "timeout", -signal.SIGKILL)
    assert "1s" in job["text"]
    assert not noted(place).alive()
    took = parse_time(job["finished_at"]) - parse_time(job["started_at"])
    assert 10 <= took.total_seconds() < 10 + DEADLINE_S, took


def test_a_program_may_use_the_time_between_term_and_kill(shop):
    job = shop.carry_out("trap 'echo tidied; exit 3' TERM; while :; do sleep 0.02; done",
                         timeout="1s")
    assert (job["state"], job["cause"], job["exit"]) == ("failed", "timeout", 3)
    assert b"tidied\n" in shop.log(job)


def test_a_program_that_stops_itself_is_noticed_and_shown(shop):
    job_id = shop.submit(shop.queue("kill -STOP $$; sleep 0.3; echo went on"))
    job = eventually(lambda: "stopped" in (shop.client.show(job_id).get("text") or "")
                     and shop.client.show(job_id), "the stop in the job's text")
    assert job["state"] == "running" and "19" in job["text"]
    shop.logged(job_id, b"waybill: stopped by signal 19")
    local = shop.local()
    assert [j for j in local["jobs"] if j["id"] == job_id], local
    find_program(shop, job_id).send(signal.SIGCONT)
    job = shop.ended(job_id)
    assert job["state"] == "done" and "stopped" not in (job.get("text") or "")
    assert b"waybill: continued" in shop.log(job)


def find_program(shop, job_id):
    raw = job_id.encode()
    return [p for p in of_place(shop.server.dir) if p.environ().get(b"WAYBILL_ID") == raw][0]


def test_a_time_out_ends_a_stopped_program(shop):
    job = shop.carry_out("kill -STOP $$", timeout="400ms")
    assert (job["state"], job["cause"]) == ("failed", "timeout")
    took = parse_time(job["finished_at"]) - parse_time(job["started_at"])
    assert took.total_seconds() < 9, "TERM is enough: it was continued to heed it"


# ---- programs that saw off the branch

STOPPER = """#!/usr/bin/python3
import os, signal, sys, time
end = time.monotonic() + 10
print("at it", flush=True)
while time.monotonic() < end and not os.path.exists(sys.argv[1]):
    for _ in range(100):
        try:
            os.kill(-1, signal.SIGSTOP)
        except ProcessLookupError:
            pass
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs programs as others")
def test_a_program_that_stops_all_of_its_user_does_not_stop_the_worker(shop):
    limits = {"user": "61234"}  # whom no other test has
    enough = shop.place("enough")
    stopper = shop.submit(shop.queue(STOPPER, [str(enough)], limits=limits))
    shop.logged(stopper, b"at it")
    stopped = shop.queue("true", limits=limits, timeout="50ms")
    jobs = [shop.submit(stopped) for _ in range(120)]
    try:
        mine = shop.queue("echo on")
        for _ in range(5):
            assert shop.run(mine)["state"] == "done"
        for job in jobs:
            assert shop.ended(job)["state"] in ("done", "failed")
    finally:
        enough.touch()
    shop.ended(stopper)
    assert shop.carry_out("id -u", limits=limits)["state"] == "done"


def test_a_program_that_closes_all_its_descriptors_is_waited_for(shop):
    place = shop.place("mark")
    job = shop.carry_out(PYTHON + "import os, sys, time\nos.closerange(0, 256)\n"
                         "time.sleep(0.3)\nopen(sys.argv[1], 'w').close()\nos._exit(4)",
                         [str(place)])
    assert (job["state"], job["cause"], job["exit"]) == ("failed", "exit", 4)
    assert place.exists()


def test_a_program_that_deletes_its_directory_harms_nobody(shop):
    queue = shop.queue("d=$PWD; cd /; rm -rf \"$d\" \"$WAYBILL_JOB_FILE\"; echo gone")
    for _ in range(3):
        assert shop.run(queue)["state"] == "done"
    job = shop.carry_out("ls -A; cat \"$WAYBILL_JOB_FILE\"")
    assert job["state"] == "done" and shop.log(job).startswith(b"{"), shop.log(job)


def test_a_program_that_deletes_the_place_of_all_slots_harms_nobody(shop):
    assert shop.carry_out("d=$(dirname \"$(dirname \"$PWD\")\"); cd /; rm -rf \"$d\"")["state"] == \
        "done"
    for _ in range(6):
        assert_works(shop)


def test_a_directory_that_cannot_be_emptied_by_name_is_replaced(shop):
    queue = shop.queue("mkdir -p a/b/c; touch a/b/c/d x; chmod 000 a/b a; ln -s /etc/passwd link; "
                       "mkfifo fifo; for n in $(seq 300); do : > file$n; done")
    for _ in range(5):
        assert shop.run(queue)["state"] == "done"
    for _ in range(5):
        assert shop.log(shop.carry_out("ls -A | wc -l")).strip() == b"0"


# ---- large jobs

def test_params_of_200_kib_are_in_the_job_file(shop):
    large = "x" * (200 << 10)
    job = shop.carry_out(
        PYTHON + "import json, os\njob = json.load(open(os.environ['WAYBILL_JOB_FILE']))\n"
        "print(len(job['params']['large']), job['params']['small'],"
        " 'WAYBILL_PARAM_LARGE' in os.environ, os.environ['WAYBILL_PARAM_SMALL'])",
        job={"params": {"large": large, "small": "y"}})
    assert job["state"] == "done"
    assert shop.log(job) == f"{200 << 10} y False y\n".encode()


def test_many_params_of_200_kib_together_start_too(shop):
    params = {f"p{n}": "x" * 10000 for n in range(90)}
    job = shop.carry_out("env | grep -c '^WAYBILL_PARAM_'", job={"params": params})
    assert job["state"] == "done" and int(shop.log(job)) > 20


def test_a_param_too_large_for_an_argument_is_refused_when_the_job_is_made(shop):
    queue = shop.queue("echo \"$1\" | wc -c", ["{large}"])
    error = shop.admin.refused(422, "invalid", "POST", "/v1/jobs",
                               {"queue": queue, "params": {"large": "x" * (200 << 10)}})
    assert "large" in error["message"]
    job = shop.run(queue, params={"large": "x" * 100_000})
    assert shop.log(job).strip() == b"100001"


def test_arguments_too_large_together_fail_the_job_and_not_its_queue(shop):
    args = [f"{{p{n}}}" for n in range(30)]
    queue = shop.queue("echo $#", args)
    job = shop.run(queue, params={f"p{n}": "x" * 120_000 for n in range(30)})
    assert (job["state"], job["cause"]) == ("failed", "start"), job
    assert "too large" in job["text"]
    job = shop.run(queue, params={f"p{n}": "x" for n in range(30)})
    assert job["state"] == "done" and shop.log(job) == b"30\n"


def test_a_body_of_some_megabytes_comes_on_standard_input(shop):
    body = "".join(f"line {n}\n" for n in range(300_000))
    job = shop.carry_out("md5sum; head -c 1 | wc -c", job={"body": body})
    assert shop.log(job).split()[0].decode() == hashlib.md5(body.encode()).hexdigest()


def test_a_program_that_does_not_read_its_body_is_not_held_up(shop):
    job = shop.carry_out("echo done with it", job={"body": "x" * 5_000_000})
    assert job["state"] == "done" and shop.log(job) == b"done with it\n"


def test_values_never_become_more_than_an_argument(shop):
    evil = "a b'c\"d$(touch x)`touch y`;*\n{id}"
    for command in (PYTHON + "import json, sys\nprint(json.dumps(sys.argv[1:]))",):
        job = shop.carry_out(command, ["{evil}", "-{evil}-"], job={"params": {"evil": evil}})
        assert json.loads(shop.log(job)) == [evil, f"-{evil}-"]
    queue = shop.queue(command="printf '<%s>' {evil} \"{evil}\"; ls -A")
    job = shop.run(queue, params={"evil": evil})
    assert shop.log(job).decode() == f"<{evil}><{evil}>"


@pytest.mark.skipif(PATIENCE > 1, reason="timings mean little under a sanitizer")
def test_a_hundred_misbehaving_jobs_leave_the_worker_well(shop):
    queue = shop.queue("setsid sleep 1000 & echo 'emit {' >&3; kill -$1 $$", ["{signal}"])
    signals = ["KILL", "SEGV", "TERM", "HUP", "INT"]
    ids = shop.admin.submit_many([{"queue": queue, "params": {"signal": signals[n % 5]}}
                                  for n in range(100)])
    for job_id in ids:
        assert shop.ended(job_id)["cause"] == "signal"
    assert_works(shop)
