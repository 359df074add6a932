"""The tests of the order desk's modules, as the agent finds them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .order_desk_tables import Table

FAMILY = ("Aalto", "Berger", "Castellano", "Dvorak", "Eriksen", "Fontaine", "Grünwald", "Horvath", "Ivanova", "Jansen")
PLACES = ("Bremen", "Ghent", "Graz", "Lund", "Odense", "Parma", "Pilsen", "Tartu", "Turku", "Utrecht")


def sample_rows(table: Table) -> list[dict[str, object]]:
    """Rows for a table's tests, one of them with an apostrophe."""
    generator = random.Random(table.name)  # noqa: S311 - the same rows on every run
    rows = []
    for number in range(5):
        row: dict[str, object] = {}
        for name in table.text:
            row[name] = f"{generator.choice(FAMILY)} {generator.choice(PLACES)} {generator.randrange(100, 1000)}"
        row[table.amount] = generator.randrange(1, 90) * 10
        row[table.day] = f"2026-0{generator.randrange(1, 9)}-{generator.randrange(10, 29)}"
        row["state"] = table.states[number % len(table.states)]
        if table.parent:
            row[table.parent] = 1 + number % 2
        rows.append(row)
    rows[3][table.text[0]] = f"O'{generator.choice(FAMILY)} {generator.randrange(100, 1000)}"
    return rows


def tests(table: Table) -> str:
    """The source of a table's tests as the agent finds it."""
    t, first = table, table.text[0]
    rows = sample_rows(table)
    listed = "".join(f"    {row!r},\n" for row in rows)
    lines = "".join(f"    {';'.join(str(row[name]) for name in t.columns)!r},\n" for row in rows)
    total = sum(int(str(row[t.amount])) for row in rows if row["state"] == t.states[0])
    days = sorted(str(row[t.day]) for row in rows)
    parent = (
        f"""
    def test_rows_of_one_{t.parent.removesuffix("_id")}(self):
        self.assertEqual([row["id"] for row in self.store.for_{t.parent.removesuffix("_id")}(1)], [1, 3, 5])
"""
        if t.parent
        else ""
    )
    return f'''import sqlite3
import unittest

from orderdesk import {t.name}

ROWS = [
{listed}]

LINES = [
    "# exported on 2026-08-31",
{lines}]


class {t.store}Test(unittest.TestCase):
    def setUp(self):
        self.store = {t.name}.{t.store}(sqlite3.connect(":memory:"))
        for row in ROWS:
            self.store.add(row)

    def tearDown(self):
        self.store.connection.close()

    def test_rows_are_numbered_in_the_order_they_are_added(self):
        self.assertEqual([self.store.get(number)["{first}"] for number in range(1, 6)], [row["{first}"] for row in ROWS])

    def test_an_apostrophe_is_kept(self):
        self.assertEqual(self.store.get(4)["{first}"], {rows[3][first]!r})
        self.assertEqual([row["id"] for row in self.store.find_by_{first}({rows[3][first]!r})], [4])

    def test_a_number_there_is_not(self):
        with self.assertRaises(KeyError):
            self.store.get(99)

    def test_search_looks_in_{first}_and_{t.text[1]}(self):
        part = ROWS[1]["{t.text[1]}"][:6]
        self.assertIn(2, [row["id"] for row in self.store.search(part)])

    def test_states(self):
        found = self.store.in_states({t.states[:2]!r})
        self.assertEqual({{row["state"] for row in found}}, set({t.states[:2]!r}))

    def test_days_include_both_ends(self):
        found = self.store.between({days[0]!r}, {days[-1]!r})
        self.assertEqual(len(found), len(ROWS))

    def test_a_page(self):
        self.assertEqual(len(self.store.page("{first}", 0, 3)), 3)
        self.assertEqual(len(self.store.page("{t.day}", 1, 3)), 2)

    def test_total_of_{t.amount}(self):
        self.assertEqual(self.store.total_{t.amount}("{t.states[0]}"), {total})

    def test_a_state_is_changed(self):
        self.store.change_state(1, "{t.states[-1]}")
        self.assertEqual(self.store.get(1)["state"], "{t.states[-1]}")

    def test_a_state_there_is_not(self):
        with self.assertRaises(ValueError):
            self.store.change_state(1, "nowhere")
{parent}
    def test_import_stores_what_add_stores(self):
        other = {t.name}.{t.store}(sqlite3.connect(":memory:"))
        self.assertEqual(other.import_rows(LINES), len(ROWS))
        self.assertEqual([row["{first}"] for row in other.page("id" if "id" in {t.name}.FIELDS else "{t.day}", 0, 9)].count({rows[3][first]!r}), 1)

    def test_export_has_a_line_of_titles(self):
        lines = self.store.export_rows().splitlines()
        self.assertEqual(lines[0], "id," + ",".join({t.name}.FIELDS))
        self.assertEqual(len(lines), len(ROWS) + 1)

    def test_summary_names_every_state(self):
        lines = self.store.summary().splitlines()
        self.assertEqual([line.split()[0] for line in lines], list({t.name}.STATES))


if __name__ == "__main__":
    unittest.main()
'''
