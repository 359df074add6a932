"""Plans on the command line: from plan files and from strategies in their one-line form."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspector.cli.exits import CommandError, ExitCode
from inspector.cli.reading import read_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.session.model import Session
    from inspector.strategies.plan import Plan

THEN = " + "
"""Joins the strategies of one plan in one argument. Tool names are joined by a plus without blanks."""

_QUOTED = re.compile(r'("(?:[^"\\]|\\.)*")')


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """One plan as it was asked for: a plan file, or strategies in their one-line form."""

    file: Path | None = None
    spec: str = ""


class _Append(argparse.Action):
    """Collects `--plan` and `--strategy` in the order they stand on the line."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002  argparse's signature
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        text = str(values)
        request = PlanRequest(file=Path(text)) if option_string == "--plan" else PlanRequest(spec=text)
        namespace.plans = [*namespace.plans, request]


def add_plan_arguments(parser: argparse.ArgumentParser, each: str) -> None:
    """Let a command take `--plan` and `--strategy`.

    Args:
        parser: The command's parser.
        each: What giving several of them means, for the help.
    """
    parser.add_argument(
        "--plan", metavar="FILE", action=_Append, dest="plans", default=(), help=f"a plan saved as TOML; {each}"
    )
    parser.add_argument(
        "--strategy",
        metavar="SPEC",
        action=_Append,
        dest="plans",
        default=(),
        help=(
            "a strategy with its limits, as in tiered-stale:confirmation=150,data=400; "
            f"'A{THEN}B' is B after A in one plan; {each}; 'inspector strategies' lists them"
        ),
    )


def plan_of(request: PlanRequest, session: Session | None = None) -> Plan:
    """The plan that was asked for.

    Args:
        request: What was asked for.
        session: Where given, values that are not named take the defaults that fit this session's tools.

    Raises:
        CommandError: The file cannot be read, or what is written names no strategy, parameter or value there is.
    """
    from inspector.strategies.plan import Plan, PlanError

    try:
        if request.file is None:
            return Plan.from_specs(specs_of(request.spec), session=session)
        return Plan.from_toml(read_text(request.file))
    except PlanError as error:
        if request.file is None:
            raise CommandError(f"--strategy {request.spec}: {error.message}", ExitCode.WRONG_USAGE) from None
        raise CommandError(f"{request.file}: {error.message}") from None


def specs_of(text: str) -> list[str]:
    """The strategies of one argument, each in its one-line form: `text` at every ` + ` outside quotes."""
    specs = [""]
    for index, quoted_or_not in enumerate(_QUOTED.split(text)):
        first, *others = [quoted_or_not] if index % 2 else quoted_or_not.split(THEN)
        specs[-1] += first
        specs += others
    return [spec.strip() for spec in specs]
