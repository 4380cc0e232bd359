# SPDX-License-Identifier: MIT
"""After a kill and a restart: is the server's state one that the books allow?

`lost`: something acknowledged is not there, or half of a request is.  `unexpected`: something is
there that was never attempted, or that was acknowledged as gone.  `broken`: anything else that must
always hold.
"""
import time

from client import Client, counted
from waiting import PATIENCE, eventually

CHECKED_WITHIN_S = 60 * PATIENCE
SHOWN_EACH_ROUND = 150  # jobs an actor looks at closely; the rest it sees in the list


class Checker:
    def __init__(self, server, ledger, actors, records, rng):
        self.client = Client(server.socket_path)
        self.ledger = ledger
        self.actors = actors
        self.records = records  # id: progress as it was seen last
        self.rng = rng
        self.lost, self.unexpected, self.broken = [], [], []

    # ---- the round's judgement

    def run(self):
        self.wait_for_bulk_actions()
        listed = self.client.list()
        self.compare_counts(listed)
        self.by_id = {job["id"]: job for job in listed}
        self.by_mark = self.index_marks(listed)
        for actor in self.actors:
            self.check_actor(actor)
        self.check_lossy([job for job in listed if job["queue"] == "lossy"])
        for actor in self.actors:
            self.repeat_what_is_in_doubt(actor)
        for actor in self.actors:
            self.hand_back(actor)
        self.check_shared()
        self.check_store()
        self.sweep_up()
        self.client.close()

    def check_store(self):
        """A killed server checks its store when it starts, one check at a time."""
        def asked():
            reply = self.client.post("/v1/check", {"full": True})
            return None if reply.status == 503 else reply

        found = eventually(asked, "a check of the store", CHECKED_WITHIN_S).json
        if found.get("ok") is not True:
            self.broken.append(f"the store's check: {found.get('findings', [found])[:5]}")

    def wait_for_bulk_actions(self):
        for entry in self.client.ok("GET", "/v1/bulk")["bulk"]:
            end = time.monotonic() + 60
            while entry["state"] != "done":
                if time.monotonic() > end:
                    self.lost.append(f"bulk action {entry['id']} does not end")
                    return
                entry = self.client.ok("GET", f"/v1/bulk/{entry['id']}?wait=10s")

    def compare_counts(self, listed):
        """Leases that expire between the two readings are the one excuse, and it does not last."""
        for _ in range(5):
            kept, found = self.client.counts(), counted(listed)
            if kept == found:
                return
            listed = self.client.list()
        self.broken.append(f"kept counts {kept}, counted {found}")

    def index_marks(self, listed):
        by_mark = {}
        for job in listed:
            mark = job["params"].get("mark")
            if mark not in self.ledger.marks:
                self.unexpected.append(f"job {job['id']} was never submitted: {job['params']}")
            elif mark in by_mark:
                self.unexpected.append(f"{mark} is there twice: {job['id']}, {by_mark[mark]['id']}")
            by_mark[mark] = job
        return by_mark

    # ---- jobs with one owner

    def check_actor(self, actor):
        pending = actor.pending
        doubtful = set(pending.before) | set(pending.after) | pending.deleted if pending else set()
        claimed = 0
        for job_id, job in actor.jobs.items():
            if job_id in doubtful:
                continue
            shown = self.by_id.get(job_id)
            if shown is None:
                self.lost.append(f"job {job_id} ({job.mark}, {job.state}) is gone")
            elif pending and self.may_be_claimed(actor, job, shown, pending):
                claimed += 1
            else:
                self.compare(job, shown)
        if pending:
            if claimed > (pending.claims["max"] if pending.claims else 0):
                self.unexpected.append(f"{actor.name}: one claim was granted {claimed} jobs")
            self.settle(actor, pending)
        self.check_paused(actor, pending)
        known = set(actor.jobs)
        for job in self.by_id.values():
            if job["queue"] in (actor.home, actor.away) and job["id"] not in known:
                self.unexpected.append(f"job {job['id']} ({job['params']}) should not be there")
        self.look_closely(actor)

    def check_paused(self, actor, pending):
        states = {queue: self.client.ok("GET", f"/v1/queues/{queue}")["state"]
                  for queue in (actor.home, actor.away)}
        paused = frozenset(queue for queue, state in states.items() if state == "pause")
        if pending and pending.paused == paused:
            self.ledger.recovered += 1
        elif paused != actor.paused:
            self.lost.append(f"{actor.name}: the queues are {states}, paused were {actor.paused}")
        actor.paused = paused

    def compare(self, job, shown):
        wrong = job.differences(shown)
        if wrong:
            self.lost.append(f"job {job.id} ({job.mark}): {'; '.join(wrong)}")

    @staticmethod
    def may_be_claimed(actor, job, shown, pending):
        """Granted by the claim whose reply never came."""
        claims = pending.claims and job.queue in pending.claims["queues"] and \
            job.queue not in actor.paused
        if not claims or job.state not in ("ready", "soon") or shown["state"] != "running":
            return False
        twin = job.copy()
        twin.claim(None)
        return not twin.differences(shown)

    def settle(self, actor, pending):
        """All of the request without a reply, or nothing of it."""
        before = self.world_faults(pending.before, (), pending.created)
        after = self.world_faults(pending.after, pending.deleted, ())
        for job in pending.created:
            shown = self.by_mark.get(job.mark)
            after += [f"{job.mark} is not there"] if shown is None else job.differences(shown)
        nothing = not (pending.after or pending.deleted or pending.created)
        if not after and not nothing:
            self.ledger.recovered += 0 if pending.acknowledged else 1
            actor.jobs.update(pending.after)
            for job_id in pending.deleted:
                del actor.jobs[job_id]
            for job in pending.created:
                job.id = self.by_mark[job.mark]["id"]
                actor.jobs[job.id] = job
        elif before or (pending.acknowledged and not nothing):
            self.lost.append(f"{actor.name}: {pending.what} is there by half: "
                             f"not begun: {before[:3]}, done: {after[:3]}")

    def world_faults(self, jobs, gone, absent):
        faults = [f"job {job_id} is still there" for job_id in gone if job_id in self.by_id]
        faults += [f"{job.mark} is there" for job in absent if job.mark in self.by_mark]
        for job_id, job in jobs.items():
            shown = self.by_id.get(job_id)
            faults += [f"job {job_id} is gone"] if shown is None else [f"job {job_id}: {d}" for d in
                                                                       job.differences(shown)]
        return faults

    def look_closely(self, actor):
        """Shows a sample: the whole record and the log."""
        jobs = [job for job in actor.jobs.values() if job.id in self.by_id]
        for job in self.rng.sample(jobs, min(len(jobs), SHOWN_EACH_ROUND)):
            shown = self.client.show(job.id)
            if job.is_shown_as(shown["state"]):  # else it was granted by a claim in doubt
                self.compare(job, shown)
            seen = self.records.get(job.id, [])
            if shown["progress"][:len(seen)] != seen:
                self.lost.append(f"the record of {job.id} has changed: {seen}, {shown['progress']}")
            self.records[job.id] = shown["progress"]
        for job in jobs:
            if job.state == "running" and job.log:
                text = self.client.get(f"/v1/jobs/{job.id}/log").body
                if not job.log.startswith(text):
                    self.unexpected.append(f"log of {job.id}: {text[-60:]!r} was never written")
                job.log = text

    # ---- going on

    def repeat_what_is_in_doubt(self, actor):
        """Every request can be repeated safely after a lost reply."""
        pending, actor.pending = actor.pending, None
        if pending and pending.repeat:
            reply = self.client.request(*pending.repeat)
            if pending.what == "submit":
                job, = pending.created
                self.expect(reply.status == (200 if job.id else 201),
                            f"{pending.what} again: {reply.status} {reply.body[:200]!r}")
                self.expect(job.id in (None, reply.json["id"]), f"{job.mark} has another id now")
                job.id = reply.json["id"]
                actor.jobs[job.id] = job
            else:
                for result in reply.json["results"]:
                    self.expect(result.get("ok") is True, f"{pending.what} again: {result}")
                actor.jobs.update(pending.after)
                for job_id in pending.after:  # the list is from before
                    self.by_id.pop(job_id, None)
        for mark, item in actor.shared_pending:
            result, = self.client.ok("POST", "/v1/finish", {"finish": [item]})["results"]
            self.expect(result.get("ok") is True, f"finish of {mark} again: {result}")
            if item["state"] != "returned":
                self.ledger.shared[mark].ended = item["state"]
            actor.held_shared.pop(item["id"], None)
        actor.shared_pending = []

    def expect(self, condition, text):
        if not condition:
            self.lost.append(text)

    def hand_back(self, actor):
        """A worker says what it holds: whatever else was granted to it comes back uncounted."""
        held = {job.id: job.lease for job in actor.jobs.values() if job.state == "running"}
        held.update({job_id: lease for job_id, (_, lease) in actor.held_shared.items()})
        touch = [{"id": job_id, "lease": lease} for job_id, lease in held.items()]
        reply = self.client.ok("POST", "/v1/claim",
                               {"worker": actor.name, "queues": {"empty": 1}, "all": True,
                                "touch": touch,
                                                     "lease": "10m"})
        if reply["lost"]:
            self.lost.append(f"{actor.name}: leases that a restart took away: {reply['lost'][:5]}")
        for job in actor.jobs.values():
            shown = self.by_id.get(job.id)
            if shown and shown["state"] == "running" and job.state in ("ready", "soon"):
                now = self.client.show(job.id)
                if now["state"] != "ready" or now["attempt"] != job.attempt:
                    self.lost.append(f"job {job.id} was handed back and is {now['state']} in "
                                     f"attempt {now['attempt']}")
                job.due, job.text = None, ""
                job.wait()

    def check_shared(self):
        listed = {job["params"]["mark"]: job for job in self.client.list("queue=shared")}
        for mark, shared in list(self.ledger.shared.items()):
            job = listed.get(mark)
            if job is None:
                if shared.submitted or shared.live or shared.ended:
                    self.lost.append(f"{mark} of the shared queue is gone")
                del self.ledger.shared[mark]
                continue
            wanted = shared.ended or ("running" if shared.live else "ready")
            if job["state"] != wanted:
                self.lost.append(f"{mark} of the shared queue is {job['state']}, not {wanted}")
            if job["lost"]:
                self.broken.append(f"{mark} of the shared queue was lost {job['lost']} times")
            if shared.ended:
                del self.ledger.shared[mark]

    def check_lossy(self, listed):
        """Every claim there is lost: the counts say so exactly."""
        for job in listed:
            shown = (job["state"], job["attempt"], job["lost"])
            right = {"running": job["lost"] == job["attempt"] - 1,
                     "ready": job["lost"] == job["attempt"] <= 5,
                     "failed": job["lost"] == job["attempt"] == 6}.get(job["state"], False)
            if not right or job["attempt"] < self.ledger.lost_queue.get(job["id"], 0):
                self.broken.append(f"job {job['id']} of the lossy queue: {shown}, acknowledged "
                                   f"{self.ledger.lost_queue.get(job['id'], 0)}")

    def sweep_up(self):
        """Ended jobs of the common queues have been judged: the lists need not grow."""
        for queue in ("shared", "lossy"):
            body = {"action": "delete", "filter": {"queue": queue, "state": ["done", "failed"]}}
            bulk_id = self.client.ok("POST", "/v1/bulk", body, 202)["id"]
            self.client.ok("GET", f"/v1/bulk/{bulk_id}?wait=30s")
