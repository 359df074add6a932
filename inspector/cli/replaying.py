"""From a path to what replays start from, as commands need it: with progress, and failures as one line."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from inspector.cli.exits import CommandError
from inspector.cli.progress import Progress
from inspector.cli.reporting import terms_of

if TYPE_CHECKING:
    from argparse import Namespace
    from pathlib import Path

    from inspector.replay.assumptions import Assumptions
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.session.model import Session


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
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.pricing.price_file import PriceFileError
    from inspector.strategies.history.history import History
    from inspector.tokens.counter import load_counter
    from inspector.tokens.token_table import count_session

    terms = terms or Assumptions()
    try:
        pricing = terms.pricing(price_file)
    except PriceFileError as error:
        raise CommandError(str(error)) from None
    with Progress("counting tokens") as progress:
        # Only the last table is of use here; keeping them all would keep a copy for every tenth of a second.
        table = deque(count_session(session, load_counter(), progress=progress), maxlen=1).pop()
    return ReplayInputs.of(
        History.of(session), table, pricing=pricing, cache=terms.cache, window=terms.window, precise=True
    )


def priced_inputs(session: Session, options: Namespace) -> ReplayInputs:
    """The same, as `add_price_arguments` lets it be asked for."""
    return replay_inputs(session, terms_of(options), price_file=options.price_file)
