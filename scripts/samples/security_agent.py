"""A coding agent closes the findings of a security review, module by module: a long session of many stale results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import write_claude_code
from .coding_tools import CodingTools
from .conversation import Conversation, ToolResult, at, call
from .order_desk import SLIPS, files, review, statements
from .order_desk_tables import TABLES, Table
from .security_words import FOUND, LAST_WORD, NOTES, OPENINGS, REMARKS, REVIEWED, SUMMARY, TESTED
from .workspace import HOME, Workspace

if TYPE_CHECKING:
    from pathlib import Path

PER_COMPACTION = 14
"""Modules until the person compacts the conversation."""

FORGETFUL = {0, 4, 7, 15, 20}
"""Modules in which the agent finds the doubled apostrophes only when a test fails; besides those where they are imported."""

MISREMEMBERED = {5, 10, 17, 22}
"""Modules in which it writes a passage to replace as it is not in the file."""

SUITE_EVERY = 4
"""Modules between two runs of all tests."""


class ReviewTools(CodingTools):
    """The coding agent's tools; an edit of a missing text fails as in Claude Code."""

    def edit(self, file_path: str, old_string: str, new_string: str, intent: str) -> ToolResult:
        """Replace one passage."""
        try:
            return super().edit(file_path, old_string, new_string, intent)
        except ValueError:
            text = f"<tool_use_error>String to replace not found in file.\nString: {old_string}</tool_use_error>"
            return ToolResult(text, is_error=True, details=f"Error: {text}", seconds=0.04)


def make(folder: Path) -> str:
    """Create the session's file in an empty temporary folder."""
    tools = ReviewTools(Workspace(folder, files()))
    talk = Conversation(tools.by_name(), seed=8089, now=at(2026, 9, 21, 6, 40))
    begin(talk)
    for number, table in enumerate(TABLES):
        if number == 1:
            talk.user(
                "Exactly like that. Please do the others the same way, in the order of the review. No need to stop after each.",
                after=460,
            )
        if number == PER_COMPACTION:
            talk.assistant(
                f"{PER_COMPACTION} modules are done and their tests pass. The window is filling up; this is a good place to compact."
            )
            talk.compaction(SUMMARY.format(done=listed(0, number), left=listed(number, len(TABLES))), after=95)
            talk.user("Go on with the rest.", after=4)
        close(talk, number, table)
        if number == 0:
            talk.assistant(
                "`customers` is closed. What I did, and would do in the other 23 modules:\n\n- every value is a placeholder;\n- a column to sort "
                "by has to be one of `FIELDS`, since a name cannot be a placeholder;\n- `LIKE` takes wildcards as they are typed;\n- apostrophes "
                "are no longer doubled by hand;\n- a new test hands SQL to every method that takes a text.\n\nShall I go on like this?"
            )
        elif number % SUITE_EVERY == SUITE_EVERY - 1:
            take_stock(talk, number)
    finish(talk)
    return write_claude_code.write(talk, "claude-opus-4-8", "2.1.219", "Close the SQL findings of the security review")


def listed(first: int, end: int) -> str:
    """Modules by name."""
    return ", ".join(table.name for table in TABLES[first:end])


def begin(talk: Conversation) -> None:
    """Add the part in which the user states the task, and the agent estimates its size."""
    talk.user(
        "We had a security review, it is in docs/review-2026-08.md: SQL injection in all 24 modules of the order desk. Please close every "
        "finding. One module at a time, its tests must pass, and each gets a test with hostile input. Show me the first one before you do "
        "the others. No new dependencies, it stays sqlite3.",
        after=0,
    )
    talk.assistant(
        "I'll read the review and see what the modules have in common.",
        call("Read", file_path=f"{HOME}/docs/review-2026-08.md"),
        call("Bash", command="wc -l orderdesk/*.py", description="Count the lines of the modules"),
        call(
            "Bash",
            command="python -m unittest 2>&1 | grep -E '^(sqlite3|Assertion|Ran|FAILED|OK)' | sort | uniq -c",
            description="See whether the tests pass today",
        ),
    )
    talk.assistant(
        "Some tests fail before I have touched anything: a name with an apostrophe breaks `add` where it is not escaped by hand. That is the same "
        "mistake as the injection. The modules look alike, so I count how often each kind of statement occurs.",
        call("Grep", pattern=r'f"+(SELECT|INSERT|UPDATE)', glob="orderdesk/*.py"),
        call("Grep", pattern=r"replace\(\"'\"", glob="orderdesk/*.py"),
        todo(0),
        thinking="Nine or ten statements a module, 24 modules. The sort column cannot be a placeholder, so it needs a list of allowed names. "
        "Escaping by hand must go at the same time, or apostrophes are stored twice. I should not do this with sed: every statement differs.",
    )


def todo(done: int) -> tuple[str, dict[str, object]]:
    """Return the to-do list with the given number of closed modules."""
    return call(
        "TodoWrite",
        todos=[
            {
                "content": f"Close {table.name}",
                "status": "completed" if place < done else "in_progress" if place == done else "pending",
                "activeForm": f"Closing {table.name}",
            }
            for place, table in enumerate(TABLES)
        ],
    )


