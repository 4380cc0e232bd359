# SPDX-License-Identifier: MIT
"""PostgreSQL in the tests: clusters of tools/postgres, and databases in the one that a run has.

WAYBILL_TEST_STORE is the URL of that one.  When it is set every server that a test makes keeps its jobs in a
database of its own there.
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
Cluster, Error = tool.Cluster, tool.Error


def new_database():
    """The URL of a new database in the cluster of this run."""
    name = f"test_{os.getpid()}_{next(NUMBERS)}"
    with tool.session_of(STORE) as session:
        session.ask(f"CREATE DATABASE {name}")
    return STORE.replace("@/postgres?", f"@/{name}?")


def drop_database(url):
    """Whoever is still connected is thrown out."""
    with tool.session_of(STORE) as session:
        session.ask(f"DROP DATABASE {database_of(url)} WITH (FORCE)")


def database_of(url):
    return url.split("@/")[1].split("?")[0]


def ask(url, sql):
    """Rows of texts, behind the server's back."""
    with tool.session_of(url) as session:
        return session.ask(sql)
