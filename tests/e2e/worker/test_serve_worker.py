# SPDX-License-Identifier: MIT
"""The local worker: how serve keeps it, and how both stop."""
import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from processes import Process, every, must_end, noted
from waiting import PATIENCE, eventually
from waybill import BIN, plain_env, run_waybill

pytestmark = pytest.mark.embedded("about the child of serve")

WAIT_FOR_A_FILE = 'echo $$ > "$1.pid"; while [ ! -e "$1" ]; do sleep 0.02; done'


def shown(shop):
    return shop.admin.ok("GET", "/v1/server")["worker"]


def process_of(shop):
    """The worker's process, when it runs."""
    process = Process(eventually(lambda: shown(shop)["pid"], "a worker"))
    eventually(lambda: process.command()[1:2] == [b"worker"] or not process.alive(), "its program")
    return process


def test_a_server_runs_the_commands_of_its_queues(shops):
    shop = shops(slots=2).start()
    job = shop.carry_out("echo hello from $WAYBILL_ID")
    assert job["state"] == "done" and shop.log(job) == f"hello from {job['id']}\n".encode()
    worker = shown(shop)
    assert worker["state"] == "running" and worker["restarts"] == 0 and worker["slots"] == 2
    assert job["progress"][-1]["worker"] == worker["name"]
    assert Process(worker["pid"]).parent() == shop.server.process.pid


def test_by_default_there_is_one_slot_a_core(directory):
    child = subprocess.Popen([BIN, "serve", "--data", f"{directory}/data", "--listen",
                              "127.0.0.1:0"], stdout=subprocess.PIPE, env=plain_env())
    try:
        assert child.stdout.readline().startswith(b"ready ")
        ran = subprocess.run([BIN, "status", "--json", "--data", f"{directory}/data"],
                             env=plain_env(), stdout=subprocess.PIPE, check=True, timeout=30)
        slots = int(re.search(rb'"slots":\s*(\d+)', ran.stdout)[1])
        assert slots == len(os.sched_getaffinity(0))
    finally:
        child.send_signal(signal.SIGTERM)
        assert child.wait(15 * PATIENCE) == 0
        child.stdout.close()


def test_without_slots_there_is_no_worker(server, admin):
    assert admin.ok("GET", "/v1/server")["worker"] is None
    assert [p for p in every() if p.parent() == server.process.pid] == []


