"""The report on a folder of sessions as data: what `inspector report FOLDER --format json` prints, as types.

The figures of every session are those of the report on it alone, but for calls that several sessions hold: they count
with the session that ended first. `docs/folder-report.schema.json` is made from these types.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from inspector.report.details import Count, about
from inspector.report.document import FigureSet, Saving  # noqa: TC001  msgspec reads the types of fields


class SessionUnderPlan(Struct, frozen=True, kw_only=True):
    """One session under one plan."""

    figures: FigureSet
    saved: Saving
    edits: Annotated[Count | None, about("How often a block's rendition changed, over all calls.")]
    hazards: Annotated[Count, about("How often something may go wrong; the report on the session names what.")]


class SessionRow(Struct, frozen=True, kw_only=True):
    """One session."""

    path: Annotated[str, about("Its file, with the home folder as `~`.")]
    format: Annotated[str, about("Name of its format.")]
    id: Annotated[str, about("Its id.")]
    model: Annotated[str | None, about("The model of its newest call, or null when no call names one.")]
    messages: Annotated[Count, about("Entries of the conversation.")]
    calls: Annotated[Count, about("Requests to a model.")]
    recorded: Annotated[FigureSet | None, about("What the provider reported; null when the file has no usage.")]
    baseline: Annotated[FigureSet, about("The session replayed with an empty plan.")]
    plans: Annotated[list[SessionUnderPlan], about("In the order they were asked for.")]


class UnreadSession(Struct, frozen=True, kw_only=True):
    """A file that could not be read."""

    path: Annotated[str, about("The file, with the home folder as `~`.")]
    problem: Annotated[str, about("Why, in a line.")]


class Distribution(Struct, frozen=True, kw_only=True):
    """How what sessions save is spread, in percent of each session's cost (of its prompts without a price)."""

    least: float
    quarter: Annotated[float, about("A quarter of the sessions save less.")]
    middle: Annotated[float, about("The median: half of them save less.")]
    three_quarters: Annotated[float, about("A quarter of them save more.")]
    most: float


class FolderPlan(Struct, frozen=True, kw_only=True):
    """All sessions under one plan."""

    name: Annotated[str, about("The plan's own name, or its strategies as they were asked for.")]
    figures: Annotated[FigureSet, about("Sums over all sessions; the largest of all largest prompts.")]
    saved: Annotated[Saving, about("Sums over all sessions. Negative where the plan costs more.")]
    helped: Annotated[Count, about("Sessions it saves something on.")]
    unchanged: Annotated[Count, about("Sessions it makes no difference to.")]
    worse: Annotated[Count, about("Sessions it costs more on.")]
    percent: Annotated[Distribution | None, about("Null where no session has a figure.")]
    order: Annotated[list[int], about("Indices of sessions, those it helps most first.")]


class FolderReport(Struct, frozen=True, kw_only=True):
    """What many sessions cost, and what each plan would make of them."""

    schema: Annotated[Literal[1], about("Version of this contract.")]
    inspector: Annotated[str, about("Version of the program that wrote it.")]
    path: Annotated[str, about("The folder, with the home folder as `~`.")]
    baseline: Annotated[FigureSet, about("Sums over all sessions with an empty plan.")]
    plans: Annotated[list[FolderPlan], about("In the order they were asked for.")]
    sessions: Annotated[list[SessionRow], about("By path.")]
    unread: Annotated[list[UnreadSession], about("What could not be read, by path; part of no figure.")]
    warnings: Annotated[list[str], about("What to know before believing the figures, each in a sentence.")]
