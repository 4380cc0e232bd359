# SPDX-License-Identifier: MIT
"""A long task given to a machine, as its user sees it: start, work, stop, start again, report."""
import signal

import pytest

from runs import Runs
from waiting import eventually

pytestmark = pytest.mark.embedded("run keeps its own store")

# A tree of sub-tasks: each of the first three levels makes three more.
TREE = """
queues:
  task: {command: [./task.sh, "{name}", "{level}"], filters: [{unique: {key: "{name}"}}]}
  report: {command: 'echo the task {name} is done: {done} sub-tasks'}
start: {queue: task, params: {name: "{task}", level: 0}}
finally: {queue: report, params: {name: "{task}", done: "{done}"}}
"""
TASK = """echo "$1" >>ran
test -e "slow" && sleep 0.1
test "$2" = 3 && exit 0
for i in 1 2 3; do
    waybill emit task -p name="$1.$i" -p level:=$(($2 + 1))
    waybill emit task -p name="$1.$i" -p level:=$(($2 + 1))
done
"""
SUB_TASKS = 1 + 3 + 9 + 27


@pytest.fixture
def runs(directory):
    made = Runs(directory)
    made.script("task.sh", f"cd {made.dir}\n{TASK}")
    yield made
    made.finish_up()


def test_the_user_starts_the_machine_up_and_gives_it_an_instruction(runs):
    done = runs.run(runs.file(TREE), "task=a", "-j", 4)
    assert done.status == 0, done
    assert runs.lines()[0] == "a"


def test_the_user_may_give_it_multiple_instructions(runs):
    file = runs.file(TREE)
    for name in ("a", "b"):
        child = runs.start(file, f"task={name}", env={"WAYBILL_FAULT": "run.begun:1"})
        assert runs.end(child).status == -signal.SIGKILL
    done = runs.run(file, "task=a", "-j", 4)
    assert done.status == 0, done
    for name in ("a", "b"):
        assert f"the task {name} is done: {SUB_TASKS} sub-tasks" in done.out, done


def test_the_machine_creates_sub_tasks_of_sub_tasks_and_works_away_at_all_of_them(runs):
    assert runs.run(runs.file(TREE), "task=a", "-j", 4).status == 0
    assert len(runs.lines()) == len(set(runs.lines())) == SUB_TASKS


def test_the_user_may_stop_the_machine_and_start_it_again(runs):
    (runs.dir / "slow").touch()
    file = runs.file(TREE)
    for number, least in ((signal.SIGINT, 4), (signal.SIGKILL, 10), (signal.SIGTERM, 16)):
        child = runs.start(file, "task=a", "-j", 2)
        eventually(lambda least=least: len(set(runs.lines())) >= least, f"{least} sub-tasks")
        child.send_signal(number)
        runs.end(child)
    done = runs.run(file, "task=a", "-j", 2)
    assert done.status == 0 and f"done: {SUB_TASKS} sub-tasks" in done.out, done
    assert len(set(runs.lines())) == SUB_TASKS


def test_a_cron_job_can_start_the_machine_up_periodically(runs):
    file = runs.file(TREE.replace("start: {", "start: {delay: 3s, "))
    assert runs.run(file, "task=a", "--no-wait").status == 75

    def runs_again():
        done = runs.run(file, "task=a", "--no-wait", "-j", 4)
        assert done.status in (0, 75), done
        return done if done.status == 0 else None

    assert f"done: {SUB_TASKS} sub-tasks" in eventually(runs_again, "the day of the task").out


def test_eventually_it_prints_a_final_report(runs):
    done = runs.run(runs.file(TREE), "task=a", "-j", 4)
    assert done.out.endswith(f"\nthe task a is done: {SUB_TASKS} sub-tasks\n"), done


def test_or_at_least_it_says_that_there_are_no_tasks_left_to_do(runs):
    file = runs.file("\n".join(line for line in TREE.splitlines() if "report" not in line))
    done = runs.run(file, "task=a", "-j", 4)
    assert done.out.endswith("\nnothing is left to do\n"), done


def test_a_sub_task_is_worked_on_again_if_the_task_is_repeated_later(runs):
    file = runs.file(TREE)
    for times in (1, 2):
        assert runs.run(file, "task=a", "-j", 4).status == 0
        assert len(runs.lines()) == times * SUB_TASKS
