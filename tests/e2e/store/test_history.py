# SPDX-License-Identifier: MIT
"""The short form of tests/crash/history/run.py: every kind of fault at
least once, and a judge that shares no code with the server."""
import json
import os
import subprocess
import sys

import pytest

from waiting import PATIENCE
from waybill import ROOT

pytestmark = [pytest.mark.long, pytest.mark.timeout(600 * PATIENCE),
              pytest.mark.embedded("each brings its own store")]
SKIPPED = 77  # of run.py: no namespaces here
SECONDS = {"sqlite": "30", "postgres": "90"}  # two minutes in all


@pytest.mark.parametrize("store", list(SECONDS))
def test_every_property_holds_in_a_history_with_every_kind_of_fault(store):
    seconds = os.environ.get("WAYBILL_HISTORY", SECONDS[store])
    ran = subprocess.run([sys.executable, str(ROOT / "tests" / "crash" / "history" / "run.py"),
                          "--store", store, "--seconds", seconds], check=False,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         timeout=float(seconds) + 540 * PATIENCE)
    text = ran.stdout.decode()
    if ran.returncode == SKIPPED:
        pytest.skip(text.splitlines()[-1])
    assert ran.returncode == 0, text
    verdict = json.loads(text.splitlines()[-1])
    assert (verdict["violations"], verdict["broken"], verdict["missing_faults"]) == \
        ({}, 0, []), text
    assert verdict["acknowledged"] >= 500 and sum(verdict["faults"].values()) >= 10, text
