"""Command line options for a switch to other models: which ones, and from which call on."""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import TYPE_CHECKING

from inspector.cli.exit_codes import CommandError, ExitCode

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from inspector.replay.engine.inputs import ReplayInputs

LARGEST_CALL = 10**9


def add_switch_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--switch",
        metavar="MODEL",
        action="append",
        default=[],
        help="say what MODEL would have made of it; may be given again for another one",
    )
    parser.add_argument(
        "--at",
        metavar="CALL",
        type=_call,
        help="from which call on, as the answer counts them (default: the first); belongs to --switch",
    )


def _call(text: str) -> int:
    digits = text.replace(",", "")
    if not digits.isdecimal() or not 1 <= int(digits) <= LARGEST_CALL:
        raise ArgumentTypeError(f"{text!r} is no call; give its number, from 1")
    return int(digits)


def check_switch(options: Namespace) -> None:
    """Reject an ineffective switch before a big file is read.

    Raises:
        CommandError: `--at` without `--switch`, or all calls have the same price.
    """
    if options.at is not None and not options.switch:
        raise CommandError("--at says from which call on: add --switch MODEL", ExitCode.WRONG_USAGE)
    given = next((f"--{name}" for name in ("model", "rates") if getattr(options, name) is not None), "")
    if options.switch and given:
        message = f"{given} prices every call alike, so that no switch makes a difference: leave out {given}"
        raise CommandError(message, ExitCode.WRONG_USAGE)


def switch_call(inputs: ReplayInputs, options: Namespace) -> int:
    """Return the first call on the other models, from 0.

    Raises:
        CommandError: The call does not exist or is a subagent's, or a model has no price.
    """
    from inspector.replay.analysis.model_switch import main_calls, other_models
    from inspector.replay.engine.replay import replay
    from inspector.strategies.plan import Plan

    if not options.switch:
        return 0
    baseline = replay(inputs, Plan())
    calls = main_calls(baseline).tolist()
    if not calls:
        raise CommandError(f"{options.path}: the session holds no call to a model, so none can be switched")
    at: int = calls[0] if options.at is None else options.at - 1
    if at not in calls:
        following = next((call + 1 for call in calls if call > at), calls[-1] + 1)
        there = f"a subagent's, and only the main conversation can switch: try --at {following}"
        beyond = f"not there: calls go from {calls[0] + 1:,} to {calls[-1] + 1:,}"
        is_there = at < inputs.history.call_count
        raise CommandError(f"call {at + 1:,} is {there if is_there else beyond}", ExitCode.WRONG_USAGE)
    for model in options.switch:
        if inputs.pricing.rates(model, inputs.history.session.calls[at].time) is None:
            advice = inputs.pricing.lacking([model])
            known = other_models(baseline)
            like = f"; here there are {', '.join(known)}" if known else "; add it to a file for --price-file"
            raise CommandError(f"{advice or 'name a model'}{like}", ExitCode.WRONG_USAGE)
    return at
