# SPDX-License-Identifier: MIT
"""Filters that are programs: jobs are held until one has judged them."""
import pytest

from waiting import eventually
from worker import PYTHON

JUDGE = PYTHON + """
import json, sys, time
for line in sys.stdin:
    job = json.loads(line)["job"]
    say = job["params"].get("say", "keep")
    if say == "hang":
        time.sleep(600)
    if say == "crash":
        sys.exit(3)
    if say == "slow":
        time.sleep(1)
        say = "keep"
    print(say, flush=True)
"""


@pytest.fixture
def judged(shops):
    """A shop whose queue `work` has a filter; it runs nothing but `true`."""
    shop = shops(slots=2)
    shop.start()
    judge = str(shop.program(JUDGE))

    def queue(name="work", **fields):
        filters = fields.pop("filters", [{"command": [judge], "timeout": "500ms"}])
        shop.define(name, command=["true"], filters=filters, **fields)
        return name

    shop.judge, shop.judged_queue = judge, queue
    return shop


def post(client, say, queue="work"):
    return client.ok("POST", "/v1/jobs", {"queue": queue, "params": {"say": say}}, 201)["id"]


def ended(client, job_id, state):
    eventually(lambda: client.state(job_id) == state, f"job {job_id} is {state}")
    return client.show(job_id)


def test_a_job_is_kept_or_dropped_as_the_program_says(judged):
    judged.judged_queue()
    client = judged.server.unix()
    kept = post(client, "keep")
    ended(client, kept, "done")
    dropped = ended(client, post(client, "drop it is old"), "cancelled")
    assert dropped["cause"] == "dropped" and dropped["text"] == "it is old"
    changed = ended(client, post(client, 'keep {"n": 7}'), "done")
    assert changed["params"]["n"] == 7
    shown = client.ok("GET", "/v1/queues/work/drops")
    assert shown["dropped"] == {"command": 1} and shown["drops"][0]["text"] == "it is old"


def test_the_program_stays_and_judges_one_after_the_other(judged):
    judged.judged_queue()
    client = judged.server.unix()
    for job_id in [post(client, "keep") for _ in range(50)]:
        ended(client, job_id, "done")


@pytest.mark.parametrize("say, why", [("hang", "did not answer within 500ms"),
                                      ("crash", "ended with status 3"),
                                      ("perhaps", "neither keep nor drop"),
                                      ("keep nonsense", "not a JSON object")])
def test_a_filter_that_fails_keeps_the_job_held_and_others_pass(judged, say, why):
    judged.judged_queue()
    client = judged.server.unix()
    bad = post(client, say)

    def told():
        reason = client.show(bad).get("reason", {})
        return reason.get("code") == "filter" and why in reason["text"]

    eventually(told, "the reason")
    assert client.state(bad) == "held"
    ended(client, post(client, "keep"), "done")
    client.ok("PATCH", f"/v1/jobs/{bad}", {"params": {"say": "keep"}}, 200)
    ended(client, bad, "done")


def test_filters_see_what_those_before_them_have_changed(judged):
    seen = str(judged.program(PYTHON + """
import json, sys
for line in sys.stdin:
    n = json.loads(line)["job"]["params"].get("n")
    print("keep" if n == 7 else f"drop n is {n}", flush=True)
"""))
    judged.judged_queue(filters=[{"command": [judged.judge]}, {"command": [seen]}])
    client = judged.server.unix()
    ended(client, post(client, 'keep {"n": 7}'), "done")
    assert ended(client, post(client, "keep"), "cancelled")["text"] == "n is None"


def test_a_filter_that_takes_a_second_slows_nobody_else(judged):
    judged.judged_queue(filters=[{"command": [judged.judge]}])
    judged.judged_queue("other")
    client = judged.server.unix()
    slow = [post(client, "slow") for _ in range(3)]
    for _ in range(20):
        ended(client, post(client, "keep", "other"), "done")
    for job_id in slow:
        ended(client, job_id, "done")


def test_without_a_worker_the_reason_says_so(servers):
    server = servers(definitions="""
queues:
  work: {command: ["true"], filters: [{command: [./judge]}]}
""").start()
    client = server.unix()
    job_id = post(client, "keep")
    shown = client.show(job_id)
    assert shown["state"] == "held" and shown["reason"]["code"] == "filter"
    assert "no live worker" in shown["reason"]["text"]
    client.ok("POST", "/v1/definitions", {"queues": {"work": {"command": ["true"]}}})
    eventually(lambda: client.state(job_id) == "ready", "without the filter it is kept")


def test_emitted_jobs_are_judged_after_their_release(judged):
    judged.judged_queue()
    client = judged.server.unix()
    client.ok("PUT", "/v1/queues/source", {})
    client.submit("source")
    source = client.take("source")
    ids = client.ok("POST", "/v1/emit", {
        "id": source["id"], "lease": source["lease"], "seq": 1,
        "jobs": [{"queue": "work", "params": {"say": say}} for say in ("keep", "drop no")]})["ids"]
    client.end(source)
    ended(client, ids[0], "done")
    ended(client, ids[1], "cancelled")
