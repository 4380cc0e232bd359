# SPDX-License-Identifier: MIT
"""What a program finds when it starts: environment, directory, descriptors, signals, limits."""
import base64
import json
import os
import pwd
import resource
import stat

import pytest

from processes import noted
from waiting import eventually
from worker import PYTHON, Shop

pytestmark = pytest.mark.embedded("the worker alone decides it")

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="changes users")


# ---- what it is told

def test_the_environment_tells_of_the_job(shop):
    queue = shop.queue("env -0")
    fields = {"params": {"url": "a b", "n": 5, "deep": {"x": [1]}, "odd name-ä": "z", "none": None},
              "body": "x"}
    job = shop.run(queue, **fields)
    env = dict(item.decode().split("=", 1) for item in shop.log(job).split(b"\0") if b"=" in item)
    assert env["WAYBILL_ID"] == job["id"]
    assert env["WAYBILL_QUEUE"] == queue
    assert env["WAYBILL_ATTEMPT"] == "1" and env["WAYBILL_STEP"] == "1"
    assert env["WAYBILL_JOB_URL"].endswith(f"/v1/jobs/{job['id']}")
    assert env["WAYBILL_LEASE"]
    assert env["WAYBILL_URL"].startswith(("unix:", "http://127.0.0.1:"))
    assert env["WAYBILL_PARAM_URL"] == "a b"
    assert env["WAYBILL_PARAM_N"] == "5"
    assert json.loads(env["WAYBILL_PARAM_DEEP"]) == {"x": [1]}
    assert env["WAYBILL_PARAM_ODD_NAME___"] == "z"
    assert env["WAYBILL_PARAM_NONE"] == "null"
    assert env["PATH"] == os.environ["PATH"]
    assert env.get("WAYBILL_CURSOR", "") == "" and "WAYBILL_DATA" not in env


def test_the_attempt_grows_with_retries(shop):
    job = shop.carry_out("echo \"attempt $WAYBILL_ATTEMPT\"; [ \"$WAYBILL_ATTEMPT\" = 3 ]",
                         retry={"max": 4, "first": "10ms", "jitter": 0})
    assert (job["state"], job["attempt"]) == ("done", 3)
    assert shop.log(job) == b"attempt 1\nattempt 2\nattempt 3\n"


def test_a_secret_of_the_worker_is_not_passed_on(shops):
    shop = shops(env={"WAYBILL_TOKEN": "", "SOMETHING": "else"}).start()
    log = shop.log(shop.carry_out("env"))
    assert b"WAYBILL_TOKEN" not in log and b"SOMETHING=else\n" in log


def test_the_job_file_is_the_job(shop):
    queue = shop.queue("cat \"$WAYBILL_JOB_FILE\"; stat -c %a \"$WAYBILL_JOB_FILE\" >&2")
    job = shop.run(queue, params={"x": [1, {"y": None}]}, body="the body", labels={"k": "v"})
    text, mode = shop.log(job).rsplit(b"}", 1)
    told = json.loads(text + b"}")
    assert told["id"] == job["id"] and told["queue"] == queue and told["attempt"] == 1
    assert told["params"] == {"x": [1, {"y": None}]} and told["labels"] == {"k": "v"}
    assert told["body"] == "the body"
    assert mode.strip() == b"600"


def test_a_shorter_job_file_has_nothing_of_the_longer_one_before(shop):
    queue = shop.queue("cat \"$WAYBILL_JOB_FILE\"", slots=1)
    for size in (50_000, 10, 3000, 1):
        told = json.loads(shop.log(shop.run(queue, params={"x": "y" * size})))
        assert told["params"] == {"x": "y" * size}


@pytest.mark.parametrize("body", [b"plain text\n", b"", b"\0\xff binary \x80", b"x" * 200_000])
def test_the_body_is_standard_input(shop, body):
    job = shop.carry_out("exec cat", job={"body_base64": base64.b64encode(body).decode()})
    assert shop.log(job) == body


def test_without_a_body_standard_input_is_empty(shop):
    job = shop.carry_out("wc -c; readlink /proc/self/fd/0")
    assert shop.log(job).split() == [b"0", b"/dev/null"]


# ---- where it is

