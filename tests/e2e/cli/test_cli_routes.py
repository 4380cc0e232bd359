# SPDX-License-Identifier: MIT
"""The command line over routes, conditions, chains, topics, signals and joins."""
import json
import re

import pytest

from waiting import Background, eventually
from waybill import BIN
from worker import PYTHON

pytestmark = pytest.mark.embedded("each verb is a request that other tests make")

SEED = {"steps": [{"number": 1, "process name": "extract", "queue name": "shelf",
                   "command line": "echo one"},
                  {"number": 2, "process name": "main", "queue name": "shelf",
                   "command line": "echo two"}],
        "progress": [], "params": {"case": "7"}}

ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{13}")


@pytest.fixture(scope="module", autouse=True)
def queues(shop):
    for name in ("shelf", "shelf 2"):
        shop.define(name.replace(" ", "%20"), own_command=True,
                    may_emit={"command": True})


def good(shop, *args, **named):
    ran = shop.server.cli(*args, **named)
    assert ran.status == 0 and ran.err == "", ran
    return ran


def add(shop, *args, **named):
    ids = good(shop, "add", *args, **named).out.split()
    assert len(ids) == 1 and ID.fullmatch(ids[0]), ids
    return ids[0]


def refused(shop, status, word, *args):
    ran = shop.server.cli(*args)
    assert ran.status == status and word in ran.err and ran.out == "", ran


def step(name, command, queue="shelf", **more):
    return {"name": name, "queue": queue, "command": command, **more}


def add_route(shop, *steps, line=(), **more):
    return add(shop, "--job", json.dumps({"steps": list(steps), **more}), *line)


def rows(text, title):
    """The rows of a table on a page, in columns, that follows its title."""
    lines = text.split(f"\n  {title}\n")[1].split("\n\n")[0].splitlines()
    return [line.split() for line in lines[1:]]


def names(job):
    return [(entry["number"], entry["name"], entry["state"]) for entry in job["progress"]]


# ---- whole jobs ----

def test_a_whole_job_in_the_words_of_the_shelf_broker_runs_to_its_end(shop, tmp_path):
    path = tmp_path / "route.json"
    path.write_text(json.dumps(SEED, indent=2))
    for given, stdin in ((f"@{path}", b""), ("-", path.read_bytes()), (json.dumps(SEED), b"")):
        job = shop.ended(add(shop, "--job", given, stdin=stdin))
        assert job["state"] == "done", job
        assert names(job) == [(1, "extract", "done"), (2, "main", "done")]
        assert shop.log(job) == b"one\ntwo\n"


def test_what_the_line_says_is_laid_over_the_whole_job(shop):
    job_id = add_route(shop, step("a", "echo {case} {other}"), params={"case": "7", "other": 1},
                       labels={"a": "b"}, line=["-p", "case=8", "--label", "c=d", "--key", "over"])
    job = shop.ended(job_id)
    assert (job["params"], job["labels"]) == ({"case": "8", "other": 1}, {"a": "b", "c": "d"})
    assert job["key"] == "over" and shop.log(job) == b"8 1\n"


def test_an_array_of_jobs_that_name_each_other_is_one_request(shop):
    queue = shop.queue("echo done")
    jobs = [{"ref": "last", "queue": queue, "after": ["first"]}, {"ref": "first", "queue": queue}]
    ids = good(shop, "add", "--job", json.dumps(jobs)).out.split()
    assert [shop.ended(job_id)["state"] for job_id in ids] == ["done", "done"]
    last, first = (shop.client.show(job_id) for job_id in ids)
    assert last["started_at"] >= first["finished_at"]
    assert f"after      {ids[1]}\n" in good(shop, "show", ids[0]).out


@pytest.mark.parametrize("args, word", [
    (["add"], "--job"), (["add", "--job", "{"], "--job"),
    (["add", "--job", "7"], "an array of jobs"),
    (["add", "--job", "@/nowhere/x"], "/nowhere/x"),
    (["add", "--job", "[]", "-p", "a=b"], "with an array"),
    (["add", "--job", "[]", "--wait"], "one job"),
    (["add", "--job", "{}", "--lines", "-"], "--lines"),
    (["add", "q", "--after", "yesterday"], "yesterday"),
    (["add", "q", "--after", "05D8K3Q9XW2RT:never"], "never"),
    (["add", "q", "--on-success", "topic:"], "topic"),
    (["retry", "--from", "2", "--queue", "q"], "--from"),
    (["signal", "raise", "x", "none"], "number"), (["topic", "publish", "a/b"], "'/'"),
])
def test_a_wrong_line_is_told(shop, args, word):
    refused(shop, 2, word, *args)