def test_its_name_tells_the_host_and_the_directory(shops):
    one, other = shops(name="a").start(), shops(name="b").start()
    names = [shown(shop)["name"] for shop in (one, other)]
    assert all(re.fullmatch(re.escape(socket.gethostname()) + "-serve-[a-z]{4}", name)
               for name in names), names
    assert names[0] != names[1]
    one.restart()
    assert shown(one)["name"] == names[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_on_the_default_directory_its_name_is_short(directory):
    nobody = 65534
    os.chmod(directory, 0o755)
    home = Path(directory) / "home"
    home.mkdir()
    os.chown(home, nobody, nobody)
    try:
        child = subprocess.Popen([BIN, "serve", "--listen", "127.0.0.1:0", "-j", "1"], user=nobody,
                                 group=nobody, extra_groups=[], stdout=subprocess.PIPE, cwd="/",
                                 env=plain_env(HOME=str(home)))
    except PermissionError:
        pytest.skip("others cannot run the binary here")
    try:
        assert child.stdout.readline().startswith(b"ready ")
        shown_to_root = run_waybill("status", "--json", "--data",
                                    home / ".local" / "share" / "waybill").json
        assert shown_to_root["server"]["worker"]["name"] == f"{socket.gethostname()}-serve"
    finally:
        child.send_signal(signal.SIGTERM)
        assert child.wait(15 * PATIENCE) == 0
        child.stdout.close()


def test_a_worker_that_dies_is_started_again(shops):
    shop = shops().start()
    first = process_of(shop)
    first.send(signal.SIGKILL)
    eventually(lambda: shown(shop)["restarts"] == 1, "a restart")
    second = process_of(shop)
    assert second.pid != first.pid
    log = shop.server.log_text()
    assert re.search(rf"pid {first.pid} was killed by signal 9 \(Killed\); .* in 500ms", log), log
    assert shop.carry_out("true")["state"] == "done"
    second.send(signal.SIGKILL)
    eventually(lambda: " in 1s" in shop.server.log_text(), "a longer pause")


def test_a_job_whose_worker_died_runs_again(shops):
    shop = shops().start()
    place = shop.place()
    queue = shop.queue(WAIT_FOR_A_FILE, [str(place)])
    job_id = shop.submit(queue)
    program = noted(f"{place}.pid")
    process_of(shop).send(signal.SIGKILL)
    must_end(program)
    place.touch()
    job = shop.ended(job_id, 30)
    assert job["state"] == "done" and job["lost"] == 1, job


def test_a_worker_that_hangs_is_killed_and_its_jobs_run_again(shops):
    shop = shops(args=["--worker-silence", "2s"]).start()
    place = shop.place()
    job_id = shop.submit(shop.queue(WAIT_FOR_A_FILE, [str(place)]))
    program, first = noted(f"{place}.pid"), process_of(shop)
    first.send(signal.SIGSTOP)
    must_end(first)
    must_end(program)
    place.touch()
    job = shop.ended(job_id, 30)
    assert job["state"] == "done" and job["lost"] == 1, job
    log = shop.server.log_text()
    assert re.search(rf"pid {first.pid} hangs \(no answer for 2s\): killing it", log), log
    second = process_of(shop)
    assert shown(shop)["restarts"] == 1 and second.pid != first.pid
    second.send(signal.SIGSTOP)
    must_end(second)
    eventually(lambda: " in 1s" in shop.server.log_text(), "a longer pause")


def test_a_worker_that_stood_still_together_with_its_server_is_left_alone(shops):
    shop = shops(args=["--worker-silence", "4s"]).start()
    job_id = shop.submit(shop.queue("sleep 9"))
    worker, serve = process_of(shop), Process(shop.server.process.pid)
    eventually(lambda: shop.client.show(job_id)["state"] == "running", "the program")
    worker.send(signal.SIGSTOP)
    time.sleep(1.5)  # a question is open
    serve.send(signal.SIGSTOP)
    time.sleep(6)
    serve.send(signal.SIGCONT)
    time.sleep(1.5)  # serve looks at it again
    worker.send(signal.SIGCONT)
    job = shop.ended(job_id, 30)
    assert (job["state"], job["attempt"], job["lost"]) == ("done", 1, 0), job
    assert worker.alive() and shown(shop)["restarts"] == 0


@pytest.mark.parametrize("silence", ["500ms", "2d"])
def test_a_silence_that_makes_no_sense_is_refused(directory, silence):
    ran = run_waybill("serve", "--data", f"{directory}/data", "--worker-silence", silence)
    assert ran.status == 2 and "from 1s to 24h" in ran.err


def test_hup_leaves_the_worker_alone(shops):
    shop = shops().start()
    before = process_of(shop)
    shop.server.process.send_signal(signal.SIGHUP)
    eventually(lambda: "definitions: read again" in shop.server.log_text(), "the definitions")
    assert shown(shop)["pid"] == before.pid and shown(shop)["restarts"] == 0 and before.alive()


def test_a_stop_lets_running_jobs_end(shops):
    shop = shops().start()
    place = shop.place()
    job_id = shop.submit(shop.queue(WAIT_FOR_A_FILE + "; echo made it", [str(place)]))
    noted(f"{place}.pid")
    worker = process_of(shop)
    shop.server.process.send_signal(signal.SIGTERM)
    eventually(lambda: shown(shop)["state"] == "stopping", "the stop")
    place.touch()
    assert shop.server.wait_exit() == 0
    assert not worker.alive()
    shop.start()
    job = shop.client.show(job_id)
    assert job["state"] == "done" and shop.log(job_id) == b"made it\n", job


def test_a_stop_hands_back_what_takes_longer_than_the_grace(shops):
    shop = shops().start()
    place = shop.place()
    job_id = shop.submit(shop.queue(WAIT_FOR_A_FILE, [str(place)]))
    program, worker = noted(f"{place}.pid"), process_of(shop)
    begin = time.monotonic()
    shop.server.process.send_signal(signal.SIGTERM)
    status = shop.server.wait_exit(12 * PATIENCE)
    took_s = time.monotonic() - begin
    assert status == 0, shop.server.log_text()
    assert 7 < took_s < 10 * PATIENCE, took_s
    assert not worker.alive() and not program.alive()
    place.touch()
    shop.start()
    job = shop.ended(job_id)
    assert job["state"] == "done" and job["attempt"] == 1 and job.get("lost", 0) == 0, job


def test_a_second_term_ends_everything_at_once(shops):
    shop = shops().start()
    place = shop.place()
    shop.submit(shop.queue(WAIT_FOR_A_FILE, [str(place)]))
    program, worker = noted(f"{place}.pid"), process_of(shop)
    begin = time.monotonic()
    shop.server.process.send_signal(signal.SIGTERM)
    eventually(lambda: shown(shop)["state"] == "stopping", "the stop")
    shop.server.process.send_signal(signal.SIGTERM)
    assert shop.server.wait_exit() == 1
    must_end(worker)
    must_end(program)
    assert time.monotonic() - begin < 6 * PATIENCE


def test_the_worker_and_its_programs_die_with_a_killed_server(shops):
    shop = shops().start()
    place = shop.place()
    job_id = shop.submit(shop.queue(WAIT_FOR_A_FILE, [str(place)]))
    program, worker = noted(f"{place}.pid"), process_of(shop)
    shop.server.kill()
    must_end(worker)
    must_end(program)
    place.touch()
    shop.start()
    job = shop.ended(job_id, 30)
    assert (job["state"], job["attempt"], job["lost"]) == ("done", 2, 1)
    assert [entry["state"] for entry in job["progress"]] == ["lost", "done"], \
        "as after a kill of the worker"


def test_a_stopped_worker_does_not_hold_up_the_stop(shops):
    shop = shops().start()
    worker = process_of(shop)
    worker.send(signal.SIGSTOP)
    eventually(lambda: worker.state() == "T", "the stop")
    shop.server.process.send_signal(signal.SIGTERM)
    assert shop.server.wait_exit(12 * PATIENCE) == 0
    assert not worker.alive()


def test_the_worker_has_a_group_of_its_own_and_none_of_our_descriptors(shops):
    shop = shops().start()
    worker = process_of(shop)
    eventually(lambda: shop.client.ok("GET", "/v1/workers")["workers"], "the worker's first word")
    assert os.getpgid(worker.pid) == worker.pid
    held = {os.readlink(f"/proc/{worker.pid}/fd/{fd}")
            for fd in os.listdir(f"/proc/{worker.pid}/fd")}
    assert not [name for name in held if "waybill.db" in name or "waybill.lock" in name], held
    out = os.readlink(f"/proc/{shop.server.process.pid}/fd/1")
    assert out not in held, held


def test_what_a_service_manager_says_is_not_passed_on(shops, directory):
    path = f"{directory}/notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(path)
        shop = shops(env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "1000000"}).start()
        worker = process_of(shop)
        names = set(worker.environ())
        assert not {b"NOTIFY_SOCKET", b"WATCHDOG_USEC"} & names and b"PATH" in names


def test_interrupting_from_the_terminal_lets_running_jobs_end(shops):
    """Ctrl-C reaches every process of the foreground group; the worker is not in it."""
    shop = shops()
    shop.server.start(start_new_session=True)
    shop.client, shop.admin = shop.server.tcp(), shop.server.unix()
    place = shop.place()
    job_id = shop.submit(shop.queue(WAIT_FOR_A_FILE, [str(place)]))
    noted(f"{place}.pid")
    os.killpg(shop.server.process.pid, signal.SIGINT)
    eventually(lambda: shown(shop)["state"] == "stopping", "the stop")
    Path(place).touch()
    assert shop.server.wait_exit() == 0
    shop.start()
    assert shop.client.show(job_id)["state"] == "done"