def test_the_directory_is_its_own_and_empty(shop):
    queue = shop.queue("pwd; ls -A; touch left .hidden; mkdir d; touch d/x; stat -c '%a %u' .")
    seen = []
    for _ in range(6):
        lines = shop.log(shop.run(queue)).decode().splitlines()
        assert len(lines) == 2, lines
        assert lines[1] == f"700 {os.geteuid()}"
        assert lines[0].startswith(str(shop.server.data))
        seen.append(lines[0])


def test_programs_at_the_same_time_have_different_directories(shop):
    queue = shop.queue("pwd; touch here; while [ -e \"$1\" ]; do sleep 0.01; done; ls", ["{hold}"])
    hold = shop.place("hold")
    hold.touch()
    ids = [shop.submit(queue, params={"hold": str(hold)}) for _ in range(4)]
    for job_id in ids:
        shop.logged(job_id, b"\n")
    hold.unlink()
    logs = [shop.log(shop.ended(job_id)).decode().splitlines() for job_id in ids]
    assert len({log[0] for log in logs}) == 4
    assert all(log[1:] == ["here"] for log in logs)


def test_a_program_named_with_a_slash_is_found_from_the_definition(shop):
    shop.program("echo from beside the definition", "beside.sh")
    queue = shop.queue(command=["./beside.sh"], dir=str(shop.programs))
    assert shop.log(shop.run(queue)) == b"from beside the definition\n"


# ---- what it inherits

SELF = PYTHON + """
import os, signal, resource, json
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines()
              if ":\\t" in line)
fds = sorted(int(n) for n in os.listdir("/proc/self/fd"))
print(json.dumps({
    "fds": [n for n in fds if os.path.exists(f"/proc/self/fd/{n}") or n < 5],
    "links": {n: os.readlink(f"/proc/self/fd/{n}") for n in fds
              if os.path.lexists(f"/proc/self/fd/{n}")},
    "umask": int(status["Umask"], 8), "blocked": int(status["SigBlk"], 16),
    "caught": int(status["SigCgt"], 16), "ignored": int(status["SigIgn"], 16),
    "group": os.getpgid(0), "pid": os.getpid(), "session": os.getsid(0),
    "files": resource.getrlimit(resource.RLIMIT_NOFILE), "nice": os.nice(0),
    "uid": os.getuid(), "gid": os.getgid(), "groups": os.getgroups(),
    "home": os.environ.get("HOME"),
    "data": resource.getrlimit(resource.RLIMIT_DATA),
    "cpu": resource.getrlimit(resource.RLIMIT_CPU),
}))
"""


def surroundings(shop, **definition):
    job = shop.carry_out(SELF, **definition)
    assert job["state"] == "done", (job, shop.log(job))
    return json.loads(shop.log(job))


def test_no_descriptor_is_inherited_but_the_five(shop):
    links = surroundings(shop)["links"]
    fds = sorted(int(n) for n in links)
    assert fds[:5] == [0, 1, 2, 3, 4]
    assert all("/proc/" in links[str(n)] for n in fds[5:]), links  # of looking itself
    assert links["1"] == links["2"] and links["1"].startswith("pipe:")
    assert links["3"].startswith("pipe:") and links["4"].startswith("pipe:")
    assert len({links["1"], links["3"], links["4"]}) == 3


def test_a_program_among_many_inherits_nothing_of_the_others(shop):
    hold = shop.place("hold")
    hold.touch()
    waiting = shop.queue("while [ -e \"$1\" ]; do sleep 0.01; done", ["{hold}"])
    ids = [shop.submit(waiting, params={"hold": str(hold)}, body="x") for _ in range(3)]
    for job_id in ids:
        shop.until(job_id, "running")
    links = surroundings(shop)["links"]
    hold.unlink()
    assert all(int(n) < 5 or "/proc/" in target for n, target in links.items()), links


def test_signals_mask_and_group_are_as_for_a_fresh_process(shop):
    seen = surroundings(shop)
    assert seen["blocked"] == 0
    assert seen["ignored"] & ~((1 << 12) | (1 << 24)) == 0  # python itself ignores PIPE and XFSZ
    assert seen["group"] == seen["pid"]
    job = shop.carry_out("grep SigIgn /proc/self/status")
    assert int(shop.log(job).split()[1], 16) == 0
    old = os.umask(0)
    os.umask(old)
    assert seen["umask"] == old


