# SPDX-License-Identifier: MIT
"""`waybill worker` as a process, and a server with programs to run: for tests of programs."""
import signal
import subprocess
from urllib.parse import quote

from processes import Process
from waiting import DEADLINE_S, PATIENCE, eventually
from waybill import BIN, Server, plain_env

PYTHON = "#!/usr/bin/python3\n"  # the first line of a program


class Worker:
    """A separate worker of a server.  It keeps its state under the server's data directory."""

    def __init__(self, server, name, slots=2, url=None, data=None, args=()):
        self.server = server
        self.data = str(data or server.data)
        self.url = url or f"unix:{server.socket_path}"
        self.name = name
        self.slots = slots
        self.args = list(args)
        self.env = {}
        self.log = server.dir / f"worker-{name}.log"
        self.process = None

    def command(self):
        named = ["--server", self.url] if self.url else []
        return [BIN, "worker", *named, "--data", self.data, "--name", self.name, "-j",
                str(self.slots), *self.args]

    def spawn(self):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log,
                                            env=plain_env(HOME=str(self.server.dir), **self.env))
        return self

    def start(self):
        self.spawn()
        eventually(self.is_shown, f"worker {self.name}; its log:\n{self.log_text()}")
        return self

    def is_shown(self):
        assert self.running(), f"the worker ended; its log:\n{self.log_text()}"
        shown = worker_named(self.server.unix(), self.name)
        return shown is not None and shown.get("pid") == self.process.pid and "queues" in shown

    def log_text(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def running(self):
        return self.process is not None and self.process.poll() is None

    def send(self, number):
        self.process.send_signal(number)

    def pause(self):
        """Stopped, and it is true when this returns."""
        self.send(signal.SIGSTOP)
        seen = Process(self.process.pid)
        eventually(lambda: seen.state() == "T", "the stop")

    def resume(self):
        self.send(signal.SIGCONT)

    def wait_exit(self, deadline_s=DEADLINE_S):
        return self.process.wait(deadline_s)

    def stop(self, deadline_s=DEADLINE_S):
        """TERM; the exit status."""
        self.send(signal.SIGTERM)
        return self.wait_exit(deadline_s)

    def kill(self):
        if self.running():
            self.process.kill()
        self.process.wait(DEADLINE_S)

    def finish_up(self):
        """After a test."""
        if not self.running():
            return
        self.send(signal.SIGCONT)
        try:
            eventually(self.ends, f"the end of worker {self.name}")
        finally:
            if self.running():
                print(self.log_text()[-3000:])
                self.kill()

    def ends(self):
        """Asked once more; two signals at once would be one."""
        self.send(signal.SIGTERM)
        try:
            self.process.wait(0.1)
        except subprocess.TimeoutExpired:
            pass
        return not self.running()


def worker_named(client, name):
    workers = client.ok("GET", "/v1/workers")["workers"]
    found = [worker for worker in workers if worker["name"] == name]
    return found[0] if found else None


class Shop:
    """A server with a worker of its own, and queues that run what a test gives them."""

    def __init__(self, directory, slots=4, definitions="queues: {}\n", **named):
        self.server = Server(directory, definitions=definitions, slots=slots, **named)
        self.programs = self.server.dir / "programs"
        self.programs.mkdir()
        self.programs.chmod(0o755)
        self.made = 0
        self.client = self.admin = None

    def start(self):
        self.server.start()
        self.client, self.admin = self.server.tcp(), self.server.unix()
        return self

    def restart(self):
        self.server.restart()
        self.client, self.admin = self.server.tcp(), self.server.unix()

    def program(self, text, name=None):
        """Writes a program (of the shell, unless it says otherwise); its path."""
        self.made += 1
        path = self.programs / (name or f"program{self.made}")
        path.write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def place(self, name="place"):
        """A path of its own for something that a program leaves for the test."""
        self.made += 1
        return self.server.dir / f"{name}{self.made}"

    def queue(self, text=None, args=(), **definition):
        """A new queue that runs this program; its name."""
        self.made += 1
        name = f"queue{self.made}"
        if text is not None:
            definition["command"] = [str(self.program(text)), *args]
        self.define(name, **definition)
        return name

    def define(self, name, **definition):
        self.admin.ok("PUT", f"/v1/queues/{name}", definition)

    def submit(self, queue, **fields):
        return self.admin.submit(queue, **fields)

    def ended(self, job_id, deadline_s=DEADLINE_S):
        """The job, which must end in time."""
        job = self.client.ok("GET", f"/v1/jobs/{job_id}?wait={min(60, int(deadline_s))}s")
        assert job["state"] in ("done", "failed", "cancelled"), (brief(job),
                                                                 self.server.log_text()[-2000:])
        return job

    def run(self, queue, deadline_s=30 * PATIENCE, **fields):
        return self.ended(self.submit(queue, **fields), deadline_s)

    def carry_out(self, text, args=(), job=None, **definition):
        """One job of a new queue with this program: how it ended."""
        return self.run(self.queue(text, args, **definition), **(job or {}))

    def until(self, job_id, state, deadline_s=DEADLINE_S):
        def shown():
            job = self.client.show(job_id)
            return job if job["state"] == state else None

        return eventually(shown, f"job {job_id}: {state}", deadline_s)

    def log(self, job):
        job_id = job["id"] if isinstance(job, dict) else job
        return self.client.get(f"/v1/jobs/{job_id}/log").body

    def logged(self, job_id, piece):
        """Waits for a piece of the log of a job that runs."""
        eventually(lambda: piece in self.log(job_id), f"{piece!r} in the log of {job_id}")

    def local(self):
        """The local worker as it is shown."""
        def shown():
            workers = self.client.ok("GET", "/v1/workers")["workers"]
            return [worker for worker in workers if "-serve" in worker["name"]]

        return eventually(shown, "the local worker")[0]

    def show_queue(self, name):
        return self.client.ok("GET", f"/v1/queues/{quote(name)}")

    def queue_log(self, name):
        return self.client.ok("GET", f"/v1/queues/{quote(name)}/log")["log"]


def brief(job):
    """Without what may be long."""
    return {name: value for name, value in job.items() if name not in ("body", "params")}
