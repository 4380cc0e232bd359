# SPDX-License-Identifier: MIT
"""Rights travel with jobs: what a program emits, and who may change a job's own command."""
import json
import os
import pwd

import pytest

NOBODY = pwd.getpwnam("nobody").pw_uid

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs programs as others")


def says(*lines):
    """A program that says these lines and prints what it is answered."""
    return "\n".join(f"echo '{line}' >&3; read -r answer <&4; echo \"$answer\"" for line in lines)


def emitting(shop, lines, **definition):
    """A job of a queue of nobody's whose program says these lines: how it ended."""
    limits = {"user": "nobody", **definition.pop("limits", {})}
    return shop.carry_out(says(*lines), limits=limits, **definition)


def command_that_tells(shop):
    """What a stolen command would do: leave who it was."""
    place = shop.place("stolen")
    return place, ["sh", "-c", f"id -u > {place}"]


# ---- what a program may not emit

@needs_root
@pytest.mark.parametrize("word", ["emit", "emit!"])
def test_a_program_of_nobody_cannot_have_a_command_run(shop, word):
    place, command = command_that_tells(shop)
    before = shop.client.counts()
    line = f"{word} " + json.dumps({"queue": "default", "command": ["id"]})
    job = emitting(shop, [line, f"{word} " + json.dumps({"queue": "default", "command": command})
                          .replace("'", "'\\''")])
    assert job["state"] == "failed" and job["cause"] == "protocol", job
    assert "may_emit" in job["text"], job
    assert b"fail " + word.encode() + b": command: jobs of this queue may not" in shop.log(job)
    assert not place.exists()
    after = shop.client.counts()
    assert after.get("default") == before.get("default"), "nothing was made"


@needs_root
@pytest.mark.parametrize("word", ["emit", "emit!"])
def test_nor_in_the_steps_of_what_it_emits(shop, word):
    line = f"{word} " + json.dumps({"steps": [{"queue": "default", "command": ["true"]}]})
    job = emitting(shop, [line])
    assert job["state"] == "failed" and job["cause"] == "protocol", job
    assert b"steps[0].command" in shop.log(job)


@needs_root
def test_nor_as_a_step_of_its_own_route(shop):
    queue = shop.queue(says('step {"queue":"default","command":["true"]}'),
                       limits={"user": "nobody"})
    job = shop.ended(shop.admin.ok("POST", "/v1/jobs", {"steps": [{"queue": queue}]})["id"])
    assert job["state"] == "failed" and "may_emit" in job["text"], job
    assert b"fail step: steps[0].command" in shop.log(job)


@needs_root
def test_what_it_emitted_before_is_not_released(shop):
    other = shop.queue()
    job = emitting(shop, [f'emit {{"queue":"{other}"}}',
                          'emit {"queue":"default","command":["true"]}'])
    assert job["state"] == "failed", job
    assert shop.client.list(f"queue={other}") == []


# ---- what it may emit where its queue says so

def waiting_for(shop, queue):
    job_id = shop.client.list(f"queue={queue}")[0]["id"]
    return shop.ended(job_id)


@needs_root
def test_a_command_that_may_be_emitted_runs_as_the_emitters_user(shop):
    target = shop.queue(own_command=True)
    line = json.dumps({"queue": target, "command": ["id", "-u"]})
    job = emitting(shop, [f"emit {line}"], may_emit={"command": True},
                   limits={"files": 77, "nice": 5})
    assert job["state"] == "done", job
    emitted = waiting_for(shop, target)
    assert emitted["state"] == "done" and shop.log(emitted).split() == [str(NOBODY).encode()]
    assert emitted["limits"] == {"files": 77, "nice": 5, "user": "nobody"}


@needs_root
def test_and_under_its_limits_and_those_of_the_queue_it_is_in(shop):
    target = shop.queue(own_command=True, limits={"files": 55, "user": "daemon"})
    line = json.dumps({"queue": target, "command": "id -u; ulimit -n; nice"})
    emitting(shop, [f"emit! {line}"], may_emit={"command": True}, limits={"files": 77, "nice": 5})
    niceness = min(os.nice(0) + 5, 19)
    assert shop.log(waiting_for(shop, target)).decode().split() == \
        [str(NOBODY), "55", str(niceness)]


