"""Dimensions and page counts of images and documents: from the first bytes of their base64; pages from all of it."""

from __future__ import annotations

import binascii
import struct
from typing import TYPE_CHECKING

from inspector.session.model import Media
from inspector.session.pdf import MOST_BYTES, count_pdf_pages

if TYPE_CHECKING:
    from collections.abc import Iterable

HEADER_CHARACTERS = 1 << 10
"""Enough base64 for the header of every format except JPEG, where an embedded preview may come first."""

JPEG_CHARACTERS = 1 << 19

PDF, PDF_BASE64 = "application/pdf", b"JVBER"
"""Media type of a PDF and the first characters of its base64."""

JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers of a JPEG frame header (ITU T.81, table B.1); 0xC4, 0xC8 and 0xCC are other segments."""


def media_of_base64(media_type: str, data: bytes, detail: str = "") -> Media:
    """Describe base64 data. Width, height and pages are 0 if unknown.

    `media_type` and `detail` are as in `Media`.
    """
    padding = len(data) - len(data.rstrip(b"="))
    size = max(len(data) * 3 // 4 - padding, 0)
    if media_type == PDF or data.startswith(PDF_BASE64):
        return Media(media_type or PDF, size, pages=count_pdf_pages(_decoded(data)) if size <= MOST_BYTES else 0)
    width, height = dimensions(_decoded(data[:HEADER_CHARACTERS]))
    if not width and data.startswith(b"/9j/"):
        width, height = dimensions(_decoded(data[:JPEG_CHARACTERS]))
    return Media(media_type, size, width, height, detail=detail)


def media_of_all(found: Iterable[tuple[str, str]]) -> tuple[tuple[Media, ...], tuple[bytes, ...]]:
    """Describe several media given as type and base64; also return the encoded bytes of each."""
    encoded = [(media_type, data.encode(errors="replace")) for media_type, data in found]
    return tuple(media_of_base64(*one) for one in encoded), tuple(data for _, data in encoded)


def media_of_data_url(url: str, detail: str = "") -> Media:
    """Describe a `data:` URL; for any other URL return media without dimensions. `detail` is as in `Media`."""
    if not url.startswith("data:"):
        return Media("", 0, detail=detail)
    head, _, data = url[5:].partition(",")
    return media_of_base64(head.partition(";")[0], data.encode(errors="replace"), detail)


def dimensions(header: bytes) -> tuple[int, int]:
    """Parse width and height in pixels from the first bytes of a PNG, GIF, WebP or JPEG; zeros if unknown."""
    try:
        if header.startswith(b"\x89PNG\r\n\x1a\n"):
            width, height = struct.unpack(">II", header[16:24])
        elif header.startswith((b"GIF87a", b"GIF89a")):
            width, height = struct.unpack("<HH", header[6:10])
        elif header.startswith(b"RIFF") and header[8:12] == b"WEBP":
            width, height = _webp(header)
        elif header.startswith(b"\xff\xd8"):
            width, height = _jpeg(header)
        else:
            return 0, 0
    except (struct.error, IndexError):
        return 0, 0
    return width, height


def _decoded(data: bytes) -> bytes:
    try:
        return binascii.a2b_base64(data[: len(data) // 4 * 4])
    except binascii.Error:
        return b""


def _webp(header: bytes) -> tuple[int, int]:
    kind = header[12:16]
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", header[26:30])
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L":
        bits = int.from_bytes(header[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X" and len(header) >= 30:
        return int.from_bytes(header[24:27], "little") + 1, int.from_bytes(header[27:30], "little") + 1
    return 0, 0


def _jpeg(header: bytes) -> tuple[int, int]:
    position = 2
    while position + 9 <= len(header):
        if header[position] != 0xFF:
            return 0, 0
        marker = header[position + 1]
        if marker == 0xFF:  # fill byte
            position += 1
            continue
        if marker in JPEG_FRAMES:
            height, width = struct.unpack(">HH", header[position + 5 : position + 9])
            return width, height
        position += 2 + int.from_bytes(header[position + 2 : position + 4], "big")
    return 0, 0
