# SPDX-License-Identifier: MIT
"""Routes that are wrong: refused where it can be known, else the step fails with the reason.

And values that would like to be more than values.
"""
import json

import pytest

from worker import PYTHON

NOBODY = "0000000000001"  # an id that no job has

EVIL = ["a'b", 'a"b', "a\nb", "$(touch x)", "`touch x`", "; touch x", "${IFS}", "\\", "-n", "", " ",
        "*", "{date}", "\x01\x7f", "ä😀", "a\r\nb", "$((1/0))", "' ; touch x ; '",
        '" $(touch x) "']


@pytest.fixture
def own(shop):
    """A queue in which jobs bring their commands."""
    return shop.queue(own_command=True, retry={"max": 0})


@pytest.fixture
def plain(shop):
    return shop.queue("echo ran", retry={"max": 0})


def routed(steps, **fields):
    return {"steps": steps, **fields}


def refused(shop, job, *words, status=422, code="invalid"):
    before = shop.client.counts()
    error = shop.admin.refused(status, code, "POST", "/v1/jobs", job)
    assert all(word in error["message"] for word in words), error
    assert shop.client.counts() == before
    return error


def run(shop, job):
    return shop.ended(shop.admin.ok("POST", "/v1/jobs", job, 201)["id"])


def entries(job):
    return [(entry["number"], entry["state"]) for entry in job["progress"]]


# ---- refused when it is handed in

def test_a_route_without_steps_is_refused(shop):
    refused(shop, routed([]), "steps", "empty")
    refused(shop, routed("extract"), "steps", "list")
    refused(shop, routed(None), "queue", "steps")


def test_an_unknown_queue_is_named_with_its_place(shop, plain):
    steps = [{"name": f"s{n}", "queue": plain} for n in range(10)]
    steps[6]["queue"] = plain + "x"
    refused(shop, routed(steps), "steps[6]", f"'{plain}x'", f"'{plain}'")
    error = refused(shop, [{"queue": plain}, routed(steps)], "steps[6]")
    assert error["detail"]["index"] == 1


@pytest.mark.parametrize("step, words", [
    ({}, ["steps[1]", "name"]), (7, ["steps[1]", "object"]), ({"name": ""}, ["steps[1].name"]),
    ({"name": 7}, ["steps[1].name"]), ({"name": "x" * 201}, ["steps[1].name", "200"]),
    ({"name": "s", "quue": "q"}, ["steps[1]", "'quue'", "'queue'"]),
    ({"name": "s", "on_error": "contineu"}, ["steps[1].on_error", "'continue'"]),
    ({"name": "s", "final": "yes"}, ["steps[1].final", "true or false"]),
    ({"name": "s", "params": []}, ["steps[1].params", "object"]),
    ({"name": "s", "timeout": "-1s"}, ["steps[1].timeout"]),
    ({"name": "s", "retry": {"mx": 1}}, ["steps[1].retry", "'max'"]),
    ({"name": "s", "number": 1}, ["steps[1].number"]),
    ({"name": "s", "number": 0}, ["steps[1].number"]),
    ({"name": "s", "on_success": [7]}, ["steps[1].on_success"]),
    ({"name": "a", "process name": "b"}, ["steps[1]", "process name"]),
    ({"name": "s", "command": []}, ["steps[1].command"]),
    ({"name": "s", "command": 7}, ["steps[1].command"]),
    ({"all": []}, ["steps[1].all"]),
])
def test_a_step_that_makes_no_sense_is_named_with_its_place(shop, own, step, words):
    if isinstance(step, dict) and step:
        step = {"queue": own, **step}
    refused(shop, routed([{"name": "first", "queue": own, "command": "true"}, step]), *words)


