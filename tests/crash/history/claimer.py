# SPDX-License-Identifier: MIT
"""Who claims, touches, emits and finishes in a history, not always as it should; and who reads."""
import time
from datetime import datetime, timezone

from record import QUEUES, Recorder
from waiting import parse_time

PERIODS_S = (3, 4, 5)
TRIES = 4
# What becomes of an attempt.  forget: never heard of again; late: finished long after the lease.
ENDS = {"done": 76, "failed": 7, "later": 4, "returned": 4, "forget": 4, "late": 5}


class Claimer(Recorder):
    def __init__(self, *args):
        super().__init__(*args)
        self.late = []  # (when, job): finishes that come too late

    def run(self):
        while not self.world.end.is_set():
            for job in self.claim():
                self.carry_out(job)
            due = [one for one in self.late if one[0] <= time.monotonic()]
            self.late = [one for one in self.late if one not in due]
            for _, job in due:
                self.finish(job, "done")
            self.pause(self.rng.uniform(0, 0.05))

    def behaves(self):
        """Towards the end everybody does."""
        return self.world.stop.is_set()

    def claim(self):
        server, period = self.server(), self.rng.choice(PERIODS_S)
        most = self.rng.randrange(1, 4)
        body = {"worker": self.name, "queues": dict.fromkeys(QUEUES, most), "max": most,
                "lease": f"{period}s", "wait": self.rng.choice(["0s", "300ms", "1s"])}
        asked = self.ask(server, "POST", "/v1/claim", body)
        jobs = asked[0].document["jobs"] if asked[0].outcome == "ok" else []
        now = datetime.now(timezone.utc)
        grants = [{"id": job["id"], "lease": job["lease"], "attempt": job["attempt"],
                   "name": job["params"].get("name"),
                   "left": (parse_time(job["lease_until"]) - now).total_seconds()} for job in jobs]
        self.note("claim", server, asked, worker=self.name, period=period, grants=grants)
        return [{**job, "period": period} for job in jobs]

    def carry_out(self, job):
        end = self.rng.choices(list(ENDS), ENDS.values())[0]
        if self.behaves():
            end = "done"
        kind = job["params"].get("kind") if "way" not in job["params"] else None
        if kind == "pages" and not self.make_pages(job):
            return
        raises = {}
        if kind == "emits":
            for seq in range(1, self.rng.randrange(1, 4)):
                names = [self.new_name() for _ in range(self.rng.randrange(1, 3))]
                if not self.emit(job, seq, names, self.rng.random() < 0.4):
                    break  # the next one would leave a gap
            raises = {f"level{self.rng.randrange(3)}": 1} if self.rng.random() < 0.3 else {}
        if self.rng.random() < 0.3:
            self.pause(self.rng.uniform(0, 0.3))
            self.touch(job)
        if end == "late":
            self.late.append((time.monotonic() + job["period"] + self.rng.uniform(0, 3), job))
        elif end != "forget":
            emits = [self.new_name()] if kind == "emits" and self.rng.random() < 0.4 else []
            self.finish(job, end, emits, raises)

    def make_pages(self, job):
        """From the cursor on; False when the attempt ends before the last page."""
        page, seq = job.get("cursor") or 0, 0
        while page < job["params"]["pages"]:
            if not self.behaves() and self.rng.random() < 0.1:
                if self.rng.random() < 0.5:
                    self.finish(job, "failed")
                return False
            seq += 1
            if not self.emit(job, seq, [f"{job['params']['name']}/{page}"], True, page):
                return False
            page += 1
        return True

    def emit(self, job, seq, names, visible, page=None):
        """Repeated until its outcome is known: a known seq is without effect."""
        body = {"id": job["id"], "lease": job["lease"], "seq": seq, "visible": visible,
                "jobs": [{"queue": "work", "params": {"name": name}} for name in names]}
        if page is not None:
            body["cursor"] = page + 1
        for _ in range(TRIES):
            server = self.server()
            reply = self.note("emit", server, self.ask(server, "POST", "/v1/emit", body),
                              id=job["id"], lease=job["lease"], seq=seq, names=names,
                              visible=visible, page=page)
            if reply.outcome == "ok" or reply.code == "stale_lease":
                return reply.outcome == "ok"
            self.pause(0.1)
        return False

    def touch(self, job):
        server = self.server()
        asked = self.ask(server, "POST", "/v1/touch",
                         {"touch": [{"id": job["id"], "lease": job["lease"]}]})
        lost = asked[0].outcome == "ok" and bool(asked[0].document["lost"])
        self.note("touch", server, asked, id=job["id"], lease=job["lease"], lost=lost)

    def finish(self, job, state, emits=(), raises=None):
        """Repeated until its outcome is known, and sometimes once more."""
        mark = f"{state} {job['lease']}"
        item = {"id": job["id"], "lease": job["lease"], "state": state, "text": mark}
        fields = {"id": job["id"], "lease": job["lease"], "state": state, "mark": mark}
        if state == "done":
            item["result"] = fields["result"] = f"{self.name} {job['lease']}"
            if emits:
                item["emit"] = [{"queue": "work", "params": {"name": name}} for name in emits]
                fields["emits"] = emits
            if raises:
                item["raise"] = fields["raises"] = raises
        if state == "later":
            item["delay"] = "200ms"
        for _ in range(TRIES):
            known = self._finish_once(item, fields)
            if known and self.rng.random() > 0.06:
                return
            if not known:
                self.pause(0.1)

    def _finish_once(self, item, fields):
        server = self.server()
        asked = self.ask(server, "POST", "/v1/finish", {"finish": [item]})
        reply, more = asked[0], {}
        if reply.outcome == "ok":
            result = reply.document["results"][0]
            if "error" in result:
                reply.outcome = "fail"
                more["code"] = result["error"]["code"]
                if more["code"] not in ("stale_lease", "not_found"):
                    self.world.faults.append(f"finish: {result}")
            elif result.get("state", "done") != "done" and item["state"] == "done":
                more["ended"] = result["state"]
            if result.get("again"):
                more["again"] = True
        self.note("finish", server, asked, **fields, **more)
        return reply.outcome == "ok" or "code" in more


class Reader(Recorder):
    def run(self):
        while not self.world.end.is_set():
            if self.world.known:
                self.read(self.rng.choice(list(self.world.known))["id"])
            if self.rng.random() < 0.2:
                reply, _, _ = self.ask(self.rng.randrange(self.world.servers), "GET", "/v1/counts")
                if reply.outcome == "ok":
                    self.world.backlog = sum(
                        n for states in reply.document["counts"].values()
                        for state, n in states.items()
                        if state in ("ready", "running", "scheduled"))
            self.pause(self.rng.uniform(0, 0.1))
