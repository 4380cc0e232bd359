# SPDX-License-Identifier: MIT
"""docs/programs.md: its examples run unchanged, and a program finds what the page promises."""
import json
import re
from pathlib import Path

import pytest

from waiting import eventually

pytestmark = pytest.mark.embedded("the worker alone decides it")

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "programs.md").read_text()
PROGRAMS = dict((name, text) for text, name in
                re.findall(r"```(?:sh|python)\n(#!.*?\n# (\S+)\n.*?)```", PAGE, re.S))
QUEUES = re.search(r"```yaml\n(.*?)```", PAGE, re.S)[1]


@pytest.fixture
def shop(shops):
    made = shops(definitions=QUEUES)
    for name, text in PROGRAMS.items():
        path = made.server.dir / name
        path.write_text(text)
        path.chmod(0o755)
    return made.start()


def test_every_program_of_the_definitions_is_on_the_page():
    assert set(PROGRAMS) == set(re.findall(r"\./([\w.]+)", QUEUES)) != set()


def test_the_thumbnail_says_what_it_does_and_what_it_needs(shop):
    there = shop.place()
    there.write_text("a picture")
    job = shop.run("thumbnail", params={"file": str(there)})
    assert (job["state"], job["result"], job["text"]) == ("done", {"size": 200}, f"reading {there}")
    assert shop.log(job) == f"thumbnail of {there}, 200 pixels\n".encode()
    job = shop.run("thumbnail", params={"file": "/not here", "size": 7})
    assert (job["state"], job["exit"], job["text"]) == ("failed", 1, "there is no /not here")
    shop.client.refused(422, "invalid", "POST", "/v1/jobs", {"queue": "thumbnail"})


def test_the_pages_are_enumerated_once_each(shop):
    job = shop.run("pages", params={"pages": 30})
    assert job["state"] == "done", (job, shop.log(job))
    assert (job["state"], job["result"], job["text"]) == ("done", {"pages": 30}, "all of them")
    assert (job["done"], job["total"]) == (30, 30)

    def counted():
        jobs = shop.client.ok("GET", "/v1/jobs?queue=count&limit=100")["jobs"]
        return jobs if all(one["state"] == "done" for one in jobs) else None

    jobs = eventually(counted, "the jobs of the pages")
    assert sorted(one["params"]["page"] for one in jobs) == list(range(1, 31))
    assert shop.log(jobs[0]).strip().isdigit()


def test_the_resident_answers_for_one_job_after_the_other(shop):
    ids = [shop.submit("upper", params={"text": f"word {n}"}) for n in range(20)]
    jobs = [shop.ended(job_id) for job_id in ids]
    assert [job["result"]["text"] for job in jobs] == [f"WORD {n}" for n in range(20)]
    job = shop.run("upper")
    assert (job["state"], job["text"]) == ("failed", "there is no param 'text'")


def test_a_program_finds_what_the_page_lists(shop):
    names = set(re.findall(r"`(WAYBILL_[A-Z_]+)`", PAGE.split("## How it ends")[0]))
    assert {"WAYBILL_ID", "WAYBILL_URL", "WAYBILL_CURSOR"} < names
    queue = shop.queue('[ -n "$WAYBILL_CURSOR" ] || { echo "cursor 1" >&3; read -r ok <&4; '
                       'exit 1; }\n'
                       "env -0; cat; cat $WAYBILL_JOB_FILE; ls -A", retry={"max": 1, "first": 0})
    job = shop.run(queue, params={"a b": {"c": [1]}, "d": "e\nf"}, body="the body")
    assert job["state"] == "done", job
    *variables, rest = shop.log(job).decode().split("\0")
    found = dict(variable.split("=", 1) for variable in variables)
    assert names - set(found) == set()
    assert json.loads(found["WAYBILL_PARAM_A_B"]) == {"c": [1]}
    assert found["WAYBILL_PARAM_D"] == "e\nf"
    assert (found["WAYBILL_ATTEMPT"], found["WAYBILL_CURSOR"]) == ("2", "1")
    assert rest.startswith("the body")
    assert json.JSONDecoder().raw_decode(rest[len("the body"):])[0]["id"] == job["id"]
