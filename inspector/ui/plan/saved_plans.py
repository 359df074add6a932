"""The plans a user saved under a name, in the platform's data folder, and what the plan on the screen is called."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import Struct

from inspector.atomic_files import APPLICATION, write_whole
from inspector.safe_text import clip_cells, one_line
from inspector.session.files import expanded, found_by
from inspector.session.overwrite_guard import problem_with_target

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.model import Session
    from inspector.strategies.plan import Plan


SUFFIX = ".toml"


class SavedPlan(Struct, frozen=True):
    """A plan in the library.

    Attributes:
        name: What it is called.
        path: Its file.
        plan: The plan; None where it cannot be read.
        problem: Why it cannot be read; empty where it can.
    """

    name: str
    path: Path
    plan: Plan | None
    problem: str = ""


def library_folder() -> Path:
    """Where saved plans are."""
    from platformdirs import user_data_path

    return user_data_path(APPLICATION) / "plans"


def saved_plans(folder: Path | None = None) -> list[SavedPlan]:
    """Every saved plan, by name; what is no plan is there with what is wrong with it."""
    from inspector.strategies.plan import Plan, PlanError

    found = []
    for path in found_by(folder or library_folder(), f"*{SUFFIX}"):
        try:
            plan = Plan.from_toml(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, PlanError) as error:
            found.append(SavedPlan(path.stem, path, None, f"cannot be read: {str(error).splitlines()[0]}"))
        else:
            found.append(SavedPlan(plan.name or path.stem, path, plan))
    return found


def target_of(text: str, folder: Path | None = None) -> Path:
    """The file a plan goes to: a path where the text looks like one, else that name in the library."""
    text = text.strip()
    if text.startswith("~") or text.endswith(SUFFIX) or os.sep in text:
        path = expanded(text)
        return path if path.suffix else path.with_suffix(SUFFIX)
    stem = re.sub(r"[^\w .+-]+", "-", text).strip(". ")
    return (folder or library_folder()) / f"{stem}{SUFFIX}"


def problem_with_name(text: str) -> str:
    """Why a plan cannot be saved under a name; empty when it can."""
    if not re.search(r"\w", text):
        return "a plan needs a name with a letter in it"
    path = target_of(text)
    if path.suffix != SUFFIX:
        return f"{path.name} is no {SUFFIX} file; name one"
    problem = problem_with_target(path)
    return f"{path} {problem}" if problem else ""


def save_named(plan: Plan, text: str) -> Path:
    """Save a plan under a name, or in a file.

    Returns:
        What was written.

    Raises:
        OSError: It cannot be written.
    """
    path = target_of(text)
    write_whole(path, replace(plan, name=path.stem).to_toml())
    return path


LONGEST = 16
CHANGED = ", changed"


class PlanNames:
    """Plans as they were saved or opened, by name."""

    def __init__(self) -> None:
        self._saved: dict[str, Plan] = {}

    def note(self, plan: Plan) -> None:
        """A plan was saved or opened as it is."""
        if plan.name:
            self._saved[plan.name] = plan

    def is_changed(self, plan: Plan, session: Session | None) -> bool:
        """Whether a plan is another than what its name stands for; one without a name never is.

        A name stands for what was saved or opened under it last, else for a saved plan, else for a ready one, else
        for the first plan that was seen under it.

        Args:
            plan: The plan.
            session: What a ready plan is fitted to.
        """
        if not plan.name:
            return False
        if plan.name not in self._saved:
            self._saved[plan.name] = _known(plan.name, session) or plan
        return self._saved[plan.name].entries != plan.entries

    def title(self, letter: str, plan: Plan, session: Session | None) -> str:
        """What stands above a plan: `Plan A: careful, changed`."""
        if not plan.name:
            return f"Plan {letter}"
        changed = CHANGED if self.is_changed(plan, session) else ""
        return f"Plan {letter}: {clip_cells(one_line(plan.name), LONGEST)}{changed}"


def _known(name: str, session: Session | None) -> Plan | None:
    from inspector.strategies.presets import PRESETS

    saved = next((each.plan for each in saved_plans() if each.name == name and each.plan is not None), None)
    return saved or (PRESETS[name].plan(session) if name in PRESETS else None)
