# SPDX-License-Identifier: MIT
"""Runs of `each`: started, interrupted, looked into."""
import contextlib
import os
import signal
import subprocess
from pathlib import Path

from client import Client
from waiting import DEADLINE_S, PATIENCE, eventually
from waybill import BIN, Ran, plain_env


class Each:
    """One working directory, one data directory, and any number of runs in them."""

    verb = "each"

    def __init__(self, directory):
        self.dir = Path(directory) / "work"
        self.data = Path(directory) / "data"
        self.dir.mkdir()
        self.started = []

    def env(self, **more):
        return plain_env(HOME=str(self.dir.parent), WAYBILL_DATA=str(self.data), **more)

    def script(self, name, text):
        path = self.dir / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return f"./{name}"

    def start(self, *args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=None, env=None):
        """A run in the background; its input is the caller's to write and close."""
        child = subprocess.Popen([BIN, self.verb, *map(str, args)], stdin=stdin, stdout=stdout,
                                 stderr=subprocess.PIPE, cwd=cwd or self.dir,
                                 env=self.env(**(env or {})), start_new_session=True)
        self.started.append(child)
        return child

    def run(self, *args, lines=b"", cwd=None, env=None, deadline_s=60 * PATIENCE):
        """A run to its end: exit status, output and errors."""
        child = self.start(*args, cwd=cwd, env=env)
        out, err = child.communicate(as_bytes(lines), timeout=deadline_s)
        return Ran(child.returncode, out.decode(errors="replace"), err.decode(errors="replace"))

    def end(self, child, deadline_s=30 * PATIENCE):
        """Waits for a run that was started."""
        out, err = child.communicate(timeout=deadline_s)
        return Ran(child.returncode, out.decode(errors="replace"), err.decode(errors="replace"))

    def runs(self):
        """The directories of all runs."""
        return sorted(self.data.glob(f"{self.verb}/*"))

    def client(self):
        """The server of the only run, while it is under way."""
        def connected():
            for socket in self.data.glob(f"{self.verb}/*/store/waybill.sock"):
                client = Client(str(socket))
                with contextlib.suppress(OSError):
                    client.get("/healthz")
                    return client
            return None

        return eventually(connected, "the server of the run")

    @contextlib.contextmanager
    def looked_into(self):
        """A client of the store of the only run, which nobody is at."""
        (store,) = self.data.glob(f"{self.verb}/*/store")
        server = subprocess.Popen([BIN, "serve", "--data", store, "--listen", "none", "-j", "0"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=self.env())
        self.started.append(server)
        try:
            assert server.stdout.readline().startswith(b"ready unix:")
            client = Client(str(store / "waybill.sock"))
            yield client
            client.close()
        finally:
            server.terminate()
            server.wait(20 * PATIENCE)

    def processes(self):
        """Process ids of all whose environment or command line names our data directory."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            with contextlib.suppress(OSError):
                text = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
                state = (entry / "stat").read_text().rsplit(") ", 1)[1][0]
                if os.fsencode(self.data) in text and state != "Z":
                    found.append(int(entry.name))
        return found

    def finish_up(self):
        for child in self.started:
            if child.poll() is None:
                child.kill()
                child.wait()
            for pipe in (child.stdin, child.stdout, child.stderr):
                if pipe is not None:
                    with contextlib.suppress(BrokenPipeError):
                        pipe.close()
        eventually(lambda: not self.processes(), "the end of everything the run started",
                   2 * DEADLINE_S)

    def interrupt(self, child, number=signal.SIGINT):
        child.send_signal(number)


def as_bytes(lines):
    if isinstance(lines, bytes):
        return lines
    if isinstance(lines, int):
        lines = range(1, lines + 1)
    return b"".join(f"{line}\n".encode() for line in lines)
