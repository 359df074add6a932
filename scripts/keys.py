"""The keys of the screens, asked of the running app itself, as its help screen shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.ui.headless import running_session
from inspector.ui.help.key_listing import HelpSection, help_sections

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot

SIZE = (120, 36)

STUDIES = {"c": "Compare", "t": "Tune", "v": "Window", "M": "Cache misses", "g l": "Files", "g k": "Cache marks"}
"""The screens opened over the main one: their keys there, and what they are called."""


async def key_sections(session: Path) -> list[HelpSection]:
    """Every part of every screen with its keys: what works everywhere first, then the parts in the order of `tab`.

    Keys that come with every Textual app have no name, and are left out.

    Args:
        session: What is opened; parts without content have no keys.
    """
    found: dict[str, HelpSection] = {}
    async with running_session(session, None, SIZE) as pilot:
        await _collect(pilot, found)
        for key, title in STUDIES.items():
            await pilot.press(*key.split())
            await pilot.pause()
            await _collect(pilot, found, title)
            if title == "Tune":
                await pilot.press("m")
                await pilot.pause()
                await _collect(pilot, found, title)
            await pilot.press("escape")
            await pilot.pause()
    sections = [section for section in found.values() if section.rows]
    return sorted(sections, key=lambda section: not section.is_everywhere)


async def _collect(pilot: Pilot[None], found: dict[str, HelpSection], title: str = "") -> None:
    """Add the keys of every part of the screen shown.

    Args:
        pilot: Drives the app.
        found: What is added to, by the sections' titles.
        title: What the screen's own keys are called; empty for the main screen's.
    """
    for widget in pilot.app.screen.focus_chain:
        widget.focus()
        await pilot.pause()
        for section in help_sections(pilot.app):
            if section.is_everywhere and title:
                section = section._replace(title=title, is_everywhere=False)
            known = found.get(section.title)
            rows = known.rows if known else ()
            names = {row.name for row in rows}
            new = tuple(row for row in section.rows if row.name and row.name not in names)
            found[section.title] = section._replace(rows=rows + new)
