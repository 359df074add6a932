"""A session as whatever works on it is asked for it: its path, and everything that decides what comes of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from inspector.cli.kept_results import key_of
from inspector.cli.plans import PlanRequest, settled
from inspector.cli.reading import counted_inputs, pricing_of, terms_of
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
    """What sessions are priced and served as, and under which plans. Nothing of it is looked up elsewhere again.

    Attributes:
        pricing: The prices.
        cache: Name of the prompt cache that serves every call; None for each model's own.
        window: The context window in tokens; None for what the file or the model's listing says.
        plans: The plans that were asked for.
        is_kept: Whether results are kept between runs.
    """

    pricing: Pricing
    cache: str | None = None
    window: int | None = None
    plans: tuple[PlanRequest, ...] = ()
    is_kept: bool = True

    @classmethod
    def of(cls, options: Namespace) -> SessionTerms:
        """What a command line asks for; price files and plan files are read here.

        Raises:
            CommandError: One of them cannot be used.
        """
        terms = terms_of(options)
        plans = tuple(settled(request) for request in options.plans)
        return cls(pricing_of(terms, options.price_file), terms.cache, terms.window, plans)


@dataclass(frozen=True, slots=True)
class SessionTask:
    """One session.

    Attributes:
        path: What opens it.
        terms: What was asked for.
        elsewhere: Keys of calls that another session is counted with.
        format: The name of its format, where a look into it has told it.
    """

    path: Path
    terms: SessionTerms
    elsewhere: frozenset[bytes] = frozenset()
    format: str = ""

    def key(self, kind: str, *asked: object) -> bytes:
        """What tells one kind of result from others of the session, for `KeptResults`.

        Args:
            kind: What result.
            asked: What else decides it, by what it is written as.
        """
        terms, pricing = self.terms, self.terms.pricing
        prices = (pricing.own, pricing.factor, pricing.model, pricing.given, terms.cache, terms.window)
        return key_of(kind, shown_path(self.path), prices, terms.plans, sorted(self.elsewhere), *asked)

    def inputs(self, session: Session, *, is_counted: bool = True) -> ReplayInputs:
        """What replays of the session start from.

        Args:
            session: What was read.
            is_counted: Count its tokens; otherwise they are estimated, for figures that need none of them.
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

    def inputs_of_own(self, whole: ReplayInputs, session: Session) -> ReplayInputs:
        """What replays of a session without the calls that count elsewhere start from.

        Copied calls are not counted twice, but what they report of the provider's scale is as good as any.

        Args:
            whole: What replays of the whole session start from.
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
    """What this process has counted: copies and resumes share most of their texts."""
    from inspector.tokens.count_cache import SharedCountCache

    return SharedCountCache()
