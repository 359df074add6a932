"""In a real terminal every key of every part and every screen has its documented effect.

A key without effect would leave the screen unchanged, and the test would time out.
"""

import ast
import os
import re
import shutil
from pathlib import Path

import pytest

from inspector.ui.actions.screens import DIVISION_LETTERS, SECTION_LETTERS
from inspector.ui.all_actions import BY_NAME
from tests.conftest import ROOT
from tests.terminal import KEYS, TerminalProgram

pytestmark = pytest.mark.long

ROW = r"▶.*"
"""The row the cursor is on."""
IN_USE = r"▶.*\S +current .*"
"""The row the cursor is on, of the plan of the main screen."""
CALL = r"next prompt after|call \d+ of \d+"
HERE = r"◆here\b.*\d.*"
SLIDER = r"▸ +\w+ .*"
"""The control of the plan that has the focus."""
HEAD = r" +plan +.*changed.*"
"""The names of the columns, one of them marked."""
REST = r"│ {2}\S.*"
"""Rows the cursor is not on."""

TEXT = r"│[ ┊▎-](?! ?[#▶\d])\S.*"

MORE_KEYS = {
    "shift+up": "\x1b[1;2A",
    "shift+down": "\x1b[1;2B",
    "shift+right": "\x1b[1;2C",
    "shift+left": "\x1b[1;2D",
    "delete": "\x1b[3~",
    "ctrl+z": "\x1a",
    "ctrl+y": "\x19",
}

ELSEWHERE = {
    "test_terminal.py": (
        "app.",
        "call.",
        "chart.axis",
        "cost.",
        "plan.",
        "rows.",
        "session.",
        "study.open-",
        "pane.",
    ),
    "test_terminal_keys.py": ("detail.pager", "timeline.next-", "timeline.previous-"),
    "test_session_book.py": ("sessions.",),
    "test_reports.py": ("report.",),
    "test_failures.py": ("failure.",),
    "test_plan_panel.py": ("choice.", "switch.", "text.", "tools.", "strategy."),
    "test_plan_files.py": ("dialog.", "export.", "picker.", "picture."),
    "test_costs.py": ("explain.", "costs.enter", "costs.runs", "study.help", "study.picture"),
    "test_actions.py": ("menu.", "composition.menu", "costs.menu", "tune.menu", "heat.menu"),
    "test_search.py": ("find.", "text-find."),
    "test_app.py": ("help.", "diagnostics.", "difference."),
    "test_mouse.py": ("tune.tool",),
    "test_live.py": ("live.",),
    "test_files.py": ("files.", "known.", "study.files"),
}


class Tried(TerminalProgram):
    def found(self, pattern: str) -> list[str]:
        return [" ".join(match.split()) for match in re.findall(pattern, self.text)]

    def act(self, name: str, key: str, changes: str = "", shows: str = "", hides: str = "") -> None:
        if changes:
            # The effect of the previous key may be painted in parts: the rest of it is no answer to this key.
            self.rest()
        before = self.found(changes) if changes else []
        if shows:
            assert shows not in self.text, f"{name}: {shows} is there already\n{self.text}"
        if hides:
            assert hides in self.text, f"{name}: {hides} is not there to be hidden\n{self.text}"
        for each in key.split() or [key]:
            self.child.send((KEYS | MORE_KEYS).get(each, each))
        if changes:
            self.until(
                lambda: "esc closes the menu" not in self.text and self.found(changes) not in (before, []),
                f"{name} ({key}): a change of {before}",
            )
        if shows:
            # The effect of a menu letter may be painted before the menu closes, and the menu's text is still on the
            # screen.
            self.until(
                lambda: shows in self.text and "esc closes the menu" not in self.text, f"{name} ({key}): {shows}"
            )
        if hides:
            self.until(lambda: hides not in self.text, f"{name} ({key}): a screen without {hides}")

    def go(self, *keys: str, shows: str = "") -> None:
        for key in keys:
            self.child.send((KEYS | MORE_KEYS).get(key, key))
            self.rest()
        self.until(lambda: shows in self.text, shows)

    def come_to_rest(self) -> None:
        self.until(lambda: "replaying" not in self.last_line, "an end of replays")
        self.rest()


