# SPDX-License-Identifier: MIT
"""A worker on another machine, and a server that does not answer: what people are told."""
import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from waiting import PATIENCE, eventually
from waybill import BIN, QUEUES, ROOT, plain_env

pytestmark = pytest.mark.embedded("between a worker or a line and its server")

TOKEN = "s3cret-token-0123456789"


@pytest.fixture(name="far")
def far_server(servers, tmp_path):
    """Reached over the network it wants its token."""
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    server = servers(definitions=QUEUES + "  far: {command: [echo, here]}\n"
                     f'server: {{token_file: "{path}"}}\n', listen="0.0.0.0:0").start()
    server.token_file = path
    return server


def test_a_worker_with_a_token_file_says_that_it_is_connected(far, workers):
    url = f"http://127.0.0.1:{far.port}"
    worker = workers(far, "w", url=url, args=["--token-file", far.token_file]).start()
    client = far.unix()
    job = client.submit("far")
    eventually(lambda: client.state(job) == "done", "the job")
    lines = [line for line in worker.log_text().splitlines() if "connected" in line]
    assert len(lines) == 1 and f"connected to {url} as worker w" in lines[0], lines


def test_a_token_file_that_others_can_write_is_refused(far, workers, servers):
    far.token_file.chmod(0o606)
    worker = workers(far, "w", url=f"http://127.0.0.1:{far.port}",
                     args=["--token-file", far.token_file]).spawn()
    assert worker.wait_exit() != 0 and "the token file" in worker.log_text(), worker.log_text()
    server = servers("other", listen="0.0.0.0:0", args=["--token-file", far.token_file])
    with pytest.raises(AssertionError, match="the token file"):
        server.start()


def test_a_worker_that_is_refused_names_the_token(far, workers, tmp_path):
    wrong = tmp_path / "wrong"
    wrong.write_text("another-token-0123456789\n")
    for args in ([], ["--token-file", wrong]):
        worker = workers(far, f"w{len(args)}", url=f"http://127.0.0.1:{far.port}",
                         args=args).spawn()
        eventually(lambda: "WAYBILL_TOKEN" in worker.log_text(), "the refusal in its log")
        line = next(line for line in worker.log_text().splitlines() if "WAYBILL_TOKEN" in line)
        assert "refuses this worker" in line and "--token-file" in line, line
        worker.stop()


def test_a_token_file_that_cannot_be_read_ends_the_worker(far, workers, tmp_path):
    worker = workers(far, "w", args=["--token-file", tmp_path / "nothing"]).spawn()
    assert worker.wait_exit() == 2 and "nothing" in worker.log_text()


def test_a_worker_says_that_its_server_does_not_answer(far, workers):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        worker = workers(far, "w", url=url, args=["--token-file", far.token_file]).spawn()
        eventually(lambda: f"{url} has not answered for 10 s; waiting for it" in worker.log_text(),
                   "the warning", 20 * PATIENCE)
        worker.kill()


def test_a_server_that_does_not_answer_is_given_up(server):
    server.process.send_signal(signal.SIGSTOP)
    try:
        began = time.monotonic()
        ran = server.cli("list")
        assert ran.status == 5 and re.search(r"has not answered for 1\d s", ran.err), ran
        assert time.monotonic() - began < 30 * PATIENCE
    finally:
        server.process.send_signal(signal.SIGCONT)


def test_who_waits_is_not_given_up(server, client):
    job = client.submit()
    ran = server.cli("wait", job, "--timeout", "12s")
    assert ran.status == 75 and "trying again" not in ran.err, ran


def test_the_data_directory_follows_xdg(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root, to be another user")
    os.chmod(tmp_path, 0o755)
    env = plain_env(HOME="/nonexistent", XDG_DATA_HOME=str(tmp_path / "share"))
    ran = subprocess.run([BIN, "check", "--store"], env=env, user=65534, capture_output=True,
                         text=True, check=False)
    assert f"{tmp_path}/share/waybill" in ran.stderr + ran.stdout, ran


class Unit:
    """The unit of an instance as systemd reads it: specifiers, variables and words."""

    def __init__(self, instance, state):
        text = (Path(ROOT) / "dist" / "waybill-worker@.service.in").read_text()
        unescaped = re.sub(r"\\x(..)", lambda m: chr(int(m[1], 16)), instance.replace("-", "/"))
        for word, value in (("@bindir@/waybill", BIN), ("%i", instance), ("%I", unescaped)):
            text = text.replace(word, str(value))
        self.lines = [line for line in text.splitlines() if line and line[0] not in "#["]
        self.env = dict(word.split("=", 1) for word in self.values("Environment")[0].split())
        self.env["STATE_DIRECTORY"] = str(state / self.values("StateDirectory")[0])

    def values(self, key):
        return [line.partition("=")[2] for line in self.lines if line.startswith(key + "=")]

    def command(self, **env):
        env = {**self.env, **env}
        words = []
        for word in self.values("ExecStart")[0].split():
            if re.fullmatch(r"\$\w+", word):  # a word of its own: none or several
                words += env[word[1:]].split()
            else:
                words.append(re.sub(r"\$\{(\w+)\}", lambda m: env[m[1]], word))
        return words


def test_the_unit_for_workers_names_the_server_of_its_instance(tmp_path):
    """A dash in it stays one; an address that cannot be the name of an instance is a setting."""
    unit = Unit("my-host.example:6769", tmp_path)
    assert unit.command()[1:5] == ["worker", "--server", "http://my-host.example:6769", "--data"]
    words = unit.command(WAYBILL_SCHEME="https", WAYBILL_ADDRESS="[::1]:1", WORKER_ARGS="-j 8 -q a")
    assert words[3] == "https://[::1]:1" and words[-4:] == ["-j", "8", "-q", "a"], words
    assert unit.values("EnvironmentFile") == ["-/etc/waybill/worker.env",
                                              "-/etc/waybill/worker-my-host.example:6769.env"]


def test_the_unit_for_workers_has_the_sandbox_of_the_servers(tmp_path):
    unit = Unit("x", tmp_path)
    for line in (Path(ROOT) / "dist" / "waybill.service.in").read_text().splitlines():
        if re.match(r"(Protect|Private|Restrict|NoNew|System|Lock|Capability|Ambient)", line):
            assert line in unit.lines, line


def test_workers_of_two_instances_serve_two_servers_from_one_machine(servers, tmp_path):
    definitions = QUEUES + "  far: {command: [echo, here]}\n"
    both = [servers(name, definitions=definitions).start() for name in "ab"]
    units = [Unit(f"127.0.0.1:{server.port}", tmp_path) for server in both]
    running = []
    try:
        for unit in units:
            Path(unit.env["STATE_DIRECTORY"]).mkdir(parents=True, mode=0o711)
            running.append(subprocess.Popen(unit.command(), env=plain_env(**unit.env),
                                            stderr=(tmp_path / "log").open("ab")))
        for server in both:
            job = server.tcp().submit("far")
            eventually(lambda server=server, job=job: server.tcp().state(job) == "done",
                       f"the job; {(tmp_path / 'log').read_text()}", 20 * PATIENCE)
    finally:
        for child in running:
            child.terminate()
        statuses = [child.wait(30 * PATIENCE) for child in running]
        assert statuses == [0, 0], (tmp_path / "log").read_text()
