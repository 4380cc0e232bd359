# SPDX-License-Identifier: MIT
"""Two servers on one PostgreSQL: what ties jobs together ties them across servers, once."""
import pytest

from waiting import Background, eventually

pytestmark = pytest.mark.embedded("has a PostgreSQL of its own")

DEFINITIONS = """
queues:
  work: {}
  next: {}
  part: {on_success: [{join: whole}]}
  summary: {}
  taker: {}
  route: {}
joins:
  whole: {key: "{k}", count: 5, then: [summary]}
"""


def test_a_job_waits_at_one_server_for_what_ends_at_the_other(a, b):
    first = a.submit("work")
    second = b.submit("next", after=[first])
    assert a.state(second) == "held"
    b.end(b.take("work"))
    assert eventually(lambda: a.claim("next")["jobs"])[0]["id"] == second


def test_a_signal_raised_at_one_lets_go_what_waits_at_the_other(a, b):
    ids = [client.submit("next", after=[{"signal": "here", "count": 2}]) for client in (a, b)]
    a.ok("POST", "/v1/signals/here")
    assert b.ok("GET", "/v1/signals/here")["waiters"] == 2
    b.ok("POST", "/v1/signals/here")
    assert a.ok("GET", "/v1/signals/here")["count"] == 2
    granted = []
    eventually(lambda: granted.extend(a.claim("next")["jobs"]) or len(granted) == 2)
    assert sorted(job["id"] for job in granted) == sorted(ids)


def test_a_level_taken_at_both_is_taken_once(both, a):
    ids = []
    for client in (both[0].unix(), both[1].unix()):
        ids += client.submit_many([{"queue": "taker", "after": [{"signal": "shared",
                                                                "take": True}]}] * 100)

    def give(server):
        own = server.unix()
        for _ in range(40):
            own.ok("POST", "/v1/signals/shared")

    for call in [Background(give, server) for server in both * 2]:
        call.result(60)
    eventually(lambda: a.counts()["taker"] == {"ready": 160, "held": 40})
    assert a.ok("GET", "/v1/signals/shared")["count"] == 0
    a.ok("POST", "/v1/signals/shared", {"count": 41})
    eventually(lambda: a.counts()["taker"] == {"ready": 200})
    assert a.ok("GET", "/v1/signals/shared")["count"] == 1
    assert len(set(ids)) == 200


def test_a_join_fires_once_wherever_its_arrivals_end(both, a):
    a.submit_many([{"queue": "part", "params": {"k": n % 4}} for n in range(200)])

    def work(server):
        own = server.unix()
        while True:
            jobs = own.claim("part", max=7, worker=f"w{id(own)}")["jobs"]
            if not jobs:
                return
            body = {"finish": [{"id": j["id"], "lease": j["lease"], "state": "done"} for j in jobs]}
            results = own.ok("POST", "/v1/finish", body)["results"]
            assert all(result.get("ok") for result in results), results

    def is_done():
        for call in [Background(work, server) for server in both]:
            call.result(60)
        return a.counts()["part"] == {"done": 200}

    eventually(is_done, deadline_s=60)
    eventually(lambda: a.ok("GET", "/v1/joins/whole")["fired"] == 40)
    made = [a.show(job["id"])["params"]["join"] for job in a.list("queue=summary")]
    assert len(made) == 40 and a.ok("GET", "/v1/joins/whole")["arrivals"] == []
    arrived = [job_id for join in made for job_id in join["jobs"]]
    assert len(arrived) == len(set(arrived)) == 200


def test_who_subscribes_at_one_gets_what_is_published_at_the_other(a, b):
    a.ok("PUT", "/v1/queues/listener", {"subscribe": ["news"]})
    queue = a.ok("POST", "/v1/topics/news/subscribe", {"worker": "w1"})["queue"]
    eventually(lambda: "listener" in str(b.get("/v1/topics/news").body))
    ids = eventually(lambda: (lambda got: got if len(got) == 2 else None)(
        b.ok("POST", "/v1/topics/news", {"params": {"n": 1}, "key": "n1"})["ids"]))
    assert sorted(a.show(job_id)["queue"] for job_id in ids) == ["listener", queue]
    assert a.ok("POST", "/v1/topics/news", {"params": {"n": 1}, "key": "n1"}, 200)["ids"] == ids
    assert a.take(queue, worker="w1")["params"] == {"n": 1}


def test_a_route_goes_on_at_either_server(both, a):
    steps = [{"name": f"s{n}", "queue": "route"} for n in range(6)]
    job_id = a.ok("POST", "/v1/jobs", {"steps": steps}, 201)["id"]
    for n in range(6):
        own = both[n % 2].unix()
        job = own.take("route", wait="20s")
        assert job["step"] == {"number": n + 1, "name": f"s{n}"} and job["attempt"] == 1
        own.end(job, **{"set": {f"v{n}": n}})
    shown = a.show(job_id)
    assert shown["state"] == "done" and shown["set"] == {f"v{n}": n for n in range(6)}
    assert [(entry["number"], entry["state"]) for entry in shown["progress"]] == [
        (n + 1, "done") for n in range(6)]
