# SPDX-License-Identifier: MIT
"""What people see: what a job is and what it said last, names for jobs, what an action would do."""
import json
import os
import re

import pytest

from screens import Terminal

pytestmark = pytest.mark.embedded("each view is made of requests that other tests make")

ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{13}")


def add(server, *args, **named):
    ran = server.cli("add", *args, **named)
    assert ran.status == 0 and ID.fullmatch(ran.out.strip()), ran
    return ran.out.strip()


def fail_next(client, log, queue="work", **fields):
    job = client.take(queue)
    client.ok("POST", f"/v1/jobs/{job['id']}/log?lease={job['lease']}&offset=0", log)
    client.end(job, "failed", exit=7, cause="exit", **fields)
    return job["id"]


def row(text, job_id):
    lines = [line for line in text.splitlines() if job_id in line]
    assert len(lines) == 1, text
    return lines[0]


# ---- what a job is

def test_a_list_says_what_a_job_is(server, client):
    command = add(server, "own", "--", "make", "-C", "/srv/my site", "all")
    params = add(server, "work", "-p", "url=https://example.org/", "-p", "depth:=3")
    key = add(server, "work", "--key", "letter 417")
    out = server.cli("list").out
    assert "make -C '/srv/my site' all" in row(out, command), out
    assert "url=https://example.org/ depth=3" in row(out, params), out
    assert "letter 417" in row(out, key), out


def test_a_list_says_how_a_large_job_begins_and_how_large_it_is(server, client):
    large = client.submit(params={"page": "a" * 100_000})
    command = add(server, "own", "--", "echo", "b" * 10_000)
    out = server.cli("list").out
    assert '(100 kB) "page": "aaa' in row(out, large) and "aaa…  " in row(out, large), out
    assert '(10 kB) ["echo","bbb' in row(out, command) and "bbb…  " in row(out, command), out
    job = json.loads(server.cli("list", "--json", "--queue", "work").out)
    assert job["cut"]["params"]["size"] == 100_012 and "params" not in job
    whole = json.loads(server.cli("list", "--json", "--whole", "--queue", "work").out)
    assert whole["params"] == {"page": "a" * 100_000}
    assert server.cli("list", "--whole").status == 2


def test_a_list_has_the_last_line_of_failed_jobs(server, client):
    client.submit(params={"n": 1})
    failed = fail_next(client, b"begun\r\n\x1b[31mfatal:\x1b[0m no route to host\n\n")
    out = server.cli("list").out
    assert row(out, failed).endswith("exit 7: fatal: no route to host"), out
    status = server.cli("status").out
    assert row(status, failed).endswith("n=1   exit 7: fatal: no route to host"), status
    assert client.show(failed)["last_line"] == "fatal: no route to host"
    done = client.submit()
    client.end(client.take())
    assert "last_line" not in client.show(done)


def test_the_last_line_of_a_failed_route_is_that_of_the_step_that_failed(server, client):
    steps = [{"name": "first", "queue": "work"}, {"name": "bad", "queue": "work"},
             {"name": "clean", "queue": "work", "final": True}]
    route = client.ok("POST", "/v1/jobs", {"steps": steps}, 201)["id"]
    for state, text in (("done", b"first\n"), ("failed", b"REAL ERROR\n"), ("done", b"clean\n")):
        job = client.take()
        size = client.get(f"/v1/jobs/{route}/log").body
        assert client.post(f"/v1/jobs/{route}/log?lease={job['lease']}&offset={len(size)}",
                           text).status == 200
        client.end(job, state, exit=9 if state == "failed" else 0)
    shown = client.show(route)
    assert (shown["state"], shown["failed_step"], shown["last_line"]) == \
        ("failed", 2, "REAL ERROR"), shown
    assert server.cli("show", route).out.startswith(f"job {route}  failed at step 2, bad\n")
    waited = server.cli("wait", route).err
    assert f"job {route} failed at step 2, bad: " in waited and "(attempt" not in waited, waited


def test_what_a_program_gave_as_its_error_is_not_hidden_by_its_output(server, client):
    client.submit()
    failed = fail_next(client, b"some chatter\n", text="the disk is full")
    assert row(server.cli("list").out, failed).endswith("exit 7: the disk is full")


