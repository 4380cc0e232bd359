# SPDX-License-Identifier: MIT
"""What newcomers see first: the demo, and the example it shows."""
import subprocess

import pytest

import processes
from waiting import PATIENCE, eventually
from waybill import BIN, ROOT, plain_env

pytestmark = pytest.mark.embedded("shows the embedded store")


def test_the_demo_runs_to_its_end_and_leaves_nothing(directory):
    ran = subprocess.run([ROOT / "tools" / "demo"],
                         env=plain_env(WAYBILL_BIN=BIN, TMPDIR=directory, PACE="0.3"),
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         timeout=90 * PATIENCE, check=False)
    out = ran.stdout.decode()
    assert ran.returncode == 0, (out, ran.stderr.decode())
    assert "all sites                     18" in out and "/nowhere" in out, out
    assert "none lost to kill -9" in out and "\x1b" not in out, out
    assert "continuing this run" in ran.stderr.decode()
    eventually(lambda: not processes.of_place(directory), "the end of all that it started")


def test_the_example_can_be_followed_by_hand(servers):
    server = servers(slots=2)
    server.file = ROOT / "examples" / "first" / "queues.yaml"
    server.env["PATH"] = f"{server.dir}/bin:/usr/bin:/bin"
    (server.dir / "bin").mkdir()
    (server.dir / "bin" / "waybill").symlink_to(BIN)
    server.env["PACE"] = "0"
    server.start()
    client = server.tcp()
    ran = server.cli("add", "look", "-p", f"folder={ROOT}/examples/first/texts", "--wait")
    assert ran.status == 0, ran
    eventually(lambda: client.counts().get("count") == {"done": 8}, "all texts counted")
    ran = server.cli("add", "report", "--wait")
    assert ran.status == 0 and "627  in 8 texts" in ran.out, ran
