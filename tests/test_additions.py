"""An addition touches the files that docs/development/architecture.md lists; added to a copy, it works."""

import json
import os
import re
import shutil
import subprocess
import sys
from typing import Any, NamedTuple

import pytest

from tests.conftest import ROOT

STRATEGY = '''
"""Keep the beginning of results that are no longer new."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.strategies.core.batching import Batching, ScheduleBuilder
from inspector.strategies.core.operations import CutText
from inspector.strategies.core.strategy import Decision, integer
from inspector.strategies.history.arrival_order import arrivals

if TYPE_CHECKING:
    from inspector.strategies.core.strategy import Schedule
    from inspector.strategies.history.history import History


@dataclass(frozen=True)
class KeepBeginnings(Batching):
    """Keep the beginning of all but the newest results."""

    name = "keep-beginnings"
    title = "Keep beginnings"
    summary = "Keep the beginning of older results."
    source = "made up"

    newest: int = integer(3, "How many of the newest results stay.", "results", maximum=100)
    beginning: int = integer(60, "Characters kept of older ones.", "characters", maximum=10_000)

    def schedule(self, history: History) -> Schedule:
        """Cut a result once enough newer ones have arrived."""
        builder = ScheduleBuilder(history)
        cut = CutText(self.beginning, self.beginning, 0, "[...]")
        decision = Decision(cut, f"older than the newest {self.newest} results")
        results = np.zeros(len(history.kind), dtype=np.bool_)
        results[history.results] = True
        for context in arrivals(history, results):
            old = context.blocks[: max(len(context.blocks) - self.newest, 0)]
            builder.add(old, context.calls[self.newest :], decision)
        return builder.schedule()
'''

FORMAT = '''
"""Tallies: who says what, a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.format import Format
from inspector.session.formats.chat import ChatMessage, ChatThread, blocks_of_chat
from inspector.session.json import object_of
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.reader import Record, RecordInterpreter


def said(record):
    who, words = record["tally"]
    return [ChatMessage({"role": who, "content": words}, is_call=who == "assistant")]


class TallyInterpreter(RecordInterpreter):
    def __init__(self):
        super().__init__()
        self.thread = ChatThread(self.builder)

    def add(self, record):
        self.thread.add_record(said(record.value), record.origin)

    @staticmethod
    def blocks_of_record(record, origin, /):
        return blocks_of_chat(said(object_of(record)[0]), origin)


class TallyFormat(Format):
    name = "tally"
    title = "Tallies"
    exact = "nothing"

    def recognize(self, sample):
        return "its lines are tallies" if all("tally" in record for record in sample.records) else ""

    def reader(self, path):
        return JsonlReader(path, self.name, TallyInterpreter())


FORMATS = (TallyFormat(),)
'''

SCREEN = '''
"""A screen that says hello."""

from textual.screen import ModalScreen
from textual.widgets import Static


class HelloScreen(ModalScreen[None]):
    """Greeting."""

    BINDINGS = [("escape", "dismiss", "Close")]

    def compose(self):
        yield Static("hello from a screen of its own")
'''

ACTION = '''    UserAction(
        "study.open-hello",
        "Z",
        lambda main: main.app.push_screen(HelloScreen()),
        "hello",
        "Say hello",
    ),
)
"""Keys that work in every pane'''

COLUMN = """    TimelineColumn(
        "shape",
        lambda _: 9,
        _named(" shape"),
        lambda cell, width: [(f" b{cell.row.index}".ljust(width), "timeline--shape")],
    ),
    TimelineColumn("bar", """

COMMAND = '''
"""`inspector hello`: a greeting."""

from inspector.cli.output import ExitCode, write


def add_arguments(parser):
    parser.add_argument("name")


def run(options):
    write(f"hello {options.name}\\n")
    return ExitCode.FINE
'''

COMMAND_ROW = """        Command(
            "hello", "a greeting", "Prints a greeting.", ("inspector hello you",)
        ),
"""


class Addition(NamedTuple):
    """New files of the package, and texts inserted before others in its files."""

    files: dict[str, str]
    lines: dict[str, list[tuple[str, str]]]


ADDITIONS = {
    "a strategy": Addition(
        {"strategies/library/keep_beginnings.py": STRATEGY},
        {
            "strategies/registry.py": [
                ('    "tiered-stale": (', '    "keep-beginnings": ("keep_beginnings", "KeepBeginnings"),\n')
            ]
        },
    ),
    "a session format": Addition(
        {"session/formats/tally.py": FORMAT},
        {"session/registry.py": [('    FormatModule("claude_code"', '    FormatModule("tally", ("tally",)),\n')]},
    ),
    "a timeline column": Addition(
        {},
        {"ui/timeline/columns.py": [('    TimelineColumn("bar", ', COLUMN.removesuffix('    TimelineColumn("bar", '))]},
    ),
    "a color": Addition(
        {},
        {
            "ui/themes.py": [('    "cut": "text-warning",\n', '    "shape": "text-accent",\n')],
            "ui/timeline/widget.py": [
                ("    & > .timeline--cut {", "    & > .timeline--shape { color: $shape; text-style: italic; }\n")
            ],
        },
    ),
    "a screen with its key": Addition(
        {"ui/hello.py": SCREEN},
        {
            "ui/main/screen.py": [
                (')\n"""Keys that work in every pane', ACTION.removesuffix(')\n"""Keys that work in every pane')),
                ("if TYPE_CHECKING:\n", "from inspector.ui.hello import HelloScreen\n\n"),
            ]
        },
    ),
    "a command": Addition(
        {"cli/hello.py": COMMAND},
        {"cli/commands.py": [('        Command(\n            "demo",', COMMAND_ROW)]},
    ),
}

