"""Command line options for other models: a switch from some call on, and the prices of all calls."""

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
        help="project the cost with MODEL; repeatable",
    )
    parser.add_argument(
        "--at",
        metavar="CALL",
        type=_call,
        help="first call on the other model, as numbered in the output (default: the first); requires --switch",
    )


def add_as_model_argument(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--as-model",
        metavar="MODEL",
        default="",
        help="also compare plans at the prices and cache rules of MODEL, with unchanged prompts",
    )


def check_as_model(options: Namespace) -> None:
    """Reject a model without a price before a big file is read.

    Raises:
        CommandError: The model has no price, or `--model` prices every call already.
    """
    model: str = options.as_model
    if not model:
        return
    if options.model is not None:
        message = "--model prices every call as one model, and so does --as-model: remove one of them"
        raise CommandError(message, ExitCode.WRONG_USAGE)
    from inspector.cli.reading import parse_billing_terms, pricing_of
    from inspector.replay.pricing.bundled_prices import closest_known

    pricing = pricing_of(parse_billing_terms(options), options.price_file)
    if pricing.as_model(model).rates(model) is None:
        advice = closest_known(model) or "add it to a file for --price-file"
        raise CommandError(f"no price for {model}; {advice}", ExitCode.WRONG_USAGE)


def _call(text: str) -> int:
    digits = text.replace(",", "")
    if not digits.isdecimal() or not 1 <= int(digits) <= LARGEST_CALL:
        raise ArgumentTypeError(f"{text!r} is not a call; use its number, from 1")
    return int(digits)


def check_switch(options: Namespace) -> None:
    """Reject an ineffective switch before a big file is read.

    Raises:
        CommandError: `--at` without `--switch`, or all calls have the same price.
    """
    if options.at is not None and not options.switch:
        raise CommandError("--at is the first call on another model: add --switch MODEL", ExitCode.WRONG_USAGE)
    given = next((f"--{name}" for name in ("model", "rates") if getattr(options, name) is not None), "")
    if options.switch and given:
        message = f"{given} prices every call the same, so a switch makes no difference: remove {given}"
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
        raise CommandError(f"{options.path}: the session has no call to a model, so there is nothing to switch")
    at: int = calls[0] if options.at is None else options.at - 1
    if at not in calls:
        following = next((call + 1 for call in calls if call > at), calls[-1] + 1)
        there = f"a subagent's, but only the main conversation can switch: try --at {following}"
        beyond = f"out of range: calls are {calls[0] + 1:,} to {calls[-1] + 1:,}"
        is_there = at < inputs.history.call_count
        raise CommandError(f"call {at + 1:,} is {there if is_there else beyond}", ExitCode.WRONG_USAGE)
    for model in options.switch:
        if inputs.pricing.rates(model, inputs.history.session.calls[at].time) is None:
            advice = inputs.pricing.lacking([model])
            known = other_models(baseline)
            like = f"; this session uses {', '.join(known)}" if known else "; add it to a file for --price-file"
            raise CommandError(f"{advice or 'pass a model'}{like}", ExitCode.WRONG_USAGE)
    return at
