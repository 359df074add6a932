"""Content of the detail pane: a block's text as recorded or as sent, with a note at every cut."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import numpy as np

from inspector.report.numbers import ABOUT, ON_SCREEN
from inspector.report.sentences import SessionTrims, compactions_words, trim_in_words
from inspector.safe_text import fit_cells, one_line
from inspector.session.model import BlockKind, ContextCause, Session
from inspector.session.related import full_output
from inspector.strategies.core.operations import Action, Rendition, Slice, recall_command
from inspector.ui.detail.page import DetailPage, PageRow, Wrapped, rows_of_words, wrap
from inspector.ui.timeline.boundaries import Boundary, aftermath_lines, cleared_line, effect_lines
from inspector.ui.timeline.rows import media_label

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from numpy.typing import NDArray

    from inspector.replay.analysis.compactions import CompactionAftermath, CompactionTotals
    from inspector.replay.engine.replay import Replay
    from inspector.session.format import FullOutput
    from inspector.tokens.token_table import TokenTable
    from inspector.ui.outcome import Outcome


_LOOKED_AT: Final = 4000
_DIFFERENCE = re.compile(
    r"^(?:@@ -\d+(?:,\d+)? \+\d+|diff --git |\*\*\* Begin Patch|--- \S.*\n\+\+\+ \S)", re.MULTILINE
)
_MEMBER = re.compile(r'(\s*)("(?:[^"\\]|\\.)*")(: .*|:.*)', re.DOTALL)
_HEADINGS: Final = ("+++", "---", "@@", "diff ", "index ", "*** ")


class TextForm(StrEnum):
    """Format of a text."""

    PLAIN = "plain"
    DIFFERENCE = "difference"
    JSON = "json"


def form_of(text: str) -> TextForm:
    """Detect the format of a text from its beginning."""
    return TextForm.DIFFERENCE if _DIFFERENCE.search(text[:_LOOKED_AT]) else TextForm.PLAIN


def row_style(folded: Wrapped, row: int, plain: str) -> str:
    """Return the component class of a row of a diff, from the first characters of its line; `plain` for context."""
    start = folded.text.rfind("\n", 0, int(folded.starts[row])) + 1
    begin = folded.text[start : start + 6]
    if begin.startswith(_HEADINGS):
        return "detail--hunk"
    return {"+": "detail--added", "-": "detail--taken"}.get(begin[:1], plain)


def member_pieces(text: str, plain: str) -> tuple[tuple[str, str], ...]:
    match = _MEMBER.fullmatch(text)
    if match is None:
        return ((text, plain),)
    return ((match[1], plain), (match[2], "detail--member"), (match[3], plain))


ELLIPSIS: Final = "⋯"


class SectionKind(StrEnum):
    """Origin of a section."""

    RECORDED = "recorded"
    INSERTED = "inserted"
    """Sent in place of cut text: a marker, a pointer, a summary."""
    ABSENT = "absent"
    """Recorded, but not in the prompt."""
    TAKEN = "taken"
    """Recorded, but cut by the plan."""
    NAME = "name"
    """Heading of the text below."""
    NOTE = "note"
    """Comment by the inspector, not part of the session."""


_GUTTERS: Final = {SectionKind.INSERTED: "▎", SectionKind.ABSENT: "┊", SectionKind.TAKEN: "-"}


@dataclass(frozen=True, slots=True)
class DetailSection:
    """A section of the text, not yet safe to show."""

    text: str
    kind: SectionKind
    form: TextForm = TextForm.PLAIN


@dataclass(frozen=True, slots=True)
class CutNote:
    """Reason why a block is not sent whole.

    Attributes:
        tokens: Tokens cut; negative if the plan added tokens.
        reason: Strategy and reason: `tiered-stale: stale, tier search`.
        call: First call sent this way, counted from 1; None if not applicable.
    """

    tokens: int
    reason: str
    call: int | None = None

    @property
    def summary(self) -> str:
        """The note in one safe line."""
        since = "" if self.call is None else f" since call {ON_SCREEN.whole(self.call)}"
        amount = f"{ABOUT}{ON_SCREEN.plural(abs(self.tokens), 'token')} {'cut' if self.tokens >= 0 else 'more'}"
        return f"{amount}{since} · {one_line(self.reason)}"


@dataclass(frozen=True, eq=False)
class DetailContent:
    """A block or a whole message to show.

    Attributes:
        key: Identity of the block: contents with equal keys have equal recorded texts, which are read once.
        title: Short description, not necessarily safe.
        raw: Reads the recorded text. Called in a thread; may raise `TextUnavailableError` or `OSError`.
        sent: Rendition, None for as recorded.
        note: Reason why it is not sent whole, if so.
        absent: Reason why the block is not in the prompt; empty if it is.
        is_json: The text is JSON and can be formatted.
        is_tool_call: The text is the input of a tool.
        media: Safe descriptions of its images and documents.
        record: Reads the record that holds the block; None if there is none. Raises the same errors as `raw`.
        stored: Finds the full output if the recorded text is a preview of it; None if not applicable.
        parts: Blocks of a message shown as one; empty for a single block.
        lead: Safe lines above the text in every view.
        tail: Safe lines below the text in every view.
        short_title: Title for narrow panes, not necessarily safe; if empty, the title is cut.
    """

    key: Hashable
    title: str
    raw: Callable[[], str]
    sent: Rendition | None = None
    note: CutNote | None = None
    absent: str = ""
    is_json: bool = False
    is_tool_call: bool = False
    media: tuple[str, ...] = ()
    record: Callable[[], bytes] | None = None
    stored: Callable[[str], FullOutput | None] | None = None
    parts: tuple[DetailContent, ...] = ()
    lead: tuple[str, ...] = ()
    tail: tuple[str, ...] = ()
    short_title: str = ""

    def shows_the_same(self, other: DetailContent | None) -> bool:
        """Return True if another content shows the same block, sent the same way for the same reasons."""
        reported = attrgetter("key", "title", "sent", "note", "absent", "lead", "tail")
        if other is None or reported(self) != reported(other) or len(self.parts) != len(other.parts):
            return False
        return all(part.shows_the_same(there) for part, there in zip(self.parts, other.parts, strict=True))


def sent_sections(recorded: str, content: DetailContent) -> tuple[DetailSection, ...]:
    """Return the sent text of a block in order, with a note at each cut."""
    if content.absent:
        return (note_section(one_line(content.absent)), DetailSection(recorded, SectionKind.ABSENT))
    rendition = content.sent
    if rendition is None or rendition.action is Action.WHOLE:
        return (DetailSection(recorded, SectionKind.RECORDED, form_of(recorded)),)
    if rendition.action is Action.REMOVED:
        return (note_section(cut_note("removed", len(recorded), content.note)),)
    gaps, form = gaps_of(rendition, len(recorded)), form_of(recorded)
    verb = "replaced" if rendition.action is Action.REPLACED else "cut here"
    sections: list[DetailSection] = []
    is_first = True
    for index, piece in enumerate((*rendition.pieces, "")):
        if gaps[index]:
            sections.append(note_section(cut_note(verb, gaps[index], content.note if is_first else None)))
            is_first = False
        if isinstance(piece, Slice):
            sections.append(DetailSection(recorded[piece.start : piece.stop], SectionKind.RECORDED, form))
        elif piece:
            sections.append(DetailSection(piece, SectionKind.INSERTED))
    return tuple(section for section in sections if section.text)


def format_json(text: str) -> str | None:
    """Format JSON with one member per line; None if the text is not JSON."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return json.dumps(value, indent=2, ensure_ascii=False)


