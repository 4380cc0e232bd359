# SPDX-License-Identifier: MIT
"""A server that was stopped for a while, as in a suspended machine."""
import os
import signal
import time

from waiting import eventually


def stop_for(server, seconds):
    """SIGSTOP; nobody else does anything meanwhile."""
    os.kill(server.process.pid, signal.SIGSTOP)
    try:
        time.sleep(seconds)
    finally:
        os.kill(server.process.pid, signal.SIGCONT)


def state_of(client, job):
    return client.ok("GET", f"/v1/jobs/{job['id']}")


def test_after_a_pause_longer_than_a_lease_the_job_is_still_its_workers(server, admin):
    admin.submit("work")
    job = admin.claim("work", lease="2s")["jobs"][0]
    stop_for(server, 4)
    end = time.monotonic() + 1.2
    while time.monotonic() < end:  # not even in the sweep that comes first
        shown = state_of(admin, job)
        assert shown["state"] == "running" and shown["lost"] == 0, shown
    assert "error" not in admin.finish(job)
    shown = state_of(admin, job)
    assert shown["attempt"] == 1 and shown["lost"] == 0, shown


def test_after_a_pause_a_worker_that_is_gone_is_lost_a_period_later(server, admin):
    admin.submit("work")
    job = admin.claim("work", lease="1s")["jobs"][0]
    stop_for(server, 3)
    eventually(lambda: state_of(admin, job)["lost"] == 1, "the loss")


def test_a_separate_worker_that_was_stopped_as_well_runs_its_job_once(shops, workers):
    shop = shops(slots=0).start()
    runs = shop.place("runs")
    queue = shop.queue(f"echo run >> {runs}; sleep 5")
    worker = workers(shop.server, "apart", args=["--lease", "2s"]).start()
    job = shop.submit(queue)
    eventually(runs.exists, "the program")
    worker.pause()
    stop_for(shop.server, 4)
    worker.resume()
    shown = shop.ended(job)
    assert (shown["state"], shown["attempt"], shown["lost"]) == ("done", 1, 0)
    assert runs.read_text() == "run\n"
