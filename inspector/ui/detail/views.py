"""The views of a block: as recorded, as sent, both compared, laid out, as Markdown, and the record it came from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from inspector.safe_text import one_line
from inspector.session.model import TextUnavailableError
from inspector.ui.detail.content import Document, Section, SectionKind, note_section, sent_sections
from inspector.ui.detail.forms import Form, form_of

if TYPE_CHECKING:
    from inspector.ui.detail.content import DetailContent
    from inspector.ui.detail.page import Page

Shown = Literal["raw", "sent", "difference", "laid", "markdown", "record"]
VIEWS: Final[tuple[tuple[Shown, str], ...]] = (
    ("raw", "raw"),
    ("sent", "as sent"),
    ("difference", "difference"),
    ("laid", "laid out"),
    ("markdown", "markdown"),
    ("record", "record"),
)
"""Every view and what it is called."""

EMPTY: Final = "This block has no text."
NO_RECORD: Final = "This block has no record of its own."


class Prepared(NamedTuple):
    """A view that can be drawn.

    Attributes:
        page: What to show.
        recorded: The recorded text, None where it was not or could not be read.
    """

    page: Page
    recorded: str | None


def prepare(content: DetailContent, recorded: str | None, shown: Shown, width: int) -> Prepared:
    """Read a block's text where it has not been read, and fold what is to be shown of it.

    Args:
        content: The block.
        recorded: Its recorded text, if it has been read.
        shown: Which view.
        width: Cells of a row, the first of them left out.
    """
    if content.parts:
        return Prepared(_joined(content.parts, shown, width), None)
    try:
        if shown == "record":
            return Prepared(_record(content, width), recorded)
        text = content.raw() if recorded is None else recorded
    except (TextUnavailableError, OSError) as error:
        reason = one_line(str(error)) or "its file was replaced or is gone"
        return Prepared(_said(f"unavailable: {reason}", width), None)
    page = _page(content, text, shown, width)
    if content.media and not len(page):
        page = _said("\n".join(content.media), width)
    return Prepared(page if len(page) else _said(EMPTY, width), text)


def _joined(parts: tuple[DetailContent, ...], shown: Shown, width: int) -> Page:
    """All blocks of a message, each below what it is; a record that holds several of them is shown once."""
    from inspector.ui.detail.joined import Joined

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


def _page(content: DetailContent, recorded: str, shown: Shown, width: int) -> Page:
    if shown == "difference":
        from inspector.ui.detail.difference import difference_page

        return difference_page(recorded, content, width)
    if shown == "markdown" and recorded:
        from inspector.ui.detail.markdown import Rendered

        return Rendered.of(recorded, width)
    if shown == "laid" and recorded:
        from inspector.ui.detail.layout import layout_sections

        return Document.of(layout_sections(recorded, is_tool_call=content.is_tool_call), width)
    media = tuple(Section(f"{label}\n", SectionKind.NOTE) for label in content.media)
    if shown == "sent":
        sections = sent_sections(recorded, content)
    else:
        sections = (Section(recorded, SectionKind.RECORDED, form_of(recorded)), *_stored(content, recorded))
    return Document.of((*media, *sections), width)


def _stored(content: DetailContent, recorded: str) -> tuple[Section, ...]:
    """The whole output behind a preview, below it."""
    found = content.stored(recorded) if content.stored is not None else None
    if found is None:
        return ()
    name = one_line(f"{found.file.parent.name}/{found.file.name}")
    if found.text is None:
        return (note_section(f"all of it was kept in {name}, which is not there (any more)"),)
    said = note_section(f"the model was sent no more than this; all {len(found.text):,} characters, from {name}:")
    return (said, Section(found.text, SectionKind.ABSENT, form_of(found.text)))


def _record(content: DetailContent, width: int) -> Page:
    record = b"" if content.record is None else content.record()
    if not record:
        return _said(NO_RECORD, width)
    text = record.decode("utf-8", "replace")
    try:
        laid = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return Document.of((Section(text, SectionKind.RECORDED),), width)
    return Document.of((Section(laid, SectionKind.RECORDED, Form.JSON),), width)


def _said(sentence: str, width: int) -> Page:
    return Document.of((Section(sentence, SectionKind.NOTE),), width)
