"""`inspector formats --json`: formats, how files were read, and parts that this version does not know.

`docs/formats-report.schema.json` is generated from these types.

File history of a session as text and data: files, events of one file, file states, and the changelog.

JSON forms are dictionaries with recorded texts unchanged. The other forms are sanitized for display.
"""

from __future__ import annotations

import difflib
import json
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from msgspec import Struct

import inspector
from inspector.file_history.changelog import ChangelogEntry, ChangeSource
from inspector.file_history.content import FileContent, Gap, LineRun
from inspector.file_history.history import FileEvent, FileEventKind, FileHistory, KnownFile
from inspector.replay.quantity import Count, about
from inspector.report.document import SCHEMA_VERSION
from inspector.report.layout import HEADING, LABEL, LEFT, RIGHT, WARNING, WIDTH, WRAPPED, Page, broken_after_commas
from inspector.report.numbers import IN_TEXT
from inspector.report.secret_redaction import shown_name, shown_path, without_secrets
from inspector.safe_text import cell_width, cut_middle, fit_cells, one_line
from inspector.session.files import Locator, exists, relative_path
from inspector.session.model import BlockKind, Diagnostic, Session, first_name
from inspector.session.registry import PLUG_INS as FORMAT_PLUG_INS
from inspector.session.unknown_parts import UnknownParts, by_agent, unknown_parts
from inspector.strategies.core.parameters import Parameter, ParameterKind, ParameterValue
from inspector.strategies.history.tools import ToolKind, tool_kind
from inspector.strategies.library.old_results import TieredStale
from inspector.strategies.presets import PRESETS
from inspector.strategies.registry import PLUG_INS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from inspector.plug_ins import PlugIn
    from inspector.report.session_summary import SessionSummary
    from inspector.session.discovery import Header
    from inspector.session.format import Detection, Format
    from inspector.strategies.registry import StrategyType


class FormatListing(Struct, frozen=True, kw_only=True):
    """A supported format."""

    name: str
    title: str
    where: Annotated[str, about("Where its sessions are stored; empty if they can be anywhere.")]
    homes: Annotated[list[str], about("The searched folders and databases, existing or not.")]
    live: Annotated[bool, about("True if a session is followed while it grows.")]
    exact: Annotated[str, about("Figures that are exact, in a phrase.")]
    package: Annotated[str, about("Package and version of a plug-in; empty for built-in formats.")] = ""


class RecordKindListing(Struct, frozen=True, kw_only=True):
    """Records of one kind."""

    kind: str
    records: Count
    status: Annotated[
        Literal["read", "ignored", "unknown"],
        about("`ignored` for the agent's bookkeeping, `unknown` if this version does not know the kind."),
    ]


class ReadingProblem(Struct, frozen=True, kw_only=True):
    """A read problem."""

    problem: str
    line: Annotated[Count, about("Line number; 0 if the file has no lines.")]
    byte: Count
    skipped: Annotated[bool, about("True if the record was left out, false if it was read in part.")]


class SessionListing(Struct, frozen=True, kw_only=True):
    """A session and how it was read."""

    path: str
    format: str
    reason: Annotated[str, about("The evidence for the format; empty for a session in a folder.")]
    agent: Annotated[str, about("The program and its version; empty if not recorded.")]
    models: list[str]
    messages: Count
    calls: Count
    calls_with_usage: Count
    skipped_records: Annotated[Count, about("Records that could not be read.")]
    records: list[RecordKindListing]
    problems: Annotated[list[ReadingProblem], about("The first hundred read problems.")]


class UnknownListing(Struct, frozen=True, kw_only=True):
    """Parts written by one agent version that this version does not know: its figures may be incomplete."""

    agent: Annotated[str, about("The program and its version; the format's name if the file names none.")]
    sessions: Count
    records: Annotated[dict[str, int], about("Number of records by unknown kind.")]
    fields: Annotated[dict[str, int], about("Number of usage reports by unknown field; their totals are lower bounds.")]
    sentences: Annotated[list[str], about("The same in words.")]


