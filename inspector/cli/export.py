"""`inspector export`: a plan as code, as a hook, or as an agent's own settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from inspector.cli.arguments import add_plan_arguments, joined_plan
from inspector.cli.output import CommandError, ExitCode, check_target, print_error_line, save, write

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    add_plan_arguments(parser, "several are combined into one plan, in order")
    parser.add_argument("--to", metavar="NAME", help="target: python, hook, or an agent; --list shows all")
    parser.add_argument("--list", action="store_true", help="list the targets and the strategies each supports")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write to a file instead of standard output")


def run(options: Namespace) -> int:
    """Print or save the configuration; omissions are reported on standard error."""
    from inspector.report.export import APPLY_METHODS, TARGETS, ExportError, export_plan

    if options.list:
        width = max(map(len, (*APPLY_METHODS, *TARGETS)))
        write("".join(f"{name:{width}}  {way.title}: {way.takes}\n" for name, way in APPLY_METHODS.items()))
        write("".join(f"{name:{width}}  {', '.join(target.takes)}\n" for name, target in TARGETS.items()))
        return ExitCode.FINE
    if options.to is None or not options.plans:
        message = "pass a plan (--plan or --strategy) and a target (--to): python, hook, or an agent; --list shows all"
        raise CommandError(message, ExitCode.WRONG_USAGE)
    plan = joined_plan(options.plans)
    try:
        exported = export_plan(plan, options.to)
    except ExportError as error:
        raise CommandError(str(error), ExitCode.WRONG_USAGE) from None
    if options.output is None:
        write(exported.text)
    else:
        check_target(options.output)
        save(options.output, exported.text)
    for sentence in (exported.where, *(f"omitted: {each}" for each in exported.left_out)):
        print_error_line(sentence)
    return ExitCode.FINE
