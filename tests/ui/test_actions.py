"""One table says what keys do; bindings, status line, help, command palette, documents and keymaps follow from it."""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest
from textual.actions import parse
from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.screen import Screen

import inspector.ui
from inspector.replay.analysis.context_breakdown import Grouping
from inspector.ui.actions.action import Table, UserAction, bindings, do
from inspector.ui.actions.registry import BY_NAME, PLACES
from inspector.ui.actions.screens import DIVISIONS, SECTIONS
from inspector.ui.cost.rows import CostSection
from tests.conftest import ROOT


def ours(kind: type) -> list[type]:
    """Every screen and widget of the program, and the application, that is of a kind."""
    for module in walk_packages(inspector.ui.__path__, "inspector.ui."):
        import_module(module.name)

    def below(kind: type) -> list[type]:
        return [kind, *(each for child in kind.__subclasses__() for each in below(child))]

    return [each for each in dict.fromkeys(below(kind)) if each.__module__.startswith("inspector.")]


def with_keys() -> list[type]:
    return [kind for kind in ours(DOMNode) if kind.__dict__.get("BINDINGS")]


def test_every_key_is_of_an_action_of_the_table_and_every_action_has_its_keys_once() -> None:
    bound = [binding for kind in with_keys() for binding in kind.__dict__["BINDINGS"]]

    assert all(isinstance(binding, Binding) for binding in bound)
    assert sorted(binding.id for binding in bound) == sorted(BY_NAME)
    assert len(BY_NAME) == sum(map(len, PLACES)) > 200


@pytest.mark.parametrize("action", BY_NAME.values(), ids=lambda action: action.name)
def test_every_action_says_what_it_does(action: UserAction) -> None:
    room, _, verb = action.name.partition(".")

    assert room
    assert verb
    assert action.label
    assert action.text
    assert action.each_key


def test_every_screen_and_widget_can_do_what_its_keys_do() -> None:
    for kind in with_keys():
        for binding in kind.__dict__["BINDINGS"]:
            whose, name, _ = parse(binding.action)
            owners = {"": [kind], "app": ours(App), "screen": ours(Screen)}[whose]
            assert any(hasattr(owner, f"action_{name}") for owner in owners), binding


def test_numbered_keys_are_in_the_order_of_what_they_choose() -> None:
    assert tuple(grouping.value for grouping in Grouping) == DIVISIONS
    assert tuple(section.value for section in CostSection) == SECTIONS


async def test_an_action_that_is_a_function_is_given_the_screen_and_waited_for() -> None:
    done = []

    async def later(screen: str) -> None:
        done.append(f"{screen} later")

    table: Table = (
        UserAction("test.go", "f11", done.append, "go", "Go"),
        UserAction("test.later", "f12", later, "go", "Go later"),
    )

    assert [binding.action for binding in bindings(table)] == ["do('test.go')", "do('test.later')"]
    for action in table:
        await do("screen", action.name)
    assert done == ["screen", "screen later"]


ROW = '''
    UserAction(
        "call.five-back",
        "Z",
        lambda main: main.controller.look_further(-5),
        "five",
        "Back 5 calls",
        is_shown=True,
        named=Named("call: Five back", "The prompt of five calls before", _has_outcome),
    ),
)
"""Every key that works'''

LOOK = """
import asyncio, json, sys
from pathlib import Path
sys.path.insert(0, "scripts")
from keys import key_sections
from inspector.ui.headless import running_session
from inspector.ui.help.keymap import problems_with_keymap
from inspector.ui.help.keys import help_sections
from inspector.ui.settings import Settings

async def look(session):
    async with running_session(session, None, (300, 50), Settings()) as pilot:
        screen = pilot.app.screen
        seen = {
            "binding": [binding.key for binding in type(screen).BINDINGS if binding.id == "call.five-back"],
            "status line": [(hint.key, hint.label) for hint in screen.status.keys],
            "help": [(row.keys, row.text) for section in help_sections(pilot.app) for row in section.rows],
            "palette": [command.title for command in pilot.app.get_system_commands(screen)],
        }
        await pilot.press("Z")
        await pilot.pause()
        seen["done"] = str(screen.query_one("#chart-pane").border_subtitle)
    sections = await key_sections(session)
    seen["documents"] = [(row.keys, row.text) for section in sections for row in section.rows]
    seen["keymap"] = [problems_with_keymap({"call.five-back": key}) for key in ("f9", "x")]
    return seen

print(json.dumps(asyncio.run(look(Path(sys.argv[1])))))
"""


def test_a_row_added_to_the_table_is_a_key_a_hint_a_line_of_help_a_command_a_line_of_the_documents_and_a_name(
    tmp_path: Path,
) -> None:
    for folder in ("inspector", "scripts"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "samples"))
    table = tmp_path / "inspector" / "ui" / "actions" / "main_screen.py"
    before = table.read_text(encoding="utf-8")
    table.write_text(before.replace(')\n"""Every key that works', ROW.removeprefix("\n")), encoding="utf-8")
    sample = ROOT / "sample_sessions" / "coding-agent.jsonl"

    done = subprocess.run(
        [sys.executable, "-c", LOOK, sample],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.fspath(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    seen = json.loads(done.stdout)

    told = ["Z", "Back 5 calls"]
    assert seen["binding"] == ["Z"]
    assert ["Z", "five"] in seen["status line"]
    assert told in seen["help"]
    assert "call: Five back" in seen["palette"]
    assert told in seen["documents"]
    assert seen["keymap"] == [[], ["call.five-back: x did timeline.next-cut until now; give that another key"]]
    assert re.match(r"call \d+ of \d+", seen["done"])
