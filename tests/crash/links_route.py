# SPDX-License-Identifier: MIT
"""What the record of a routed job says, step by step, against the rules of routes."""
from chaos_judge import LOSSES_MAX

# Added by programs of kind `adder`.
ADDED = {"queue": "third", "params": {"kind": "setter", "seconds": "0"}}


def failure_fault(last, entries):
    """Why this final failure is wrong; None: the program said so, or lost its worker too often."""
    losses = sum(entry.get("cause") == "lost" for entry in entries)
    if last.get("cause") == "lost":
        return f"failed as lost after {losses} losses: {entries}" if losses != LOSSES_MAX else None
    return None if last.get("text") == "it is bad" else \
        f"failed: {last.get('cause')} {last.get('text')}"


class Route:
    """The steps as they were handed in, those added since, and how it went: once, and again for
    each retry by hand."""

    def __init__(self, handed_in, record):
        self.steps = list(handed_in)
        self.groups = []  # entries of each time that a step was begun
        for entry in record:
            if entry["attempt"] == 1 or not self.groups or \
                    self.groups[-1][0]["number"] != entry["number"]:
                self.groups.append([])
            self.groups[-1].append(entry)
        self.faults = []
        self.ends = []    # (step, state) of each; (None, state) of the whole
        self.starts = []  # numbers of the steps at which it began
        self.last = {}    # number: step of those that were done since it began last
        self.state = None
        self._walk()

    def _place(self, number):
        return [step["number"] for step in self.steps].index(number)

    def _add(self):
        place = len(self.steps)
        while place > 0 and self.steps[place - 1].get("final"):
            place -= 1
        number = max(step["number"] for step in self.steps) + 1
        self.steps.insert(place, {"number": number, **ADDED})

    def _next(self, number, failed):
        """The step that follows; None: it has come to its end."""
        for step in self.steps[self._place(number) + 1:]:
            if not failed or step.get("final"):
                return step["number"]
        return None

    def _walk(self):
        wanted, failed = None, False
        for entries in self.groups:
            number = entries[0]["number"]
            if number not in [step["number"] for step in self.steps]:
                self.faults.append(f"has been at step {number}, which nobody gave it")
                return
            if wanted is None:
                self.starts.append(number)
                self.last.clear()
                failed = False
            elif number != wanted:
                self.faults.append(f"went to step {number}, not {wanted}: "
                                   f"{[group[0]['number'] for group in self.groups]}")
            step = self.steps[self._place(number)]
            state = self._judge(step, entries)
            self.ends.append((step, state))
            if state == "done":
                self.last[number] = step
            if state == "done" and step["params"]["kind"] == "adder":
                self._add()
            failed = failed or state != "done" and (step.get("on_error") != "continue"
                                                    or step.get("final", False))
            wanted = self._next(number, failed)
            if wanted is None:
                self.state = "failed" if failed else "done"
                self.ends.append((None, self.state))
        if wanted is not None or not self.groups:
            self.faults.append("has not come to its end: "
                               f"{[group[0]['number'] for group in self.groups]}")

    def _judge(self, step, entries):
        where, last = f"step {step['number']}", entries[-1]
        attempts = [entry["attempt"] for entry in entries]
        if attempts != list(range(1, len(entries) + 1)):
            self.faults.append(f"{where}: attempts {attempts}")
        if any(entry["state"] == "done" for entry in entries[:-1]):
            self.faults.append(f"{where} went on after it was done: {entries}")
        if last["state"] == "done" and step["params"]["kind"] == "bad":
            self.faults.append(f"{where} said that it is bad, and is done")
        if last["state"] != "done":
            fault = failure_fault(last, entries)
            if fault:
                self.faults.append(f"{where} {fault}")
        return last["state"]
