"""Views of a block: raw, as sent, difference, formatted, Markdown, and its source record."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import termios
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import unified_diff
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from inspector.errors import InspectorError
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.figure import HowKnown
from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import cell_width, one_line, safe_text
from inspector.session.files import temporary_folder
from inspector.session.model import Session, TextUnavailableError
from inspector.ui.detail.content import (
    DetailSection,
    Document,
    SectionKind,
    TextForm,
    difference_page,
    form_of,
    format_json,
    note_section,
    sent_sections,
)
from inspector.ui.detail.page import DetailPage, PageRow, Rendered, wrap
from inspector.ui.miss_glyphs import WITH_PLAN, dollars, mark_of, rewritten_tokens_text
from inspector.ui.timeline.rows import preview

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from inspector.replay.analysis.cache_misses import CacheMiss
    from inspector.replay.analysis.recoveries import Need
    from inspector.strategies.history.history import History
    from inspector.ui.detail.content import DetailContent


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
        return difference_page(recorded, content, width)
    if shown == "markdown" and recorded:
        return Rendered.of(recorded, width)
    if shown == "laid" and recorded:
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


USUAL = ("less", "more")
TERMINAL = 0
"""File descriptor of the keyboard."""


class PagerError(InspectorError):
    """No pager is available or it cannot be started; the message contains advice."""

    advice = "set PAGER to a program that shows text, such as less"


def pager_command() -> list[str]:
    """Return the pager command: `$PAGER`, or the first of the usual pagers that exists.

    Raises:
        PagerError: There is none.
    """
    named = os.environ.get("PAGER", "")
    try:
        words = shlex.split(named)
    except ValueError:
        words = []
    if words:
        if shutil.which(words[0]) is None:
            raise PagerError(f"cannot find {words[0]!r}, named by $PAGER")
        return words
    usual = next((name for name in USUAL if shutil.which(name)), None)
    if usual is None:
        raise PagerError("no pager found: set $PAGER")
    return [usual]


@contextmanager
def terminal_lent() -> Iterator[None]:
    """Lend the terminal to a program: ctrl+z stops both, and a killed one leaves none of its settings."""
    stop = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    try:
        before = termios.tcgetattr(TERMINAL)
    except termios.error:  # not a terminal
        before = None
    try:
        yield
    finally:
        signal.signal(signal.SIGTSTP, stop)
        if before is not None:
            termios.tcsetattr(TERMINAL, termios.TCSADRAIN, before)


def show_in_pager(text: str, command: list[str]) -> None:
    """Run the pager on a text and wait for it to exit. The app must be suspended.

    Raises:
        PagerError: It cannot be started.
        TemporaryFolderError: The text cannot be written.
    """
    with temporary_folder() as folder:
        path = folder / "text"
        path.write_text(safe_text(text), encoding="utf-8", errors="replace")
        try:
            with terminal_lent():
                subprocess.run([*command, str(path)], check=False)  # noqa: S603  the user's own pager, no shell
        except OSError as error:
            raise PagerError(f"cannot start {command[0]}: {error.strerror}") from error


NOTHING_TO_FORMAT: Final = "⋯ nothing to format: the text is not JSON and not a diff ⋯"
LONGEST_COMPARED: Final = 4000
"""Maximum number of lines of an edit to diff; longer edits are shown as removed and added."""

_PAIRS: Final = (("old_string", "new_string"), ("old_str", "new_str"), ("oldText", "newText"), ("old_text", "new_text"))


def layout_sections(recorded: str, *, is_tool_call: bool) -> tuple[DetailSection, ...]:
    """Format a recorded text; the text of a tool call is its JSON input."""
    if is_tool_call:
        try:
            value = json.loads(recorded)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            return input_sections(value)
    formatted = format_json(recorded)
    if formatted is not None:
        return (DetailSection(formatted, SectionKind.RECORDED, TextForm.JSON),)
    form = form_of(recorded)
    if form is TextForm.DIFFERENCE:
        return (DetailSection(recorded, SectionKind.RECORDED, form),)
    return (DetailSection(NOTHING_TO_FORMAT, SectionKind.NOTE), DetailSection(recorded, SectionKind.RECORDED))


def input_sections(arguments: dict[str, object]) -> tuple[DetailSection, ...]:
    """Format tool input by argument: long texts below their names, edits as diffs."""
    sections: list[DetailSection] = []
    seen: set[str] = set()
    for name, value in arguments.items():
        if name in seen:
            continue
        pair = next((pair for pair in _PAIRS if name in pair and _is_edit(arguments, pair)), None)
        if pair is not None:
            seen |= set(pair)
            sections += _edit(str(arguments[pair[0]]), str(arguments[pair[1]]))
        else:
            sections += _argument(name, value)
    return tuple(sections)


def _is_edit(arguments: dict[str, object], pair: tuple[str, str]) -> bool:
    return all(isinstance(arguments.get(name), str) for name in pair)


def _edit(old: str, new: str) -> list[DetailSection]:
    before, after = old.splitlines(), new.splitlines()
    if max(len(before), len(after)) > LONGEST_COMPARED:
        lines = [*(f"-{line}" for line in before), *(f"+{line}" for line in after)]
    else:
        lines = list(unified_diff(before, after, n=3, lineterm=""))[2:] or [f" {line}" for line in before]
    return [DetailSection("\n".join(lines) + "\n", SectionKind.RECORDED, TextForm.DIFFERENCE)]


def _argument(name: str, value: object) -> list[DetailSection]:
    if isinstance(value, str) and "\n" in value:
        text = value if value.endswith("\n") else f"{value}\n"
        return [
            DetailSection(f"{name}:\n", SectionKind.NAME),
            DetailSection(text, SectionKind.RECORDED, form_of(value)),
        ]
    if isinstance(value, list) and value and all(isinstance(entry, dict) for entry in value):
        named = [DetailSection(f"{name}:\n", SectionKind.NAME)]
        return [*named, *(section for entry in value for section in input_sections(entry))]
    shown = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    return [DetailSection(f'"{name}": {shown}\n', SectionKind.RECORDED, TextForm.JSON)]


LONGEST_TEXT: Final = 200
"""Maximum length of the texts shown at the point where two prompts diverge, in characters."""


def detail_of_miss(
    content: DetailContent, miss: CacheMiss, history: History, *, with_plan: bool = False
) -> DetailContent:
    """Add the explanation of a cache miss, recorded or under the plan, to a call's response."""
    of = f" {WITH_PLAN}" if with_plan else ""
    parts = (
        f"{mark_of(miss.cause).glyph} cache miss{of}: {miss.cause.short}",
        rewritten_tokens_text(miss),
        dollars(miss.extra_usd),
    )
    head = ", ".join(filter(None, parts))
    return replace(content, lead=(head, *content.lead), tail=miss_lines(miss, history, of))


