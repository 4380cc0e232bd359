# SPDX-License-Identifier: MIT
"""A good history is valid, and the property meant for it finds each way of bending it."""
import copy
import random
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "e2e"))

from judge import PROPERTIES, judge, silences  # noqa: E402
from nemesis import Nemesis  # noqa: E402
from sample import PERIOD_S, good  # noqa: E402

pytestmark = pytest.mark.embedded("no server is asked")


class Bent:
    """A copy of the good history, and words to find what is to be bent."""

    def __init__(self):
        operations, final = copy.deepcopy(good())
        self.ops, self.final = operations, final

    def op(self, kind, **fields):
        return next(op for op in self.ops if op["op"] == kind and
                    all(op.get(name) == value for name, value in fields.items()))

    def job(self, name, queue=None):
        return next(job for job in self.final["jobs"] if job["params"]["name"] == name and
                    queue in (None, job["queue"]))

    def submit(self, name, outcome="ok"):
        return next(op for op in self.ops if op["op"] == "submit" and
                    op["jobs"][0]["name"] == name and
                    op["outcome"] == outcome)

    def claims(self, name):
        return [op for op in self.ops if op["op"] == "claim" and op["grants"][0]["name"] == name]

    def drop(self, name, queue=None):
        self.final["jobs"].remove(self.job(name, queue))

    def double(self, name, queue=None):
        self.final["jobs"].append({**copy.deepcopy(self.job(name, queue)), "id": "again"})

    def add(self, kind, t0, **fields):
        self.ops.append({"op": kind, "client": "c", "server": 0, "t0": t0, "t1": t0 + 0.001,
                         "outcome": "ok", **fields})


def a_job_is_lost(bent):
    bent.drop("plain")


def a_published_job_is_lost(bent):
    bent.drop("told", "audit")


def an_id_is_of_another_job(bent):
    bent.job("plain")["params"]["name"] = "taken"


def a_job_is_there_twice(bent):
    bent.double("plain")


def a_job_is_listed_twice(bent):
    bent.final["jobs"].append(bent.job("plain"))


def a_key_makes_two_jobs(bent):
    bent.add("submit", 101, jobs=[{"name": "keyed", "queue": "work", "key": "k"}], outcomes=["ok"],
             ids=["J000"])


def a_publication_comes_twice_to_a_queue(bent):
    bent.double("told", "news")


def a_job_that_nobody_made(bent):
    bent.final["jobs"].append({"id": "X", "queue": "work", "state": "done",
                               "params": {"name": "nobody"}})


def a_refused_submit_makes_a_job(bent):
    bent.final["jobs"].append({"id": "X", "queue": "work", "state": "done",
                               "params": {"name": "refused"}})


def a_refused_finish_is_in_the_record(bent):
    late = bent.op("finish", outcome="fail")
    bent.job("taken")["progress"].insert(0, {"state": "done", "attempt": 1, "text": late["mark"]})


def a_refused_emit_makes_a_job(bent):
    bent.op("emit", names=["seen"])["outcome"] = "fail"


def a_job_is_left_running(bent):
    bent.job("plain")["state"] = "running"


def a_job_is_held_for_ever(bent):
    bent.job("waiter")["state"] = "held"


def two_leases_are_live(bent):
    second = bent.claims("taken")[1]
    second.update(t0=second["t0"] - PERIOD_S / 2, t1=second["t1"] - PERIOD_S / 2)


def a_touched_lease_is_taken(bent):
    first = bent.claims("taken")[0]
    bent.add("touch", first["t1"] + PERIOD_S - 0.5, id=first["grants"][0]["id"],
             lease=first["grants"][0]["lease"], lost=False)


def a_lease_is_repeated(bent):
    first, second = bent.claims("taken")
    second["grants"][0]["lease"] = first["grants"][0]["lease"]


def a_later_lease_is_smaller(bent):
    bent.claims("taken")[1]["grants"][0]["lease"] = "1.M"


def a_fence_is_repeated(bent):
    first, second = bent.claims("taken")
    second["grants"][0]["lease"] = first["grants"][0]["lease"] + "other"


