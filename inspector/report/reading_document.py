"""`inspector formats --json`: formats, how files were read, and parts that this version does not know.

`docs/formats-report.schema.json` is generated from these types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Struct

import inspector
from inspector.replay.quantity import Count, about
from inspector.report.document import SCHEMA_VERSION
from inspector.report.secret_redaction import shown_path
from inspector.session.registry import PLUG_INS
from inspector.session.unknown_parts import UnknownParts, by_agent, unknown_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.session.format import Detection, Format
    from inspector.session.model import Session


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
    """List every format."""
    listed = [
        FormatListing(
            name=each.name,
            title=each.title,
            where=each.where,
            homes=[shown_path(home) for home in each.homes()],
            live=each.is_live,
            exact=each.exact,
            package=plug_in.label if (plug_in := PLUG_INS.plug_in(each.name)) else "",
        )
        for each in formats
    ]
    problems = PLUG_INS.problems()
    version = inspector.__version__
    return FormatsReport(schema=SCHEMA_VERSION, inspector=version, formats=listed, plug_in_problems=problems)


def reading_report(
    read: Iterable[tuple[Detection, Session]], unread: dict[str, str], *, in_folder: bool = False
) -> FormatsReport:
    """Describe how sessions were read, and sum their unknown parts by agent version.

    Args:
        read: Formats and sessions, consumed one at a time so that no session stays in memory.
        unread: Filled while `read` is consumed: path and reason of files that cannot be read.
        in_folder: The sessions are those of a folder: their reasons and problems are left out.
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
    return FormatsReport(
        schema=SCHEMA_VERSION, inspector=inspector.__version__, sessions=sessions, unread=unread, unknown=listed
    )


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
