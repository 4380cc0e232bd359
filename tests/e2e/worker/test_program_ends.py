# SPDX-License-Identifier: MIT
"""How programs end, and what becomes of their jobs: statuses, signals, time-outs, cancels, logs."""
import signal

import pytest

from processes import must_end, noted, of_place
from waiting import DEADLINE_S, eventually, now, parse_time
from worker import PYTHON

pytestmark = pytest.mark.embedded("the worker alone decides it")

RETRY = {"max": 5, "first": "10ms", "factor": 1, "jitter": 0}


# ---- statuses and signals

@pytest.mark.parametrize("status", [1, 2, 75, 126, 127, 255])
def test_an_exit_status_is_told_as_it_is(shop, status):
    job = shop.carry_out(f"exit {status}")
    assert (job["state"], job["cause"], job["exit"]) == ("failed", "exit", status)
    assert str(status) in job["text"]
    assert job["progress"][0]["status"] == status


def test_exit_0_is_done(shop):
    job = shop.carry_out("exit 0")
    assert (job["state"], job["exit"]) == ("done", 0)
    assert "cause" not in job and job["progress"][0]["status"] == 0


@pytest.mark.parametrize("name", ["SEGV", "ABRT", "TERM", "USR1", "PIPE"])
def test_a_signal_is_told_as_a_signal(shop, name):
    number = getattr(signal, f"SIG{name}")
    job = shop.carry_out(f"ulimit -c 0; kill -{name} $$")
    assert (job["state"], job["cause"], job["exit"]) == ("failed", "signal", -number)
    assert name in job["text"]
    assert job["progress"][0]["status"] == -number


def test_a_kill_that_we_did_not_send_is_told_as_one(shop):
    job = shop.carry_out("kill -KILL $$")
    assert (job["cause"], job["exit"]) == ("signal", -9)
    assert "killed, perhaps out of memory" in job["text"]


def test_exit_statuses_above_128_are_not_taken_for_signals(shop):
    job = shop.carry_out("exit 137")
    assert (job["cause"], job["exit"]) == ("exit", 137)


# ---- retries

def test_failures_are_tried_again_as_often_as_the_queue_says(shop):
    job = shop.carry_out("echo try; exit 1", retry={**RETRY, "max": 2})
    assert (job["state"], job["attempt"]) == ("failed", 3)
    assert shop.log(job) == b"try\n" * 3
    assert [entry["status"] for entry in job["progress"]] == [1, 1, 1]


def test_exits_that_mean_never_and_later(shop):
    retry = {**RETRY, "exits": {"75": "later", "64-74": "never"}}
    job = shop.carry_out("exit 70", retry=retry)
    assert (job["state"], job["attempt"]) == ("failed", 1)
    job = shop.carry_out("[ $WAYBILL_ATTEMPT -lt 4 ] && exit 75; exit 0", retry={**retry, "max": 0})
    assert (job["state"], job["attempt"]) == ("done", 4)


def test_a_signal_and_a_time_out_are_tried_again(shop):
    job = shop.carry_out("case $WAYBILL_ATTEMPT in 1) kill -KILL $$;; 2) sleep 1000;; esac",
                         timeout="1s", retry=RETRY)
    assert (job["state"], job["attempt"]) == ("done", 3)
    assert [entry.get("cause") for entry in job["progress"]] == ["signal", "timeout", None]


# ---- strict queues

def test_a_strict_queue_wants_an_end_word(shop):
    job = shop.carry_out("echo said nothing", strict=True)
    assert (job["state"], job["cause"]) == ("failed", "protocol")
    assert "strict" in job["text"]
    job = shop.carry_out("echo done >&3", strict=True)
    assert job["state"] == "done"
    job = shop.carry_out("exit 4", strict=True)
    assert (job["cause"], job["exit"]) == ("exit", 4)


# ---- time-outs

def test_a_time_out_ends_everything_that_the_job_started(shop):
    place = shop.place("pid")
    job = shop.carry_out("setsid sleep 1000 & echo $! > \"$1\"; sleep 1000", [str(place)],
                         timeout="1s")
    assert (job["state"], job["cause"], job["exit"]) == ("failed", "timeout", -signal.SIGTERM)
    assert not noted(place).alive()


