"""Read the keys of all screens from the running app, as its help screen lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from inspector.ui.headless import running_session
from inspector.ui.help.key_listing import HelpSection, help_sections
from inspector.ui.main.session_pane import OPEN_DETAIL
from inspector.ui.part_names import OPEN_PLAN

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot

SIZE = (120, 36)

STUDIES = {"c": "Compare", "t": "Tune", "v": "Window", "M": "Cache misses", "g l": "Files"}
"""Keys and names of the screens opened over the main one."""

MAIN_PARTS = ("Context chart", "Timeline", "Detail")
"""Parts of the main screen with separate tables; the other parts share one."""

REST_OF_MAIN = "Plan and cost"


class KeyGroup(NamedTuple):
    """Keys of one or more parts of a screen.

    Attributes:
        title: Name of the part, or of the screen.
        section: The keys.
    """

    title: str
    section: HelpSection


async def key_groups(session: Path) -> list[KeyGroup]:
    """Return every part of every screen with its keys: first the global keys, then the parts in the order of `tab`.

    Keys without a name, which come with every Textual app, are left out.

    Args:
        session: The session to open; parts without content have no keys.
    """
    found: dict[str, KeyGroup] = {}
    async with running_session(session, None, SIZE) as pilot:
        # Hidden panes have no focus.
        pilot.app.screen.add_class(OPEN_DETAIL, OPEN_PLAN)
        await pilot.pause()
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
    groups = [group for group in found.values() if group.section.rows]
    return sorted(groups, key=lambda group: not group.section.is_everywhere)


async def _collect(pilot: Pilot[None], found: dict[str, KeyGroup], screen: str = "") -> None:
    """Add the keys of every part of the screen shown.

    Args:
        pilot: Drives the app.
        found: Result by part.
        screen: Name of the screen; empty for the main screen.
    """
    for widget in pilot.app.screen.focus_chain:
        widget.focus()
        await pilot.pause()
        for section in help_sections(pilot.app):
            if section.is_everywhere and screen:
                section = section._replace(title=screen, is_everywhere=False)
            known = found.get(section.title)
            rows = known.section.rows if known else ()
            names = {row.name for row in rows}
            new = tuple(row for row in section.rows if row.name and row.name not in names)
            found[section.title] = KeyGroup(_group(section, screen), section._replace(rows=rows + new))


def _group(section: HelpSection, screen: str) -> str:
    """Return the heading below which a section's keys are listed."""
    if screen or section.is_everywhere or section.title in MAIN_PARTS:
        return screen or section.title
    return REST_OF_MAIN
