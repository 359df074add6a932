"""Views of a block: raw, as sent, difference, formatted, Markdown, and its source record."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from inspector.safe_text import cell_width, one_line
from inspector.session.model import TextUnavailableError
from inspector.ui.detail.content import (
    DetailSection,
    Document,
    SectionKind,
    TextForm,
    form_of,
    note_section,
    sent_sections,
)
from inspector.ui.detail.page import wrap

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from inspector.ui.detail.content import DetailContent
    from inspector.ui.detail.page import DetailPage, PageRow

_NAMED: Final = re.compile(r"\S(?:.{0,28}?\S)?\s{2,}(?=\S)")
"""A short name and the blanks between it and its value."""


Shown = Literal["raw", "sent", "difference", "laid", "markdown", "record"]
VIEWS: Final[tuple[tuple[Shown, str], ...]] = (
    ("raw", "raw"),
    ("sent", "as sent"),
    ("difference", "difference"),
    ("laid", "formatted"),
    ("markdown", "markdown"),
    ("record", "record"),
)
"""All views with their labels."""

BETWEEN_VIEWS: Final = " │ "

EMPTY: Final = "This block has no text."
NO_RECORD: Final = "This block has no separate record."


def views_in(width: int, active: Shown) -> tuple[tuple[Shown | None, str], ...]:
    """Choose the view labels that fit, always including the active one; an ellipsis, with None, replaces others."""
    more: tuple[tuple[Shown | None, str], ...] = ((None, "…"),)
    place = next(index for index, (shown, _) in enumerate(VIEWS) if shown == active)
    for start in range(place + 1):
        for stop in range(len(VIEWS), place, -1):
            named = (*(more if start else ()), *VIEWS[start:stop], *(more if stop < len(VIEWS) else ()))
            if cell_width(BETWEEN_VIEWS.join(name for _, name in named)) <= width:
                return named
    return (VIEWS[place],)


class Prepared(NamedTuple):
    """A view ready to draw.

    Attributes:
        page: The page.
        recorded: The recorded text, None if it was not or could not be read.
    """

    page: DetailPage
    recorded: str | None


def prepare(content: DetailContent, recorded: str | None, shown: Shown, width: int) -> Prepared:
    """Read a block's text unless `recorded` has it, and wrap it for a view; `width` excludes the gutter."""
    if content.lead or content.tail:
        within = prepare(replace(content, lead=(), tail=()), recorded, shown, width)
        return Prepared(Joined.around(content.lead, within.page, content.tail, width), within.recorded)
    if content.parts:
        return Prepared(_joined(content.parts, shown, width), None)
    try:
        if shown == "record":
            return Prepared(_record(content, width), recorded)
        text = content.raw() if recorded is None else recorded
    except (TextUnavailableError, OSError) as error:
        reason = one_line(str(error)) or "its file was replaced or deleted"
        return Prepared(_sentence_page(f"unavailable: {reason}", width), None)
    page = _page(content, text, shown, width)
    if content.media and not len(page):
        page = _sentence_page("\n".join(content.media), width)
    return Prepared(page if len(page) else _sentence_page(EMPTY, width), text)


def _joined(parts: tuple[DetailContent, ...], shown: Shown, width: int) -> DetailPage:
    """Join all blocks of a message, each below its title; a record that holds several blocks is shown once."""
    named, records = [], set()
    for part in parts:
        if shown == "record" and part.record is not None:
            try:
                record = part.record()
            except (TextUnavailableError, OSError):
                record = b""
            if record and record in records:
                continue
            records.add(record)
        named.append((part.title, prepare(part, None, shown, width).page))
    return Joined.of(named, width)


def _page(content: DetailContent, recorded: str, shown: Shown, width: int) -> DetailPage:
    if shown == "difference":
        from inspector.ui.detail.difference import difference_page

        return difference_page(recorded, content, width)
    if shown == "markdown" and recorded:
        from inspector.ui.detail.markdown import Rendered

        return Rendered.of(recorded, width)
    if shown == "laid" and recorded:
        from inspector.ui.detail.layout import layout_sections

        return Document.of(layout_sections(recorded, is_tool_call=content.is_tool_call), width)
    media = tuple(DetailSection(f"{label}\n", SectionKind.NOTE) for label in content.media)
    if shown == "sent":
        sections = sent_sections(recorded, content)
    else:
        sections = (DetailSection(recorded, SectionKind.RECORDED, form_of(recorded)), *_stored(content, recorded))
    return Document.of((*media, *sections), width)


