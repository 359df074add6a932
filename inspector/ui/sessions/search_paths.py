"""Folders searched for sessions, and advice if there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.safe_text import one_line
from inspector.session.files import exists
from inspector.session.registry import all_formats

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def first_steps(folders: Sequence[Path] | None) -> tuple[str, str, str]:
    """Return three lines of advice for the case that no session was found.

    Args:
        folders: Searched folders; None for the agents' own folders on this machine.
    """
    where = "on this machine" if folders is None else "in the folders named"
    return (
        f"No sessions found {where} · ctrl+l shows the searched folders",
        "Run your agent, and its session appears here. Or open a file: inspector FILE",
        "To try it without an agent: inspector demo",
    )


def places_text(folders: Sequence[Path] | None, home: Path) -> str:
    """Describe the searched folders, one per line, and whether they exist.

    Args:
        folders: Searched folders; None for the agents' own folders on this machine.
        home: The user's home folder, displayed as `~`.
    """
    if folders is not None:
        looked_in = [("Folders", folder) for folder in folders]
    else:
        looked_in = [(format_.title, place) for format_ in all_formats() for place in format_.homes()]
    lines: list[str] = []
    before = ""
    for title, place in looked_in:
        lines += [] if title == before else [title]
        lines.append(f"  {'exists   ' if exists(place) else 'missing  '}  {_short(place, home)}")
        before = title
    return "\n".join(lines)


def _short(place: Path, home: Path) -> str:
    try:
        return one_line(f"~/{place.relative_to(home).as_posix()}")
    except ValueError:
        return one_line(str(place))