@needs_root
def test_so_does_a_step_and_a_route(shop):
    target = shop.queue(own_command=True)
    step = json.dumps({"queue": target, "command": ["id", "-u"]})
    queue = shop.queue(says(f"step {step}", f'emit {{"steps":[{step}]}}'),
                       limits={"user": "nobody"}, may_emit={"command": True})
    job = shop.ended(shop.admin.ok("POST", "/v1/jobs", {"steps": [{"queue": queue}]})["id"])
    assert job["state"] == "done", job
    assert shop.log(job).split()[-1] == str(NOBODY).encode()
    emitted = [j for j in shop.client.list(f"queue={target}") if j["id"] != job["id"]]
    assert shop.log(shop.ended(emitted[0]["id"])).split() == [str(NOBODY).encode()]


@needs_root
def test_what_such_a_command_emits_in_turn_has_no_more_rights(shop):
    """Its queue decides again, and its user stays."""
    last = shop.queue(own_command=True)
    for may_emit, state in (({}, "failed"), ({"command": True}, "done")):
        target = shop.queue(own_command=True, may_emit=may_emit)
        inner = json.dumps({"queue": last, "command": ["id", "-u"]})
        program = shop.program(says(f"emit {inner}"))
        line = json.dumps({"queue": target, "command": [str(program)]})
        emitting(shop, [f"emit {line}"], may_emit={"command": True})
        assert waiting_for(shop, target)["state"] == state
    assert shop.log(waiting_for(shop, last)).split() == [str(NOBODY).encode()]


@needs_root
def test_run_again_it_is_still_the_emitters(shop):
    target = shop.queue(own_command=True)
    line = json.dumps({"queue": target, "command": ["id", "-u"]})
    emitting(shop, [f"emit {line}"], may_emit={"command": True})
    first = waiting_for(shop, target)
    shop.client.act(first["id"], "retry")
    shop.ended(first["id"])
    copy = shop.client.act(first["id"], "clone", status=201)["id"]
    moved = shop.queue(own_command=True)
    later = shop.admin.submit(moved, command=["true"], delay="1h")
    assert later
    shop.ended(copy)
    for job_id in (first["id"], copy):
        assert set(shop.log(job_id).split()) == {str(NOBODY).encode()}


# ---- the same over HTTP, whoever calls

@pytest.mark.parametrize("where", ["unix", "tcp"])
def test_the_queue_of_the_job_decides_for_every_connection(server, where):
    caller = getattr(server, where)()
    caller.submit()
    job = caller.take()
    lease = {"id": job["id"], "lease": job["lease"]}
    error = caller.refused(403, "forbidden", "POST", "/v1/emit",
                           {**lease, "seq": 1, "jobs": [{"queue": "own", "command": ["true"]}]})
    assert "command" in error["message"]
    finish = {**lease, "state": "done", "emit": [{"queue": "own", "command": ["true"]}]}
    if where == "unix":
        result = caller.ok("POST", "/v1/finish", {"finish": [finish]})["results"][0]
        assert result["error"]["code"] == "forbidden"
    else:
        caller.refused(403, "forbidden", "POST", "/v1/finish", {"finish": [finish]})
    assert caller.state(job["id"]) == "running" and caller.list("queue=own") == []


# ---- borrowed commands

OWN = {"queue": "own", "command": ["true"], "params": {"x": 1}}


def own_jobs(admin):
    """One that carries its command, and one whose second step does."""
    return [admin.ok("POST", "/v1/jobs", OWN)["id"],
            admin.ok("POST", "/v1/jobs", {"params": {"x": 1}, "steps": [
                {"queue": "work"}, {"queue": "own", "command": ["true"]}]})["id"]]


def run_to_the_end(admin, job_id):
    while admin.state(job_id) != "done":
        admin.end(admin.take(["work", "own"]))


def everything(client):
    return sorted(client.list(), key=lambda job: job["id"])


def test_a_waiting_job_with_its_own_command_is_not_changed_by_others(server, client, admin):
    ids = own_jobs(admin)
    before = everything(client)
    for job_id in ids:
        path = f"/v1/jobs/{job_id}"
        for method, where, body in (("PATCH", path, {"params": {"x": 2}}),
                                    ("PATCH", path, {"params": {}}),
                                    ("POST", f"{path}/clone", {"params": {"x": 2}}),
                                    ("POST", f"{path}/move", {"queue": "default"})):
            error = client.refused(403, "forbidden", method, where, body)
            assert "Unix socket" in error["message"] and "token" in error["message"]
        for fields in ({"env": {"LD_PRELOAD": "/tmp/x.so"}}, {"workdir": "/tmp"},
                       {"command": ["id"]}, {"limits": {"user": "root"}}):
            for method, verb in (("PATCH", ""), ("POST", "/clone"), ("POST", "/retry")):
                reply = client.request(method, path + verb, fields)
                assert reply.status in (403, 409, 422), (verb, fields)
    assert everything(client) == before