def test_the_limit_of_open_files_is_what_the_server_was_started_with(shop):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert surroundings(shop)["files"] == [soft, hard]


def test_a_pipe_that_nobody_reads_ends_the_writer_as_usual(shop):
    job = shop.carry_out("yes | head -n 1; echo ${PIPESTATUS:-}; echo fine")
    assert job["state"] == "done" and b"Broken pipe" not in shop.log(job)


# ---- limits

def test_a_nice_program_stands_back(shop):
    here = os.nice(0)
    assert surroundings(shop, limits={"nice": 7})["nice"] == min(here + 7, 19)


def test_open_files_are_limited(shop):
    assert surroundings(shop, limits={"files": 20})["files"] == [20, 20]


def test_memory_is_limited(shop):
    job = shop.carry_out(PYTHON + "print('before', flush=True)\nx = bytearray(400 << 20)\n"
                                  "print('after')",
                         limits={"memory": "100M"})
    assert job["state"] == "failed" and shop.log(job).startswith(b"before\n")
    assert b"after" not in shop.log(job)


def test_processor_time_is_limited(shop):
    job = shop.carry_out("while :; do :; done", limits={"cpu": "1s"})
    assert (job["state"], job["cause"]) == ("failed", "signal")
    assert "limits.cpu" in job["text"]


@ROOT_ONLY
def test_a_program_of_another_user_is_wholly_his(shop):
    nobody = pwd.getpwnam("nobody")
    seen = surroundings(shop, limits={"user": "nobody"})
    assert (seen["uid"], seen["gid"]) == (nobody.pw_uid, nobody.pw_gid)
    assert 0 not in seen["groups"] and seen["home"] == nobody.pw_dir
    job = shop.carry_out("id -un; touch mine; ls -A; cat \"$WAYBILL_JOB_FILE\" >/dev/null && "
                         "echo read; "
                         "stat -c '%U %a' .; echo 'done as nobody' >&3", limits={"user": "nobody"})
    assert (job["state"], job["text"]) == ("done", "as nobody")
    assert shop.log(job).decode().split("\n")[:4] == ["nobody", "mine", "read", "nobody 700"]


@ROOT_ONLY
def test_what_another_users_program_started_ends_with_it(shop):
    place = shop.place("pid")
    place.touch()
    place.chmod(0o666)
    shop.server.dir.chmod(0o711)
    job = shop.carry_out("setsid sleep 1000 & echo $! > \"$1\"; sleep 0.05", [str(place)],
                         limits={"user": "nobody"})
    assert job["state"] == "done", shop.log(job)
    assert not noted(place).alive()


@ROOT_ONLY
def test_one_directory_is_never_handed_from_user_to_user(shop):
    for _ in range(3):
        for user in ("nobody", None, "daemon"):
            limits = {"limits": {"user": user}} if user else {}
            job = shop.carry_out("ls -A; stat -c %U .; touch x; mkdir d", **limits)
            assert shop.log(job).decode().split() == [user or pwd.getpwuid(os.geteuid()).pw_name]


def test_the_umask_of_the_server_is_passed_on(shops):
    old = os.umask(0o027)
    try:
        shop = shops().start()
    finally:
        os.umask(old)
    job = shop.carry_out("touch x; stat -c %a x")
    assert shop.log(job) == b"640\n"


def test_files_of_the_worker_are_not_for_others(shop):
    modes = {}
    state = next((shop.server.data / "workers").iterdir())
    for name in ("lock", "records"):
        modes[name] = stat.S_IMODE((state / name).stat().st_mode)
    assert modes == {"lock": 0o600, "records": 0o600}, modes


def test_no_body_and_no_name_of_a_job_is_left_when_it_is_idle(shops):
    shop: Shop = shops().start()
    shop.carry_out("touch x", job={"params": {"p": "secret"}})
    slots = next((shop.server.data / "workers").iterdir()) / "slots"
    eventually(lambda: not any((d / "dir" / "x").exists() for d in slots.iterdir()), "an empty dir")