class FormatsReport(Struct, frozen=True, kw_only=True):
    """`inspector formats --json`: the formats, or with a path the sessions there and their unknown parts."""

    schema: Annotated[Literal[3], about("Version of this contract.")]
    inspector: str
    formats: list[FormatListing] = []
    plug_in_problems: Annotated[list[str], about("Formats of other packages that are not usable, and why.")] = []
    sessions: Annotated[list[SessionListing], about("The session of a file, or all sessions of a folder.")] = []
    unread: Annotated[dict[str, str], about("Files that could not be read, with the reason.")] = {}
    unknown: Annotated[list[UnknownListing], about("Unknown parts by agent version, the most first.")] = []


def formats_report(formats: Iterable[Format]) -> FormatsReport:
    listed = [
        FormatListing(
            name=each.name,
            title=each.title,
            where=each.where,
            homes=[shown_path(home) for home in each.homes()],
            live=each.is_live,
            exact=each.exact,
            package=plug_in.label if (plug_in := FORMAT_PLUG_INS.plug_in(each.name)) else "",
        )
        for each in formats
    ]
    problems = FORMAT_PLUG_INS.problems()
    version = inspector.__version__
    return FormatsReport(schema=SCHEMA_VERSION, inspector=version, formats=listed, plug_in_problems=problems)


def reading_report(
    read: Iterable[tuple[Detection, Session]], unread: dict[str, str], *, in_folder: bool = False
) -> FormatsReport:
    """Describe how sessions were read, one at a time, and sum their unknown parts by agent version.

    `unread` is filled meanwhile: path and reason of files that cannot be read. In a folder, reasons are left out.
    """
    sessions: list[SessionListing] = []
    found: list[UnknownParts] = []
    for detection, session in read:
        found.append(unknown_parts(session))
        sessions.append(_read_session(detection, session, in_folder=in_folder))
    listed = [
        UnknownListing(
            agent=each.agent,
            sessions=each.sessions,
            records=dict(each.records),
            fields=dict(each.fields),
            sentences=list(each.sentences()),
        )
        for each in by_agent(found)
    ]
    report = FormatsReport(
        schema=SCHEMA_VERSION, inspector=inspector.__version__, sessions=sessions, unread=unread, unknown=listed
    )
    return without_secrets(report)


def _read_session(detection: Detection, session: Session, *, in_folder: bool) -> SessionListing:
    return SessionListing(
        path=shown_path(session.path),
        format=session.format,
        reason="" if in_folder else detection.reason,
        agent=session.agent,
        models=list(session.models),
        messages=len(session.messages),
        calls=len(session.calls),
        calls_with_usage=sum(call.usage is not None for call in session.calls),
        skipped_records=session.skipped_records,
        records=list(_kinds(detection.format, session)),
        problems=[
            ReadingProblem(problem=each.reason, line=each.line, byte=each.offset, skipped=each.skipped)
            for each in (() if in_folder else session.diagnostics)
        ],
    )


def _kinds(known: Format, session: Session) -> Iterator[RecordKindListing]:
    for kind, count in sorted(session.record_counts.items(), key=lambda item: (-item[1], item[0])):
        ignored, is_known = known.is_bookkeeping(kind), known.knows_record(kind)
        yield RecordKindListing(
            kind=kind, records=count, status="ignored" if ignored else "read" if is_known else "unknown"
        )


LONGEST_TITLE = 60


def formats_text(formats: Iterable[Format], width: int = WIDTH, *, color: bool = False) -> str:
    """List every format: name, location, support for following, and exact figures."""
    page = Page(width, color=color)
    for index, each in enumerate(formats):
        if index:
            page.line()
        page.line(f"{each.name}: {each.title}", HEADING)
        page.pairs(
            (
                ("where", each.where or "anywhere; pass the file"),
                *(("searched", f"{home} ({'there' if exists(home) else 'missing'})") for home in each.homes()),
                ("live", "followed while it grows" if each.is_live else "read once"),
                ("exact", each.exact),
                *_package(FORMAT_PLUG_INS.plug_in(each.name)),
            )
        )
    plug_in_problems(page, FORMAT_PLUG_INS.problems())
    return page.text()


