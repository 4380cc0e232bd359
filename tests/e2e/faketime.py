# SPDX-License-Identifier: MIT
"""libfaketime: processes that are told another time."""
import os

LIBRARY = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"


def is_usable():
    """The thread sanitizer cannot see the locks of a process that waits through libfaketime."""
    return os.path.exists(LIBRARY) and "TSAN_OPTIONS" not in os.environ


def env(**settings):
    """The environment of a process for which this holds; the clock of lengths stays true."""
    env_of = {"LD_PRELOAD": LIBRARY, "FAKETIME_DONT_FAKE_MONOTONIC": "1", **settings}
    if "ASAN_OPTIONS" in os.environ:  # which insists on being loaded first
        env_of["ASAN_OPTIONS"] = os.environ["ASAN_OPTIONS"] + ":verify_asan_link_order=0"
    return env_of
