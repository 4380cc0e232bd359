# SPDX-License-Identifier: MIT
"""What programs say on descriptor 3, and what comes back on 4: status, emits, cursors."""
import json

import pytest

from processes import noted
from waiting import DEADLINE_S, eventually
from worker import PYTHON

# say LINE: sends it and prints the answer
SAY = """
say() { echo "$1" >&3; read -r answer <&4; echo "answer: $answer"; }
"""


@pytest.fixture
def sink(shop):
    """A queue without a command: what is emitted to it stays."""
    return shop.queue()


def jobs_of(shop, queue, state=None):
    return [job for job in shop.client.list(f"queue={queue}") if state in (None, job["state"])]


# ---- status

def test_run_and_progress_are_shown_while_it_runs(shop):
    hold = shop.place("hold")
    hold.touch()
    job_id = shop.submit(shop.queue("echo 'run reading' >&3; echo 'progress 40/100MB' >&3; "
                                    "echo 'progress left 90s' >&3; "
                                    "while [ -e \"$1\" ]; do sleep 0.01; done", [str(hold)]))

    def shown():
        job = shop.client.show(job_id)
        return job if job.get("expected_at") and job.get("done") == 40 else None

    job = eventually(shown, "the progress")
    assert (job["text"], job["done"], job["total"], job["unit"]) == ("reading", 40, 100, "MB")
    hold.unlink()
    job = shop.ended(job_id)
    assert job["state"] == "done" and job["text"] == "reading"


def test_the_last_status_is_there_though_the_program_ends_at_once(shop):
    job = shop.carry_out("echo 'run the last word' >&3; echo 'progress 7/7 all of it' >&3")
    assert (job["done"], job["total"]) == (7, 7)
    assert job["text"] == "all of it"


def test_a_status_text_stays_when_the_program_fails(shop):
    job = shop.carry_out("echo 'run at row 17' >&3; exit 3")
    assert (job["state"], job["exit"], job["text"]) == ("failed", 3, "at row 17")


def test_status_lines_in_a_flood_do_not_flood_the_server(shop):
    before = shop.client.metrics()["waybill_http_requests_total{class=\"2xx\"}"]
    job = shop.carry_out(PYTHON + "import os\nfor n in range(50000): os.write(3, "
                         "b'progress %d/50000\\n' % n)\nos.write(3, b'progress 50000/50000\\n')")
    after = shop.client.metrics()["waybill_http_requests_total{class=\"2xx\"}"]
    assert job["done"] == 50000
    assert after - before < 100, after - before


# ---- emit

def test_what_is_emitted_comes_with_the_end_of_the_job(shop, sink):
    hold = shop.place("hold")
    hold.touch()
    queue = shop.queue(SAY + f"""
say 'emit {{"queue":"{sink}","params":{{"n":1}}}}'
say 'emit {{"queue":"{sink}","params":{{"n":2}},"priority":5}}'
while [ -e "$1" ]; do sleep 0.01; done""", [str(hold)])
    job_id = shop.submit(queue)
    shop.logged(job_id, b"answer: ok\nanswer: ok\n")
    assert jobs_of(shop, sink, "ready") == []
    hold.unlink()
    assert shop.ended(job_id)["state"] == "done"
    made = jobs_of(shop, sink)
    assert sorted((job["params"]["n"], job["state"]) for job in made) == \
        [(1, "ready"), (2, "ready")]


@pytest.mark.parametrize("end", ["exit 1", "kill -KILL $$", "echo 'err no' >&3",
                                 "echo 'done' >&3; exit 3", "echo 'resend 1000' >&3", "sleep 1000"])
def test_an_attempt_that_does_not_succeed_leaves_nothing_that_it_emitted(shop, sink, end):
    queue = shop.queue(SAY + f"say 'emit {{\"queue\":\"{sink}\"}}'\n{end}", timeout="2s")
    job_id = shop.submit(queue)
    eventually(lambda: shop.client.show(job_id)["state"] in ("failed", "scheduled"), "the end")
    assert b"answer: ok" in shop.log(job_id)
    assert jobs_of(shop, sink) == []