def test_what_the_server_refuses_is_told(shop):
    refused(shop, 4, "queue", "add", "shelf", "--job", json.dumps(SEED))
    refused(shop, 3, "nowhere", "add", "--job", json.dumps({"steps": [{"name": "nowhere"}]}))
    refused(shop, 4, "steps", "add", "--job", '{"steps":[]}')
    queue = shop.queue("true")
    refused(shop, 4, "05D8K3Q9XW2RT", "add", queue, "--after", "05D8K3Q9XW2RT")
    refused(shop, 3, "nowhere", "add", queue, "--on-success", "nowhere")
    refused(shop, 3, "nowhere", "topic", "publish", "nowhere")
    refused(shop, 3, "nowhere", "join", "arrive", "nowhere")


def test_a_dry_run_prints_the_plan_and_adds_nothing(shop):
    route = {"steps": [step("extract", ["tar", "xf", "{case}.tar"]),
                       step("main", "run {case} {found}", on_error="continue"),
                       step("log", "logger done", final=True)], "params": {"case": "a b"}}
    before = len(good(shop, "list", "--all", "--ids").out.split())
    ran = good(shop, "add", "--job", json.dumps(route), "--dry-run")
    head, titles, first, second, third = ran.out.splitlines()
    assert head == "queue shelf  ready"
    assert titles.split() == ["STEP", "NAME", "QUEUE", "ON", "ERROR", "COMMAND"]
    assert re.fullmatch(r" +1  extract  shelf  stop +tar xf 'a b.tar'", first), first
    assert re.match(r" +2  main     shelf  continue  .*found", second), second
    assert re.match(r" +3  log      shelf  final +.*logger done", third), third
    assert first.index("tar") == titles.index("COMMAND") == \
        third.index(third.split("final")[1].strip())
    plan = good(shop, "add", "--job", json.dumps(route), "-n", "--json").json["plan"]
    assert [one["name"] for one in plan[0]["steps"]] == ["extract", "main", "log"]
    assert len(good(shop, "list", "--all", "--ids").out.split()) == before


def test_a_known_key_is_run_again_only_when_redo_is_said(shop):
    line = ["--job", json.dumps({**SEED, "key": "again"})]
    job_id = add(shop, *line)
    shop.ended(job_id)
    assert add(shop, *line) == job_id
    assert len(shop.client.show(job_id)["progress"]) == 2
    assert re.match(f"known as {job_id}", good(shop, "add", *line, "--dry-run").out)
    assert add(shop, *line, "--redo") == job_id
    assert len(shop.ended(job_id)["progress"]) == 4


# ---- show and retry ----

def test_show_has_the_steps_and_the_record(shop):
    job_id = add_route(shop, step("extract", "exit 3", on_error="continue"),
                       step("main", "echo 'err no luck' >&3; exit 1"), step("never", "true"),
                       step("log", "echo logged", final=True), params={"case": "7"})
    assert shop.ended(job_id)["state"] == "failed"
    page = good(shop, "show", job_id).out
    assert rows(page, "steps") == [["1", "extract", "shelf", "failed", "1", "continue", "exit",
                                    "status", "3"],
                                   ["2", "main", "shelf", "failed", "1", "no", "luck"],
                                   ["3", "never", "shelf", "not", "run"],
                                   ["4", "log", "shelf", "done", "1", "final"]]
    record = rows(page, "record")
    assert [row[:5] for row in record] == [["1", "extract", "1", "shelf", "failed"],
                                           ["2", "main", "2", "shelf", "failed"],
                                           ["4", "log", "3", "shelf", "done"]]
    assert good(shop, "log", "--attempt", record[2][2], job_id).out == "logged\n"
    assert record[0][5:7] == ["exit", "3"]


