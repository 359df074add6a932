"""One session of many: the work on it, everything that determines the result, and the result.

A call that is in several sessions, such as the calls of a resumed one, is counted for the session that ended first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from inspector.fleet.executors import Job, JobLost
from inspector.fleet.result_cache import ResultCache, ResultInputs, key_of
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.recorded_calls import is_reported_in_full
from inspector.replay.engine.token_scale import TokenScale
from inspector.replay.sessions import counted_inputs
from inspector.report.secret_redaction import shown_path
from inspector.session.open import open_session
from inspector.session.related import calls_counted_elsewhere
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan, specs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from inspector.fleet.executors import Advance, SessionExecutor
    from inspector.replay.pricing.prices import Pricing
    from inspector.session.model import Session
    from inspector.tokens.token_table import SharedCountCache

KEPT_CHARACTERS = 16_000_000
"""Characters cached of a session that is counted and searched right away, as many as in a file of some 80 MB."""


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """A plan, which may adapt to each session.

    Attributes:
        plan: Name of a built-in plan; on the command line also a plan file, or the name of a saved plan.
        spec: Strategies in their one-line form.
        settled: The plan itself, if it is the same for every session.
    """

    plan: str = ""
    spec: str = ""
    settled: Plan | None = None

    def for_session(self, session: Session | None) -> Plan:
        """Return the plan; unnamed values fit the session's tools. Raise `PlanError` if it is invalid."""
        from inspector.strategies.presets import PRESETS

        if self.settled is not None:
            return self.settled
        if self.spec:
            return Plan.from_specs(specs_of(self.spec), session=session)
        return PRESETS[self.plan].plan(session)


@dataclass(frozen=True, slots=True)
class SessionTerms:
    """Prices, cache and plans for sessions, complete: nothing else is looked up later.

    Attributes:
        cache: Name of the prompt cache for every call; None for each model's own.
        window: The context window in tokens; None for the recorded or listed one.
        is_kept: Cache results between runs.
        exact: Count tokens with the tokenizer even if only placeholders of responses need them; otherwise their length
            is estimated from characters.
    """

    pricing: Pricing
    cache: str | None = None
    window: int | None = None
    plans: tuple[PlanRequest, ...] = ()
    is_kept: bool = True
    exact: bool = False

    @property
    def is_as_recorded(self) -> bool:
        """True if no plan cuts anything, and every model has its own cache."""
        return not self.plans and self.cache is None


@dataclass(frozen=True, slots=True)
class SessionTask:
    """One session to process; calls with keys in `elsewhere` are counted for another session."""

    path: Path
    terms: SessionTerms
    elsewhere: frozenset[bytes] = frozenset()
    format: str = ""

    def read(self, *, keeps_texts: bool = False) -> Session:
        """Read the session, caching up to `KEPT_CHARACTERS` if asked; raise `SessionError` if unreadable."""
        return open_session(self.path, known=self.format, kept_characters=KEPT_CHARACTERS if keeps_texts else 0)

    def key(self, kind: str, *asked: object) -> bytes:
        """Build the key of a result in `ResultCache`."""
        terms, pricing = self.terms, self.terms.pricing
        prices = (pricing.own, pricing.factor, pricing.model, pricing.given, terms.cache, terms.window)
        return key_of(kind, shown_path(self.path), prices, terms.plans, terms.exact, sorted(self.elsewhere), *asked)

    def inputs(self, session: Session, *, is_counted: bool = True) -> ReplayInputs:
        """Return the session's replay inputs, with estimated token counts unless `is_counted`."""
        terms = self.terms
        if is_counted:
            return counted_inputs(
                session, terms.pricing, cache=terms.cache, window=terms.window, counts=_counts_of_sessions()
            )
        from inspector.tokens.token_table import TokenTable

        table, history = TokenTable.estimated(session), History.of(session)
        scale = TokenScale.typical(history, table) if is_reported_in_full(session) else None
        return ReplayInputs.of(
            history, table, pricing=terms.pricing, cache=terms.cache, window=terms.window, scale=scale
        )

    def inputs_without_copies(self, whole: ReplayInputs, session: Session) -> ReplayInputs:
        """Return replay inputs without calls counted elsewhere, whose usage reports stay valid for calibration."""
        everything = whole.history.session
        if session is everything:
            return whole
        import numpy as np

        own = {call.response for call in session.calls}
        calls = np.array([at for at, call in enumerate(everything.calls) if call.response in own], dtype=np.int64)
        return ReplayInputs.of(
            History.of(session),
            whole.table,
            pricing=self.terms.pricing,
            cache=self.terms.cache,
            window=self.terms.window,
            scale=whole.scale.of_calls(calls),
        )


