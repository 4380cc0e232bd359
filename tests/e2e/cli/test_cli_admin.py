# SPDX-License-Identifier: MIT
"""The command line over queues, workers, the server and itself."""
import json
import re
import shutil
import signal
import socket
import sqlite3
import subprocess

import pytest

from waiting import eventually
from waybill import BIN, QUEUES, plain_env, run_waybill

pytestmark = pytest.mark.embedded("about files and words, not jobs")

VERBS = ["serve", "add", "list", "show", "log", "wait", "cancel", "retry", "hold", "release",
         "clone", "now", "move", "rm",
         "queue", "workers", "worker", "apply", "check", "backup", "store", "prune",
         "status", "top", "bench", "completion", "version", "progress", "emit", "set", "done",
         "fail", "resend"]


def good(server, *args, **named):
    ran = server.cli(*args, **named)
    assert ran.status == 0 and ran.err == "", ran
    return ran


def documents(ran):
    return [json.loads(line) for line in ran.out.splitlines()]


def test_queues_for_people_and_as_json(server, client):
    client.submit()
    for args in (["queue"], ["queue", "list"]):
        ran = good(server, *args)
        assert "work" in ran.out and "two words" in ran.out and "up" in ran.out
    assert set(good(server, "queue", "list", "--names").out.splitlines()) >= {"default", "work",
                                                                              "two words"}
    listed = {q["name"]: q for q in documents(good(server, "queue", "list", "--json"))}
    assert listed["work"]["state"] == "up"
    shown = good(server, "queue", "show", "rules")
    assert "rules" in shown.out and "retry" in shown.out
    assert good(server, "queue", "show", "rules", "--json").json["definition"]["retry"]["max"] == 3


@pytest.mark.parametrize("verb, state",
                         [("pause", "pause"), ("drain", "drain"), ("down", "down"), ("up", "up"),
                          ("resume", "up")])
def test_queue_states(server, client, verb, state):
    good(server, "queue", verb, "work", "two words")
    assert client.ok("GET", "/v1/queues/work")["state"] == state
    assert client.ok("GET", "/v1/queues/two%20words")["state"] == state


def test_queue_rm(server, client):
    job_id = client.submit("other")
    assert server.cli("queue", "rm", "other").status == 4
    good(server, "rm", job_id)
    good(server, "queue", "rm", "other")
    assert client.get("/v1/queues/other").status == 404


@pytest.mark.parametrize("args, status, word", [
    (["queue", "show", "wrok"], 3, "work"), (["queue", "pause", "wrok"], 3, "work"),
    (["queue", "puase", "work"], 2, "pause"),
    (["queue", "pause"], 2, "NAME"), (["workers", "show", "nobody"], 3, "nobody"),
])
def test_what_is_wrong_is_told(server, args, status, word):
    ran = server.cli(*args)
    assert ran.status == status and word in ran.err and ran.out == "", ran


def test_workers(server, client):
    ran = server.cli("workers")
    assert (ran.status, ran.out, ran.err) == (0, "", "there are no workers\n"), ran
    client.submit()
    client.take(worker={"name": "w1", "host": "box", "pid": 5, "version": "9.9"})
    ran = good(server, "workers")
    assert "w1" in ran.out and "box" in ran.out
    assert documents(good(server, "workers", "list", "--json"))[0]["name"] == "w1"
    assert good(server, "workers", "show", "w1", "--json").json["host"] == "box"
    assert "w1" in good(server, "workers", "list", "--names").out.splitlines()
    assert complete_in_bash(["workers", "show", "w1"], server) == ["w1"]


def test_apply_prints_what_changes(server, client, tmp_path):
    path = tmp_path / "more.yaml"
    path.write_text("queues:\n  new: {slots: 2}\n  work: {description: changed}\n"
                    "  other: {description: another}\n")
    ran = good(server, "apply", "--dry-run", path)
    assert re.search(r"added.*new|new.*added",
                     ran.out) and re.search(r"changed.*work|work.*changed", ran.out)
    assert client.get("/v1/queues/new").status == 404
    good(server, "apply", path)
    assert client.ok("GET", "/v1/queues/new")["definition"]["slots"] == 2
    assert client.get("/v1/queues/again").status == 200
    ran = good(server, "apply", "--prune", path, "--json")
    assert client.get("/v1/queues/again").status == 404
    changes = {c["name"]: c["change"] for c in ran.json["changes"]}
    assert changes["again"] == "removed" and changes["new"] == "same"