def test_more_than_a_thousand_steps_are_refused(shop, plain):
    steps = [{"name": "s", "queue": plain}] * 1001
    refused(shop, routed(steps), "steps", "1001", "1000")
    job_id = shop.admin.ok("POST", "/v1/jobs", routed(steps[:1000]), 201)["id"]
    shop.admin.act(job_id, "cancel")
    assert len(shop.ended(job_id)["steps"]) == 1000


def test_a_queue_and_steps_exclude_each_other(shop, plain):
    steps = [{"name": "s", "queue": plain}]
    refused(shop, routed(steps, queue=plain), "queue", "steps")
    refused(shop, routed(steps, command="true"), "command", "steps")


def test_a_command_in_a_step_is_for_the_administrator_and_for_queues_that_take_it(shop, own, plain):
    job = routed([{"name": "a", "queue": own, "command": "true"}])
    error = shop.client.refused(403, "forbidden", "POST", "/v1/jobs", job)
    assert "steps[0].command" in error["message"]
    refused(shop, routed([{"name": "a", "queue": own, "command": "true"},
                          {"name": "b", "queue": plain, "command": "true"}]), "steps[1]",
            "own_command")


def test_a_record_that_does_not_fit_is_refused(shop, plain):
    steps = [{"name": "a", "queue": plain}, {"name": "b", "queue": plain}]
    refused(shop, routed(steps, progress=[{"number": 3, "status": 0}]), "progress[0].number")
    refused(shop, routed(steps, progress=[{"status": 0}]), "progress[0].number")
    refused(shop, routed(steps, progress=[{"number": 1, "status": "ok"}]), "progress[0].status")
    refused(shop, routed(steps, progress=[{"number": n, "status": 0} for n in (1, 2)]),
            "progress", "nothing is left")
    refused(shop, {"queue": plain, "progress": []}, "progress", "steps")


# ---- templates

def test_a_template_that_nothing_fills_is_refused_where_that_is_known(shop, own):
    job = routed([{"name": "a", "queue": own, "command": ["echo", "{date}"]}])
    refused(shop, job, "date")
    assert run(shop, {**job, "params": {"date": "x"}})["state"] == "done"


def test_what_an_earlier_step_may_set_is_looked_for_when_the_step_begins(shop, own):
    job = run(shop, routed([{"name": "a", "queue": own, "command": "true"},
                            {"name": "b", "queue": own, "command": ["echo", "{made}"]},
                            {"name": "end", "queue": own, "command": "true", "final": True}]))
    assert job["state"] == "failed" and "made" in job["text"], job
    assert entries(job) == [(1, "done"), (2, "failed"), (3, "done")]
    assert job["cause"] == "start"


def test_a_name_in_single_quotes_is_refused(shop, own):
    bad = "echo '{date}'"
    refused(shop, routed([{"name": "a", "queue": own, "command": bad}], params={"date": "x"}),
            "steps[0].command", "single quotes")
    refused(shop, {"queue": own, "command": bad, "params": {"date": "x"}}, "single quotes")
    shop.admin.refused(422, "invalid", "PUT", "/v1/queues/bad", {"command": bad})


def test_a_bad_template_is_refused_at_load(shops):
    shop = shops(definitions="queues:\n  bad: {command: \"echo '{date}'\"}\n")
    shop.server.spawn()
    assert shop.server.wait_exit() != 0
    text = shop.server.log_text()
    assert "queues.yaml:2" in text and "single quotes" in text and "'bad'" in text, text


# ---- values that would like to be more

@pytest.mark.parametrize("value", EVIL)
def test_a_value_is_an_argument_and_nothing_else(shop, own, value):
    argv = PYTHON + "import json, os, sys\nprint(json.dumps([sys.argv[1:], os.listdir()]))"
    program = str(shop.program(argv))
    steps = [{"name": "argv", "queue": own, "command": [program, "{v}", "-{v}-"]},
             {"name": "shell", "queue": own, "command": f"{program} {{v}} \"{{v}}\" x{{v}}y"}]
    job = run(shop, routed(steps, params={"v": value}))
    assert job["state"] == "done", job
    first, second = shop.log(job).splitlines()
    assert json.loads(first) == [[value, f"-{value}-"], []]
    assert json.loads(second) == [[value, value, f"x{value}y"], []]