def test_columns_are_cut_to_the_terminal(server, client):
    job = client.submit(params={"text": "x" * 500})
    terminal = Terminal("list", "--data", server.data, size=(24, 80))
    assert terminal.wait() == 0
    lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.text).split("\r\n")
    terminal.close()
    assert all(len(line) <= 80 for line in lines), lines
    assert re.search(rf"{job}.*text=x+….*queue work has", "\n".join(lines)), lines


def test_at_80_columns_there_is_room_for_what_it_is_about(server, client):
    for _ in range(3):
        client.submit("work", params={"url": "https://example.org/" + "x" * 50})
    fail_next(client, b"connect to example.org port 443: Connection refused\n")
    terminal = Terminal("list", "--data", server.data, size=(24, 80))
    assert terminal.wait() == 0
    lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.text).split("\r\n")
    terminal.close()
    assert "TRY" not in lines[0] and all(len(line) <= 80 for line in lines), lines
    about = lines[0].index("ABOUT")
    assert 80 - about >= 26 and \
        any("exit 7: connect to example" in line[about:] for line in lines), lines
    assert "TRY" in server.cli("list").out.splitlines()[0]


def test_values_above_64_kib_are_shown_cut_with_their_size(server, client):
    job = client.submit(params={"small": "s" * 60_000, "large": "l" * 200_000})
    ran = server.cli("show", job)
    assert "s" * 60_000 in ran.out
    assert re.search(r"large = l{2000}… \(200 kB in all\)", ran.out), ran.out[-500:]
    assert "l" * 2001 not in ran.out


def test_a_text_is_searched_in_the_command(server, client):
    job = add(server, "own", "--workdir", "/", "--", "make", "-C", '/srv/my "site"', "all")
    add(server, "own", "--", "true", "needle")
    add(server, "work", "-p", "n=1")
    for text in ("make -C", 'my "site" all', "/srv"):
        assert server.cli("list", "--ids", "--text", text).out == f"{job}\n", text
    assert server.cli("list", "--ids", "--text", "workdir").out == ""
    assert "1 job" in server.cli("cancel", "--text", "needle").out
    assert server.cli("list", "--ids", "--text", "make", "--state", "ready").out == f"{job}\n"
    line = add(server, "--job", '{"queue":"own","command":"echo \\"a needle\\""}')
    assert server.cli("list", "--ids", "--text", 'echo "a n', "--state", "ready").out == f"{line}\n"


def test_an_empty_list_says_so_beside_the_output(server, client):
    ran = server.cli("list")
    assert (ran.status, ran.out, ran.err) == (0, "", "there are no jobs\n"), ran
    client.submit()
    ran = server.cli("list", "--text", "nowhere")
    assert (ran.status, ran.out, ran.err) == (0, "", "no job matches\n"), ran
    ran = server.cli("list", "--text", "nowhere", "--json")
    assert (ran.status, ran.out, ran.err) == (0, "", ""), ran
    assert server.cli("list", "--ids", "--text", "nowhere").err == ""
    ran = server.cli("signal", "list")
    assert (ran.status, ran.out, ran.err) == (0, "", "there are no signals\n"), ran
    assert server.cli("list").err == server.cli("queue", "list").err == ""


# ---- names for jobs

def test_a_job_is_known_by_how_its_id_begins(server, client):
    job = client.submit()
    assert server.cli("show", job[:12], "--json").json["id"] == job
    assert server.cli("show", job[:12].lower(), "--json").json["id"] == job
    assert server.cli("cancel", job[:11]).status == 0
    assert client.state(job) == "cancelled"
    ran = server.cli("show", "ZZZZ")
    assert ran.status == 2 and "not a job's id" in ran.err, ran  # no id begins so
    ran = server.cli("show", "7ZZZ")
    assert ran.status == 3 and "7ZZZ" in ran.err, ran
    ran = server.cli("show", job[:3])
    assert ran.status == 2 and "at least the first 4" in ran.err, ran


def test_an_ambiguous_beginning_lists_the_candidates(server, client):
    first, second = client.submit(params={"n": 1}), client.submit(params={"n": 2})
    ran = server.cli("cancel", first[:5])
    assert ran.status == 2 and ran.out == "", ran
    assert first in ran.err and second in ran.err and "n=2" in ran.err, ran
    assert client.state(first) == client.state(second) == "ready"


