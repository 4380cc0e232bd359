# SPDX-License-Identifier: MIT
"""SharedMessenger (seed 001), sentence by sentence: each test is named after one."""
import pytest

from waiting import eventually

DEFINITIONS = """
resources:
  search: {slots: 1}
  night: {open: ["00:00-00:01 Mon"], closed: ["2000-01-01..2100-01-01"]}
queues:
  start: {}
  fetch: {}
  parse: {}
  ask: {needs: {search: 1}}
  later: {needs: {night: 1}}
  page:
    filters:
      - match: {depth: {max: 3}}
      - unique: {key: "{url}", scope: group}
  summary: {}
groups:
  task: {finally: {queue: summary, params: {made: "{made}", done: "{done}", dropped: "{dropped}"}}}
  part: {finally: {queue: summary, params: {part: "{name}"}}}
"""


@pytest.fixture
def server(servers):
    return servers(definitions=DEFINITIONS).start()


@pytest.fixture(name="c")
def an_administrator(server):
    return server.unix()


def group_of(c, job):
    return c.show(job)["group"]["id"]


def group(c, group_id):
    return c.ok("GET", f"/v1/groups/{group_id}")


def begin(c, name="a", queue="start", **fields):
    """A job that opens a task."""
    return c.submit(queue, group={"open": "task", "name": name}, **fields)


# ---- definitions

def test_a_message_is_the_input_or_output_of_a_sub_task_and_is_persisted(server, c):
    c.submit("start", params={"in": 1})
    c.end(c.take("start"), emit=[{"queue": "fetch", "params": {"out": 2}}])
    server.restart()
    assert server.unix().take("fetch")["params"] == {"out": 2}


def test_a_worker_performs_a_single_type_of_sub_task(c):
    c.submit("fetch")
    c.submit("parse")
    assert {job["queue"] for job in c.claim("fetch", max=10)["jobs"]} == {"fetch"}


def test_it_consumes_a_message_and_outputs_messages_for_other_workers(c):
    c.submit("fetch", params={"url": "x"})
    job = c.take("fetch")
    c.end(job, emit=[{"queue": "parse", "params": {"n": n}} for n in range(2)])
    assert c.state(job["id"]) == "done"
    assert sorted(j["params"]["n"] for j in c.claim("parse", max=10)["jobs"]) == [0, 1]


def test_a_resource_is_not_overused(c):
    c.submit_many([{"queue": "ask"}] * 3)
    assert len(c.claim("ask", max=3)["jobs"]) == 1
    assert c.ok("GET", "/v1/resources/search")["in_use"] == 1


def test_a_resource_may_be_used_at_certain_hours_only(c):
    job = c.submit("later")
    assert c.claim("later")["jobs"] == []
    reason = c.show(job)["reason"]
    assert reason["code"] == "resource" and "night is closed" in reason["text"], reason


def test_a_filter_decides_when_a_message_is_created_whether_it_is_kept(c):
    job = begin(c, queue="page", params={"url": "a", "depth": 1})
    again = {"queue": "page", "params": {"url": "a", "depth": 1}, "group": group_of(c, job)}
    reply = c.ok("POST", "/v1/jobs", again, 200)
    assert reply["id"] is None and reply["dropped"]["filter"] == "unique", reply
    assert reply["dropped"]["job"] == job
    assert [j["id"] for j in c.list("queue=page")] == [job]  # the queue stores no excess data


def test_all_filters_must_say_keep(c):
    keep = {"queue": "page", "params": {"url": "b", "depth": 3}}
    deep = {"queue": "page", "params": {"url": "c", "depth": 4}}
    c.ok("POST", "/v1/jobs", keep, 201)
    assert c.ok("POST", "/v1/jobs", deep, 200)["dropped"]["filter"] == "match"
    assert c.ok("POST", "/v1/jobs", keep, 200)["dropped"]["filter"] == "unique"


def test_a_workgroup_identifies_sub_tasks_as_part_of_a_larger_task(c):
    job = begin(c)
    inside = group_of(c, job)
    c.end(c.take("start"), emit=[{"queue": "fetch"}, {"queue": "fetch"}])
    assert {group_of(c, j["id"]) for j in c.list("queue=fetch")} == {inside}
    assert {j["id"] for j in c.list(f"group={inside}")} >= {job}


def test_workgroups_are_optional(c):
    assert c.show(c.submit("start")).get("group") is None