def miss_lines(miss: CacheMiss, history: History, of: str = "") -> tuple[str, ...]:
    """Return a heading and the details of a cache miss, one safe line each."""
    from inspector.replay.analysis.cache_misses import describe_evidence, provider_reason

    unread = f"{ON_SCREEN.whole(miss.tokens)} tokens"
    rows = [
        ("cause", miss.cause.label),
        ("source", _confidence_words(miss)),
        ("evidence", describe_evidence(replace(miss, reported=None), history.session)),
        *_parting(miss, history),
        ("provider", provider_reason(miss).removeprefix("the provider ")),
        ("in cache", f"{ON_SCREEN.whole(miss.could_read)} tokens of the prompt, {ON_SCREEN.whole(miss.read)} read"),
        ("rewritten", unread if miss.usd.value is None else f"{unread}, for {dollars(miss.usd)}"),
        ("if read", dollars(miss.read_usd)),
        ("extra cost", dollars(miss.extra_usd)),
        ("prevention", miss.cause.prevention or "none known"),
    ]
    width = max(len(name) for name, _ in rows)
    lines = (f"{name:<{width}}  {one_line(text)}" for name, text in rows if text)
    return (f"Cache miss{of} at call {ON_SCREEN.whole(miss.call + 1)}", *lines)