def test_the_last_job_has_a_name(server, client):
    ran = server.cli("show", "@last")
    assert ran.status == 3 and "@last" in ran.err, ran
    first = add(server, "work")
    assert server.cli("show", "@last", "--json").json["id"] == first
    second = add(server, "work", "--after", "@last:end")
    assert client.show(second)["after"] == [{"job": first, "on": "end"}]
    client.submit()  # by somebody else
    assert server.cli("show", "@last", "--json").json["id"] == second
    copy = server.cli("clone", first).out.strip()
    assert server.cli("cancel", "@last").status == 0 and client.state(copy) == "cancelled"


def test_a_condition_takes_short_names_as_well(server, client):
    first = client.submit()
    for given, on in ((first[:12], "success"), (f"{first[:12].lower()}:end", "end")):
        job = add(server, "work", "--after", given)
        assert client.show(job)["after"] == [{"job": first, "on": on}], given
    ran = server.cli("add", "work", "--after", first[:4])
    assert ran.status == 2 and "several job ids start with" in ran.err and first in ran.err, ran
    ran = server.cli("add", "work", "--after", "7ZZZ:end")
    assert ran.status == 3 and "no job id starts with 7ZZZ" in ran.err, ran


def test_the_last_job_is_kept_for_each_server(server, servers, client):
    other = servers("other").start()
    mine, theirs = add(server, "work"), add(other, "work", env={"HOME": str(server.dir)})
    env = {"HOME": str(server.dir)}
    assert server.cli("show", "@last", "--json").json["id"] == mine
    assert other.cli("show", "@last", "--json", env=env).json["id"] == theirs
    state = server.dir / "elsewhere"
    env = {"XDG_STATE_HOME": str(state)}
    third = add(server, "work", env=env)
    assert (state / "waybill" / "last-jobs").read_text().startswith(third)
    assert server.cli("show", "@last", "--json").json["id"] == mine


def test_a_home_that_cannot_be_written_does_no_harm(server):
    """Only the name of the last job is lost."""
    for env in ({"HOME": "/proc/nowhere"}, {"XDG_STATE_HOME": "/proc/nowhere"}):
        ran = server.cli("add", "work", env=env)
        assert ran.status == 0 and ID.fullmatch(ran.out.strip()) and ran.err == "", ran
        assert server.cli("show", "@last", env=env).status == 3


# ---- which jobs

def test_a_list_since(server, client):
    job = client.submit()
    assert server.cli("list", "--since", "1h", "--ids").out.split() == [job]
    assert server.cli("list", "--since", "0s", "--ids").out == ""
    assert server.cli("list", "--since", "2000-01-01", "--ids").out.split() == [job]
    assert server.cli("list", "--since", "2999-01-01", "--ids").out == ""
    assert len(client.ok("GET", "/v1/jobs?since=2024-01-01T00:00:00Z")["jobs"]) == 1
    client.refused(422, "invalid", "GET", "/v1/jobs?since=soon")
    ran = server.cli("list", "--since", "soon")
    assert ran.status == 2 and "'soon'" in ran.err, ran


def test_an_action_since(server, admin):
    job = admin.submit()
    assert "cancelled 0 jobs" in server.cli("cancel", "--since", "0s").out
    assert admin.state(job) == "ready"
    assert "cancelled 1 job" in server.cli("cancel", "--since", "1h").out
    assert admin.state(job) == "cancelled"


def test_a_dry_run_of_an_action_changes_nothing(server, client):
    jobs = [client.submit(params={"n": n}) for n in range(8)]
    client.end(client.take())
    ran = server.cli("cancel", "--queue", "work", "--dry-run")
    assert ran.status == 0 and ran.out.startswith("7 jobs would be cancelled\n"), ran
    assert jobs[7] in ran.out and "n=7" in ran.out and "and 2 more" in ran.out, ran
    assert jobs[0] not in ran.out, ran
    plan = server.cli("rm", "--queue", "work", "--dry-run", "--json").json
    assert (plan["jobs"], plan["more"], len(plan["examples"])) == (8, False, 5), plan
    assert server.cli("retry", "--state", "done",
                      "--dry-run").out.startswith("1 job would be retried")
    assert server.cli("queue", "empty", "work",
                      "--dry-run").out.startswith("7 jobs would be deleted")
    assert server.cli("prune", "--older", "0s",
                      "--dry-run").out.startswith("1 job would be deleted")
    assert client.counts()["work"] == {"ready": 7, "done": 1}
    ran = server.cli("cancel", jobs[7], "--dry-run")
    assert ran.status == 2 and client.state(jobs[7]) == "ready", ran


