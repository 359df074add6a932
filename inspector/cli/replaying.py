"""From a path to what replays start from, as commands need it: with progress, and failures as one line."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from inspector.cli.exits import CommandError
from inspector.cli.progress import Progress

if TYPE_CHECKING:
    from argparse import Namespace
    from pathlib import Path

    from inspector.replay.inputs import ReplayInputs
    from inspector.session.model import Session


def replay_inputs(
    session: Session,
    model: str | None = None,
    *,
    price_file: Path | None = None,
    factor: float = 1.0,
    cache: str | None = None,
) -> ReplayInputs:
    """Count a session's tokens and look up its prices.

    Args:
        session: What was read.
        model: Price every call as this model.
        price_file: A price file in place of the one in the settings folder.
        factor: What every price is multiplied by.
        cache: Name of a prompt cache to serve every call from.

    Raises:
        CommandError: The user's price file cannot be used.
    """
    from inspector.replay.inputs import ReplayInputs
    from inspector.replay.price_file import PriceFileError
    from inspector.replay.prices import Pricing
    from inspector.strategies.history import History
    from inspector.tokens.counter import load_counter
    from inspector.tokens.table import count_session

    try:
        pricing = Pricing.load(price_file, factor=factor, model=model)
    except PriceFileError as error:
        raise CommandError(str(error)) from None
    with Progress("counting tokens") as progress:
        # Only the last table is of use here; keeping them all would keep a copy for every tenth of a second.
        table = deque(count_session(session, load_counter(), progress=progress), maxlen=1).pop()
    return ReplayInputs.of(History.of(session), table, pricing=pricing, cache=cache, precise=True)


def priced_inputs(session: Session, options: Namespace) -> ReplayInputs:
    """The same, as `add_price_arguments` lets it be asked for."""
    return replay_inputs(
        session, options.model, price_file=options.price_file, factor=options.factor, cache=options.cache
    )