def _package(plug_in: PlugIn | None) -> list[tuple[str, str]]:
    return [] if plug_in is None else [("package", plug_in.label)]


def plug_in_problems(page: Page, problems: Sequence[str]) -> None:
    """List the plug-ins that are not usable, if there are any."""
    if problems:
        page.line()
        page.line("Plug-ins with problems", WARNING)
    for problem in problems:
        page.line(problem, indent=2)


NOT_NAMED = "not named in the file"


def reading_text(detection: Detection, session: Session, width: int = WIDTH, *, color: bool = False) -> str:
    """Describe the detected format of a file with its reasons, its content, and read problems."""
    page = Page(width, color=color)
    page.line(str(session.path), HEADING)
    page.pairs(
        (
            ("format", f"{detection.format.name}: {detection.format.title}"),
            ("reason", detection.reason),
            ("agent", shown_name(session.agent) or NOT_NAMED),
            ("models", shown_name(", ".join(session.models)) or NOT_NAMED),
            (
                "content",
                f"{IN_TEXT.plural(len(session.messages), 'message')}, {IN_TEXT.plural(len(session.calls), 'call')}",
            ),
            ("usage", _usage(session)),
            *_others(detection, session),
        )
    )
    page.line()
    page.line("Records by kind", HEADING)
    counts = sorted(session.record_counts.items(), key=lambda item: (-item[1], item[0]))
    rows = [(f"{count:,}", kind or "without a kind", _status(detection.format, kind)) for kind, count in counts]
    page.table(None, rows, RIGHT + LEFT + WRAPPED)
    page.line()
    _diagnostics(page, session)
    return page.text()


def _status(known: Format, kind: str) -> str:
    if known.is_bookkeeping(kind):
        return "ignored intentionally"
    return "" if known.knows_record(kind) else "unknown to this version"


def _usage(session: Session) -> str:
    """Count calls with reported usage; usage that the file repeats is counted once."""
    reported = sum(call.usage is not None for call in session.calls)
    if not reported:
        return "not reported for any call; tokens are counted locally and estimated"
    calls = IN_TEXT.plural(len(session.calls), "call")
    return f"reported for {reported:,} of {calls}; repeated reports are counted once per call"


def _others(detection: Detection, session: Session) -> list[tuple[str, str]]:
    """List other sessions in the same file, and how to open them."""
    from inspector.errors import SessionError

    file = Locator.of(session.path).file
    try:
        inside = detection.format.contained_sessions(file)
    except (SessionError, OSError):
        return []
    if len(inside) < 2:
        return []
    others = [one.identifier for one in inside if one.identifier != session.identifier]
    opened = f"open another one with {file.name}#{others[0]}" if others else "all have the same id"
    return [("one of", f"{len(inside):,} sessions; {opened}")]


def _diagnostics(page: Page, session: Session) -> None:
    unknown = unknown_parts(session).about_records
    if not session.diagnostics and not session.skipped_records:
        page.line(unknown or "Everything was read.", WARNING if unknown else "")
        return
    if unknown:
        page.line(unknown, WARNING)
    page.line(f"Problems ({IN_TEXT.plural(session.skipped_records, 'record')} skipped)", WARNING)
    page.table(
        ("line", "byte", "", "problem"),
        [_diagnostic(each) for each in session.diagnostics],
        RIGHT + RIGHT + LEFT + WRAPPED,
    )
    further = session.skipped_records - sum(each.skipped for each in session.diagnostics)
    if further > 0:
        page.line(f"and {IN_TEXT.plural(further, 'more record')} skipped", indent=2)


def _diagnostic(diagnostic: Diagnostic) -> tuple[str, str, str, str]:
    return (
        f"{diagnostic.line:,}" if diagnostic.line else "",
        f"{diagnostic.offset:,}",
        "skipped" if diagnostic.skipped else "partly read",
        diagnostic.reason,
    )


