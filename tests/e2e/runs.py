# SPDX-License-Identifier: MIT
"""Runs of `waybill run`: definition files, machines, their programs."""
import os

from each import Each
from waybill import BIN


class Runs(Each):
    """One directory for definition files and programs, one data directory."""

    verb = "run"

    def env(self, **more):
        """Programs find `waybill`, as they would where it is installed."""
        path = os.path.dirname(os.path.realpath(BIN)) + ":" + os.environ["PATH"]
        return super().env(**{"PATH": path, **more})

    def file(self, text, name="f.yaml"):
        """A definition file; its programs work in its directory."""
        (self.dir / name).write_text(text.replace("{command:", f"{{workdir: {self.dir}, command:"))
        return name

    def lines(self, name="ran"):
        """What programs have written into a file, sorted."""
        path = self.dir / name
        return sorted(path.read_text().splitlines()) if path.exists() else []