@dataclass(frozen=True, eq=False)
class Document:
    """Sections wrapped to a width.

    Attributes:
        sections: The sections.
        folded: The wrapped sections.
        first_rows: First row of each section, followed by the total number of rows.
    """

    sections: tuple[DetailSection, ...]
    folded: tuple[Wrapped, ...]
    first_rows: tuple[int, ...]

    @classmethod
    def of(cls, sections: Iterable[DetailSection], width: int) -> Document:
        """Wrap sections to `width` cells."""
        kept = tuple(sections)
        folded = tuple(wrap(section.text, width) for section in kept)
        first_rows = [0]
        for part in folded:
            first_rows.append(first_rows[-1] + len(part))
        return cls(kept, folded, tuple(first_rows))

    def __len__(self) -> int:
        return self.first_rows[-1]

    def row(self, index: int) -> tuple[str, SectionKind]:
        part = int(np.searchsorted(self.first_rows, index, side="right")) - 1
        return self.folded[part].row(index - self.first_rows[part]), self.sections[part].kind

    def shown(self, index: int) -> PageRow:
        """Return one row for drawing, with gutter and highlighting."""
        part = int(np.searchsorted(self.first_rows, index, side="right")) - 1
        section, folded, row = self.sections[part], self.folded[part], index - self.first_rows[part]
        style = f"detail--{section.kind.value}"
        text = folded.row(row)
        if section.form is TextForm.DIFFERENCE:
            style = row_style(folded, row, style)
        pieces = member_pieces(text, style) if section.form is TextForm.JSON else ((text, style),)
        gutter = (_GUTTERS.get(section.kind, " "), style)
        return PageRow((gutter, *pieces), style if section.kind is SectionKind.INSERTED else "")

    def find(self, words: str) -> NDArray[np.int64]:
        found = [np.zeros(0, dtype=np.int64)]
        found += [first + rows_of_words(words, part) for first, part in zip(self.first_rows, self.folded, strict=False)]
        return np.concatenate(found)

    def whole(self) -> str:
        """Return the text of all sections; notes only if there is nothing else."""
        texts = [section.text for section in self.sections if section.kind is not SectionKind.NOTE]
        return "".join(texts or [section.text for section in self.sections])

    def note_rows(self) -> tuple[int, ...]:
        return tuple(
            first
            for first, section in zip(self.first_rows, self.sections, strict=False)
            if section.kind is SectionKind.NOTE
        )