def sessions_text(sessions: Sequence[tuple[Header, SessionSummary]], left_out: int, *, color: bool = False) -> str:
    """List sessions in the given order, a row each, with the full path last; older `left_out` are counted."""
    page = Page(color=color)
    head = ("changed (UTC)", "format", "model", "calls", "tokens", "cost", "subagent", "title", "path")
    rows = [_row(header, summary) for header, summary in sessions]
    page.table(head, rows, LEFT * 3 + RIGHT * 3 + LEFT * 3, indent=0)
    if left_out:
        page.line(f"and {IN_TEXT.plural(left_out, 'older session')}")
    return page.text()


def _row(header: Header, summary: SessionSummary) -> tuple[str, ...]:
    title = first_name(summary.title, header.title, summary.prompt)
    return (
        datetime.fromtimestamp(header.modified, UTC).strftime("%Y-%m-%d %H:%M"),
        summary.format or "unreadable",
        shown_name(summary.model),
        f"{summary.calls:,}" if summary.format else "",
        IN_TEXT.short(summary.tokens) if summary.tokens is not None else "",
        IN_TEXT.qualified(IN_TEXT.dollars(summary.usd), "", is_lower_bound=summary.is_lower_bound)
        if summary.usd is not None
        else "",
        "yes" if (summary.parent or header.parent) is not None else "",
        title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…",
        str(header.path),
    )


def strategies_text(strategies: Iterable[StrategyType], width: int = WIDTH, *, color: bool = False) -> str:
    """List strategies: name, summary, origin."""
    page = Page(width, color=color)
    for index, strategy in enumerate(strategies):
        if index:
            page.line()
        page.line(f"{strategy.name}: {strategy.title}", HEADING)
        page.line(strategy.summary, indent=2)
        page.line(f"Source: {strategy.source}{_package_words(strategy)}", LABEL, indent=2)
    page.line()
    page.line("built-in plans", HEADING)
    page.line(", ".join(PRESETS), indent=2)
    page.line("Use one with --plan NAME; 'inspector strategies --plans' describes them.", LABEL, indent=2)
    plug_in_problems(page, PLUG_INS.problems())
    return page.text()


def _package_words(strategy: StrategyType) -> str:
    package = package_of(strategy)
    return f". Package: {package}" if package else ""


def package_of(strategy: StrategyType) -> str:
    """Return package and version of a strategy from another package; empty for built-in ones."""
    plug_in = PLUG_INS.plug_in(strategy.name)
    return "" if plug_in is None else plug_in.label


def strategy_text(strategy: StrategyType, width: int = WIDTH, *, color: bool = False) -> str:
    page = Page(width, color=color)
    page.line(f"{strategy.name}: {strategy.title}", HEADING)
    page.line(strategy.summary, indent=2)
    if note := note_of(strategy):
        page.line(note, indent=2)
    page.line(f"Source: {strategy.source}{_package_words(strategy)}", LABEL, indent=2)
    page.line()
    page.line("parameters" if strategy.parameters else "no parameters", HEADING)
    rows: list[tuple[str, str]] = []
    for parameter in strategy.parameters:
        rows += [
            (parameter.name, parameter.help),
            ("", f"default {_written(parameter, parameter.default)}; {parameter.range}"),
        ]
    page.table(None, rows, LEFT + WRAPPED)
    page.line()
    page.line("one-line form", HEADING)
    page.line(_example(strategy), indent=2)
    return page.text()


def note_of(strategy: StrategyType) -> str:
    """Describe possible API errors for the message lists a strategy produces; empty if there are none."""
    note: str = getattr(strategy, "note", "")
    return note


