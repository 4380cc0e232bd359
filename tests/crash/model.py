# SPDX-License-Identifier: MIT
"""What a client may expect of a job: the moves of the contract, without the server.

`soon` is a state of the model alone: scheduled for an instant that is about to come, so that the
server may show it as scheduled or as ready.  A field that is None is not compared.
"""
import copy

WAITING = ("ready", "soon", "scheduled", "held")
ENDED = ("done", "failed", "cancelled")
SHOWN_AS = {"soon": ("scheduled", "ready")}
LATER_MAX = 15

# What one may do to a job in which state; elsewhere it is refused and changes nothing.
ALLOWED = {
    "cancel": WAITING + ("running",),
    "hold": WAITING,
    "release": ("held",),
    "now": ("ready", "soon", "scheduled"),
    "move": WAITING,
    "patch": WAITING,
    "retry": ENDED,
    "delete": WAITING + ENDED,
    "clone": WAITING + ENDED + ("running",),
}


class Job:
    """One job as its owner knows it."""

    def __init__(self, mark, queue, retries):
        self.mark = mark
        self.id = None
        self.queue = queue
        self.retries = retries  # {queue: how often a failure is tried again}
        self.state = "ready"
        self.due = None  # None, "soon" or "far": where a release leads
        self.params = {"mark": mark}
        self.labels = {}
        self.priority = 0
        self.key = None
        self.sent = None  # as it was submitted, when it has a key
        self.attempt = 0
        self.failures = 0
        self.laters = 0
        self.cancelling = False
        self.lease = None
        self.stale = []  # leases that are not valid any more
        self.text = None
        self.result = None
        self.progress = 0  # entries; None: not sure
        self.log = b""

    def copy(self):
        twin = copy.copy(self)
        twin.params, twin.labels = dict(self.params), dict(self.labels)
        twin.stale = list(self.stale)
        return twin

    # ---- moves

    def wait(self):
        """Back among those that wait, as its due time says."""
        self.state = {None: "ready", "soon": "soon", "far": "scheduled"}[self.due]

    def claim(self, lease):
        if self.lease is not None:
            self.stale.append(self.lease)
        self.state, self.due, self.lease, self.cancelling = "running", None, lease, False
        self.attempt += 1
        self.text = ""  # the status is the attempt's

    def finish(self, outcome, item):
        """One end of an attempt.  `item` is the finish as it was sent."""
        self.text = item.get("text", self.text)
        if outcome == "returned":
            self.attempt -= 1
            self.progress = self.progress if not self.cancelling else None
        elif self.progress is not None:
            self.progress += 1
        if outcome == "done":
            self.state, self.result = "done", item.get("result")
        elif self.cancelling or outcome == "cancelled":
            self.state = "cancelled"
        elif outcome == "returned":
            self.state = "ready"
        elif outcome == "later":
            self._later(item["delay"])
        else:
            self._fail(item)
        self.cancelling = False

    def _later(self, delay):
        if self.laters >= LATER_MAX:
            self.state = "failed"
            return
        self.laters += 1
        self.due = "far" if delay else "soon"
        self.wait()

    def _fail(self, item):
        self.failures += 1
        if item.get("final") or self.failures > self.retries[self.queue]:
            self.state = "failed"
            return
        self.due = "soon"
        self.wait()

    def act(self, verb, body=None):
        """One act by hand that is allowed in this state; delete and clone are the caller's."""
        body = body or {}
        if verb == "cancel":
            if self.state == "running":
                self.cancelling = True
            else:
                self.state, self.due = "cancelled", None
        elif verb == "hold":
            self.state = "held"
        elif verb == "release":
            self.wait()
        elif verb == "now":
            self.state, self.due = "ready", None
        elif verb == "move":
            self.queue = body["queue"]
        elif verb == "retry":
            self._retry(body)
        elif verb == "patch":
            self._patch(body)

    def _retry(self, body):
        self.state, self.due = "ready", None
        self.failures = self.laters = 0
        self.text = self.result = None
        self.params.update(body.get("set", {}))

    def _patch(self, body):
        self.params = dict(body.get("params", self.params))
        self.labels = dict(body.get("labels", self.labels))
        self.priority = body.get("priority", self.priority)
        if "due_at" in body:
            self.due = "far" if body["due_at"] > "2030" else None
            if self.state != "held":
                self.wait()

    # ---- the server's view beside ours

    def is_shown_as(self, state):
        return state in SHOWN_AS.get(self.state, (self.state,))

    def differences(self, shown):
        """What is wrong with the job as the server shows it."""
        wrong = []
        if not self.is_shown_as(shown["state"]):
            wrong.append(f"state {shown['state']}, not {self.state}")
        wanted = {"queue": self.queue, "params": self.params, "priority": self.priority,
                  "attempt": self.attempt,
                  "labels": self.labels, "key": self.key, "lost": 0}
        if self.state == "running":
            wanted["cancelling"] = self.cancelling
        if self.text is not None:
            wanted["text"] = self.text
        if self.state == "done" and self.result is not None:
            wanted["result"] = self.result
        for name, value in wanted.items():
            got = shown.get(name)
            if (got or None) != (value or None):
                wrong.append(f"{name} {got!r}, not {value!r}")
        entries = len(shown["progress"]) if "progress" in shown else self.progress
        if self.progress is not None and entries != self.progress:
            wrong.append(f"{entries} entries of progress, not {self.progress}")
        return wrong


class Pending:
    """A request whose reply has not come: either all of it is true, or nothing."""

    def __init__(self, what, before=(), after=(), created=(), deleted=(), claims=None):
        self.what = what
        self.before = {job.id: job.copy() for job in before}
        self.after = {job.id: job for job in after}
        self.created = list(created)  # without ids
        self.deleted = set(deleted)
        self.acknowledged = False  # promised, but its effect was not seen yet
        self.claims = claims  # the body of a claim: jobs may have been granted
        self.paused = None  # the queues that are paused if it took effect
        self.repeat = None  # (method, path, body): a request that is safe to repeat