def gaps_of(rendition: Rendition, length: int) -> list[int]:
    """Count the characters cut before each piece and after the last; inserted text follows its gap."""
    gaps = [0] * (len(rendition.pieces) + 1)
    position, earliest = 0, 0
    for index, piece in enumerate(rendition.pieces):
        if isinstance(piece, Slice):
            gaps[earliest] += max(piece.start - position, 0)
            position, earliest = piece.stop, index + 1
    gaps[earliest] += max(length - position, 0)
    return gaps


def cut_note(verb: str, characters: int, note: CutNote | None) -> str:
    """Describe a cut: its size and, with a note, its tokens, strategy, reason and first call."""
    amount = ON_SCREEN.plural(characters, "character") if characters else "text not recorded"
    if note is None:
        return f"{amount} {verb}"
    tokens = f"{ABOUT}{ON_SCREEN.plural(abs(note.tokens), 'token')}" + (
        " more than recorded" if note.tokens < 0 else ""
    )
    sentence = f"{tokens} ({amount}) {verb}" if note.tokens >= 0 else f"{amount} {verb}, {tokens},"
    if note.reason:
        sentence += f" by {one_line(note.reason)}"
    if note.call is not None:
        sentence += f", at call {note.call:,}"
    return sentence


def note_section(sentence: str) -> DetailSection:
    """Wrap a comment by the inspector in ellipses."""
    return DetailSection(
        f"{ELLIPSIS} {sentence} {ELLIPSIS}" if ELLIPSIS not in sentence else f"{ELLIPSIS} {sentence}", SectionKind.NOTE
    )


_JSON_STARTS = ("{", "[")


