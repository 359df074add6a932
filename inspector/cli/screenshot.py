"""`inspector screenshot`: the screen on a session, or its context chart, as a picture without a terminal."""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.cli.arguments import add_plan_arguments, joined_plan, plan_of
from inspector.cli.output import CommandError, ExitCode, check_detector, check_target, is_terminal, save, write
from inspector.cli.reading import read_session, replay_inputs

if TYPE_CHECKING:
    from inspector.strategies.plan import Plan

ENDINGS = (".svg", ".png")
SCALE = 2.0
"""Pixels of a PNG per pixel of the SVG, for high-resolution displays."""

SMALLEST, LARGEST = (40, 10), (400, 200)
"""Minimum and maximum columns and lines of the pictured screen."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", type=Path, help="a session file or folder")
    add_plan_arguments(parser, "several are combined into one plan, in order")
    parser.add_argument(
        "--keys",
        metavar="KEYS",
        default="",
        help="keys to press first, separated by spaces: 'down tab question_mark'; press ? on the screen for a list",
    )
    parser.add_argument("--size", metavar="COLUMNSxLINES", type=_size, default=(120, 36), help="size (default: 120x36)")
    parser.add_argument("--theme", metavar="NAME", default="dark", help="theme of the screen (default: dark)")
    parser.add_argument(
        "--mask",
        action="store_true",
        help="mask detected secrets and user names in the picture; check it before sharing",
    )
    parser.add_argument("--chart", action="store_true", help="only the context chart, drawn for slides")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="write to FILE, which ends in .svg or .png; default: print SVG",
    )


def run(options: Namespace) -> int:
    _check(options)
    plan = joined_plan(options.plans) if options.plans else None
    picture = _chart(options) if options.chart else _screen(options, plan)
    if options.output is None:
        write(picture)
    elif options.output.suffix.lower() == ".png":
        _save_png(picture, options.output)
    else:
        save(options.output, picture)
    return ExitCode.FINE


def _check(options: Namespace) -> None:
    from inspector.report.charts.drawing import load_drawing
    from inspector.ui.themes import THEMES

    if options.output is None:
        if is_terminal(sys.stdout):
            raise CommandError("pass an output file: -o screen.svg, or -o screen.png", ExitCode.WRONG_USAGE)
    else:
        check_target(options.output, options.path)
        if options.output.suffix.lower() not in ENDINGS:
            message = f"{options.output}: pictures are written as {' or '.join(ENDINGS)}"
            raise CommandError(message, ExitCode.WRONG_USAGE)
    if options.theme not in THEMES:
        raise CommandError(f"no theme {options.theme!r}; use one of {', '.join(THEMES)}", ExitCode.WRONG_USAGE)
    if options.mask:
        check_detector()
    if options.output is not None and options.output.suffix.lower() == ".png":
        load_drawing()


def _screen(options: Namespace, plan: Plan | None) -> str:
    import asyncio

    from inspector.errors import SessionError

    try:
        return asyncio.run(_picture(options, plan))
    except SessionError as error:
        raise CommandError(error.message) from None
    except TimeoutError:
        raise CommandError(f"{options.path}: counting took more than five minutes, so there is no picture") from None


async def _picture(options: Namespace, plan: Plan | None) -> str:
    from inspector.settings import Settings
    from inspector.ui.headless import running_session, wait_until_ready
    from inspector.ui.screenshots import masking_of_screen, picture_of_screen

    async with running_session(options.path, plan, options.size, Settings(theme=options.theme)) as pilot:
        for key in options.keys.split():
            # One key may open controls that the next key is for.
            await pilot.press(key)
            await wait_until_ready(pilot)
        picture = picture_of_screen(pilot.app)
        if not options.mask:
            return picture
        from inspector.report.secret_redaction import SecretRedactor

        return masking_of_screen(pilot.app, picture)(SecretRedactor())


def _chart(options: Namespace) -> str:
    from inspector.report.charts.drawing import still, svg
    from inspector.report.charts.specifications import LIGHT, context_chart
    from inspector.report.document import ReportOptions
    from inspector.report.session_report import report_of

    session = read_session(options.path)
    plans = [plan_of(request, session) for request in options.plans]
    report = report_of(replay_inputs(session), plans, ReportOptions(details=False, ledger=True))
    drawn = context_chart(report, LIGHT)
    if drawn is None:
        raise CommandError(f"{options.path}: contains no call to a model, so there is nothing to draw")
    return svg(still(drawn)) + "\n"


def _save_png(picture: str, target: Path) -> None:
    from inspector.report.charts.drawing import png

    save(target, png(picture, SCALE))


def _size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,4})x(\d{1,4})", text)
    size = (int(found[1]), int(found[2])) if found else (0, 0)
    if not all(least <= given <= most for least, given, most in zip(SMALLEST, size, LARGEST, strict=True)):
        raise ArgumentTypeError(f"{text!r} is not a size; use columns and lines, from 40x10 to 400x200")
    return size
