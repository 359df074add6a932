"""Prepare a session for replays, and replay it in one step.

Borrow a token calibration from a related session, for sessions with too little reported usage.

A subagent's file often has a handful of calls. Its parent, found by the ids and the location of its file, used the same
program and usually the same model; the same is true for the session that it continues. These are other files, so only
their first megabytes are read, and only after the session itself is counted.

Calls and cost of the sessions that a session started, read from their own files.

They are billed in addition to the session's calls, and no prompt of the session contains them. Every call is counted
once: a call that a forked subagent copied from its parent is the parent's.
"""

from __future__ import annotations

import collections
import dataclasses
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Final

import numpy as np
from msgspec import Meta, Struct
from msgspec.structs import replace

from inspector.errors import SessionError
from inspector.replay.analysis.costs import SideSpending, cost_with_side_requests, side_spending
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.prompt_edits import PromptEdits
from inspector.replay.engine.prompt_layout import PromptLayout
from inspector.replay.engine.recorded_calls import deduplicated_prompts, is_reported_in_full, recorded_calls
from inspector.replay.engine.renderer import Renderer
from inspector.replay.engine.replay import Replay, replay
from inspector.replay.engine.simulation import PromptSizes, plan_edits
from inspector.replay.engine.token_scale import CalibrationSource, calibrate_session
from inspector.replay.figure import HowKnown, lowest_confidence
from inspector.session.files import FileState, Locator
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.model import LinkKind, Session, SessionLink
from inspector.session.open import open_reader, open_session
from inspector.session.related import NO_CALL, StartedSessions, call_keys, locate, parent_of, subagents_of
from inspector.session.sqlite import SqliteReader
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.tokens.calibration import LEAST_CALLS, BorrowedCalibration
from inspector.tokens.counter import Counter, load_counter, shared_counter
from inspector.tokens.token_table import CountCache, TokenTable, count_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from inspector.replay.pricing.prices import Pricing
    from inspector.session.format import ContainedSession


MOST_BYTES = 4 << 20
"""Maximum bytes to read of a file: some hundred calls of Claude Code; a fit needs ten, and is good with thirty."""

_GROWN = 1.5
"""Growth factor after which a file without a usable fit is read again."""

_MOST_REMEMBERED = 256

_CALIBRATION_LINKS = (LinkKind.PARENT, LinkKind.CONTINUED)
"""Links to follow, in this order."""


def calibration_source_of(history: History, table: TokenTable) -> CalibrationSource | None:
    """Find the session to borrow a fit from; None without need or source, or while counts are estimates."""
    links = _links_to_lenders(history.session)
    if not links or not table.is_complete or not _needs_one(history):
        return None
    for link in links:
        path = locate(history.session, link)
        fits = _BORROWED.fits_of(path, table.counter) if path is not None else ()
        if fits:
            return CalibrationSource(link.kind, link.identifier, fits)
    return None


def calibration_files(session: Session) -> tuple[Path, ...]:
    """Return the files a session's fit may depend on, existing or not; usually none."""
    reported = collections.Counter(call.model for call in session.calls if call.usage is not None and call.usage.prompt)
    if max(reported.values(), default=0) >= LEAST_CALLS:
        return ()
    paths = (locate(session, link) or link.path for link in _links_to_lenders(session))
    files = dict.fromkeys(Locator.of(path).file for path in paths if path is not None)
    return tuple(file for file in files if file not in session.files)


def _links_to_lenders(session: Session) -> list[SessionLink]:
    return [link for kind in _CALIBRATION_LINKS for link in session.links if link.kind is kind]


def _needs_one(history: History) -> bool:
    """Return True if the most-used model has too few reported calls for a fit."""
    reported = deduplicated_prompts(history) > 0
    models = recorded_calls(history).models
    counts = np.bincount(models.code[reported], minlength=1)
    return int(counts.max()) < LEAST_CALLS


