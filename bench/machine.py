# SPDX-License-Identifier: MIT
"""What the machine is and what a process costs: read from /proc, measured on the disk itself."""

import ctypes
import os
import platform
import statistics
import time

TMPFS, RAMFS = 0x01021994, 0x858458F6


def filesystem_type(path):
    """The magic number statfs gives for the file system of `path`."""
    libc = ctypes.CDLL(None, use_errno=True)
    room = (ctypes.c_long * 64)()
    if libc.statfs(os.fsencode(path), ctypes.byref(room)) != 0:
        raise OSError(ctypes.get_errno(), "statfs", path)
    return room[0]


def in_memory(path):
    return filesystem_type(path) in (TMPFS, RAMFS)


def fsync_us(path, rounds=200):
    """Median and 99th percentile of appending 4 KiB and making it durable, in microseconds."""
    name = os.path.join(path, "fsync-probe")
    fd = os.open(name, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
    block, times = os.urandom(4096), []
    try:
        for _ in range(rounds):
            began = time.perf_counter()
            os.write(fd, block)
            os.fdatasync(fd)
            times.append((time.perf_counter() - began) * 1e6)
    finally:
        os.close(fd)
        os.unlink(name)
    return statistics.median(times), sorted(times)[int(len(times) * 0.99)]


def read_fields(path):
    with open(path, encoding="ascii", errors="replace") as f:
        pairs = (line.split(":", 1) for line in f if ":" in line)
        return {name.strip(): value for name, value in pairs}


def facts():
    cpu = read_fields("/proc/cpuinfo").get("model name", "unknown").strip()
    memory = int(read_fields("/proc/meminfo")["MemTotal"].split()[0]) // 1024
    return {"cpu": cpu, "cores": os.cpu_count(), "memory_mib": memory,
            "kernel": platform.release(), "load": os.getloadavg()[0]}


def memory_kib(pid):
    """Resident, proportional and anonymous memory of a process."""
    rollup = read_fields(f"/proc/{pid}/smaps_rollup")
    resident = int(read_fields(f"/proc/{pid}/status")["VmRSS"].split()[0])
    return {"rss": resident, "pss": int(rollup["Pss"].split()[0]),
            "anonymous": int(rollup["Anonymous"].split()[0])}


def context_switches(pid):
    """Of all threads, willing and unwilling."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        fields = read_fields(f"/proc/{pid}/task/{task}/status")
        total += int(fields["voluntary_ctxt_switches"])
        total += int(fields["nonvoluntary_ctxt_switches"])
    return total


def thread_us(pid):
    """Processor time of its threads until now, by their names, in microseconds."""
    total = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/comm", encoding="ascii", errors="replace") as f:
            name = f.read().strip()
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as f:
            total[name] = total.get(name, 0) + int(f.read().split()[0]) / 1000
    return total


def stat_fields(pid):
    """Of /proc/PID/stat, those after the name."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
        return f.read().rsplit(")", 1)[1].split()


def cpu_seconds(pid):
    """User and system time of a process so far."""
    fields = stat_fields(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def walk_cpu_seconds(pid):
    total = sum(int(field) for field in stat_fields(pid)[11:15]) / os.sysconf("SC_CLK_TCK")
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as f:
            total += sum(walk_cpu_seconds(int(child)) for child in f.read().split())
    return total


def tree_cpu_seconds(pid):
    """The same of a process with its children: those that run, and all that have ended."""
    while True:
        try:
            return walk_cpu_seconds(pid)
        except (FileNotFoundError, ProcessLookupError):  # a child ended: its parent has it now
            stat_fields(pid)
