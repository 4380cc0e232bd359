# SPDX-License-Identifier: MIT
"""limit and match: how many jobs wait, and what their params are."""
import pytest

DEFINITIONS = """
queues:
  few: {filters: [{limit: {pending: 2}}]}
  firm: {filters: [{limit: {pending: 2, on_clash: reject}}]}
  total: {filters: [{limit: {pending: 3, scope: all}}]}
  plain: {}
  both: {filters: [{limit: {pending: 2}}, {match: {ok: {eq: 1}}}]}
  deep:
    filters:
      - match: {depth: {max: 5}, url: {glob: "https://*"}, kind: {in: [a, b]}}
      - unique: {key: "{url}", scope: queue}
"""


@pytest.fixture
def server(servers):
    return servers(definitions=DEFINITIONS).start()


def post(client, body, status=201):
    return client.ok("POST", "/v1/jobs", body, status)


def test_a_limit_drops_what_is_too_much_and_counts_what_waits(client):
    ids = post(client, [{"queue": "few"} for _ in range(4)])
    assert [i is None for i in ids["ids"]] == [False, False, True, True]
    assert {d["filter"] for d in ids["dropped"]} == {"limit"}
    assert ids["dropped"][0]["job"] is None and "2 jobs wait" in ids["dropped"][0]["text"]
    got = client.take("few")
    assert post(client, {"queue": "few"})["id"], "one runs: it does not wait any more"
    assert post(client, {"queue": "few"}, 200)["id"] is None
    client.end(got)


def test_a_limit_that_rejects_answers_429(client):
    post(client, [{"queue": "firm"}, {"queue": "firm"}])
    error = client.refused(429, "too_many", "POST", "/v1/jobs", {"queue": "firm"})
    assert "firm" in error["message"] and "2" in error["message"]


def test_a_limit_of_all_counts_all_queues(client):
    post(client, [{"queue": "plain"}, {"queue": "plain"}])
    assert post(client, {"queue": "total"})["id"]
    assert post(client, {"queue": "total"}, 200)["dropped"]["filter"] == "limit"


@pytest.mark.parametrize("params, why", [
    ({"depth": 6, "url": "https://x", "kind": "a"}, "depth"),
    ({"depth": 5, "url": "http://x", "kind": "a"}, "url"),
    ({"depth": 5, "url": "https://x", "kind": "c"}, "kind"),
    ({"depth": 5, "url": "https://x"}, "kind"),
])
def test_a_job_that_does_not_match_is_dropped_with_the_reason(client, params, why):
    reply = post(client, {"queue": "deep", "params": params}, 200)
    assert reply["dropped"]["filter"] == "match" and why in reply["dropped"]["text"]


def test_all_filters_must_keep_it_and_the_first_that_does_not_is_named(client):
    good = {"queue": "deep", "params": {"depth": 5, "url": "https://x", "kind": "a"}}
    first = post(client, good)["id"]
    assert post(client, good, 200)["dropped"] == {
        "filter": "unique", "text": f"job {first} has the key 'https://x' already", "job": first}
    bad = {"queue": "deep", "params": {**good["params"], "depth": 9}}
    assert post(client, bad, 200)["dropped"]["filter"] == "match"
    shown = client.ok("GET", "/v1/queues/deep/drops")
    assert shown["dropped"] == {"unique": 1, "match": 1}


def test_emitted_jobs_count_once(client):
    client.submit("plain")
    job = client.take("plain")
    client.ok("POST", "/v1/emit", {"id": job["id"], "lease": job["lease"], "seq": 1,
                                   "jobs": [{"queue": "few"}] * 3})
    client.end(job)
    assert client.counts()["few"] == {"ready": 2}


def test_a_job_that_another_filter_drops_does_not_count(client):
    jobs = [{"queue": "both", "params": {"ok": ok}} for ok in (0, 0, 1, 1, 1)]
    assert [i is None for i in post(client, jobs)["ids"]] == [True, True, False, False, True]
