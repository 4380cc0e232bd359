# SPDX-License-Identifier: MIT
"""Workers and servers that come, go, hang and die, with programs running meanwhile."""
import os
import signal
import time
from pathlib import Path

import pytest

from processes import Process, must_end, noted, of_place
from waiting import DEADLINE_S, PATIENCE, eventually
from worker import worker_named

# Writes its pid, runs until $1.go exists, and appends its begin and its end to $1.runs.
HOLD = """echo $$ > "$1.pid.new"; echo "begin $WAYBILL_ATTEMPT" >> "$1.runs"
mv "$1.pid.new" "$1.pid"
while ! [ -e "$1.go" ]; do sleep 0.01; done
echo "end $WAYBILL_ATTEMPT" >> "$1.runs"; echo printed"""


class Held:
    """A job whose program runs until it is let go."""

    def __init__(self, shop, queue=None, **fields):
        self.shop = shop
        self.base = shop.place("held")
        self.queue = queue or shop.queue(HOLD, ["{base}"])
        self.id = shop.submit(self.queue, params={"base": str(self.base)}, **fields)

    def path(self, suffix):
        return self.base.with_name(self.base.name + suffix)

    def process(self):
        """The program that runs now."""
        return noted(self.path(".pid"))

    def another(self, before):
        """The program after that one."""
        return eventually(lambda: self.process().pid != before.pid and self.process(),
                          "another run of the program")

    def go(self):
        self.path(".go").touch()

    def runs(self):
        path = self.path(".runs")
        return path.read_text().splitlines() if path.exists() else []

    def show(self):
        return self.shop.client.show(self.id)

    def ended(self, deadline_s=3 * DEADLINE_S):
        return self.shop.ended(self.id, deadline_s)


@pytest.fixture
def shop(shops):
    """A server without a local worker."""
    return shops(slots=0).start()


@pytest.fixture
def serving(shops):
    """A server with its local worker."""
    return shops(slots=2).start()


# ---- a separate worker and its server

def test_a_separate_worker_carries_out_jobs_over_tcp_and_says_what_it_is(shop, workers):
    worker = workers(shop.server, "w", url=f"http://127.0.0.1:{shop.server.port}").start()
    assert shop.carry_out("echo fine")["state"] == "done"
    shown = worker_named(shop.client, "w")
    assert shown["pid"] == worker.process.pid and shown["slots"] == 2
    assert worker.stop() == 0


def test_a_worker_goes_on_while_the_server_is_away_and_delivers(shop, workers):
    worker = workers(shop.server, "w").start()
    held = Held(shop)
    program = held.process()
    shop.server.kill()
    held.go()
    must_end(program)
    assert worker.running()
    shop.restart()
    job = held.ended()
    assert (job["state"], job["attempt"], job["lost"]) == ("done", 1, 0)
    assert shop.log(job) == b"printed\n"
    assert held.runs() == ["begin 1", "end 1"]


def test_a_program_that_ends_after_the_servers_return_is_delivered_too(shop, workers):
    workers(shop.server, "w").start()
    held = Held(shop)
    program = held.process()
    shop.restart()
    eventually(lambda: worker_named(shop.client, "w"), "the worker's return")
    assert program.alive() and held.show()["state"] == "running"
    held.go()
    job = held.ended()
    assert (job["state"], job["attempt"], job["lost"]) == ("done", 1, 0)


def test_failures_and_words_while_the_server_is_away_are_delivered(shop, workers):
    workers(shop.server, "w").start()
    base = shop.place("held")
    queue = shop.queue("echo $$ > \"$1\"; while ! [ -e \"$1.go\" ]; do sleep 0.01; done\n"
                       "echo 'set x 5' >&3; echo 'run busy' >&3; echo 'err no good' >&3; exit 9",
                       ["{base}"])
    job_id = shop.submit(queue, params={"base": str(base)})
    program = noted(base)
    shop.server.kill()
    base.with_name(base.name + ".go").touch()
    must_end(program)
    shop.restart()
    job = shop.ended(job_id)
    assert (job["state"], job["exit"], job["text"]) == ("failed", 9, "no good")


def test_a_worker_that_starts_before_its_server_waits_for_it(shop, workers):
    shop.server.kill()
    worker = workers(shop.server, "w").spawn()
    eventually(lambda: "running jobs continue" in worker.log_text(), "a word in its log")
    shop.restart()
    assert shop.carry_out("echo fine")["state"] == "done"


