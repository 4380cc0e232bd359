# SPDX-License-Identifier: MIT
"""Workers' names: one live instance each, who comes after whom, and what strangers cannot take."""
import re
import shutil
import signal
import time

import pytest

from waiting import DEADLINE_S, Background, eventually
from worker import worker_named

A, B, C = "a" * 32, "b" * 32, "c" * 32


def worker(instance, name="w", **fields):
    return {"name": name, "host": "box", "pid": 7, "instance": instance, **fields}


def asked(**fields):
    return {"queues": {"work": 10}, "max": 1, "lease": "2s", **fields}


def refused(client, claimer, **fields):
    return client.refused(409, "conflict", "POST", "/v1/claim", asked(worker=claimer, **fields))


def claimed(client, claimer, **fields):
    return client.ok("POST", "/v1/claim", asked(worker=claimer, **fields), 200)


# ---- over HTTP

def test_another_instance_of_a_live_name_is_refused_and_told_whose_it_is(client):
    claimed(client, worker(A))
    message = refused(client, worker(B))["message"]
    assert "box" in message and "pid 7" in message and "since 20" in message
    claimed(client, worker(A))


def test_nothing_of_a_refused_claim_happens(client):
    client.submit_many([{"queue": "work"}] * 2)
    job, = claimed(client, worker(A), lease="60s")["jobs"]
    refused(client, worker(B), all=True)
    refused(client, worker(B), finish=[{"id": job["id"], "lease": job["lease"], "state": "done"}])
    assert client.state(job["id"]) == "running"
    assert client.counts()["work"] == {"ready": 1, "running": 1}


def test_a_stranger_that_says_all_strips_nobody(client):
    """It is enough to know the name: HOST-serve, say."""
    job_id = client.submit()
    claimed(client, worker(A), lease="60s")
    for stranger in ("w", {"name": "w"}, {"name": "w", "host": "box", "pid": 7}):
        refused(client, stranger, all=True)
        refused(client, stranger)
    assert client.state(job_id) == "running"


def test_who_tells_no_instance_may_share_a_name(client):
    client.submit_many([{"queue": "work"}] * 2)
    assert len(claimed(client, "w")["jobs"]) == 1 and \
        len(claimed(client, {"name": "w"})["jobs"]) == 1


def test_an_instance_that_is_away_for_its_lease_is_followed_by_another(client):
    claimed(client, worker(A))
    refused(client, worker(B))
    eventually(lambda: client.request("POST", "/v1/claim", asked(worker=worker(B))).status == 200,
               "the other instance to be taken", 3 * DEADLINE_S)
    refused(client, worker(A))


def test_a_claim_that_waits_keeps_the_name(server, client):
    claimed(client, worker(A), lease="1s")
    call = Background(lambda: claimed(server.tcp(), worker(A), wait="6s", lease="1s"))
    end = time.monotonic() + 2.5
    eventually(lambda: refused(client, worker(B)) and time.monotonic() > end, "more than the lease")
    client.submit()
    assert len(call.result(DEADLINE_S)["jobs"]) == 1


def test_one_that_says_goodbye_is_followed_at_once(client):
    claimed(client, worker(A), lease="60s")
    claimed(client, worker(A, leaves=True), lease="60s", max=0)
    claimed(client, worker(B), lease="60s")
    refused(client, worker(A))
    refused(client, worker(A, leaves=True), max=0)
    refused(client, worker(C))


def test_who_comes_after_it_on_the_same_machine_and_boot_comes_at_once(client):
    claimed(client, worker(A, boot="one"), lease="60s")
    for other in (worker(B, boot="two", previous=A), worker(B, previous=A),
                  worker(B, boot="one", previous=C),
                  {**worker(B, boot="one", previous=A), "host": "clone"}, worker(B, boot="one")):
        refused(client, other)
    claimed(client, worker(B, boot="one", previous=A), lease="60s")
    refused(client, worker(A, boot="one"))


def test_any_of_several_predecessors_is_followed(client):
    claimed(client, worker(A, boot="one"), lease="60s")
    for other in (worker(B, boot="two", previous=[C, A]), worker(B, boot="one", previous=[C]),
                  worker(B, boot="one", previous=[])):
        refused(client, other)
    claimed(client, worker(B, boot="one", previous=[C] * 15 + [A]), lease="60s")


