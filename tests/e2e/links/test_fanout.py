# SPDX-License-Identifier: MIT
"""Large fan-outs: decided by one commit, carried out by several, whatever happens between."""
import pytest

from waiting import eventually

QUEUES = 1500  # more than one commit makes
ENDS = 60      # of 1 MiB each: more than one commit makes
LARGE = 200    # queues that get what is large
MIB = "x" * (1 << 20)
DEFINITIONS = "queues:\n  work: {on_success: next}\n  next: {}\n" + "".join(
    f"  q{i}: {{subscribe: [news{', large' if i < LARGE else ''}]}}\n" for i in range(QUEUES))


@pytest.fixture
def server(servers):
    return servers(definitions=DEFINITIONS).start()


def jobs_in(client, prefix):
    return {queue: sum(states.values()) for queue, states in client.counts().items()
            if queue.startswith(prefix)}


def test_a_publish_to_many_queues_reaches_each_once_across_a_kill(server):
    body = {"params": {"x": MIB[:100000]}, "key": "k"}
    ids = server.unix().ok("POST", "/v1/topics/news", body, 202)["ids"]
    assert len(set(ids)) == QUEUES
    server.kill()
    server.start()
    client = server.unix()
    assert client.ok("POST", "/v1/topics/news", body, 200)["ids"] == ids
    eventually(lambda: sum(jobs_in(client, "q").values()) == QUEUES)
    assert set(jobs_in(client, "q").values()) == {1}
    for job_id in ids[::100] + ids[-1:]:
        assert client.show(job_id)["params"] == body["params"]
    assert client.ok("POST", "/v1/topics/news", body, 200)["ids"] == ids


@pytest.mark.embedded("asks how large its files are")
def test_a_large_publication_is_stored_once(server):
    """1 MiB for each of 200 queues would be 200 MiB."""
    admin = server.unix()

    def size():
        store = admin.ok("GET", "/v1/server")["store"]
        return store["bytes"] + store["wal_bytes"]

    before = size()
    ids = admin.ok("POST", "/v1/topics/large", {"params": {"x": MIB}}, 202)["ids"]
    eventually(lambda: sum(jobs_in(admin, "q").values()) == LARGE)
    assert len(set(ids)) == LARGE and size() - before < 16 << 20
    assert all(admin.show(job_id)["params"] == {"x": MIB} for job_id in (ids[0], ids[-1]))


def test_many_large_ends_of_one_request_are_followed_once_across_a_kill(server):
    client = server.unix()
    for i in range(ENDS):
        client.submit("work", params={"i": i, "x": MIB})
    jobs = []
    while len(jobs) < ENDS:
        jobs += client.claim("work")["jobs"]
    items = [{"id": j["id"], "lease": j["lease"], "state": "done"} for j in jobs]
    results = client.ok("POST", "/v1/finish", {"finish": items}, 200)["results"]
    assert all(r["ok"] for r in results)
    server.kill()
    server.start()
    client = server.unix()
    eventually(lambda: jobs_in(client, "next") == {"next": ENDS})
    made = []
    while len(made) < ENDS:
        made += client.claim("next")["jobs"]
    assert sorted(j["params"]["i"] for j in made) == list(range(ENDS))
    assert sorted(j["params"]["cause"]["id"] for j in made) == sorted(j["id"] for j in jobs)
    assert not client.claim("next").get("jobs")
