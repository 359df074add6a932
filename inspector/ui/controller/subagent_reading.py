"""Reads a subagent's session in a thread, counts it, and goes on following it, while its rows are shown."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from inspector.session.follow import Follower
    from inspector.session.model import Session, SessionLink
    from inspector.tokens.counter import Counter
    from inspector.ui.timeline.subagents import Key, Subagent

    IsCancelled = Callable[[], bool]


@dataclass
class SubagentRead(Message):
    """A subagent's session was read, or holds more, or cannot be read.

    Attributes:
        generation: Which session's subagents.
        key: What stands for it.
        subagent: What was read; None where nothing can be.
        problem: Why not, in a few words; may hold a path.
    """

    generation: int
    key: Key
    subagent: Subagent | None
    problem: str = ""


def read_subagent(
    session: Session,
    link: SessionLink,
    counter: Counter | None,
    tell: Callable[[Subagent | None, str], object],
    is_cancelled: IsCancelled,
) -> None:
    """Read a subagent's session and tell of it: with estimated tokens, then with counted ones, then as it grows.

    Args:
        session: The session that started it.
        link: Leads to it.
        counter: What tokens are counted with; None for what there is.
        tell: Takes what was read, or why nothing was, from any thread.
        is_cancelled: True when its rows are not shown any more.
    """
    from inspector.session.errors import SessionError
    from inspector.session.follow import Follower
    from inspector.session.related import locate

    path = locate(session, link)
    if path is None:
        tell(None, "its file is not there")
        return
    try:
        follower = Follower(path)
    except SessionError as error:
        tell(None, error.message)
        return
    last: Subagent | None = None
    for last in _states(follower.session, None, counter, is_cancelled):
        tell(last, "")
    if last is not None and not is_cancelled():
        asyncio.run(_follow(follower, last, tell, is_cancelled))


def _states(
    session: Session, before: Subagent | None, counter: Counter | None, is_cancelled: IsCancelled
) -> Iterator[Subagent]:
    """A state of the session with estimated tokens, where it was not seen before, then counted as far as they are."""
    from inspector.strategies.history.history import History
    from inspector.tokens.counter import load_counter
    from inspector.tokens.token_table import TokenTable, count_session
    from inspector.ui.timeline.rows import Rows
    from inspector.ui.timeline.subagents import Subagent

    earlier = None if before is None else before.rows
    rows = Rows.of(History.of(session, None if earlier is None else earlier.history), earlier)
    if before is None:
        yield Subagent(session, rows, TokenTable.estimated(session))
    usable = counter is not None and counter.is_exact_tokenizer
    known = counter if counter is not None and usable else load_counter()
    table = before.table if before is not None and before.table.counter.is_exact_tokenizer else None
    for newer in count_session(session, known, previous=table, cancelled=is_cancelled):
        table = newer
    if table is not None and not is_cancelled():
        yield Subagent(session, rows, table)


async def _follow(
    follower: Follower, last: Subagent, tell: Callable[[Subagent | None, str], object], is_cancelled: IsCancelled
) -> None:
    from inspector.ui.controller.jobs import updates_until

    async for update in updates_until(follower, is_cancelled):
        if update.session is last.session:
            continue
        before, counter = None if update.change == "reloaded" else last, last.table.counter
        for state in _states(update.session, before, counter, is_cancelled):
            last = state
            tell(last, "")
