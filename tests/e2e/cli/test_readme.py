# SPDX-License-Identifier: MIT
"""What the documentation shows works: its lines are run, its names are looked up."""
import json
import re
import shutil
import subprocess

import pytest

from waybill import DEADLINE_S, ROOT, plain_env, run_waybill

pytestmark = pytest.mark.embedded("shows the embedded store")

README = ROOT / "README.md"
PAGES = [README, ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md"))]


def four_lines():
    block = re.search(r"<!-- four lines: begin -->\n```sh\n(.*?)```\n<!-- four lines: end -->",
                      README.read_text(), re.S)
    assert block, "README.md has lost the marks around its four lines"
    return block[1].splitlines()


def documents(text):
    """Several JSON documents, with or without space between them."""
    found = []
    while text.strip():
        document, end = json.JSONDecoder().raw_decode(text.strip())
        found.append(document)
        text = text.strip()[end:]
    return found


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")
@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_the_four_lines_submit_claim_finish_and_list(server, shell):
    lines = four_lines()
    assert len(lines) == 4 and all("curl " in line for line in lines), lines
    script = "\n".join(lines).replace("localhost:6769", f"127.0.0.1:{server.port}")
    ran = subprocess.run([shell, "-eu", "-c", script], env=plain_env(), stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=DEADLINE_S,
                         check=False)
    assert (ran.returncode, ran.stderr) == (0, b""), ran
    submitted, finished, listed = documents(ran.stdout.decode())
    assert finished == {"results": [{"id": submitted["id"], "ok": True}]}
    assert listed["cursor"] is None and len(listed["jobs"]) == 1, listed
    job = listed["jobs"][0]
    assert (job["id"], job["state"], job["params"], job["result"]) == (
        submitted["id"], "done", {"to": "Ada"}, {"sent": True})


def test_the_two_commands_stand_at_the_top():
    text = README.read_text()
    assert text.index("make demo") < text.index("make test") < text.index("\n## "), \
        "they come before all sections"


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "README.md").read_text()
    for page in PAGES:
        if page.parent == ROOT / "docs" and page.name != "README.md":
            assert f"]({page.name})" in index, f"docs/README.md does not link {page.name}"


def test_metrics_that_the_pages_name_are_there(client, admin):
    admin.ok("POST", "/v1/definitions",
             {"joins": {"meet": {"count": 2, "then": ["default"]}},
              "schedules": {"tick": {"every": "9h", "queue": "default"}}}, 200)
    client.ok("POST", "/v1/signals/dump", {}, 200)
    shown = client.get("/metrics").body.decode()
    named = {name for page in PAGES
             for name in re.findall(r"\bwaybill_[a-z_]+\b", page.read_text())}
    assert named, "no page names a metric"
    assert not {name for name in named if not re.search(rf"^{name}[ {{]", shown, re.M)}


def test_verbs_that_the_pages_name_exist():
    """`waybill VERB` at the start of a line of code, and in code within a sentence."""
    verbs = set()
    for page in PAGES:
        text = page.read_text()
        verbs |= set(re.findall(r"^\s*(?:sudo |build/)*waybill ([a-z]+)", text, re.M))
        verbs |= set(re.findall(r"`waybill ([a-z]+)[^`]*`", text))
    assert {"serve", "add", "backup"} <= verbs, verbs
    for verb in sorted(verbs):
        ran = run_waybill(verb, "--help")
        assert ran.status == 0 and ran.out.startswith(f"usage: waybill {verb}"), (verb, ran)
