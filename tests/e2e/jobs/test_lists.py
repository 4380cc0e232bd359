# SPDX-License-Identifier: MIT
"""Lists, pages, counts, waiting for a job, and the reason why a job waits."""
import json
import threading
import time
from urllib.parse import quote

import pytest

from client import counted
from waiting import Background, eventually, parse_time


def ids(jobs):
    return [job["id"] for job in jobs]


def one_of_each(client):
    """A job in every state that can be reached, in two queues; {state: [ids]}."""
    made = {}
    for queue in ("work", "other"):
        for state in ("done", "failed", "cancelled", "running"):
            job_id = client.submit(queue)
            job = client.take(queue)
            if state == "cancelled":
                client.act(job_id, "cancel")
            if state != "running":
                client.end(job, state)
            made.setdefault(state, []).append(job_id)
        made.setdefault("ready", []).append(client.submit(queue))
        made.setdefault("scheduled", []).append(client.submit(queue, delay="1h"))
        made.setdefault("held", []).append(client.submit(queue))
        client.act(made["held"][-1], "hold")
    return made


def test_an_empty_list_is_a_list(client):
    assert client.ok("GET", "/v1/jobs") == {"jobs": [], "cursor": None}


def test_newest_first_and_fifty_at_a_time(client):
    submitted = client.submit_many([{"queue": "work"}] * 120)
    page = client.ok("GET", "/v1/jobs")
    assert ids(page["jobs"]) == submitted[:-51:-1] and page["cursor"]
    assert ids(client.list("", limit=50)) == submitted[::-1]


def test_lists_by_state(client):
    made = one_of_each(client)
    for state, wanted in made.items():
        assert ids(client.list(f"state={state}")) == sorted(wanted, reverse=True)
    assert ids(client.list("state=done,failed")) == sorted(made["done"] + made["failed"],
                                                           reverse=True)
    assert ids(client.list("state=ready&queue=other")) == [made["ready"][1]]
    assert len(client.list()) == 14


def test_lists_by_queue_label_and_text(client):
    one = client.submit(labels={"site": "a.org", "kind": "x"},
                        params={"url": "http://a.org/needle"})
    two = client.submit("other", labels={"site": "b.org", "kind": "x"}, key="straw needle")
    three = client.submit("two words", labels={"a b": "ü&="})
    assert ids(client.list("queue=other")) == [two]
    assert ids(client.list("label.site=a.org")) == [one]
    assert ids(client.list("label.kind=x")) == [two, one]
    assert ids(client.list("label.kind=x&label.site=b.org")) == [two]
    assert ids(client.list(f"label.{quote('a b')}={quote('ü&=')}")) == [three]
    assert ids(client.list("label.kind=y")) == []
    assert ids(client.list("text=needle")) == [two, one]
    assert ids(client.list("text=needle&queue=work")) == [one]
    assert ids(client.list(f"text={quote('100%_')}")) == []


def test_every_page_size_shows_every_job_once(client):
    submitted = client.submit_many([{"queue": "work" if n % 3 else "other"} for n in range(3000)])
    newest = submitted[::-1]
    for limit in (7, 137, 999, 1000):
        assert ids(client.list(limit=limit)) == newest
    assert ids(client.list("queue=other", limit=101)) == [i for n,
                                                          i in enumerate(submitted) if n % 3 ==
                                                          0][::-1]


def test_pages_over_waiting_and_ended_jobs_together(client):
    submitted = client.submit_many([{"queue": "work"}] * 2000)
    taken = client.claim(max=1000)["jobs"]
    items = [{"id": job["id"], "lease": job["lease"], "state": "done"} for job in taken[::2]]
    client.ok("POST", "/v1/finish", {"finish": items})
    assert ids(client.list(limit=99)) == submitted[::-1]
    assert ids(client.list("state=done,ready", limit=99)) == \
        sorted([i["id"] for i in items] + submitted[1000:], reverse=True)


def test_paging_is_not_disturbed_by_what_happens_meanwhile(server, client):
    submitted = client.submit_many([{"queue": "work"}] * 3000)
    stop = threading.Event()

    def churn():
        mine = server.tcp()
        while not stop.is_set():
            mine.submit_many([{"queue": "work"}] * 5)
            for job in mine.claim(max=20)["jobs"]:
                mine.finish(job, "done")

    call = Background(churn)
    try:
        for _ in range(3):
            seen = ids(client.list(limit=113))
            assert len(seen) == len(set(seen)) and seen == sorted(seen, reverse=True)
            assert set(submitted) <= set(seen)
    finally:
        stop.set()
    call.result()


