"""How many pages a PDF has, told from its page tree without reading what is on them.

Libraries that read documents (pypdf, pikepdf) follow the references of a file that nobody vouches for, and take longer
to load than this looks; here one number is looked for within bounds, and not found where a file is anything unusual.
"""

from __future__ import annotations

import re
import zlib
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_BYTES = 64 << 20
"""A larger one is not looked into: twice what providers take."""

MOST_STREAMS, MOST_PACKED, MOST_UNPACKED = 1_000, 1 << 20, 8 << 20
"""Streams of objects that are looked into, and bytes of one; each holds some hundred small objects."""

MOST_PAGES = 100_000

_MARK = b"%PDF-"
_BEGINNING = 1 << 10
"""The mark stands somewhere in the first bytes (ISO 32000, annex H.3)."""

_TOKEN = re.compile(
    rb"(?P<opens><<)|(?P<closes>>>)|/Type\s{0,9}/(?:(?P<node>Pages\b)|(?P<page>Page\b))|/Count\s{1,9}(?P<count>\d{1,9})"
)
_DEEPEST = 10_000
"""Dictionaries within one another; what is packed looks like the beginning of some."""

_OBJECTS = re.compile(rb"/Type\s{0,9}/ObjStm\b")
_STREAM = re.compile(rb"stream\r?\n")
_HEADER_BYTES = 1 << 10


def pages_of_pdf(data: bytes) -> int:
    """The pages of a PDF; 0 where that cannot be told, or it is none.

    The largest `Count` of a node of the page tree is that of its root (ISO 32000, 7.7.3.2). Newer files keep the tree
    in streams of objects (7.5.7), which are unpacked; where there is none, pages are counted one by one.

    Args:
        data: The file.
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
    """The count of every node of the page tree, and 0 for every page."""
    inside: list[list[int]] = []  # of every dictionary: whether it is a node, and a count in it
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
    """What the streams of objects hold."""
    for found, _ in zip(_OBJECTS.finditer(data), range(MOST_STREAMS), strict=False):
        begins = _STREAM.search(data, found.end(), found.end() + _HEADER_BYTES)
        if begins is not None:
            packed = data[begins.end() : begins.end() + MOST_PACKED]
            try:
                yield zlib.decompressobj().decompress(packed, MOST_UNPACKED)
            except zlib.error:
                continue
