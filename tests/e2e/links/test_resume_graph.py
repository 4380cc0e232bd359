# SPDX-License-Identifier: MIT
"""A failed graph resumes in order: jobs cancelled because of a job come back with it."""
import pytest

from waiting import eventually


def graph(client, *edges, **named):
    """{name: id} of jobs that wait for each other: "b<a" says that b waits for a's success."""
    after = {}
    for edge in edges:
        name, _, on = edge.partition("<")
        after.setdefault(name, [])
        if on:
            after.setdefault(on, [])
            after[name].append(on)
    jobs = [{"queue": "work", "ref": name, "params": {"name": name},
             **({"after": after[name]} if after[name] else {}), **named}
            for name in sorted(after)]
    return dict(zip(sorted(after), client.submit_many(jobs)))


def states(client, jobs):
    return " ".join(f"{name}:{client.state(job)}" for name, job in sorted(jobs.items()))


def end(client, jobs, name, state):
    job = client.take()
    assert job["id"] == jobs[name], (job["params"], name)
    client.end(job, state, **({"exit": 1} if state == "failed" else {}))


def test_retrying_the_cause_brings_back_what_it_had_cancelled(client):
    jobs = graph(client, "a", "b<a", "c<b", "d<b", "d<a")
    end(client, jobs, "a", "failed")
    assert states(client, jobs) == "a:failed b:cancelled c:cancelled d:cancelled"
    client.act(jobs["a"], "retry")
    assert states(client, jobs) == "a:ready b:held c:held d:held"
    for name in "abcd":
        end(client, jobs, name, "done")
    assert states(client, jobs) == "a:done b:done c:done d:done"
    assert [e["state"] for e in client.show(jobs["a"])["progress"]] == ["failed", "done"]


def test_retrying_the_cause_tells_how_many_come_back(server, client):
    jobs = graph(client, "a", "b<a", "c<b", "d<b", "d<a", "e")
    for retry in (lambda: server.cli("retry", jobs["a"]).out,
                  lambda: server.cli("retry", "--json", jobs["a"]).json,
                  lambda: client.act(jobs["a"], "retry", {"alone": True})):
        job = next(j for j in client.claim(max=9)["jobs"] if j["id"] == jobs["a"])
        client.end(job, "failed", exit=1)
        told = retry()
        if isinstance(told, str):
            assert told == f"{jobs['a']}  ready; 3 jobs it had cancelled come back\n"
        elif "revived" in told:
            assert told == {"id": jobs["a"], "state": "ready", "revived": 3}
        else:
            assert told == {"id": jobs["a"], "state": "ready"}


def test_what_comes_back_is_counted_up_to_a_bound(client):
    jobs = graph(client, "a", *(f"b{n:03}<a" for n in range(150)))
    end(client, jobs, "a", "failed")
    assert client.act(jobs["a"], "retry") == {"id": jobs["a"], "state": "ready", "revived": 150,
                                              "revived_more": True}


def test_it_can_fail_and_be_resumed_again_and_again(client):
    jobs = graph(client, "a", "b<a", "c<b")
    for _ in range(3):
        end(client, jobs, "a", "failed")
        assert states(client, jobs) == "a:failed b:cancelled c:cancelled"
        client.act(jobs["a"], "retry")
        assert states(client, jobs) == "a:ready b:held c:held"


def test_alone_brings_nothing_back(client):
    jobs = graph(client, "a", "b<a")
    end(client, jobs, "a", "failed")
    client.act(jobs["a"], "retry", {"alone": True})
    assert states(client, jobs) == "a:ready b:cancelled"
    end(client, jobs, "a", "done")
    client.act(jobs["b"], "retry")  # what it waits for has come by now
    assert client.state(jobs["b"]) == "ready"