# ---- one exit status

@pytest.mark.parametrize("line", [
    ["add", "nowhere"], ["list", "--queue", "nowhere"], ["cancel", "--queue", "nowhere"],
    ["queue", "show", "nowhere"], ["queue", "pause", "nowhere"], ["queue", "log", "nowhere"],
    ["queue", "empty", "nowhere"], ["queue", "rm", "nowhere"], ["queue", "restart", "nowhere"],
    ["cancel", "--queue", "nowhere", "--dry-run"],
    ["add", "--job", '{"steps":[{"name":"a","queue":"nowhere"}]}'],
], ids=" ".join)
def test_an_unknown_queue_has_one_exit_status(server, line):
    ran = server.cli(*line)
    assert ran.status == 3 and "there is no queue 'nowhere'" in ran.err, ran


def test_moving_to_an_unknown_queue_has_that_exit_status(server, client):
    job = client.submit()
    for which in ([job], ["--queue", "work"]):
        ran = server.cli("move", *which, "--to", "nowhere")
        assert ran.status == 3 and "there is no queue 'nowhere'" in ran.err, ran
    client.refused(422, "invalid", "POST", "/v1/jobs", {"queue": "nowhere"})


# ---- why a queue does not start jobs

def test_status_and_queue_show_say_why_a_queue_is_stopped(server, client):
    assert server.cli("queue", "pause", "work").status == 0
    assert re.search(r"^work is on pause: by request, \d+s ago$", server.cli("status").out, re.M)
    shown = server.cli("queue", "show", "work").out
    assert re.match(r"queue work  pause  by request, \d+s ago\n", shown), shown
    server.cli("queue", "up", "work")
    assert "by request" not in server.cli("status").out + server.cli("queue", "show", "work").out


def test_what_stopped_a_queue_is_named(server, admin):
    admin.ok("PUT", "/v1/queues/frail", {"stop_after": 2})
    admin.submit_many([{"queue": "frail"}] * 2)
    jobs = admin.claim("frail", max=2)["jobs"]
    for job in jobs:
        admin.end(job, "failed", exit=1)
    why = f"stop_after: 2 jobs failed in a row, the last was {jobs[1]['id']}"
    assert f"frail is on pause: {why}" in server.cli("status").out
    assert f"queue frail  pause  {why}" in server.cli("queue", "show", "frail").out


# ---- help and completion

def test_help_is_wrapped_to_the_terminal():
    for size, most in ((60, 60), (200, 96)):
        terminal = Terminal("add", "--help", size=(50, size))
        assert terminal.wait() == 0
        text = terminal.text.replace("\r", "")
        terminal.close()
        lines = text[:text.index("For example")].split("\n")
        assert max(len(line) for line in lines) <= most, text
        assert any(len(line) > most - 12 for line in lines), text


# ---- edit

def edited(server, job, script, **env):
    """`edit` with an editor that is a line of sed."""
    return server.cli("edit", job, env={"EDITOR": f"sed -i -e {script}", **env})


def test_a_waiting_job_is_changed_in_the_editor(server, client, tmp_path):
    job = client.submit(params={"url": "https://a: b/#c", "n": 1.5, "list": [1, None, "x\ny"]},
                        labels={"site": "x"}, delay="1h")
    ran = edited(server, job,
                 r"""'s/priority: 0/priority: 7/; s/"n": 1.5/"n": 2/; """
                 r"""s/due_at: .*/due_at: null/'""",
                 TMPDIR=str(tmp_path))
    assert ran.status == 0 and ran.out == f"{job}  ready\n" and ran.err == "", ran
    shown = client.show(job)
    assert shown["params"] == {"url": "https://a: b/#c", "n": 2, "list": [1, None, "x\ny"]}
    assert (shown["priority"], shown["labels"], shown["state"]) == (7, {"site": "x"}, "ready")
    assert list(tmp_path.iterdir()) == []
    ran = server.cli("edit", job, env={"EDITOR": "true"})
    assert ran.status == 0 and "nothing has changed" in ran.out, ran
    ran = edited(server, job, r"'s/labels:.*/labels: {a: b}/; /\"site\"/d; "
                              r"s/^due_at.*/due_at: 2999-01-01T00:00:00Z/'")
    assert ran.status == 2, ran  # a brace too many is left over: that is a mistake of YAML
    assert client.show(job)["labels"] == {"site": "x"}