def test_retry_goes_on_from_a_step_with_other_params(shop):
    job_id = add_route(shop, step("extract", "echo one {case}; echo 'set found 1' >&3"),
                       step("main", "test {case} = 8 || exit 2; echo main {case} {found}"),
                       step("end", "echo end {case}", final=True), params={"case": "7"})
    assert shop.ended(job_id)["state"] == "failed"
    good(shop, "retry", job_id, "--set", "case=8")
    job = shop.ended(job_id)
    assert (job["state"], job["params"]) == ("done", {"case": "8"})
    assert names(job)[3:] == [(2, "main", "done"), (3, "end", "done")]
    for given, count in (("extract", 3), ("2", 2)):
        before = len(shop.client.show(job_id)["progress"])
        good(shop, "retry", job_id, "--from", given)
        assert len(shop.ended(job_id)["progress"]) == before + count
    refused(shop, 4, "nothing", "retry", job_id, "--from", "nothing")


def test_show_of_a_job_on_its_way_says_what_is_to_come(shop):
    job_id = add_route(shop, step("one", "true"), {"name": "two", "queue": shop.queue()},
                       step("three", "true"))
    shop.until(job_id, "ready")

    def states():
        return [row[3:5] for row in rows(good(shop, "show", job_id).out, "steps")]

    eventually(lambda: states()[1:] == [["ready"], ["to", "come"]] and states()[0][0] == "done",
               "the second step")
    good(shop, "cancel", job_id)
    assert states()[2] == ["not", "run"]


def test_show_knows_the_steps_that_came_with_a_status(shop):
    manual = shop.queue()
    job_id = add_route(shop, step("a", "echo a"), {"name": "b", "queue": manual},
                       step("c", "echo c"),
                       step("d", "echo d"), progress=[{"number": 1, "status": 0, "text": "before"},
                                                      {"number": 3, "status": 2}])
    assert [row[3:] for row in rows(good(shop, "show", job_id).out, "steps")] == [
        ["done", "1", "before"], ["ready"], ["failed", "1"], ["to", "come"]]
    shop.client.end(shop.client.take(manual))
    assert shop.log(shop.ended(job_id)) == b"d\n"


# ---- after and chains ----

def test_a_job_waits_for_jobs_steps_and_signals(shop):
    manual, queue = shop.queue(), shop.queue("echo done")
    first = add(shop, manual)
    waits = add(shop, queue, "--after", first, "--after", "signal:cli dump:3")
    fails = add(shop, queue, "--after", f"{first}:failure")
    ends = add(shop, queue, "--after", f"{shop.server.tcp().show(first)['url']}:end")
    page = good(shop, "show", waits).out
    assert "held" in page and first in page and "signal:cli dump:3" in page, page
    job = shop.client.take(manual)
    shop.client.end(job)
    assert shop.ended(ends)["state"] == "done"
    failed = shop.ended(fails)
    assert (failed["state"], failed["cause"]) == ("cancelled", "dependency")
    assert shop.client.state(waits) == "held"
    assert good(shop, "signal", "raise", "cli dump").out == "cli dump  1\n"
    shown = good(shop, "signal", "show", "cli dump").out
    assert re.search(rf"waiting  1\n.*\n  {waits} +3", shown), shown
    good(shop, "signal", "raise", "cli dump", "2")
    assert shop.ended(waits)["state"] == "done"
    route = add_route(shop, step("one", "true"), {"name": "two", "queue": manual})
    assert shop.ended(add(shop, queue, "--after", f"{route}/one"))["state"] == "done"
    shop.client.end(shop.client.take(manual))


def test_chains_lead_to_queues_topics_and_signals(shop):
    queue = shop.queue("exit $1", ["{status}"])
    good_one, bad_one = shop.queue("true"), shop.queue("true")
    done = add(shop, queue, "-p", "status=0", "--on-success", good_one, "--on-success",
               "signal:chain:4", "--on-failure", bad_one)
    failed = add(shop, queue, "-p", "status=1", "--on-failure", f"topic:{bad_one}")
    for job_id, where in ((done, good_one), (failed, bad_one)):
        shop.ended(job_id)
        child, = good(shop, "list", "--queue", where, "--ids").out.split()
        assert shop.ended(child)["params"]["cause"]["id"] == job_id
        assert f"parent     {job_id}" in good(shop, "show", child).out
    assert f"on success {good_one}, signal:chain:4" in good(shop, "show", done).out
    assert good(shop, "signal", "show", "chain").out.startswith("signal chain  4\n")


# ---- topics, signals, joins ----