def test_workgroups_can_be_nested(c):
    outer = group_of(c, begin(c))
    c.end(c.take("start"), emit=[{"queue": "fetch", "group": {"open": "part", "name": "p"}}])
    inner = group_of(c, c.list("queue=fetch")[0]["id"])
    assert inner != outer and group(c, inner)["parent"] == outer
    assert group(c, outer)["counts"]["groups"] == 1


def test_once_all_messages_are_processed_a_handler_performs_final_processing(c):
    task = group_of(c, begin(c))
    c.end(c.take("start"), emit=[{"queue": "fetch"}] * 2)
    first, second = c.claim("fetch", max=2)["jobs"]
    c.end(first)
    assert c.list("queue=summary") == []
    c.end(second)
    last = c.take("summary")
    assert last["params"] == {"made": 3, "done": 3, "dropped": 0}, last["params"]
    assert group(c, task)["state"] == "finishing"
    c.end(last)
    assert group(c, task)["state"] == "done"
    assert len(c.list("queue=summary")) == 1


def test_there_is_a_root_workgroup_for_global_data(server, c):
    version = group(c, "root")["version"]
    c.ok("PATCH", "/v1/groups/root", {"data": {"seen": 7}, "if_version": version})
    server.restart()
    assert group(server.unix(), "root")["data"]["seen"] == 7


def test_messages_and_workgroups_contain_persistent_data(server, c):
    task = group_of(c, begin(c, params={"a": 1}))
    c.ok("PATCH", f"/v1/groups/{task}", {"data": {"found": ["x"]}})
    server.restart()
    job = server.unix().take("start")
    assert job["params"] == {"a": 1} and job["group"]["data"] == {"found": ["x"]}, job


def test_duplicates_go_within_a_task_and_may_come_again_when_it_is_repeated(c):
    for name in ("first", "repeated"):
        begin(c, name)
        c.end(c.take("start"),
              emit=[{"queue": "page", "params": {"url": "same", "depth": 1}}] * 2)
        jobs = c.claim("page", max=10)["jobs"]
        assert len(jobs) == 1
        c.end(jobs[0])
        assert c.take("summary")["params"]["dropped"] == 1


# ---- the main loop (the user's view is in tests/e2e/cli/test_run.py)

def test_a_message_is_taken_off_the_top_of_the_queue(c):
    ids = c.submit_many([{"queue": "fetch"}] * 3)
    assert [c.take("fetch")["id"] for _ in ids] == ids


def test_the_resources_of_its_type_are_asked_whether_it_may_run_now_or_when(c):
    c.submit_many([{"queue": "ask"}] * 2)
    c.take("ask")
    waiting = next(j for j in c.list("queue=ask") if j["state"] == "ready")
    assert c.show(waiting["id"])["reason"]["text"] == "search has 1 of 1 slots in use"
    c.ok("POST", "/v1/resources/search/shut", {"for": "1h", "why": "busy"})
    assert c.show(waiting["id"])["reason"]["until"] is not None


def test_a_message_that_cannot_run_does_not_hold_back_one_that_can(c):
    c.submit("later")
    able = c.submit("fetch")
    assert c.take(["later", "fetch"])["id"] == able


def test_once_one_can_run_the_worker_of_its_type_is_started(servers):
    server = servers(definitions="queues: {run: {command: [sh, -c, 'echo ran']}}", slots=1).start()
    c = server.unix()
    job = c.submit("run")
    eventually(lambda: c.state(job) == "done", "the program has run")
    assert c.get(f"/v1/jobs/{job}/log").body == b"ran\n"


def test_new_messages_pass_the_filters_and_come_to_the_bottom_of_the_queue(c):
    old = c.submit("page", params={"url": "old", "depth": 1})
    c.submit("start")
    c.end(c.take("start"), emit=[{"queue": "page", "params": {"url": url, "depth": depth}}
                                 for url, depth in (("new", 1), ("old", 1), ("deep", 9))])
    taken = [c.take("page") for _ in range(2)]
    assert [job["params"]["url"] for job in taken] == ["old", "new"]
    assert taken[0]["id"] == old and c.claim("page")["jobs"] == []


def test_sub_tasks_can_be_worked_on_by_many_at_once(c, server):
    c.submit_many([{"queue": "fetch"}] * 4)
    ids = {server.tcp().claim("fetch", worker=f"w{n}", max=1)["jobs"][0]["id"] for n in range(4)}
    assert len(ids) == 4
