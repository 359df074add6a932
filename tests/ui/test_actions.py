"""One table of actions drives bindings, status line, help, command palette, documents and keymaps."""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

from msgspec.structs import replace
from textual.actions import parse
from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.screen import Screen

import inspector.ui
from inspector.replay.analysis.context_breakdown import Grouping
from inspector.settings import Settings
from inspector.ui import session_screen
from inspector.ui.actions import parts
from inspector.ui.actions.action import Table, UserAction, bindings, do
from inspector.ui.actions.parts import FIGURE_TABLE
from inspector.ui.actions.screens import DIVISIONS, SECTIONS
from inspector.ui.all_actions import BY_NAME, TABLES, problems_with_keymap
from inspector.ui.compare import best as compare_best
from inspector.ui.compare import rows as compare_rows
from inspector.ui.cost import summary as cost_answers
from inspector.ui.cost.rows import CostSection
from inspector.ui.help.key_listing import HelpRow, HelpSection, help_groups, key_hints
from inspector.ui.help.palette import PaletteCommand, found
from inspector.ui.main.screen import MAIN
from inspector.ui.menu import MenuItem, columns_of, lines_of, shown_key
from inspector.ui.plan import limits as hint_drawing
from inspector.ui.tune import sweeps
from tests.conftest import ROOT
from tests.ui.recordings import Recording


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
    assert len(BY_NAME) == sum(map(len, TABLES)) > 200


def test_every_action_says_what_it_does() -> None:
    for name, action in BY_NAME.items():
        room, _, verb = name.partition(".")
        assert all((room, verb, action.label, action.text)), name
        assert action.each_key or action.menu or is_in_palette(action), name


def is_in_palette(action: UserAction) -> bool:
    return action.named is not None or action.is_looked_up or action.name == "study.picture"


CURSOR = {"up", "down", "left", "right", "enter", "escape", "tab", "home", "end", "pageup", "pagedown"}


def moves_a_cursor(key: str) -> bool:
    return key.rpartition("+")[2] in CURSOR


def test_a_key_has_one_meaning_on_every_screen_and_in_every_pane() -> None:
    meanings: dict[str, set[str]] = {}
    for action in BY_NAME.values():
        for key in action.each_key:
            if not moves_a_cursor(key):
                meanings.setdefault(key, set()).add(action.label.lower())

    assert {key: found for key, found in meanings.items() if len(found) > 1} == {}


def test_the_main_screen_has_thirty_keys_at_most_and_one_letter_of_a_menu_one_meaning() -> None:
    tables = (
        MAIN,
        *(table for table in vars(parts).values() if isinstance(table, tuple) and table is not FIGURE_TABLE),
    )
    actions = [action for table in tables for action in table]
    # Del is the other key of minus.
    keys = {key for action in actions for key in action.each_key[:1] if not moves_a_cursor(key)}
    once = {"1…9" if key.isdigit() else key for key in keys}
    assert len(once) <= 30, sorted(once)

    for table in (MAIN, *TABLES):
        letters = [action.menu for action in table if action.menu]
        assert len(letters) == len(set(letters))
        assert all(len(action.menu_keys) == 2 for action in table if action.menu)
    assert {action.menu_keys[0] for action in MAIN if action.menu} == set(session_screen.SessionScreen.MENU_TITLES)


def test_what_lost_its_key_has_a_menu_and_a_name_for_keymaps() -> None:
    assert problems_with_keymap({"timeline.next-error": "f8", "detail.raw": "f9", "slider.reset": "u"}) == []
    for name in ("timeline.next-error", "plan.save", "detail.raw", "timeline.pin", "rows.order", "session.diagnostics"):
        assert BY_NAME[name].each_key == ()
        assert len(BY_NAME[name].menu_keys) == 2


STEP = UserAction("test.step", "", "step", "step", "Go to the next step", menu="g x", also="walk further")


