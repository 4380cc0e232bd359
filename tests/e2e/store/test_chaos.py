# SPDX-License-Identifier: MIT
"""The short forms of tests/crash/chaos.py and postgres_chaos.py: random kills under load."""
import json
import os
import subprocess
import sys

import pytest

from waiting import PATIENCE
from waybill import ROOT

pytestmark = [pytest.mark.long, pytest.mark.timeout(360 * PATIENCE),
              pytest.mark.embedded("each brings its own store")]


def chaos(script, seconds, load="runs"):
    """The verdict, which must be a good one, and the whole output."""
    ran = subprocess.run([sys.executable, str(ROOT / "tests" / "crash" / script),
                          "--seconds", seconds, "--load", load], check=False,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         timeout=float(seconds) + 290 * PATIENCE)
    text = ran.stdout.decode()
    assert ran.returncode == 0, text
    verdict = json.loads(text.splitlines()[-1])
    faults = {name: verdict[name] for name in
              ("lost", "unexpected", "overlapping", "left", "broken")}
    assert faults == dict.fromkeys(faults, 0), text
    assert verdict["acknowledged"] >= 100 and verdict["happened"] >= 20, text
    return verdict, text


def test_every_job_runs_and_none_beside_itself_whatever_is_killed_or_stopped():
    chaos("chaos.py", os.environ.get("WAYBILL_CHAOS", "30"))


def test_three_servers_on_one_postgresql_lose_nothing_and_go_on_whatever_is_killed():
    verdict, text = chaos("postgres_chaos.py", os.environ.get("WAYBILL_CHAOS", "60"))
    print(text)
    assert verdict["restarts"] >= 3, text


@pytest.mark.parametrize("script, seconds", [("chaos.py", "30"), ("postgres_chaos.py", "35")])
def test_what_ends_lead_to_is_there_once_whatever_is_killed(script, seconds):
    least = {"routes": 6, "steps": 18, "made": 24, "fired": 6, "released": 12, "raised": 18}
    seconds = float(os.environ.get("WAYBILL_CHAOS", seconds))
    for longer in (1, 3):  # on a busy machine little happens: what is proven then is too little
        verdict, text = chaos(script, str(longer * seconds), "links")
        print(text)
        if all(verdict[name] >= n // PATIENCE for name, n in least.items()):
            return
    assert False, text
