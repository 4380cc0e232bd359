# SPDX-License-Identifier: MIT
"""The command line over jobs: every verb, for people and as JSON, and how it exits."""
import json
import os
import pty
import re
import subprocess

import pytest

from client import body_of
from waiting import Background, eventually, now, parse_time
from waybill import BIN, plain_env

pytestmark = pytest.mark.embedded("each verb is a request that other tests make")

ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{13}")


def add(server, *args, **named):
    ran = server.cli("add", *args, **named)
    assert ran.status == 0 and ID.fullmatch(ran.out.strip()), ran
    return ran.out.strip()


def good(server, *args, **named):
    ran = server.cli(*args, **named)
    assert ran.status == 0 and ran.err == "", ran
    return ran


def documents(ran):
    """Lists come as one JSON document a line."""
    return [json.loads(line) for line in ran.out.splitlines()]


def end_next(client, queue="work", state="done", **fields):
    job = client.take(queue)
    client.end(job, state, **fields)
    return job["id"]


def test_add_prints_the_id(server, client):
    job_id = add(server, "work", "-p", "url=http://x.org/a=b", "-p", "n:=3", "--param",
                 "list:=[1,null]",
                 "--label", "site=x.org", "-l", "a=b=c", "--priority", "-7", "--key", "k 1",
                 "--timeout", "90s",
                 "--retry", "2")
    job = client.show(job_id)
    assert job["params"] == {"url": "http://x.org/a=b", "n": 3, "list": [1, None]}
    assert job["labels"] == {"site": "x.org", "a": "b=c"}
    assert (job["priority"], job["key"], job["queue"], job["state"]) == (-7, "k 1", "work", "ready")
    assert server.cli("add", "work", "--json").json["id"]


def test_add_again_with_the_same_key_is_the_same_job(server, client):
    first = add(server, "work", "-k", "k", "-p", "a=1")
    assert add(server, "work", "-k", "k", "-p", "a=1") == first
    ran = server.cli("add", "work", "-k", "k", "-p", "a=2")
    assert ran.status == 4 and ran.out == "" and "key" in ran.err, ran
    assert len(client.list()) == 1


def test_add_with_a_body(server, client, tmp_path):
    path = tmp_path / "body"
    path.write_bytes(bytes(range(256)))
    assert body_of(client.show(add(server, "work", "--body", "text ä"))) == "text ä".encode()
    assert body_of(client.show(add(server, "work", "--body", f"@{path}"))) == bytes(range(256))
    assert body_of(client.show(add(server, "work", "--body", "-",
                                   stdin=b"\0from\xffinput"))) == b"\0from\xffinput"
    ran = server.cli("add", "work", "--body", f"@{tmp_path}/missing")
    assert ran.status != 0 and "missing" in ran.err and ran.out == ""


def test_add_for_later(server, client):
    job = client.show(add(server, "work", "--delay", "2h"))
    assert job["state"] == "scheduled"
    assert 7100 < (parse_time(job["due_at"]) - now()).total_seconds() < 7201
    job = client.show(add(server, "work", "--at", "2036-12-24T22:00:00+01:00"))
    assert job["due_at"] == "2036-12-24T21:00:00Z"


def test_a_dry_run_says_what_would_be_done_and_adds_nothing(server, client):
    assert good(server, "add", "work", "-p", "a=1", "--dry-run").out == "queue work  ready\n"
    assert good(server, "add", "work", "--delay", "5m", "-n").out == "queue work  scheduled\n"
    assert good(server, "add", "own", "-n", "--", "echo", "a b").out == (
        "queue own  ready\n  echo 'a b'\n")
    ran = server.cli("add", "wrok", "--dry-run")
    assert ran.status == 3 and "did you mean 'work'" in ran.err, ran
    assert client.list() == []


def test_add_many_from_lines(server, client, tmp_path):
    path = tmp_path / "jobs"
    path.write_text("".join(json.dumps({"params": {"n": n}}) + "\n" for n in range(700)))
    ran = good(server, "add", "work", "--lines", str(path), "--priority", "3")
    ids = ran.out.split()
    assert len(ids) == 700 and client.counts() == {"work": {"ready": 700}}
    assert client.show(ids[699])["params"] == {"n": 699} and client.show(ids[0])["priority"] == 3
    ran = server.cli("add", "work", "--lines", "-", stdin=b'{"params":{"a":1}}\n{"params":5}\n')
    assert ran.status != 0 and "2" in ran.err and len(ran.out.split()) == 1, ran


