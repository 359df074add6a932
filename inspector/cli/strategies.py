"""`inspector strategies`: what there is, and what can be tuned."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.cli.console import encodes_everything, wants_color, write
from inspector.cli.exits import CommandError, ExitCode
from inspector.cli.reading import read_session

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """Which strategy, and in which form."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="only this strategy, with all its parameters")
    parser.add_argument(
        "--tools", metavar="PATH", type=Path, help="how the tools of this session are classed, unknown ones named"
    )
    parser.add_argument("--json", action="store_true", help="print it as data: a list, or one object with NAME")


def run(options: Namespace) -> int:
    """Print one strategy or all of them."""
    from inspector.report.json_text import to_json
    from inspector.report.strategy_pages import strategies_text, strategy_data, strategy_text
    from inspector.strategies.parameters import ParameterError
    from inspector.strategies.registry import STRATEGIES, strategy_type

    color = wants_color(sys.stdout)
    if options.tools is not None:
        return _show_tools(options, color=color)
    try:
        named = strategy_type(options.name) if options.name else None
    except ParameterError as error:
        raise CommandError(str(error), ExitCode.WRONG_USAGE) from None
    if options.json:
        data = [strategy_data(each) for each in STRATEGIES.values()] if named is None else strategy_data(named)
        write(to_json(data, ascii_only=not encodes_everything(sys.stdout)))
    elif named is None:
        write(strategies_text(STRATEGIES.values(), color=color))
    else:
        write(strategy_text(named, color=color))
    return ExitCode.FINE


def _show_tools(options: Namespace, *, color: bool) -> int:
    from inspector.report.json_text import to_json
    from inspector.report.tool_pages import tools_data, tools_text

    session = read_session(options.tools)
    if options.json:
        write(to_json(tools_data(session), ascii_only=not encodes_everything(sys.stdout)))
    else:
        write(tools_text(session, color=color))
    return ExitCode.FINE