def strategy_data(strategy: StrategyType) -> dict[str, Any]:
    return {
        "name": strategy.name,
        "title": strategy.title,
        "summary": strategy.summary,
        "source": strategy.source,
        "note": note_of(strategy),
        "package": package_of(strategy),
        "parameters": [
            {
                "name": parameter.name,
                "kind": str(parameter.kind),
                "unit": parameter.unit,
                "default": list(parameter.default) if isinstance(parameter.default, tuple) else parameter.default,
                "minimum": parameter.minimum,
                "maximum": parameter.maximum,
                "choices": list(parameter.choices),
                "group": parameter.group,
                "range": parameter.range,
                "help": parameter.help,
            }
            for parameter in strategy.parameters
        ],
    }


def _written(parameter: Parameter, value: ParameterValue) -> str:
    """Format a value for the one-line form of a plan."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "+".join(value) or "none"
    if parameter.kind is ParameterKind.TEXT:
        return json.dumps(value, ensure_ascii=False)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _example(strategy: StrategyType) -> str:
    """Return the one-line form of the strategy with its first number as an example."""
    for parameter in strategy.parameters:
        if parameter.kind in (ParameterKind.WHOLE_NUMBER, ParameterKind.NUMBER):
            return f"{strategy.name}:{parameter.name}={_written(parameter, parameter.default)}"
    return strategy.name


class KnownPlan(NamedTuple):
    """A named plan: its description, or why it is invalid, and its strategies in their one-line form."""

    name: str
    summary: str
    specs: tuple[str, ...]


def plans_text(plans: Iterable[KnownPlan], *, color: bool = False) -> str:
    """List plans: name, description, strategies."""
    page = Page(WIDTH, color=color)
    for index, plan in enumerate(plans):
        if index:
            page.line()
        page.line(plan.name, HEADING)
        page.line(plan.summary, indent=2)
        for spec in plan.specs:
            for line in broken_after_commas(spec, WIDTH - 2):
                page.line(line, LABEL, indent=2)
    return page.text()


def plan_data(plan: KnownPlan) -> dict[str, Any]:
    return {"name": plan.name, "summary": plan.summary, "strategies": list(plan.specs)}


@dataclass(frozen=True, slots=True)
class ClassedTool:
    """One tool of a session, with its assumed purpose and the tier of its stale results in tiered truncation."""

    name: str
    calls: int
    results: int
    meaning: ToolKind
    tier: str


def classed_tools(session: Session) -> tuple[ClassedTool, ...]:
    """Return a session's tools, most calls first."""
    counts = Counter((block.tool_name, block.kind) for block in session.blocks if block.tool_name)
    names = sorted({name for name, _ in counts}, key=lambda name: (-counts[name, BlockKind.TOOL_CALL], name))
    tiers = TieredStale.for_session(session)
    return tuple(
        ClassedTool(
            name,
            counts[name, BlockKind.TOOL_CALL],
            counts[name, BlockKind.TOOL_RESULT],
            tool_kind(name),
            tiers.tier_of(name),
        )
        for name in names
    )


def tools_text(session: Session, width: int = WIDTH, *, color: bool = False) -> str:
    """Format the classes as a table, and list unclassified tools."""
    tools = classed_tools(session)
    page = Page(width, color=color)
    if not tools:
        page.line("The session calls no tools.")
        return page.text()
    rows = [(tool.name, tool.meaning.value, tool.tier, f"{tool.calls:,}", f"{tool.results:,}") for tool in tools]
    page.table(("tool", "class", "tier", "calls", "results"), rows, LEFT + LEFT + LEFT + RIGHT + RIGHT)
    unknown = [tool.name for tool in tools if tool.meaning is ToolKind.OTHER]
    page.line()
    if unknown:
        page.line(f"{IN_TEXT.plural(len(unknown), 'unknown tool')}: {', '.join(unknown)}", HEADING)
        page.line("Strategies treat these as unknown tools. To classify one, name it in a plan:", LABEL)
        page.line(f"tiered-stale:data-tools={unknown[0]}", indent=2)
    else:
        page.line("All tools are classified.")
    return page.text()