def test_apply_of_wrong_definitions_names_the_place(server, client, tmp_path):
    path = tmp_path / "wrong.yaml"
    path.write_text("queues:\n  new: {}\n  bad:\n    slotz: 2\n")
    ran = server.cli("apply", path)
    assert ran.status == 2 and "wrong.yaml:4" in ran.err and "slots" in ran.err, ran
    assert client.get("/v1/queues/new").status == 404
    assert server.cli("apply", tmp_path / "missing.yaml").status != 0


def test_check_of_a_file_needs_no_server(tmp_path):
    (tmp_path / "good.yaml").write_text("queues:\n  a: {retry: {max: 1}}\n")
    (tmp_path / "wrong.yaml").write_text("queues:\n  a: {retri: {max: 1}}\n")
    ran = run_waybill("check", tmp_path / "good.yaml")
    assert ran.status == 0 and ran.err == "", ran
    ran = run_waybill("check", tmp_path / "wrong.yaml")
    assert ran.status == 2 and "wrong.yaml:2" in ran.err + ran.out and \
        "retry" in ran.err + ran.out, ran


@pytest.mark.parametrize("command, words", [
    ("{x} foo", "a text that begins with { must be in quotes as a whole"),
    ("{x}", "not an object (put it in quotes)"),
    ("@x", "a text that begins with @ must be in quotes")])
def test_a_command_that_needs_quotes_is_told_so(tmp_path, command, words):
    path = tmp_path / "q.yaml"
    path.write_text(f"queues:\n  a:\n    command: {command}\n    slots: 2\n")
    ran = run_waybill("check", path)
    assert ran.status == 2 and "q.yaml:3: " in ran.err and words in ran.err, ran


def test_check_asks_for_names_that_lead_somewhere(tmp_path):
    (tmp_path / "a.yaml").write_text("queues:\n  a:\n    on_success:\n      - perse\n")
    (tmp_path / "b.yaml").write_text("queues: {parse: }\njoins: {j: {count: 2, then: a}}\n")
    ran = run_waybill("check", tmp_path / "a.yaml", tmp_path / "b.yaml")
    assert ran.status == 2 and "a.yaml:4: " in ran.err and "did you mean 'parse'" in ran.err, ran
    (tmp_path / "a.yaml").write_text("queues:\n  a:\n    on_success:\n      - parse\n")
    ran = run_waybill("check", tmp_path / "a.yaml", tmp_path / "b.yaml")
    assert ran.status == 0 and "1 queue, 1 join" in ran.out, ran


def test_apply_names_the_place_of_a_name_that_leads_nowhere(server, client, tmp_path):
    path = tmp_path / "links.yaml"
    path.write_text("queues:\n  a:\n    slots: 1\n    on_failure: [{join: nowhere}]\n")
    ran = server.cli("apply", path)
    assert ran.status == 4 and "links.yaml:4: " in ran.err and "no join 'nowhere'" in ran.err, ran
    assert client.get("/v1/queues/a").status == 404


def test_check_tells_every_mistake_at_once(tmp_path):
    path = tmp_path / "q.yaml"
    path.write_text("queues:\n  a: {slots: 0, on_success: [b]}\n  b: {on_success: [nowhere]}\n"
                    "  c: {subscribe: ['']}\n  d: {retry: 3}\n"
                    "joins:\n  x: {count: 1, then: [{join: y}]}\n"
                    "  y: {count: 1, then: [{join: x}]}\nserver: {token_file: nothing, url: y}\n")
    ran = run_waybill("check", path)
    lines = ran.err.splitlines()
    assert ran.status == 2 and ran.out == "" and len(lines) == 7, ran
    for line, word in ((2, "slots"), (3, "nowhere"), (4, "subscribe"), (5, "{max: 3}"),
                       (7, "leads back to itself"), (9, "token_file"), (9, "server.url")):
        assert any(f"q.yaml:{line}: " in said and word in said for said in lines), (line, ran)
    errors = run_waybill("check", "--json", path).out.splitlines()
    assert sum(len(json.loads(line)["errors"]) for line in errors) == 7, errors


