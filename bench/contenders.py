# SPDX-License-Identifier: MIT
"""The servers that are compared: each is started on a free loopback port and stopped again.

A contender is started afresh for each run, in a directory of its own, so that none inherits the
backlog of the run before.  RabbitMQ takes ten seconds to start: it stays, and gets a new queue
for each run instead.  While others are measured it takes about 0.2 % of a core.
"""

import os
import pwd
import select
import shutil
import signal
import socket
import subprocess
import time


class Missing(Exception):
    """A contender cannot be started here; the text says why."""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_until(what, ready, process, seconds=60):
    deadline = time.monotonic() + seconds
    while not ready():
        if process.poll() is not None:
            raise RuntimeError(f"{what} ended with {process.returncode} while starting")
        if time.monotonic() > deadline:
            raise RuntimeError(f"{what} is not ready after {seconds} s")
        time.sleep(0.02)


def accepts(port):
    with socket.socket() as s:
        s.settimeout(1)
        return s.connect_ex(("127.0.0.1", port)) == 0


class Contender:
    """One server.  `urls` maps the name of each way in to what waybill-load takes."""

    fresh = True  # start it anew for each run
    slow = 1      # runs are longer by that much: a round of it must fit in several times

    def __init__(self, directory, name=None):
        self.directory = os.path.join(directory, name or self.name)
        self.process = None
        self.urls = {}

    @property
    def pid(self):
        return self.process.pid

    def start(self):
        shutil.rmtree(self.directory, ignore_errors=True)
        os.makedirs(self.directory)
        self.launch()
        return self

    def spawn(self, argv, **more):
        """In a session of its own, so that all of it can be ended; its log stays beside it."""
        with open(os.path.join(self.directory, "stderr"), "ab") as log:
            self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=log,
                                            start_new_session=True, **more)

    def stop(self):
        if self.process is None:
            return
        self.end(signal.SIGTERM, 15) or self.end(signal.SIGKILL, 15)
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.process = None
        shutil.rmtree(self.directory, ignore_errors=True)

    def end(self, how, seconds):
        try:
            os.killpg(self.process.pid, how)
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        except ProcessLookupError:
            pass
        return True

    def renew_queue(self, load):
        """Only for those that are not started afresh."""


class Waybill(Contender):
    name = "waybill"

    def __init__(self, directory, binary, name=None, slots=0, queue="{}", store=None):
        super().__init__(directory, name)
        self.binary = binary
        self.slots = slots
        self.queue = queue  # definition of the queue `bench`, YAML in one line
        self.store = ["--store", store] if store else []
        if not os.access(binary, os.X_OK):
            raise Missing(f"{binary} is not there: build it first (make)")

    def launch(self):
        definitions = os.path.join(self.directory, "bench.yaml")
        with open(definitions, "w", encoding="ascii") as f:
            f.write(f"queues: {{bench: {self.queue}}}\n")
        self.spawn([self.binary, "serve", "--data", os.path.join(self.directory, "data"),
                    "--listen", "127.0.0.1:0", "-j", str(self.slots), "-c", definitions,
                    *self.store],
                   stdout=subprocess.PIPE)
        words = self.ready_line().split()
        if len(words) < 3 or words[0] != "ready":
            with open(os.path.join(self.directory, "stderr"), errors="replace") as log:
                raise RuntimeError(f"waybill did not get ready: {words} {log.read()[-500:]}")
        self.urls = {"waybill": words[1], "waybill-unix": words[2]}

    def ready_line(self):
        if not select.select([self.process.stdout], [], [], 30)[0]:
            raise RuntimeError("waybill is not ready after 30 s")
        return self.process.stdout.readline().decode()


class Beanstalkd(Contender):
    name = "beanstalkd"
    options = ()

    def __init__(self, directory, name=None):
        super().__init__(directory, name)
        self.binary = shutil.which("beanstalkd")
        if self.binary is None:
            raise Missing("beanstalkd is not installed (Debian package beanstalkd)")

    def launch(self):
        port = free_port()
        binlog = os.path.join(self.directory, "binlog")
        os.mkdir(binlog)
        options = [binlog if o == "BINLOG" else o for o in self.options]
        self.spawn([self.binary, "-l", "127.0.0.1", "-p", str(port), "-z", "1000000", *options],
                   stdout=subprocess.DEVNULL)
        wait_until(self.name, lambda: accepts(port), self.process)
        self.urls = {self.name: f"beanstalk://127.0.0.1:{port}"}


class BeanstalkdFsync(Beanstalkd):
    name = "beanstalkd-fsync"
    slow = 3
    options = ("-b", "BINLOG", "-f", "0")


class RabbitMQ(Contender):
    name = "rabbitmq"
    fresh = False
    script = "/usr/lib/rabbitmq/bin/rabbitmq-server"

    def __init__(self, directory, name=None):
        super().__init__(directory, name)
        if not os.access(self.script, os.X_OK):
            raise Missing("RabbitMQ is not installed (Debian package rabbitmq-server)")
        self.beam = None
        self.user = None
        if os.getuid() == 0:
            self.user = pwd.getpwnam("rabbitmq")

    @property
    def pid(self):
        return self.beam

    def environment(self):
        """Ports, names and files are not those of the machine's own RabbitMQ."""
        self.port, self.epmd_port = free_port(), free_port()
        base = self.directory
        return {
            "PATH": os.environ["PATH"], "LANG": "C.UTF-8",
            "HOME": base,
            "ERL_EPMD_PORT": str(self.epmd_port), "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": "waybill-bench@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1", "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_MNESIA_BASE": os.path.join(base, "mnesia"),
            "RABBITMQ_LOG_BASE": os.path.join(base, "log"),
            "RABBITMQ_PID_FILE": os.path.join(base, "pid"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": os.path.join(base, "no-plugins"),
            "RABBITMQ_CONF_ENV_FILE": os.path.join(base, "no-env"),
            "RABBITMQ_CONFIG_FILE": os.path.join(base, "no-config"),
        }

    def launch(self):
        argv = [self.script]
        for part in ("mnesia", "log"):
            os.mkdir(os.path.join(self.directory, part))
        if self.user is not None:
            for root, dirs, _ in os.walk(self.directory):
                for path in [root] + [os.path.join(root, d) for d in dirs]:
                    os.chown(path, self.user.pw_uid, self.user.pw_gid)
            argv = ["runuser", "-u", self.user.pw_name, "--", *argv]
            if subprocess.run([*argv[:4], "test", "-w", self.directory], check=False).returncode:
                raise Missing(f"user {self.user.pw_name} cannot reach {self.directory}: "
                              "choose another --dir")
        self.variables = self.environment()
        self.spawn(argv, stdout=subprocess.DEVNULL, env=self.variables)
        wait_until("RabbitMQ", self.started, self.process)
        with open(self.variables["RABBITMQ_PID_FILE"], encoding="ascii") as f:
            self.beam = int(f.read())
        self.urls = {"rabbitmq": f"amqp://127.0.0.1:{self.port}"}

    def started(self):
        logs = os.path.join(self.directory, "log")
        for name in os.listdir(logs):
            with open(os.path.join(logs, name), errors="replace") as f:
                if "Server startup complete" in f.read():
                    return True
        return False

    def renew_queue(self, load):
        load(self.urls["rabbitmq"], "renew")

    def stop(self):
        super().stop()
        if shutil.which("epmd") and getattr(self, "variables", None):
            subprocess.run(["epmd", "-kill"], env=self.variables, check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
