"""Hostile session files with texts that disturb terminals and programs."""

import json
import re
from pathlib import Path
from typing import Any

HOSTILE = (
    "[/foo] [b [@click=app.quit]x[/] \x1b[31mred\x1b]52;c;aGk=\x07 \x1bP1;2|x\x1b\\ \x9b31m \x9d0;t\x9c "
    "\u202egnp.exe\u202c \u2066x\u2069 \u200b\ufeff \x00\x7f \r\n\ttab 👩‍👩‍👧 e\u0301\u0301 {0} %s \ud800"
)

HOSTILE_TEXTS = [
    "[/foo] is no tag",
    "[b unterminated",
    "[@click=app.quit]hi[/]",
    "\x1b[31mred\x1b[0m",
    "\x1b]52;c;aGk=\x1b\\",
    "\x1bP$q\x1b\\",
    "\x9b31m\x9d52;c;x\x9c",
    "a\u202eb\u2066c",
    "日本語 한국어 mixed with narrow",
    "👩\u200d👩\u200d👧 👍\U0001f3fd ❤\ufe0f 🇫🇷",
    "e" + "\u0301" * 50,
    "\udcff\ud83d",
    "a\tb\r\nc\u2028d\x85e",
    "\U000e0041\U000e0042",
    "\u200d",
    "",
]

DISTURBING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")

# Without these, records are no longer joined to one another, and most of the session would not be read at all.
STRUCTURE = {
    "type",
    "subtype",
    "role",
    "uuid",
    "parentUuid",
    "sessionId",
    "id",
    "tool_use_id",
    "timestamp",
    "requestId",
}


def hostile_copy(source: Path, target: Path, said: str = HOSTILE) -> Path:
    """A copy of a session of one record a line with every text that is no structure turned hostile."""
    lines = [json.dumps(_hostile(json.loads(line), said)) for line in source.read_text(encoding="utf-8").splitlines()]
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return target


def _hostile(value: Any, said: str) -> Any:
    match value:
        case dict():
            return {
                name: inner if name in STRUCTURE and isinstance(inner, str) else _hostile(inner, said)
                for name, inner in value.items()
            }
        case list():
            return [_hostile(inner, said) for inner in value]
        case str():
            return said + value
        case _:
            return value
