"""Which file a tool result is about, and the reads of each file in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from weakref import ReferenceType, ref

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


class Reads(NamedTuple):
    """The results of reads whose file is known.

    Attributes:
        results: Block indices, int32.
        files: For each, the index of its file in `paths`, int32.
        paths: The files.
    """

    results: NDArray[np.int32]
    files: NDArray[np.int32]
    paths: tuple[str, ...]


_last: tuple[ReferenceType[History], tuple[str, ...], Reads] | None = None


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


def reads_of(history: History, extra_tools: tuple[str, ...]) -> Reads:
    """The results of reads whose file is known; the latest answer is remembered, for a limit that is being dragged.

    Args:
        history: What was recorded.
        extra_tools: Tools that count as reading, whatever the table says.
    """
    global _last  # noqa: PLW0603  one answer for one history, replaced whole
    known = _last
    if known is None or known[0]() is not history or known[1] != extra_tools:
        known = _last = (ref(history), extra_tools, _find(history, extra_tools))
    return known[2]


def _find(history: History, extra_tools: tuple[str, ...]) -> Reads:
    reads = meaning_mask(history.tool_names, (Meaning.READ,), extra_tools)
    results = history.results[reads[history.tool[history.results]]]
    results = results[history.call_block[results] >= 0]
    blocks, session = history.session.blocks, history.session
    calls = [blocks[call] for call in history.call_block[results].tolist()]
    found = [_paths.get(call.digest) for call in calls]
    paths = [path_of(session, call) if path is None else path for path, call in zip(found, calls, strict=True)]
    numbers: dict[str, int] = {"": -1}
    files = np.array([numbers.setdefault(path, len(numbers) - 1) for path in paths], dtype=np.int32)
    return Reads(results[files >= 0], files[files >= 0], tuple(numbers)[1:])


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
