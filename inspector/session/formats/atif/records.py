"""Recognize ATIF trajectories."""

from __future__ import annotations

from typing import Any

from inspector.session.json.values import mapping, objects, string


def is_trajectory(value: Any) -> bool:
    """Return True for a trajectory: by its schema version, or by steps specific to this format."""
    about = mapping(value)
    if not isinstance(about.get("steps"), list):
        return False
    if string(about.get("schema_version")).upper().startswith("ATIF"):
        return True
    steps = objects(about["steps"][:20])
    return "agent" in about and bool(steps) and all("step_id" in step and "source" in step for step in steps)