def tools_data(session: Session) -> list[dict[str, Any]]:
    return [
        {
            "name": tool.name,
            "meaning": tool.meaning.value,
            "tier": tool.tier,
            "calls": tool.calls,
            "results": tool.results,
        }
        for tool in classed_tools(session)
    ]


PATH_WIDTH = 60
_SPECIAL_IN_MARKDOWN = str.maketrans({character: f"\\{character}" for character in "\\`*_[]<>|#"})


def gap_line(gap: Gap) -> str:
    """Return the line that represents unknown lines."""
    if gap.size is None:
        return f"⋯ unknown from line {gap.first:,} on, if there are more lines ⋯"
    if gap.size == 1:
        return f"⋯ line {gap.first:,} is unknown ⋯"
    return f"⋯ lines {gap.first:,} to {gap.first + gap.size - 1:,} are unknown ⋯"


LOOSE_LINE = "⋯ at an unknown position ⋯"


def state_text(content: FileContent) -> str:
    """Format a file state: byte for byte if complete, otherwise with lines that mark gaps."""
    if content.is_whole:
        return content.text()
    lines: list[str] = []
    for piece in content.pieces():
        if not isinstance(piece, LineRun):
            lines.append(gap_line(piece))
            continue
        if piece.first is None:
            lines.append(LOOSE_LINE)
        lines += piece.lines
    return "".join(f"{line}\n" for line in lines)


def known_in_words(content: FileContent) -> str:
    """Describe how much of a file is known: `whole, 120 lines`, `40 of 120 lines`, `40 lines`, `deleted`, `nothing`."""
    if content.is_deleted:
        return "deleted"
    if content.is_whole:
        return f"whole, {IN_TEXT.plural(content.total or 0, 'line')}"
    if not content.known_lines:
        return "nothing"
    if content.total is None:
        return f"part, {IN_TEXT.plural(content.known_lines, 'line')}"
    return f"part, {content.known_lines:,} of {IN_TEXT.plural(content.total, 'line')}"


def state_notes(state: KnownFile) -> list[str]:
    """Return notes on a state in addition to its text, a sentence each; recorded texts in them are not sanitized."""
    notes = [f"{state.path} at turn {state.turn:,}: {known_in_words(state.content)}"]
    if state.event is None:
        return [f"{state.path} at turn {state.turn:,}: not read or changed yet"]
    notes[0] += f"; known since turn {state.known_since:,}" if state.known_since else ""
    if state.content.is_whole and state.content.ends_with_newline is None and state.content.total:
        notes.append("it is not recorded whether the last line ends with a newline; one was added")
    return notes + state_doubts(state)


def state_doubts(state: KnownFile) -> list[str]:
    """Return reasons why a state may differ from the file, a sentence each; recorded texts are not sanitized."""
    event = state.event
    problem = event.problem if event is not None and event.is_certain else ""
    return [*([f"turn {event.turn:,}: {problem}"] if event is not None and problem else []), *state.doubts]


def state_document(state: KnownFile) -> dict[str, Any]:
    content = state.content
    pieces: list[dict[str, Any]] = []
    for piece in content.pieces():
        if isinstance(piece, LineRun):
            pieces.append(
                {"known": True, "first_line": piece.first, "lines": len(piece.lines), "text": list(piece.lines)}
            )
        else:
            pieces.append({"known": False, "first_line": piece.first, "lines": piece.size})
    return {
        "path": state.path,
        "turn": state.turn,
        "is_whole": content.is_whole,
        "is_deleted": content.is_deleted,
        "lines": content.total,
        "known_lines": content.known_lines,
        "ends_with_newline": content.ends_with_newline,
        "known_since": state.known_since or None,
        "doubts": list(state.doubts),
        "text": content.text() if content.is_whole else None,
        "pieces": pieces,
    }


