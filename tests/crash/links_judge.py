# SPDX-License-Identifier: MIT
"""The judgement on a chaos with the load of links_load.py.

From how each job and each step has ended follows all that must be there besides: jobs of chains and
topics, arrivals, levels, who was released.  It is there once, or it is a fault.
"""
from collections import Counter, defaultdict

from chaos_judge import Judge
from links_load import JOINS, ON_FAILURE, ON_SUCCESS, TOPIC
from links_route import Route, failure_fault

RAISED = 3  # by programs of these kinds
RAISERS = ("raiser", "verbs")
SETTERS = ("setter", "verbs")
VISITS = "visits"  # a join to which people come by request, so that some arrivals are in doubt


def conditions_of(handed_in):
    return [{"job": one} if isinstance(one, str) else one for one in handed_in.get("after", [])]


class End:
    """Of a job, or of a step of it."""

    def __init__(self, job, step, state, params, leads, kind):
        self.job, self.step, self.state = job, step, state
        self.params = params  # as the program saw them
        self.leads = leads    # all that it leads to
        self.kind = kind      # None: the end of a whole route, at which nothing ran


class LinksJudge(Judge):
    def __init__(self, client, place, submitters, servers):
        super().__init__(client, place, submitters, servers)
        self.links = [submitter for submitter in submitters if hasattr(submitter, "published")]
        self.subscribers = client.ok("GET", f"/v1/topics/{TOPIC}")["queues"]
        self.routes = {}  # id: Route
        self.shown = {}   # routed jobs, entire
        self.wanted = Counter()  # (what has made it, queue, way): jobs
        self.arrived = defaultdict(list)  # (join, key): ids of those who did
        self.raised = Counter()
        self.released = self.fired = 0
        # (id, step) and (id, None): the line in the file of runs.
        self.first_begin, self.last_begin = {}, {}
        self.step_ends = Counter()
        self.ids = {}  # ref: id

    # ---- what happened

    def run(self):
        for job_id, handed_in in self.acknowledged.items():
            if "ref" in handed_in:
                self.ids[handed_in["ref"]] = job_id
            if "steps" in handed_in and job_id in self.jobs:
                self.shown[job_id] = self.show(job_id)
                self.routes[job_id] = Route(handed_in["steps"], self.shown[job_id]["progress"])
        super().run()

    def _read_runs(self):
        super()._read_runs()
        for place, (word, job_id, step) in enumerate(self.lines):
            for key in ((job_id, step), (job_id, None)):
                if word == "begin":
                    self.first_begin.setdefault(key, place)
                    self.last_begin[key] = place
            self.step_ends[job_id, step] += word == "end"

    @staticmethod
    def _is_made(job):
        return any(name in job["params"] for name in ("cause", "from", "join"))

    # ---- single jobs

    def _job(self, job):
        handed_in = self.acknowledged.get(job["id"], {})
        if "after" in handed_in and not self._after(job, conditions_of(handed_in)):
            return
        if job["id"] in self.routes:
            self._route(self.shown[job["id"]], self.routes[job["id"]])
        elif job["state"] == "failed" and job["params"]["kind"] == "bad":
            fault = failure_fault(job, self.show(job["id"])["progress"])
            self.lost += [f"{job['id']} {fault}"] if fault else []
        elif job["state"] == "done" and job["params"]["kind"] == "bad":
            self.broken.append(f"{job['id']} said that it is bad, and is done")
        else:
            super()._job(job)

    # ---- routes

    def _route(self, job, route):
        """Each step is in the record once, in order; which ones follows from how each has ended."""
        self.broken += [f"{job['id']} {fault}" for fault in route.faults]
        wanted = [step["number"] for step in route.steps]
        found = [step["number"] for step in job["steps"]]
        if found != wanted:
            self.broken.append(f"{job['id']} has steps {found}, not {wanted}")
        if job["state"] != route.state:
            self.lost.append(f"{job['id']} is {job['state']} {job.get('reason')}, not "
                             f"{route.state}")
        least, most = (sum(submitter.retried[job["id"], known] for submitter in self.links)
                       for known in (True, False))
        if not least <= len(route.starts) - 1 <= least + most:
            self.broken.append(f"{job['id']} began at {route.starts}, retried {least} times and "
                               f"perhaps {most} times more")
        for step in route.last.values():
            self._ran(job, step)
        self._order(job, route)

    def _ran(self, job, step):
        number = step["number"]
        if not self.step_ends[job["id"], number]:
            self.broken.append(f"{job['id']} step {number} is done and never ran to its end")
        elif step["queue"] == "resident" or step["params"]["kind"] in SETTERS:
            if job.get("set", {}).get(f"s{number}") != number:
                self.broken.append(f"{job['id']} step {number} has set it, and there is "
                                   f"{job.get('set')}")

    def _order(self, job, route):
        """In the record, and in what the programs told."""
        record = job["progress"]
        times = [[entry[name] for name in ("started_at", "ended_at") if name in entry]
                 for entry in record]
        if self.servers == 1:  # several go by the instants at which each began its batch
            times = [sum(times, [])]
        if any(some != sorted(some) for some in times):
            self.broken.append(f"{job['id']} has a record out of order: {record}")
        went = [group[0]["number"] for group in route.groups] if len(route.starts) == 1 else []
        for earlier, later in zip(went, went[1:]):
            begun = self.first_begin.get((job["id"], later))
            last = self.last_begin.get((job["id"], earlier))
            if begun is not None and last is not None and begun < last:
                self.broken.append(f"{job['id']}: step {later} ran before the last run of "
                                   f"{earlier}")

    # ---- who waited

    def _target(self, condition):
        """Id and state of what it waits for; of a step that never ran: None."""
        job_id = self.ids[condition["job"]]
        if "step" not in condition:
            return job_id, self.jobs[job_id]["state"]
        ends = {step["number"]: state for step, state in self.routes[job_id].ends if step}
        return job_id, ends.get(condition["step"])

    def _holds(self, condition):
        if "signal" in condition:
            return True  # by now
        on = condition.get("on", "success")
        state = self._target(condition)[1]
        if state == "cancelled" or state is None:
            return on == "end" and state is not None
        return on == "end" or state == {"success": "done", "failure": "failed"}[on]

    def _after(self, job, conditions):
        """True: it was to run."""
        holds = all(self._holds(condition) for condition in conditions)
        if not holds:
            if job["state"] != "cancelled" or job.get("cause") != "dependency" or job["attempt"]:
                self.broken.append(f"{job['id']} is {job['state']} {job.get('cause')}, and what it "
                                   f"waited for never came: {conditions}")
            return False
        if job["state"] == "cancelled":
            self.broken.append(f"{job['id']} is cancelled ({job.get('text')}), and all it waited "
                               f"for has come: {conditions}")
            return False
        self.released += 1
        begun = self.first_begin.get((job["id"], None))
        for condition in conditions:
            if "signal" in condition:
                continue
            target = self.last_begin.get((self._target(condition)[0], condition.get("step")))
            if begun is not None and target is not None and begun < target:
                self.broken.append(f"{job['id']} began before what it waited for: {condition}")
        return True

    # ---- where ends lead

    def _ends(self, job):
        handed_in = self.acknowledged.get(job["id"], {})
        which = {"done": "on_success", "failed": "on_failure"}
        of_queue = {"done": ON_SUCCESS, "failed": ON_FAILURE}
        own = handed_in.get(which.get(job["state"]), [])
        if job["id"] not in self.routes:
            if job["state"] in which:
                yield End(job, None, job["state"], job["params"],
                          own + of_queue[job["state"]].get(job["queue"], []), job["params"]["kind"])
            return
        for step, state in self.routes[job["id"]].ends:
            if step:
                yield End(job, step["number"], state, {**job["params"], **step["params"]},
                          step.get(which[state], []) + of_queue[state].get(step["queue"], []),
                          step["params"]["kind"])
            else:
                yield End(job, None, state, job["params"], handed_in.get(which[state], []), None)

    def _children(self):
        """All that was made, that met and that was raised, against all the ends."""
        for job in self.jobs.values():
            for end in self._ends(job):
                self._follow(end)
        for submitter in self.links:
            self.raised.update(submitter.raised)
        found = Counter(self._maker(job) for job in self.jobs.values() if self._is_made(job)
                        and job["queue"] != "met")
        self._published(found)
        self._compare(self.wanted, found)
        self._joins()
        self._signals()

    def _follow(self, end):
        cause = f"{end.job['id']}/{end.step or 0}"
        for one in end.leads:
            way = one.get("params", {}).get("way")
            if "queue" in one:
                self.wanted[cause, one["queue"], way] += 1
            elif "topic" in one:
                self._tell(cause, way)
            elif "join" in one:
                key = JOINS[one["join"]].get("key", "").format(**end.params)
                self.arrived[one["join"], key].append(end.job["id"])
            else:
                self.raised[one["signal"]] += one.get("count", 1)
        if end.state == "done" and end.kind == "teller":
            self._tell(f"{end.job['id']}/{end.step or 1}", None)
        if end.state == "done" and end.kind in RAISERS:
            self.raised["dump"] += RAISED

    def _tell(self, cause, way):
        for queue in self.subscribers:
            self.wanted[cause, queue, way] += 1

    @staticmethod
    def _maker(job):
        """As it is wanted: what has made it, its queue, its way."""
        params = job["params"]
        if "from" in params:
            return params["from"], job["queue"], None
        cause, way = params["cause"], params.get("way")
        step = 0 if way == "job" else cause.get("step", 0)
        return f"{cause['id']}/{step}", job["queue"], way

    def _published(self, found):
        """By hand: once in each queue; in doubt, in all of them or in none."""
        for submitter in self.links:
            for number, acknowledged in submitter.published.items():
                made = [key for key in found if key[0] == f"hand/{number}"]
                if acknowledged or made:
                    self._tell(f"hand/{number}", None)

    def _compare(self, wanted, found):
        for key in wanted - found:
            self.lost.append(f"{key} is there {found[key]} times, not {wanted[key]}")
        for key in found - wanted:
            self.unexpected.append(f"{key} is there {found[key]} times, not {wanted[key]}")

    # ---- joins and signals

    def _joins(self):
        met = defaultdict(list)
        for job in self.jobs.values():
            if job["queue"] == "met":
                join = job["params"]["join"]
                met[join["name"], join["key"]].append(join["jobs"])
        for name, join in JOINS.items():
            shown = self.client.ok("GET", f"/v1/joins/{name}?limit=1000")
            waiting = {one["key"]: one for one in shown["arrivals"]}
            keys = {key for other, key in [*self.arrived, *met] if other == name} | set(waiting)
            fired = sum(len(met[name, key]) for key in keys)
            self.fired += fired
            if shown["fired"] != fired:
                self.broken.append(f"join {name} says that it fired {shown['fired']} times, not "
                                   f"{fired}")
            for key in keys:
                self._meeting(name, key, met[name, key], waiting.get(key))
            for one in join["then"]:
                if "signal" in one:
                    self.raised[one["signal"]] += fired * one.get("count", 1)

    def _meeting(self, name, key, met, waiting):
        count, where = JOINS[name]["count"], f"join {name} {key!r}"
        left = waiting["count"] if waiting else 0
        if name == VISITS:
            low, doubt = (sum(submitter.visits[known][key] for submitter in self.links)
                          for known in (True, False))
            if not low <= len(met) * count + left <= low + doubt:
                self.broken.append(f"{where} fired {len(met)} times and {left} wait, after {low} "
                                   f"arrivals and {doubt} in doubt")
            return
        arrived = self.arrived[name, key]
        if (len(met), left) != divmod(len(arrived), count):
            self.broken.append(f"{where} fired {len(met)} times and {left} wait, after "
                               f"{len(arrived)} arrivals; {count} make it fire")
        present = [job_id for jobs in met for job_id in jobs] + (waiting["jobs"] if waiting else [])
        if Counter(present) != Counter(arrived):
            self.broken.append(f"{where}: {len(present)} are said to have met, and "
                               f"{len(arrived)} have arrived")

    def _signals(self):
        taken = Counter()
        for job_id, handed_in in self.acknowledged.items():
            if job_id in self.jobs and self.jobs[job_id]["state"] in ("done", "failed"):
                for condition in conditions_of(handed_in):
                    if "take" in condition:
                        taken[condition["signal"]] += condition["count"]
        shown = {signal["name"]: signal["count"]
                 for signal in self.client.ok("GET", "/v1/signals?limit=1000")["signals"]}
        for name in {*self.raised, *taken, *shown}:
            if shown.get(name, 0) != self.raised[name] - taken[name]:
                self.broken.append(f"signal {name} is at {shown.get(name)}, raised by "
                                   f"{self.raised[name]}, {taken[name]} of them taken")

    def counts(self):
        routes = self.routes.values()
        return {**super().counts(), "routes": len(routes),
                "steps": sum(len(r.groups) for r in routes),
                "retried": sum(len(r.starts) - 1 for r in routes if r.starts),
                "made": sum(self.wanted.values()), "fired": self.fired, "released": self.released,
                "raised": sum(self.raised.values())}
