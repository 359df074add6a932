"""From a path to a session and to what replays start from: with progress where a person looks, failures as one line."""

from __future__ import annotations

from collections import deque
from functools import cache
from typing import TYPE_CHECKING

from inspector.cli.exit_codes import CommandError
from inspector.cli.output import ProgressLine
from inspector.session.files import why_not_opened

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
    """What a file or folder is taken for, from a look at its beginning.

    Raises:
        CommandError: It cannot be read, or is no session.
    """
    from inspector.session.errors import SessionError
    from inspector.session.registry import detect

    try:
        return detect(path)
    except SessionError as error:
        raise CommandError(error.message) from None


KEPT_CHARACTERS = 16_000_000
"""Texts kept of a session that is counted and searched at once: those of a file of some 80 MB."""


def read_session(path: Path, *, known: str = "", keeps_texts: bool = False) -> Session:
    """The session in a file or folder.

    Args:
        path: What to read.
        known: The name of its format, where a look into it has told it.
        keeps_texts: Keep its texts, up to `KEPT_CHARACTERS`: it is counted and searched at once, and forgotten then.

    Raises:
        CommandError: It cannot be read, or is no session.
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
    """The text of a small file the user named, such as a plan.

    Raises:
        CommandError: It cannot be read as UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(why_not_opened(path, error)) from None
    except UnicodeDecodeError as error:
        raise CommandError(f"{path}: not a text file (byte {error.start} is no UTF-8)") from None


def terms_of(options: Namespace) -> Assumptions:
    """What to price and serve calls as, from the arguments of `inspector.cli.arguments`."""
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
        session: What was read.
        terms: What to price and serve calls as; as recorded where not given.
        price_file: A price file in place of the one in the settings folder.

    Raises:
        CommandError: The user's price file cannot be used.
    """
    from inspector.replay.assumptions import Assumptions

    terms = terms or Assumptions()
    return counted_inputs(session, pricing_of(terms, price_file), cache=terms.cache, window=terms.window)


def pricing_of(terms: Assumptions, price_file: Path | None = None) -> Pricing:
    """Prices under these terms.

    Raises:
        CommandError: The user's price file cannot be used.
    """
    from inspector.replay.pricing.price_file import PriceFileError

    try:
        return terms.pricing(price_file)
    except PriceFileError as error:
        raise CommandError(str(error)) from None


def counted_inputs(
    session: Session, pricing: Pricing, *, cache: str | None, window: int | None, counts: CountCache | None = None
) -> ReplayInputs:
    """Count a session's tokens, at these prices, served from this prompt cache into this context window.

    Args:
        session: What was read.
        pricing: The prices.
        cache: Name of the prompt cache that serves every call; None for each model's own.
        window: The context window in tokens; None for what the file or the model's listing says.
        counts: Where counts are kept between runs; by default the user's cache folder.
    """
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.lenders import lender_of
    from inspector.strategies.history.history import History
    from inspector.tokens.token_table import count_session

    with ProgressLine("counting tokens") as progress:
        # Only the last table is of use here; keeping them all would keep a copy for every tenth of a second.
        table = deque(count_session(session, shared_counter(), progress=progress, cache=counts), maxlen=1).pop()
    history = History.of(session)
    lender = lender_of(history, table)
    return ReplayInputs.of(history, table, pricing=pricing, cache=cache, window=window, lender=lender)


def shared_counter() -> Counter:
    """One counter for all sessions of a command or of a worker: to build it takes longer than to count most of them."""
    from inspector.tokens.counter import load_counter

    return _counter(load_counter)


@cache
def _counter(load: Callable[[], Counter]) -> Counter:
    return load()


def priced_inputs(session: Session, options: Namespace) -> ReplayInputs:
    """The same, priced and served as the command line asks."""
    return replay_inputs(session, terms_of(options), price_file=options.price_file)
