# SPDX-License-Identifier: MIT
"""What runs on this machine: processes of a job, of a data directory, and whether one is gone."""
import os
import signal
from pathlib import Path

from waiting import DEADLINE_S, eventually


class Process:
    """A process known by pid and start: never another that got its pid later."""

    def __init__(self, pid):
        self.pid = int(pid)
        fields = self._stat()
        self.start = fields[19] if fields else None

    def _stat(self):
        """The fields after the name, or None when there is no such process."""
        try:
            text = Path(f"/proc/{self.pid}/stat").read_text(errors="replace")
        except OSError:
            return None
        return text.rpartition(")")[2].split()

    def state(self):
        """One letter; None when it is gone, or waits to be reaped."""
        fields = self._stat()
        if fields is None or fields[19] != self.start or fields[0] in "ZX":
            return None
        return fields[0]

    def alive(self):
        return self.state() is not None

    def parent(self):
        """The pid; None when it is gone."""
        fields = self._stat()
        return int(fields[1]) if fields else None

    def send(self, number):
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            pass

    def kill(self):
        if self.alive():
            self.send(signal.SIGKILL)

    def environ(self):
        try:
            raw = Path(f"/proc/{self.pid}/environ").read_bytes()
        except OSError:
            return {}
        return dict(item.split(b"=", 1) for item in raw.split(b"\0") if b"=" in item)

    def command(self):
        try:
            return Path(f"/proc/{self.pid}/cmdline").read_bytes().split(b"\0")[:-1]
        except OSError:
            return []

    def directory(self):
        try:
            return os.readlink(f"/proc/{self.pid}/cwd")
        except OSError:
            return ""

    def __repr__(self):
        return f"pid {self.pid} {b' '.join(self.command())[:200]!r} in {self.directory()}"


def every():
    return [Process(name) for name in os.listdir("/proc") if name.isdigit()]


def of_place(place):
    """All processes of a directory: by command line, environment or working directory."""
    mark = str(place)
    raw = mark.encode()
    found = []
    for process in every():
        if process.pid == os.getpid() or not process.alive():
            continue
        texts = [*process.command(), *process.environ().values()]
        if any(raw in text for text in texts) or process.directory().startswith(mark):
            found.append(process)
    return found


def noted(path, deadline_s=DEADLINE_S):
    """The process whose pid a program has written there, on a whole line."""
    def read():
        try:
            text = Path(path).read_text()
        except OSError:
            return None
        return text.split()[0] if text.endswith("\n") else None

    return Process(eventually(read, f"a pid in {path}", deadline_s))


def must_end(process, deadline_s=DEADLINE_S):
    eventually(lambda: not process.alive(), f"the end of {process!r}", deadline_s)
