# SPDX-License-Identifier: MIT
"""Programs that cannot be started: the queue breaks on that worker; the attempt is not counted."""
import os

import pytest

from waiting import DEADLINE_S, eventually, parse_time
from worker import PYTHON, worker_named

pytestmark = pytest.mark.embedded("the worker alone decides it")

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="changes users")


def is_broken(shop, queue, job_id, *words):
    """The queue is shown as broken, with these words, and its job waits uncounted."""
    local = eventually(lambda: queue in shop.local()["broken"] and shop.local(), f"{queue} broken")
    reason = local["broken"][queue]
    for word in words:
        assert word in reason, reason
    assert shop.show_queue(queue)["broken"] == [
        {"worker": local["name"], "host": local["host"], "text": reason}]
    job = shop.client.show(job_id)
    assert (job["attempt"], job["lost"], job["progress"]) == (0, 0, [])
    if job["state"] == "ready":
        assert job["reason"]["code"] == "broken" and reason[:100] in job["reason"]["text"]
    logged = [row for row in shop.queue_log(queue) if row["what"] == "broken"]
    assert logged and reason[:100] in logged[0]["text"], shop.queue_log(queue)
    return reason


def works_again(shop, queue, job_id):
    job = shop.ended(job_id, 3 * DEADLINE_S)
    assert (job["state"], job["attempt"], job["lost"]) == ("done", 1, 0)
    assert len(job["progress"]) == 1
    eventually(lambda: queue not in shop.local()["broken"], "the end of broken")
    assert "broken" not in shop.show_queue(queue)


def test_a_command_that_does_not_exist(shop):
    path = shop.programs / "not there yet"
    queue = shop.queue(command=[str(path)])
    job_id = shop.submit(queue)
    is_broken(shop, queue, job_id, str(path), "no file")
    shop.program("echo here now", path.name)
    works_again(shop, queue, job_id)
    assert shop.log(job_id) == b"here now\n"


def test_a_command_that_is_not_in_the_path(shop):
    queue = shop.queue(command=["no-such-program-anywhere"])
    job_id = shop.submit(queue)
    is_broken(shop, queue, job_id, "no-such-program-anywhere")
    shop.define(queue, command=["true"])
    works_again(shop, queue, job_id)


def test_a_command_that_is_not_executable(shop):
    path = shop.program("echo fine")
    path.chmod(0o644)
    queue = shop.queue(command=[str(path)])
    job_id = shop.submit(queue)
    is_broken(shop, queue, job_id, str(path), "not executable")
    path.chmod(0o755)
    works_again(shop, queue, job_id)


@pytest.mark.parametrize("text, word", [("#!/no/such/interpreter\n", "interpreter"),
                                        ("#!/bin/sh\r\necho x\r\n", "ends with CR"),
                                        ("no first line", "#!")])
def test_a_script_whose_interpreter_cannot_run_it(shop, text, word):
    shop.made += 1
    path = shop.programs / f"odd{shop.made}"
    path.write_text(text)
    path.chmod(0o755)
    queue = shop.queue(command=[str(path)])
    job_id = shop.submit(queue)
    is_broken(shop, queue, job_id, word)
    shop.program("echo fine", path.name)
    works_again(shop, queue, job_id)


def test_a_command_that_is_a_directory(shop):
    queue = shop.queue(command=[str(shop.programs)])
    job_id = shop.submit(queue)
    is_broken(shop, queue, job_id, str(shop.programs))
    shop.define(queue, command=["true"])
    works_again(shop, queue, job_id)


@ROOT_ONLY
def test_a_user_that_does_not_exist(shop):
    queue = shop.queue("echo fine", limits={"user": "no-such-user"})
    job_id = shop.submit(queue)
    is_broken(shop, queue, job_id, "no-such-user")
    shop.define(queue, command=["true"], limits={"user": "nobody"})
    works_again(shop, queue, job_id)


@ROOT_ONLY
def test_a_directory_that_the_user_cannot_reach(shop):
    queue = shop.queue("echo fine", limits={"user": "nobody"})
    shop.server.data.chmod(0o700)
    try:
        job_id = shop.submit(queue)
        is_broken(shop, queue, job_id, "directory", "nobody", "ermission denied")
    finally:
        shop.server.data.chmod(0o711)
    works_again(shop, queue, job_id)


@ROOT_ONLY
def test_a_program_that_the_user_may_not_run(shop):
    path = shop.program("echo fine")
    path.chmod(0o700)
    queue = shop.queue(command=[str(path)], limits={"user": "nobody"})
    job_id = shop.submit(queue)
    is_broken(shop, queue, job_id, "nobody", "ermission denied")
    path.chmod(0o755)
    works_again(shop, queue, job_id)


