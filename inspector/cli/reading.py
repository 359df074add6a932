"""Loading of sessions and replay inputs from paths, with progress on a terminal and one-line errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.cli.exit_codes import CommandError
from inspector.cli.output import ProgressLine
from inspector.session.files import open_error_message

if TYPE_CHECKING:
    from argparse import Namespace
    from pathlib import Path

    from inspector.replay.assumptions import Assumptions
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.pricing.prices import Pricing
    from inspector.session.format import Detection
    from inspector.session.model import Session


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


def read_session(path: Path, *, keeps_texts: bool = False) -> Session:
    """Read the session in a file or folder.

    Args:
        path: The file or folder.
        keeps_texts: Cache its texts, up to `session_tasks.KEPT_CHARACTERS`, for counting and searching right away.

    Raises:
        CommandError: It cannot be read, or is not a session.
    """
    from inspector.session.errors import SessionError
    from inspector.session.open import open_session

    kept = 0
    if keeps_texts:
        from inspector.fleet.session_tasks import KEPT_CHARACTERS

        kept = KEPT_CHARACTERS
    with ProgressLine("reading") as progress:
        try:
            return open_session(path, progress=progress, kept_characters=kept)
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
    from inspector.replay.sessions import counted_inputs

    terms = terms or Assumptions()
    pricing = pricing_of(terms, price_file)
    with ProgressLine("counting tokens") as progress:
        return counted_inputs(session, pricing, cache=terms.cache, window=terms.window, progress=progress)


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


def priced_inputs(session: Session, options: Namespace) -> ReplayInputs:
    """Count a session's tokens with the prices and cache of the command line."""
    return replay_inputs(session, parse_billing_terms(options), price_file=options.price_file)