def a_lease_ends_before_its_time(bent):
    first, second = bent.claims("taken")
    first["t0"] -= PERIOD_S
    second.update(t0=first["t1"] + 1, t1=first["t1"] + 1.1)


def a_lease_is_half_over_when_it_comes(bent):
    bent.claims("plain")[0]["grants"][0]["left"] = PERIOD_S / 2


def a_lease_is_stale_before_its_time(bent):
    first = bent.claims("taken")[0]["grants"][0]
    bent.add("finish", bent.claims("taken")[0]["t1"] + 0.5, id=first["id"], lease=first["lease"],
             state="done", mark="early", code="stale_lease")
    bent.ops[-1]["outcome"] = "fail"


def a_stale_finish_is_accepted(bent):
    bent.op("finish", outcome="fail", code="stale_lease")["outcome"] = "ok"


def a_stale_emit_is_accepted(bent):
    first, second = (claim["grants"][0] for claim in bent.claims("maker"))
    bent.add("emit", bent.claims("maker")[1]["t1"] + 0.002, id=second["id"], lease=first["lease"],
             seq=9, names=[], visible=True, page=None)


def a_done_job_runs_again(bent):
    lease = {"id": bent.job("plain")["id"], "lease": "999.L", "name": "plain", "attempt": 2}
    bent.add("claim", 300, worker="w", period=PERIOD_S, grants=[lease])


def a_done_job_has_failed(bent):
    bent.job("plain")["state"] = "failed"


def a_result_is_another(bent):
    bent.job("plain")["result"] = "another"


def a_cancelled_job_is_done(bent):
    bent.job("cancelled")["state"] = "done"


def an_end_is_missing_in_the_record(bent):
    bent.job("failing")["progress"].pop(0)


def an_end_is_in_the_record_twice(bent):
    bent.job("plain")["progress"] *= 2


def a_record_has_shrunk_between_reads(bent):
    read = bent.op("read", id=bent.job("plain")["id"])
    read["job"]["progress"] = [{"state": "lost", "attempt": 1}]


def a_new_job_is_not_found(bent):
    bent.op("read")["job"] = None


def a_done_job_is_shown_as_running(bent):
    done = [op for op in bent.ops if op["op"] == "read" and op["job"]["state"] == "done"]
    done[0]["job"]["state"] = "running"


def the_other_servers_are_mute(bent):
    fault = bent.op("fault")
    for op in bent.ops:
        if op["op"] == "touch" and op["t0"] >= fault["t0"]:
            op["outcome"] = "unknown"


def a_visible_emit_is_lost(bent):
    bent.drop("seen")


def an_emit_of_a_done_attempt_is_lost(bent):
    bent.drop("kept")


def an_emit_with_the_finish_is_lost(bent):
    bent.drop("with it")


def an_emit_of_a_failed_attempt_is_there(bent):
    bent.final["jobs"].append({"id": "X", "queue": "work", "state": "done",
                               "params": {"name": "dropped"}})


def a_page_is_missing(bent):
    bent.drop("lister/1")


def a_page_is_there_twice(bent):
    bent.double("lister/0")


def a_chain_is_doubled(bent):
    bent.double("chained0", "noted")


def a_chain_is_missing(bent):
    bent.drop("chained0", "noted")


def a_join_has_fired_too_often(bent):
    bent.double("chained2", "met")


def a_join_has_not_fired(bent):
    bent.drop("chained2", "met")


def an_arrival_is_forgotten(bent):
    bent.final["joins"]["meet"]["g"] = 1


def a_signal_is_taken_twice(bent):
    bent.final["signals"]["s"] -= 1
    bent.op("raise", outcome="unknown")["outcome"] = "ok"


def a_signal_is_raised_twice(bent):
    bent.final["signals"]["ended"] += 1


def who_waits_for_a_job_is_released_early(bent):
    claim = bent.claims("waiter")[0]
    early = bent.submit("waiter")["t1"]
    claim.update(t0=early, t1=early + 0.001)


def who_waits_for_a_level_is_released_early(bent):
    claim = bent.claims("level")[0]
    early = bent.submit("level")["t1"]
    claim.update(t0=early, t1=early + 0.001)