LARGE = "x" * (1 << 20)


def test_a_list_shows_the_start_and_the_size_of_large_values(client):
    params = {"url": LARGE + "needle"}
    labels = {f"site{n}": "x" * 1000 for n in range(5)}
    job_id = client.submit(params=params, labels=labels)
    client.end(client.take(), "done", result={"found": LARGE})
    for query in ("", "text=needle", "label.site3=" + "x" * 1000, "state=done"):
        job, = client.list(query)
        assert job["id"] == job_id and not {"params", "labels", "result"} & set(job)
        assert set(job["cut"]) == {"params", "labels", "result"}
        for name, value in (("params", params), ("labels", labels)):
            text = json.dumps(value)
            assert job["cut"][name] == {"size": len(text), "start": text[:200]}
    assert client.list("text=needles") == []
    job, = client.list("whole=1")
    assert job["params"] == params and job["labels"] == labels
    assert job["result"] == {"found": LARGE} and "cut" not in job
    assert "cut" not in client.show(job_id) and client.show(job_id)["params"] == job["params"]


def test_what_is_small_is_listed_whole(client):
    params = {"text": "y" * (4096 - len('{"text": ""}'))}
    client.submit(params=params, labels={"a": "b"})
    job, = client.list()
    assert job["params"] == params and job["labels"] == {"a": "b"} and "cut" not in job


def test_a_list_of_large_jobs_is_small(server, client):
    for _ in range(40):
        client.submit(params={"data": LARGE})
    reply = client.get("/v1/jobs?limit=40")
    assert len(reply.json["jobs"]) == 40 and reply.json["cursor"] is None
    assert len(reply.body) < 40 * 1024
    plan = server.unix().ok("POST", "/v1/bulk?dry_run=1",
                             {"action": "cancel", "filter": {"text": LARGE[:1000]}}, 200)
    assert plan["jobs"] == 40 and plan["examples"][0]["cut"]["params"]["size"] > len(LARGE)


def test_a_whole_list_has_a_bound(client):
    """About 8 MiB a page, and the job that passes it; the cursor goes on."""
    submitted = [client.submit(params={"data": LARGE}) for _ in range(20)]
    reply = client.get("/v1/jobs?limit=20&whole=1")
    assert len(reply.body) < 10 << 20 and reply.json["cursor"]
    assert ids(client.list("whole=1", limit=20)) == submitted[::-1]


@pytest.mark.embedded("refused before the store is asked")
@pytest.mark.parametrize("query, word", [
    ("state=redy", "ready"),
    ("state=ready,", "state"),
    ("queue=wrok", "work"),
    ("whole=2", "whole"),
    ("limit=0", "limit"),
    ("limit=1001", "limit"),
    ("limit=x", "limit"),
    ("limit=-1", "limit"),
    ("limit=18446744073709551616", "limit"),
    ("cursor=nonsense", "cursor"),
    ("cursor=%00", "cursor"),
    ("colour=red", "colour"),
    ("stat=ready", "state"),
    ("label.=x", "label"),
])
def test_a_bad_query_says_what_is_wrong(client, query, word):
    reply = client.get(f"/v1/jobs?{query}")
    assert reply.status in ((404, 422) if query.startswith("queue") else (400, 422)), (reply.status,
                                                                                       reply.body)
    assert word in reply.json["error"]["message"], reply.json


def test_a_cursor_of_another_list_is_refused_or_harmless(client):
    client.submit_many([{"queue": "work"}] * 30 + [{"queue": "other"}] * 30)
    cursor = client.ok("GET", "/v1/jobs?limit=10")["cursor"]
    reply = client.get(f"/v1/jobs?limit=10&queue=work&cursor={cursor}")
    if reply.status == 200:
        assert all(job["queue"] == "work" for job in reply.json["jobs"])
    else:
        reply.error(422, "invalid")
    for broken in (cursor[:-1], cursor + "A", "AAAA" + cursor, cursor[::-1]):
        reply = client.get(f"/v1/jobs?limit=10&cursor={broken}")
        assert reply.status in (200, 400, 422), reply.body


