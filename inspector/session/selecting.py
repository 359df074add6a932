"""Asking for columns by name, of databases whose every version adds some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

Row = dict[str, Any]

Columns = dict[str, frozenset[str]]
"""Names of columns by table."""


class Selector:
    """Selects those columns that there are."""

    def __init__(self, connection: sqlite3.Connection, columns: Columns | None = None) -> None:
        """Begin.

        Args:
            connection: The database.
            columns: The columns of its tables as far as they are known, to which is added what is found out.
        """
        self.connection = connection
        self._columns = {} if columns is None else columns

    def rows(self, table: str, columns: Sequence[str], condition: str, *values: object) -> list[Row]:
        """The rows that fulfil a condition, without columns that are not there; none where there is no such table."""
        names, rows = self.select(table, columns, condition, *values)
        return [row_of(names, row) for row in rows]

    def select(
        self, table: str, columns: Sequence[str], condition: str, *values: object
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The same as tuples, with the names of their columns.

        Args:
            table: Its name. Like the others, a name of this program: only `values` may be of anyone else's.
            columns: Names of those asked for.
            condition: What follows the table in the statement.
            values: What its question marks stand for.
        """
        if table not in self._columns:
            found = self.connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
            self._columns[table] = frozenset(name for (name,) in found)
        known = [name for name in columns if name in self._columns[table]]
        if not known:
            return [], []
        names = ", ".join(f'"{name}"' for name in known)
        query = f'SELECT {names} FROM "{table}" {condition}'  # noqa: S608  # names of this program, values bound
        return known, self.connection.execute(query, values).fetchall()


def row_of(names: Sequence[str], values: Sequence[Any]) -> Row:
    """A row as it can be written in a record: bytes as text."""
    return {
        name: value.decode(errors="replace") if isinstance(value, bytes) else value
        for name, value in zip(names, values, strict=True)
    }
