"""`inspector strategies`: strategies, their parameters and built-in plans."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.cli.output import CommandError, ExitCode, narrate, wants_color, write, write_json
from inspector.cli.reading import read_session

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="only this strategy, with all its parameters, or this plan"
    )
    parser.add_argument("--plans", action="store_true", dest="shows_plans", help="list built-in and saved plans")
    parser.add_argument(
        "--tools", metavar="PATH", type=Path, help="list the tools of this session by class, unknown ones included"
    )
    parser.add_argument("--json", action="store_true", help="print JSON: a list, or one object with NAME")


def run(options: Namespace) -> int:
    """Print strategies, plans, or the tool classes of a session."""
    from inspector.report.listings import strategies_text, strategy_data, strategy_text
    from inspector.strategies.core.parameters import ParameterError
    from inspector.strategies.presets import PRESETS
    from inspector.strategies.registry import PLUG_INS, STRATEGIES, strategy_type, suggestion

    color = wants_color(sys.stdout)
    if options.tools is not None:
        return _show_tools(options, color=color)
    if options.shows_plans or (options.name in PRESETS and options.name not in STRATEGIES):
        return _show_plans(options, color=color)
    if options.name is None:
        if options.json:
            write_json([strategy_data(each) for each in STRATEGIES.values()])
            for problem in PLUG_INS.problems():
                narrate(problem)
        else:
            write(strategies_text(STRATEGIES.values(), color=color))
        return ExitCode.FINE
    try:
        named = strategy_type(options.name)
    except ParameterError:
        if problem := PLUG_INS.problem_of(options.name):
            raise CommandError(f"unusable {problem}", ExitCode.WRONG_USAGE) from None
        known = suggestion(options.name, [*STRATEGIES, *PRESETS])
        message = f"no strategy or built-in plan is called {options.name!r}{known}"
        raise CommandError(message, ExitCode.WRONG_USAGE) from None
    if options.json:
        write_json(strategy_data(named))
    else:
        write(strategy_text(named, color=color))
    return ExitCode.FINE


def _show_plans(options: Namespace, *, color: bool) -> int:
    from inspector.report.listings import KnownPlan, plan_data, plans_text
    from inspector.strategies.presets import PRESETS, saved_plans

    known = [
        KnownPlan(each.name, each.problem or f"Saved in {each.path}", tuple(each.plan.to_specs()) if each.plan else ())
        for each in saved_plans()
    ]
    known += [KnownPlan(each.name, each.summary, each.specs) for each in PRESETS.values()]
    if options.name is not None:
        named = next((each for each in known if each.name == options.name), None)
        if named is None:
            from inspector.strategies.registry import suggestion

            meant = suggestion(options.name, [each.name for each in known])
            raise CommandError(f"no plan is called {options.name!r}{meant}", ExitCode.WRONG_USAGE)
        if options.json:
            write_json(plan_data(named))
        else:
            write(plans_text([named], color=color))
    elif options.json:
        write_json([plan_data(each) for each in known])
    else:
        write(plans_text(known, color=color))
    return ExitCode.FINE


def _show_tools(options: Namespace, *, color: bool) -> int:
    from inspector.report.listings import tools_data, tools_text

    session = read_session(options.tools)
    if options.json:
        write_json(tools_data(session))
    else:
        write(tools_text(session, color=color))
    return ExitCode.FINE