def difference_text(path: str, old: KnownFile, new: KnownFile) -> str:
    """Return the unified diff of two states; unknown lines appear as in `state_text`."""
    lines = difflib.unified_diff(
        state_text(old.content).splitlines(keepends=True),
        state_text(new.content).splitlines(keepends=True),
        f"{path}\tturn {old.turn}",
        f"{path}\tturn {new.turn}",
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def files_document(history: FileHistory) -> dict[str, Any]:
    return {
        "session": str(history.session.path),
        "session_id": history.session.identifier,
        "turns": history.turns,
        "unread_calls": history.unread,
        "files": [
            {
                "path": path,
                **event_counts(events),
                "first_turn": events[0].turn,
                "last_turn": events[-1].turn,
                "known": known_in_words(history.contents[path][-1]),
                "is_whole": history.contents[path][-1].is_whole,
            }
            for path, events in history.events.items()
        ],
    }


def event_counts(events: Sequence[FileEvent]) -> dict[str, int]:
    """Count reads, edits, writes, deletions and uncertain changes to a file."""
    kinds = [event.kind for event in events if event.is_certain]
    return {
        "reads": kinds.count(FileEventKind.READ),
        "edits": kinds.count(FileEventKind.EDIT) + kinds.count(FileEventKind.UNCLEAR),
        "writes": kinds.count(FileEventKind.WRITE),
        "deletions": kinds.count(FileEventKind.DELETE),
        "doubts": sum(not event.is_certain for event in events),
    }


def short_path(history: FileHistory, path: str) -> str:
    """Return a file's path relative to the agent's working folder; unchanged if it is outside. Not sanitized."""
    return relative_path(history.session.working_directory, path)


_FILE_HEAD = ("file", "reads", "edits", "writes", "turns", "known at the end")


def _file_rows(history: FileHistory) -> list[tuple[str, ...]]:
    rows = []
    for path, events in history.events.items():
        counts = event_counts(events)
        turns = f"{events[0].turn:,} to {events[-1].turn:,}" if len(events) > 1 else f"{events[0].turn:,}"
        known = known_in_words(history.contents[path][-1])
        known += f", {IN_TEXT.plural(counts['doubts'], 'doubt')}" if counts["doubts"] else ""
        numbers = (f"{counts[name]:,}" for name in ("reads", "edits", "writes"))
        rows.append((one_line(short_path(history, path)), *numbers, turns, known))
    return rows


def files_text(history: FileHistory) -> str:
    """Format the files of a session in columns."""
    if not history.events:
        return "no tool recorded reading, editing or writing a file\n"
    rows = _file_rows(history)
    shown = [(cut_middle(name, PATH_WIDTH), *rest) for name, *rest in rows]
    return _columns(_FILE_HEAD, shown, numbers=(1, 2, 3)) + _unread_text(history)


def files_markdown(history: FileHistory) -> str:
    """Format the files of a session as a Markdown table."""
    lines = [f"| {' | '.join(_FILE_HEAD)} |", "| --- | ---: | ---: | ---: | --- | --- |"]
    lines += [f"| {' | '.join(cell.translate(_SPECIAL_IN_MARKDOWN) for cell in row)} |" for row in _file_rows(history)]
    return "\n".join(lines) + "\n" + _unread_text(history)


def _unread_text(history: FileHistory) -> str:
    if not history.unread:
        return ""
    return f"\n{IN_TEXT.plural(history.unread, 'tool call')} could not be read because the file no longer holds them\n"


def events_text(history: FileHistory, path: str) -> str:
    """Format the events of one file, a line each."""
    rows = []
    for event, content in zip(history.events[path], history.contents[path][1:], strict=True):
        what = f"perhaps {FileEventKind.EDIT}" if not event.is_certain else str(event.kind)
        text = event.intent or ""
        note = "; ".join(part for part in (one_line(text), one_line(event.problem)) if part)
        rows.append((f"{event.turn:,}", what, one_line(event.tool), known_in_words(content), note))
    return _columns(("turn", "done", "tool", "known", ""), rows, numbers=(0,))


def events_document(history: FileHistory, path: str) -> dict[str, Any]:
    blocks = history.session.all_blocks
    return {
        "path": path,
        "events": [
            {
                "turn": event.turn,
                "kind": str(event.kind),
                "is_certain": event.is_certain,
                "tool": event.tool,
                "tool_call_id": blocks[event.call_block].tool_call_id,
                "intent": event.intent,
                "problem": event.problem,
                "known": known_in_words(content),
                "is_whole": content.is_whole,
            }
            for event, content in zip(history.events[path], history.contents[path][1:], strict=True)
        ],
    }


def changelog_document(history: FileHistory, changes: Iterable[ChangelogEntry]) -> dict[str, Any]:
    """Convert the changelog to plain data, in the order of the changes."""
    blocks = history.session.all_blocks
    return {
        "session": str(history.session.path),
        "session_id": history.session.identifier,
        "changes": [
            {
                "path": change.event.path,
                "turn": change.event.turn,
                "kind": str(change.event.kind),
                "what": change.what,
                "source": str(change.source),
                "added": change.added,
                "removed": change.removed,
                "tool": change.event.tool,
                "tool_call_id": blocks[change.event.call_block].tool_call_id,
                "time": history.session.messages[change.event.turn - 1].time,
            }
            for change in changes
        ],
    }


def changelog_markdown(history: FileHistory, changes: Sequence[ChangelogEntry]) -> str:
    """Format the changelog in Markdown, by file and by turn, with recorded texts escaped."""
    if not changes:
        return "# Changelog\n\nNo file was changed.\n"
    files: dict[str, list[ChangelogEntry]] = {}
    turns: dict[int, list[ChangelogEntry]] = {}
    for change in changes:
        files.setdefault(change.event.path, []).append(change)
        turns.setdefault(change.event.turn, []).append(change)
    count = f"{IN_TEXT.plural(len(changes), 'change')} of {IN_TEXT.plural(len(files), 'file')}"
    lines = ["# Changelog", "", count, "", "## By file"]
    for path, own in files.items():
        first, last = own[0].event.turn, own[-1].event.turn
        when = f"turn {first:,}" if first == last else f"turns {first:,} to {last:,}"
        lines += [
            "",
            f"### {_escaped(short_path(history, path))}",
            "",
            f"{IN_TEXT.plural(len(own), 'change')}, {when}",
            "",
        ]
        lines += [f"- turn {change.event.turn:,}: {_escaped(change.what)}{change_size(change)}" for change in own]
    lines += ["", "## By turn", ""]
    for turn, own in sorted(turns.items()):
        for change in own:
            lines.append(
                f"- turn {turn:,}: {_escaped(short_path(history, change.event.path))}: {_escaped(change.what)}"
            )
    return "\n".join(lines) + "\n"


def changelog_text(history: FileHistory, changes: Sequence[ChangelogEntry]) -> str:
    """Format the changelog, a change per line: `- core/agent.py: Increased tool retention for better context`."""
    if not changes:
        return "no file was changed\n"
    width = max(len(f"{change.event.turn:,}") for change in changes)
    lines = []
    for change in changes:
        path = one_line(short_path(history, change.event.path))
        by = "" if change.source is not ChangeSource.DIFFERENCE else " [difference]"
        lines.append(f"{change.event.turn:>{width},}  - {path}: {one_line(change.what)}{change_size(change)}{by}")
    return "\n".join(lines) + "\n"


def change_size(change: ChangelogEntry) -> str:
    """Format the added and removed lines after a space: ` (+3 -1)`; empty if unknown."""
    if change.added is None:
        return ""
    return f" (+{change.added:,}{'' if change.removed is None else f' -{change.removed:,}'})"


def _escaped(text: str) -> str:
    return one_line(text).translate(_SPECIAL_IN_MARKDOWN)


def _columns(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int]) -> str:
    last = len(head) - 1
    widths = [max(cell_width(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = [
        "  ".join(
            cell if column == last else fit_cells(cell, widths[column], align_right=column in numbers)
            for column, cell in enumerate(row)
        ).rstrip()
        for row in (head, *rows)
    ]
    return "\n".join(lines) + "\n"
