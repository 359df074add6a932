"""Open sessions."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.session.discovery import describe_folder
from inspector.session.errors import SessionError
from inspector.session.files import Locator, is_folder, open_for_reading
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.registry import detect, format_named
from inspector.session.zstd import ZSTANDARD, is_zstd, unpacked_beginning
from inspector.session.zstd_reader import ZstdReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.session.model import Session
    from inspector.session.reader import Reader


def open_reader(path: Path | str, known: str = "") -> Reader:
    """Return a reader for `path`, with nothing read yet.

    Args:
        path: A file or folder.
        known: Name of its format if already detected; otherwise it is detected.

    Raises:
        SessionError: It cannot be read as a session.
    """
    path = Path(path)
    try:
        format_ = format_named(known) or detect(path).format
    except SessionError:
        if os.path.isdir(path):  # noqa: PTH112  # never raises
            raise SessionError(describe_folder(path)) from None
        raise
    if _is_compressed(Locator.of(path).file):
        return ZstdReader(path, partial(format_.reader_of_copy, path=path), grows=format_.grows_compressed)
    return format_.reader(path)


def _is_compressed(path: Path) -> bool:
    if is_folder(path):
        return False
    with open_for_reading(path) as file:
        begins_so = is_zstd(file.read(len(ZSTANDARD)))
    return begins_so and bool(unpacked_beginning(path, 1))  # a damaged line may begin with anything


def open_session(
    path: Path | str,
    *,
    progress: Callable[[int, int], None] | None = None,
    known: str = "",
    kept_characters: int = 0,
) -> Session:
    """Read a session.

    Args:
        path: Its file or folder.
        progress: Called while reading, with the bytes read and the total bytes.
        known: As in `open_reader`.
        kept_characters: Number of characters of text to cache in line-based formats, for callers that count and search
            the session immediately and then discard it.

    Raises:
        SessionError: It cannot be read as a session.
    """
    reader = open_reader(path, known)
    if kept_characters and isinstance(reader, JsonlReader):
        reader.keep_texts(kept_characters)
    for done, total in reader.load():
        if progress is not None:
            progress(done, total)
    return reader.snapshot()