def test_a_jobs_own_time_out_counts_instead_of_its_queues(shop):
    job = shop.carry_out("sleep 1000", timeout="1h", job={"timeout": "200ms"})
    assert job["cause"] == "timeout" and "200ms" in job["text"]
    job = shop.carry_out("sleep 0.5", timeout="100ms", job={"timeout": "20s"})
    assert job["state"] == "done"


def test_done_said_before_the_time_out_and_a_clean_exit_is_done(shop):
    job = shop.carry_out("trap 'exit 0' TERM; echo 'done in time' >&3; while :; "
                         "do sleep 0.02; done",
                         timeout="1s")
    assert (job["state"], job["text"]) == ("done", "in time")


# ---- cancel

def test_a_running_job_is_cancelled_with_all_that_it_started(shop):
    place = shop.place("pid")
    queue = shop.queue("setsid sleep 1000 & echo $! > \"$1\"; sleep 1000", [str(place)])
    job_id = shop.submit(queue)
    daemon = noted(place)
    shop.admin.act(job_id, "cancel", status=202)
    job = shop.ended(job_id)
    assert (job["state"], job["cause"]) == ("cancelled", "cancelled")
    assert not daemon.alive()
    assert not [p for p in of_place(shop.server.data)
                if p.environ().get(b"WAYBILL_ID") == job_id.encode()]


def test_a_cancelled_program_may_tidy_up(shop):
    job_id = shop.submit(shop.queue("trap 'echo tidied; exit 1' TERM; echo ready; "
                                    "while :; do sleep 0.02; done"))
    shop.logged(job_id, b"ready")
    shop.admin.act(job_id, "cancel")
    assert shop.ended(job_id)["state"] == "cancelled"
    assert b"tidied" in shop.log(job_id)


def test_a_job_that_ends_well_before_it_hears_of_its_cancel_is_not_run_again(shop):
    queue = shop.queue("trap 'echo done >&3; exit 0' TERM; echo ready; while :; "
                       "do sleep 0.02; done",
                       retry=RETRY)
    job_id = shop.submit(queue)
    shop.logged(job_id, b"ready")
    shop.admin.act(job_id, "cancel")
    assert shop.ended(job_id)["state"] in ("done", "cancelled")
    assert shop.client.show(job_id)["attempt"] == 1


# ---- care for queues

def test_so_many_failures_in_a_row_pause_the_queue(shop):
    queue = shop.queue("exit $1", ["{status}"], stop_after=3, slots=1)
    for status in (1, 1, 0, 1, 1, 1):
        shop.run(queue, params={"status": status})
    eventually(lambda: shop.show_queue(queue)["state"] == "pause", "the pause")
    waits = shop.submit(queue, params={"status": 0})
    assert any("3" in row["text"] for row in shop.queue_log(queue)), shop.queue_log(queue)
    assert shop.client.show(waits)["state"] == "ready"
    shop.admin.ok("POST", f"/v1/queues/{queue}/up")
    assert shop.ended(waits)["state"] == "done"


def test_a_restart_of_a_queue_hands_running_jobs_back(shop):
    place = shop.place("pid")
    queue = shop.queue("echo $$ >> \"$1\"; [ $(wc -l < \"$1\") -gt 1 ] || sleep 1000", [str(place)])
    job_id = shop.submit(queue)
    first = noted(place)
    shop.admin.ok("POST", f"/v1/queues/{queue}/restart")
    must_end(first)
    job = shop.ended(job_id)
    assert (job["state"], job["attempt"], job["lost"]) == ("done", 1, 0)
    assert any(row["what"] == "restart" for row in shop.queue_log(queue)), shop.queue_log(queue)


def test_a_changed_command_is_for_the_next_job(shop):
    hold = shop.place("hold")
    hold.touch()
    queue = shop.queue("echo old; while [ -e \"$1\" ]; do sleep 0.01; done", [str(hold)])
    running = shop.submit(queue)
    shop.logged(running, b"old")
    shop.define(queue, command=["echo", "new"])
    assert shop.log(shop.run(queue)) == b"new\n"
    hold.unlink()
    assert shop.ended(running)["state"] == "done" and shop.log(running) == b"old\n"