@cache
def _counts_of_sessions() -> SharedCountCache:
    """Return this process's shared count cache: copies and resumes share most of their texts."""
    from inspector.tokens.token_table import SharedCountCache

    return SharedCountCache()


@dataclass(frozen=True, slots=True)
class SessionResult:
    """Result of a task.

    Attributes:
        value: The result, serialized; empty if the session could not be read.
        problem: The reason if it could not be read.
        ended: Time of its last call, seconds since the epoch; infinity for a subagent, so that its parent counts calls
            that are in both.
        keys: Identifiers of its calls.
        source: The inputs of the result; None if it must not be cached.
    """

    value: bytes = b""
    problem: str = ""
    ended: float = 0.0
    keys: Sequence[bytes] = ()
    source: ResultInputs | None = None

    def written(self) -> bytes:
        """Serialize the result of a readable session."""
        return msgspec.msgpack.encode((self.value, self.ended, self.keys))

    @classmethod
    def read(cls, written: bytes) -> SessionResult | None:
        """Deserialize a result; None for invalid data."""
        try:
            value, ended, keys = msgspec.msgpack.decode(written, type=tuple[bytes, float, list[bytes]])
        except msgspec.MsgspecError:
            return None
        return cls(value, "", ended, keys)


@dataclass(frozen=True, slots=True)
class SessionWork:
    """Work on each of many sessions, with cached results.

    Attributes:
        work: A module-level function.
        sizes: The sessions with their sizes, for progress.
        stays: Send a session to the process that had it before.
    """

    executor: SessionExecutor
    work: Callable[[SessionTask], SessionResult]
    results: ResultCache
    kind: str
    sizes: Mapping[Path, int]
    stays: bool = False

    def run(self, tasks: Sequence[SessionTask], advance: Advance) -> dict[Path, tuple[SessionTask, SessionResult]]:
        """Return results with every call counted once, and their tasks; not all if the work ended early."""
        done = self._run(tasks, advance)
        read = [task for task in tasks if task.path in done and done[task.path][1].value]
        found = [done[task.path][1] for task in read]
        elsewhere = calls_counted_elsewhere([(each.ended, each.keys) for each in found])
        again = [replace(task, elsewhere=keys) for task, keys in zip(read, elsewhere, strict=True) if keys]
        for task in again:
            del done[task.path]
        return done | self._run(again, advance)

    def _run(self, tasks: Sequence[SessionTask], advance: Advance) -> dict[Path, tuple[SessionTask, SessionResult]]:
        total = sum(self.sizes[task.path] + 1 for task in tasks)
        done: dict[Path, tuple[SessionTask, SessionResult]] = {}
        behind = 0
        new = []
        for task in tasks:
            kept = self.results.kept(task.path, task.key(self.kind)) if self.results.is_on else None
            result = None if kept is None else SessionResult.read(kept)
            if result is None:
                new.append(task)
                continue
            done[task.path] = task, result
            behind += self.sizes[task.path] + 1
            advance(behind, total)
        jobs = [Job(task.path, self.work, (task,)) for task in new]
        for index, outcome in self.executor.finished(jobs, stays=self.stays):
            task = new[index]
            if isinstance(outcome, JobLost):
                outcome = SessionResult(problem=f"{shown_path(task.path)}: {outcome.problem}")
            if outcome.source is not None:
                self.results.keep(task.path, task.key(self.kind), outcome.written(), outcome.source)
            done[task.path] = task, outcome
            behind += self.sizes[task.path] + 1
            advance(behind, total)
        return done