def test_commands_are_found_by_their_words_and_by_what_people_call_them() -> None:
    turn = PaletteCommand("Turn tiered-stale on", "Cuts stale results", print, "1", "strategy compaction expensive")
    costs = PaletteCommand("Show the costs", "Every figure", print, "$", "expensive why bill")
    far = PaletteCommand("Go to a call", "", print, "g t")

    def titles(query: str) -> list[str]:
        return [command.title for command in found((far, turn, costs), query)]

    assert titles("") == ["Show the costs", "Turn tiered-stale on", "Go to a call"]
    assert titles("stale on") == titles("turn") == ["Turn tiered-stale on"]
    assert titles("cost")[0] == "Show the costs"
    assert set(titles("expens")) == {"Turn tiered-stale on", "Show the costs"}
    assert titles("why") == ["Show the costs"]
    assert titles("nothing of it") == []


RIGHT_COMMANDS = {
    "budget": "t",
    "price": "z m",
    "model": "z m",
    "expensive": "M",
    "compaction": "g c",
    "loop": "l",
    "live": "l",
    "export": "w w",
}


async def test_the_palette_finds_the_right_command_first_and_none_by_its_explanation_alone(
    running, session_file
) -> None:
    async with running(session_file.path) as run:
        commands = run.palette_commands()
        assert {query: found(commands, query)[0].keys for query in RIGHT_COMMANDS} == RIGHT_COMMANDS
        assert len(found(commands, "budget")) == 1


def test_a_menu_has_the_next_and_the_one_before_in_one_line_and_as_many_columns_as_have_room() -> None:
    back = replace(STEP, name="test.back", menu="g X")
    other = replace(STEP, name="test.other", menu="g $", label="another")
    node = DOMNode()
    lines = lines_of([MenuItem(STEP, node), MenuItem(back, node), MenuItem(other, node)])

    assert [(line.keys, line.label) for line in lines] == [("x X", "step"), ("$", "another")]
    assert [item.key for item in lines[1].items] == ["dollar_sign"]
    assert [len(column) for column in columns_of(lines, 80)] == [1, 1]
    assert [len(column) for column in columns_of(lines, 10)] == [2]


def test_the_status_line_teaches_help_and_five_keys_and_the_help_has_five_groups() -> None:
    def row(name: str, keys: str, rank: int | None, *, is_move: bool = False) -> HelpRow:
        return HelpRow(keys, name, f"Do {name}", name.partition(".")[2], True, keys, rank, is_move=is_move)

    here = HelpSection("Timeline", "", (row("timeline.up", "↑", None, is_move=True), row("timeline.x", "x", 0)), False)
    names = ("app.help", "plan.a", "study.b", "call.c", "rows.d", "app.e")
    everywhere = HelpSection("Everywhere", "", tuple(row(name, name[-1], 9) for name in names), True)

    hints = key_hints([here._replace(rows=here.rows[1:]), everywhere])
    assert [hint.label for hint in hints] == ["help", "x", "a", "b", "c", "d"]

    groups = help_groups([here, everywhere], "Rows and text")
    assert [group.title for group in groups] == ["Here: Timeline", "Go to", "Plan", "Analysis", "Program"]
    assert [row.keys for row in groups[0].rows] == ["x", "↑", "d"]


def test_a_letter_of_a_menu_on_the_main_screen_does_one_thing_whatever_has_the_focus() -> None:
    main = {action.menu for action in MAIN if action.menu}
    tables = [table for table in vars(parts).values() if isinstance(table, tuple)]
    within = {action.menu for table in tables for action in table if action.menu}

    assert within
    assert not main & within


