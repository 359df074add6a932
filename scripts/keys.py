"""The keys of the main screen, asked of the running app itself, as its help screen shows them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from running import running

from inspector.ui.help import HelpSection, help_sections

if TYPE_CHECKING:
    from pathlib import Path

SIZE = (120, 36)


async def key_sections(session: Path) -> list[HelpSection]:
    """Every part of the main screen with its keys: what works everywhere first, then the parts in the order of `tab`.

    Keys that come with every Textual app have no name, and are left out.

    Args:
        session: What is opened; parts without content have no keys.
    """
    found: dict[str, HelpSection] = {}
    async with running(session, None, SIZE) as pilot:
        for widget in pilot.app.screen.focus_chain:
            widget.focus()
            await pilot.pause()
            for section in help_sections(pilot.app):
                known = found.get(section.title)
                rows = known.rows if known else ()
                new = tuple(row for row in section.rows if row.name and row not in rows)
                found[section.title] = replace(section, rows=rows + new)
    sections = [section for section in found.values() if section.rows]
    return sorted(sections, key=lambda section: not section.is_everywhere)
