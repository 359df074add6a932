"""Plans the user saved in the platform's data folder, and titles of plans on the screen."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import Struct

from inspector.atomic_files import APPLICATION, write_atomic
from inspector.safe_text import clip_cells, one_line
from inspector.session.files import expanded, glob_sorted
from inspector.session.overwrite_guard import problem_with_target

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.model import Session
    from inspector.strategies.plan import Plan


SUFFIX = ".toml"


class SavedPlan(Struct, frozen=True):
    """A saved plan.

    Attributes:
        name: Name of the plan.
        path: Its file.
        plan: The plan; None if it cannot be read.
        problem: Why it cannot be read; empty if it can.
    """

    name: str
    path: Path
    plan: Plan | None
    problem: str = ""


def library_folder() -> Path:
    """Return the folder of saved plans."""
    from platformdirs import user_data_path

    return user_data_path(APPLICATION) / "plans"


def saved_plans(folder: Path | None = None) -> list[SavedPlan]:
    """Return every saved plan by name. Invalid files are included with their error."""
    from inspector.strategies.plan import Plan, PlanError

    found = []
    for path in glob_sorted(folder or library_folder(), f"*{SUFFIX}"):
        try:
            plan = Plan.from_toml(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, PlanError) as error:
            found.append(SavedPlan(path.stem, path, None, f"cannot be read: {str(error).splitlines()[0]}"))
        else:
            found.append(SavedPlan(plan.name or path.stem, path, plan))
    return found


def target_of(text: str, folder: Path | None = None) -> Path:
    """Return the path for a typed path or name. A name is saved in the library."""
    text = text.strip()
    if text.startswith("~") or text.endswith(SUFFIX) or os.sep in text:
        path = expanded(text)
        return path if path.suffix else path.with_suffix(SUFFIX)
    stem = re.sub(r"[^\w .+-]+", "-", text).strip(". ")
    return (folder or library_folder()) / f"{stem}{SUFFIX}"


def problem_with_name(text: str) -> str:
    """Return why a plan cannot be saved under a name, or an empty string."""
    if not re.search(r"\w", text):
        return "a plan name needs at least one letter or digit"
    path = target_of(text)
    if path.suffix != SUFFIX:
        return f"{path.name} is not a {SUFFIX} file"
    problem = problem_with_target(path)
    return f"{path} {problem}" if problem else ""


def save_named(plan: Plan, text: str) -> Path:
    """Save a plan under a name or in a file.

    Returns:
        Path of the written file.

    Raises:
        OSError: The file cannot be written.
    """
    path = target_of(text)
    write_atomic(path, replace(plan, name=path.stem).to_toml())
    return path


LONGEST = 16
CHANGED = ", changed"


class PlanNames:
    """Plans by name, as they were saved or opened."""

    def __init__(self) -> None:
        self._saved: dict[str, Plan] = {}

    def note(self, plan: Plan) -> None:
        """Record a plan that was saved or opened."""
        if plan.name:
            self._saved[plan.name] = plan

    def is_changed(self, plan: Plan, session: Session | None) -> bool:
        """Return True if a plan differs from the one its name refers to. A plan without a name never does.

        A name refers to the plan last saved or opened under it, then to a saved plan, then to a preset, and finally to
        the first plan seen with that name.

        Args:
            plan: The plan.
            session: Session to fit a preset to.
        """
        if not plan.name:
            return False
        if plan.name not in self._saved:
            self._saved[plan.name] = _known(plan.name, session) or plan
        return self._saved[plan.name].entries != plan.entries

    def title(self, letter: str, plan: Plan, session: Session | None) -> str:
        """Return the title of a plan: `Plan A: careful, changed`."""
        if not plan.name:
            return f"Plan {letter}"
        changed = CHANGED if self.is_changed(plan, session) else ""
        return f"Plan {letter}: {clip_cells(one_line(plan.name), LONGEST)}{changed}"


def _known(name: str, session: Session | None) -> Plan | None:
    from inspector.strategies.presets import PRESETS

    saved = next((each.plan for each in saved_plans() if each.name == name and each.plan is not None), None)
    return saved or (PRESETS[name].plan(session) if name in PRESETS else None)