MISTAKEN = ("queues:\n  a: {slots: 0, on_success: [b, nowhere]}\n"
            "  b: {on_failure: [{join: gone}]}\n  c:\n    retry: 3\n    on_failure: lost\n")
MISTAKES = ((2, "slots"), (2, "no queue 'nowhere'"), (3, "no join 'gone'"), (5, "{max: 3}"),
            (6, "no queue 'lost'"))


def told_all(ran, mistakes):
    lines = [line for line in ran.err.splitlines() if "q.yaml:" in line]
    assert len(lines) == len(mistakes), ran
    for line, words in mistakes:
        assert any(f"q.yaml:{line}: " in said and words in said for said in lines), \
            (line, words, ran)


def test_check_judges_the_names_of_a_queue_with_another_mistake(tmp_path):
    (tmp_path / "q.yaml").write_text(MISTAKEN)
    ran = run_waybill("check", tmp_path / "q.yaml")
    assert ran.status == 2
    told_all(ran, MISTAKES)


def test_apply_tells_every_mistake_at_once(server, client, tmp_path):
    """Also which names the server does not know: `work` is one of its queues."""
    path = tmp_path / "q.yaml"
    path.write_text(MISTAKEN.replace("[b, nowhere]", "[b, work, nowhere]"))
    ran = server.cli("apply", path)
    assert ran.status == 2
    told_all(ran, MISTAKES)
    assert client.get("/v1/queues/b").status == 404
    other = tmp_path / "more.q.yaml"
    other.write_text("queues:\n  d: {timeout: x}\n")
    ran = server.cli("apply", path, tmp_path / "none.yaml", other)
    assert ran.status == 2 and "none.yaml" in ran.err and "more.q.yaml:2: " in ran.err, ran
    assert "q.yaml:5: " in ran.err, ran


def test_apply_tells_every_name_that_leads_nowhere(server, tmp_path):
    path = tmp_path / "q.yaml"
    path.write_text("queues:\n  a: {on_success: [x, work, y]}\njoins:\n"
                    "  j: {count: 2, then: [z]}\n")
    ran = server.cli("apply", path)
    assert ran.status == 4
    told_all(ran, ((2, "no queue 'x'"), (2, "no queue 'y'"), (4, "no queue 'z'")))
    reply = server.unix().request("POST", "/v1/definitions",
                                  {"queues": {"a": {"on_success": ["x", "y"]}}})
    assert reply.status == 422 and len(reply.json["error"]["detail"]["errors"]) == 2, reply


def test_apply_without_a_server_tells_the_mistakes(tmp_path):
    (tmp_path / "q.yaml").write_text(MISTAKEN)
    ran = run_waybill("apply", tmp_path / "q.yaml", env={"WAYBILL_URL": "http://127.0.0.1:1"})
    assert ran.status == 2
    told_all(ran, (MISTAKES[0], MISTAKES[3]))


def test_serve_tells_every_mistake_at_once(tmp_path):
    path = tmp_path / "q.yaml"
    path.write_text(MISTAKEN + "server: {token_file: nothing, url: y}\n")
    serve = ("serve", "--data", tmp_path / "data", "--listen", "127.0.0.1:0", "-j", "0", "-c", path)
    ran = run_waybill(*serve)
    assert ran.status == 2
    told_all(ran, (*MISTAKES, (7, "server.url"), (7, "server.token_file")))
    path.write_text("queues:\n  a: {on_success: [x, default, y]}\njoins:\n"
                    "  j: {count: 2, then: [z]}\n")
    ran = run_waybill(*serve)
    assert ran.status == 2
    told_all(ran, ((2, "no queue 'x'"), (2, "no queue 'y'"), (4, "no queue 'z'")))


def test_reloading_tells_every_mistake_at_once(servers, tmp_path):
    path = tmp_path / "q.yaml"
    path.write_text("queues: {a: {}}\n")
    server = servers(args=["-c", path]).start()
    for text, mistakes in ((MISTAKEN, MISTAKES),
                           ("queues:\n  a: {on_success: [x]}\n  b: {on_success: y}\n",
                            ((2, "no queue 'x'"), (3, "no queue 'y'")))):
        path.write_text(text)
        server.process.send_signal(signal.SIGHUP)
        for line, words in mistakes:
            eventually(lambda place=f"q.yaml:{line}: ", words=words: any(
                place in said and words in said for said in server.log_text().splitlines()),
                f"{line}: {words}")
    assert "the old ones stay" in server.log_text()


