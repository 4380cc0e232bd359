# SPDX-License-Identifier: MIT
"""Fixtures: servers that are stopped and whose store is checked after each test."""
import os
import shutil
import signal
import tempfile

import pytest

import postgres
import processes
import waybill
import worker
from waiting import PATIENCE


TEST_DEADLINE_S = 120 * PATIENCE

# A shell ignores these for what it runs in the background; what the tests start must get them.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def deadline(request):
    """No test waits for ever, whatever it waits for."""
    factor = 3 if request.node.get_closest_marker("long") else 1

    def give_up(_signal, _frame):
        raise AssertionError(f"the test did not end within {factor * TEST_DEADLINE_S} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(factor * TEST_DEADLINE_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def directory():
    """A short path of our own: a Unix socket's address has room for 107 bytes only."""
    path = tempfile.mkdtemp(prefix="waybill-e2e.")
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def servers(directory):
    """Makes servers: servers(name="a", definitions=…, …), not started."""
    made = []

    def make(name="s", **named):
        server = waybill.Server(os.path.join(directory, name), **named)
        made.append(server)
        return server

    yield make
    faults = []
    for server in made:
        try:
            server.finish_up()
        except AssertionError as fault:
            faults.append(str(fault))
    assert not faults, "\n".join(faults)


@pytest.fixture
def server(servers):
    return servers().start()


@pytest.fixture
def client(server):
    """Over TCP, as anybody."""
    return server.tcp()


@pytest.fixture
def admin(server):
    """Over the Unix socket, with all rights."""
    return server.unix()


@pytest.fixture(scope="module")
def shared_server():
    """One server for a whole file: for tests that leave nothing behind."""
    path = tempfile.mkdtemp(prefix="waybill-e2e.")
    server = waybill.Server(path)
    try:
        server.start()
        yield server
        server.finish_up()
    finally:
        if server.running():
            server.kill()
        shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="module")
def shop():
    """A server with a local worker, for a whole file: each test makes queues of its own."""
    path = tempfile.mkdtemp(prefix="waybill-e2e.")
    os.chmod(path, 0o711)  # programs of other users must pass
    made = worker.Shop(path)
    try:
        yield made.start()
        made.server.finish_up()
        left = processes.of_place(path)
        assert not left, f"still there after the end of everything: {left}"
    finally:
        if made.server.running():
            made.server.kill()
        shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def shops(directory):
    """Makes such servers for one test: shops(slots=2, …), not started."""
    made = []

    def make(name="s", **named):
        made.append(worker.Shop(os.path.join(directory, name), **named))
        return made[-1]

    yield make
    faults = []
    for one in made:
        try:
            one.server.finish_up()
        except AssertionError as fault:
            faults.append(str(fault))
    left = processes.of_place(directory)
    for process in left:
        process.kill()
    assert not faults and not left, "\n".join(faults + [f"still there: {left}" if left else ""])


@pytest.fixture
def workers():
    """Makes separate workers: workers(server, "name", …), not started.  Use it after `shops`."""
    made = []

    def make(server, name, **named):
        made.append(worker.Worker(server, name, **named))
        return made[-1]

    yield make
    for one in made:
        one.finish_up()


def pytest_collection_modifyitems(config, items):
    """What watches the clock for half a minute begins first and is looked at last."""
    items.sort(key=lambda item: item.get_closest_marker("last") is not None)
    for item in items:
        if item.get_closest_marker("long") and not item.get_closest_marker("embedded"):
            raise pytest.UsageError(f"{item.nodeid}: a long test must bring its own store")
    if postgres.STORE:
        left_out = [item for item in items if item.get_closest_marker("embedded")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def pytest_sessionstart():
    if not os.access(waybill.BIN, os.X_OK):
        pytest.exit(f"{waybill.BIN} is not there: run make, or set WAYBILL_BIN", 1)


def pytest_configure(config):
    config.addinivalue_line("markers", "last: run after all others")
    config.addinivalue_line("markers", "long: for half a minute or more; in processes of their own")
    config.addinivalue_line("markers", "embedded(why): nothing to be learnt from it on PostgreSQL")
