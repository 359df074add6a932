"""The order desk: a program of many stores, each of which builds its SQL from input texts.

One module a table, all generated from the same few methods in different selections, as in programs that grew by
copying. The bug in each statement and its fix are listed next to it, for the agent that reviews them.
"""

from __future__ import annotations

from typing import NamedTuple

from .order_desk_tables import TABLES, Table
from .order_desk_tests import tests


class Statement(NamedTuple):
    """A method that builds SQL.

    Attributes:
        before: The copied version.
        after: The fixed version.
        intent: Purpose of the change.
    """

    before: str
    after: str
    intent: str


def statements(table: Table) -> list[Statement]:
    """Return the methods of a table's module that pass texts to the database, in the module's order."""
    t, first = table, table.text[0]
    named = ", ".join(t.columns)
    given = ", ".join("?" for _ in t.columns)
    quoted = ", ".join(
        f"'{{row[\\'{name}\\']}}'".replace("\\'", '"') if name in (*t.text, t.day, "state") else f'{{row["{name}"]}}'
        for name in t.columns
    )
    values = ", ".join(f'row["{name}"]' for name in t.columns)
    found = [
        Statement(
            f'        sql = f"""INSERT INTO {t.name} ({named})\n            VALUES ({quoted})"""\n        cursor = self.connection.execute(sql)\n        self.connection.commit()\n        return cursor.lastrowid\n',
            f'        sql = """INSERT INTO {t.name} ({named})\n            VALUES ({given})"""\n        cursor = self.connection.execute(sql, ({values}))\n        self.connection.commit()\n        return cursor.lastrowid\n',
            f"insert a {t.one} with placeholders",
        ),
        Statement(
            f'        row = self.connection.execute(f"SELECT * FROM {t.name} WHERE id = {{number}}").fetchone()\n',
            f'        row = self.connection.execute("SELECT * FROM {t.name} WHERE id = ?", (number,)).fetchone()\n',
            "look a row up by its number with a placeholder",
        ),
        Statement(
            f"        sql = f\"SELECT * FROM {t.name} WHERE {first} = '{{_clean({first})}}' ORDER BY id\"\n        return [dict(row) for row in self.connection.execute(sql)]\n",
            f'        sql = "SELECT * FROM {t.name} WHERE {first} = ? ORDER BY id"\n        return [dict(row) for row in self.connection.execute(sql, (_clean({first}),))]\n',
            f"find by {first} with a placeholder",
        ),
        Statement(
            f"        sql = f\"SELECT * FROM {t.name} WHERE {first} LIKE '%{{part}}%' OR {t.text[1]} LIKE '%{{part}}%' ORDER BY {first}\"\n        return [dict(row) for row in self.connection.execute(sql)]\n",
            f'        like = "%" + part.replace("%", r"\\%").replace("_", r"\\_") + "%"\n        sql = r"SELECT * FROM {t.name} WHERE {first} LIKE ? ESCAPE \'\\\' OR {t.text[1]} LIKE ? ESCAPE \'\\\' ORDER BY {first}"\n        return [dict(row) for row in self.connection.execute(sql, (like, like))]\n',
            "search with placeholders, wildcards taken as they are typed",
        ),
        Statement(
            f'        wanted = ", ".join(f"\'{{state}}\'" for state in states)\n        sql = f"SELECT * FROM {t.name} WHERE state IN ({{wanted}}) ORDER BY {t.day}, id"\n        return [dict(row) for row in self.connection.execute(sql)]\n',
            f'        wanted = ", ".join("?" for _ in states)\n        sql = f"SELECT * FROM {t.name} WHERE state IN ({{wanted}}) ORDER BY {t.day}, id"  # placeholders only\n        return [dict(row) for row in self.connection.execute(sql, tuple(states))]\n',
            "a placeholder for every state",
        ),
        Statement(
            f"        sql = f\"SELECT * FROM {t.name} WHERE {t.day} BETWEEN '{{first}}' AND '{{last}}' ORDER BY {t.day}, id\"\n        return [dict(row) for row in self.connection.execute(sql)]\n",
            f'        sql = "SELECT * FROM {t.name} WHERE {t.day} BETWEEN ? AND ? ORDER BY {t.day}, id"\n        return [dict(row) for row in self.connection.execute(sql, (first, last))]\n',
            "days as placeholders",
        ),
        Statement(
            f'        sql = f"SELECT * FROM {t.name} ORDER BY {{order}} LIMIT {{size}} OFFSET {{page * size}}"\n        return [dict(row) for row in self.connection.execute(sql)]\n',
            f'        if order not in FIELDS:\n            raise ValueError(f"{t.name} cannot be sorted by {{order!r}}")\n        sql = f"SELECT * FROM {t.name} ORDER BY {{order}} LIMIT ? OFFSET ?"  # order is one of FIELDS\n        return [dict(row) for row in self.connection.execute(sql, (size, page * size))]\n',
            "sort by known columns only: a column's name cannot be a placeholder",
        ),
        Statement(
            f"        sql = f\"SELECT COALESCE(SUM({t.amount}), 0) FROM {t.name} WHERE state = '{{state}}'\"\n        return self.connection.execute(sql).fetchone()[0]\n",
            f'        sql = "SELECT COALESCE(SUM({t.amount}), 0) FROM {t.name} WHERE state = ?"\n        return self.connection.execute(sql, (state,)).fetchone()[0]\n',
            f"sum {t.amount} with a placeholder",
        ),
        Statement(
            f"        self.connection.execute(f\"UPDATE {t.name} SET state = '{{state}}' WHERE id = {{number}}\")\n        self.connection.commit()\n",
            f'        self.connection.execute("UPDATE {t.name} SET state = ? WHERE id = ?", (state, number))\n        self.connection.commit()\n',
            "change a state with placeholders",
        ),
    ]
    if t.parent:
        found.append(
            Statement(
                f'        sql = f"SELECT * FROM {t.name} WHERE {t.parent} = {{{t.parent}}} ORDER BY id"\n        return [dict(row) for row in self.connection.execute(sql)]\n',
                f'        sql = "SELECT * FROM {t.name} WHERE {t.parent} = ? ORDER BY id"\n        return [dict(row) for row in self.connection.execute(sql, ({t.parent},))]\n',
                f"rows of a {t.parent.removesuffix('_id')} with a placeholder",
            )
        )
    return found


