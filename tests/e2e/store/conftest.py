# SPDX-License-Identifier: MIT
"""Two servers on one PostgreSQL, for all tests of a file."""
import shutil
import tempfile

import pytest

from postgres import Cluster
from waybill import QUEUES, Server


@pytest.fixture(scope="module", name="both")
def two_servers(request):
    """With the DEFINITIONS of the file, if it has any.  The first has the `cluster` they share."""
    path = tempfile.mkdtemp(prefix="waybill-e2e.")
    definitions = getattr(request.module, "DEFINITIONS", QUEUES)
    with Cluster(fast=True) as cluster:
        made = [Server(f"{path}/{name}", definitions=definitions, store=cluster.url())
                for name in ("a", "b")]
        made[0].cluster = cluster
        try:
            for server in made:
                server.start()
            yield made
            for server in made:
                server.finish_up()
        finally:
            for server in made:
                if server.running():
                    server.kill()
            shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(name="a")
def client_of_the_first(both):
    return both[0].unix()


@pytest.fixture(name="b")
def client_of_the_second(both):
    return both[1].unix()
