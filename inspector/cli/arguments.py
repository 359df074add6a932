"""Arguments of several commands, and their values: prices, caches, output, plans, other models, many sessions."""

from __future__ import annotations

import argparse
import math
import os
from argparse import ArgumentParser, ArgumentTypeError, Namespace, _ActionsContainer
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from inspector.cli.output import CommandError, ExitCode
from inspector.cli.reading import parse_billing_terms, pricing_of, read_text
from inspector.replay.assumptions import DAYS_PER_MONTH, MOST_DAYS, MOST_NEXT_CALLS, RunsPerDay
from inspector.session.files import exists, expand_user

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from inspector.fleet.executors import Execution
    from inspector.fleet.result_cache import ResultCache
    from inspector.fleet.session_tasks import PlanRequest, SessionTerms
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.pricing.rates import Rates
    from inspector.session.model import Session
    from inspector.strategies.plan import Plan


FORMATS = {"text": "for people", "json": "for programs"}

FORMS = {
    **FORMATS,
    "html": "a self-contained page",
    "md": "Markdown for pull requests and wikis",
    "csv": "for spreadsheets, one row per call or block",
}

MOST_OF_A_NUMBER = 10**9
"""Limit on runs and factors: products of larger numbers are infinite."""

CACHE_NAMES = (
    "anthropic",
    "anthropic-1h",
    "anthropic-20",
    "openai",
    "openai-30m",
    "openai-12h",
    "openai-24h",
    "gemini",
    "deepseek",
    "automatic",
    "none",
)
"""Names of `inspector.replay.cache.cache_models.CACHE_MODELS`, which is slow to import for a line of help."""

LARGEST_WINDOW = 1_000_000_000


def add_last_argument(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--last", action="store_true", help="use the newest session of the directory PATH or of this machine's agents"
    )


def add_format_argument(parser: ArgumentParser, formats: Mapping[str, str]) -> None:
    """Add `--format` for output formats: names with purpose."""
    named = (f"{name}: {use}{' (default)' if name == 'text' else ''}" for name, use in formats.items())
    parser.add_argument("--format", choices=formats, default="text", help="; ".join(named))


def add_output_argument(parser: ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="write to FILE; session files are never overwritten"
    )


def add_report_arguments(
    parser: ArgumentParser, formats: Mapping[str, str] = FORMATS, *, needs_path: bool = True
) -> None:
    """Add arguments for sessions, prices, output format (names with purpose), and output file."""
    times = None if needs_path else "?"
    parser.add_argument("path", metavar="PATH", type=Path, nargs=times, help="a session file or folder")
    add_format_argument(parser, formats)
    add_output_argument(parser)
    add_price_arguments(parser)
    parser.add_argument(
        "--runs-per-day",
        metavar="N",
        type=_runs,
        help="project savings per day and month for N runs like this one a day; html reports assume 1",
    )
    parser.add_argument(
        "--days-per-month",
        metavar="N",
        type=_days,
        default=DAYS_PER_MONTH,
        help=f"days per month with such runs (default: {DAYS_PER_MONTH:g})",
    )
    parser.add_argument(
        "--next-calls", metavar="N", type=_calls, help="extend the session by N more calls that grow at the same pace"
    )
    add_uncertainty_argument(parser)


def add_uncertainty_argument(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--model-uncertainty",
        action="store_true",
        help="widen the range of savings by the extra or saved turns measured in public experiments",
    )


def add_beyond_argument(parser: _ActionsContainer) -> None:
    parser.add_argument(
        "--beyond",
        action="store_true",
        help="include plans beyond what has been tried in public; their savings and re-fetches are untested",
    )


def add_price_arguments(parser: ArgumentParser, *, cache: bool = True) -> None:
    parser.add_argument("--model", metavar="NAME", help="price every call as this model")
    parser.add_argument(
        "--price-file",
        metavar="FILE",
        type=Path,
        help="TOML file of prices and model names that takes precedence over the bundled table",
    )
    parser.add_argument(
        "--factor",
        metavar="X",
        type=_factor,
        default=1.0,
        help="multiply every price, such as 0.5 for batch jobs at half price",
    )
    parser.add_argument(
        "--rates",
        metavar="IN/OUT",
        type=_rates,
        help="price every call in dollars per million tokens: INPUT/OUTPUT[/CACHE-READ[/CACHE-WRITE]]",
    )
    if cache:
        parser.add_argument(
            "--window",
            metavar="TOKENS",
            type=token_count,
            help="the model's context window, if the session records none or a wrong one",
        )
        named = ", ".join(CACHE_NAMES)
        about = f"assume this prompt cache for every call, regardless of reported usage: {named}"
        parser.add_argument("--cache", metavar="NAME", type=_cache, help=about)


def _rates(text: str) -> Rates:
    from inspector.replay.pricing.rates import RatesError, parse_rates

    try:
        return parse_rates(text)
    except RatesError as error:
        raise ArgumentTypeError(str(error)) from None