def detail_of(session: Session, table: TokenTable, outcome: Outcome | None, index: int) -> DetailContent:
    """Build the content of one block; the session may have grown since the replay, `table` may be of a shorter one."""
    block = session.all_blocks[index]
    title = " ".join(word for word in (block.kind.label, block.tool_name) if word)
    content = DetailContent(
        key=(session.path, block.origin, block.digest),
        title=f"{title}, {_tokens(table, outcome, range(index, index + 1))}",
        short_title=" ".join(word for word in (block.kind.short_label, block.tool_name) if word),
        raw=partial(session.text, block),
        is_json=block.kind is BlockKind.TOOL_CALL or block.preview.lstrip().startswith(_JSON_STARTS),
        is_tool_call=block.kind is BlockKind.TOOL_CALL,
        media=tuple(one_line(media_label(media)) for media in block.media),
        record=partial(session.texts.record, block),
        stored=partial(full_output, session) if block.kind is BlockKind.TOOL_RESULT else None,
    )
    if outcome is None or index >= len(outcome.state.sent):
        return content
    return _at_call(content, outcome, index, is_error=block.is_error)


def _tokens(table: TokenTable, outcome: Outcome | None, blocks: range) -> str:
    """Format the tokens of whole blocks as in their rows, `~412 tokens` before the first replay or without a fit."""
    is_replayed = outcome is not None and blocks.stop <= len(outcome.shown.recorded)
    tokens = outcome.shown.recorded if outcome is not None and is_replayed else table.tokens
    text = ON_SCREEN.plural(int(tokens[blocks.start : blocks.stop].sum()), "token")
    return ON_SCREEN.qualified(text, outcome.tokens_known if outcome is not None and is_replayed else "estimated")


def detail_of_message(session: Session, table: TokenTable, outcome: Outcome | None, blocks: range) -> DetailContent:
    """Build the content of a folded message; see `detail_of`."""
    parts = tuple(detail_of(session, table, outcome, index) for index in blocks)
    title = f"{ON_SCREEN.plural(len(parts), 'block')}, {_tokens(table, outcome, blocks)}"
    key = ("message", *(part.key for part in parts))
    return DetailContent(key, title, str, parts=parts)


def detail_of_boundary(
    content: DetailContent,
    boundary: Boundary,
    table: TokenTable,
    baseline: Replay | None = None,
    aftermath: CompactionAftermath | None = None,
    totals: CompactionTotals | None = None,
) -> DetailContent:
    """Add the effect of a compaction or other boundary above the text of the first block after it.

    `baseline` is None before the first replay; `aftermath` and `totals` are None until computed and for other
    boundaries.
    """
    lead = effect_lines(boundary, table, baseline)
    if not lead:
        return content
    cleared = tuple(cleared_line(each) for each in boundary.cleared)
    followed = () if aftermath is None else aftermath_lines(aftermath)
    together = () if totals is None else _together(totals)
    # The removed blocks come before the calls after them, because a small pane has few rows.
    end = lead.index("")
    lead = (*lead[:end], *followed, *together, *lead[end:], *cleared)
    title = boundary.label.partition(", ")[0]
    return replace(content, key=("boundary", content.key), title=title, short_title="", absent="", lead=lead)


def _together(totals: CompactionTotals) -> tuple[str, ...]:
    text = compactions_words(totals, ON_SCREEN)
    return (f"{text[:1].upper()}{text[1:]}.",) if text else ()


def _at_call(content: DetailContent, outcome: Outcome, index: int, *, is_error: bool) -> DetailContent:
    state, replay = outcome.state, outcome.replay
    title = f"{content.title}, failed" if is_error else content.title
    if not state.in_prompt[index]:
        return replace(content, title=title, absent=absence(outcome, index))
    if state.action[index] == Action.WHOLE:
        return replace(content, title=title)
    since = replay.changed_at(index, state.call)
    note = CutNote(
        tokens=int(outcome.shown.recorded[index]) - int(outcome.shown.sent[index]),
        reason=replay.reason(index, state.call),
        call=since + 1 if since >= 0 else None,
    )
    rendition = replay.rendition(index, state.call)
    return replace(content, title=title, sent=rendition, note=note)


