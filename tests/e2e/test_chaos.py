# SPDX-License-Identifier: MIT
"""The short form of tests/crash/chaos.py: everything killed and stopped at random, under load."""
import json
import os
import subprocess
import sys

from waiting import PATIENCE
from waybill import ROOT

CHAOS = ROOT / "tests" / "crash" / "chaos.py"


def test_every_job_runs_and_none_beside_itself_whatever_is_killed_or_stopped():
    seconds = os.environ.get("WAYBILL_CHAOS", "30")
    ran = subprocess.run([sys.executable, str(CHAOS), "--seconds", seconds], check=False,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         timeout=float(seconds) + 290 * PATIENCE)
    text = ran.stdout.decode()
    assert ran.returncode == 0, text
    verdict = json.loads(text.splitlines()[-1])
    faults = {name: verdict[name] for name in
              ("lost", "unexpected", "overlapping", "left", "broken")}
    assert faults == dict.fromkeys(faults, 0), text
    assert verdict["acknowledged"] >= 100 and verdict["happened"] >= 20, text
