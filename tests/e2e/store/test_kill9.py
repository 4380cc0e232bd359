# SPDX-License-Identifier: MIT
"""The short form of tests/crash: kill -9 under load, judged by the books."""
import json
import os
import subprocess
import sys

import pytest

from waiting import PATIENCE
from waybill import ROOT

pytestmark = [pytest.mark.long, pytest.mark.embedded("PostgreSQL has a chaos of its own")]

KILL9 = ROOT / "tests" / "crash" / "kill9.py"


def torture(*args):
    ran = subprocess.run([sys.executable, str(KILL9), *args], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT,
                         timeout=300 * PATIENCE, check=False)
    text = ran.stdout.decode()
    assert ran.returncode == 0, text
    verdict = json.loads(text.splitlines()[-1])
    assert (verdict["lost"], verdict["unexpected"], verdict["broken"]) == (0, 0, 0), text
    return verdict


def test_nothing_is_lost_to_kill_9():
    rounds = int(os.environ.get("WAYBILL_ROUNDS", 3))
    verdict = torture("--rounds", str(rounds))
    assert verdict["rounds"] == rounds and verdict["acknowledged"] >= 1000 * rounds


@pytest.mark.parametrize("point", ["commit.before", "commit.after"])
def test_nothing_is_lost_when_the_server_dies_at_a_commit(point):
    for counts in ("1-4", "20-21", "150-150"):
        torture("--fault", point, "--counts", counts)