SLIPS = {
    "clean": (
        '    return value.strip().replace("\'", "\'\'")\n',
        "    return value.strip()\n",
        "apostrophes are the database's business now",
    ),
    "import": (
        '            fields = [field.strip().replace("\'", "\'\'") for field in line.rstrip().split(";")]\n',
        '            fields = [field.strip() for field in line.rstrip().split(";")]\n',
        "imported rows are not escaped by hand either",
    ),
}
"""Places where apostrophes are doubled by hand: the passage, its fix, and the reason."""


def module(table: Table) -> str:
    """Return the original source of a table's module."""
    t, first = table, table.text[0]
    bodies = iter(statement.before for statement in statements(table))
    kinds = {
        **dict.fromkeys((*t.text, t.day, "state"), "TEXT NOT NULL"),
        t.amount: "INTEGER NOT NULL",
        t.parent: "INTEGER",
    }
    schema = "".join(f"    {name} {kinds[name]},\n" for name in t.columns)[:-2] + "\n"
    title = t.name.replace("_", " ")
    clean = SLIPS["clean"][0 if t.slip == "clean" else 1]
    imported = SLIPS["import"][0 if t.slip == "import" else 1]
    parent = (
        f'\n    def for_{t.parent.removesuffix("_id")}(self, {t.parent}):\n        """All {title} that belong to one {t.parent.removesuffix("_id")}, in the order they were added."""\n'
        if t.parent
        else ""
    )
    head = f'''"""{title.capitalize()}: {t.about}."""

import csv
import io
import sqlite3
from datetime import date

FIELDS = {t.columns!r}
STATES = {t.states!r}

SCHEMA = """
CREATE TABLE IF NOT EXISTS {t.name} (
    id INTEGER PRIMARY KEY,
{schema})
"""


def _clean(value):
    """A text as it is stored, without blanks around it."""
{clean}

def check(row):
    """Say what is wrong with a row before it is stored.

    Raises:
        ValueError: A column is missing, a day is not a day, or the state is not one of STATES.
    """
    missing = [name for name in FIELDS if row.get(name) is None]
    if missing:
        raise ValueError(f"{t.one}: no {{', '.join(missing)}}")
    date.fromisoformat(row["{t.day}"])
    if row["state"] not in STATES:
        raise ValueError(f"{t.one}: {{row['state']!r}} is not one of {{', '.join(STATES)}}")
    if int(row["{t.amount}"]) < 0:
        raise ValueError("{t.one}: {t.amount} is below zero")


class {t.store}:
    """Keeps {title} in a database.

    The connection belongs to whoever opened it; nothing here closes it.
    """

    def __init__(self, connection):
        self.connection = connection
        self.connection.row_factory = sqlite3.Row
        self.connection.executescript(SCHEMA)

    def add(self, row):
        """Store a {t.one.replace("_", " ")} and return its number."""
        check(row)
        row = {{**row, **{{name: _clean(row[name]) for name in {t.text!r}}}}}
{next(bodies)}
    def get(self, number):
        """One {t.one.replace("_", " ")} by its number.

        Raises:
            KeyError: There is none.
        """
{next(bodies)}        if row is None:
            raise KeyError(f"no {t.one} {{number}}")
        return dict(row)

    def find_by_{first}(self, {first}):
        """All {title} with exactly this {first.replace("_", " ")}."""
{next(bodies)}
    def search(self, part):
        """All {title} in whose {first.replace("_", " ")} or {t.text[1].replace("_", " ")} a text occurs."""
{next(bodies)}
    def in_states(self, states):
        """All {title} in one of some states, the earliest first."""
{next(bodies)}
    def between(self, first, last):
        """All {title} with a {t.day.replace("_", " ")} from one day to another, both included."""
{next(bodies)}
    def page(self, order, page=0, size=20):
        """A page of all {title}, sorted by a column."""
{next(bodies)}
    def total_{t.amount}(self, state):
        """What {t.amount.replace("_", " ")} comes to over all {title} in a state."""
{next(bodies)}
    def change_state(self, number, state):
        """Move a {t.one.replace("_", " ")} on.

        Raises:
            ValueError: The state is not one of STATES.
            KeyError: There is no such {t.one.replace("_", " ")}.
        """
        if state not in STATES:
            raise ValueError(f"{{state!r}} is not one of {{', '.join(STATES)}}")
        self.get(number)
{next(bodies)}'''
    tail = f'''
    def import_rows(self, lines):
        """Store rows of a file with semicolons, in the order of FIELDS; return how many there were."""
        count = 0
        for line in lines:
            if not line.strip() or line.startswith("#"):
                continue
{imported}            row = dict(zip(FIELDS, fields))
            row["{t.amount}"] = int(row["{t.amount}"])
            self.add(row)
            count += 1
        return count

    def export_rows(self):
        """All {title} as CSV, with a line of titles."""
        written = io.StringIO()
        writer = csv.writer(written, lineterminator="\\n")
        writer.writerow(("id", *FIELDS))
        for row in self.connection.execute("SELECT * FROM {t.name} ORDER BY id"):
            writer.writerow(tuple(row))
        return written.getvalue()

    def summary(self):
        """How many {title} there are in each state, and what {t.amount.replace("_", " ")} comes to."""
        lines = []
        for state in STATES:
            rows = self.in_states([state])
            total = sum(row["{t.amount}"] for row in rows)
            lines.append(f"{{state:<14}}{{len(rows):>6}}{{total:>12}}")
        return "\\n".join(lines)
'''
    return head + (parent + next(bodies) if t.parent else "") + tail