def test_kept_counts_equal_counted_ones(client):
    one_of_each(client)
    assert client.counts() == counted(client.list())
    totals = client.ok("GET", "/v1/counts")["states"]
    assert {s: n for s, n in totals.items() if n} == {s: 2 for s in (
        "ready", "scheduled", "held", "running", "done", "failed", "cancelled")}


def test_kept_counts_survive_a_kill(server, client):
    one_of_each(client)
    before = client.counts()
    server.restart()
    client = server.tcp()
    assert client.counts() == before == counted(client.list())


def test_show_waits_for_the_end(server, client):
    job_id = client.submit()
    call = Background(server.tcp().ok, "GET", f"/v1/jobs/{job_id}?wait=30s", None, 200)
    eventually(lambda: client.waiting() == 1)
    client.end(client.take(), result=5)
    shown = call.result(5)
    assert (shown["id"], shown["state"], shown["result"]) == (job_id, "done", 5)


def test_show_of_an_ended_job_does_not_wait(client):
    job_id = client.submit()
    client.end(client.take())
    start = time.monotonic()
    assert client.ok("GET", f"/v1/jobs/{job_id}?wait=30s")["state"] == "done"
    assert time.monotonic() - start < 5


def test_show_answers_when_the_time_is_up(client):
    job_id = client.submit()
    assert client.ok("GET", f"/v1/jobs/{job_id}?wait=200ms")["state"] == "ready"


def test_show_goes_on_waiting_over_a_retry(server, client):
    job_id = client.submit("again")
    call = Background(server.tcp().ok, "GET", f"/v1/jobs/{job_id}?wait=30s", None, 200)
    eventually(lambda: client.waiting() == 1)
    client.end(client.take("again"), "failed", exit=1)
    client.end(client.take("again"))
    assert call.result()["attempt"] == 2


def test_many_wait_for_one_job(server, client):
    job_id = client.submit()
    calls = [Background(server.tcp().ok, "GET", f"/v1/jobs/{job_id}?wait=30s", None,
                        200) for _ in range(20)]
    eventually(lambda: client.waiting() == 20)
    client.end(client.take())
    assert {call.result()["state"] for call in calls} == {"done"}


@pytest.mark.embedded("refused before the store is asked")
@pytest.mark.parametrize("wait", ["61s", "-1s", "x", ""])
def test_a_wait_out_of_bounds_is_refused(client, wait):
    job_id = client.submit()
    reply = client.get(f"/v1/jobs/{job_id}?wait={wait}")
    assert reply.status in (400, 422) and "wait" in reply.json["error"]["message"], reply.body


def reason(client, job_id):
    shown = client.show(job_id)["reason"]
    assert shown["code"] and shown["text"], shown
    listed, = [job for job in client.list() if job["id"] == job_id]
    assert listed["reason"]["code"] == shown["code"]
    return shown


def test_every_waiting_job_says_why(client, admin):
    plain = client.submit()
    assert "worker" in reason(client, plain)["text"]
    later = client.submit(delay="1h")
    shown = reason(client, later)
    assert parse_time(shown["until"]) == parse_time(client.show(later)["due_at"])
    held = client.submit()
    client.act(held, "hold")
    assert "held" in reason(client, held)["text"] or "hold" in reason(client, held)["text"]
    retried = client.submit(retry={"max": 1, "first": "1h"})
    client.ok("PATCH", f"/v1/jobs/{retried}", {"priority": 9})
    job = client.take()
    assert job["id"] == retried
    client.end(job, "failed", exit=1, text="no ink")
    shown = reason(client, retried)
    assert shown["until"] and shown["code"] != reason(client, later)["code"]
    admin.ok("POST", "/v1/queues/work/pause")
    assert "pause" in reason(client, plain)["text"]
    admin.ok("POST", "/v1/queues/work/down")
    assert "down" in reason(client, plain)["text"]


def test_a_ready_job_behind_others_has_a_reason_too(server, client):
    first, second = client.submit(), client.submit()
    client.take()
    assert reason(client, second)
    assert client.show(first).get("reason") is None


def test_what_does_not_wait_has_no_reason(client):
    job_id = client.submit()
    job = client.take()
    assert client.show(job_id).get("reason") is None
    client.end(job)
    assert client.show(job_id).get("reason") is None
