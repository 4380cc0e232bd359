# SPDX-License-Identifier: MIT
"""Nothing that a job started survives a kill -9 of its worker, daemons included."""
import contextlib
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from processes import Process, must_end, noted
from waiting import eventually
from waybill import BIN, plain_env

pytestmark = pytest.mark.embedded("the worker alone decides it")

# A daemon by the book: another session, no parent, no environment, no directory, no descriptors.
DAEMON = """cd /
env -i setsid \\
    sh -c 'setsid sh -c "echo \\$\\$ > \\"$1.daemon\\"; exec sleep 1000" sh "$1" & exit' sh "$1" \\
    </dev/null >/dev/null 2>&1 3>&- 4>&-
echo $$ > "$1.pid"
while [ ! -e "$1" ]; do sleep 0.02; done
"""


def daemon_of(shop):
    """A job whose program has started a daemon: (where it waits, the daemon)."""
    place = shop.place()
    job_id = shop.submit(shop.queue(DAEMON, [str(place)]))
    daemon = noted(f"{place}.daemon")
    noted(f"{place}.pid")
    assert daemon.alive()
    eventually(lambda: b"WAYBILL_LEASE" not in daemon.environ(), "no environment")
    return job_id, place, daemon


@pytest.fixture
def killed():
    """Daemons that must not outlive a test, however it ends."""
    made = []
    yield made
    for daemon in made:
        daemon.kill()


def test_serve_ends_what_its_dead_worker_left(shops, killed):
    shop = shops(slots=1).start()
    job_id, place, daemon = daemon_of(shop)
    killed.append(daemon)
    worker = Process(shop.admin.ok("GET", "/v1/server")["worker"]["pid"])
    worker.send(signal.SIGKILL)
    must_end(daemon)
    place.touch()
    assert shop.ended(job_id)["state"] == "done"
    log = shop.server.log_text()
    ended = re.search(r"ended (1 process|(?!1 )\d+ processes) that it left", log)
    assert ended and ended.start() < log.rindex("started, pid"), log
    assert re.search(r"started, pid \d+, 1 slot$", log, re.M), log


def test_serve_spares_children_that_it_did_not_start(directory, shops, killed):
    """Whoever becomes serve by exec may have had children before."""
    child = subprocess.Popen(
        ["sh", "-c", 'sleep 1000 & echo $!; exec "$0" serve --data "$1" --listen none -j 1',
         BIN, f"{directory}/d"], stdout=subprocess.PIPE, env=plain_env())
    try:
        other = Process(int(child.stdout.readline()))
        killed.append(other)
        assert child.stdout.readline().startswith(b"ready ")
        worker = eventually(lambda: workers_of(child.pid, other), "a worker")
        worker.send(signal.SIGKILL)
        eventually(lambda: (workers_of(child.pid, other) or worker).pid != worker.pid,
                   "another worker")
        assert other.alive()
    finally:
        child.send_signal(signal.SIGTERM)
        assert child.wait(20) == 0
        child.stdout.close()


def workers_of(pid, other):
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != other.pid:
            process = Process(entry.name)
            if process.parent() == pid and process.command()[1:2] == [b"worker"]:
                return process
    return None


def cgroup_mount():
    """Where cgroup v2 is."""
    for line in Path("/proc/mounts").read_text().splitlines():
        _, where, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(where)
    return None


@pytest.fixture
def cgroup_root(monkeypatch):
    """A group of our own, as if it had been delegated."""
    mount = cgroup_mount()
    if mount is None:
        pytest.skip("there is no cgroup v2")
    root = mount / f"waybill-test-{os.getpid()}"
    try:
        root.mkdir()
    except OSError as error:
        pytest.skip(f"no group can be made: {error}")
    monkeypatch.setenv("WAYBILL_CGROUP_ROOT", str(root))
    yield root
    with contextlib.suppress(OSError):
        (root / "cgroup.kill").write_text("1")

    def removed():
        with contextlib.suppress(OSError):
            for group in root.iterdir():
                if group.is_dir():
                    group.rmdir()
            root.rmdir()
        return not root.exists()
    eventually(removed, "the end of the group")


def groups(root):
    return [group.name for group in root.iterdir() if group.is_dir()]


def test_each_job_has_a_group_that_ends_with_it(shops, workers, cgroup_root):
    shop = shops(slots=0).start()
    workers(shop.server, "w").start()
    place = shop.place()
    job_id = shop.submit(shop.queue('cat /proc/self/cgroup; echo $$ > "$1.pid"\n'
                                    'while [ ! -e "$1" ]; do sleep 0.02; done', [str(place)]))
    noted(f"{place}.pid")
    assert len(groups(cgroup_root)) == 1
    place.touch()
    job = shop.ended(job_id)
    assert b"/waybill-w." in shop.log(job)
    eventually(lambda: groups(cgroup_root) == [], "no group")


def test_the_next_worker_ends_daemons_of_a_killed_one(shops, workers, cgroup_root, killed):
    shop = shops(slots=0).start()
    worker = workers(shop.server, "w").start()
    job_id, place, daemon = daemon_of(shop)
    killed.append(daemon)
    worker.kill()
    assert daemon.alive()  # nobody is there to end it
    place.touch()
    workers(shop.server, "w").start()
    must_end(daemon)
    assert shop.ended(job_id)["state"] == "done"


def test_a_resident_has_a_group_as_well(shops, workers, cgroup_root, killed):
    shop = shops(slots=0).start()
    worker = workers(shop.server, "w").start()
    place = shop.place()
    text = f"""#!/usr/bin/env python3
import json, os, subprocess, sys
for line in sys.stdin:
    job = json.loads(line)["job"]
    subprocess.Popen(["setsid", "sh", "-c", "echo $$ > '{place}.daemon'; exec sleep 1000"],
                     env={{}}, cwd="/", stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                     stderr=subprocess.DEVNULL)
    os.write(3, (job["id"] + " done\\n").encode())
"""
    queue = shop.queue(text, resident=True)
    assert shop.run(queue)["state"] == "done"
    daemon = noted(f"{place}.daemon")
    killed.append(daemon)
    worker.kill()
    workers(shop.server, "w").start()
    must_end(daemon)


@pytest.mark.parametrize("size", [0, 64, 1000])
def test_truncated_records_do_not_end_the_worker(shops, workers, size):
    shop = shops(slots=0).start()
    worker = workers(shop.server, "w").start()
    records = Path(worker.data) / "workers" / "w" / "records"
    place = shop.place()
    job_id = shop.submit(shop.queue('echo $$ > "$1.pid"; while [ ! -e "$1" ]; do sleep 0.02; done',
                                    [str(place)]))
    noted(f"{place}.pid")
    whole = records.stat().st_size
    os.truncate(records, size)
    place.touch()
    assert shop.ended(job_id)["state"] == "done"
    queue = shop.queue("true")

    def mended():
        assert shop.run(queue)["state"] == "done"
        return records.stat().st_size == whole

    eventually(mended, "the records")
    assert worker.running() and shop.client.show(job_id)["lost"] == 0
    assert "has truncated or removed records" in worker.log_text()


def test_garbled_records_do_not_end_the_next_worker(shops, workers):
    shop = shops(slots=0).start()
    worker = workers(shop.server, "w").start()
    records = Path(worker.data) / "workers" / "w" / "records"
    worker.stop()
    content = records.read_bytes()
    records.write_bytes(content[:64] + b"\xff\x01\"\n" * ((len(content) - 64) // 4))
    workers(shop.server, "w").start()
    assert shop.carry_out("true")["state"] == "done"