def test_check_refuses_what_serve_would(tmp_path):
    path, token = tmp_path / "q.yaml", tmp_path / "token"
    for text, words in (("server: {listen: '0.0.0.0:6769'}",
                         [":1: server.listen", "needs a token"]),
                        (f"server: {{token_file: {token}}}", [":1: server.token_file", "16 to"]),
                        ("joins: {x: {count: 1, then: [{join: x}]}}", [":1: ", "back to itself"])):
        path.write_text(text + "\n")
        token.write_text("short\n")
        ran = run_waybill("check", path)
        assert ran.status == 2 and all(word in ran.err for word in words), ran
        ran = run_waybill("serve", "--data", tmp_path / "data", "-j", "0", "-c", path)
        assert ran.status != 0 and words[1] in ran.err, ran
    token.write_text("long enough for a token\n")
    path.write_text(f"server: {{listen: '0.0.0.0:6769', token_file: {token}}}\n")
    assert run_waybill("check", path).status == 2  # with blanks in it: no token
    token.write_text("long-enough-for-a-token\n")
    assert run_waybill("check", path).status == 0


def test_apply_says_what_only_serve_reads(server, tmp_path):
    path = tmp_path / "q.yaml"
    path.write_text("queues: {fresh: {}}\nserver: {url: 'http://x'}\n"
                    "triggers: {t: {from: [10.0.0.0/8]}}\n")
    ran = server.cli("apply", path)
    assert ran.status == 0 and "queue fresh  added" in ran.out, ran
    assert f"{path}: the section 'server' is ignored: only 'serve -c' reads it" in ran.err, ran
    assert "the section 'triggers'" in ran.err, ran


def test_check_is_a_monitoring_plugin(server, client):
    ran = server.cli("check")
    assert ran.status == 0 and re.match(r"(WAYBILL )?OK",
                                        ran.out) and len(ran.out.splitlines()) == 1, ran
    client.submit_many([{"queue": "work"}] * 3)
    for job in client.claim(max=3)["jobs"]:
        client.end(job, "failed", exit=1)
    assert server.cli("check", "--warn-failed", "4").status == 0
    ran = server.cli("check", "--warn-failed", "3")
    assert ran.status == 1 and "WARNING" in ran.out, ran
    ran = server.cli("check", "--warn-failed", "1", "--crit-failed", "3")
    assert ran.status == 2 and "CRITICAL" in ran.out, ran
    server.stop()
    ran = server.cli("check", env={"WAYBILL_URL": f"http://127.0.0.1:{server.port}"})
    assert ran.status == 2 and "CRITICAL" in ran.out, ran


def test_check_of_the_store_runs_beside_the_server_and_without_it(server, client):
    client.submit_many([{"queue": "work"}] * 100)
    for args in (["check", "--store"], ["check", "--store", "--full"]):
        assert good(server, *args).status == 0
    server.stop()
    assert server.cli("check", "--store", "--full").status == 0