@pytest.fixture
def program(tmp_path: Path):
    path = tmp_path / "session.jsonl"
    shutil.copy(ROOT / "sample_sessions" / "coding-agent.jsonl", path)
    os.utime(path, (1e9, 1e9))
    with Tried(tmp_path, str(path)) as opened:
        opened.until(lambda: "Cost $" in opened.text, "the session")
        yield opened


def test_keys_of_the_timeline_the_chart_and_the_detail(program: Tried) -> None:
    act = program.act
    program.until(lambda: "▶ 69" in program.text, "the last row, at which a session that is idle begins")
    act("timeline.up", "up", changes=ROW)
    act("timeline.down", "down", changes=ROW)
    program.go("up")
    act("timeline.page-down", "pagedown", changes=ROW)
    act("timeline.page-up", "pageup", changes=ROW)
    act("timeline.last", "end", shows="FOLLOW")
    act("timeline.first", "home", changes=ROW)
    act("timeline.last", "end", changes=ROW)
    act("timeline.first", "home", changes=ROW)
    act("timeline.fold-all", "z f", shows="5 blocks · ")
    program.go("down", shows="▶  2▸")
    act("timeline.unfold", "right", shows="▶  2▾")
    act("timeline.close", "left", shows="▶  2▸")
    act("timeline.unfold", "right", shows="▶  2▾")
    act("timeline.open", "enter", shows="╭─ Detail")
    act("detail.close", "enter", hides="╭─ Detail")
    act("timeline.fold-all", "z f", hides=" blocks · ")
    act("timeline.pin", "z p", shows="◆")
    act("timeline.scale", "z l", shows="log")
    act("timeline.next-compaction", "g c", shows="▶── ")
    program.go("end", "home", shows="▶  1")
    act("timeline.next-error", "g f", changes=ROW)
    program.go("n")
    act("timeline.previous-error", "g F", changes=ROW)
    act("timeline.previous-pin", "g P", shows="◆")
    program.go("1", shows="saves $")
    act("timeline.next-cut", "g x", changes=ROW)
    program.go("n")
    act("timeline.previous-cut", "g X", changes=ROW)
    act("timeline.next-rise", "g b", changes=ROW)
    act("timeline.previous-rise", "g B", changes=ROW)
    act("timeline.next-break", "g m", changes=ROW)
    program.go("home", shows="▶  1")
    act("timeline.previous-break", "g M", changes=ROW)
    program.until(lambda: "needed cut text" in program.text, "the risks")
    program.go("home", shows="▶  1")
    act("timeline.next-risk", "g r", changes=ROW)
    program.go("n")
    act("timeline.previous-risk", "g R", changes=ROW)

    program.go("shift+tab")
    act("chart.before", "left", changes=CALL)
    act("chart.ten-before", "shift+left", changes=CALL)
    act("chart.after", "right", changes=CALL)
    act("chart.ten-after", "shift+right", changes=CALL)
    act("chart.first", "home", shows="call 1 of ")
    act("chart.now", "end", shows="next prompt after")

    program.go("escape", "home", "g", "x", "enter", shows="r read as")
    program.go("z", "z", shows="cut here")
    act("detail.raw", "r r", hides="cut here")
    act("detail.sent", "r s", shows="cut here")
    act("detail.difference", "r d", changes=TEXT)
    act("detail.markdown", "r m", changes=TEXT)
    act("detail.json", "r j", changes=TEXT)
    act("detail.record", "r R", shows='"parentUuid"')
    act("detail.down", "down", changes=TEXT)
    act("detail.up", "up", changes=TEXT)
    act("detail.page-down", "pagedown", changes=TEXT)
    act("detail.page-up", "pageup", changes=TEXT)
    act("detail.last", "end", changes=TEXT)
    act("detail.first", "home", changes=TEXT)
    act("detail.previous-view", "left", hides='"parentUuid"')
    act("detail.next-view", "right", shows='"parentUuid"')
    act("detail.find", "/", shows="find in")
    program.go(*"type", "enter", shows="1 of ")
    act("detail.next-match", "n", shows="2 of ")
    act("detail.previous-match", "N", shows="1 of ")
    act("detail.copy", "r y", shows="copied ")
    program.go("r", "s", shows="cut here")
    program.press("z", "z", shows="╭─ Timeline")
    act("detail.next-cut", "r x", changes=TEXT)


