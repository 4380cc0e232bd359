# SPDX-License-Identifier: MIT
"""PostgreSQL in the tests: clusters of tools/postgres, and places in the one that a run has.

WAYBILL_TEST_STORE is the URL of that one.  When it is set every server that a test makes keeps its
jobs there, in a schema of its own: to make a database takes longer than most tests, to fill a
schema as long as some.
"""
import itertools
import os
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "postgres"
STORE = os.environ.get("WAYBILL_TEST_STORE")
NUMBERS = itertools.count(1)
FREE = []  # places that were given back
REUSED_BYTES = 256 << 10  # of its largest table


def _load():
    loader = SourceFileLoader("tools_postgres", str(TOOL))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


tool = _load()
Cluster, Error, program = tool.Cluster, tool.Error, tool.program


def new_store():
    """The URL of an empty place for one server's jobs in the cluster of this run."""
    if FREE:
        return FREE.pop()
    name = f"test_{os.getpid()}_{next(NUMBERS)}"
    ask(STORE, f"CREATE SCHEMA {name}")
    return tool.schema_url(STORE, name)


def give_back(url):
    """Nobody uses it any more: deletes all rows but the schema's version; drops it when it has
    grown."""
    name = url.rpartition("%3D")[2]
    with tool.session_of(url) as session:
        session.ask("SET client_min_messages = error; SET lock_timeout = '10s'")
        tables = session.ask("SELECT tablename, pg_relation_size(quote_ident(tablename)::regclass) "
                             f"FROM pg_tables WHERE schemaname = '{name}'")
        if not tables or max(int(size) for _, size in tables) > REUSED_BYTES:
            session.ask(f"DROP SCHEMA {name} CASCADE")
            return
        session.ask(";".join(f"DELETE FROM {table}" for table, _ in tables if table != "meta") +
                    "; DELETE FROM meta WHERE key <> 'version'")
    FREE.append(url)


def ask(url, sql):
    """Rows of texts, behind the server's back."""
    with tool.session_of(url) as session:
        return session.ask(sql)
