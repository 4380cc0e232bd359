# SPDX-License-Identifier: MIT
"""`add -- CMD`: runs a command as typed, in the current directory, with the named variables."""
import json
import os
import subprocess

import pytest

from waiting import eventually
from waybill import BIN, QUEUES, Ran, plain_env

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="changes users")


def add_from(shop, directory, *args, env=None):
    """`waybill add` in that directory, over the Unix socket."""
    done = subprocess.run([BIN, "add", *map(str, args)], cwd=directory, capture_output=True,
                          text=True, timeout=60,
                          env=plain_env(HOME=str(shop.server.dir),
                                        WAYBILL_DATA=str(shop.server.data), **(env or {})),
                          check=False)
    return Ran(done.returncode, done.stdout, done.stderr)


# ---- as it was typed

LITERAL = ["${1%.wav}", "${}", "$${x}", "{{.Names}}", "{{}}", "{}", "{a,b}", "{1..3}",
           '{"k":{"j":[{}]}}', "{x}", "{id}", "BEGIN{n=0}{n+=$1}END{print n}", "{", "}", "{{", "}}",
           "{{{", "${", "{now:-x", "{x:-y}", "it's", "ü\n\t\x01\x7f", ""]


def test_a_command_is_literal(shop, tmp_path):
    ran = add_from(shop, tmp_path, "-w", "-p", "x=filled", "--", "printf", "<%s>", *LITERAL)
    assert (ran.status, ran.out) == (0, "".join(f"<{word}>" for word in LITERAL)), ran


def test_with_fill_it_is_a_template(shop, tmp_path):
    ran = add_from(shop, tmp_path, "-w", "-p", "x=a b", "--fill", "--", "printf", "<%s>", "{x}",
                   "{{x}", "${x}")
    assert (ran.status, ran.out) == (0, "<a b><{x}><${x}>"), ran
    ran = add_from(shop, tmp_path, "--fill", "--", "echo", "{missing}")
    assert ran.status == 4 and "missing" in ran.err, ran


def test_it_is_shown_as_it_was_typed(shop, tmp_path):
    job_id = add_from(shop, tmp_path, "--delay", "1h", "--", "awk", "{print $1}",
                      "${x}").out.strip()
    page = shop.server.cli("show", job_id).out
    assert "awk '{print $1}' '${x}'\n" in page, page
    ran = add_from(shop, tmp_path, "-n", "--", "awk", "{print}", "it's")
    assert "awk '{print}' 'it'\\''s'" in ran.out, ran


def test_without_a_queue_it_goes_to_default(shop, tmp_path):
    job_id = add_from(shop, tmp_path, "--", "true").out.strip()
    assert shop.client.show(job_id)["queue"] == "default"


def test_a_program_in_place_of_a_queue_gets_a_hint(shop, tmp_path):
    ran = add_from(shop, tmp_path, "sleep")
    assert ran.status == 3 and "there is no queue 'sleep'" in ran.err and \
        "waybill add -- sleep" in ran.err, ran
    ran = add_from(shop, tmp_path, "defualt")
    assert ran.status == 3 and "did you mean 'default'" in ran.err and "--" not in ran.err, ran
    ran = add_from(shop, tmp_path, "sleep", "5")
    assert ran.status == 2 and "waybill add -- sleep" in ran.err, ran
    ran = add_from(shop, tmp_path, "ls", "-l", "/")
    assert ran.status == 2 and "waybill add -- ls" in ran.err, ran


def test_what_a_program_emits_is_literal_too(shop):
    target = shop.queue(own_command=True)
    job = shop.carry_out(f"{BIN} emit {target} -p x=1 -- printf '<%s>' '{{x}}' '${{x}}'; "
                         f"{BIN} emit {target} -p x=1 --fill -- printf '<%s>' '{{x}}'",
                         may_emit={"command": True})
    assert job["state"] == "done", shop.log(job)
    logs = {shop.log(shop.ended(j["id"])) for j in shop.client.list(f"queue={target}")}
    assert logs == {b"<{x}><${x}>", b"<1>"}


# ---- where it was typed