SCANNER = '''"""Finds SQL that is built out of texts: python tools/scan.py FILE..."""

import re
import sys

BUILT = re.compile(r"""f"+(?:SELECT|INSERT|UPDATE|DELETE)\\b.*\\{(?!wanted\\}|order\\}).*""", re.S)
RULE = "[B608:hardcoded_sql_expressions] Possible SQL injection vector through string-based query construction."


def scan(path):
    """Print every finding of a file and return how many there are."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    found = 0
    for number, line in enumerate(lines, 1):
        text = line + lines[number] if 'f"""' in line else line
        if not BUILT.search(text) or "# placeholders only" in line or "# order is one of" in line:
            continue
        found += 1
        print(f">> Issue: {RULE}")
        print("   Severity: Medium   Confidence: Medium")
        print("   CWE: CWE-89 (https://cwe.mitre.org/data/definitions/89.html)")
        print(f"   Location: ./{path}:{number}")
        for shown in range(max(number - 2, 1), min(number + 1, len(lines)) + 1):
            print(f"{shown}\\t{lines[shown - 1]}")
        print("\\n" + "-" * 50)
    return found, len(lines)


def main(paths):
    total = code = 0
    for path in paths:
        found, lines = scan(path)
        total, code = total + found, code + lines
    print(f"Code scanned: {code} lines in {len(paths)} files")
    print(f"Findings: {total}" if total else "No issues identified.")
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
'''


def review() -> str:
    """Return the review that the user received: a finding for every module."""
    rows = "".join(
        f"| SEC-{401 + 3 * number} | `{table.path}` | {len(statements(table))} | {'high' if table.text[0] in ('name', 'payer', 'full_name') else 'medium'} |\n"
        for number, table in enumerate(TABLES)
    )
    return f"""# Security review of the order desk, August 2026

Ticket ORD-2291, reviewed by Halvorsen-Lindqvist, to be closed by 2026-10-15.

Statements are put together from texts that callers hand in. Apostrophes are doubled by hand in some places and not in
others, numbers and names of columns not at all. Each module below is a finding of its own.

| finding | module | statements | severity |
|---|---|---:|---|
{rows}
A finding is closed when the module builds no statement from a text, its tests pass, and a test holds that a text with an
apostrophe and a comment changes nothing.
"""


def files() -> dict[str, str]:
    """Every file of the project."""
    found = {
        "orderdesk/__init__.py": "",
        "tests/__init__.py": "",
        "tools/scan.py": SCANNER,
        "docs/review-2026-08.md": review(),
    }
    for table in TABLES:
        found[table.path] = module(table)
        found[table.test_path] = tests(table)
    return found
