# SPDX-License-Identifier: MIT
"""A full disk: what was promised stays, what cannot be written is refused, and space heals."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from client import counted
from waiting import PATIENCE, eventually
from waybill import BIN, Server, plain_env

SIZE = "12m"


def can_mount():
    if shutil.which("unshare") is None:
        return False
    probe = subprocess.run(["unshare", "--mount", "--map-root-user", "mount", "-t", "tmpfs", "none",
                            "/mnt"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return probe.returncode == 0


pytestmark = [pytest.mark.skipif(not can_mount(), reason="no mount namespaces here"),
              pytest.mark.embedded("the disk is SQLite's")]


class SmallDisk(Server):
    """A server whose data directory is a small file system of its own, seen by it alone."""

    def command(self):
        self.data.mkdir(exist_ok=True)
        script = f'mount -t tmpfs -o size={SIZE},mode=0700 none "$1" && shift && exec "$@"'
        return ["unshare", "--mount", "--map-root-user", "sh", "-c", script, "sh", str(self.data),
                *super().command()]

    def start(self, *args, **named):
        super().start(*args, **named)
        self.inside = Path(f"/proc/{self.process.pid}/root{self.data}")
        self.socket_path = str(self.inside / "waybill.sock")
        return self

    def fill(self):
        """Leaves no free block."""
        with (self.inside / "ballast").open("ab", buffering=0) as ballast:
            size = 1 << 20
            while size >= 1:
                try:
                    if ballast.write(b"x" * size) < size:
                        size //= 2
                except OSError:
                    size //= 2

    def free(self):
        (self.inside / "ballast").unlink()


@pytest.fixture
def small(directory):
    server = SmallDisk(os.path.join(directory, "s")).start()
    yield server
    ran = server.cli("check", "--store", "--full", "--json",
                     env={"WAYBILL_URL": f"unix:{server.socket_path}"})
    if server.running():
        server.stop()
    assert ran.status == 0 and ran.json["findings"] == [], ran


def submit_until_full(client, most=4000):
    """Ids that were acknowledged before the first refusal, and the refusal."""
    ids = []
    for n in range(most):
        reply = client.post("/v1/jobs", {"queue": "work", "params": {"n": n, "pad": "x" * 8000}})
        if reply.status != 201:
            return ids, reply
        ids.append(reply.json["id"])
    raise AssertionError("the disk did not get full")


def test_a_full_disk_refuses_and_keeps_what_was_promised(small):
    client = small.tcp()
    first = client.submit()
    small.fill()
    ids, reply = submit_until_full(client)
    error = reply.error(507, "full")
    assert "space" in error["message"] or "full" in error["message"]
    listed = client.list()
    assert {job["id"] for job in listed} == {first, *ids}
    assert client.counts() == counted(listed)
    assert small.running()


def test_space_that_comes_back_heals_without_a_restart(small):
    client = small.tcp()
    client.submit()
    small.fill()
    ids, _ = submit_until_full(client)
    assert client.get("/readyz").status == 503
    small.free()

    def submits():
        reply = client.post("/v1/jobs", {"queue": "work"})
        return reply.status == 201
    eventually(submits, "a submit that is taken again", 10 * PATIENCE)
    assert client.get("/readyz").status == 200
    job = client.take()
    client.end(job)
    assert len(client.list()) == len(ids) + 2


def test_a_batch_that_does_not_fit_leaves_nothing(small):
    client = small.tcp()
    client.submit()
    small.fill()
    jobs = [{"queue": "work", "params": {"pad": "x" * 20000}} for _ in range(500)]
    client.refused(507, "full", "POST", "/v1/jobs", jobs)
    assert client.counts() == {"work": {"ready": 1}}
    small.free()


def test_lines_that_do_not_fit_are_refused_or_told_one_by_one(small):
    client = small.tcp()
    client.submit()
    small.fill()
    lines = b"".join(b'{"queue":"work","params":{"pad":"%s"}}\n' % (b"x" * 3000) for _ in
                     range(1500))
    reply = client.post("/v1/jobs", lines, headers={"Content-Type": "application/x-ndjson"})
    taken = 0
    if reply.status in (200, 201):
        results = reply.lines
        taken = sum("id" in line for line in results)
        assert all(line["error"]["code"] == "full" for line in results if "error" in
                   line) and taken < 1500
    else:
        reply.error(507, "full")
    assert client.counts() == {"work": {"ready": 1 + taken}}
    small.free()


def test_what_runs_can_be_finished_after_the_disk_was_full(small):
    client = small.tcp()
    client.submit_many([{"queue": "work"}] * 10)
    jobs = client.claim(max=10)["jobs"]
    small.fill()
    submit_until_full(client)
    reply = client.post("/v1/finish",
                        {"finish": [{"id": jobs[0]["id"], "lease": jobs[0]["lease"],
                                     "state": "done",
                                                   "result": "x" * 200000}]})
    if reply.status == 200 and reply.json["results"][0].get("ok"):
        assert client.state(jobs[0]["id"]) == "done"
    else:
        assert client.state(jobs[0]["id"]) == "running"
    small.free()
    eventually(lambda: client.post("/v1/jobs", {"queue": "other"}).status == 201,
               "a submit that is taken again")
    for job in jobs:
        assert client.finish(job, "done").get("ok"), job
    assert client.counts()["work"]["done"] == 10


def test_a_start_on_a_full_disk_says_so(directory):
    """The store cannot even be made."""
    data = os.path.join(directory, "tiny")
    os.mkdir(data)
    script = ('mount -t tmpfs -o size=8k,mode=0700 none "$1" && head -c 4096 /dev/zero >"$1/x" && '
              'shift && exec "$@"')
    ran = subprocess.run(["unshare", "--mount", "--map-root-user", "sh", "-c", script, "sh", data,
                          BIN, "serve",
                          "--data", data, "--listen", "127.0.0.1:0", "-j", "0"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=plain_env(),
                         timeout=30 * PATIENCE, check=False)
    assert ran.returncode not in (0, -6, -11) and ran.stdout == b"", ran
    assert b"full" in ran.stderr or b"space" in ran.stderr, ran.stderr
