"""The plan last used on a session, kept in the platform's state folder, so that tuning goes on where it was left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.ui.settings import APPLICATION

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.strategies.plan import Plan


def plan_path(session: Path, folder: Path | None = None) -> Path:
    """Where the plan of a session is kept: nowhere near the session.

    Args:
        session: The session's file.
        folder: Where plans are kept; the platform's own place where not given.
    """
    import hashlib

    if folder is None:
        from platformdirs import user_state_path

        folder = user_state_path(APPLICATION) / "plans"
    digest = hashlib.blake2b(str(session.resolve()).encode(errors="surrogateescape"), digest_size=16).hexdigest()
    return folder / f"{digest}.toml"


def load_plan(session: Path, folder: Path | None = None) -> Plan | None:
    """The plan last used on a session; None where there is none, or none this version can read."""
    from inspector.strategies.plan import Plan, PlanError

    try:
        return Plan.from_toml(plan_path(session, folder).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, PlanError):
        return None


def save_plan(session: Path, plan: Plan, folder: Path | None = None) -> None:
    """Keep the plan of a session.

    Raises:
        OSError: It cannot be written.
    """
    path = plan_path(session, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".new")
    unfinished.write_text(plan.to_toml(), encoding="utf-8")
    unfinished.replace(path)