def test_what_the_one_before_held_comes_back_to_the_next(client):
    job_id = client.submit()
    claimed(client, worker(A, boot="one"), lease="60s")
    claimed(client, worker(B, boot="one", previous=A), lease="60s", all=True, max=0)
    assert client.state(job_id) == "ready" and client.show(job_id)["attempt"] == 0


def test_a_name_is_kept_over_a_restart_of_the_server(server, client):
    claimed(client, worker(A), lease="60s")
    server.restart()
    client = server.tcp()
    refused(client, worker(B))
    claimed(client, worker(A), lease="60s")


@pytest.mark.parametrize("fields", [{"instance": ""}, {"instance": 5}, {"instance": "x" * 15},
                                    {"instance": "x" * 65}, {"boot": "b"}, {"previous": A},
                                    {"previous": [A]}, {"instance": B, "previous": [A] * 17},
                                    {"instance": B, "previous": [A, ""]},
                                    {"instance": B, "previous": ["x" * 65]},
                                    {"instance": B, "previous": 5},
                                    {"leaves": True}, {"instance": A, "leaves": 1}])
def test_a_bad_instance_is_invalid(client, fields):
    client.refused(422, "invalid", "POST", "/v1/claim", asked(worker={"name": "w", **fields}))


def test_workers_tell_their_instance_and_since_when(client, admin):
    claimed(client, worker(A))
    since = worker_named(admin, "w")["since"]
    claimed(client, worker(A), lease="3s")
    shown = worker_named(admin, "w")
    assert shown["instance"] == A[:8] and shown["since"] == since


def test_one_that_said_goodbye_is_not_live_until_it_comes_again(client, admin):
    claimed(client, worker(A))
    assert worker_named(admin, "w")["live"] is True and "stopped" not in worker_named(admin, "w")
    claimed(client, worker(A, leaves=True), max=0)
    shown = worker_named(admin, "w")
    assert shown["live"] is False and shown["stopped"] is True
    claimed(client, worker(B))
    shown = worker_named(admin, "w")
    assert shown["live"] is True and "stopped" not in shown and shown["instance"] == B[:8]
    claimed(client, worker(B, leaves=True), max=0)
    claimed(client, "w")  # one that tells no instance
    assert worker_named(admin, "w")["live"] is True


# ---- real workers

def test_a_worker_that_was_stopped_is_shown_so_at_once(shops, workers):
    shop = shops(slots=0).start()
    queue = shop.queue("echo hello")
    one = workers(shop.server, "w").start()
    assert worker_named(shop.admin, "w")["live"]
    assert one.stop() == 0
    assert not worker_named(shop.admin, "w")["live"]
    ran = shop.server.cli("workers")
    assert "w " in ran.out and re.search(r"stopped \d+\w* ago", ran.out), ran
    assert re.search(r"stopped \d+\w* ago", shop.server.cli("status", "--all").out)
    job = shop.client.submit(queue)
    assert shop.client.show(job)["reason"]["code"] == "no_worker"


WAITS = 'echo run >> "$1.runs"; while [ ! -e "$1" ]; do sleep 0.02; done'


def test_two_workers_of_one_name_run_a_job_once(shops, workers, tmp_path):
    shop = shops(slots=0).start()
    place = shop.place()
    queue = shop.queue(WAITS, [str(place)])
    workers(shop.server, "w").start()
    job_id = shop.submit(queue)
    eventually(lambda: shop.client.state(job_id) == "running", "the job to run")
    second = workers(shop.server, "w", data=tmp_path).spawn()
    eventually(lambda: "is taken" in second.log_text(), "the refusal")
    assert second.running() and second.log_text().count("is taken") == 1
    place.touch()
    eventually(lambda: shop.client.state(job_id) == "done", "the end")
    assert shop.client.show(job_id)["lost"] == 0 and \
        place.with_suffix(".runs").read_text() == "run\n"