def test_it_runs_in_the_callers_directory(shop, tmp_path):
    place = tmp_path / "my place"
    place.mkdir()
    (place / "tool.sh").write_text('#!/bin/sh\npwd; echo "$PWD"; echo "$1" >made\n')
    (place / "tool.sh").chmod(0o755)
    ran = add_from(shop, place, "-w", "--", "./tool.sh", "x")
    assert (ran.status, ran.out) == (0, f"{place}\n{place}\n"), ran
    assert (place / "made").read_text() == "x\n"
    assert shop.client.list("queue=default")[0]["workdir"] == str(place)


def test_another_directory_can_be_named(shop, tmp_path):
    (tmp_path / "sub").mkdir()
    assert add_from(shop, tmp_path, "-w", "--workdir", "sub", "--", "pwd").out == \
        f"{tmp_path}/sub\n"
    assert add_from(shop, tmp_path, "-w", "--workdir", "/", "--", "pwd").out == "/\n"
    assert "/slots/" in add_from(shop, tmp_path, "-w", "--workdir", "-", "--", "pwd").out


def test_inside_a_job_its_own_directory_is_not_taken(shop):
    """It is gone when the job has ended."""
    env = f"WAYBILL_DATA={shop.server.data}"
    job = shop.carry_out(f"{env} {BIN} add --delay 1h -- pwd; cd /; {env} {BIN} add --delay 1h -- "
                         "pwd")
    ids = shop.log(job).decode().split()
    assert [shop.client.show(i).get("workdir") for i in ids] == [None, "/"], shop.log(job)


def test_a_directory_that_is_not_there_fails_the_job(shop, tmp_path):
    ran = add_from(shop, tmp_path, "-w", "--workdir", "/no/such/place", "--", "true")
    assert ran.status == 1, ran
    job = shop.client.list("queue=default")[0]
    assert (job["state"], job["cause"]) == ("failed", "start") and \
        "/no/such/place" in job["text"], job


@ROOT_ONLY
def test_nor_one_that_its_user_cannot_enter(shop, tmp_path):
    (tmp_path / "mine").mkdir(mode=0o700)
    queue = shop.queue(own_command=True, limits={"user": "nobody"})
    job = shop.run(queue, command=["true"], workdir=str(tmp_path / "mine"))
    assert (job["state"], job["cause"]) == ("failed", "start") and "user nobody" in job["text"], job


def test_over_tcp_no_directory_is_sent(servers, tmp_path):
    (tmp_path / "token").write_text("secret-secret-secret\n")
    (tmp_path / "token").chmod(0o600)
    server = servers(definitions=QUEUES + f'server: {{token_file: "{tmp_path}/token"}}\n').start()
    env = plain_env(HOME=str(server.dir), WAYBILL_URL=f"http://127.0.0.1:{server.port}",
                    WAYBILL_TOKEN="secret-secret-secret")
    done = subprocess.run([BIN, "add", "--", "true"], cwd=tmp_path, env=env, capture_output=True,
                          text=True, check=True)
    assert "workdir" not in server.unix().show(done.stdout.strip())


# ---- with which variables

def test_variables_can_be_given(shop, tmp_path):
    ran = add_from(shop, tmp_path, "-w", "--env", "A=1=2", "--env", "FROM_HERE",
                   "--env", "PATH=/bin:/usr/bin", "--env", "E=",
                   "--", "sh", "-c", 'echo "$A|$FROM_HERE|$PATH|${E-unset}"; env | grep -c ^PATH=',
                   env={"FROM_HERE": "ü x"})
    assert (ran.status, ran.out) == (0, "1=2|ü x|/bin:/usr/bin|\n1\n"), ran


@pytest.mark.parametrize("given, words", [
    ("NOT_SET_HERE", "is not set here"), ("1A=x", "not a variable's name"),
    ("A-B=x", "not a variable's name"), ("=x", "not a variable's name"),
    ("WAYBILL_TOKEN=x", "WAYBILL_"), ("WAYBILL_STORE=x", "WAYBILL_")])
def test_wrong_variables_are_refused(shop, tmp_path, given, words):
    ran = add_from(shop, tmp_path, "--env", given, "--", "true")
    assert (ran.status, ran.out) == (2, "") and words in ran.err, ran