def test_topics_are_listed_and_published(shop):
    queue = shop.queue("echo $1 $2", ["{date}", "{n}"], subscribe=["cli.dump"])
    assert re.search(rf"cli.dump +{queue}\n", good(shop, "topic").out)
    assert good(shop, "topic", "show", "cli.dump").out == f"topic cli.dump\n  {queue}\n"
    assert "cli.dump" in good(shop, "topic", "list", "--names").out.split("\n")
    job_id = good(shop, "topic", "publish", "cli.dump", "-p", "date=2026_11_15", "-p", "n:=7", "-l",
                  "a=b", "--priority", "5").out.strip()
    job = shop.ended(job_id)
    assert (job["params"], job["labels"]) == ({"date": "2026_11_15", "n": 7}, {"a": "b"})
    assert job["priority"] == 5 and shop.log(job) == b"2026_11_15 7\n"
    assert "topic      cli.dump\n" in good(shop, "show", job_id).out
    assert good(shop, "topic", "publish", queue, "-p", "date=1", "-p", "n=2", "--json").json["ids"]


def test_signals_are_raised_listed_and_cleared(shop):
    assert good(shop, "signal", "raise", "a level", "7").out == "a level  7\n"
    assert re.search(r"a level +7 +0 +\d+s ago\n", good(shop, "signal").out)
    assert "a level" in good(shop, "signal", "list", "--names").out.split("\n")
    assert good(shop, "signal", "raise", "a level", "--json").json == \
        {"name": "a level", "count": 8}
    assert good(shop, "signal", "clear", "a level").out == "a level  0\n"
    left = shop.server.cli("signal")  # says so when none is left
    assert left.status == 0 and "a level" not in left.out, left


def test_joins_count_arrivals_and_fire(shop, tmp_path):
    queue = shop.queue("echo $1", ["{date}"])
    path = tmp_path / "joins.yaml"
    path.write_text(f"joins:\n  report: {{key: '{{date}}', count: 2, then: [{queue}]}}\n")
    good(shop, "apply", str(path))
    assert re.search(rf"report +\{{date\}} +2 +0 +0 +{queue}\n", good(shop, "join").out)
    assert good(shop, "join", "arrive", "report", "-p", "date=1").out == "report  1 arrived\n"
    shown = good(shop, "join", "show", "report").out
    assert f"  then   {queue}\n" in shown and re.search(r"\n  1 +1/2 +\d+s ago", shown), shown
    assert good(shop, "join", "arrive", "report", "-p", "date=2").out == "report  1 arrived\n"
    assert good(shop, "join", "clear", "report", "--key", "2").out == "report  cleared\n"
    assert good(shop, "join", "arrive", "report", "-p", "date=2").out == "report  1 arrived\n"
    assert good(shop, "join", "arrive", "report", "-p", "date=1").out == "report  fired\n"
    job_id, = good(shop, "list", "--queue", queue, "--ids").out.split()
    assert shop.log(shop.ended(job_id)) == b"1\n"
    assert "fired  1, the last time" in good(shop, "join", "show", "report").out
    good(shop, "join", "clear", "report")
    assert "1/2" not in good(shop, "join", "show", "report").out
    assert [one["name"] for one in
            map(json.loads, good(shop, "join", "--json").out.splitlines())] == ["report"]


# ---- what programs see and say on the way ----

def test_a_step_finds_its_number_its_params_and_the_attempts_of_its_own(shop):
    show = "echo $WAYBILL_STEP $WAYBILL_ATTEMPT $WAYBILL_PARAM_CASE {case} $WAYBILL_PARAM_FOUND"
    job_id = add_route(
        shop, step("one", f"{show}; echo 'set found \"x\"' >&3; echo 'set case 9' >&3"),
        step("two", f"{show}; test $WAYBILL_ATTEMPT = 2", retry={"max": 1, "first": 0}),
        step("three", f'{show}; python3 -c "import json, os; '
                      'job = json.load(open(os.environ[\\"WAYBILL_JOB_FILE\\"])); '
                      'print(job[\\"step\\"][\\"name\\"], job[\\"params\\"][\\"case\\"])"',
             params={"case": "mine"}), params={"case": "7"})
    job = shop.ended(job_id)
    assert job["state"] == "done", (job, shop.log(job))
    assert shop.log(job).decode().splitlines() == ["1 1 7 7", "2 1 9 9 x", "2 2 9 9 x",
                                                   "3 1 mine mine x", "three mine"]