def test_the_pauses_between_trials_grow(shop):
    """Each trial hands the job back, which moves `started_at` of its last claim."""
    path = shop.programs / "later"
    queue = shop.queue(command=[str(path)])
    job_id = shop.submit(queue)
    is_broken(shop, queue, job_id)
    seen = []

    def trial():
        at = shop.client.show(job_id).get("started_at")
        if at and (not seen or at != seen[-1]):
            seen.append(at)
        return len(seen) >= 4

    eventually(trial, "four trials", 4 * DEADLINE_S)
    instants = [parse_time(at).timestamp() for at in seen]
    pauses = [b - a for a, b in zip(instants, instants[1:])]
    assert pauses[-1] > 1.5 * pauses[-2] > 0.5, pauses
    shop.define(queue, command=["true"])
    works_again(shop, queue, job_id)


def test_a_changed_definition_is_tried_at_once(shop):
    queue = shop.queue(command=["/no/such/program"])
    job_id = shop.submit(queue)
    is_broken(shop, queue, job_id, "/no/such/program")
    shop.define(queue, command=["/no/such/other"])
    eventually(lambda: "/no/such/other" in shop.local()["broken"].get(queue, ""), "the new reason")
    shop.define(queue, command=["true"])
    job = shop.ended(job_id)
    assert job["state"] == "done"


def test_one_broken_queue_does_not_hold_up_others(shop):
    queue = shop.queue(command=["/no/such/program"])
    ids = [shop.submit(queue) for _ in range(20)]
    is_broken(shop, queue, ids[0])
    assert shop.carry_out("echo fine")["state"] == "done"
    shop.define(queue, command=["true"])
    for job_id in ids:
        assert shop.ended(job_id)["state"] == "done"


def test_a_queue_that_is_broken_on_one_worker_is_served_by_another(shop, workers):
    local = shop.programs / "only-there.yaml"
    queue = shop.queue(command=["/no/such/program"])
    job_id = shop.submit(queue)
    is_broken(shop, queue, job_id)
    local.write_text(f"queues:\n  {queue}: {{command: [\"true\"]}}\n")
    other = workers(shop.server, "other", args=["-c", str(local), "--own-only"]).start()
    job = shop.ended(job_id, 2 * DEADLINE_S)
    assert (job["state"], job["worker"], job["attempt"]) == ("done", "other", 1)
    assert worker_named(shop.client, "other")["broken"] == {}
    assert other.stop() == 0


# ---- a job's own command

@pytest.mark.parametrize("command, word", [
    (["/no/such/program"], "no file"), (["no-such-program-anywhere"], "no-such-program"),
    (["/etc/passwd"], "not executable"), (["/tmp"], "/tmp")])
def test_a_jobs_own_command_that_cannot_be_started_fails_the_job(shop, command, word):
    queue = shop.queue(own_command=True, retry={"max": 3, "first": "10ms"})
    job = shop.run(queue, command=command)
    assert (job["state"], job["cause"]) == ("failed", "start"), job
    assert word in job["text"] and "exit" not in job
    assert queue not in shop.local()["broken"]
    assert shop.run(queue, command=["true"])["state"] == "done"


def test_a_job_without_a_command_in_a_queue_without_one_is_not_given_to_a_worker(shop):
    job_id = shop.submit(shop.queue(own_command=True))
    eventually(lambda: "without a command" in shop.client.show(job_id)["reason"]["text"],
               "the reason")
    assert shop.client.show(job_id)["attempt"] == 0


def test_a_jobs_own_command_may_be_a_text_for_the_shell(shop):
    queue = shop.queue(own_command=True)
    job = shop.run(queue, command="echo {who} | tr a-z A-Z; exit 3", params={"who": "a 'b'"})
    assert (job["exit"], shop.log(job)) == (3, b"A 'B'\n")


def test_a_resident_that_cannot_be_started_breaks_its_queue(shop):
    path = shop.programs / "resident-later"
    queue = shop.queue(command=[str(path)], resident=True)
    job_id = shop.submit(queue)
    is_broken(shop, queue, job_id, str(path))
    shop.program(PYTHON + "import json, os, sys\nfor line in sys.stdin:\n"
                 "    os.write(3, (json.loads(line)['job']['id'] + ' done\\n').encode())",
                 path.name)
    works_again(shop, queue, job_id)