@dataclass(frozen=True)
class _BorrowedCalibrations:
    """Cache of fits from other files in this process: file size and fits by file and vocabulary."""

    known: dict[tuple[Path, str], tuple[int, tuple[BorrowedCalibration, ...]]] = field(default_factory=dict)

    def fits_of(self, path: Path, counter: Counter) -> tuple[BorrowedCalibration, ...]:
        """Return the fits from the beginning of a session; empty if it has too little data or cannot be read."""
        try:
            size = Locator.of(path).file.stat().st_size
        except OSError:
            return ()
        key = (path, counter.name)
        before, fits = self.known.get(key, (0, ()))
        # A file that grows while its subagents run is not read again for every line.
        if fits or (before and (min(size, MOST_BYTES) < _GROWN * before)):
            return fits
        fits = _fitted(path, size, counter)
        if len(self.known) >= _MOST_REMEMBERED:
            self.known.pop(next(iter(self.known)), None)
        self.known[key] = (max(size, 1), fits)
        return fits


_BORROWED = _BorrowedCalibrations()


def _fitted(path: Path, size: int, counter: Counter) -> tuple[BorrowedCalibration, ...]:
    try:
        session = _beginning(path, size)
    except (SessionError, OSError):
        return ()
    if session is None or len(session.calls) < LEAST_CALLS:
        return ()
    table = collections.deque(count_session(session, counter), maxlen=1).pop()
    history = History.of(session)
    fits = calibrate_session(history, table, _removed(history, table)).own_fits
    return tuple(fit._replace(is_from_other_session=True) for fit in fits)


def _removed(history: History, table: TokenTable) -> NDArray[np.int64]:
    """Return the counted tokens the agent itself had cleared by each call, including the next one. int64."""
    layout = PromptLayout.of(history, table.tokens)
    nothing = np.zeros(history.call_count + 1)
    edits = plan_edits(history, Renderer(history, table), Plan(), PromptSizes(nothing, nothing))
    return PromptEdits.of(layout, edits).removed


def _beginning(path: Path, size: int) -> Session | None:
    """Read the beginning of a session; None if it can only be read whole and is too large."""
    reader = open_reader(path)
    if not isinstance(reader, JsonlReader | SqliteReader) and size > MOST_BYTES:
        return None
    for done, _ in reader.load():
        if isinstance(reader, JsonlReader) and done >= MOST_BYTES:
            break
    return reader.snapshot()