def test_the_second_takes_over_when_the_first_stops(shops, workers, tmp_path):
    shop = shops(slots=0).start()
    queue = shop.queue("echo hello")
    first = workers(shop.server, "w").start()
    second = workers(shop.server, "w", data=tmp_path).spawn()
    eventually(lambda: "is taken" in second.log_text(), "the refusal")
    assert first.stop() == 0
    eventually(lambda: "the name w is accepted now" in second.log_text(), "the second one",
               2 * DEADLINE_S)
    eventually(second.is_shown, "its queues")
    assert shop.run(queue)["state"] == "done"


def test_a_copy_of_the_state_directory_does_not_help(shops, workers, tmp_path):
    shop = shops(slots=0).start()
    first = workers(shop.server, "w").start()
    eventually((shop.server.data / "workers" / "w" / "instance").exists, "the instance to be kept")
    shutil.copytree(shop.server.data / "workers" / "w", tmp_path / "workers" / "w",
                    ignore=shutil.ignore_patterns("*.sock"))
    second = workers(shop.server, "w", data=tmp_path).spawn()
    eventually(lambda: "is taken" in second.log_text(), "the refusal")
    assert first.is_shown()


def test_a_worker_that_was_killed_is_followed_at_once(shops, workers):
    shop = shops(slots=0).start()
    queue = shop.queue("echo hello")
    first = workers(shop.server, "w").start()
    eventually((shop.server.data / "workers" / "w" / "instance").exists, "the instance to be kept")
    first.kill()
    second = workers(shop.server, "w").start()
    assert "is taken" not in second.log_text()
    assert shop.run(queue)["state"] == "done"


def killed_at_its_first_reply(worker):
    """The server has committed the first claim; the worker never hears of it."""
    worker.env = {"WAYBILL_FAULT": "talk.reply:1"}
    assert worker.spawn().wait_exit() == -signal.SIGKILL
    worker.env = {}


def test_workers_that_were_killed_before_their_first_reply_are_followed_at_once(shops, workers):
    shop = shops(slots=0).start()
    queue = shop.queue("echo hello")
    one = workers(shop.server, "w").start()
    accepted = worker_named(shop.admin, "w")["instance"]
    one.kill()
    killed_at_its_first_reply(one)
    unheard = worker_named(shop.admin, "w")["instance"]
    killed_at_its_first_reply(one)
    assert len({accepted, unheard, worker_named(shop.admin, "w")["instance"]}) == 3
    url, one.url = one.url, f"unix:{shop.place()}"  # one that its server never hears of
    killed_at_its_first_reply(one)
    one.url = url
    one.start()
    assert "is taken" not in one.log_text()
    assert shop.run(queue)["state"] == "done"


def test_a_worker_of_serve_that_dies_before_its_first_reply_is_followed_at_once(shops):
    """Each of its workers: they inherit the fault."""
    shop = shops(slots=1)
    shop.server.start(env={"WAYBILL_FAULT": "talk.reply:1"})
    eventually(lambda: shop.server.log_text().count("was killed by signal 9") >= 3, "three crashes")
    shop.server.kill()
    shop.start()
    assert shop.run(shop.queue("echo hello"))["state"] == "done"
    assert "is taken" not in shop.server.log_text()


def test_the_instance_of_a_worker_is_another_at_each_start(shops, workers):
    shop = shops(slots=0).start()
    kept = shop.server.data / "workers" / "w" / "instance"
    seen = []
    for _ in range(2):
        one = workers(shop.server, "w").start()
        shown = worker_named(shop.admin, "w")["instance"]
        eventually(lambda shown=shown: kept.exists() and kept.read_text().startswith(shown),
                   "the instance to be kept")
        seen.append(kept.read_text().split()[0])
        assert one.stop() == 0
    assert seen[0] != seen[1] and all(len(instance) >= 22 for instance in seen), seen


def test_a_server_that_was_killed_has_its_worker_back_at_once(shops):
    shop = shops(slots=1).start()
    queue = shop.queue("echo hello")
    assert shop.run(queue)["state"] == "done"
    shop.server.kill()
    shop.server.start()
    shop.client, shop.admin = shop.server.tcp(), shop.server.unix()
    assert shop.run(queue)["state"] == "done"
    assert "is taken" not in shop.server.log_text()