def test_keys_of_the_plan(program: Tried) -> None:
    act = program.act
    program.go("p", shows="▸ [ ] tiered-stale")
    act("strategy.switch", " ", shows="▸ [x] tiered-stale")
    act("plan.down", "down", changes=SLIDER)
    program.go("down", shows="▸ action")
    act("slider.raise-much", "right", changes=SLIDER)
    act("slider.lower-much", "left", changes=SLIDER)
    act("slider.raise", "shift+right", changes=SLIDER)
    act("slider.lower", "shift+left", changes=SLIDER)
    act("slider.lowest", "home", changes=SLIDER)
    act("slider.highest", "end", changes=SLIDER)
    act("slider.reset", "w r", changes=SLIDER)
    program.go("up", shows="▸ confirmation")
    act("plan.switch", " ", shows="[ ] tiered-stale")
    act("plan.up", "up", shows="▸ [ ] tiered-stale")
    program.go("down", "down", "down", "down", "down", "down", shows="▸ ▹")
    act("strategy.more", "enter", shows="▸ ▾")
    act("strategy.more", "enter", shows="▸ ▹")
    program.go("+", shows="Add a strategy")
    program.go(*"clear-old", "enter", shows="▸ [x] clear-old")
    act("strategy.earlier", "shift+up", changes=r"\[.\] (?:tiered-stale|clear-old)")
    act("strategy.later", "shift+down", changes=r"\[.\] (?:tiered-stale|clear-old)")
    act("strategy.remove", "delete", shows="clear-old removed; ctrl+z undoes it")


def test_keys_of_the_table_of_plans(program: Tried) -> None:
    act = program.act
    program.go("c", shows="Compare ")
    program.come_to_rest()
    act("table.down", "down", changes=ROW)
    act("table.up", "up", changes=ROW)
    act("table.page-down", "pagedown", changes=ROW)
    act("table.page-up", "pageup", changes=ROW)
    act("table.last", "end", changes=ROW)
    act("table.first", "home", changes=ROW)
    act("table.sort-left", "left", changes=HEAD)
    act("table.sort-right", "right", changes=HEAD)
    act("table.reverse", "s", changes=HEAD)
    act("table.scale", "L", changes=r"[█▏▎▍▌▋▊▉]+░*")
    act("compare.fold", "_", hides="never applied (hidden)")
    program.go("_", shows="never applied (hidden)")
    act("compare.front", "F", shows="Pareto front, saving vs. needed later")
    program.go("F", shows="Compare ")
    act("compare.read-on", "tab", hides="of the tested built-in plans that keep all user and assistant text")
    program.go("home", shows="▶●nothing cut")
    act("study.explain", "E", shows="Calculation")
    program.go("escape", "down", "down", "down", shows="Compare ")
    act("compare.add", "+", shows="ctrl+z undoes it")
    program.until(lambda: program.found(IN_USE), "the plan with the strategy")
    act("study.undo", "ctrl+z", changes=ROW)
    program.until(lambda: not program.found(IN_USE), "no plan at the cursor")
    act("study.redo", "ctrl+y", changes=ROW)
    program.until(lambda: program.found(IN_USE), "the plan with the strategy again")
    act("study.window", "v", shows="Window at the next prompt")
    act("study.costs", "$", shows="Totals over all calls")
    act("study.tune", "t", shows="Tune ")
    act("study.compare", "c", shows="Compare ")
    act("compare.best", "*", shows="ctrl+z")
    program.go("c", shows="Compare ")
    act("study.close", "escape", shows="Timeline")
    program.go("c", "down", "down", "down", shows="Compare ")
    act("compare.take", "enter", changes=r"●.*")


