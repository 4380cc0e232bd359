# SPDX-License-Identifier: MIT
"""PostgreSQL in the tests: clusters of tools/postgres, and places in the one that a run has.

WAYBILL_TEST_STORE is the URL of that one.  When it is set every server that a test makes keeps its jobs there, in
a schema of its own: to make a database takes longer than most tests.
"""
import itertools
import os
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "postgres"
STORE = os.environ.get("WAYBILL_TEST_STORE")
NUMBERS = itertools.count(1)


def _load():
    loader = SourceFileLoader("tools_postgres", str(TOOL))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


tool = _load()
Cluster, Error, program = tool.Cluster, tool.Error, tool.program


def new_store():
    """The URL of a place for one server's jobs in the cluster of this run."""
    name = f"test_{os.getpid()}_{next(NUMBERS)}"
    ask(STORE, f"CREATE SCHEMA {name}")
    return tool.schema_url(STORE, name)


def drop_store(url):
    """All that is in it; whoever still writes there is waited for, but not long."""
    name = url.rpartition("%3D")[2]
    ask(STORE, "SET client_min_messages = error; SET lock_timeout = '10s';"
               f"DROP SCHEMA {name} CASCADE")


def ask(url, sql):
    """Rows of texts, behind the server's back."""
    with tool.session_of(url) as session:
        return session.ask(sql)
