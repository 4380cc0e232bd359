# SPDX-License-Identifier: MIT
"""`worker --subscribe`: each worker has its own durable queue and gets everything published."""
import json
import subprocess

import pytest

from waiting import DEADLINE_S, eventually

TOPIC = "import_category_dump"

# Says who and what it is, and waits until it may end.
IMPORT = 'echo "$WAYBILL_QUEUE $1"; echo $$ >> "$2.$3"; while [ ! -e "$2" ]; do sleep 0.02; done'
AT_ONCE = 'echo "$WAYBILL_QUEUE $1"'


def own_file(shop, name, text, *args, queue=TOPIC):
    """The file of one worker: what it runs for the topic's queue."""
    path = shop.place(f"own-{name}")
    path.write_text(f"queues:\n  {queue}:\n    command: "
                    + json.dumps([str(shop.program(text)), "{date:-none}", *args]) + "\n")
    return str(path)


def subscriber(shop, workers, name, *args, topic=TOPIC, **named):
    made = workers(shop.server, name, args=["--subscribe", topic, *args], **named)
    return start(shop, made, topic)


def start(shop, made, topic=TOPIC):
    """With its subscription in force, and its queue served."""
    made.start()
    queue = f"{topic}@{made.name}"
    eventually(lambda: queue in subscribed(shop, topic), f"{queue}; {made.log_text()}")
    return made


def subscribed(shop, topic=TOPIC):
    reply = shop.client.get(f"/v1/topics/{topic}")
    return reply.json["queues"] if reply.status == 200 else []


def curl(shop, **params):
    """The trigger, as people type it; the ids of the jobs."""
    query = "&".join(f"{name}={value}" for name, value in {"job_name": TOPIC, **params}.items())
    ran = subprocess.run(["curl", "-v", f"http://127.0.0.1:{shop.server.port}/job_start?{query}"],
                         capture_output=True, timeout=DEADLINE_S, check=True)
    assert b"< HTTP/1.1 202" in ran.stderr, ran.stderr
    return json.loads(ran.stdout)["ids"]


def by_queue(shop, ids):
    return {job["queue"]: job for job in (shop.client.show(job_id) for job_id in ids)}


def runs_at_once(shop, ids):
    jobs = [shop.client.show(job_id) for job_id in ids]
    return all(job["state"] == "running" for job in jobs)


def test_one_curl_starts_the_job_on_every_subscribed_worker(shops, workers):
    shop = shops(slots=0).start()
    place = shop.place("go")
    made = {}
    for name in ("one", "two", "three"):
        file = own_file(shop, name, IMPORT, str(place), name)
        made[name] = subscriber(shop, workers, name, "-c", file)
    assert subscribed(shop) == [f"{TOPIC}@{name}" for name in ("one", "three", "two")]
    assert made["three"].stop() == 0
    ids = curl(shop, date="2026_11_15")
    jobs = by_queue(shop, ids)
    assert set(jobs) == {f"{TOPIC}@{name}" for name in made} and len(ids) == 3
    there = [jobs[f"{TOPIC}@{name}"]["id"] for name in ("one", "two")]
    late = jobs[f"{TOPIC}@three"]["id"]
    eventually(lambda: runs_at_once(shop, there), "both at once")
    assert shop.client.state(late) == "ready"
    made["three"].start()
    shop.until(late, "running")
    place.touch()
    for name in made:
        job = shop.ended(jobs[f"{TOPIC}@{name}"]["id"])
        assert (job["state"], job["topic"]) == ("done", TOPIC), job
        assert job["params"] == {"date": "2026_11_15"}
        assert job["progress"][-1]["worker"] == name
        assert shop.log(job) == f"{TOPIC}@{name} 2026_11_15\n".encode()
        assert len((place.parent / f"{place.name}.{name}").read_text().split()) == 1


def test_it_runs_what_the_server_says_when_its_own_file_does_not(shops, workers):
    shop = shops(slots=0).start()
    shop.define(TOPIC, command=[str(shop.program("echo theirs $1")), "{date}"])
    subscriber(shop, workers, "plain")
    subscriber(shop, workers, "own", "-c", own_file(shop, "own", "echo mine $1"))
    jobs = by_queue(shop, curl(shop, date="7"))
    assert set(jobs) == {TOPIC, f"{TOPIC}@plain", f"{TOPIC}@own"}
    assert shop.log(shop.ended(jobs[f"{TOPIC}@plain"]["id"])) == b"theirs 7\n"
    assert shop.log(shop.ended(jobs[f"{TOPIC}@own"]["id"])) == b"mine 7\n"
    shop.define(TOPIC, command=[str(shop.program("echo changed $1")), "{date}"])

    def follows():
        job = shop.ended(by_queue(shop, curl(shop, date="8"))[f"{TOPIC}@plain"]["id"])
        return shop.log(job) == b"changed 8\n"

    eventually(follows, "the topic's queue as it is now")


