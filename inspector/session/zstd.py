"""Detect and decompress files compressed with Zstandard."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, BinaryIO

from inspector.errors import InspectorError
from inspector.session.files import open_for_reading

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ZSTANDARD = b"\x28\xb5\x2f\xfd"
"""Magic number, without its last byte (RFC 8878, 3.1.1)."""

PIECE_BYTES = 1 << 20


class DamagedError(InspectorError):
    """A compressed file is truncated or invalid."""

    advice = "copy the file again from its source"


def is_zstd(head: bytes) -> bool:
    return head.startswith(ZSTANDARD)


def unpacked_beginning(path: Path, count: int) -> bytes:
    """Return up to `count` first bytes of the content, fewer if damaged. Raises `SessionError` if unopenable."""
    pieces: list[bytes] = []
    try:
        for piece in unpacked(open_for_reading(path)):
            pieces.append(piece)
            if sum(map(len, pieces)) >= count:
                break
    except (DamagedError, OSError):
        pass  # the bytes unpacked so far are enough, or there are none
    return b"".join(pieces)[:count]


def unpacked(file: BinaryIO) -> Iterator[bytes]:
    """Yield the content of one or several frames. Raises `DamagedError` if it is truncated or not compressed."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    frame = zstd.ZstdDecompressor()
    data = file.read(PIECE_BYTES)
    try:
        while data or not frame.needs_input:
            if piece := frame.decompress(data, PIECE_BYTES):
                yield piece
            data = b""
            if frame.eof:
                data, frame = frame.unused_data or file.read(PIECE_BYTES), zstd.ZstdDecompressor()
                if not data:
                    return
            elif frame.needs_input:
                data = file.read(PIECE_BYTES)
    except zstd.ZstdError as error:
        raise DamagedError from error
    raise DamagedError
