"""Databases of agents, written statement by statement, and rows in them that went wrong."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.session.mutations import ODD

Statement = tuple[str, tuple[Any, ...]]

SCALARS = (str, int, float, type(None))

BROKEN: list[Any] = [b"\xff\x00", '[{"type": "text"', '"text"']

ODD_VALUES = [*(odd if isinstance(odd, SCALARS) else json.dumps(odd) for odd in ODD), *BROKEN]


def insert(table: str, columns: dict[str, Any]) -> Statement:
    names, marks = ", ".join(columns), ", ".join("?" for _ in columns)
    return f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(columns.values())  # noqa: S608  # names of tests


def created(path: Path, tables: str, *statements: Statement, mode: str = "WAL") -> Path:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.executescript(tables)
        run(connection, *statements)
    return path


def run(connection: sqlite3.Connection, *statements: Statement) -> None:
    connection.execute("BEGIN")
    for statement, values in statements:
        connection.execute(statement, values)
    connection.execute("COMMIT")


def row_changes(rows: int) -> st.SearchStrategy[list[tuple[str, int, int, Any]]]:
    tables, columns = st.sampled_from(["sessions", "messages"]), st.integers(0, 24)
    return st.lists(st.tuples(tables, columns, st.integers(1, rows), st.sampled_from(ODD_VALUES)), max_size=8)


def change_rows(path: Path, changes: list[tuple[str, int, int, Any]]) -> None:
    """Change values in a database, as far as its tables let them be changed."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        for table, column, row, value in changes:
            names = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
            name = names[column % len(names)]
            if isinstance(value, int) and abs(value) > 2**62:
                value = str(value)
            try:
                connection.execute(f"UPDATE {table} SET {name} = ? WHERE rowid = ?", (value, row))  # noqa: S608
            except sqlite3.IntegrityError:
                continue
        connection.execute("COMMIT")