def test_a_subscribed_worker_serves_only_its_own_queue_unless_told(shops, workers):
    shop = shops(slots=0).start()
    other, third = shop.queue("echo other"), shop.queue("echo third")
    shop.define(TOPIC, command=[str(shop.program(AT_ONCE)), "{date:-none}"])
    alone = subscriber(shop, workers, "alone")
    left = [shop.submit(queue) for queue in (other, TOPIC)]
    jobs = by_queue(shop, curl(shop))
    assert shop.ended(jobs[f"{TOPIC}@alone"]["id"])["state"] == "done"
    assert [shop.client.state(job_id) for job_id in left] == ["ready", "ready"]
    assert alone.stop() == 0
    subscriber(shop, workers, "wide", "-q", other)
    assert shop.ended(left[0])["progress"][-1]["worker"] == "wide"
    assert shop.client.state(left[1]) == "ready"
    assert shop.client.state(shop.submit(third)) == "ready"


def test_nobody_else_takes_what_waits_for_a_subscriber(shops, workers):
    shop = shops(slots=2).start()
    shop.define(TOPIC, command=[str(shop.program(AT_ONCE)), "{date:-none}"])
    gone = subscriber(shop, workers, "gone")
    assert gone.stop() == 0
    workers(shop.server, "plain").start()
    jobs = by_queue(shop, curl(shop))
    assert shop.ended(jobs[TOPIC]["id"])["state"] == "done"  # the topic's queue is everybody's
    job_id = jobs[f"{TOPIC}@gone"]["id"]
    assert shop.client.state(job_id) == "ready"
    gone.start()
    assert shop.ended(job_id)["progress"][-1]["worker"] == "gone"


def test_a_program_may_be_missing_and_come_later(shops, workers):
    shop = shops(slots=0).start()
    made = subscriber(shop, workers, "w")
    eventually(lambda: "there is no command for its jobs" in made.log_text(), "the warning")
    job_id, = curl(shop, date="3")
    assert shop.client.state(job_id) == "ready"
    shop.define(TOPIC, command=[str(shop.program(AT_ONCE)), "{date}"])
    assert shop.log(shop.ended(job_id)) == f"{TOPIC}@w 3\n".encode()


def test_own_only_holds_for_subscriptions_too(shops, workers):
    shop = shops(slots=0).start()
    shop.define(TOPIC, command=[str(shop.program("echo theirs"))])
    shop.define("other", command=[str(shop.program("echo theirs"))])
    file = own_file(shop, "w", "echo mine")
    subscriber(shop, workers, "w", "--subscribe", "other", "-c", file, "--own-only")
    eventually(lambda: "other@w" in subscribed(shop, "other"), "the second topic")
    ids = shop.admin.ok("POST", "/v1/topics/other", {}, 202)["ids"]
    assert shop.log(shop.ended(by_queue(shop, curl(shop))[f"{TOPIC}@w"]["id"])) == b"mine\n"
    assert shop.client.state(by_queue(shop, ids)["other@w"]["id"]) == "ready"


def test_a_queue_of_its_own_that_was_removed_is_made_again(shops, workers):
    shop = shops(slots=0).start()
    subscriber(shop, workers, "w", "-c", own_file(shop, "w", AT_ONCE))
    shop.admin.ok("DELETE", f"/v1/queues/{TOPIC}@w")
    eventually(lambda: subscribed(shop) == [f"{TOPIC}@w"], "the queue", 2 * DEADLINE_S)
    job_id, = curl(shop)
    assert shop.ended(job_id)["state"] == "done"


def test_the_subscription_outlives_the_server(shops, workers):
    shop = shops(slots=0).start()
    subscriber(shop, workers, "w", "-c", own_file(shop, "w", AT_ONCE))
    shop.restart()
    assert subscribed(shop) == [f"{TOPIC}@w"]
    job_id, = curl(shop, date="9")
    assert shop.log(shop.ended(job_id)) == f"{TOPIC}@w 9\n".encode()


def test_a_refused_subscription_is_told_and_the_rest_goes_on(shops, workers):
    shop = shops(slots=0).start()
    queue = shop.queue("echo done")
    topic = "t" * 200  # with the worker's name too long for a queue
    made = workers(shop.server, "w", args=["--subscribe", topic, "-q", queue]).start()
    eventually(lambda: "refuses the subscription" in made.log_text(), "the refusal")
    assert shop.run(queue)["state"] == "done"


@pytest.mark.parametrize("args, word", [
    (["--subscribe", "a/b"], "'/'"), (["--subscribe", ""], "empty"),
    (["--lifetime", "2d"], "--subscribe"), (["--subscribe", "a", "--lifetime", "x"], "--lifetime"),
    (["--subscribe", "a", "--lifetime", "0"], "--lifetime"),
])
def test_a_wrong_line_is_told(shop, args, word):
    ran = shop.server.cli("worker", *args)
    assert ran.status == 2 and word in ran.err, ran


@pytest.mark.embedded("a bound of one server")
def test_workers_may_have_a_thousand_queues_of_their_own(client):
    def subscribe(name):
        return client.request("POST", f"/v1/topics/{TOPIC}/subscribe", {"worker": name})

    statuses = {subscribe(f"w{n}").status for n in range(1000)}
    assert statuses <= {200, 201}, statuses
    reply = subscribe("one-more")
    assert "server.subscriptions" in reply.error(429, "too_many")["message"], reply.json
    assert subscribe("w7").status == 200, "who has one keeps it"