def test_a_retry_emits_once(shop, sink):
    job = shop.carry_out(SAY + f"say 'emit {{\"queue\":\"{sink}\"}}'\n[ $WAYBILL_ATTEMPT = 3 ]",
                         retry={"max": 5, "first": "10ms", "jitter": 0})
    assert (job["state"], job["attempt"]) == ("done", 3)
    assert len(jobs_of(shop, sink)) == 1


def test_thousands_of_emits_are_released_together(shop, sink):
    queue = shop.queue(PYTHON + """
import os, sys
lines = os.fdopen(3, "wb")
answers = os.fdopen(4, "rb")
n = 0
for first in range(0, 5000, 200):
    for n in range(first, first + 200):
        lines.write(b'emit {"queue":"%s","params":{"n":%d}}\\n' % (sys.argv[1].encode(), n))
    lines.flush()
    for _ in range(200):
        assert answers.readline() == b"ok\\n"
""", [sink])
    job = shop.run(queue)
    assert job["state"] == "done", shop.log(job)
    eventually(lambda: shop.client.counts()[sink].get("ready") == 5000, "5000 jobs")
    assert sorted(job["params"]["n"] for job in jobs_of(shop, sink)) == list(range(5000))


def test_a_program_that_never_reads_its_answers_is_not_blocked(shop, sink):
    job = shop.carry_out(PYTHON + f"import os\nfor n in range(20000):\n"
                         f"    os.write(3, b'emit {{\"queue\":\"{sink}\"}}\\n')\n")
    assert job["state"] == "done"
    eventually(lambda: shop.client.counts()[sink].get("ready") == 20000, "20000 jobs",
               3 * DEADLINE_S)


def test_a_bad_job_is_answered_with_its_fault(shop, sink):
    job = shop.carry_out(SAY + f"""
say 'emit {{"queue":"{sink}x"}}'
say 'emit {{"params":{{}}}}'
say 'emit {{"queue":"{sink}","colour":"red"}}'
say 'emit {{"queue":"{sink}","priority":5000}}'
say 'emit {{"queue":"{sink}","on_failure":"{sink}x"}}'
say 'emit {{"queue":"{sink}"}}'""")
    answers = shop.log(job).decode().splitlines()
    answers = [line for line in answers if line.startswith("answer: ")]
    assert len(answers) == 6, shop.log(job)
    for answer, part in zip(answers, (sink, "queue", "colour", "priority", "on_failure[0]")):
        assert answer.startswith("answer: fail ") and part in answer
    assert answers[5] == "answer: ok"
    assert job["state"] == "done" and len(jobs_of(shop, sink)) == 1


def test_a_job_that_the_server_refuses_in_the_end_fails_the_attempt_and_the_log_stays(shop, sink):
    """Which jobs there are, the server alone knows."""
    job = shop.carry_out("echo printed\n" + SAY + f"""
say 'emit {{"queue":"{sink}"}}'
say 'emit {{"queue":"{sink}","after":"0000000000001"}}'""")
    assert (job["state"], job["cause"]) == ("failed", "protocol")
    assert "there is no job 0000000000001" in job["text"] and job["exit"] == 0
    assert shop.log(job).startswith(b"printed\nanswer: ok\nanswer: ok\n"), shop.log(job)
    assert jobs_of(shop, sink) == []


# ---- emit! and cursors

