"""`inspector tune`: the best plan for many sessions, with its saving, confidence, and risk."""

from __future__ import annotations

import math
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.cli.arguments import (
    FORMS,
    add_beyond_argument,
    add_fleet_arguments,
    add_plan_arguments,
    add_price_arguments,
    add_uncertainty_argument,
    execution_of,
    fleet_errors,
    kept_results,
    plan_of,
    session_terms,
    token_count,
)
from inspector.cli.output import CommandError, ExitCode, ProgressLine, check_target, narrate, print_or_save_report, save
from inspector.cli.reading import is_list, resolve_targets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.fleet.result_cache import ResultCache
    from inspector.fleet.tuning import Tuned
    from inspector.replay.tuning.search import FleetGroup, TunedGroup

MINUTES = 10.0


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        type=Path,
        help="sessions, and folders of sessions; default: this machine's agents",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="write the plan to FILE (TOML), one file per agent and model; session files are never overwritten",
    )
    forms = dict(FORMS, csv="for spreadsheets, one row per session")
    named = "; ".join(f"{name}: {use}{' (default)' if name == 'text' else ''}" for name, use in forms.items())
    parser.add_argument("--format", choices=forms, default="text", help=f"format of the report: {named}")
    parser.add_argument("--report", metavar="FILE", type=Path, help="write the report to FILE instead of printing it")
    parser.add_argument("--no-script", action="store_true", help="html without interactive charts")
    limits = parser.add_argument_group("constraints on plans")
    limits.add_argument(
        "--max-needed", metavar="N", type=_amount, help="at most N expected re-fetches per 100 calls; 0: none"
    )
    limits.add_argument(
        "--max-risk",
        metavar="PERCENT",
        type=_amount,
        help="maximum cost of expected re-fetches, in percent of the plan's saving",
    )
    limits.add_argument(
        "--budget-calls",
        metavar="N",
        type=_amount,
        help="at most N additional calls per 100: the plan's own requests and expected re-fetches",
    )
    limits.add_argument(
        "--keep", metavar="TOOL", action="append", default=[], help="do not cut the results of TOOL; repeatable"
    )
    limits.add_argument(
        "--may-forget",
        action="store_true",
        help="include plans that remove or summarize user and assistant messages; the resulting loss is unknown",
    )
    add_beyond_argument(limits)
    parser.add_argument(
        "--compaction",
        action="store_true",
        help="instead of plans: the best compaction threshold, based on recorded compactions",
    )
    parser.add_argument(
        "--configured",
        metavar="TOKENS",
        type=token_count,
        help="with --compaction: the configured threshold, if any; compared with the observed one",
    )
    add_plan_arguments(parser, "tune only these instead of every strategy and built-in plan")
    parser.add_argument("--export", metavar="SYSTEM", help="include the plan as that system's own configuration")
    parser.add_argument(
        "--minutes",
        metavar="N",
        type=_amount,
        default=MINUTES,
        help=(
            f"after reading, search for at most N minutes ({MINUTES:g}), shared equally among agents and models; "
            "ctrl-c stops earlier and reports the results so far"
        ),
    )
    add_price_arguments(parser)
    add_uncertainty_argument(parser)
    add_fleet_arguments(parser)


def run(options: Namespace) -> int:
    from functools import partial

    _check(options)
    results = kept_results(options)
    sessions = _found(options.paths, results)
    with fleet_errors():
        report, tuned, ended, missing = _tuned(sessions, options, results)
    if missing:
        narrate(missing)
    results.close()
    from inspector.report.forms import tune_written
    from inspector.report.secret_redaction import shown_path

    plan_file, options.output = options.output, options.report
    form = partial(
        tune_written,
        form=options.format,
        is_interactive=not options.no_script,
        plan_file="" if plan_file is None else shown_path(plan_file),
    )
    print_or_save_report(report, options, form)
    if plan_file is not None:
        _save_plans(plan_file, tuned)
    return ExitCode.INTERRUPTED if ended else ExitCode.FINE