@pytest.mark.parametrize("value", EVIL[:6] + EVIL[-2:])
def test_what_a_step_sets_is_a_value_too(shop, own, value):
    program = str(shop.program(PYTHON + "import json, sys\nprint(json.dumps(sys.argv[1:]))"))
    setter = str(shop.program(PYTHON + "import os\nvalue = os.environb[b'WAYBILL_PARAM_JSON']\n"
                              "os.write(3, b'set v ' + value + b'\\n')"))
    steps = [{"name": "a", "queue": own, "command": [setter]},
             {"name": "b", "queue": own, "command": f"{program} {{v}} \"{{v}}\""}]
    job = run(shop, routed(steps, params={"json": json.dumps(value)}))
    assert job["state"] == "done" and job["set"] == {"v": value}, job
    assert json.loads(shop.log(job)) == [value, value]


def test_a_nul_is_refused_however_it_comes(shop, own, plain):
    shop.admin.refused(400, "bad_request", "POST", "/v1/jobs",
                       f'{{"queue":"{plain}","params":{{"v":"a\\u0000b"}}}}',
                       {"Content-Type": "application/json"})
    shop.client.refused(400, "bad_request", "GET", f"/job_start?job_name={plain}&v=a%00b")
    setter = str(shop.program(r"""echo 'set v "a\u0000b"' >&3; read answer <&4; echo "$answer" """))
    job = run(shop, routed([{"name": "a", "queue": own, "command": [setter]},
                            {"name": "b", "queue": own, "command": ["echo", "{v}"]}]))
    assert job["state"] == "failed" and entries(job) == [(1, "done"), (2, "failed")], job
    assert "v" in job["text"]


# ---- steps that are added

ADD = "echo 'step {}' >&3; read answer <&4; echo \"$answer\""


def test_a_step_added_to_the_final_ones_is_refused(shop, own, plain):
    line = json.dumps({"name": "more", "queue": plain})
    job = run(shop, routed([{"name": "a", "queue": plain},
                            {"name": "end", "queue": own, "command": ADD.replace("{}", line),
                             "final": True}]))
    assert job["state"] == "done" and [s["name"] for s in job["steps"]] == ["a", "end"], job
    answer = shop.log(job).splitlines()[-1]
    assert answer.startswith(b"fail ") and b"the final steps of the route have begun" in answer


def test_a_step_added_by_a_finish_to_an_ended_route_is_refused(shop):
    queue = shop.queue()
    job_id = shop.admin.ok("POST", "/v1/jobs", routed(
        [{"name": "a", "queue": queue}, {"name": "end", "queue": queue, "final": True}]), 201)["id"]
    shop.client.end(shop.client.take(queue))
    job = shop.client.take(queue)
    assert job["id"] == job_id and job["step"]["number"] == 2
    result = shop.client.finish(job, steps=[{"name": "more", "queue": queue}])
    assert result["error"]["code"] == "invalid" and "final steps" in result["error"]["message"]
    shop.client.end(job)
    result = shop.client.finish(job, steps=[{"name": "more", "queue": queue}])
    assert result.get("again") or result["error"]["code"] in ("stale_lease", "conflict"), result
    assert len(shop.ended(job_id)["steps"]) == 2