def _confidence_words(miss: CacheMiss) -> str:
    cause = "the provider named the cause" if miss.known is HowKnown.EXACT else "inferred from the file"
    tokens = "the provider's token counts" if miss.usd.known is HowKnown.EXACT else f"tokens {miss.usd.known.value}"
    return f"{cause}; {tokens}"


def _parting(miss: CacheMiss, history: History) -> list[tuple[str, str]]:
    """Return the texts where two prompts diverge: before and now."""
    before, now = miss.evidence.blocks
    if miss.cause is MissCause.PLAN_EDIT:
        return [("changed", _text_at(history, now))]
    return [("before", _text_at(history, before)), ("now", _text_at(history, now))]


def _text_at(history: History, block: int) -> str:
    """Return the message number of a block and the start of its text; empty for none."""
    session = history.session
    if not 0 <= block < len(session.all_blocks):
        return ""
    found = session.all_blocks[block]
    message = int(history.message[block]) + 1
    name = " ".join(filter(None, (found.kind.label, found.tool_name)))
    text = one_line(preview(found, session.working_directory), LONGEST_TEXT)
    return f"message {ON_SCREEN.whole(message)}, {one_line(name)}: {text}"


CELLS: Final = 34
"""Column width in cells: two fit the narrowest screen."""
GAP: Final = " │ "
_AROUND: Final = 50
_SHOWN: Final = 110
_UNAVAILABLE: Final = "its text can no longer be read"


def detail_of_need(content: DetailContent, need: Need, session: Session) -> DetailContent:
    """Add the excerpts of a need above the text of the cut block or of the block that used it later."""
    call, since = ON_SCREEN.whole(need.call + 1), ON_SCREEN.whole(need.removed_at + 1)
    heading = f"needed at call {call} ({need.kind.label}), cut since call {since}"
    return replace(content, key=("need", content.key), lead=(*content.lead, heading, *_columns(need, session)))


def _columns(need: Need, session: Session) -> list[str]:
    left = [f"in the {_name(session, need.block)}:", *_excerpt(session, need.block, need.start, need.stop)]
    right = [f"used in the {_name(session, need.use)}:", *_excerpt(session, need.use, need.use_start, need.use_stop)]
    return [
        f"{one}{' ' * (CELLS - cell_width(one))}{GAP}{other}" for one, other in zip_longest(left, right, fillvalue="")
    ]


def _name(session: Session, block: int) -> str:
    found = session.all_blocks[block]
    return one_line(" ".join(word for word in (found.tool_name, found.kind.label) if word), CELLS - 14)


def _excerpt(session: Session, block: int, start: int, stop: int) -> list[str]:
    """Return an excerpt of a text with its surroundings, the match between guillemets, wrapped to a column."""
    try:
        text = session.text(session.all_blocks[block])
    except (TextUnavailableError, OSError):
        return [_UNAVAILABLE]
    there = text[start:stop]
    if len(there) > _SHOWN:
        there = f"{there[: _SHOWN // 2]} … {there[-_SHOWN // 2 :]}"
    before = ("… " if start > _AROUND else "") + text[max(start - _AROUND, 0) : start]
    after = text[stop : stop + _AROUND] + (" …" if len(text) > stop + _AROUND else "")
    return _folded(one_line(f"{before}«{there}»{after}"))


def _folded(line: str) -> list[str]:
    folded, row, cells = [], "", 0
    for character in line:
        width = cell_width(character)
        if cells + width > CELLS:
            folded.append(row)
            row, cells = "", 0
        row += character
        cells += width
    return [*folded, row]
