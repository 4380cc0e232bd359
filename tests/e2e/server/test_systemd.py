# SPDX-License-Identifier: MIT
"""What systemd does for a service: sockets handed in, and a place to say how it goes."""
import os
import signal
import socket

import pytest

from waiting import DEADLINE_S, eventually
from waybill import BIN, plain_env

pytestmark = pytest.mark.embedded("about sockets and signals")


class Activated:
    """A server started as systemd would: with descriptors from 3 on."""

    def __init__(self, server, descriptors, listen_pid=None):
        self.server = server
        self.out, write_end = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self._become(write_end, descriptors, listen_pid)
            finally:
                os._exit(127)
        os.close(write_end)
        self.ready = os.fdopen(self.out)

    def _become(self, write_end, descriptors, listen_pid):
        os.dup2(write_end, 1)
        os.dup2(os.open(self.server.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), 2)
        high = [os.dup2(fd, 100 + n) for n, fd in enumerate(descriptors)]
        for n, fd in enumerate(high):
            os.dup2(fd, 3 + n, inheritable=True)
        os.closerange(3 + len(high), 200)
        env = plain_env(LISTEN_FDS=str(len(high)), LISTEN_PID=str(listen_pid or os.getpid()))
        os.execve(BIN,
                  [BIN, "serve", "--data", str(self.server.data), "-j", "0", "-c",
                   str(self.server.file),
                        "--listen", "127.0.0.1:0"], env)

    def wait(self):
        def ended():
            done, status = os.waitpid(self.pid, os.WNOHANG)
            return [os.waitstatus_to_exitcode(status)] if done else None
        self.ready.close()
        return eventually(ended, "the end of the server")[0]

    def stop(self):
        os.kill(self.pid, signal.SIGTERM)
        return self.wait()


def test_a_socket_handed_in_is_served(servers):
    server = servers()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        run = Activated(server, [listener.fileno()])
    line = run.ready.readline()
    try:
        wanted = f"ready http://127.0.0.1:{port} unix:{server.data}/waybill.sock\n"
        assert line == wanted, server.log_text()
        server.port, server.socket_path = port, str(server.data / "waybill.sock")
        assert server.tcp().submit()
        assert server.unix().get("/healthz").status == 200
        server.tcp().refused(403, "forbidden", "POST", "/v1/queues/work/pause")
    finally:
        status = run.stop()
    assert status == 0
    server.check_store()


def test_a_unix_socket_handed_in_has_all_rights(servers, directory):
    server = servers()
    path = os.path.join(directory, "in.sock")
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as local:
        local.bind(path)
        local.listen(16)
        run = Activated(server, [tcp.fileno(), local.fileno()])
    try:
        assert run.ready.readline().startswith("ready http://127.0.0.1:"), server.log_text()
        server.socket_path = path
        server.unix().ok("POST", "/v1/queues/work/pause")
    finally:
        status = run.stop()
    assert status == 0
    server.check_store()


def test_a_descriptor_that_is_no_listening_socket_is_refused(servers):
    server = servers()
    with open("/dev/null", "rb") as nothing:
        run = Activated(server, [nothing.fileno()])
    assert run.ready.readline() == ""
    assert run.wait() not in (0, -6, -11) and "LISTEN_FDS" in server.log_text()


def test_sockets_for_another_process_are_left_alone(servers):
    server = servers()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        run = Activated(server, [listener.fileno()], listen_pid=1)
    try:
        line = run.ready.readline()
        assert line.startswith("ready http://127.0.0.1:") and f":{port} " not in line
    finally:
        status = run.stop()
    assert status == 0


def test_systemd_is_told_when_it_is_ready_and_when_it_stops(servers, directory):
    path = os.path.join(directory, "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(path)
        notify.settimeout(DEADLINE_S)
        server = servers(env={"NOTIFY_SOCKET": path}).start()
        messages = [notify.recv(4096).decode()]
        assert any("READY=1" in message for message in messages), messages
        server.process.send_signal(signal.SIGHUP)
        text = ""
        while "READY=1" not in text:
            text += notify.recv(4096).decode() + "\n"
        assert "RELOADING=1" in text and "MONOTONIC_USEC=" in text
        server.process.send_signal(signal.SIGTERM)
        while "STOPPING=1" not in text:
            text += notify.recv(4096).decode() + "\n"
        assert server.wait_exit() == 0


def test_a_notify_socket_that_is_not_there_does_no_harm(servers, directory):
    server = servers(env={"NOTIFY_SOCKET": os.path.join(directory, "nobody")}).start()
    assert server.tcp().get("/healthz").status == 200