async def test_a_menu_is_shown_waits_for_a_letter_and_is_left(running, session_file) -> None:
    async with running(session_file.path, settings=Settings(keymap={"timeline.fold-all": "f8"})) as run:
        await run.until_shown("nothing worth changing here")
        shown = run.status_line
        await run.tap("g")
        await run.until_shown("cache miss")
        await run.tap("escape")
        await run.until_open("session")
        assert run.status_line == shown

        for key in ("z", "f", "z", "f", "z", "f"):
            run.send(key)
        await run.until(lambda: run.folds_everything)
        await run.press("f8")
        assert not run.folds_everything

        await run.press("g", "y")
        await run.until_shown("y is not in this menu (")
        assert run.on_top == "menu"
        await run.tap("enter")
        await run.until_shown("⏎ is not in this menu (")
        await run.tap("escape")
        await run.until_open("session")
        await run.press("home", "z", "p", "down", "down", "z", "p", "g", "p")
        first = run.timeline.cursor_block
        await run.press("n")
        assert run.timeline.cursor_block != first, "n goes on to where the jump goes"
        await run.press("N")
        assert run.timeline.cursor_block == first

        titles = run.commands()
        assert titles["Turn tiered-stale on"] == "1"
        assert titles["Go to the next failed tool result"] == "g f"
        assert titles["Compare strategies"] == "c"
        await run.press("v")
        await run.until_open("composition")
        await run.tap("g")
        await run.until_shown("by file")


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
        rank=0,
        named=PaletteName("Go five calls back", "The prompt of five calls before", has_outcome),
    ),
)
"""'''

LOOK = """
import asyncio, json, sys
from pathlib import Path
sys.path.insert(0, "scripts")
import keys
from textual._compositor import Compositor
from inspector.ui.headless import running_session
from inspector.ui.all_actions import problems_with_keymap
from inspector.ui.help.key_listing import help_sections
from inspector.settings import Settings
from inspector.ui.tune import sweeps

async def look(session):
    async with running_session(session, None, (300, 24), Settings()) as pilot:
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
    # The row is of the main screen.
    keys.STUDIES.clear()
    groups = await keys.key_groups(session)
    seen["documents"] = [(row.keys, row.text) for group in groups for row in group.section.rows]
    seen["keymap"] = [problems_with_keymap({"call.five-back": key}) for key in ("f9", "z")]
    return seen

# No frame is looked at.
Compositor.render_update = lambda *_, **__: None
print(json.dumps(asyncio.run(look(Path(sys.argv[1])))))
"""


def test_a_row_added_to_the_table_is_a_key_a_hint_a_line_of_help_a_command_a_line_of_the_documents_and_a_name(
    tmp_path: Path, session_file: Recording
) -> None:
    for folder in ("inspector", "scripts"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("samples"))
    table = tmp_path / "inspector" / "ui" / "main" / "screen.py"
    before = table.read_text(encoding="utf-8")
    table.write_text(before.replace('\n)\n"""', ROW), encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-c", LOOK, session_file.path],
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
    assert "Go five calls back" in seen["palette"]
    assert told in seen["documents"]
    assert seen["keymap"] == [[], ["call.five-back: z is already the key of menu.view; give that another key"]]
    assert re.match(r"call \d+ of \d+", seen["done"])


def test_keys_that_panes_name_are_those_of_the_actions_they_name():
    named = {
        "plan.best": (cost_answers.KEY_OF_TAKING,),
        "study.open-compare": (cost_answers.KEY_OF_COMPARE,),
        "study.open-misses": (cost_answers.KEY_OF_MISSES,),
        "compare.best": (compare_best.KEY_OF_BEST,),
        "compare.front": (compare_best.KEY_OF_FRONT,),
        "compare.fold": (compare_rows.KEY_OF_FOLD,),
        "tune.most": (sweeps.KEY_OF_MOST,),
        "timeline.next-risk": (hint_drawing.KEY_OF_RISKS.removeprefix(" · "),),
    }
    for name, keys in named.items():
        action = BY_NAME[name]
        pressed = {shown_key(key) for key in action.each_key} | {action.menu}
        assert pressed.issuperset(keys), f"{name} is pressed by {pressed}"
