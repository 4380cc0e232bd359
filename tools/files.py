# SPDX-License-Identifier: MIT
"""Which files belong to the project: what git tracks, and what it would."""
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def project_files():
    """Paths relative to the root, sorted; files that are deleted but still tracked are left out."""
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others",
         "--exclude-standard"],
        cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    paths = {Path(name.decode()) for name in listed.split(b"\0") if name}
    return sorted(path for path in paths if (ROOT / path).is_file())


def is_script(path, interpreter):
    """True when the file's first line names the interpreter (`sh` stands for bash too)."""
    with open(ROOT / path, "rb") as f:
        first = f.readline(100)
    names = {"sh": (b"/sh", b"bash"), "python": (b"python3",)}[interpreter]
    return first.startswith(b"#!") and any(name in first for name in names)