def absence(outcome: Outcome, index: int) -> str:
    """Return the reason why a block is in no prompt, or not in this call's."""
    history, call = outcome.replay.history, outcome.state.call
    enters, leaves = int(history.enters[index]), int(history.leaves[index])
    prompt = "the next prompt" if call == history.call_count else f"the prompt of call {ON_SCREEN.whole(call + 1)}"
    if history.kind[index] == BlockKind.OTHER:
        return "An internal record of the agent, never sent."
    if enters > history.call_count:
        return "Not in any prompt: never sent."
    if enters > call:
        return f"Not in {prompt} yet: first sent at call {ON_SCREEN.whole(enters + 1)}."
    if leaves <= call:
        cause = history.session.contexts[history.call_context[leaves]].cause
        first = f"call {ON_SCREEN.whole(leaves + 1)}"
        return (
            f"Not sent since {first}." if cause is ContextCause.START else f"Removed by the {cause.value} at {first}."
        )
    return f"Not in {prompt}: part of another conversation."


LEAST_WIDTH: Final = 64
"""Minimum width for two columns in cells; below, cut text is shown above its replacement."""

SENT_WHOLE: Final = "⋯ sent as recorded: no difference ⋯"
_RULE: Final = " │ "
_NOTHING: Final = Wrapped("", np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32))


@dataclass(frozen=True, slots=True)
class DiffRun:
    """A run of text: either unchanged, or cut from the left side and replaced on the right.

    Attributes:
        kept: Text on both sides.
        cut: Text on the recorded side only.
        put_in: Text on the sent side only.
        note: Reason of the cut, shown across both sides; empty for none.
    """

    kept: str = ""
    cut: str = ""
    put_in: str = ""
    note: str = ""


def stretches_of(recorded: str, content: DetailContent) -> tuple[DiffRun, ...]:
    """Split a recorded text into unchanged and cut runs, in order."""
    if content.absent:
        return (DiffRun(cut=recorded, note=content.absent),)
    rendition = content.sent
    if rendition is None or rendition.action is Action.WHOLE:
        return (DiffRun(kept=recorded, note=SENT_WHOLE),)
    if rendition.action is Action.REMOVED:
        return (DiffRun(cut=recorded, note=cut_note("removed", len(recorded), content.note)),)
    verb = "replaced" if rendition.action is Action.REPLACED else "cut here"
    stretches: list[DiffRun] = []
    position, put_in, is_shown = 0, "", False
    for piece in (*rendition.pieces, Slice(len(recorded), len(recorded))):
        if isinstance(piece, str):
            put_in += piece
            continue
        gap = recorded[position : max(piece.start, position)]
        if gap or put_in:
            note = cut_note(verb, len(gap), None if is_shown else content.note)
            is_shown = True
            stretches.append(DiffRun(cut=gap, put_in=put_in, note=note))
        if piece.stop > piece.start:
            stretches.append(DiffRun(kept=recorded[piece.start : piece.stop]))
        position, put_in = max(piece.stop, position), ""
    return tuple(stretches)