def token_count(text: str) -> int:
    digits = text.replace(",", "").replace("_", "")
    if not digits.isdecimal() or not 1 <= int(digits) <= LARGEST_WINDOW:
        raise ArgumentTypeError(f"{text!r} is not a number of tokens; use 1 to {LARGEST_WINDOW:,}")
    return int(digits)


def _calls(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_NEXT_CALLS:
        raise ArgumentTypeError(f"{text!r} is not a number of calls; use 1 to {MOST_NEXT_CALLS:,}")
    return int(text)


def _days(text: str) -> float:
    value = number_from_zero(text, "number of days")
    if value > MOST_DAYS:
        raise ArgumentTypeError(f"{text!r} is not a number of days in a month; use 0 to {MOST_DAYS}")
    return value


def _runs(text: str) -> RunsPerDay:
    return RunsPerDay(number_from_zero(text, "number of runs"))


def _factor(text: str) -> float:
    return number_from_zero(text, "factor")


def number_from_zero(text: str, what: str, most: int = MOST_OF_A_NUMBER) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= most:
        raise ArgumentTypeError(f"{text!r} is not a {what}; use 0 to {most:,}")
    return value


def _cache(text: str) -> str:
    if text not in CACHE_NAMES:
        raise ArgumentTypeError(f"{text!r} is not a prompt cache; use one of {', '.join(CACHE_NAMES)}")
    return text


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
    """Reject an `--as-model` without a price, or next to `--model`, before a big file is read."""
    model: str = options.as_model
    if not model:
        return
    if options.model is not None:
        message = "--model prices every call as one model, and so does --as-model: remove one of them"
        raise CommandError(message, ExitCode.WRONG_USAGE)
    from inspector.replay.pricing.price_tables import closest_known

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
    """Reject `--at` without `--switch`, or a switch without effect on prices, before a big file is read."""
    if options.at is not None and not options.switch:
        raise CommandError("--at is the first call on another model: add --switch MODEL", ExitCode.WRONG_USAGE)
    given = next((f"--{name}" for name in ("model", "rates") if getattr(options, name) is not None), "")
    if options.switch and given:
        message = f"{given} prices every call the same, so a switch makes no difference: remove {given}"
        raise CommandError(message, ExitCode.WRONG_USAGE)


def switch_call(inputs: ReplayInputs, options: Namespace) -> int:
    """Return the first call on the other models, from 0; reject a missing call, a subagent's, an unpriced model."""
    from inspector.replay.analysis.alternatives import main_calls, other_models
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


class _Append(argparse.Action):
    """Action that collects `--plan` and `--strategy` in command line order."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002  argparse signature
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        from inspector.fleet.session_tasks import PlanRequest

        text = str(values)
        if not text.strip():
            raise argparse.ArgumentError(self, f"is empty; pass a {self.metavar}")
        request = PlanRequest(plan=text) if option_string == "--plan" else PlanRequest(spec=text)
        namespace.plans = [*namespace.plans, request]


def add_plan_arguments(parser: argparse.ArgumentParser, each: str) -> None:
    """Add `--plan` and `--strategy` to a command; `each` is the meaning of several of them, for the help."""
    parser.add_argument(
        "--plan",
        metavar="PLAN",
        action=_Append,
        dest="plans",
        default=(),
        help=(
            "a plan file (TOML), a plan you saved under a name, or a built-in one such as careful; "
            f"{each}; 'inspector strategies --plans' lists them"
        ),
    )
    parser.add_argument(
        "--strategy",
        metavar="SPEC",
        action=_Append,
        dest="plans",
        default=(),
        help=(
            "a strategy with its limits, such as tiered-stale:confirmation=150,data=400; "
            f"'A + B' is B after A in one plan; {each}; 'inspector strategies' lists them"
        ),
    )


def plan_of(request: PlanRequest, session: Session | None = None) -> Plan:
    """Resolve a plan.

    Args:
        session: If given, unnamed values default to values that fit this session's tools.

    Raises:
        CommandError: The file cannot be read, the plan does not exist, or a strategy, parameter or value is invalid.
    """
    from inspector.strategies.plan import PlanError

    if request.plan and request.settled is None:
        return _named_plan(request.plan, session)
    try:
        return request.for_session(session)
    except PlanError as error:
        raise CommandError(f"--strategy {request.spec}: {error.message}", ExitCode.WRONG_USAGE) from None


def settled(request: PlanRequest) -> PlanRequest:
    """Read plan files here, once, so that the request means the same anywhere; raise as `plan_of` does."""
    from inspector.strategies.presets import preset_named

    plan, preset = plan_of(request), preset_named(request.plan)
    if request.spec:
        return request
    if preset is not None and plan == preset.plan(None):
        return replace(request, plan=preset.name)
    return replace(request, settled=plan)


def joined_plan(requests: Sequence[PlanRequest], session: Session | None = None) -> Plan:
    """Combine the given plans into one, with their strategies in order; raise as `plan_of` does."""
    from inspector.strategies.plan import Plan

    plans = [plan_of(request, session) for request in requests]
    return Plan(tuple(entry for plan in plans for entry in plan.entries))


def _named_plan(text: str, session: Session | None) -> Plan:
    """Return the plan in the file of that path, or the saved or built-in one of that name."""
    from inspector.strategies.presets import PRESETS, SUFFIX, preset_named, saved_plans

    path = expand_user(text)
    if exists(path) or os.sep in text or text.endswith(SUFFIX):
        return _plan_in(path)
    saved = {name: each for each in saved_plans() for name in (each.name, each.path.stem)}
    if text in saved:
        return _plan_in(saved[text].path)
    preset = preset_named(text)
    if preset is not None:
        return preset.plan(session)
    raise CommandError(f"--plan {text}: {_unknown(text, [*saved, *PRESETS])}", ExitCode.WRONG_USAGE)


def _plan_in(path: Path) -> Plan:
    from inspector.strategies.plan import Plan, PlanError

    try:
        return Plan.from_toml(read_text(path))
    except PlanError as error:
        raise CommandError(f"{path}: {error.message}") from None


def _unknown(text: str, names: list[str]) -> str:
    from inspector.strategies.registry import STRATEGIES, suggestion

    if text.partition(":")[0] in STRATEGIES:
        return f"is a strategy; use --strategy {text}"
    return f"no file, saved plan or built-in plan has that name{suggestion(text, names)}"


MOST_PROCESSES: Final = 1000
FLEET_OPTIONS: Final = ("processes", "workers", "scheduler", "no_kept_results")


def add_fleet_arguments(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("many sessions", "The figures are the same for each choice.")
    places = group.add_mutually_exclusive_group()
    places.add_argument(
        "--processes",
        metavar="N",
        type=_processes,
        help=(
            "use N processes (default: one per processor, none for little work); 0: this process, which is "
            "killed if a session needs too much memory"
        ),
    )
    places.add_argument(
        "--workers",
        metavar="N",
        type=_workers,
        help="start a local dask cluster with N workers, not reachable from other machines",
    )
    places.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help=(
            "join the dask cluster at ADDRESS (tcp://host:8786); its workers need this version of the program and "
            "the sessions at the same paths"
        ),
    )
    add_kept_results_argument(group)


def add_kept_results_argument(parser: _ActionsContainer) -> None:
    parser.add_argument(
        "--no-kept-results",
        action="store_const",
        const=True,
        help="read every session again and cache nothing, like keep_results = false in the settings",
    )


def kept_results(options: Namespace) -> ResultCache:
    """Return the cache of results, disabled by options or settings."""
    from inspector.fleet.result_cache import ResultCache
    from inspector.settings import load_settings

    return ResultCache(is_on=not options.no_kept_results and load_settings().keep_results)


def execution_of(options: Namespace) -> Execution:
    from inspector.fleet.executors import Execution

    return Execution(options.processes, options.workers, options.scheduler)


def session_terms(options: Namespace) -> SessionTerms:
    """Build the terms of sessions, reading price and plan files; raise `CommandError` if one is invalid."""
    from inspector.fleet.session_tasks import SessionTerms

    terms = parse_billing_terms(options)
    plans = tuple(settled(request) for request in getattr(options, "plans", ()))
    exact = bool(vars(options).get("exact"))
    return SessionTerms(pricing_of(terms, options.price_file), terms.cache, terms.window, plans, exact=exact)


@contextmanager
def fleet_errors() -> Iterator[None]:
    """Turn errors of work on many sessions into errors of a command."""
    from inspector.fleet.executors import EndedEarlyError, FleetError

    try:
        yield
    except EndedEarlyError as error:
        raise CommandError(error.message, ExitCode.INTERRUPTED) from None
    except FleetError as error:
        raise CommandError(error.message) from None


def refuse_fleet_options(options: Namespace, allowed: Collection[str] = ()) -> None:
    """Reject `FLEET_OPTIONS` on a single session, except those in `allowed`."""
    for name in FLEET_OPTIONS:
        if name not in allowed and getattr(options, name) is not None:
            message = f"--{name.replace('_', '-')} is for folders of sessions; {options.path} is a single one"
            raise CommandError(message, ExitCode.WRONG_USAGE)


def _processes(text: str) -> int:
    if not text.isdecimal() or int(text) > MOST_PROCESSES:
        raise ArgumentTypeError(f"{text!r} is not a number of processes; use 0 to {MOST_PROCESSES:,}")
    return int(text)


def _workers(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_PROCESSES:
        raise ArgumentTypeError(f"{text!r} is not a number of workers; use 1 to {MOST_PROCESSES:,}")
    return int(text)