def close(talk: Conversation, number: int, table: Table) -> None:
    """One module from its finding to its tests."""
    path, tests = f"{HOME}/{table.path}", f"{HOME}/{table.test_path}"
    scan = call("Bash", command=f"python tools/scan.py {table.path}", description=f"Scan {table.name}")
    suite = call(
        "Bash",
        command=f"python -m unittest -v tests.test_{table.name} 2>&1",
        description=f"Run the tests of {table.name}",
    )
    what_is_left = call(
        "Bash", command=f"python tools/scan.py {table.path} | tail -1", description="What the scanner still finds"
    )
    talk.assistant(
        OPENINGS[number % len(OPENINGS)].format(name=table.name, store=table.store),
        call("Grep", pattern=rf"`{table.path}`", glob="docs/*.md"),
        scan,
        call("Read", file_path=path),
        call("Read", file_path=tests),
    )
    edits = [edit(path, each.before, each.after, each.intent) for each in statements(table)]
    edits.append(
        edit(
            tests,
            '\n\nif __name__ == "__main__":\n',
            hostile(table) + '\n\nif __name__ == "__main__":\n',
            "hold that hostile texts change nothing",
        )
    )
    knows = table.slip == "clean" and number not in FORGETFUL
    if knows:
        edits.append(edit(path, *SLIPS[table.slip]))
    wrong = None
    if number in MISREMEMBERED:
        wrong = edits[3]
        name, arguments = wrong
        edits[3] = (
            name,
            {
                **arguments,
                "old_string": str(arguments["old_string"])
                .replace("        sql", "    sql", 1)
                .replace('id"', 'id ASC"')
                .replace("ORDER BY", "order by"),
            },
        )
    talk.assistant(
        REMARKS[number],
        *edits,
        thinking=FOUND[number % len(FOUND)].format(name=table.name, count=len(edits), first=table.text[0])
        if number % 2 == 0
        else "",
    )
    if wrong is not None:
        talk.assistant(
            "One of the passages was not as I remembered it. I look at the method before I try again.",
            call("Bash", command=f"grep -n -A 6 'def search' {table.path}", description="Show the method"),
        )
        talk.assistant("", wrong)
    talk.assistant(TESTED[number % len(TESTED)].format(name=table.name), suite, what_is_left)
    if not knows:
        mend(talk, table, path)
    if number % 3 != 1:
        talk.assistant(
            REVIEWED[number % len(REVIEWED)].format(name=table.name, store=table.store),
            call("Read", file_path=path, offset=45, limit=120),
            call("Grep", pattern=rf"import {table.name}|{table.name}\.", glob="**/*.py"),
        )


def edit(path: str, before: str, after: str, intent: str) -> tuple[str, dict[str, object]]:
    """One change of a file."""
    return call("Edit", file_path=path, old_string=before, new_string=after, intent=intent)


def mend(talk: Conversation, table: Table, path: str) -> None:
    """Add the part with a failing test: apostrophes are doubled by hand somewhere, and now stored so."""
    talk.assistant(
        "The apostrophe is stored twice now: somewhere it is still doubled by hand.",
        call(
            "Bash",
            command=f'grep -n -B 3 -A 3 "replace(\\"\'\\"" {table.path}',
            description="Find where apostrophes are doubled",
        ),
        thinking="With placeholders the text goes in as it is, so what was needed before is wrong now.",
    )
    where = "`_clean`" if table.slip == "clean" else "`import_rows`, before a row comes to `add`"
    again = f"python -m unittest tests.test_{table.name} 2>&1 | tail -4"
    talk.assistant(
        f"There it is, in {where}. The database does that itself.",
        edit(path, *SLIPS[table.slip]),
        call("Bash", command=again, description=f"Run the tests of {table.name} again"),
    )


def hostile(table: Table) -> str:
    """Return the new test of a module."""
    first = table.text[0]
    return f'''
    def test_a_text_with_sql_in_it_changes_nothing(self):
        hostile = "x'); DELETE FROM {table.name}; --"
        self.assertEqual(self.store.find_by_{first}(hostile), [])
        self.assertEqual(self.store.search(hostile), [])
        self.assertEqual(self.store.in_states([hostile, "' OR '1'='1"]), [])
        self.assertEqual(self.store.between("' OR 1=1 --", "9"), self.store.between("'", "9"))
        self.assertEqual(self.store.total_{table.amount}(hostile), 0)
        with self.assertRaises(ValueError):
            self.store.page("{first}; DROP TABLE {table.name}")
        number = self.store.add({{**ROWS[0], "{first}": hostile}})
        self.assertEqual(self.store.get(number)["{first}"], hostile)
        self.assertEqual(len(self.store.page("{first}", 0, 99)), len(ROWS) + 1)
'''


def take_stock(talk: Conversation, number: int) -> None:
    """Add the part that tests the last few modules together, and updates the list."""
    names = " ".join(f"tests.test_{table.name}" for table in TABLES[number + 1 - SUITE_EVERY : number + 1])
    talk.assistant(
        f"{number + 1} of {len(TABLES)} modules. Before I go on I run the last {SUITE_EVERY} together.{NOTES.get(number, '')}",
        call(
            "Bash", command=f"python -m unittest -v {names} 2>&1", description=f"Run the tests of {SUITE_EVERY} modules"
        ),
        todo(number + 1),
    )


def finish(talk: Conversation) -> None:
    """Add the part that closes the findings."""
    talk.assistant(
        "That was the last module. I scan the whole package, and look for statements that the scanner does not know.",
        call("Bash", command="python tools/scan.py orderdesk/*.py", description="Scan everything"),
        call("Grep", pattern=r"execute(script|many)?\(", glob="orderdesk/*.py"),
        call("Grep", pattern=r"replace\(\"'\"", glob="**/*.py"),
    )
    talk.assistant(
        "Nothing is left of either. One look at the review, so that I close the findings by their numbers.",
        call("Bash", command="grep SEC- docs/review-2026-08.md", description="List the findings"),
    )
    rows = [line for line in review().splitlines() if line.startswith("| SEC-")]
    talk.assistant(LAST_WORD.format(rows="\n".join(rows)))