LOOK = """
import asyncio, contextlib, io, json, sys
from pathlib import Path
from inspector.cli import main
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from inspector.strategies.registry import strategy
from inspector.ui.headless import running_session
from inspector.ui.help.key_listing import help_sections
from inspector.settings import Settings

def printed(*words):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = main(list(words))
    return code, out.getvalue()

def strips(app):
    return app.screen._compositor.render_strips()[:app.size.height]

async def shown(pilot, words):
    for _ in range(600):
        lines = [strip.text for strip in strips(pilot.app)]
        if any(words in line for line in lines):
            return lines
        await pilot.pause(0.1)
    return lines

async def look(sample):
    seen = {}
    plan = Plan.of(strategy("keep-beginnings", beginning=30))
    async with running_session(sample, plan, (200, 50), Settings()) as pilot:
        app = pilot.app
        seen["main"] = await shown(pilot, " shape ")
        seen["accent"] = app.get_css_variables()["shape"], app.get_css_variables()["text-accent"]
        segments = [segment for strip in strips(app) for segment in strip if segment.style and segment.style.italic]
        seen["italic"] = [segment.text for segment in segments if segment.text.startswith(" b")]
        await pilot.press("p")
        seen["plan"] = await shown(pilot, "\u25b8 [x] keep-beginnings")
        seen["help"] = [row.text for section in help_sections(app) for row in section.rows]
        await pilot.press("Z")
        seen["hello"] = await shown(pilot, "hello from")
    return seen

sample, tally = sys.argv[1:]
seen = asyncio.run(look(Path(sample)))
session = open_session(Path(tally))
seen["tally"] = [session.format, len(session.messages), len(session.calls), session.text(session.blocks[1])]
seen["formats"] = printed("formats")
seen["report"] = printed("report", sample, "--strategy", "keep-beginnings:beginning=30", "--format", "json")
seen["wrong"] = None
with contextlib.redirect_stderr(io.StringIO()) as error:
    seen["wrong"] = printed("report", sample, "--strategy", "keep-beginnings:beginning=-1")[0], error.getvalue()
seen["strategies"] = printed("strategies")
seen["command"] = printed("hello", "you")
print(json.dumps(seen))
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("added")
    package = folder / "inspector"
    shutil.copytree(ROOT / "inspector", package)
    for addition in ADDITIONS.values():
        for name, text in addition.files.items():
            (package / name).write_text(text.lstrip(), encoding="utf-8")
        for name, changes in addition.lines.items():
            text = (package / name).read_text(encoding="utf-8")
            for before, added in changes:
                assert text.count(before) == 1, f"{name}: {before!r} is not there, or more than once"
                text = text.replace(before, added + before)
            (package / name).write_text(text, encoding="utf-8")
    tally = folder / "tally.jsonl"
    lines = [["user", "count to two"], ["assistant", "one, two"], ["user", "on"], ["assistant", "three"]]
    tally.write_text("".join(json.dumps({"tally": line}) + "\n" for line in lines), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", LOOK, ROOT / "sample_sessions" / "coding-agent.jsonl", tally],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.fspath(folder), "HOME": os.fspath(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_strategy_is_a_control_of_the_plan_a_line_of_the_command_and_checked(seen: dict[str, Any]) -> None:
    code, report = seen["report"]
    assert code == 0
    assert '"keep-beginnings"' in report
    plan = "\n".join(seen["plan"])
    assert "[x] keep-beginnings" in plan
    assert re.search(r"newest +3 results|newest .*3", plan)
    assert re.search(r"beginning .*30", plan)
    code, complaint = seen["wrong"]
    assert code == 2
    assert "beginning" in complaint
    assert "keep-beginnings" in seen["strategies"][1]


def test_a_format_is_opened_listed_and_its_texts_are_read_again(seen: dict[str, Any]) -> None:
    assert seen["tally"] == ["tally", 4, 2, "one, two"]
    assert "Tallies" in seen["formats"][1]


def test_a_column_has_its_name_over_it_and_its_cell_in_every_row(seen: dict[str, Any]) -> None:
    head = next(line for line in seen["main"] if " shape " in line)
    place = head.index(" shape ")
    cells = [line[place:].split()[0] for line in seen["main"] if re.match(r" b\d+ ", line[place:])]
    assert len(cells) > 10
    assert len(set(cells)) == len(cells)


def test_a_colour_is_the_themes_and_where_it_is_used(seen: dict[str, Any]) -> None:
    own, accent = seen["accent"]
    assert own == accent
    assert len(seen["italic"]) > 10


def test_a_screen_opens_with_its_key_and_is_in_the_help(seen: dict[str, Any]) -> None:
    assert "Say hello" in seen["help"]
    assert "hello from a screen of its own" in "\n".join(seen["hello"])


def test_a_command_runs_by_its_name(seen: dict[str, Any]) -> None:
    assert seen["command"] == [0, "hello you\n"]


@pytest.mark.parametrize("name", ADDITIONS)
def test_the_architecture_page_has_the_number_of_files_that_an_addition_touches(name: str) -> None:
    page = (ROOT / "docs" / "development" / "architecture.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| {name} \| (\d+) \|", page, re.MULTILINE)
    assert row is not None
    assert int(row[1]) == len(ADDITIONS[name].files) + len(ADDITIONS[name].lines)
