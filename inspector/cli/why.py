"""`inspector why`: why a session cost what it cost, on one screen."""

from __future__ import annotations

from argparse import ArgumentTypeError
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.cli.arguments import FORMATS, add_price_arguments
from inspector.cli.exit_codes import CommandError, ExitCode
from inspector.cli.output import ProgressLine, check_output, deliver, narrate
from inspector.cli.reading import priced_inputs, read_session
from inspector.cli.resolve_paths import is_list, newest
from inspector.session.files import is_folder

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from inspector.replay.engine.inputs import ReplayInputs

LARGEST_CALL = 10**9


def add_arguments(parser: ArgumentParser) -> None:
    """Which session, at which prices, in which form."""
    parser.add_argument("path", nargs="?", metavar="PATH", type=Path, help="a session file or folder")
    parser.add_argument(
        "--last", action="store_true", help="the newest session, of the directory PATH or of this machine's agents"
    )
    named = (f"{name}: {use}{' (default)' if name == 'text' else ''}" for name, use in FORMATS.items())
    parser.add_argument("--format", choices=FORMATS, default="text", help="; ".join(named))
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
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write to FILE; never over a session")
    add_price_arguments(parser)


def run(options: Namespace) -> int:
    """Print or save the answer."""
    from inspector.report.options import ReportOptions
    from inspector.report.session_report import report_of
    from inspector.report.why import why_text

    options.path = _session(options)
    check_output(options)
    _check_switch(options)
    inputs = priced_inputs(read_session(options.path), options)
    at = _switch_at(inputs, options)
    wanted = ReportOptions(best_plan=True, switch_to=tuple(dict.fromkeys(options.switch)), switch_at=at)
    with ProgressLine("trying plans") as progress:
        report = report_of(inputs, (), wanted, progress)
    return deliver(report, options, why_text)


def _call(text: str) -> int:
    digits = text.replace(",", "")
    if not digits.isdecimal() or not 1 <= int(digits) <= LARGEST_CALL:
        raise ArgumentTypeError(f"{text!r} is no call; give its number, from 1")
    return int(digits)


def _check_switch(options: Namespace) -> None:
    """Refuse a switch that nothing can come of, before a big file is read.

    Raises:
        CommandError: `--at` without `--switch`, or all calls are priced alike.
    """
    if options.at is not None and not options.switch:
        raise CommandError("--at says from which call on: add --switch MODEL", ExitCode.WRONG_USAGE)
    given = next((f"--{name}" for name in ("model", "rates") if getattr(options, name) is not None), "")
    if options.switch and given:
        message = f"{given} prices every call alike, so that no switch makes a difference: leave out {given}"
        raise CommandError(message, ExitCode.WRONG_USAGE)


def _switch_at(inputs: ReplayInputs, options: Namespace) -> int:
    """From which call on, counted from 0, other models would have answered.

    Raises:
        CommandError: There is no such call, it is a subagent's, or a model has no price.
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
            advice = inputs.pricing.advice([model]).partition(";")[0]
            known = other_models(baseline)
            like = f"; here there are {', '.join(known)}" if known else "; add it to a file for --price-file"
            raise CommandError(f"{advice or 'name a model'}{like}", ExitCode.WRONG_USAGE)
    return at


def _session(options: Namespace) -> Path:
    """What the line names: one session.

    Raises:
        CommandError: It names none, or many.
    """
    path: Path | None = options.path
    if options.last:
        found = newest(path).path
        narrate(f"the newest session: {found}")
        return found
    if path is None:
        raise CommandError(
            "name a session, or say --last for the newest; see: inspector why --help", ExitCode.WRONG_USAGE
        )
    if is_folder(path) and is_list(path):
        message = f"{path} holds many sessions: name one, or say --last; all of them: inspector report {path}"
        raise CommandError(message, ExitCode.WRONG_USAGE)
    return path