def test_emit_now_answers_with_the_id_when_it_is_committed(shop, sink):
    hold = shop.place("hold")
    hold.touch()
    queue = shop.queue(SAY + f"say 'emit! {{\"queue\":\"{sink}\"}}'\n"
                       "while [ -e \"$1\" ]; do sleep 0.01; done; exit 1", [str(hold)])
    job_id = shop.submit(queue)
    shop.logged(job_id, b"answer: ok ")
    emitted = shop.log(job_id).split()[-1].decode()
    assert shop.client.show(emitted)["state"] == "ready"
    hold.unlink()
    assert shop.ended(job_id)["state"] == "failed"
    assert shop.client.show(emitted)["state"] == "ready", "it stays"


def test_a_key_that_is_known_with_another_content_is_refused_and_the_program_goes_on(shop, sink):
    job = shop.carry_out(SAY + f"""
say 'emit! {{"queue":"{sink}","key":"one","params":{{"n":1}}}}'
say 'emit! {{"queue":"{sink}","key":"one","params":{{"n":2}}}}'
say 'emit! {{"queue":"{sink}","key":"two","params":{{"n":2}}}}'""")
    answers = [line for line in shop.log(job).decode().splitlines() if line.startswith("answer: ")]
    assert [answer.split()[1] for answer in answers] == ["ok", "fail", "ok"], answers
    assert job["state"] == "done" and len(jobs_of(shop, sink)) == 2


def test_a_cursor_is_handed_to_the_next_attempt_and_nothing_is_made_twice(shop, sink):
    queue = shop.queue(SAY + f"""
n=${{WAYBILL_CURSOR:-0}}
[ "$n" = 0 ] && say 'cursor 0'
while [ $n -lt 9 ]; do
    n=$((n + 1))
    say 'emit! {{"queue":"{sink}","params":{{"n":'$n'}}}}'
    [ $n = $((WAYBILL_ATTEMPT * 3)) ] && [ $WAYBILL_ATTEMPT -lt 3 ] && exit 1
    say "cursor $n"
done""", retry={"max": 5, "first": "10ms", "jitter": 0})
    job = shop.run(queue)
    assert (job["state"], job["attempt"]) == ("done", 3), shop.log(job)
    assert sorted(job["params"]["n"] for job in jobs_of(shop, sink)) == list(range(1, 10))


def test_a_cursor_survives_a_killed_worker(shops, workers):
    shop = shops(slots=0).start()
    worker = workers(shop.server, "w").start()
    place = shop.place("pid")
    queue = shop.queue(SAY + "echo \"cursor is ${WAYBILL_CURSOR:-none}\"\n"
                       "[ -n \"${WAYBILL_CURSOR:-}\" ] && exit 0\n"
                       "say 'cursor {\"page\":7}'; echo $$ > \"$1\"; sleep 1000", [str(place)])
    job_id = shop.submit(queue)
    noted(place)
    worker.kill()
    workers(shop.server, "w").start()
    job = shop.ended(job_id)
    assert (job["state"], job["lost"]) == ("done", 1)
    last = shop.log(job).decode().splitlines()[-1]
    assert json.loads(last.removeprefix("cursor is ")) == {"page": 7}


def test_emits_while_the_server_is_away_are_delivered_once(shops, workers):
    shop = shops(slots=0).start()
    workers(shop.server, "w").start()
    sink = shop.queue()
    base = shop.place("pid")
    queue = shop.queue(SAY + f"""echo $$ > "$1"
while ! [ -e "$1.go" ]; do sleep 0.01; done
say 'emit {{"queue":"{sink}","params":{{"n":1}}}}'
touch "$1.said"
say 'emit! {{"queue":"{sink}","params":{{"n":2}}}}'
""", [str(base)])
    job_id = shop.submit(queue)
    noted(base)
    shop.server.kill()
    base.with_name(base.name + ".go").touch()
    eventually(base.with_name(base.name + ".said").exists, "an emit without a server")
    shop.restart()
    job = shop.ended(job_id, 2 * DEADLINE_S)
    assert (job["state"], job["attempt"]) == ("done", 1), shop.log(job)
    assert sorted(job["params"]["n"] for job in jobs_of(shop, sink)) == [1, 2]
