# SPDX-License-Identifier: MIT
"""Three servers on one store, most of whose jobs are duplicates."""
import random
import threading

import pytest

import postgres
from waiting import eventually

DEFINITIONS = """
queues:
  source: {}
  work: {filters: [{unique: {key: "{url}", scope: queue}}]}
"""

SERVERS, SOURCES, EMITS, DISTINCT = 3, 4, 500, 2400


@pytest.fixture
def store():
    url = postgres.new_store()
    yield url
    postgres.give_back(url)


@pytest.mark.skipif(not postgres.STORE, reason="several servers need PostgreSQL")
def test_of_all_duplicates_of_three_servers_one_is_kept(store, servers):
    first, *others = [servers(name=name, definitions=DEFINITIONS, store=store).start()
                      for name in "abc"]
    faults, urls = [], []

    def emit_all(server, seed):
        rng = random.Random(seed)
        client = server.tcp()
        try:
            for _ in range(SOURCES):
                client.submit("source")
                source = client.take("source", wait="20s")
                for seq in range(1, 3):
                    picked = [f"u{rng.randrange(DISTINCT)}" for _ in range(EMITS // 2)]
                    urls.extend(picked)
                    jobs = [{"queue": "work", "params": {"url": url}} for url in picked]
                    client.ok("POST", "/v1/emit",
                              {"id": source["id"], "lease": source["lease"], "seq": seq,
                               "jobs": jobs, "visible": seq == 2}, 200)
                client.end(source)
                jobs = [{"queue": "work", "params": {"url": f"u{rng.randrange(DISTINCT)}"}}
                        for _ in range(50)]
                urls.extend(job["params"]["url"] for job in jobs)
                client.ok("POST", "/v1/jobs", jobs)
        except BaseException as fault:  # told by the main thread
            faults.append(fault)

    threads = [threading.Thread(target=emit_all, args=(server, seed))
               for seed, server in enumerate([first, *others, first, *others])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults, faults
    client = first.tcp()
    eventually(lambda: "staged" not in client.counts().get("work", {}))
    got = []
    while batch := client.claim("work", max=1000)["jobs"]:
        got += [job["params"]["url"] for job in batch]
    assert len(got) == len(set(got)), "a key was given twice"
    assert set(got) == set(urls)
    dropped = client.ok("GET", "/v1/queues/work/drops")["dropped"]["unique"]
    assert dropped + len(got) == len(urls) and dropped > len(urls) / 2