def _stored(content: DetailContent, recorded: str) -> tuple[DetailSection, ...]:
    """Return the full output behind a preview, shown below it."""
    found = content.stored(recorded) if content.stored is not None else None
    if found is None:
        return ()
    name = one_line(f"{found.file.parent.name}/{found.file.name}")
    if found.text is None:
        return (note_section(f"the full output was saved in {name}, which was not found"),)
    reported = note_section(
        f"the model received only the text above; the full output ({len(found.text):,} characters) from {name}:"
    )
    return (reported, DetailSection(found.text, SectionKind.ABSENT, form_of(found.text)))


def _record(content: DetailContent, width: int) -> DetailPage:
    record = b"" if content.record is None else content.record()
    if not record:
        return _sentence_page(NO_RECORD, width)
    text = record.decode("utf-8", "replace")
    try:
        laid = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return Document.of((DetailSection(text, SectionKind.RECORDED),), width)
    return Document.of((DetailSection(laid, SectionKind.RECORDED, TextForm.JSON),), width)


def _remarks(lines: tuple[str, ...], width: int, *, blank_below: bool = False) -> Document:
    """Format a heading, optionally after a blank line, and the lines below it."""
    if not lines:
        return Document.of((), width)
    first = 1 if lines[0] else 2
    heading = DetailSection("\n".join(lines[:first]) + "\n", SectionKind.NAME)
    folded = [_hung(line, width) for line in lines[first:]]
    below = "\n".join((*folded, "", "") if blank_below else folded)
    return Document.of((heading, DetailSection(below, SectionKind.RECORDED)), width)


def _hung(line: str, width: int) -> str:
    """Wrap a line of name and value with a hanging indent."""
    named = _NAMED.match(line)
    indent = len(named[0]) if named is not None else 0
    if not 0 < indent <= width // 2:
        return line
    reported = wrap(line[indent:], width - indent)
    rows = [reported.text[start:end].rstrip() for start, end in zip(reported.starts, reported.ends, strict=True)]
    return line[:indent] + f"\n{' ' * indent}".join(rows)


def _sentence_page(sentence: str, width: int) -> DetailPage:
    return Document.of((DetailSection(sentence, SectionKind.NOTE),), width)


@dataclass(frozen=True, eq=False)
class Joined:
    """Pages one below the other.

    Attributes:
        pages: The pages in order.
        names: Per page, True for headings, which are not part of the text.
        first_rows: First row of each page, followed by the total number of rows.
    """

    pages: tuple[DetailPage, ...]
    names: tuple[bool, ...]
    first_rows: tuple[int, ...]

    @classmethod
    def of(cls, named: Iterable[tuple[str, DetailPage]], width: int) -> Joined:
        """Place pages below their headings, which need not be safe; `width` excludes the gutter."""
        pages: list[DetailPage] = []
        first_rows = [0]
        for name, page in named:
            heading = DetailSection(f"\n{name}" if pages else name, SectionKind.NAME)
            for each in (Document.of((heading,), width), page):
                pages.append(each)
                first_rows.append(first_rows[-1] + len(each))
        return cls(tuple(pages), tuple(place % 2 == 0 for place in range(len(pages))), tuple(first_rows))

    @classmethod
    def around(cls, lead: tuple[str, ...], page: DetailPage, tail: tuple[str, ...], width: int) -> Joined:
        """Place a page between remarks that are not part of its text; `width` excludes the gutter."""
        pages = (_remarks(lead, width, blank_below=len(lead) > 1), page, _remarks(("", *tail) if tail else (), width))
        first_rows = [0]
        for each in pages:
            first_rows.append(first_rows[-1] + len(each))
        return cls(pages, (True, False, True), tuple(first_rows))

    def __len__(self) -> int:
        return self.first_rows[-1]

    def shown(self, index: int) -> PageRow:
        place = int(np.searchsorted(self.first_rows, index, side="right")) - 1
        return self.pages[place].shown(index - self.first_rows[place])

    def note_rows(self) -> tuple[int, ...]:
        rows = zip(self.first_rows, self.pages, strict=False)
        return tuple(first + row for first, page in rows for row in page.note_rows())

    def find(self, words: str) -> NDArray[np.int64]:
        """Return the row of every match outside headings, ignoring case, ascending."""
        found = [np.zeros(0, dtype=np.int64)]
        for first, page, is_name in zip(self.first_rows, self.pages, self.names, strict=False):
            if not is_name:
                found.append(page.find(words) + first)
        return np.concatenate(found)

    def whole(self) -> str:
        """Return all texts without headings."""
        texts = (page.whole() for page, is_name in zip(self.pages, self.names, strict=True) if not is_name)
        return "\n".join(texts)
