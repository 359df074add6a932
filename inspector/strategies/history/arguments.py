"""What a tool call's arguments name: a file, an address. Every agent calls these arguments something of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from inspector.session.model import PREVIEW_CHARACTERS, TextUnavailableError

if TYPE_CHECKING:
    from inspector.session.model import Block, Session

PATH_ARGUMENTS = (
    "file_path",
    "path",
    "filePath",
    "absolute_path",
    "filename",
    "file",
    "target_file",
    "notebook_path",
    "AbsolutePath",
)
"""What agents call the argument that names a file, most common first."""

PART_ARGUMENTS = (
    "offset",
    "limit",
    "start_line",
    "end_line",
    "startLine",
    "endLine",
    "view_range",
    "line_range",
    "start_line_one_indexed",
    "end_line_one_indexed_inclusive",
    "pages",
)
"""What agents call the arguments that name a part of a file."""

_REMEMBERED = 200_000
_paths: dict[bytes, str] = {}


def path_of(session: Session, call: Block) -> str:
    """The file a tool call names in its arguments; empty where it names none.

    Short arguments are in the block's preview, so that hardly ever a text has to be read again. What was found is
    remembered by the arguments' digest.
    """
    known = _paths.get(call.digest)
    if known is None:
        if len(_paths) >= _REMEMBERED:
            _paths.clear()
        known = _paths[call.digest] = _named(session, call, PATH_ARGUMENTS)
    return known


def paths_of(session: Session, calls: list[Block]) -> list[str]:
    """The files many tool calls name."""
    found = [_paths.get(call.digest) for call in calls]
    return [path_of(session, call) if path is None else path for path, call in zip(found, calls, strict=True)]


def names_a_part(session: Session, call: Block) -> bool:
    """Whether a tool call asks for a part of a file only."""
    arguments = _arguments(session, call)
    return isinstance(arguments, dict) and any(arguments.get(name) is not None for name in PART_ARGUMENTS)


def url_of(session: Session, call: Block) -> str:
    """The address a tool call opens; empty where it opens none."""
    return _named(session, call, ("url",))


def _named(session: Session, call: Block, names: tuple[str, ...]) -> str:
    arguments = _arguments(session, call)
    if isinstance(arguments, dict):
        for name in names:
            value = arguments.get(name)
            if isinstance(value, list) and all(isinstance(word, str) for word in value):
                value = " ".join(value)
            if isinstance(value, str) and value:
                return value
    return ""


def _arguments(session: Session, call: Block) -> object:
    try:
        text = call.preview if call.characters <= PREVIEW_CHARACTERS else session.text(call)
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, TextUnavailableError, UnicodeEncodeError):
        return None
