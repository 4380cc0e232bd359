# SPDX-License-Identifier: MIT
"""Claims and finishes jobs over HTTP during a chaos; judges all claimers together."""
import fcntl
import threading
import time


class Claimer:
    """Claims jobs of queue `hands` and finishes them until it is told to stop.

    It holds the lock of a job, as the programs of chaos_load.py do, for as long as it can know its
    lease to be live.  Every answer is written down.
    """

    def __init__(self, name, client, rng, place, lease_s):
        self.name, self.client, self.rng, self.place = name, client, rng, place
        self.lease_s = lease_s
        self.granted = []   # (id, lease, attempt)
        self.accepted = []  # (id, lease, attempt, when the answer came)
        self.faults = []
        self.stale = 0
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _tell(self, name, text):
        with (self.place / name).open("a") as file:
            file.write(text + "\n")

    def _ask(self, path, body, within_s=10):
        """The reply's JSON; None when there is none, or only a refusal that says to come again."""
        self.client.timeout = within_s
        try:
            reply = self.client.post(path, body)
        except Exception:  # pylint: disable=broad-except
            return None  # http.client says in many ways that a reply was cut off
        if reply.status == 200:
            return reply.json
        if reply.status != 503 or reply.headers.get("Retry-After") is None:
            self.faults.append(f"{path}: {reply.status} {reply.headers.items()} "
                               f"{reply.body[:300]!r}")
        return None

    def _run(self):
        while not self.stop.is_set():
            asked_at = time.monotonic()
            reply = self._ask("/v1/claim", {"worker": self.name, "queues": {"hands": 1}, "max": 1,
                                            "lease": f"{self.lease_s}s", "wait": "1s"})
            if reply is None:
                self.stop.wait(0.05)
            for job in (reply or {}).get("jobs", []):
                self.granted.append((job["id"], job["lease"], job["attempt"]))
                self._tell("runs", f"begin {job['id']} {job['lease']} 1")
                if self._carry_out(job, asked_at + self.lease_s):
                    self._tell("runs", f"end {job['id']} {job['lease']} 1")
                    self._finish(job)

    def _carry_out(self, job, live_until):
        """False: it is never heard of again."""
        with (self.place / "locks" / job["id"]).open("a") as lock:
            if self._is_live(live_until):
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    self._tell("overlaps", f"{job['id']} {job['lease']} {self.name}")
            self._hold(job, live_until)
        return self.rng.random() > 0.03

    def _is_live(self, live_until):
        return time.monotonic() < live_until - self.lease_s / 6

    def _hold(self, job, live_until):
        """Works at it for a while, and says so."""
        item = {"id": job["id"], "lease": job["lease"]}
        end = time.monotonic() + self.rng.choice([0, 0, 0.02, 0.1, 0.3, 0.6 * self.lease_s])
        touch_at = time.monotonic() + self.lease_s / 4
        while time.monotonic() < end and self._is_live(live_until):
            if time.monotonic() >= touch_at:
                asked_at = time.monotonic()
                touch_at = asked_at + self.lease_s / 4
                reply = self._ask("/v1/touch", {"touch": [item]}, self.lease_s / 8)
                if reply is not None and not reply["lost"]:
                    live_until = asked_at + self.lease_s
            self.stop.wait(0.01)

    def _finish(self, job):
        """Says that it is done until it is told what became of it."""
        item = {"id": job["id"], "lease": job["lease"], "state": "done", "result": self.name}
        reply = None
        while reply is None:
            reply = self._ask("/v1/finish", {"finish": [item]})
            if reply is None:
                time.sleep(0.02)
        result = reply["results"][0]
        if result.get("ok"):
            self.accepted.append((job["id"], job["lease"], job["attempt"], time.monotonic()))
        elif result.get("error", {}).get("code") == "stale_lease":
            self.stale += 1
        else:
            self.faults.append(f"finish of {job['id']}: {result}")


def double_finishes(claimers):
    """Jobs that were done under two leases, or granted once more after they were done."""
    done, found = {}, []
    for claimer in claimers:
        for job_id, lease, attempt, _ in claimer.accepted:
            if job_id in done:
                found.append(f"{job_id} was done under lease {done[job_id][0]} and under {lease}")
            done[job_id] = (lease, attempt)
    for claimer in claimers:
        for job_id, lease, attempt in claimer.granted:
            if job_id in done and attempt > done[job_id][1]:
                found.append(f"{job_id} was granted under lease {lease} after it was done under "
                             f"{done[job_id][0]}")
    return found
