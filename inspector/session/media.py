"""Dimensions and page counts of images and documents: from the first bytes of their base64; pages from all of it.

The pages of a PDF are counted from its page tree, without parsing page contents. PDF libraries (pypdf, pikepdf) follow
the references of an untrusted file and take longer to import than this takes to run. This searches for one number
within bounds and gives up on unusual files.
"""

from __future__ import annotations

import binascii
import re
import struct
import zlib
from itertools import chain
from typing import TYPE_CHECKING

from inspector.session.model import Media

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


MOST_BYTES = 64 << 20
"""Upper limit on the file size: twice the limit of the providers."""

MOST_STREAMS, MOST_PACKED, MOST_UNPACKED = 1_000, 1 << 20, 8 << 20
"""Limits on the number of object streams and on their packed and unpacked bytes; each holds some hundred small objects.
"""

MOST_PAGES = 100_000

_MARK = b"%PDF-"
_BEGINNING = 1 << 10
"""The header may be anywhere in the first bytes (ISO 32000, annex H.3)."""

_TOKEN = re.compile(
    rb"(?P<opens><<)|(?P<closes>>>)|/Type\s{0,9}/(?:(?P<node>Pages\b)|(?P<page>Page\b))|/Count\s{1,9}(?P<count>\d{1,9})"
)
_DEEPEST = 10_000
"""Limit on nested dictionaries; packed data may look like the beginning of some."""

_OBJECTS = re.compile(rb"/Type\s{0,9}/ObjStm\b")
_STREAM = re.compile(rb"stream\r?\n")
_HEADER_BYTES = 1 << 10


def count_pdf_pages(data: bytes) -> int:
    """Return the number of pages of a PDF, or 0 if it is unknown or the data is not a PDF.

    The root has the largest `Count` of all page tree nodes (ISO 32000, 7.7.3.2). Newer files store the tree in object
    streams (7.5.7), which are unpacked; without a tree, the pages are counted.
    """
    if len(data) > MOST_BYTES or _MARK not in data[:_BEGINNING]:
        return 0
    largest, single = 0, 0
    for text in chain((data,), _unpacked(data)):
        for count in _counts(text):
            largest = max(largest, count)
            single += count == 0
    pages = largest or single
    return pages if pages <= MOST_PAGES else 0


def _counts(text: bytes) -> Iterator[int]:
    """Yield the count of every page tree node, and 0 for every page."""
    inside: list[list[int]] = []  # for each open dictionary: is it a node, and its count
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "opens":
            if len(inside) == _DEEPEST:
                inside.clear()
            inside.append([0, 0])
        elif kind == "page":
            yield 0
        elif not inside:
            continue
        elif kind == "closes":
            is_node, found = inside.pop()
            if is_node and found:
                yield found
        elif kind == "node":
            inside[-1][0] = 1
        else:
            inside[-1][1] = int(token["count"])


def _unpacked(data: bytes) -> Iterator[bytes]:
    for found, _ in zip(_OBJECTS.finditer(data), range(MOST_STREAMS), strict=False):
        begins = _STREAM.search(data, found.end(), found.end() + _HEADER_BYTES)
        if begins is not None:
            packed = data[begins.end() : begins.end() + MOST_PACKED]
            try:
                yield zlib.decompressobj().decompress(packed, MOST_UNPACKED)
            except zlib.error:
                continue


HEADER_CHARACTERS = 1 << 10
"""Enough base64 for the header of every format except JPEG, where an embedded preview may come first."""

JPEG_CHARACTERS = 1 << 19

PDF, PDF_BASE64 = "application/pdf", b"JVBER"
"""Media type of a PDF and the first characters of its base64."""

JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers of a JPEG frame header (ITU T.81, table B.1); 0xC4, 0xC8 and 0xCC are other segments."""


def media_of_base64(media_type: str, data: bytes, detail: str = "") -> Media:
    """Describe base64 data. Width, height and pages are 0 if unknown. `media_type` and `detail` are as in `Media`."""
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
