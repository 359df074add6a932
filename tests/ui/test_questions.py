"""The table of questions names keys and words that are there."""

import re
from pathlib import Path

import pytest
from textual.binding import Binding

from inspector.ui.screens.inspect_keys import INSPECT_BINDINGS
from inspector.ui.widgets.timeline import Timeline

ROOT = Path(__file__).resolve().parents[2]
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in (ROOT / "docs" / "questions.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and "---" not in line
][1:]


def key_of(written: str) -> str:
    """A key as Textual names it."""
    key = {"esc": "escape", "⌫": "backspace", "→": "right"}.get(written, written)
    return next(iter(Binding.make_bindings([Binding(key, "")]))).key


@pytest.mark.parametrize(("question", "answer", "keys"), ROWS, ids=[row[0][:40] for row in ROWS])
def test_every_question_is_answered_by_keys_of_the_main_screen(question: str, answer: str, keys: str) -> None:
    known = {binding.key for binding in Binding.make_bindings([*INSPECT_BINDINGS, *Timeline.BINDINGS])}
    named = [key_of(written) for written in re.findall(r"`([^`]+)`", keys)]

    assert answer
    assert named
    assert set(named) <= known