def test_add_with_a_program_of_its_own(server, client):
    job_id = add(server, "own", "-p", "x=1", "--fill", "--", "echo", "-n", "{x}", "--json")
    assert client.take("own")["command"] == ["echo", "-n", "{x}", "--json"]
    assert client.state(job_id) == "running"
    ran = server.cli("add", "work", "--", "true")
    assert ran.status == 4 and "work" in ran.err and ran.out == "", ran


@pytest.mark.parametrize("state, fields, status", [
    ("done", {"exit": 0}, 0), ("done", {}, 0), ("failed", {"exit": 7}, 7),
    ("failed", {"exit": -9, "cause": "signal"}, 137),
    ("failed", {"cause": "timeout"}, 1), ("cancelled", {}, 1),
])
def test_wait_exits_as_the_program_did(server, client, state, fields, status):
    job_id = add(server, "work")
    call = Background(server.cli, "wait", job_id)
    job = client.take()
    if state == "cancelled":
        client.act(job_id, "cancel")
    client.end(job, state, **fields)
    assert call.result().status == status


def test_wait_for_several(server, client):
    ids = [add(server, "work") for _ in range(3)]
    for n in range(3):
        end_next(client)
    assert server.cli("wait", *ids).status == 0
    ids.append(add(server, "work"))
    end_next(client, state="failed", exit=5)
    assert server.cli("wait", *ids).status == 1


def test_wait_gives_up_after_its_time(server):
    job_id = add(server, "work")
    ran = server.cli("wait", job_id, "--timeout", "200ms")
    assert ran.status == 75, ran


def test_add_and_wait_shows_the_log_and_exits_as_the_program(server, client):
    call = Background(server.cli, "add", "work", "--wait")
    job = client.take()
    reply = client.post(f"/v1/jobs/{job['id']}/log?lease={job['lease']}&offset=0",
                        b"hello\nworld\n")
    assert reply.status == 200
    client.end(job, "failed", exit=3)
    ran = call.result()
    assert ran.status == 3 and "hello\nworld\n" in ran.out, ran


def test_list_for_people_and_as_json(server, client):
    ids = [add(server, "work", "-p", f"n={n}") for n in range(3)]
    ids.append(add(server, "other", "--label", "colour=red"))
    ran = good(server, "list")
    for job_id in ids:
        assert job_id in ran.out
    assert "ready" in ran.out and "\x1b" not in ran.out
    listed = documents(good(server, "list", "--json"))
    assert [job["id"] for job in listed] == ids[::-1]
    assert good(server, "list", "--ids").out.split() == ids[::-1]
    assert good(server, "list", "--ids", "--queue", "other").out.split() == ids[3:]
    assert good(server, "list", "--ids", "--label", "colour=red").out.split() == ids[3:]
    assert good(server, "list", "--ids", "-n", "2").out.split() == ids[:1:-1]
    assert good(server, "list", "--ids", "--state", "done,failed").out == ""


def test_list_of_all_goes_over_every_page(server, client):
    ids = client.submit_many([{"queue": "work"}] * 2300)
    assert good(server, "list", "--all", "--ids").out.split() == ids[::-1]
    assert len(good(server, "list", "--ids").out.split()) == 50


def test_show_for_people_and_as_json(server, client):
    job_id = add(server, "work", "-p", "colour=red", "--label", "l=m")
    client.end(client.take(), text="all well", result={"r": 1})
    ran = good(server, "show", job_id)
    for word in (job_id, "done", "work", "red", "all well"):
        assert word in ran.out
    assert good(server, "show", job_id, "--json").json == client.show(job_id)
    assert good(server, "show", job_id.lower(), "--json").json["id"] == job_id
    assert good(server, "show", f"http://127.0.0.1:{server.port}/v1/jobs/{job_id}",
                "--json").json["id"] == job_id


def test_show_says_why_a_job_waits(server, client):
    job_id = add(server, "work")
    client.act(job_id, "hold")
    assert client.show(job_id)["reason"]["text"] in good(server, "show", job_id).out


def test_log_and_its_tail(server, client):
    job_id = add(server, "work")
    job = client.take()
    text = b"".join(b"line %d\n" % n for n in range(100))
    client.post(f"/v1/jobs/{job_id}/log?lease={job['lease']}&offset=0", text)
    assert good(server, "log", job_id).out == text.decode()
    assert good(server, "log", job_id, "-n", "2").out == "line 98\nline 99\n"
    call = Background(server.cli, "log", "-f", job_id)
    client.post(f"/v1/jobs/{job_id}/log?lease={job['lease']}&offset={len(text)}", b"more\n")
    client.end(job)
    assert call.result().out == text.decode() + "more\n"


