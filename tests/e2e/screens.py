# SPDX-License-Identifier: MIT
"""A command on a terminal of its own, as a person would see it."""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

from waiting import DEADLINE_S
from waybill import BIN, plain_env

ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"


class Terminal:
    """Starts `waybill ARGS` on a pseudo terminal and keeps all that it writes there."""

    def __init__(self, *args, size=(40, 120), env=None, **named):
        self.master, self.slave = pty.openpty()
        self.resize(*size)
        self.text = ""
        self.before = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen([BIN, *map(str, args)], stdin=self.slave, stdout=self.slave,
                                        stderr=self.slave, start_new_session=True,
                                        preexec_fn=self._take, env=plain_env(TERM="xterm",
                                                                             **(env or {})),
                                        **named)

    @staticmethod
    def _take():
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys):
        os.write(self.master, keys.encode())

    def read(self, timeout_s):
        """Takes what is there; False when nothing came in that time."""
        if not select.select([self.master], [], [], timeout_s)[0]:
            return False
        try:
            piece = os.read(self.master, 65536)
        except OSError:
            return False
        self.text += piece.decode(errors="replace")
        return piece != b""

    def until(self, pattern, deadline_s=DEADLINE_S, start=0):
        """Waits until the pattern is in what was written since `start`; the match."""
        end = time.monotonic() + deadline_s
        while not (match := re.search(pattern, self.text[start:])):
            left = end - time.monotonic()
            assert left > 0, f"{pattern!r} did not appear in:\n{self.text[start:][-3000:]!r}"
            self.read(min(left, 0.2))
        return match

    def mark(self):
        """The place from which on what comes is new."""
        while self.read(0):
            pass
        return len(self.text)

    def wait(self, deadline_s=DEADLINE_S):
        """The exit status, with all that was written before."""
        status = self.process.wait(deadline_s)
        self.mark()
        return status

    def restored(self):
        """The terminal is as it was: its modes, its page, its cursor."""
        return (termios.tcgetattr(self.slave) == self.before and
                self.text.rfind(LEAVE) > self.text.rfind(ENTER) and
                self.text.rfind("\x1b[?25h") > self.text.rfind("\x1b[?25l"))

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)
