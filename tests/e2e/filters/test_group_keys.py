# SPDX-License-Identifier: MIT
"""Keys of groups: known within one, and gone with it."""
import pytest

DEFINITIONS = """
groups:
  site: {}
  page: {}
queues:
  work: {filters: [{unique: {key: "{url}"}}]}
  wide: {filters: [{unique: {key: "{url}", scope: {group: site}}}]}
  few: {filters: [{limit: {pending: 2, scope: group}}]}
"""


@pytest.fixture
def server(servers):
    return servers(definitions=DEFINITIONS).start()


def post(client, body, status=201):
    return client.ok("POST", "/v1/jobs", body, status)


def open_group(client, kind="site", name="x", parent=None):
    body = {"open": kind, "name": name}
    if parent:
        body["parent"] = parent
    return client.ok("POST", "/v1/groups", body, 201)["id"]


def job(group, queue="work", url="a"):
    return {"queue": queue, "params": {"url": url}, **({"group": group} if group else {})}


def test_a_key_is_known_in_its_group_alone(client):
    one, two = open_group(client, name="one"), open_group(client, name="two")
    first = post(client, job(one))["id"]
    assert post(client, job(one), 200)["dropped"]["job"] == first
    assert post(client, job(two))["id"]
    assert post(client, job(None))["id"]
    assert post(client, job(None), 200)["id"] is None
    counts = client.ok("GET", f"/v1/groups/{one}")["counts"]
    assert counts["dropped"] == 1 and counts["made"] == 1


def test_a_key_of_a_kind_is_known_in_the_nearest_group_of_it(client):
    site = open_group(client)
    page = open_group(client, "page", "p", site)
    other = open_group(client, "page", "q", site)
    first = post(client, job(page, "wide"))["id"]
    assert post(client, job(other, "wide"), 200)["dropped"]["job"] == first
    assert post(client, job(site, "wide"), 200)["dropped"]["job"] == first
    alone = open_group(client, "page", "alone")
    second = post(client, job(alone, "wide"))["id"]
    assert post(client, job(None, "wide"), 200)["dropped"]["job"] == second, "else the root"


def test_a_limit_can_be_that_of_the_group(client):
    one = open_group(client)
    reply = post(client, [job(one, "few") for _ in range(3)])
    assert [i is None for i in reply["ids"]] == [False, False, True]
    assert post(client, job(one, "few"), 200)["dropped"]["filter"] == "limit"
    assert post(client, job(open_group(client, name="two"), "few"))["id"]


def test_a_repeated_group_does_the_work_again(client):
    for _ in range(2):
        jobs = [{**job(None), "group": {"open": "site", "name": "x"}} for _ in range(2)]
        ids = post(client, jobs)["ids"]
        assert ids[0] and ids[1] is None
        client.end(client.take("work"))
