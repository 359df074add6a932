"""Which file a tool result is about, and the reads of each file in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from inspector.session.model import PREVIEW_CHARACTERS, TextUnavailableError
from inspector.strategies.tools import Meaning, meaning_mask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.session.model import Block, Session
    from inspector.strategies.history import History

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
        known = _paths[call.digest] = _path_in(_arguments(session, call))
    return known


def read_results(
    history: History, extra_tools: tuple[str, ...]
) -> tuple[NDArray[np.int32], NDArray[np.int32], list[str]]:
    """The results of reads whose file is known.

    Args:
        history: What was recorded.
        extra_tools: Tools that count as reading, whatever the table says.

    Returns:
        Block indices, for each the index of its file, and the files' paths.
    """
    reads = meaning_mask(history.tool_names, (Meaning.READ,), extra_tools)
    results = history.results[reads[history.tool[history.results]]]
    results = results[history.call_block[results] >= 0]
    blocks, session = history.session.blocks, history.session
    files: dict[str, int] = {}
    numbers = np.empty(len(results), dtype=np.int32)
    for position, call in enumerate(history.call_block[results].tolist()):
        path = path_of(session, blocks[call])
        numbers[position] = files.setdefault(path, len(files)) if path else -1
    named = numbers >= 0
    return results[named], numbers[named], list(files)


def _arguments(session: Session, call: Block) -> object:
    try:
        text = call.preview if call.characters <= PREVIEW_CHARACTERS else session.text(call)
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, TextUnavailableError, UnicodeEncodeError):
        return None


def _path_in(arguments: object) -> str:
    if isinstance(arguments, dict):
        for name in PATH_ARGUMENTS:
            value = arguments.get(name)
            if isinstance(value, str) and value:
                return value
    return ""
