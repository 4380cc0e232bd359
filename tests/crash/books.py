# SPDX-License-Identifier: MIT
"""The books that all clients of the torture keep together."""
import threading


class Wrong(Exception):
    """The server's answer contradicts the books."""


class Ledger:
    """What all actors share: counts, marks that were ever attempted, and the shared queue."""

    def __init__(self):
        self.lock = threading.Lock()
        self.attempted = self.acknowledged = self.recovered = 0
        self.marks = set()
        self.shared = {}  # mark: what is known of a job in the shared queue
        self.lost_queue = {}  # id: the highest attempt that was acknowledged
        self.faults = []

    def fault(self, text):
        with self.lock:
            self.faults.append(text)

    def acknowledge(self):
        with self.lock:
            self.acknowledged += 1


class SharedJob:
    def __init__(self):
        self.id = None
        self.submitted = False  # acknowledged
        self.live = None  # the lease that is valid, as far as anybody knows
        self.ending = None  # state of the finish that was attempted last
        self.ended = None  # state of the finish that was acknowledged