def test_check_of_a_spoilt_store_finds_it(server, client):
    client.submit_many([{"queue": "work", "params": {"pad": "x" * 500}} for _ in range(500)])
    server.stop()
    path = server.data / "waybill.db"
    copy = server.dir / "spoilt"
    shutil.copytree(server.data, copy)
    size = path.stat().st_size
    with (copy / "waybill.db").open("r+b") as file:
        file.seek(size // 2)
        file.write(b"\xff" * 8192)
    ran = run_waybill("check", "--store", "--full", "--data", copy, "--json")
    assert ran.status == 1 and ran.json["findings"], ran


def test_check_finds_a_count_that_is_wrong(server, client):
    client.submit_many([{"queue": "work"}] * 10)
    server.stop()
    copy = server.dir / "spoilt"
    shutil.copytree(server.data, copy)
    with sqlite3.connect(copy / "waybill.db") as database:
        database.execute("UPDATE counts SET n = n + 1 WHERE n = 10")
        database.commit()
    ran = run_waybill("check", "--store", "--full", "--data", copy)
    assert ran.status == 1 and "count" in ran.out + ran.err, ran


def test_backup_makes_a_store_that_can_be_served(server, client, servers, tmp_path):
    ids = client.submit_many([{"queue": "work"}] * 200)
    ran = good(server, "backup", tmp_path / "copy", "--json")
    assert ran.json["bytes"] > 0
    good(server, "backup", tmp_path / "copy2")
    copy = servers("copy", data=tmp_path / "copy").start()
    assert {job["id"] for job in copy.tcp().list()} == set(ids)
    ran = server.cli("backup", tmp_path / "copy")
    assert ran.status == 4 and str(tmp_path / "copy") in ran.err and "directory" in ran.err, ran


def test_prune_deletes_ended_jobs(server, client):
    client.submit_many([{"queue": "work"}] * 20)
    for job in client.claim(max=15)["jobs"]:
        client.end(job)
    good(server, "prune", "--older", "1h")
    assert client.counts() == {"work": {"ready": 5, "done": 15}}
    good(server, "prune", "--older", "0s")
    assert client.counts() == {"work": {"ready": 5}}


def test_status_for_people_and_as_json(server, client):
    client.submit_many([{"queue": "work"}] * 7)
    client.submit("other", delay="1h")
    ran = good(server, "status")
    assert "work" in ran.out and "7" in ran.out
    assert isinstance(good(server, "status", "--json").json, dict)


def test_bench_runs_by_itself(tmp_path):
    ran = run_waybill("bench", "--seconds", "1", "--dir", tmp_path, deadline_s=60)
    assert ran.status == 0 or "tmpfs" in ran.err, ran
    assert not list(tmp_path.iterdir())


def test_version():
    ran = run_waybill("version")
    assert ran.status == 0 and re.search(r"\d+\.\d+\.\d+", ran.out), ran
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", run_waybill("version", "--json").json["version"])


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb):
    ran = run_waybill(verb, "--help")
    assert ran.status == 0 and ran.err == "", ran
    assert f"waybill {verb}" in ran.out and "--json" in ran.out and "--help" in ran.out
    assert all(len(line) <= 100 for line in ran.out.splitlines()), [line for line in
            ran.out.splitlines() if len(line) > 100]
    assert run_waybill("help", verb).out == ran.out


@pytest.mark.parametrize("verb", ["pause", "resume", "drain", "down", "up", "restart", "log",
                                  "empty", "list", "show", "rm"])
def test_every_queue_verb_has_help(verb):
    ran = run_waybill("queue", verb, "--help")
    assert ran.status == 0 and f"waybill queue {verb}" in ran.out, ran


def test_help_lists_every_verb():
    for args in (["--help"], ["help"], ["-h"]):
        ran = run_waybill(*args)
        assert ran.status == 0, ran
        for verb in VERBS:
            assert re.search(rf"^\s+{verb}\b", ran.out, re.M), verb
    ran = run_waybill()
    assert ran.status == 2 and "waybill help" in ran.err + ran.out or \
        "add" in ran.err + ran.out, ran


@pytest.mark.parametrize("shell, check",
                         [("bash", ["bash", "-n"]), ("zsh", ["zsh", "-n"]),
                          ("fish", ["fish", "-n"])])
def test_completions_are_scripts_that_know_every_verb(shell, check, tmp_path):
    ran = run_waybill("completion", shell)
    assert ran.status == 0, ran
    for verb in VERBS:
        assert re.search(rf"\b{verb}\b", ran.out), verb
    assert "priority" in ran.out
    if shutil.which(shell):
        path = tmp_path / "script"
        path.write_text(ran.out)
        assert subprocess.run([*check, path], check=False, capture_output=True).returncode == 0
    assert run_waybill("completion", "tcsh").status == 2


