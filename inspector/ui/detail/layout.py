"""Formatted view of a text: tool input by argument, edits as diffs, JSON with one member per line."""

from __future__ import annotations

import json
from difflib import unified_diff
from typing import Final

from inspector.ui.detail.content import DetailSection, SectionKind, TextForm, form_of, format_json

NOTHING_TO_FORMAT: Final = "⋯ nothing to format: the text is not JSON and not a diff ⋯"
LONGEST_COMPARED: Final = 4000
"""Maximum number of lines of an edit to diff; longer edits are shown as removed and added."""

_PAIRS: Final = (("old_string", "new_string"), ("old_str", "new_str"), ("oldText", "newText"), ("old_text", "new_text"))


def layout_sections(recorded: str, *, is_tool_call: bool) -> tuple[DetailSection, ...]:
    """Format a recorded text; the text of a tool call is its JSON input."""
    if is_tool_call:
        try:
            value = json.loads(recorded)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            return input_sections(value)
    formatted = format_json(recorded)
    if formatted is not None:
        return (DetailSection(formatted, SectionKind.RECORDED, TextForm.JSON),)
    form = form_of(recorded)
    if form is TextForm.DIFFERENCE:
        return (DetailSection(recorded, SectionKind.RECORDED, form),)
    return (DetailSection(NOTHING_TO_FORMAT, SectionKind.NOTE), DetailSection(recorded, SectionKind.RECORDED))


def input_sections(arguments: dict[str, object]) -> tuple[DetailSection, ...]:
    """Format tool input by argument: long texts below their names, edits as diffs."""
    sections: list[DetailSection] = []
    seen: set[str] = set()
    for name, value in arguments.items():
        if name in seen:
            continue
        pair = next((pair for pair in _PAIRS if name in pair and _is_edit(arguments, pair)), None)
        if pair is not None:
            seen |= set(pair)
            sections += _edit(str(arguments[pair[0]]), str(arguments[pair[1]]))
        else:
            sections += _argument(name, value)
    return tuple(sections)


def _is_edit(arguments: dict[str, object], pair: tuple[str, str]) -> bool:
    return all(isinstance(arguments.get(name), str) for name in pair)


def _edit(old: str, new: str) -> list[DetailSection]:
    before, after = old.splitlines(), new.splitlines()
    if max(len(before), len(after)) > LONGEST_COMPARED:
        lines = [*(f"-{line}" for line in before), *(f"+{line}" for line in after)]
    else:
        lines = list(unified_diff(before, after, n=3, lineterm=""))[2:] or [f" {line}" for line in before]
    return [DetailSection("\n".join(lines) + "\n", SectionKind.RECORDED, TextForm.DIFFERENCE)]


def _argument(name: str, value: object) -> list[DetailSection]:
    if isinstance(value, str) and "\n" in value:
        text = value if value.endswith("\n") else f"{value}\n"
        return [
            DetailSection(f"{name}:\n", SectionKind.NAME),
            DetailSection(text, SectionKind.RECORDED, form_of(value)),
        ]
    if isinstance(value, list) and value and all(isinstance(entry, dict) for entry in value):
        named = [DetailSection(f"{name}:\n", SectionKind.NAME)]
        return [*named, *(section for entry in value for section in input_sections(entry))]
    shown = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    return [DetailSection(f'"{name}": {shown}\n', SectionKind.RECORDED, TextForm.JSON)]
