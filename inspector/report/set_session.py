"""A session as part of a set: its figures by model, and the other properties compared between sets."""

from __future__ import annotations

from collections import Counter
from math import isnan
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from msgspec import Struct, field

from inspector.replay.analysis.cache_misses import cache_misses
from inspector.replay.analysis.compactions import compaction_aftermaths, rereads_of_calls
from inspector.replay.quantity import DOLLAR_DIGITS, Count, Unit, about, figure
from inspector.replay.sessions import StartedTotals
from inspector.report.build_report import to_report
from inspector.report.catalogue import FigureSet
from inspector.report.ledger_facts import utc_time
from inspector.report.secret_redaction import shown_path
from inspector.session.model import LinkKind
from inspector.session.registry import format_named

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from inspector.replay.engine.replay import Replay
    from inspector.replay.sessions import SubagentCosts

SetName = Literal["before", "after"]


class SetSession(Struct, frozen=True, kw_only=True):
    """One session of a set. A call in several sessions is counted for one of them."""

    path: Annotated[str, about("File of the session, with the home folder as `~`.")]
    set: Annotated[SetName, about("The set it is in.")]
    agent: Annotated[str, about("The agent.")]
    version: Annotated[str, about("The program that recorded it, with its version; empty if unknown.")]
    began: Annotated[str, about("Start, ISO 8601 in UTC; empty if unknown.")]
    subagents: Annotated[Count, about("Other sessions that it started; their calls are not counted here.")]
    started: Annotated[StartedTotals, about("Calls and cost of those sessions.")] = field(default_factory=StartedTotals)
    figures: Annotated[FigureSet, about("Figures as in its own report.")]
    parts: Annotated[list[SessionPart], about("Calls of the session by model.")]


class SessionPart(Struct, frozen=True, kw_only=True):
    """The calls of one model in a session."""

    model: Annotated[str, about("As recorded; empty if unknown.")]
    calls: Annotated[Count, figure("calls", Unit.CALLS, "Number of calls.")]
    cost_usd: Annotated[float | None, figure("cost", Unit.DOLLARS, "Dollars; null without a price.")]
    prompt_tokens: Annotated[Count, figure("prompt tokens", Unit.TOKENS, "Tokens of the prompts.")]
    cache_read_tokens: Annotated[
        Count, figure("cache reads", Unit.TOKENS, "The part of them read from the prompt cache.")
    ]
    output_tokens: Annotated[Count, figure("output", Unit.TOKENS, "Response tokens.")]
    misses: Annotated[
        Count, figure("cache misses", Unit.CALLS, "Calls that read clearly less from the cache than they could have.")
    ]
    compactions: Annotated[Count, figure("compactions", Unit.COUNT, "Compactions followed by one of these calls.")]
    rereads: Annotated[Count, figure("re-reads", Unit.COUNT, "Reads of files that were read or written before.")]


def set_session(
    path: Path,
    baseline: Replay,
    whole: Replay,
    subagents: SubagentCosts | None = None,
    name: SetName = "before",
) -> SetSession:
    """Collect the compared figures of a session.

    Args:
        path: Path that opens it.
        baseline: The calls that are counted for it, with nothing cut.
        whole: The whole session with nothing cut, including calls counted for other sessions.
        subagents: Costs of the sessions that it started; None for none.
        name: The set it is in.
    """
    session = baseline.history.session
    known = format_named(session.format)
    started = [link for link in session.links if link.kind is LinkKind.SUBAGENT]
    return SetSession(
        path=shown_path(path),
        set=name,
        agent=known.title if known is not None else session.format,
        version=session.agent,
        began=utc_time(began(baseline, whole)),
        subagents=len(started),
        started=StartedTotals.of(subagents),
        figures=to_report(FigureSet, baseline.figures),
        parts=_parts(baseline, whole),
    )


def began(baseline: Replay, whole: Replay) -> float | None:
    """Return the time a session began, seconds since the epoch; calls copied from another session do not count.

    Args:
        baseline: The calls that are counted for it.
        whole: The whole session.
    """
    mine, session = baseline.history.session.calls, whole.history.session
    if len(mine) == len(session.calls):
        times = [message.time for message in session.messages if not message.is_inherited]
    else:
        times = [call.time for call in mine]
    return min((time for time in times if time is not None), default=None)


def _parts(baseline: Replay, whole: Replay) -> list[SessionPart]:
    ledger, calls = baseline.ledger, baseline.history.session.calls
    models = [call.model for call in calls]
    counted = {call.response for call in calls}
    every = whole.history.session.calls

    def by_model(found: Iterable[int]) -> Counter[str]:
        return Counter(every[call].model for call in found if every[call].response in counted)

    misses = by_model(miss.call for miss in cache_misses(whole).misses)
    compactions = by_model(each.call for each in compaction_aftermaths(whole))
    again = rereads_of_calls(whole)
    rereads = by_model(call for call in np.flatnonzero(again).tolist() for _ in range(int(again[call])))
    parts = []
    for model in sorted(set(models)):
        mine = np.array([name == model for name in models], dtype=np.bool_)
        cost = float(ledger.cost[mine].sum())
        parts.append(
            SessionPart(
                model=model,
                calls=int(mine.sum()),
                cost_usd=None if isnan(cost) else round(cost, DOLLAR_DIGITS),
                prompt_tokens=int(ledger.prompt_tokens[mine].sum()),
                cache_read_tokens=int(ledger.cache_read[mine].sum()),
                output_tokens=int(ledger.output[mine].sum()),
                misses=misses[model],
                compactions=compactions[model],
                rereads=rereads[model],
            )
        )
    return parts