def test_labels_and_the_due_time_are_changed_in_the_editor(server, client):
    job = client.submit(labels={"site": "x"})
    due = "2999-01-01T00:00:00Z"
    ran = edited(server, job, rf"""'s/"site": "x"/"site": "y"/; s/due_at: .*/due_at: {due}/'""")
    assert ran.status == 0 and ran.out == f"{job}  scheduled\n", ran
    shown = client.show(job)
    assert (shown["labels"], shown["due_at"][:19]) == ({"site": "y"}, "2999-01-01T00:00:00"), shown


def test_a_job_that_was_changed_meanwhile_is_not_overwritten(server, client, tmp_path):
    job = client.submit(params={"n": 1})
    other = f"curl -s --unix-socket {server.socket_path} -X PATCH http://w/v1/jobs/{job} -d "
    script = tmp_path / "editor"
    script.write_text("#!/bin/sh\n" + other + "'{\"priority\":5}' >/dev/null\n"
                      'sed -i -e "s/priority: 0/priority: 9/" "$1"\n')
    script.chmod(0o755)
    ran = server.cli("edit", job, env={"EDITOR": str(script), "TMPDIR": str(tmp_path)})
    assert ran.status == 4 and "changed meanwhile" in ran.err, ran
    kept = re.search(r"what you wrote is in (\S+)", ran.err)[1]
    assert "priority: 9" in open(kept, encoding="utf8").read() and client.show(job)["priority"] == 5
    client.refused(412, "precondition", "PATCH", f"/v1/jobs/{job}",
                   {"priority": 1, "version": "0123456789abcdef"})
    client.ok("PATCH", f"/v1/jobs/{job}",
              {"priority": 1, "version": client.show(job)["version"]})


def editor_script(tmp_path, text):
    script = tmp_path / "editor"
    script.write_text("#!/bin/sh\n" + text)
    script.chmod(0o755)
    return {"EDITOR": str(script), "TMPDIR": str(tmp_path)}


@pytest.mark.parametrize("key", ["\x03", "\x1c"], ids=["interrupt", "quit"])
def test_keys_that_send_signals_are_the_editors(server, client, tmp_path, key):
    job = client.submit(params={"n": 1})
    env = editor_script(tmp_path, f"trap 'echo caught' INT QUIT; echo ready; cd {tmp_path}\n"
                        "until [ -e go ]; do sleep 0.1; done; "
                        "sed -i -e 's/priority: 0/priority: 9/' \"$1\"\n")
    terminal = Terminal("edit", job, "--data", server.data, env=env)
    try:
        terminal.until("ready")
        terminal.press(key)
        terminal.until("caught")
        (tmp_path / "go").touch()
        assert terminal.wait() == 0, terminal.text
    finally:
        terminal.close()
    assert client.show(job)["priority"] == 9


def test_what_cannot_be_read_after_editing_is_kept(server, client, tmp_path):
    job = client.submit(params={"n": 1})
    ran = server.cli("edit", job, env=editor_script(tmp_path, 'truncate -s 100M "$1"\n'))
    assert ran.status == 4 and "too large" in ran.err, ran
    kept = re.search(r"what you wrote is in (\S+)", ran.err)[1]
    assert os.path.exists(kept)
    assert client.show(job)["priority"] == 0


def test_mistakes_in_the_editor_change_nothing(server, client):
    job = client.submit(params={"n": 1})
    for script, word in (("'s/priority: 0/priority: high/'", "priority"),
                         ("'s/priority/prioritty/'", "only priority"),
                         ("'s/params:/params: [/'", "line")):
        ran = edited(server, job, script)
        assert ran.status == 2 and "what you wrote is in" in ran.err, ran
    ran = server.cli("edit", job, env={"EDITOR": "false"})
    assert ran.status == 5 and "nothing was changed" in ran.err, ran
    client.take()
    ran = server.cli("edit", job, env={"EDITOR": "true"})
    assert ran.status == 4 and "running" in ran.err, ran