def who_takes_is_released_early(bent):
    claim = bent.claims("taker")[0]
    early = bent.submit("taker")["t1"]
    claim.update(t0=early, t1=early + 0.001)


def who_waits_for_a_success_is_cancelled(bent):
    bent.job("waiter").update(state="cancelled", cause="dependency")


def who_waits_for_a_failure_is_done(bent):
    bent.job("chained0", "chained")["state"] = "failed"


BENT = {
    "lost": [a_job_is_lost, a_published_job_is_lost, an_id_is_of_another_job],
    "duplicated": [a_job_is_there_twice, a_job_is_listed_twice, a_key_makes_two_jobs,
                   a_publication_comes_twice_to_a_queue],
    "unexpected": [a_job_that_nobody_made, a_job_is_lost],
    "refused": [a_refused_submit_makes_a_job, a_refused_finish_is_in_the_record,
                a_refused_emit_makes_a_job],
    "hanging": [a_job_is_left_running, a_job_is_held_for_ever],
    "overlapping": [two_leases_are_live, a_touched_lease_is_taken],
    "fence": [a_lease_is_repeated, a_later_lease_is_smaller, a_fence_is_repeated],
    "lease_short": [a_lease_ends_before_its_time, a_lease_is_half_over_when_it_comes,
                    a_lease_is_stale_before_its_time],
    "stale": [a_stale_finish_is_accepted, a_stale_emit_is_accepted],
    "finality": [a_done_job_runs_again, a_done_job_has_failed, a_result_is_another,
                 a_cancelled_job_is_done],
    "progress": [an_end_is_missing_in_the_record, an_end_is_in_the_record_twice,
                 a_record_has_shrunk_between_reads],
    "reads": [a_new_job_is_not_found, a_done_job_is_shown_as_running],
    "silence": [the_other_servers_are_mute],
    "emits": [a_visible_emit_is_lost, an_emit_of_a_done_attempt_is_lost,
              an_emit_with_the_finish_is_lost, an_emit_of_a_failed_attempt_is_there],
    "pages": [a_page_is_missing, a_page_is_there_twice],
    "chains": [a_chain_is_doubled, a_chain_is_missing],
    "joins": [a_join_has_fired_too_often, a_join_has_not_fired, an_arrival_is_forgotten],
    "signals": [a_signal_is_taken_twice, a_signal_is_raised_twice],
    "waiting": [who_waits_for_a_job_is_released_early, who_waits_for_a_level_is_released_early,
                who_takes_is_released_early, who_waits_for_a_success_is_cancelled,
                who_waits_for_a_failure_is_done],
}


def test_a_finish_that_is_repeated_after_a_retry_tells_of_the_end_before_it():
    bent = Bent()
    first = bent.op("finish", state="done", id=bent.job("plain")["id"])
    bent.add("retry", first["t1"] + 0.001, id=first["id"])
    bent.add("finish", first["t1"] + 0.005, **{name: first[name] for name in
                                               ("id", "lease", "state", "mark")},
             result="of the first")
    bent.job("plain")["result"] = "of the second"
    assert "finality" not in judge(bent.ops, bent.final)[0]["violations"]
    bent.ops.remove(bent.op("retry", id=first["id"]))
    assert "finality" in judge(bent.ops, bent.final)[0]["violations"]


def is_blamed(given_up_s_ago, healed=False, server_moves=False, **fault):
    """Whether it speaks against a server that a job is done although a cancel was acknowledged: a
    retry was sent to server 1, which was stopped, and given up that long before the cancel."""
    bent = Bent()
    job = bent.job("cancelled")
    job["state"] = "done"
    given_up_at = bent.op("cancel", id=job["id"])["t0"] - given_up_s_ago
    asked_at = given_up_at - 6
    bent.add("retry", asked_at, t1=given_up_at, server=1, outcome="unknown", id=job["id"])
    bent.ops.append({"op": "fault", "kind": "stop_long", "target": 1, "effect": 1,
                     "t0": asked_at - 1, "t1": asked_at - 0.5 if healed else given_up_at + 0.5,
                     **fault})
    if server_moves:
        bent.add("touch", asked_at - 0.1, server=1, id="J000", lease="none", lost=True)
    return "finality" in judge(bent.ops, bent.final)[0]["violations"]


