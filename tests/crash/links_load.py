# SPDX-License-Identifier: MIT
"""The load of a chaos in which ends lead on: routes, graphs, chains, joins, signals, topics.

The programs are those of chaos_load.py.  Whatever an end leads to is told apart by `way` in the
params of its destination, so that links_judge.py can say of each job what has made it.
"""
import json
from collections import Counter

from chaos_load import Submitter

TOPIC = "news"
STEP_QUEUES = ("first", "second", "third", "resident")


def lead(queue, way, **params):
    return {"queue": queue, "params": {"kind": "plain", "seconds": "0", "way": way, **params}}


# Where the ends in a queue lead, and the joins: definitions for the server, rules for the judge.
ON_SUCCESS = {
    "second": [lead("noted", "queue")],
    "chained": [lead("next", "queue"), {"join": "gate"}, {"signal": "chained", "count": 2}],
    "next": [lead("noted", "queue"), {"join": "all"}],
    "told": [{"topic": TOPIC, "params": {"kind": "plain", "seconds": "0", "way": "topic"}}],
}
ON_FAILURE = {
    "third": [lead("sorry", "queue")],
    "chained": [lead("sorry", "queue"), {"join": "wreck"}],
}
JOINS = {
    "gate": {"key": "{group}", "count": 3, "then": [lead("met", "gate"), {"signal": "met"}]},
    "wreck": {"key": "{group}", "count": 2, "then": [lead("met", "wreck")]},
    "steps": {"key": "{group}-{seconds}", "count": 4, "then": [lead("met", "steps")]},
    "all": {"count": 5, "then": [lead("met", "all")]},
    "visits": {"key": "{group}", "count": 2, "then": [lead("met", "visits")]},
}
PLAIN = ("first", "second", "third", "chained", "next", "told", "noted", "sorry", "met", "graph",
         TOPIC, "audit")
QUEUES = (*PLAIN, "resident")
RETRY = {"max": 1000, "first": "30ms", "factor": 1.5, "cap": "500ms", "jitter": 0.5}


def definitions():
    """YAML, or rather JSON, with braces doubled for whoever fills in the place."""
    queues = {name: {"command": ["./program", "PLACE", "{kind}", "{seconds}"], "retry": RETRY}
              for name in PLAIN}
    queues["resident"] = {"command": ["./resident", "PLACE"], "resident": True, "slots": 1,
                          "idle": "2s", "retry": RETRY}
    queues["hands"] = {"retry": RETRY}  # for those who claim over HTTP
    queues["audit"]["subscribe"] = [TOPIC]
    for name, leads in ON_SUCCESS.items():
        queues[name]["on_success"] = leads
    for name, leads in ON_FAILURE.items():
        queues[name]["on_failure"] = leads
    text = json.dumps({"queues": queues, "joins": JOINS}, indent=1)
    return text.replace("{", "{{").replace("}", "}}").replace("PLACE", "{place}")


def worker_options(subscribed):
    """Some workers are subscribed to the topic; they serve the rest as well."""
    if not subscribed:
        return []
    return ["--subscribe", TOPIC, *[word for name in QUEUES for word in ("-q", name)]]


