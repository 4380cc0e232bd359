# SPDX-License-Identifier: MIT
"""The examples that run by one command: to their end, and leaving nothing."""
import subprocess

import pytest

import processes
from waiting import PATIENCE, eventually
from waybill import BIN, ROOT, plain_env

pytestmark = pytest.mark.embedded("shows the embedded store")


def run(name, directory):
    ran = subprocess.run([ROOT / "examples" / name / "run"],
                         env=plain_env(WAYBILL_BIN=BIN, TMPDIR=directory, PACE="0.02"),
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         timeout=90 * PATIENCE, check=False)
    out = ran.stdout.decode()
    assert ran.returncode == 0, (out, ran.stderr.decode())
    eventually(lambda: not processes.of_place(directory), "the end of all that it started")
    return out


def test_cases_go_through_their_steps_and_the_last_ones_always_run(directory):
    out = run("shelf", directory)
    report = out.split("The report")[1]
    assert len(report.strip().splitlines()) == 11, out
    assert "case  7     0 documents  unknown lost" in report, out
    assert "case  7    50 documents  7 lost" in report, out
    assert "the same jobs" in out, out


def test_one_url_starts_imports_on_all_machines(directory):
    out = run("import", directory)
    assert "2026_11_15: imported by north server south" in out, out
    assert "2026_11_16: imported by north server south" in out, out
    assert "the dump of broken cannot be read" in out, out
    assert "fired  2" in out, out


def test_a_crawler_visits_each_page_once_and_sums_up_each_site(directory):
    out = run("crawl", directory)
    sites = [line.split() for line in out.splitlines() if line.startswith("127.0.0.")]
    assert [site[1] for site in sites] == ["7", "6", "5"], out
    assert "page       19       0          0       18     0" in out, out
    assert "all sites                     18      88          18" in out, out
    assert out.rstrip().endswith("/nowhere"), out