@pytest.mark.parametrize("steps, words", [
    ([{"name": "x", "queue": "nowhere"}], ["nowhere"]), ([{"nme": "x"}], ["steps[0]", "'name'"]),
    ("x", ["steps", "array"]), ([{"name": "x", "command": 7}], ["steps[0].command"]),
])
def test_an_added_step_that_makes_no_sense_is_refused(shop, steps, words):
    queue = shop.queue()
    job_id = shop.admin.ok("POST", "/v1/jobs", routed([{"name": "a", "queue": queue}]), 201)["id"]
    job = shop.client.take(queue)
    body = {"finish": [{"id": job_id, "lease": job["lease"], "state": "done", "steps": steps}]}
    reply = shop.client.post("/v1/finish", body)
    error = reply.json["error"] if reply.status == 422 else reply.json["results"][0]["error"]
    assert error["code"] == "invalid", error
    assert all(word in error["message"] for word in words), error
    assert shop.client.state(job_id) == "running"
    shop.client.end(job)
    assert len(shop.ended(job_id)["steps"]) == 1


def test_a_worker_without_the_right_cannot_add_a_command(shops, workers):
    line = json.dumps({"name": "more", "queue": "own", "command": "id"})
    command = ADD.replace("{}", line).replace('"', '\\"')
    shop = shops(slots=0, definitions=f"""
queues:
  own: {{own_command: true}}
  add: {{command: "{command}", retry: {{max: 0}}, may_emit: {{command: true}}}}
  plain: {{command: echo ran}}
""").start()
    workers(shop.server, "w", url=f"http://127.0.0.1:{shop.server.port}").start()
    ids = [shop.admin.ok("POST", "/v1/jobs", job, 201)["id"]
           for job in (routed([{"name": "a", "queue": "add"}]), {"queue": "plain"})]
    job = shop.ended(ids[0])
    assert job["state"] == "failed" and "steps[0].command" in job["text"], job
    assert len(job["steps"]) == 1 and shop.ended(ids[1])["state"] == "done"


def test_a_route_does_not_grow_beyond_a_thousand_steps(shop):
    queue = shop.queue()
    steps = [{"name": "s", "queue": queue}] * 1000
    job_id = shop.admin.ok("POST", "/v1/jobs", routed(steps), 201)["id"]
    job = shop.client.take(queue)
    result = shop.client.finish(job, steps=[{"name": "one more", "queue": queue}])
    assert result["error"]["code"] == "invalid" and "1000" in result["error"]["message"], result
    shop.client.end(job)
    shop.admin.act(job_id, "cancel")


def test_steps_are_for_jobs_with_a_route(shop):
    queue = shop.queue()
    shop.submit(queue)
    job = shop.client.take(queue)
    result = shop.client.finish(job, steps=[{"name": "more", "queue": queue}])
    assert result["error"]["code"] == "invalid" and "route" in result["error"]["message"], result
    shop.client.end(job)


# ---- queues that change under way

def test_a_queue_that_is_gone_when_its_step_is_reached_fails_the_step(shop, own):
    gone = shop.queue()
    held = shop.queue()
    job_id = shop.admin.ok("POST", "/v1/jobs", routed(
        [{"name": "a", "queue": held}, {"name": "b", "queue": gone},
         {"name": "end", "queue": own, "command": "true", "final": True}]), 201)["id"]
    shop.admin.ok("DELETE", f"/v1/queues/{gone}")
    shop.client.end(shop.client.take(held))
    job = shop.ended(job_id)
    assert job["state"] == "failed" and gone in job["text"], job
    assert entries(job) == [(1, "done"), (2, "failed"), (3, "done")]


# ---- conditions, refs, retries

@pytest.mark.parametrize("after, words", [
    (7, ["after"]), ([7], ["after[0]"]), ([{}], ["after[0]"]), ([{"job": 7}], ["after[0].job"]),
    (["no such ref"], ["no such ref"]), ([NOBODY], [NOBODY]),
    ([{"job": NOBODY, "on": "sucess"}], ["after[0].on", "'success'"]),
    ([{"signal": "a/b"}], ["after[0].signal"]), ([{"signal": "s", "count": 0}], ["count"]),
    ([{"signal": "s", "on": "end"}], ["after[0].on"]), ([{"job": NOBODY, "take": True}], ["take"]),
    ([{"group": "g"}], ["group"]),
])
def test_a_condition_that_makes_no_sense_is_refused(shop, plain, after, words):
    refused(shop, {"queue": plain, "after": after}, *words)