def test_a_job_that_was_cancelled_waits_for_its_conditions_again(client):
    jobs = graph(client, "a", "b<a")
    end(client, jobs, "a", "failed")
    error = client.refused(409, "conflict", "POST", f"/v1/jobs/{jobs['b']}/retry")
    assert jobs["a"] in error["message"] and "alone" in error["message"], error
    client.act(jobs["a"], "retry", {"alone": True})
    client.act(jobs["b"], "retry")
    assert states(client, jobs) == "a:ready b:held"
    assert client.show(jobs["b"])["reason"]["code"] == "after"
    end(client, jobs, "a", "done")
    end(client, jobs, "b", "done")


def test_alone_runs_a_cancelled_job_without_what_it_waited_for(client):
    jobs = graph(client, "a", "b<a", "c<b")
    end(client, jobs, "a", "failed")
    client.act(jobs["b"], "retry", {"alone": True})
    assert states(client, jobs) == "a:failed b:ready c:cancelled"
    client.act(jobs["a"], "retry")  # b hangs on nothing any more
    assert states(client, jobs) == "a:ready b:ready c:cancelled"


def test_one_that_hangs_on_two_comes_back_with_the_last(client):
    jobs = graph(client, "a", "b", "c<a", "c<b")
    end(client, jobs, "a", "failed")
    end(client, jobs, "b", "failed")
    client.act(jobs["a"], "retry")
    assert states(client, jobs) == "a:ready b:failed c:cancelled"
    client.act(jobs["b"], "retry")
    assert states(client, jobs) == "a:ready b:ready c:held"


def test_only_what_that_job_had_cancelled_comes_back(client):
    jobs = graph(client, "a", "b<a", "c<a")
    client.act(jobs["c"], "cancel")  # by hand
    end(client, jobs, "a", "failed")
    client.act(jobs["a"], "retry")
    assert states(client, jobs) == "a:ready b:held c:cancelled"


def test_what_was_cancelled_as_it_was_made_comes_back_too(client):
    first = client.submit()
    client.end(client.take(), "failed", exit=1)
    late = client.submit(after=[first])
    assert client.state(late) == "cancelled"
    client.act(first, "retry")
    assert client.state(late) == "held"


def test_more_than_a_commit_can_bring_back(client):
    first = client.submit()
    client.submit_many([{"queue": "other", "after": [first]} for _ in range(3000)])
    client.end(client.take(), "failed", exit=1)
    eventually(lambda: client.counts()["other"] == {"cancelled": 3000}, "the cancels")

    def retried():
        reply = client.request("POST", f"/v1/jobs/{first}/retry")
        return reply.status == 200
    eventually(retried, "the retry")
    eventually(lambda: client.counts()["other"] == {"held": 3000}, "their return")
    client.end(client.take())
    eventually(lambda: client.counts()["other"] == {"ready": 3000}, "their release")


def test_a_kill_in_between_loses_nothing(server, client):
    first = client.submit()
    client.submit_many([{"queue": "other", "after": [first]} for _ in range(5000)])
    client.end(client.take(), "failed", exit=1)
    eventually(lambda: client.counts()["other"] == {"cancelled": 5000}, "the cancels")
    eventually(lambda: client.request("POST", f"/v1/jobs/{first}/retry").status == 200, "the retry")
    server.kill()
    client = server.start().unix()
    eventually(lambda: client.counts()["other"] == {"held": 5000}, "their return")


@pytest.mark.embedded("a verb")
def test_the_command_line_knows_it(server, client):
    jobs = graph(client, "a", "b<a")
    end(client, jobs, "a", "failed")
    assert server.cli("retry", "--alone", jobs["a"]).status == 0
    assert states(client, jobs) == "a:ready b:cancelled"
    end(client, jobs, "a", "failed")
    assert "retried 1 job" in server.cli("retry", "--state", "failed").out
    assert states(client, jobs) == "a:ready b:held"
    end(client, jobs, "a", "failed")
    assert "retried 1 job" in server.cli("retry", "--alone", "--state", "failed").out
    assert states(client, jobs) == "a:ready b:cancelled"
