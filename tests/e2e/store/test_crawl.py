# SPDX-License-Identifier: MIT
"""The short forms of tests/crash/crawl: nested groups, duplicates, servers killed with -9."""
import json
import os
import subprocess
import sys

import pytest

from waiting import PATIENCE
from waybill import ROOT

pytestmark = [pytest.mark.long, pytest.mark.timeout(600 * PATIENCE),
              pytest.mark.embedded("each brings its own store")]


@pytest.mark.parametrize("servers", [1, 3])
def test_a_crawl_in_nested_groups_is_done_once_whatever_is_killed(servers):
    ran = subprocess.run([sys.executable, str(ROOT / "tests" / "crash" / "crawl" / "run.py"),
                          "--servers", str(servers),
                          "--messages", os.environ.get("WAYBILL_CRAWL", "5000"),
                          "--kills", os.environ.get("WAYBILL_CRAWL_KILLS", "4")], check=False,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         timeout=590 * PATIENCE)
    text = ran.stdout.decode()
    assert ran.returncode == 0, text
    verdict = json.loads(text.splitlines()[-1])
    assert verdict["kills"] >= 4 and verdict["messages"] >= 5000, text
