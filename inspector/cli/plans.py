"""Plans on the command line: plan files, saved and built-in plans by name, and strategies in their one-line form."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from inspector.cli.exit_codes import CommandError, ExitCode
from inspector.cli.reading import read_text
from inspector.session.files import exists, expand_user

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from inspector.fleet.session_tasks import PlanRequest
    from inspector.session.model import Session
    from inspector.strategies.plan import Plan


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
    """Add `--plan` and `--strategy` to a command.

    Args:
        parser: The command's parser.
        each: Meaning of several of them, for the help.
    """
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
        request: The plan as given.
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
    """Read plan files here, once, so that the request resolves to the same plan anywhere.

    Raises:
        CommandError: See `plan_of`.
    """
    from inspector.strategies.presets import PRESETS

    plan = plan_of(request)
    if request.spec or (request.plan in PRESETS and plan == PRESETS[request.plan].plan(None)):
        return request
    return replace(request, settled=plan)


def joined_plan(requests: Sequence[PlanRequest], session: Session | None = None) -> Plan:
    """Combine the given plans into one, with their strategies in order.

    Raises:
        CommandError: See `plan_of`.
    """
    from inspector.strategies.plan import Plan

    plans = [plan_of(request, session) for request in requests]
    return Plan(tuple(entry for plan in plans for entry in plan.entries))


def _named_plan(text: str, session: Session | None) -> Plan:
    """Return the plan in the file of that path, or the saved or built-in one of that name."""
    from inspector.strategies.presets import PRESETS
    from inspector.ui.plan.plans import SUFFIX, saved_plans

    path = expand_user(text)
    if exists(path) or os.sep in text or text.endswith(SUFFIX):
        return _plan_in(path)
    saved = {name: each for each in saved_plans() for name in (each.name, each.path.stem)}
    if text in saved:
        return _plan_in(saved[text].path)
    if text in PRESETS:
        return PRESETS[text].plan(session)
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