def test_nor_is_one_that_has_ended_run_again_with_other_params(server, client, admin):
    for job_id in own_jobs(admin):
        run_to_the_end(admin, job_id)
        path = f"/v1/jobs/{job_id}"
        before = everything(client)
        for body in ({"params": {"x": 2}}, {"set": {"y": 1}}):
            client.refused(403, "forbidden", "POST", f"{path}/retry", body)
        client.refused(403, "forbidden", "POST", f"{path}/clone", {"params": {"x": 2}})
        if "steps" in client.show(job_id):
            client.refused(403, "forbidden", "POST", f"{path}/retry",
                           {"from": 2, "params": {"x": 2}})
        assert everything(client) == before


def test_run_again_as_it_was_anybody_may(server, client, admin):
    for job_id in own_jobs(admin):
        client.ok("PATCH", f"/v1/jobs/{job_id}", {"priority": 3})
        client.act(job_id, "clone", status=201)
        run_to_the_end(admin, job_id)
        client.act(job_id, "retry")


def test_the_administrator_changes_what_he_likes(server, admin):
    for job_id in own_jobs(admin):
        admin.ok("PATCH", f"/v1/jobs/{job_id}", {"params": {"x": 2}})
        admin.act(job_id, "clone", {"params": {"x": 3}}, status=201)
        run_to_the_end(admin, job_id)
        admin.act(job_id, "retry", {"params": {"x": 4}})
        assert admin.show(job_id)["params"] == {"x": 4}


def test_params_of_the_command_of_a_queue_are_free(client):
    job_id = client.submit(params={"x": 1})
    client.ok("PATCH", f"/v1/jobs/{job_id}", {"params": {"x": 2}})
    client.act(job_id, "clone", {"params": {"x": 3}}, status=201)
    client.act(job_id, "move", {"queue": "other"})
    client.end(client.take("other"))
    client.act(job_id, "retry", {"params": {"x": 4}})


def test_a_known_key_does_not_borrow_its_command(client, admin):
    """`redo` runs the job again that has the key: as it was, or not at all."""
    job_id = admin.ok("POST", "/v1/jobs", {**OWN, "key": "k"})["id"]
    run_to_the_end(admin, job_id)
    client.refused(409, "conflict", "POST", "/v1/jobs",
                   {"queue": "own", "key": "k", "redo": True, "params": {"x": 2}})
    client.refused(403, "forbidden", "POST", "/v1/jobs",
                   {**OWN, "key": "k", "redo": True, "params": {"x": 2}})
    assert client.state(job_id) == "done"


def test_a_claimer_without_rights_sets_nothing_for_a_later_command(client, admin):
    job_id = own_jobs(admin)[1]
    job = client.take("work")
    assert job["id"] == job_id
    result = client.finish(job, set={"x": "--evil"})
    assert result["error"]["code"] == "forbidden", result
    assert client.state(job_id) == "running"
    admin.end(job, set={"x": "fine"})
    assert client.show(job_id)["step"] == 2


# ---- where and with what a command runs

@pytest.mark.parametrize("fields", [{"workdir": "/tmp"}, {"env": {"LD_PRELOAD": "/tmp/x.so"}}])
def test_they_are_for_those_who_may_bring_a_command(shop, fields):
    """A job for a queue's command, perhaps another user's, cannot set where it runs."""
    queue = shop.queue("env")
    for job in ({"queue": queue, **fields}, {"queue": "default", "command": ["env"], **fields}):
        assert shop.client.request("POST", "/v1/jobs", job).status == 403
    reply = shop.admin.request("POST", "/v1/jobs", {"queue": queue, **fields})
    assert reply.status == 422 and "command" in reply.json["error"]["message"], reply.json
    job = shop.carry_out(f"echo 'emit! {json.dumps({'queue': queue, **fields})}' >&3; "
                         "read -r a <&4; echo \"$a\"")
    assert b"fail" in shop.log(job) and shop.client.list(f"queue={queue}") == []