def difference_page(recorded: str, content: DetailContent, width: int) -> DetailPage:
    """Compare both texts side by side, or one above the other if the width (without the gutter) is too small."""
    stretches = stretches_of(recorded, content)
    if width < LEAST_WIDTH:
        return Document.of(_under_one_another(stretches), width)
    return Difference.of(stretches, (width - len(_RULE)) // 2, width)


def _under_one_another(stretches: Iterable[DiffRun]) -> Iterable[DetailSection]:
    for stretch in stretches:
        if stretch.note:
            yield note_section(stretch.note)
        for text, kind in (
            (stretch.cut, SectionKind.TAKEN),
            (stretch.put_in, SectionKind.INSERTED),
            (stretch.kept, SectionKind.RECORDED),
        ):
            if text:
                yield DetailSection(text, kind)


@dataclass(frozen=True, eq=False)
class FoldedStretch:
    """A wrapped run.

    Attributes:
        left: Recorded side.
        right: Sent side.
        styles: Component classes of both sides.
        gutters: Gutter characters of both sides.
        is_note: A note across both sides, stored in `left`.
    """

    left: Wrapped
    right: Wrapped
    styles: tuple[str, str] = ("detail--recorded", "detail--recorded")
    gutters: tuple[str, str] = (" ", " ")
    is_note: bool = False

    def __len__(self) -> int:
        return max(len(self.left), len(self.right))


@dataclass(frozen=True, eq=False)
class Difference:
    """Paired rows.

    Attributes:
        sides: The wrapped runs.
        first_rows: First row of each run, followed by the total number of rows.
        column: Width of each side in cells.
    """

    sides: tuple[FoldedStretch, ...]
    first_rows: tuple[int, ...]
    column: int

    @classmethod
    def of(cls, stretches: Iterable[DiffRun], column: int, width: int) -> Difference:
        """Wrap runs to two columns, notes to `width`."""
        sides: list[FoldedStretch] = []
        for stretch in stretches:
            if stretch.note:
                sides.append(FoldedStretch(wrap(note_section(stretch.note).text, width), _NOTHING, is_note=True))
            if stretch.kept:
                kept = wrap(stretch.kept, column - 1)
                sides.append(FoldedStretch(kept, kept))
            elif stretch.cut or stretch.put_in:
                cut, put_in = wrap(stretch.cut, column - 1), wrap(stretch.put_in, column - 1)
                sides.append(FoldedStretch(cut, put_in, ("detail--taken", "detail--inserted"), ("-", "▎")))
        first_rows = [0]
        for side in sides:
            first_rows.append(first_rows[-1] + len(side))
        return cls(tuple(sides), tuple(first_rows), column)

    def __len__(self) -> int:
        return self.first_rows[-1]

    def shown(self, index: int) -> PageRow:
        place = int(np.searchsorted(self.first_rows, index, side="right")) - 1
        side, row = self.sides[place], index - self.first_rows[place]
        if side.is_note:
            return PageRow(((" ", "detail--note"), (side.left.row(row), "detail--note")))
        pieces: list[tuple[str, str]] = []
        for folded, style, gutter in zip((side.left, side.right), side.styles, side.gutters, strict=True):
            if pieces:
                pieces.append((_RULE, "detail--header"))
            has_row = row < len(folded)
            text = gutter + folded.row(row) if has_row else ""
            pieces.append((fit_cells(text, self.column, ellipsis=""), style if has_row else "detail--recorded"))
        return PageRow(tuple(pieces))

    def note_rows(self) -> tuple[int, ...]:
        return tuple(first for first, side in zip(self.first_rows, self.sides, strict=False) if side.is_note)

    def find(self, words: str) -> NDArray[np.int64]:
        """Return the rows with matches on either side, ascending."""
        found = [np.zeros(0, dtype=np.int64)]
        for first, side in zip(self.first_rows, self.sides, strict=False):
            found.append(first + rows_of_words(words, side.left))
            if side.right is not side.left:
                found.append(first + rows_of_words(words, side.right))
        return np.sort(np.concatenate(found))

    def whole(self) -> str:
        """Return a text diff: `-` before cut text, `+` before its replacement."""
        lines: list[str] = []
        for side in self.sides:
            if side.is_note:
                lines.append(side.left.text)
            elif side.left is side.right:
                lines += [f" {line}" for line in side.left.text.splitlines()]
            else:
                lines += [f"-{line}" for line in side.left.text.splitlines()]
                lines += [f"+{line}" for line in side.right.text.splitlines()]
        return "\n".join(lines) + "\n"


def detail_of_trim(content: DetailContent, trims: SessionTrims | None, session: Session, block: int) -> DetailContent:
    """Add a line above a result that the hook trimmed."""
    found = session.all_blocks[block]
    identifier = found.tool_call_id
    if trims is None or found.kind is not BlockKind.TOOL_RESULT or identifier in session.repeated_call_ids:
        return content
    kept = trims.by_call.get(identifier)
    if kept is None:
        return content
    return replace(content, lead=(*content.lead, one_line(trim_in_words(kept, recall_command(session, block)))))