class LinksSubmitter(Submitter):
    CASES = {"_route": 5, "_chain": 5, "_graph": 4, "_fan": 1, "_crowd": 0.1,
             "_signals": 3, "_told": 2}

    def __init__(self, make_client, rng, backlog):
        super().__init__(make_client, rng, backlog)
        self.queues = QUEUES
        self.published = {}  # number: acknowledged?
        self.visits = {True: Counter(), False: Counter()}  # acknowledged, in doubt: by group
        self.raised = Counter()   # by hand
        self.retried = Counter()  # (id, acknowledged?)
        self.alone = set()        # keys of routes that nobody waits for
        self.cases = Counter()

    # ---- jobs

    def _seconds(self):
        return str(self.rng.choice([0, 0, 0.01, 0.05, 0.2]))

    def _params(self, kind="plain"):
        return {"kind": kind, "seconds": self._seconds(), "group": f"g{self.rng.randrange(5)}"}

    def _one(self, queue, kind="plain", **more):
        """One job, with a key and a name for others in the same request."""
        self.attempted += 1
        name = f"links-{self.attempted}"
        where = {"queue": queue} if queue else {}
        return {"key": name, "ref": name, "params": self._params(kind), **where, **more}

    def _jobs(self):
        jobs = []
        for _ in range(self.rng.randrange(1, 4)):
            case = "_crowd"
            if self.cases:
                case = self.rng.choices(list(self.CASES), self.CASES.values())[0]
            self.cases[case] += 1
            made = getattr(self, case)()
            if case == "_route":
                self.alone.add(made[0]["key"])
            jobs += made
        self.rng.shuffle(jobs)  # refs may name what comes later
        return jobs

    def _leads(self, way):
        """For about a third of all ends."""
        leads = [lead("noted", way), {"join": "steps"}, {"signal": "steps"}]
        return self.rng.sample(leads, self.rng.choice([0, 0, 1, 2]))

    def _step(self, number, kinds, **more):
        queue = self.rng.choice(STEP_QUEUES)
        kind = "plain" if queue == "resident" else self.rng.choice(kinds)
        return {"number": number, "name": f"step {number}", "queue": queue,
                "params": {"kind": kind, "seconds": self._seconds()},
                "on_success": self._leads("step"), "on_failure": self._leads("step"), **more}

    def _route(self):
        kinds = ["plain", "flaky", "setter", "setter", "verbs", "adder", "raiser", "teller", "bad"]
        steps = [self._step(n, kinds, on_error=self.rng.choice(["stop", "continue"]))
                 for n in range(1, self.rng.randrange(3, 6))]
        for _ in range(self.rng.randrange(3)):
            steps.append(self._step(len(steps) + 1, ["plain", "setter", "setter", "bad"],
                                    final=True))
        return [self._one(None, steps=steps, on_success=[lead("noted", "job"), {"join": "all"}],
                          on_failure=[lead("sorry", "job")])]

    def _chain(self):
        kinds = ["plain", "plain", "setter", "flaky", "bad"]
        return [self._one("chained", self.rng.choice(kinds), on_success=self._leads("job"))
                for _ in range(self.rng.randrange(1, 6))]

    def _told(self):
        return [self._one("graph", "teller"), self._one("told", on_success=self._leads("job"))]

    def _condition(self, target):
        """On an earlier job of the same request."""
        condition = {"job": target["ref"],
                     "on": self.rng.choice(["success"] * 4 + ["failure", "end"])}
        if "steps" in target and self.rng.random() < 0.6:
            condition["step"] = self.rng.choice(target["steps"])["number"]
        return condition

    def _graph(self):
        jobs = self._route() if self.rng.random() < 0.4 else [self._one("graph")]
        for _ in range(self.rng.randrange(2, 7)):
            targets = self.rng.sample(jobs, min(len(jobs), self.rng.choice([1, 1, 2, 3])))
            after = [self._condition(target) for target in targets]
            if self.rng.random() < 0.15:
                after.append({"signal": "dump", "count": 2, "take": True})
            job = self._one("graph", self.rng.choice(["plain"] * 5 + ["flaky", "bad"]), after=after,
                            on_success=self._leads("job"))
            jobs.append(job)
        return jobs

    def _fan(self):
        """1 → 12 → 1."""
        first = self._one("graph")
        middle = [self._one("graph", after=[first["ref"]]) for _ in range(12)]
        return [first, *middle, self._one("graph", after=[job["ref"] for job in middle])]

    def _crowd(self):
        """More than one commit can release: all of them are cancelled, as the first one does well;
        then the last one runs."""
        first = self._one("graph")
        crowd = [self._one("graph", after=[{"job": first["ref"], "on": "failure"}])
                 for _ in range(self.rng.randrange(1100, 1600))]
        return [first, *crowd,
                self._one("graph", after=[{"job": job["ref"], "on": "end"} for job in crowd])]

    def _signals(self):
        take = {"signal": "dump", "count": self.rng.randrange(1, 4), "take": True}
        level = {"signal": self.rng.choice(["chained", "steps"]),
                 "count": self.rng.randrange(1, 2 + sum(self.cases.values()) // 3)}
        return [self._one("graph", "raiser"), self._one("graph", after=[take]),
                self._one("graph", after=[level] if self.rng.random() < 0.5 else [take, level])]

    # ---- requests

    def _ids(self, client, jobs):
        """All of them, or none."""
        reply = self._ask(client, "/v1/jobs", jobs)
        return reply and reply.json["ids"]

    def _besides(self, client):
        """Requests without a key: never repeated, so that some stay in doubt."""
        if self.rng.random() < 0.2:
            number = len(self.published) + 1
            params = {"kind": "plain", "seconds": "0", "from": f"hand/{number}"}
            reply = self._ask(client, f"/v1/topics/{TOPIC}", {"params": params})
            self.published[number] = reply is not None
        if self.rng.random() < 0.2:
            params = self._params()
            reply = self._ask(client, "/v1/joins/visits", {"params": params})
            self.visits[reply is not None][params["group"]] += 1

        if self.rng.random() < 0.6:
            self._retry(client)

    def _retry(self, client):
        """A route by hand, from where it failed or from any of its steps; refused while it runs."""
        routes = [job_id for job_id, job in self.acknowledged.items() if job["key"] in self.alone]
        if routes:
            job_id = self.rng.choice(routes)
            steps = self.acknowledged[job_id]["steps"]
            body = self.rng.choice([{}, {"from": self.rng.choice(steps)["number"]}])
            reply = self._ask(client, f"/v1/jobs/{job_id}/retry", body, refusals=(409,))
            if reply is None or reply.status == 200:
                self.retried[job_id, reply is not None] += 1

    def help_out(self, client):
        """Whoever still waits gets the signals it waits for."""
        for signal in client.ok("GET", "/v1/signals?limit=1000")["signals"]:
            if signal["waiters"]:
                waiting = client.ok("GET", f"/v1/signals/{signal['name']}")["waiting"]
                count = max([1, *(one["count"] - signal["count"] for one in waiting)])
                client.ok("POST", f"/v1/signals/{signal['name']}", {"count": count})
                self.raised[signal["name"]] += count