@pytest.mark.parametrize("args", [(), ("--attempt", "1"), ("--json",)])
def test_a_log_is_whole_behind_a_pager_that_stood_still(servers, args):
    server = servers(definitions="queues: {work: {keep: {log: 10M}}}\n",
                     args=["--client-stall", "1s"]).start()
    client = server.unix()
    job_id = client.submit()
    job = client.take()
    text = b"".join(b"line %d\n" % n for n in range(400000))
    for at in range(0, len(text), 1 << 20):
        client.ok("POST", f"/v1/jobs/{job_id}/log?lease={job['lease']}&offset={at}",
                  text[at:at + (1 << 20)])
    env = plain_env(HOME=str(server.dir), WAYBILL_DATA=str(server.data))
    with subprocess.Popen([BIN, "log", job_id, *args], stdout=subprocess.PIPE, env=env) as shown:
        out = shown.stdout.read(1 << 10)
        eventually(lambda: client.metrics()["waybill_http_connections"] == 1, "it to be cut off")
        out += shown.stdout.read()
    if "--json" in args:
        out = "".join(json.loads(line)["text"] for line in out.splitlines()).encode()
    assert shown.returncode == 0
    assert out == text


def test_the_url_of_a_job_of_another_server_is_refused(server, client):
    job_id = add(server, "work", "--delay", "1h")
    url = good(server, "show", job_id, "--json").json["url"]
    port = url.split("/v1/")[0].rsplit(":", 1)[1]
    assert url in good(server, "show", url).out
    near = f"http://localhost:{port}"
    good(server, "show", f"{near}/v1/jobs/{job_id}")
    good(server, "show", "--url", near, url)
    other = f"http://other.example:1/v1/jobs/{job_id}"
    for line in (["show", other], ["cancel", other], ["add", "work", "--after", f"{other}:end"]):
        ran = server.cli(*line)
        assert ran.status == 4 and ran.out == "", ran
        assert "the job belongs to another server, http://other.example:1: give --url " \
               "http://other.example:1, or only the id for a job of unix:" in ran.err, ran
    assert client.state(job_id) == "scheduled"


def test_the_verbs_on_one_job(server, client):
    job_id = add(server, "work", "--delay", "1h", "-p", "a=1")
    good(server, "now", job_id)
    assert client.state(job_id) == "ready"
    good(server, "hold", job_id)
    assert client.state(job_id) == "held"
    good(server, "release", job_id)
    good(server, "move", job_id, "--to", "other")
    assert client.show(job_id)["queue"] == "other"
    good(server, "cancel", job_id)
    assert client.state(job_id) == "cancelled"
    good(server, "retry", job_id, "--set", "a:=2", "--set", "b=x")
    assert client.show(job_id)["params"] == {"a": 2, "b": "x"}
    clone = good(server, "clone", job_id, "-p", "c:=true").out.strip()
    assert client.show(clone)["params"] == {"a": 2, "b": "x", "c": True}
    reply = good(server, "hold", clone, "--json").json
    assert (reply["id"], reply["state"]) == (clone, "held")
    good(server, "rm", job_id, clone)
    assert client.list() == []


def test_the_verbs_on_several_jobs_go_on_after_a_refusal(server, client):
    ids = [add(server, "work") for _ in range(3)]
    client.act(ids[1], "cancel")
    ran = server.cli("hold", *ids)
    assert ran.status == 4 and ids[1] in ran.err, ran
    assert [client.state(i) for i in ids] == ["held", "cancelled", "held"]


def test_the_verbs_over_a_filter(server, client):
    client.submit_many([{"queue": "work", "params": {"n": n}} for n in range(1500)])
    client.submit("other")
    ran = good(server, "hold", "--queue", "work", "--state", "ready")
    assert "1500" in ran.out.replace(",", "")
    assert client.counts() == {"work": {"held": 1500}, "other": {"ready": 1}}
    assert good(server, "release", "-q", "work", "--json").json["changed"] == 1500
    good(server, "move", "-q", "work", "--to", "two words")
    good(server, "cancel", "-q", "two words")
    assert client.counts() == {"two words": {"cancelled": 1500}, "other": {"ready": 1}}
    good(server, "rm", "--state", "cancelled")
    assert client.counts() == {"other": {"ready": 1}}


def test_failures_are_retried_by_one_line(server, client):
    client.submit_many([{"queue": "work"}] * 30)
    for job in client.claim(max=30)["jobs"]:
        client.end(job, "failed", exit=1)
    good(server, "retry", "--queue", "work", "--state", "failed")
    assert client.counts() == {"work": {"ready": 30}}


