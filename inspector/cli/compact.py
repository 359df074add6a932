"""`inspector compact`: the messages a plan would send, as JSON for an API."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from inspector.cli.arguments import add_plan_arguments, joined_plan
from inspector.cli.output import CommandError, ExitCode, narrate, write_json
from inspector.cli.reading import read_session, replay_inputs
from inspector.report.numbers import IN_TEXT

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from inspector.session.model import Session


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", type=Path, help="a session file or folder")
    add_plan_arguments(parser, "several are combined into one plan, in order")
    parser.add_argument(
        "--call", metavar="N", type=int, help="the messages of call N, counted from 1; default: the next"
    )
    parser.add_argument(
        "--format", choices=("anthropic", "openai"), default="anthropic", help="message format (default: anthropic)"
    )


def run(options: Namespace) -> int:
    """Print the messages; tool calls and results that an API would refuse are left out and named on standard error."""
    from inspector.replay.engine.replay import replay
    from inspector.replay.message_lists import Unpaired, messages_at
    from inspector.session.model import TextUnavailableError

    joined_plan(options.plans)  # report an invalid plan before reading a big file
    session = read_session(options.path)
    call = _call_index(options.call, session)
    planned = replay(replay_inputs(session), joined_plan(options.plans, session))
    unpaired = Unpaired(planned, call)
    try:
        messages = messages_at(planned, call, options.format, unpaired.blocks)
    except TextUnavailableError as error:
        raise CommandError(f"{options.path}: changed while it was being read ({error}); try again") from None
    write_json(messages)
    for sentence in unpaired.sentences():
        narrate(sentence)
    return ExitCode.FINE


def _call_index(number: int | None, session: Session) -> int:
    count = len(session.calls)
    if number is None:
        return count
    if not 1 <= number <= count + 1:
        message = (
            f"--call {number}: the session has {IN_TEXT.plural(count, 'call')}, and call {count + 1:,} is the next"
        )
        raise CommandError(message, ExitCode.WRONG_USAGE)
    return number - 1