def complete_in_bash(words, server):
    """What bash offers for the last word."""
    script = f"""
        eval "$("{BIN}" completion bash)"
        function_name=$(complete -p waybill | sed 's/.*-F \\([^ ]*\\).*/\\1/')
        COMP_WORDS=(waybill {' '.join(f"'{w}'" for w in words)}); COMP_CWORD={len(words)}
        COMP_LINE="waybill {' '.join(words)}"; COMP_POINT=${{#COMP_LINE}}
        $function_name waybill '{words[-1]}' '{words[-2] if len(words) > 1 else "waybill"}'
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    env = plain_env(WAYBILL_DATA=str(server.data), PATH=f"{BIN.rsplit('/', 1)[0]}:/usr/bin:/bin")
    ran = subprocess.run(["bash", "-c", script], env=env, capture_output=True, timeout=20,
                         check=False)
    return [line.strip() for line in ran.stdout.decode().splitlines()]


def test_bash_completes_verbs_options_states_and_queues(server):
    assert {"show", "serve", "status"} <= set(complete_in_bash(["s"], server))
    assert "--priority" in complete_in_bash(["add", "work", "--pri"], server)
    assert {"ready", "running",
            "relayed"} <= set(complete_in_bash(["list", "--state", "r"], server))
    assert "work" in complete_in_bash(["add", "wo"], server)
    assert "work" in complete_in_bash(["queue", "show", "wo"], server)


def test_bash_completes_the_ids_of_recent_jobs(server, client):
    jobs = [client.submit() for _ in range(3)]
    for line in (["show", "0"], ["cancel", "0"], ["log", "-f", "0"], ["retry", jobs[0], "0"]):
        assert set(jobs) <= set(complete_in_bash(line, server)), line
    assert complete_in_bash(["show", "@"], server) == ["@last"]
    assert complete_in_bash(["show", jobs[1]], server) == [jobs[1]]


def test_bash_completes_a_command_after_two_dashes(server, tmp_path):
    (tmp_path / "letter one.txt").touch()
    program = tmp_path / "program"
    program.touch(mode=0o755)
    assert "printenv" in complete_in_bash(["add", "--", "printen"], server)
    assert complete_in_bash(["each", "-j", "2", "--", f"{tmp_path}/p"], server) == [str(program)]
    offered = complete_in_bash(["add", "work", "--", "cat", f"{tmp_path}/le"], server)
    assert offered == [f"{tmp_path}/letter one.txt"]
    assert "--priority" not in complete_in_bash(["add", "--", "ls", "--pri"], server)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_ask_for_ids_too(shell):
    assert "waybill list --ids" in run_waybill("completion", shell).out


def test_no_server_is_exit_status_5(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    for url in (f"http://127.0.0.1:{port}", f"unix:{tmp_path}/none.sock"):
        ran = run_waybill("list", env=plain_env(WAYBILL_URL=url))
        assert ran.status == 5 and ran.out == "" and "serve" in ran.err, ran


@pytest.mark.parametrize("url",
                         ["ftp://x", "http://", "unix:", "nonsense", "http://[::1",
                          "http://x:99999"])
def test_a_bad_url_is_a_usage_error(url):
    ran = run_waybill("list", env=plain_env(WAYBILL_URL=url))
    assert ran.status in (2, 5) and ran.out == "" and ran.err, ran


def test_the_server_is_found_by_url_data_and_option(server, client):
    job_id = client.submit()
    tcp = f"http://127.0.0.1:{server.port}"
    unix = f"unix:{server.socket_path}"
    for args, env in (([], {"WAYBILL_URL": tcp}), ([], {"WAYBILL_URL": unix}),
                      ([], {"WAYBILL_DATA": str(server.data)}),
                      (["--url", tcp], {}), (["--url", unix], {}),
                      (["--data", str(server.data)], {})):
        ran = run_waybill("show", job_id, "--json", *args, env=plain_env(**env))
        assert ran.status == 0 and ran.json["id"] == job_id, ran


def test_the_token_comes_from_the_environment(servers, tmp_path):
    (tmp_path / "token").write_text("open-sesame-0123456789\n")
    server = servers(definitions=QUEUES + f'server: {{token_file: "{tmp_path}/token"}}\n').start()
    url = f"http://127.0.0.1:{server.port}"
    ran = run_waybill("queue", "pause", "work", env=plain_env(WAYBILL_URL=url))
    assert ran.status == 4 and "set WAYBILL_TOKEN to the token in the server's --token-file" in \
        ran.err, ran
    ran = run_waybill("list", env=plain_env(WAYBILL_URL=url, WAYBILL_TOKEN="wrong"))
    assert ran.status == 4 and "the token in WAYBILL_TOKEN is wrong: set it to the one in the " \
        "server's --token-file, or unset it" in ran.err, ran
    ran = run_waybill("queue", "pause", "work",
                      env=plain_env(WAYBILL_URL=url, WAYBILL_TOKEN="open-sesame-0123456789"))
    assert ran.status == 0, ran


def test_a_server_that_has_stopped_is_exit_status_5(server):
    server.stop()
    ran = server.cli("list")
    assert ran.status == 5 and ran.out == "", ran