@pytest.mark.parametrize("verb", ["cancel", "retry", "hold", "release", "now", "rm"])
def test_a_verb_with_neither_job_nor_filter_is_a_usage_error(server, client, verb):
    client.submit()
    ran = server.cli(verb)
    assert ran.status == 2 and ran.out == "" and verb in ran.err, ran
    assert client.counts() == {"work": {"ready": 1}}


@pytest.mark.parametrize("args, status, word", [
    (["show", "0000000000001"], 3, "0000000000001"),
    (["log", "0000000000001"], 3, "0000000000001"),
    (["wait", "0000000000001"], 3, "0000000000001"),
    (["cancel", "0000000000001"], 3, "0000000000001"),
    (["rm", "0000000000001"], 3, "0000000000001"),
    (["show", "nonsense"], 2, "nonsense"),
    (["add", "wrok"], 3, "work"),
    (["add"], 2, "QUEUE"),
    (["add", "work", "--priorty", "1"], 2, "priority"),
    (["add", "work", "--priority", "x"], 2, "priority"),
    (["add", "work", "--priority", "1001"], 2, "1000"),
    (["add", "work", "-p", "novalue"], 2, "novalue"),
    (["add", "work", "-p", "a:={"], 2, "a"),
    (["add", "work", "--delay", "-1s"], 2, "delay"),
    (["add", "work", "--delay", "1s", "--at", "22:00"], 2, "at"),
    (["add", "work", "extra"], 2, "extra"),
    (["list", "--state", "redy"], 2, "ready"),
    (["list", "--queue", "wrok"], 3, "work"),
    (["list", "--limit", "0"], 2, "limit"),
    (["move", "0000000000001"], 2, "to"),
    (["lsit"], 2, "list"),
    (["frobnicate"], 2, "frobnicate"),
    (["--nonsense"], 2, "nonsense"),
])
def test_what_is_wrong_is_told_with_the_right_exit_status(server, args, status, word):
    ran = server.cli(*args)
    assert ran.status == status, ran
    assert ran.out == "" and word in ran.err and ran.err.startswith("waybill"), ran


def test_the_exit_status_says_refused(server, client):
    job_id = client.submit()
    client.take()
    assert server.cli("rm", job_id).status == 4
    assert server.cli("retry", job_id).status == 4


def test_an_id_that_looks_like_an_option_is_no_option(server):
    assert server.cli("show", "--", "-x").status in (2, 3)


def test_output_into_a_closed_pipe_is_no_error(server, client):
    client.submit_many([{"queue": "work"}] * 2000)
    env = plain_env(WAYBILL_DATA=str(server.data))
    head = subprocess.run(["sh", "-c", f'"{BIN}" list --all | head -n 1'], env=env,
                          stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=30, check=False)
    assert head.returncode == 0 and head.stderr == b"", head.stderr


def test_a_restart_while_one_waits_is_waited_out(server, client):
    job_id = client.submit()
    job = client.take()
    port = server.port
    call = Background(server.cli, "wait", job_id,
                      env={"WAYBILL_URL": f"unix:{server.data}/waybill.sock"})
    eventually(lambda: client.waiting() == 1)
    server.kill()
    server.listen = f"127.0.0.1:{port}"
    server.start()
    server.tcp().end(job)
    assert call.result(60).status == 0


def on_a_terminal(server, *args, **more):
    """What a command writes when its output is a terminal."""
    master, terminal = pty.openpty()
    env = plain_env(WAYBILL_DATA=str(server.data), TERM="xterm", **more)
    child = subprocess.Popen([BIN, *args], stdin=terminal, stdout=terminal,
                             stderr=terminal, env=env)
    os.close(terminal)
    text = b""
    try:
        while piece := os.read(master, 65536):
            text += piece
    except OSError:  # the other end is closed
        pass
    os.close(master)
    assert child.wait(30) == 0, text
    return text.decode()


def test_colours_are_for_terminals_only(server, client):
    client.submit()
    client.end(client.take(), "failed", exit=1)
    assert "\x1b[" in on_a_terminal(server, "list")
    assert "\x1b[" not in on_a_terminal(server, "list", NO_COLOR="1")
    assert "\x1b[" not in on_a_terminal(server, "list", "--json")
    assert "\x1b[" not in server.cli("list").out


def test_a_long_list_has_one_header(server, client):
    client.submit_many([{"queue": "work"}] * 2100)
    lines = good(server, "list", "--all").out.splitlines()
    assert len(lines) == 2101 and sum("STATE" in line for line in lines) == 1