def test_a_queue_that_is_paused_starts_none_and_lets_those_that_run_end(shop):
    hold = shop.place("hold")
    hold.touch()
    queue = shop.queue("echo on; while [ -e \"$1\" ]; do sleep 0.01; done", [str(hold)])
    running = shop.submit(queue)
    shop.logged(running, b"on")
    shop.admin.ok("POST", f"/v1/queues/{queue}/pause")
    waits = shop.submit(queue)
    hold.unlink()
    assert shop.ended(running)["state"] == "done"
    assert shop.client.show(waits)["state"] == "ready"
    shop.admin.ok("POST", f"/v1/queues/{queue}/up")
    assert shop.ended(waits)["state"] == "done"


def test_slots_of_a_queue_are_kept(shop):
    place = shop.place("at-once")
    queue = shop.queue("""exec 9>>"$1.lock"; flock 9
n=$(($(cat "$1" 2>/dev/null || echo 0) + 1)); echo $n > "$1"; echo $n >> "$1.seen"; flock -u 9
sleep 0.05; flock 9; echo $(($(cat "$1") - 1)) > "$1" """, [str(place)], slots=2)
    ids = [shop.submit(queue) for _ in range(12)]
    for job_id in ids:
        assert shop.ended(job_id)["state"] == "done"
    seen = [int(n) for n in place.with_name(place.name + ".seen").read_text().split()]
    assert max(seen) == 2 and len(seen) == 12, seen


# ---- logs

def test_stdout_and_stderr_are_in_order(shop):
    job = shop.carry_out("for n in 1 2 3 4 5 6 7 8 9; do echo out $n; echo err $n >&2; done")
    lines = shop.log(job).decode().split("\n")[:-1]
    assert lines == [f"{kind} {n}" for n in range(1, 10) for kind in ("out", "err")]


def test_the_log_is_live_and_has_times(shop):
    hold = shop.place("hold")
    hold.touch()
    begun = now()
    job_id = shop.submit(shop.queue("echo first; while [ -e \"$1\" ]; do sleep 0.01; done; "
                                    "echo second", [str(hold)]))
    shop.logged(job_id, b"first\n")
    assert shop.client.show(job_id)["state"] == "running"
    between = now()
    hold.unlink()
    shop.ended(job_id)
    assert shop.log(job_id) == b"first\nsecond\n"
    times = shop.client.ok("GET", f"/v1/jobs/{job_id}/log?times=1")["times"]
    offsets = {offset: parse_time(at) for offset, at in times}
    assert set(offsets) == {0, 6}, times
    assert begun <= offsets[0] <= between <= offsets[6] <= now()


def test_the_logs_of_attempts_follow_each_other(shop):
    job = shop.carry_out("echo attempt $WAYBILL_ATTEMPT; head -c 50000 /dev/zero | tr '\\0' x; "
                         "echo; exit 1", retry={**RETRY, "max": 2})
    log = shop.log(job)
    assert [line for line in log.split(b"\n") if line.startswith(b"a")] == [
        b"attempt 1", b"attempt 2", b"attempt 3"]
    assert len(log) == 3 * (50000 + 1 + len("attempt 1\n"))


def test_a_small_cap_keeps_head_and_tail(shop):
    job = shop.carry_out("seq 1 100000", keep={"log": "10K"})
    log = shop.log(job)
    assert log.startswith(b"1\n2\n3\n") and log.endswith(b"99999\n100000\n")
    assert len(log) <= 10 * 1024 + 200, len(log)


def test_the_result_is_what_was_set(shop):
    job = shop.carry_out("echo 'set a 1' >&3; echo 'set \"b c\" {\"x\":[true]}' >&3; "
                         "echo 'set a 2' >&3")
    assert job["result"] == {"a": 2, "b c": {"x": [True]}}


def test_many_jobs_through_one_worker_are_all_carried_out_once(shop):
    place = shop.place("runs")
    queue = shop.queue("echo $WAYBILL_ID >> \"$1\"", [str(place)])
    ids = shop.admin.submit_many([{"queue": queue} for _ in range(300)])
    for job_id in ids:
        assert shop.ended(job_id, 3 * DEADLINE_S)["attempt"] == 1
    assert sorted(place.read_text().split()) == sorted(ids)


def test_a_program_that_prints_while_its_log_is_full_is_not_held_up(shop):
    job = shop.carry_out(PYTHON + "import os\nfor _ in range(2000): os.write(1, b'y' * 65536)\n",
                         keep={"log": "1K"})
    assert job["state"] == "done"