def counted_inputs(
    session: Session,
    pricing: Pricing | None = None,
    *,
    cache: str | None = None,
    window: int | None = None,
    precise: bool = False,
    counts: CountCache | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ReplayInputs:
    """Count a session's tokens, and combine them with prices, prompt cache and context window.

    Args:
        pricing: Prices; by default the user's price file and the bundled table.
        cache: Name of the prompt cache for every call; None for each model's own.
        window: The context window in tokens; None for the recorded or listed one.
        precise: Count cut texts exactly instead of within a few tokens.
        counts: Persistent count cache; defaults to the user's cache folder.
        progress: Receives the counted and the total amount.
    """
    # Only the last table is needed; a list would hold a copy for every tenth of a second.
    table = deque(count_session(session, shared_counter(), progress=progress, cache=counts), maxlen=1).pop()
    history = History.of(session)
    return ReplayInputs.of(
        history,
        table,
        pricing=pricing,
        cache=cache,
        window=window,
        precise=precise,
        calibration_source=calibration_source_of(history, table),
    )


def replay_session(session: Session, plan: Plan, *, pricing: Pricing | None = None, precise: bool = False) -> Replay:
    """Count a session's tokens and replay every call of it under a plan.

    Args:
        session: A session read by `open_session`, or a state of one that is being followed.
        plan: The plan; `Plan()` changes nothing.
        pricing: Prices; by default the user's price file and the bundled table.
        precise: Count cut texts exactly instead of within a few tokens; reads every text that is cut. Screens and
            reports do not use this, so that they agree.
    """
    return replay(counted_inputs(session, pricing, precise=precise), plan)


SETTLED_SECONDS = 600.0
"""A session in a database is not read again when others change, if it was not modified for this long."""

NOT_FOUND = "file not found"


class SubagentCost(Struct, frozen=True, kw_only=True):
    """Calls of one session that another one started, without those it copied."""

    path: Annotated[str, Meta(description="Path that opens it.")]
    id: Annotated[str, Meta(description="Its id.")]
    title: Annotated[str, Meta(description="Its task or type; empty unless texts were requested.")]
    model: Annotated[str, Meta(description="Model of most of its calls; empty if unknown.")]
    calls: Annotated[int, Meta(ge=0, description="Number of calls.")]
    prompt_tokens: Annotated[int, Meta(ge=0, description="Tokens of their prompts.")]
    cache_read_tokens: Annotated[int, Meta(ge=0, description="The part of them read from the prompt cache.")]
    output_tokens: Annotated[int, Meta(ge=0, description="Response tokens.")]
    cost_usd: Annotated[float | None, Meta(description="Dollars at list price; null without one.")]
    side_requests: Annotated[int, Meta(ge=0, description="Requests outside its conversation, not included above.")]
    side_requests_usd: Annotated[float | None, Meta(description="Dollars of these requests; null without a price.")]
    known: Annotated[HowKnown, Meta(description="Lowest certainty of its figures.")]
    is_lower_bound: Annotated[bool, Meta(description="True if a part of the cost is unknown.")]


class UnreadSubagent(Struct, frozen=True, kw_only=True):
    """A started session that could not be read."""

    id: Annotated[str, Meta(description="Its id as recorded.")]
    problem: Annotated[str, Meta(description="Reason, in one line.")]


class SubagentCosts(Struct, frozen=True, kw_only=True):
    """All sessions that a session started, directly or through others, with at least one call of their own."""

    sessions: Annotated[tuple[SubagentCost, ...], Meta(description="In the order they were found.")]
    unread: Annotated[tuple[UnreadSubagent, ...], Meta(description="Those that could not be read, in no figure.")]
    calls: Annotated[int, Meta(ge=0, description="Number of calls.")]
    prompt_tokens: Annotated[int, Meta(ge=0, description="Tokens of their prompts.")]
    cache_read_tokens: Annotated[int, Meta(ge=0, description="The part of them read from the prompt cache.")]
    output_tokens: Annotated[int, Meta(ge=0, description="Response tokens.")]
    cost_usd: Annotated[
        float | None,
        Meta(description="Dollars of the calls and of side requests, as far as prices are known; null without any."),
    ]
    known: Annotated[HowKnown, Meta(description="Lowest certainty of the figures.")]
    is_lower_bound: Annotated[bool, Meta(description="True if a session was not read or a price is unknown.")]

    @classmethod
    def of(cls, sessions: Sequence[SubagentCost], unread: Sequence[UnreadSubagent]) -> SubagentCosts:
        costs = [each.cost_usd for each in sessions]
        costs += [each.side_requests_usd for each in sessions if each.side_requests]
        priced = [cost for cost in costs if cost is not None]
        return cls(
            sessions=tuple(sessions),
            unread=tuple(unread),
            calls=sum(each.calls for each in sessions),
            prompt_tokens=sum(each.prompt_tokens for each in sessions),
            cache_read_tokens=sum(each.cache_read_tokens for each in sessions),
            output_tokens=sum(each.output_tokens for each in sessions),
            cost_usd=sum(priced) if priced else None,
            known=lowest_confidence(*(each.known for each in sessions)) if sessions else HowKnown.EXACT,
            is_lower_bound=bool(unread) or len(priced) < len(costs) or any(each.is_lower_bound for each in sessions),
        )

    def with_session(self, cost: float | None, requests: Sequence[SideSpending]) -> float | None:
        """Return dollars of own calls (`cost`), side requests and these subagents; None if a part has no price."""
        own = cost_with_side_requests(cost, requests)
        return None if own is None or self.cost_usd is None else own + self.cost_usd

    def __bool__(self) -> bool:
        """Return True if the session started another one that was billed or could not be read."""
        return bool(self.sessions or self.unread)


class StartedTotals(Struct, frozen=True, kw_only=True):
    """Sums over the sessions that a session, or each of several, started."""

    sessions: Annotated[int, Meta(ge=0, description="Number of started sessions.")] = 0
    calls: Annotated[int, Meta(ge=0, description="Number of their calls.")] = 0
    cost_usd: Annotated[float | None, Meta(description="Dollars, as far as prices are known; null without any.")] = None
    unread: Annotated[int, Meta(ge=0, description="Number of started sessions that could not be read.")] = 0
    known: Annotated[HowKnown, Meta(description="Lowest certainty of the figures.")] = HowKnown.EXACT
    is_lower_bound: Annotated[bool, Meta(description="True if a session was not read or a price is unknown.")] = False

    @classmethod
    def of(cls, found: SubagentCosts | None) -> StartedTotals:
        if not found:
            return cls()
        return cls(
            sessions=len(found.sessions),
            calls=found.calls,
            cost_usd=found.cost_usd,
            unread=len(found.unread),
            known=found.known,
            is_lower_bound=found.is_lower_bound,
        )

    @classmethod
    def summed(cls, found: Iterable[StartedTotals]) -> StartedTotals:
        some = [each for each in found if each]
        costs = [each.cost_usd for each in some if each.cost_usd is not None]
        return cls(
            sessions=sum(each.sessions for each in some),
            calls=sum(each.calls for each in some),
            cost_usd=sum(costs) if costs else None,
            unread=sum(each.unread for each in some),
            known=lowest_confidence(HowKnown.EXACT, *(each.known for each in some)),
            is_lower_bound=any(each.is_lower_bound or (each.calls and each.cost_usd is None) for each in some),
        )

    def __bool__(self) -> bool:
        """Return True if a session was started that was billed or could not be read."""
        return bool(self.sessions or self.unread)


NONE_STARTED: Final = StartedTotals()


@dataclass(frozen=True, eq=False)
class _ReadSubagent:
    """A session that was read: columns over all its calls, and the sessions that it started.

    Attributes:
        session: The figures of all its calls, including copied ones.
        keys: Identifiers of the calls.
        is_copy: True for calls copied from another session, bool.
        prompt: Prompt tokens, int64.
        cache_read: Tokens read from the cache, int64.
        output: Response tokens, int64.
        cost: Dollars, NaN without a price, float64.
    """

    session: SubagentCost
    keys: tuple[bytes, ...]
    is_copy: NDArray[np.bool_]
    prompt: NDArray[np.int64]
    cache_read: NDArray[np.int64]
    output: NDArray[np.int64]
    cost: NDArray[np.float64]
    started: StartedSessions

    def counted(self, elsewhere: set[bytes]) -> SubagentCost:
        """Return the figures of the calls that are not counted elsewhere."""
        known = np.array([key in elsewhere for key in self.keys], dtype=np.bool_)
        mine = ~(self.is_copy | known)
        cost = float(self.cost[mine].sum())
        return replace(
            self.session,
            calls=int(mine.sum()),
            prompt_tokens=int(self.prompt[mine].sum()),
            cache_read_tokens=int(self.cache_read[mine].sum()),
            output_tokens=int(self.output[mine].sum()),
            cost_usd=None if np.isnan(cost) else cost,
        )


State = tuple[FileState | None, FileState | None, float]


class SubagentReader:
    """Reads the sessions that a session started, each again only if it changed. Not thread-safe."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[State, _ReadSubagent | str]] = {}
        self._terms: tuple[Pricing, str | None] | None = None

    def read(
        self,
        session: Session,
        pricing: Pricing,
        *,
        cache: str | None = None,
        counter: Counter | None = None,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> SubagentCosts | None:
        """Return the costs of all sessions one started, directly or through others; None if cancelled."""
        if self._terms != (pricing, cache):
            self._known, self._terms = {}, (pricing, cache)
        try:
            started = subagents_of(session)
        except (SessionError, OSError) as error:
            return SubagentCosts.of((), [UnreadSubagent(id=session.identifier, problem=_reason(error))])
        if not started.found and not started.missing:
            return SubagentCosts.of((), ())
        counted = set(call_keys(session)) - {NO_CALL}
        sessions: list[SubagentCost] = []
        unread: list[UnreadSubagent] = []
        visited = {session.path, Locator(Locator.of(session.path).file, session.identifier).path}
        waiting = collections.deque([started])
        while waiting:
            part = waiting.popleft()
            unread += [UnreadSubagent(id=link.identifier, problem=NOT_FOUND) for link in part.missing]
            for one in part.found:
                if is_cancelled():
                    return None
                if one.path in visited:
                    continue
                visited.add(one.path)
                found = self._read(one, pricing, cache, counter, is_cancelled)
                if isinstance(found, str):
                    unread.append(UnreadSubagent(id=one.identifier, problem=found))
                elif found is not None:
                    mine = found.counted(counted)
                    counted |= set(found.keys) - {NO_CALL}
                    sessions += [mine] if mine.calls or mine.side_requests else []
                    waiting.append(found.started)
        return None if is_cancelled() else SubagentCosts.of(sessions, unread)

    def files(self) -> tuple[Path, ...]:
        """Return the files that were read, and their folders: a new file in them may be another subagent's."""
        files = [Locator.of(path).file for path in self._known]
        return tuple(dict.fromkeys((*files, *(file.parent for file in files))))

    def last_change(self) -> float:
        """Return the newest modification time of the files that were read, seconds since the epoch; 0 without any."""
        states = [state for state, _ in self._known.values()]
        return max((each.modified / 1e9 for state in states for each in state[:2] if each is not None), default=0.0)

    def _read(
        self,
        one: ContainedSession,
        pricing: Pricing,
        cache: str | None,
        counter: Counter | None,
        is_cancelled: Callable[[], bool],
    ) -> _ReadSubagent | str | None:
        """Read a session unless it is unchanged; return the reason if it cannot be read, None if cancelled."""
        file = Locator.of(one.path).file
        state = (FileState.at(file), FileState.at(file.with_name(f"{file.name}-wal")), one.modified)
        before = self._known.get(one.path)
        if before is not None:
            is_settled = 0 < one.modified == before[0][2] and time.time() - one.modified > SETTLED_SECONDS
            if is_settled or before[0] == state:
                return before[1]
        found: _ReadSubagent | str | None
        try:
            found = _read(one, pricing, cache, counter, is_cancelled)
        except (SessionError, OSError) as error:
            found = _reason(error)
        if found is not None:
            self._known[one.path] = (state, found)
        return found


def _read(
    one: ContainedSession,
    pricing: Pricing,
    cache: str | None,
    counter: Counter | None,
    is_cancelled: Callable[[], bool],
) -> _ReadSubagent | None:
    """Read a session and price its calls; None if cancelled. Raise `SessionError` if it cannot be read."""
    session = open_session(one.path)
    history = History.of(session)
    table, source = TokenTable.estimated(session), None
    if cache is not None or not is_reported_in_full(session):
        usable = counter if counter is not None and counter.is_exact_tokenizer else load_counter()
        table = collections.deque(count_session(session, usable, cancelled=is_cancelled), maxlen=1).pop()
        if is_cancelled():
            return None
        source = calibration_source_of(history, table)
    baseline = replay(ReplayInputs.of(history, table, pricing=pricing, cache=cache, calibration_source=source), Plan())
    ledger, figures = baseline.ledger, baseline.figures
    models = collections.Counter(call.model for call in session.calls if call.model)
    parent = parent_of(session)
    sides = side_spending(dataclasses.replace(session, side_calls=session.own_side_calls), pricing)
    side_costs = [each.cost_usd for each in sides if each.cost_usd is not None]
    total = SubagentCost(
        path=str(one.path),
        # Some agents record a subagent's file under its parent's id.
        id=one.identifier if parent is not None and parent.identifier == session.identifier else session.identifier,
        title=session.title or one.title,
        model=models.most_common(1)[0][0] if models else "",
        calls=len(session.calls),
        prompt_tokens=int(ledger.prompt_tokens.sum()),
        cache_read_tokens=int(ledger.cache_read.sum()),
        output_tokens=int(ledger.output.sum()),
        cost_usd=figures.cost_usd.value,
        side_requests=sum(each.calls for each in sides),
        side_requests_usd=sum(side_costs) if len(side_costs) == len(sides) and sides else None,
        known=lowest_confidence(figures.prompt_tokens.known, figures.cost_usd.known),
        is_lower_bound=figures.cost_usd.is_lower_bound,
    )
    return _ReadSubagent(
        session=total,
        keys=tuple(call_keys(session)),
        is_copy=np.array([session.messages[call.response].is_inherited for call in session.calls], dtype=np.bool_),
        prompt=ledger.prompt_tokens,
        cache_read=ledger.cache_read,
        output=ledger.output,
        cost=ledger.cost,
        started=subagents_of(session),
    )


def _reason(error: SessionError | OSError) -> str:
    return error.message if isinstance(error, SessionError) else error.strerror or str(error)