def test_a_second_worker_of_a_name_is_refused(shop, workers):
    first = workers(shop.server, "w").start()
    second = workers(shop.server, "w").spawn()
    assert second.wait_exit() == 4
    assert f"a worker named w runs here already (pid {first.process.pid})" in second.log_text()
    assert "--name" in second.log_text()
    assert first.running()


# ---- TERM

def test_term_lets_running_jobs_end_and_takes_no_more(shop, workers):
    worker = workers(shop.server, "w", slots=2).start()
    held = Held(shop)
    held.process()
    worker.send(signal.SIGTERM)
    eventually(lambda: "stopping" in worker.log_text(), "the stop in its log")
    later = shop.submit(shop.queue("echo no"))
    held.go()
    assert held.ended()["state"] == "done"
    assert worker.wait_exit() == 0
    assert shop.client.show(later)["state"] == "ready"
    assert shop.client.show(later)["attempt"] == 0


def test_after_the_grace_jobs_are_handed_back_uncounted(shop, workers):
    worker = workers(shop.server, "w", args=["--grace", "200ms"]).start()
    held = Held(shop)
    program = held.process()
    assert worker.stop() == 0
    assert not program.alive()
    job = held.show()
    assert (job["state"], job["attempt"], job["lost"]) == ("ready", 0, 0), job
    workers(shop.server, "w2").start()
    held.another(program)
    held.go()
    job = held.ended()
    assert (job["state"], job["attempt"], job["lost"]) == ("done", 1, 0)


def test_a_second_term_hands_back_at_once(shop, workers):
    worker = workers(shop.server, "w", args=["--grace", "10m"]).start()
    held = Held(shop)
    program = held.process()
    worker.send(signal.SIGTERM)
    eventually(lambda: "stopping" in worker.log_text(), "the stop in its log")
    assert worker.stop() == 0
    assert not program.alive()
    job = held.show()
    assert (job["state"], job["attempt"]) == ("ready", 0)


def test_a_program_that_ignores_term_does_not_keep_its_worker(shop, workers):
    worker = workers(shop.server, "w", args=["--grace", "100ms"]).start()
    place = shop.place("pid")
    job_id = shop.submit(shop.queue("trap '' TERM; echo $$ > \"$1\"; while :; do sleep 0.05; done",
                                    [str(place)]))
    program = noted(place)
    assert worker.stop() == 0
    assert not program.alive()
    job = shop.client.show(job_id)
    assert (job["state"], job["attempt"]) == ("ready", 0)


def test_term_while_the_server_is_away_ends_programs_and_the_next_worker_gives_jobs_back(
        shop, workers):
    worker = workers(shop.server, "w", args=["--grace", "100ms"]).start()
    held = Held(shop)
    program = held.process()
    shop.server.kill()
    assert worker.stop() == 0
    assert not program.alive()
    shop.restart()
    workers(shop.server, "w").start()
    held.another(program)
    held.go()
    assert held.ended()["state"] == "done"


def test_an_idle_worker_ends_at_once(shop, workers):
    worker = workers(shop.server, "w").start()
    assert worker.stop() == 0


# ---- a killed worker

def test_the_next_worker_of_a_killed_one_counts_its_jobs_lost(shop, workers):
    worker = workers(shop.server, "w").start()
    held = Held(shop)
    program = held.process()
    worker.kill()
    must_end(program)
    workers(shop.server, "w").start()
    held.another(program)
    assert held.show()["lost"] == 1
    held.go()
    job = held.ended()
    assert (job["state"], job["lost"]) == ("done", 1)
    causes = [entry.get("cause") for entry in job["progress"]]
    assert causes[0] == "lost" and len(causes) == 2, job["progress"]


def test_what_a_killed_worker_left_is_ended_before_the_job_runs_again(shop, workers):
    worker = workers(shop.server, "w").start()
    base = shop.place("left")
    queue = shop.queue("""
setsid sh -c 'cd /; echo $$ > "$0.daemon"; exec sleep 1000' "$1" >/dev/null 2>&1 3>&- 4>&- &
(trap '' TERM HUP; while :; do sleep 1000; done) &
echo $! > "$1.child"
while ! [ -s "$1.daemon" ]; do sleep 0.01; done
if [ "$WAYBILL_ATTEMPT" = 1 ]; then touch "$1.there"; sleep 1000; fi
grep -h '^State' /proc/$(cat "$1.daemon.1")/status /proc/$(cat "$1.child.1")/status | grep -v Z
true
""", ["{base}"])
    job_id = shop.submit(queue, params={"base": str(base)})
    eventually(base.with_name(base.name + ".there").exists, "all of it running")
    left = [noted(f"{base}.{kind}") for kind in ("daemon", "child")]
    for kind in ("daemon", "child"):
        path = base.with_name(f"{base.name}.{kind}")
        path.rename(f"{path}.1")
    worker.kill()
    workers(shop.server, "w").start()
    job = shop.ended(job_id, 2 * DEADLINE_S)
    assert (job["state"], job["lost"]) == ("done", 1)
    assert b"State" not in shop.log(job), shop.log(job)
    assert not any(process.alive() for process in left)


