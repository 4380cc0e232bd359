# SPDX-License-Identifier: MIT
"""Network namespaces for run.py: one for each server, one for PostgreSQL, and a hub with
a bridge for the clients.

Their names have the pid of whoever made them; what a dead one has left is removed before new ones
are made.  The addresses are seen in these namespaces only.
"""
import ctypes
import os
import re
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager

CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)
PREFIX = "wbh"
SUBNET = "10.253.0"
HUB, STORE = f"{SUBNET}.1", f"{SUBNET}.10"
STORE_PORT, HTTP_PORT, LINK_PORT = 5432, 6769, 7000


class Unavailable(Exception):
    """Namespaces or filters cannot be made here; says why."""


def run(*words, text=None):
    ran = subprocess.run(words, input=text, text=True, check=False, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT)
    if ran.returncode != 0:
        raise Unavailable(f"{' '.join(words)}: {ran.stdout.strip()}")
    return ran.stdout


def server_address(number):
    return f"{SUBNET}.{31 + number}"


def link_address(number):
    """From which PostgreSQL sees the connections of a server."""
    return f"{SUBNET}.{21 + number}"


def enter(path):
    """The calling thread, and what it starts, is there from now on."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if LIBC.setns(descriptor, CLONE_NEWNET) != 0:
            raise Unavailable(f"setns: {os.strerror(ctypes.get_errno())}")
    finally:
        os.close(descriptor)


def is_alive(pid):
    return os.path.exists(f"/proc/{pid}")


def remove(name):
    for _ in range(50):
        pids = run("ip", "netns", "pids", name).split()
        for pid in pids:
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass
        if not pids:
            break
        time.sleep(0.05)
    run("ip", "netns", "del", name)


def remove_stale():
    """What runs that were killed have left: namespaces with all that is in them, and mounts."""
    for line in run("ip", "netns", "list").splitlines():
        match = re.match(rf"({PREFIX}(\d+)-\S+)", line)
        if match and not is_alive(match[2]):
            remove(match[1])
    with open("/proc/mounts", encoding="utf-8") as mounts:
        places = [line.split()[1] for line in mounts]
    for place in places:
        match = re.search(r"/waybill-history\.(\d+)\.", place)
        if match and not is_alive(match[1]):
            run("umount", "-l", place)


class Net:
    def __init__(self, servers):
        if os.geteuid() != 0:
            raise Unavailable("only root can make network namespaces")
        for program in ("ip", "nft", "ss"):
            if shutil.which(program) is None:
                raise Unavailable(f"{program} is not there (Debian: iproute2, nftables)")
        remove_stale()
        self.names = []
        self.outside = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._make_hub(servers)
            for number in range(servers):
                self._make(f"s{number}", server_address(number))
            self._make("pg", STORE)
            self.filter("s0", chain("out", "numgen random mod 100 < 1"))
            self.filter("s0")
            self._enter("hub")
        except BaseException:
            self.close()
            raise

    def name(self, node):
        return f"{PREFIX}{os.getpid()}-{node}"

    def _enter(self, node):
        enter(f"/run/netns/{self.name(node)}")

    def _add(self, node):
        run("ip", "netns", "add", self.name(node))
        self.names.append(self.name(node))
        run("ip", "-n", self.name(node), "link", "set", "lo", "up")

    def _make_hub(self, servers):
        self._add("hub")
        hub = self.name("hub")
        run("ip", "-n", hub, "link", "add", "bridge0", "type", "bridge")
        for address in (HUB, *map(link_address, range(servers))):
            run("ip", "-n", hub, "addr", "add", f"{address}/24", "dev", "bridge0")
        run("ip", "-n", hub, "link", "set", "bridge0", "up")

    def _make(self, node, address):
        self._add(node)
        hub, name = self.name("hub"), self.name(node)
        run("ip", "-n", hub, "link", "add", f"to-{node}", "type", "veth", "peer", "name", "eth0",
            "netns", name)
        run("ip", "-n", hub, "link", "set", f"to-{node}", "master", "bridge0", "up")
        run("ip", "-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
        run("ip", "-n", name, "link", "set", "eth0", "up")

    @contextmanager
    def inside(self, node):
        """What the calling thread starts meanwhile is in that namespace."""
        self._enter(node)
        try:
            yield
        finally:
            self._enter("hub")

    def filter(self, node, chains=""):
        """These chains of nftables, or none."""
        table = "table inet faults"
        text = f"{table} {{}}\ndelete {table}\n" + (f"{table} {{\n{chains}\n}}\n" if chains else "")
        run("ip", "netns", "exec", self.name(node), "nft", "-f", "-", text=text)

    def dropped(self, node):
        """Packets that the chains of the moment have dropped."""
        told = run("ip", "netns", "exec", self.name(node), "nft", "list", "table", "inet", "faults")
        return sum(map(int, re.findall(r"counter packets (\d+)", told)))

    def reset(self, node, *which):
        """Connections of that namespace are cut: both ends get a reset.  Returns how many."""
        cut = run("ip", "netns", "exec", self.name(node), "ss", "-H", "-K", *which)
        return len(cut.splitlines())

    def close(self):
        faults = []
        enter(f"/proc/self/fd/{self.outside}")
        for name in self.names:
            try:
                remove(name)
            except Unavailable as fault:
                faults.append(str(fault))
        self.names = []
        return faults


def chain(direction, rule):
    """A chain that drops what comes in or goes out by that rule."""
    hook = {"in": "input", "out": "output"}[direction]
    return f"chain {direction} {{\n type filter hook {hook} priority 0\n {rule} counter drop\n}}\n"
