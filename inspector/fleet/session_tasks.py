"""Work on one session: its path, and everything that determines the result."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from inspector.cli.plans import PlanRequest, settled
from inspector.cli.reading import counted_inputs, parse_billing_terms, pricing_of
from inspector.fleet.result_cache import key_of
from inspector.report.path_redaction import shown_path

if TYPE_CHECKING:
    from argparse import Namespace
    from pathlib import Path

    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.pricing.prices import Pricing
    from inspector.session.model import Session
    from inspector.tokens.count_cache import SharedCountCache


@dataclass(frozen=True, slots=True)
class SessionTerms:
    """Prices, cache and plans for sessions, complete: nothing else is looked up later.

    Attributes:
        pricing: The prices.
        cache: Name of the prompt cache for every call; None for each model's own.
        window: The context window in tokens; None for the recorded or listed one.
        plans: The requested plans.
        is_kept: Cache results between runs.
    """

    pricing: Pricing
    cache: str | None = None
    window: int | None = None
    plans: tuple[PlanRequest, ...] = ()
    is_kept: bool = True

    @classmethod
    def of(cls, options: Namespace) -> SessionTerms:
        """Build the terms from the command line; price files and plan files are read here.

        Raises:
            CommandError: One of them is invalid.
        """
        terms = parse_billing_terms(options)
        plans = tuple(settled(request) for request in options.plans)
        return cls(pricing_of(terms, options.price_file), terms.cache, terms.window, plans)


@dataclass(frozen=True, slots=True)
class SessionTask:
    """One session to process.

    Attributes:
        path: Path that opens it.
        terms: Prices, cache and plans.
        elsewhere: Keys of calls that are counted for another session.
        format: Name of its format, if already detected.
    """

    path: Path
    terms: SessionTerms
    elsewhere: frozenset[bytes] = frozenset()
    format: str = ""

    def key(self, kind: str, *asked: object) -> bytes:
        """Build the key of a result in `ResultCache`.

        Args:
            kind: Kind of result.
            asked: Other parameters of the result.
        """
        terms, pricing = self.terms, self.terms.pricing
        prices = (pricing.own, pricing.factor, pricing.model, pricing.given, terms.cache, terms.window)
        return key_of(kind, shown_path(self.path), prices, terms.plans, sorted(self.elsewhere), *asked)

    def inputs(self, session: Session, *, is_counted: bool = True) -> ReplayInputs:
        """Return the session's replay inputs.

        Args:
            session: The session.
            is_counted: Count its tokens; otherwise they are estimated, for figures that need no exact counts.
        """
        terms = self.terms
        if is_counted:
            return counted_inputs(
                session, terms.pricing, cache=terms.cache, window=terms.window, counts=_counts_of_sessions()
            )
        from inspector.replay.engine.inputs import ReplayInputs
        from inspector.strategies.history.history import History
        from inspector.tokens.token_table import TokenTable

        table = TokenTable.estimated(session)
        return ReplayInputs.of(
            History.of(session), table, pricing=terms.pricing, cache=terms.cache, window=terms.window
        )

    def inputs_without_copies(self, whole: ReplayInputs, session: Session) -> ReplayInputs:
        """Return the replay inputs of a session without the calls counted for other sessions.

        Copied calls are not counted twice, but their usage reports are still valid for calibration.

        Args:
            whole: Replay inputs of the whole session.
            session: The session without those calls.
        """
        everything = whole.history.session
        if session is everything:
            return whole
        import numpy as np

        from inspector.replay.engine.inputs import ReplayInputs
        from inspector.strategies.history.history import History

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
    from inspector.tokens.count_cache import SharedCountCache

    return SharedCountCache()