def test_what_a_killed_worker_left_is_ended_though_its_job_does_not_run_again(shop, workers):
    worker = workers(shop.server, "w").start()
    place = shop.place("pid")
    queue = shop.queue("setsid sh -c 'cd /; echo $$ > \"$0\"; exec sleep 1000' \"$1\" >/dev/null "
                       "2>&1 3>&- 4>&- & sleep 1000", [str(place)])
    job_id = shop.submit(queue)
    daemon = noted(place)
    shop.admin.ok("POST", f"/v1/queues/{queue}/pause")
    worker.kill()
    assert daemon.alive()
    workers(shop.server, "w").start()
    must_end(daemon)
    assert shop.until(job_id, "ready")["lost"] == 1


def test_a_job_that_was_granted_but_not_started_comes_back_uncounted(shop, workers):
    """The reply of a claim is lost: the worker says that it holds nothing."""
    worker = workers(shop.server, "w", slots=1).start()
    held = Held(shop)
    held.process()
    worker.pause()
    instance = (shop.server.data / "workers" / "w" / "instance").read_text().split()[0]
    itself = {"name": "w", "pid": worker.process.pid, "instance": instance}
    shop.client.claim({}, worker=itself, wake=True)
    job = shop.client.claim(held.queue, worker=itself)["jobs"]
    assert job == []
    other = shop.submit(held.queue, params={"base": str(shop.place("other"))})
    granted = shop.client.claim(held.queue, worker=itself, max=1)["jobs"]
    assert [job["id"] for job in granted] == [other]
    worker.resume()
    worker.kill()
    workers(shop.server, "w", slots=1).start()
    held.go()
    assert held.ended()["lost"] == 1
    shown = shop.until(other, "running")
    assert (shown["attempt"], shown["lost"]) == (1, 0)
    shop.admin.act(other, "cancel")
    assert shop.ended(other)["state"] == "cancelled"


def test_a_job_whose_worker_is_always_lost_fails_at_the_sixth_time(shop, workers):
    base = shop.place("held")
    queue = shop.queue(HOLD, ["{base}"])
    job_id = shop.submit(queue, params={"base": str(base)})
    before = None
    for _ in range(6):
        worker = workers(shop.server, "w").start()
        path = base.with_name(base.name + ".pid")
        program = eventually(lambda: path.exists() and noted(path).pid != before and noted(path),
                             "the next run")
        before = program.pid
        worker.kill()
    workers(shop.server, "w").start()
    job = shop.ended(job_id)
    assert (job["state"], job["cause"], job["lost"]) == ("failed", "lost", 6)


# ---- a worker that hangs for longer than its lease

@pytest.mark.parametrize("elsewhere", [False, True], ids=["beside", "in another data directory"])
def test_the_job_of_a_hung_worker_is_taken_by_another_which_ends_the_old_program_first(
        shop, workers, elsewhere):
    data = shop.place("data") if elsewhere else None
    hung = workers(shop.server, "hung", slots=1, data=data, args=["--lease", "2s"]).start()
    held = Held(shop)
    old = held.process()
    hung.pause()
    assert old.alive(), "a stopped worker's programs go on"
    workers(shop.server, "other", args=["--lease", "2s"]).start()
    new = held.another(old)
    assert not old.alive(), "it was ended before the next one began"
    assert held.show()["lost"] == 1
    hung.resume()
    eventually(lambda: "belongs to another worker" in hung.log_text()
               or "was not accepted" in hung.log_text(), "the news that it lost the job")
    assert new.alive(), "and does not end the new program"
    held.go()
    job = held.ended()
    assert (job["state"], job["worker"], job["lost"]) == ("done", "other", 1)
    assert held.runs() == ["begin 1", "begin 2", "end 2"]
    assert [entry["worker"] for entry in job["progress"]] == ["hung", "other"]