def test_a_program_adds_steps_before_the_final_ones_and_raises_signals(shop):
    job_id = add_route(
        shop, step("one", f"{BIN} step more -q 'shelf 2' -p n:=1 --fill -- echo more '{{{{n}}' && "
                          f"{BIN} step '{{{{\"name\":\"last\",\"queue\":\"shelf\","
                          "\"command\":[\"echo\",\"last\"]}' && "
                          f"{BIN} raise added 3 && {BIN} raise added"),
        step("two", "echo two"),
        step("end", f"{BIN} step late -q shelf -- true || echo $?", final=True))
    job = shop.ended(job_id)
    assert job["state"] == "done", (job, shop.log(job))
    assert [entry["name"] for entry in job["progress"]] == ["one", "two", "more", "last", "end"]
    assert [entry["number"] for entry in job["progress"]] == [1, 2, 4, 5, 3]  # each for life
    assert [row[:2] for row in rows(good(shop, "show", job_id).out, "steps")] == [
        ["1", "one"], ["2", "two"], ["4", "more"], ["5", "last"], ["3", "end"]]
    assert shop.log(job).decode().startswith("two\nmore 1\nlast\n")
    assert b"the final steps of the route have begun" in shop.log(job)
    assert good(shop, "signal", "show", "added").out.startswith("signal added  4\n")


def test_an_attempt_that_fails_adds_no_steps_and_raises_nothing(shop):
    job_id = add_route(
        shop, step("one", f"{BIN} step more -q shelf -- true && {BIN} raise unheard && "
                          "test $WAYBILL_ATTEMPT = 2", retry={"max": 1, "first": 0}))
    job = shop.ended(job_id)
    assert [(entry["name"], entry["state"]) for entry in job["progress"]] == [
        ("one", "failed"), ("one", "done"), ("more", "done")]
    assert good(shop, "signal", "show", "unheard").out.startswith("signal unheard  1\n")


def test_a_job_without_a_route_is_told_so(shop):
    job = shop.carry_out('echo \'step {"name":"x","queue":"shelf"}\' >&3; read -r answer <&4; '
                         'echo "$answer"')
    assert job["state"] == "done"
    assert shop.log(job).splitlines()[-1] == (
        b"fail step: this job has no route: it was created without steps")


RESIDENT = PYTHON + """
import json, sys
words, replies = open(3, "w", buffering=1), open(4)
for line in sys.stdin:
    job = json.loads(line)["job"]
    step = job.get("step")
    print(job["id"], "raise resident 2", file=words)
    print(job["id"], "step", json.dumps({"name": "more", "queue": "shelf", "command": "echo more"}),
          file=words)
    print(replies.readline().strip(), replies.readline().strip(), step and step["name"])
    sys.stdout.flush()
    print(job["id"], "done", file=words)
"""


def test_a_resident_adds_steps_and_raises_signals(shop):
    queue = shop.queue(RESIDENT, resident=True, may_emit={"command": True})
    job = shop.ended(add_route(shop, {"name": "stays", "queue": queue}))
    assert [entry["name"] for entry in job["progress"]] == ["stays", "more"]
    assert shop.log(job) == b"ok ok stays\nmore\n"
    assert b"no route" in shop.log(shop.run(queue))
    assert good(shop, "signal", "show", "resident").out.startswith("signal resident  4\n")


def test_add_and_wait_follows_a_job_through_all_its_steps(shop):
    line = ["add", "--wait", "--job", json.dumps({"steps": [step("a", "echo one"),
                                                            step("b", "echo two; exit 5")]})]
    ran = Background(shop.server.cli, *line).result()
    assert ran.status == 5 and ran.out == "one\ntwo\n", ran


def test_emit_sends_jobs_to_topics_and_along_steps(shop):
    other = shop.queue("true", subscribe=["emitted"])
    route = {"steps": [step("a", "echo a"), step("b", "echo b")], "labels": {"made": "by emit"}}
    shop.carry_out(f"echo 'emit {{\"topic\":\"emitted\"}}' >&3; read a <&4; echo $a; "
                   f"echo 'emit {json.dumps(route)}' >&3; read a <&4; echo $a",
                   may_emit={"command": True})
    made, = good(shop, "list", "--label", "made=by emit", "--ids").out.split()
    assert shop.log(shop.ended(made)) == b"a\nb\n"
    child, = good(shop, "list", "--queue", other, "--ids").out.split()
    assert shop.ended(child)["state"] == "done"
    job = shop.carry_out("echo 'emit {\"topic\":\"nobody\"}' >&3; read -r a <&4; echo $a")
    assert b"fail emit: nobody is subscribed to topic 'nobody'" in shop.log(job)