@pytest.mark.parametrize("given_up_s_ago, fault", [
    (0.1, {}), (19.9, {}), (1, {"kind": "tables_locked", "target": None}),
    (1, {"healed": True}),  # the server has not acknowledged anything since
    (1, {"server_moves": True}),  # while the fault lasts: not every request waits
])
def test_a_retry_that_waits_in_a_stopped_server_may_undo_an_end(given_up_s_ago, fault):
    assert not is_blamed(given_up_s_ago, **fault)


@pytest.mark.parametrize("given_up_s_ago, fault", [
    (20.1, {}),
    (1, {"target": 0}), (1, {"effect": 0}),
    (1, {"kind": "kill9"}),  # its requests end with the server
    (1, {"healed": True, "server_moves": True}),
])
def test_a_retry_that_comes_too_late_or_to_a_running_server_undoes_no_end(given_up_s_ago, fault):
    assert is_blamed(given_up_s_ago, **fault)


def test_a_good_history_is_valid():
    verdict, against = judge(*good())
    assert verdict["violations"] == {}, against
    assert verdict["lost"] == verdict["duplicated"] == verdict["unexpected"] == 0
    assert verdict["unknown"] == 2 and verdict["faults"] == {"slow_link": 1}
    assert 0 < verdict["max_silence_s"] < 1


def test_a_fault_without_an_effect_has_not_happened():
    bent = Bent()
    bent.op("fault")["effect"] = 0
    verdict, _ = judge(bent.ops, bent.final)
    assert verdict["faults"] == {}


@pytest.mark.parametrize("effect", [0, 3])
def test_the_nemesis_notes_what_a_fault_has_hit(effect):
    noted = []
    nemesis = Nemesis.__new__(Nemesis)
    nemesis.run = SimpleNamespace(world=SimpleNamespace(add=noted.append))
    nemesis.rng, nemesis.servers, nemesis.happened = random.Random(1), [None], set()
    nemesis.kill9, nemesis.wait_ready = lambda _: effect, lambda: None
    nemesis.wait_recovered = lambda _: None
    nemesis.inflict("kill9")
    assert [(op["kind"], op["effect"]) for op in noted] == [("kill9", effect)]
    assert nemesis.happened == ({"kill9"} if effect else set())


def asked(t0, t1, outcome="ok", code=None):
    return {"op": "touch", "server": 1, "t0": t0, "t1": t1, "outcome": outcome, "code": code}


@pytest.mark.parametrize("ops, longest", [
    ([asked(1, 1, "unknown"), asked(6, 6.1)], 0.1),  # nobody asked in between
    ([asked(1, 5.5, "unknown"), asked(6.1, 6.2)], 4.5),
    ([asked(1 + n / 5, 1.1 + n / 5, "fail", "unavailable") for n in range(20)], 3.9),
    ([asked(1 + n / 5, 1.1 + n / 5, "fail", "stale_lease") for n in range(20)], 0.1),
    ([asked(1, 5), asked(2, 2.1)], 2.9),
    ([asked(1, 5, "unknown"), asked(2, 2.1), asked(4, 9)], 4.9),
])
def test_a_server_is_silent_while_it_is_asked_in_vain(ops, longest):
    fault = {"op": "fault", "kind": "stop_long", "t0": 0, "t1": 7, "target": 0}
    lengths = [length for length, _, _ in silences(SimpleNamespace(ops=ops, faults=[fault]))]
    assert lengths == [pytest.approx(longest)]


def test_every_property_has_a_history_that_it_finds():
    assert set(BENT) == set(PROPERTIES)


@pytest.mark.parametrize("name, bend",
                         [(name, bend) for name, bends in BENT.items() for bend in bends],
                         ids=lambda value: value if isinstance(value, str) else value.__name__)
def test_a_bent_history_is_found(name, bend):
    bent = Bent()
    bend(bent)
    _, against = judge(bent.ops, bent.final)
    assert against[name], {name: found for name, found in against.items() if found}