def test_graphs_that_cannot_be_are_refused_as_a_whole(shop, plain):
    def jobs(*pairs):
        return [{"queue": plain, "ref": ref, "after": after} for ref, after in pairs]

    refused(shop, jobs(("a", ["b"]), ("b", ["c"]), ("c", ["a"])), "wait for itself")
    refused(shop, jobs(("a", ["a"])), "a")
    refused(shop, jobs(("a", []), ("a", []), ("b", ["a"])), "'a'", "twice")
    refused(shop, jobs(("a", []), ("b", ["x"])), "'x'")
    refused(shop, jobs(("a", []), ("b", [{"job": "a", "step": 4}])), "after[0]", "no steps")


def test_a_retry_names_a_step_that_is_there(shop, plain):
    job = run(shop, routed([{"name": "a", "queue": plain}, {"name": "b", "queue": plain},
                            {"name": "b", "queue": plain}]))
    path = f"/v1/jobs/{job['id']}/retry"
    for body, words in (({"from": 4}, ["4"]), ({"from": "c"}, ["'c'"]), ({"from": "b"}, ["b"]),
                        ({"from": 0}, ["from"]), ({"from": ""}, ["from"]), ({"from": []}, ["from"]),
                        ({"form": 1}, ["from"]),
                        ({"set": {}, "params": {"a": 1}}, ["mean the same"])):
        error = shop.admin.refused(422, "invalid", "POST", path, body)
        assert all(word in error["message"] for word in words), (body, error)
    plain_job = shop.run(plain)
    error = shop.admin.refused(422, "invalid", "POST", f"/v1/jobs/{plain_job['id']}/retry",
                               {"from": 1})
    assert "step" in error["message"] or "route" in error["message"], error


# ---- destinations

@pytest.mark.parametrize("dests, words", [
    (["nowhere"], ["on_success", "nowhere"]), ([{"join": "nowhere"}], ["on_success", "nowhere"]),
    ([{"queue": "x", "topic": "y"}], ["on_success"]), ([{}], ["on_success"]),
    ([{"signal": "s", "count": -1}], ["on_success", "count"]), (7, ["on_success"]),
    ([{"topic": ".x"}], ["on_success"]), (["x"] * 101, ["on_success", "100"]),
])
def test_a_destination_that_leads_nowhere_is_refused(shop, plain, dests, words):
    refused(shop, {"queue": plain, "on_success": dests}, *words)
    refused(shop, routed([{"name": "a", "queue": plain, "on_success": dests}]), "steps[0]", *words)
    error = shop.admin.refused(422, "invalid", "PUT", "/v1/queues/leads", {"on_success": dests})
    assert "on_success" in error["message"]


def test_a_plan_is_judged_like_a_job_and_makes_nothing(shop, own, plain):
    before = shop.client.counts()
    steps = [{"name": "a", "queue": own, "command": ["echo", "{v}", "{made}"]},
             {"name": "b", "queue": plain, "final": True}]
    error = shop.admin.refused(422, "invalid", "POST", "/v1/jobs?dry_run=1",
                               routed([{"name": "a", "queue": "nowhere"}]))
    assert "nowhere" in error["message"]
    plan, = shop.admin.ok("POST", "/v1/jobs?dry_run=1",
                          routed(steps, params={"v": "$(id)", "made": "x"}), 200)["plan"]
    assert [step["name"] for step in plan["steps"]] == ["a", "b"]
    assert plan["steps"][0]["command"] == ["echo", "$(id)", "x"] and plan["steps"][1]["final"]
    shop.admin.refused(422, "invalid", "POST", "/v1/jobs?dry_run=1&wait=1s", routed(steps))
    assert shop.client.counts() == before
