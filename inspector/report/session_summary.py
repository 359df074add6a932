"""One session in a line: what a list of sessions says about each."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from pathlib import Path  # noqa: TC003  # the cache of summaries looks the types of their fields up
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.pricing.prices import Pricing
from inspector.session.duplicate_calls import counted_here
from inspector.session.errors import SessionError
from inspector.session.model import BlockKind, Role
from inspector.session.open import open_reader
from inspector.session.related import locate, parent_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.session.model import Call, Session

FIRST_BYTES = 1 << 20
"""So much of a session is read for a first look; most sessions are no longer."""


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """What is known of one session, read or partly read.

    Attributes:
        path: What opens it.
        format: Name of its format; empty where it cannot be read as a session.
        problem: Why it cannot be read, in one line; empty where it can.
        is_whole: All of it was read; otherwise counts are of its beginning.
        identifier: Its id.
        title: What the agent calls it; empty where it has no title.
        agent: The program that recorded it.
        working_directory: Where the agent worked.
        model: The model of its last call.
        messages: How many there are.
        calls: How many there are, those copied from other sessions left out.
        tokens: Tokens of all prompts and responses that were reported; None where none were.
        context: Tokens of the last reported prompt and its response; None where none were.
        usd: What the reported tokens cost; None where none were, or a model has no price.
        prompt: The first thing a person said, as recorded.
        last: The last thing the model said, as recorded.
        parent: What opens the session that started it; None for one a person began.
    """

    path: Path
    format: str = ""
    problem: str = ""
    is_whole: bool = True
    identifier: str = ""
    title: str = ""
    agent: str = ""
    working_directory: str = ""
    model: str = ""
    messages: int = 0
    calls: int = 0
    tokens: int | None = None
    context: int | None = None
    usd: float | None = None
    prompt: str = ""
    last: str = ""
    parent: Path | None = None


def summarise(
    path: Path,
    pricing: Pricing | None = None,
    *,
    is_cancelled: Callable[[], bool] = lambda: False,
    most_bytes: int | None = None,
) -> SessionSummary:
    """Read a session and sum it up. Never raises for what a file holds.

    Args:
        path: What opens it.
        pricing: Prices; None for the user's own.
        is_cancelled: True when nobody waits for the summary any more; it is of what was read by then.
        most_bytes: Stop reading after so much; None to read all.
    """
    is_whole = True
    try:
        reader = open_reader(path)
        for done, total in reader.load():
            if done < total and (is_cancelled() or (most_bytes is not None and done >= most_bytes)):
                is_whole = False
                break
        return summary_of(reader.snapshot(), pricing, is_whole=is_whole)
    except SessionError as error:
        return SessionSummary(path, problem=error.message)


def summary_of(session: Session, pricing: Pricing | None = None, *, is_whole: bool = True) -> SessionSummary:
    """Sum a session up.

    Args:
        session: What was read.
        pricing: Prices; None for the user's own.
        is_whole: It is all of the session.
    """
    own = [call for call in session.calls if not session.messages[call.response].is_inherited]
    # A session that made no call yet is shown with what it took over, unless that can be seen where it was made.
    own = own or list(counted_here(session).calls)
    reported = [call for call in own if call.usage is not None and call.usage.prompt]
    usages = [call.usage for call in reported if call.usage is not None]
    parent = parent_of(session)
    return SessionSummary(
        path=session.path,
        format=session.format,
        is_whole=is_whole,
        identifier=session.identifier,
        title=session.title,
        agent=session.agent,
        working_directory=session.working_directory,
        model=next((call.model for call in reversed(session.calls) if call.model), ""),
        messages=len(session.messages),
        calls=len(own),
        tokens=sum(usage.prompt + usage.output for usage in usages) if usages else None,
        context=usages[-1].prompt + usages[-1].output if usages else None,
        usd=_cost(reported, pricing or Pricing.load()) if reported else None,
        prompt=_first_prompt(session),
        last=_last_answer(session),
        parent=locate(session, parent) if parent is not None else None,
    )


def _cost(calls: list[Call], pricing: Pricing) -> float | None:
    usages = [call.usage for call in calls if call.usage is not None]
    counts = np.array(
        [(u.uncached, u.cache_read, u.cache_write_5m, u.cache_write_1h, u.output) for u in usages], dtype=np.int64
    ).T
    times = np.array([call.time if call.time is not None else np.nan for call in calls])
    usd = float(pricing.cost([call.model for call in calls], times, *counts).sum())
    return None if isnan(usd) else usd


def _first_prompt(session: Session) -> str:
    """What was said first in the session itself; in the one it goes on from, where nothing was said since."""
    inherited = ""
    for message in session.messages:
        if message.role is Role.USER and not (message.is_meta or message.is_summary):
            for block in message.blocks:
                if block.kind is BlockKind.USER_TEXT and block.preview.strip():
                    if not message.is_inherited:
                        return block.preview
                    inherited = inherited or block.preview
    return inherited


def _last_answer(session: Session) -> str:
    for message in reversed(session.messages):
        if message.role is Role.ASSISTANT:
            for block in reversed(message.blocks):
                if block.kind is BlockKind.ASSISTANT_TEXT and block.preview.strip():
                    return block.preview
    return ""