@pytest.mark.parametrize("fields, words", [
    ({"env": {"WAYBILL_TOKEN": "x"}}, "env: 'WAYBILL_TOKEN'"),
    ({"env": {"WAYBILL_STORE": "x"}}, "WAYBILL_"),
    ({"env": {"a b": "x"}}, "not a variable's name"), ({"env": {"A": 5}}, "must be text"),
    ({"env": ["A"]}, "map"), ({"env": {"A": "x" * 70_000}}, "65536"),
    ({"env": {f"A{n}": "" for n in range(201)}}, "200"),
    ({"workdir": "relative"}, "absolute"), ({"workdir": ""}, "empty"),
    ({"workdir": "/" + "x" * 5000}, "4096"),
    ({"workdir": 5}, "text"), ({"workdir": "/a\nb"}, "absolute")])
def test_what_cannot_be_is_refused_over_http(shop, fields, words):
    reply = shop.admin.request("POST", "/v1/jobs",
                               {"queue": "default", "command": ["true"], **fields})
    assert reply.status == 422 and words in reply.json["error"]["message"], reply.json


# ---- who may: see test_rights.py

@ROOT_ONLY
def test_emitted_ones_run_as_the_emitters_user(shop, tmp_path):
    target = shop.queue(own_command=True)
    line = json.dumps({"queue": target, "command": "id -u; pwd; echo $A", "workdir": "/",
                       "env": {"A": "x"}})
    job = shop.carry_out(f"echo 'emit {line}' >&3", limits={"user": "nobody"},
                         may_emit={"command": True})
    assert job["state"] == "done"
    (emitted,) = shop.client.list(f"queue={target}")
    assert shop.log(shop.ended(emitted["id"])).decode().split() == ["65534", "/", "x"]


def test_a_retry_and_a_clone_keep_them(shop):
    job = shop.run("default", command="pwd; echo $A; exit 1", workdir="/usr", env={"A": "x"})
    shop.client.act(job["id"], "retry")
    shop.ended(job["id"])
    copy = shop.client.act(job["id"], "clone", status=201)["id"]
    assert shop.log(job) == b"/usr\nx\n/usr\nx\n" and shop.log(shop.ended(copy)) == b"/usr\nx\n"


# ---- of queues

def test_a_queue_has_a_directory_and_variables(shop, tmp_path):
    queue = shop.queue('pwd; echo "$A|$B|$PWD"', workdir=str(tmp_path),
                       env={"A": "1", "B": "two words"}, own_command=True)
    assert shop.log(shop.run(queue)).decode() == f"{tmp_path}\n1|two words|{tmp_path}\n"
    job = shop.run(queue, command='pwd; echo "$A|$B"', env={"A": "job's"}, workdir="/")
    assert shop.log(job) == b"/\njob's|two words\n"
    assert shop.admin.ok("GET", f"/v1/queues/{queue}")["definition"]["env"] == \
        {"A": "1", "B": "two words"}


def test_so_does_a_resident_program(shop, tmp_path):
    program = shop.program('#!/bin/sh\nwhile read -r line; do id=${line#*\'"id":"\'}; '
                           'id=${id%%\\"*}; pwd; echo "$A"; echo "$id done" >&3; done')
    queue = shop.queue(workdir=str(tmp_path), env={"A": "1"}, command=[str(program)], resident=True)
    job = shop.run(queue)
    assert job["state"] == "done" and shop.log(job).decode() == f"{tmp_path}\n1\n", shop.log(job)


def test_a_queue_whose_directory_is_not_there_is_broken(shop, tmp_path):
    queue = shop.queue("true", workdir=str(tmp_path / "missing"))
    job_id = shop.submit(queue)
    job = eventually(lambda: next((j for j in [shop.client.show(job_id)]
                                   if j.get("reason", {}).get("code") == "broken"), None),
                     "a broken queue")
    assert "cannot change to directory" in job["reason"]["text"] and job["attempt"] == 0, job
    (tmp_path / "missing").mkdir()
    shop.admin.ok("POST", f"/v1/queues/{queue}/restart", {})
    assert shop.ended(job_id)["state"] == "done"


def test_wrong_ones_of_a_definition_are_told(shop):
    for definition, words in (({"env": {"WAYBILL_URL": "x"}}, "env: 'WAYBILL_URL'"),
                              ({"env": {"A": 1}}, "put it in quotes"),
                              ({"workdir": "here"}, "workdir: must be an absolute path")):
        reply = shop.admin.request("PUT", "/v1/queues/q", definition)
        assert reply.status == 422 and words in reply.json["error"]["message"], reply.json
