"""Telling tool calls that ask for the same: by tool and input, in whatever order the input's names stand."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from inspector.session.model import PREVIEW_CHARACTERS, TextUnavailableError
from inspector.strategies.arguments import path_of

if TYPE_CHECKING:
    from inspector.session.model import Block, Session

_REMEMBERED = 200_000
_signatures: dict[bytes, str] = {}
_PATCHED_FILE = re.compile(r"\*\*\* (?:Add|Delete|Update) File: ([^\n\r]+)")


def signature_of(session: Session, call: Block) -> str:
    """What a tool call asks for; equal texts for equal tools and inputs.

    Values that are null count as not given. The rule is opencode-dcp's (`lib/strategies/deduplication.ts`). What was
    found is remembered by the input's digest.
    """
    known = _signatures.get(call.digest)
    if known is None:
        if len(_signatures) >= _REMEMBERED:
            _signatures.clear()
        known = _signatures[call.digest] = _of_input(_input(session, call))
    return f"{call.tool_name}::{known}"


def files_of(session: Session, call: Block) -> tuple[str, ...]:
    """The files a tool call names in its input, those of a patch included."""
    named = path_of(session, call)
    value = _decoded(_input(session, call)) if call.tool_name in ("apply_patch", "multiedit") else None
    found = [named] if named else []
    if isinstance(value, dict):
        if isinstance(value.get("patchText"), str):
            found += [path.strip() for path in _PATCHED_FILE.findall(value["patchText"])]
        edits = value.get("edits")
        for edit in edits if isinstance(edits, list) else ():
            if isinstance(edit, dict) and isinstance(edit.get("filePath"), str):
                found.append(edit["filePath"])
    return tuple(dict.fromkeys(found))


def _input(session: Session, call: Block) -> str:
    try:
        return call.preview if call.characters <= PREVIEW_CHARACTERS else session.text(call)
    except TextUnavailableError:
        return call.preview


def _decoded(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def _of_input(text: str) -> str:
    value = _decoded(text)
    if not isinstance(value, dict):
        return text
    try:
        given = {name: each for name, each in value.items() if each is not None}
        return msgspec.json.encode(given, order="deterministic").decode()
    except (UnicodeEncodeError, RecursionError):
        return text
