"""Count the pages of a PDF from its page tree, without parsing page contents.

PDF libraries (pypdf, pikepdf) follow the references of an untrusted file and take longer to import than this takes to
run. This searches for one number within bounds and gives up on unusual files.
"""

from __future__ import annotations

import re
import zlib
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

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
