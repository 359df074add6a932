"""Loading of sessions and replay inputs from paths, with progress on a terminal and one-line errors."""

from __future__ import annotations

from collections import deque
from functools import cache
from typing import TYPE_CHECKING

from inspector.cli.exit_codes import CommandError
from inspector.cli.output import ProgressLine
from inspector.session.files import open_error_message

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable
    from pathlib import Path

    from inspector.replay.assumptions import Assumptions
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.pricing.prices import Pricing
    from inspector.session.format import Detection
    from inspector.session.model import Session
    from inspector.tokens.count_cache import CountCache
    from inspector.tokens.counter import Counter


def detect_format(path: Path) -> Detection:
    """Detect the format of a file or folder from its beginning.

    Raises:
        CommandError: It cannot be read, or is not a session.
    """
    from inspector.session.errors import SessionError
    from inspector.session.registry import detect

    try:
        return detect(path)
    except SessionError as error:
        raise CommandError(error.message) from None


KEPT_CHARACTERS = 16_000_000
"""Characters cached of a session that is counted and searched right away, as many as in a file of some 80 MB."""


def read_session(path: Path, *, known: str = "", keeps_texts: bool = False) -> Session:
    """Read the session in a file or folder.

    Args:
        path: The file or folder.
        known: Name of its format, if already detected.
        keeps_texts: Cache its texts, up to `KEPT_CHARACTERS`, for a session that is counted and searched right away.

    Raises:
        CommandError: It cannot be read, or is not a session.
    """
    from inspector.session.errors import SessionError
    from inspector.session.open import open_session

    with ProgressLine("reading") as progress:
        try:
            kept = KEPT_CHARACTERS if keeps_texts else 0
            return open_session(path, progress=progress, known=known, kept_characters=kept)
        except SessionError as error:
            raise CommandError(error.message) from None


def read_text(path: Path) -> str:
    """Read a small text file the user named, such as a plan.

    Raises:
        CommandError: It cannot be read as UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(open_error_message(path, error)) from None
    except UnicodeDecodeError as error:
        raise CommandError(f"{path}: not a text file (byte {error.start} is not UTF-8)") from None


def parse_billing_terms(options: Namespace) -> Assumptions:
    """Return the pricing and cache assumptions from the arguments of `inspector.cli.arguments`."""
    from inspector.replay.assumptions import Assumptions
    from inspector.replay.projection_terms import DAYS_PER_MONTH, NEXT_CALLS

    asked = vars(options)
    return Assumptions(
        factor=options.factor,
        model=options.model,
        rates=options.rates,
        cache=asked.get("cache"),
        window=asked.get("window"),
        next_calls=asked.get("next_calls") or NEXT_CALLS,
        days_per_month=asked.get("days_per_month", DAYS_PER_MONTH),
    )


def replay_inputs(
    session: Session,
    terms: Assumptions | None = None,
    *,
    price_file: Path | None = None,
) -> ReplayInputs:
    """Count a session's tokens and look up its prices.

    Args:
        session: The session.
        terms: Pricing and cache assumptions; defaults to the recorded ones.
        price_file: A price file that replaces the one in the settings folder.

    Raises:
        CommandError: The user's price file is invalid.
    """
    from inspector.replay.assumptions import Assumptions

    terms = terms or Assumptions()
    return counted_inputs(session, pricing_of(terms, price_file), cache=terms.cache, window=terms.window)


def pricing_of(terms: Assumptions, price_file: Path | None = None) -> Pricing:
    """Return the prices under these assumptions.

    Raises:
        CommandError: The user's price file is invalid.
    """
    from inspector.replay.pricing.price_file import PriceFileError

    try:
        return terms.pricing(price_file)
    except PriceFileError as error:
        raise CommandError(str(error)) from None


def counted_inputs(
    session: Session, pricing: Pricing, *, cache: str | None, window: int | None, counts: CountCache | None = None
) -> ReplayInputs:
    """Count a session's tokens, and combine them with prices, prompt cache and context window.

    Args:
        session: The session.
        pricing: The prices.
        cache: Name of the prompt cache for every call; None for each model's own.
        window: The context window in tokens; None for the recorded or listed one.
        counts: Persistent count cache; defaults to the user's cache folder.
    """
    from inspector.replay.calibration_source import calibration_source_of
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.strategies.history.history import History
    from inspector.tokens.token_table import count_session

    with ProgressLine("counting tokens") as progress:
        # Only the last table is needed; a list would hold a copy for every tenth of a second.
        table = deque(count_session(session, shared_counter(), progress=progress, cache=counts), maxlen=1).pop()
    history = History.of(session)
    source = calibration_source_of(history, table)
    return ReplayInputs.of(history, table, pricing=pricing, cache=cache, window=window, calibration_source=source)


def shared_counter() -> Counter:
    """Return the counter shared by all sessions of a process: building it takes longer than counting most of them."""
    from inspector.tokens.counter import load_counter

    return _counter(load_counter)


@cache
def _counter(load: Callable[[], Counter]) -> Counter:
    return load()


def priced_inputs(session: Session, options: Namespace) -> ReplayInputs:
    """Count a session's tokens with the prices and cache of the command line."""
    return replay_inputs(session, parse_billing_terms(options), price_file=options.price_file)