def _check(options: Namespace) -> None:
    from inspector.report.export import COMPACTION_SETTINGS, TITLES
    from inspector.strategies.registry import suggestion

    _check_compaction(options)
    for request in options.plans:
        plan_of(request)
    for target in (options.output, options.report):
        if target is not None:
            check_target(target)
    if options.output is not None and options.output.suffix != ".toml":
        message = f"{options.output}: -o is for the plan, a .toml file; use --report FILE for the report"
        raise CommandError(message, ExitCode.WRONG_USAGE)
    targets = COMPACTION_SETTINGS if options.compaction else TITLES
    if options.export is not None and options.export not in targets:
        message = f"--export {options.export}: no such system{suggestion(options.export, targets)}"
        raise CommandError(message, ExitCode.WRONG_USAGE)


def _check_compaction(options: Namespace) -> None:
    """Reject options that conflict with `--compaction` or require it."""
    if options.compaction:
        unfit = {
            "-o": options.output is not None,
            "--strategy or --plan": bool(options.plans),
            "--keep": bool(options.keep),
            "--may-forget": options.may_forget,
            "--beyond": options.beyond,
            "--max-needed": options.max_needed is not None,
            "--max-risk": options.max_risk is not None,
            "--budget-calls": options.budget_calls is not None,
        }
        for option in (option for option, is_given in unfit.items() if is_given):
            raise CommandError(f"{option} is about plans, but --compaction tries none", ExitCode.WRONG_USAGE)
    elif options.configured is not None:
        raise CommandError("--configured requires --compaction", ExitCode.WRONG_USAGE)


def _found(paths: Sequence[Path], results: ResultCache) -> dict[Path, int]:
    """Return the sessions with their file sizes in bytes, without those started by other sessions."""
    from inspector.session.discovery import list_sessions, read_header, search_places, sessions_in

    if not paths:
        resolve_targets(())
        known = results.sniffed_files(None)
        before = len(known)
        with ProgressLine("looking for sessions"):
            listed = [header for batch in list_sessions(search_places(), known) for header in batch]
        results.store_sniffed_files(None, known, before)
        return {header.path: header.size for header in listed if header.parent is None and not header.problem}
    found: dict[Path, int] = {}
    for path in dict.fromkeys(paths):
        if is_list(path):
            known = results.sniffed_files(path)
            before = len(known)
            found.update({header.path: header.size for header in sessions_in(path, known)})
            results.store_sniffed_files(path, known, before)
        else:
            header = read_header(path)
            found[path] = header.size if header is not None else 0
    if not found:
        from inspector.session.discovery import describe_folder

        raise CommandError(describe_folder(paths[0]))
    return found


def _tuned(sizes: dict[Path, int], options: Namespace, results: ResultCache) -> Tuned:
    from functools import partial

    from inspector.fleet.tuning import tune, tune_compaction
    from inspector.report.tuning import TuningTerms

    progress = partial(ProgressLine, estimates=True)
    given = (options.paths, sizes, session_terms(options))
    if options.compaction:
        return tune_compaction(
            *given,
            execution_of(options),
            results,
            progress,
            configured=options.configured,
            target=options.export or "",
            model_uncertainty=options.model_uncertainty,
        )
    asked = TuningTerms(
        max_needed=options.max_needed,
        max_risk=options.max_risk,
        budget_calls=options.budget_calls,
        keep=list(dict.fromkeys(options.keep)),
        may_forget=options.may_forget,
        model_uncertainty=options.model_uncertainty,
        beyond=options.beyond,
    )
    seconds = 60 * options.minutes
    return tune(*given, asked, seconds, execution_of(options), results, progress, target=options.export or "")


def _save_plans(target: Path, tuned: Sequence[TunedGroup]) -> None:
    """Write the recommended plans, each to its own file if there are several."""
    from inspector.report.tuning import chosen_plan, group_name

    chosen = [(each.group, plan) for each in tuned if (plan := chosen_plan(each)) is not None]
    if not chosen:
        narrate(f"no plan is recommended, so {target} was not written")
    for group, plan in chosen:
        file = target if len(chosen) == 1 else target.with_stem(f"{target.stem}-{_slug(group)}")
        check_target(file)
        save(file, replace(plan, name=file.stem).to_toml())
        narrate(f"wrote {file} for {group_name(group.agent, group.models, len(group.sessions))}")


def _slug(group: FleetGroup) -> str:
    """Return the part of a file name that identifies a group."""
    words = f"{group.agent} {group.models[0] if len(group.models) == 1 else 'others'}"
    return "-".join("".join(each if each.isalnum() or each in ".-" else " " for each in words).split())


def _amount(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise ArgumentTypeError(f"{text!r} is not a number; use 0 or more")
    return value