def test_keys_of_the_curves_and_the_map(program: Tried) -> None:
    act = program.act
    program.go("1", shows="saves $")
    program.go("t", shows="◇knee")
    program.come_to_rest()
    act("tune.raise", "right", changes=HERE)
    act("tune.lower", "left", changes=HERE)
    act("tune.far-higher", "shift+right", changes=HERE)
    act("tune.far-lower", "shift+left", changes=HERE)
    act("tune.lowest", "home", changes=HERE)
    act("tune.highest", "end", changes=HERE)
    act("tune.knee", "g k", changes=HERE)
    act("tune.plan", "g p", changes=HERE)
    # The best tried value, or a notice that there is none.
    act("tune.least", "g l")
    program.until(lambda: "no value that cuts" in program.text or "▾best" in program.text, "the best tried value")
    program.press("home")
    act("tune.apply", "enter", shows="applied to the plan")
    act("tune.next", "tab", changes=r"╭─ Tune .*")
    act("tune.most", "*", changes=r"╭─ Tune .*")
    act("tune.previous", "shift+tab", changes=r"╭─ Tune .*")
    act("tune.tool", "b", shows="for one tool")
    program.press("escape", hides="for one tool")
    act("tune.map", "m", shows="(→)")
    program.come_to_rest()
    act("heat.right", "right", changes=HERE)
    act("heat.left", "left", changes=HERE)
    act("heat.down", "down", changes=HERE)
    act("heat.up", "up", changes=HERE)
    # The best tried pair, or a notice that there is none.
    act("heat.least", "g l")
    program.until(lambda: "no pair that cuts" in program.text or "▾best" in program.text, "the best tried pair")
    act("heat.right", "right", changes=HERE)
    act("heat.plan", "g p", changes=HERE)
    program.go("right")
    act("heat.apply", "enter", changes=r"▲in the plan +\S.*")
    act("heat.across", "tab", changes=r"╭─ Tune .*")
    act("heat.limit-down", "shift+tab", changes=r"╭─ Tune .*")
    act("heat.curves", "m", shows="╭─ Tune tiered-stale: ")


def test_keys_of_the_window_and_the_costs(program: Tried) -> None:
    act = program.act
    program.go("1", shows="saves $")
    program.go("v", shows="this window")
    for place in (2, 3, 4, 5, 6, 1):
        act(f"composition.divide-{place}", f"g {DIVISION_LETTERS[place - 1]}", changes=REST)
    act("composition.scope", "e", changes=r"╭─ (?:Window|Everything).*")
    program.go("e", shows="Window at the next prompt")
    act("composition.call-before", "[", changes=r"╭─ Window.*")
    act("composition.far-before", "shift+left", changes=r"╭─ Window.*")
    act("composition.largest", "P", changes=r"╭─ Window.*")
    act("composition.call-after", "]", changes=r"╭─ Window.*")
    act("composition.far-after", "shift+right", changes=r"╭─ Window.*")
    act("composition.enter", "enter", changes=r"\? help .*")
    act("composition.other", "tab", changes=r"\? help .*")
    program.go("tab")
    act("composition.jump", "enter", shows="╭─ Timeline")

    program.go("$", shows="Totals over all calls")
    for place in (2, 3, 4, 5, 6, 7, 1):
        act(f"costs.section-{place}", f"g {SECTION_LETTERS[place - 1]}", changes=r"╭─ [^─]+")
    act("costs.next-section", "tab", changes=r"╭─ [^─]+")
    act("costs.section-before", "shift+tab", changes=r"╭─ [^─]+")
    act("study.misses", "M", shows="What if (projected)")
    act("misses.fold", "_", hides="not included above")
    act("misses.bill", "B", hides="Cost per call")
    program.go("B", shows="Cost per call")
    act("misses.model", "S", shows="Another model (projected)")
    program.go("escape")
    act("misses.enter", "enter", changes=r"\? help .*")
    act("misses.other", "tab", changes=r"\? help .*")
    program.go("tab")
    act("misses.jump", "enter", shows="╭─ Timeline")
    program.go("$", shows="Totals over all calls")
    act("study.quit", "q", shows="╭─ Timeline")


def test_every_named_key_is_tried_in_a_terminal_or_in_a_test_of_its_own() -> None:
    source = Path(__file__)
    tree = ast.parse(source.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    here = {
        str(node.args[0].value)
        for node in calls
        if isinstance(node.func, ast.Name) and node.func.id == "act" and isinstance(node.args[0], ast.Constant)
    }
    families = {"composition.divide-", "costs.section-"}
    elsewhere = tuple(prefix for prefixes in ELSEWHERE.values() for prefix in prefixes)

    keyed = {name for name, action in BY_NAME.items() if action.each_key or action.menu}
    left = {name for name in keyed if name not in here and not name.startswith((*elsewhere, *families))}

    assert left == set()
    assert all((source.parent / name).exists() for name in ELSEWHERE)