def test_the_finish_of_a_program_that_ended_while_its_worker_hung_too_long_is_refused(
        shop, workers):
    hung = workers(shop.server, "hung", slots=1, args=["--lease", "2s"]).start()
    held = Held(shop)
    old = held.process()
    hung.pause()
    held.go()
    eventually(lambda: "end 1" in held.runs(), "the end of the old program")
    held.path(".go").unlink()
    eventually(lambda: held.show()["state"] == "ready", "the expiry of the lease",
               20 * PATIENCE)
    workers(shop.server, "other", args=["--lease", "2s"]).start()
    new = held.another(old)
    hung.resume()
    eventually(lambda: "was not accepted" in hung.log_text() or
               "belongs to another worker" in hung.log_text(),
               "the refusal in its log")
    assert held.show()["state"] == "running" and new.alive()
    held.go()
    job = held.ended()
    assert (job["state"], job["worker"], job["lost"]) == ("done", "other", 1)


def test_a_worker_that_hangs_for_less_than_its_lease_loses_nothing(shop, workers):
    hung = workers(shop.server, "hung", args=["--lease", "20s"]).start()
    held = Held(shop)
    held.process()
    hung.pause()
    held.go()
    eventually(lambda: "end 1" in held.runs(), "the end of the program")
    assert held.show()["state"] == "running"
    hung.resume()
    job = held.ended()
    assert (job["state"], job["attempt"], job["lost"]) == ("done", 1, 0)


def test_heartbeats_hold_a_lease_for_longer_than_it_is(shop, workers):
    workers(shop.server, "w", args=["--lease", "1s"]).start()
    held = Held(shop)
    held.process()
    first = held.show()["lease_until"]
    eventually(lambda: held.show()["lease_until"] > first, "a later end of the lease")
    begun = time.monotonic()
    eventually(lambda: time.monotonic() - begun > 3, "three leases")
    held.go()
    job = held.ended()
    assert (job["state"], job["attempt"], job["lost"]) == ("done", 1, 0)


# ---- serve and its own worker

def test_the_local_worker_and_its_programs_die_with_a_killed_server(serving):
    held = Held(serving)
    program = held.process()
    local = Process(serving.local()["pid"])
    serving.server.kill()
    must_end(local)
    must_end(program)
    assert of_place(serving.server.data) == []
    serving.restart()
    held.another(program)
    held.go()
    assert held.ended()["state"] == "done"
    assert held.runs().count("end 1") + held.runs().count("end 2") == 1


def test_a_local_worker_that_was_stopped_dies_with_a_killed_server_when_it_goes_on(serving):
    held = Held(serving)
    program = held.process()
    local = Process(serving.local()["pid"])
    local.send(signal.SIGSTOP)
    serving.server.kill()
    serving.server.spawn()
    assert serving.server.wait_ready(), serving.server.log_text()
    local.send(signal.SIGCONT)
    serving.client, serving.admin = serving.server.tcp(), serving.server.unix()
    must_end(local)
    must_end(program)
    held.another(program)
    held.go()
    assert held.ended(6 * DEADLINE_S)["state"] == "done"


def test_a_killed_local_worker_is_started_again(serving):
    held = Held(serving)
    program = held.process()
    first = serving.local()["pid"]
    Process(first).kill()
    must_end(program)
    held.another(program)
    assert serving.local()["pid"] != first
    held.go()
    job = held.ended()
    assert (job["state"], job["lost"]) == ("done", 1)


def test_serve_lets_running_programs_end_after_term(serving):
    held = Held(serving)
    held.process()
    serving.server.process.send_signal(signal.SIGTERM)
    eventually(lambda: "stopping" in serving.server.log_text(), "the stop in the log")
    held.go()
    assert serving.server.wait_exit() == 0
    serving.restart()
    job = held.show()
    assert (job["state"], job["attempt"]) == ("done", 1)


def test_serve_hands_back_after_its_grace_and_is_gone_in_ten_seconds(serving):
    held = Held(serving)
    program = held.process()
    serving.server.stop()  # within 10 s
    assert not program.alive()
    assert of_place(serving.server.data) == []
    serving.restart()
    held.another(program)
    held.go()
    job = held.ended()
    assert (job["state"], job["attempt"], job["lost"]) == ("done", 1, 0)


@pytest.mark.parametrize("name", ["instance", "instance.new"])
def test_a_fifo_in_its_state_does_not_stop_a_worker(shops, workers, name):
    shop = shops(slots=0).start()
    first = workers(shop.server, "w").start()
    state = Path(first.data) / "workers" / "w" / "instance"
    first.stop()
    state.with_name(name).unlink(missing_ok=True)
    os.mkfifo(state.with_name(name))
    workers(shop.server, "w").start()
    assert state.is_file(), "its own instance is kept"
