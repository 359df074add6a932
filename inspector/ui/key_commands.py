"""What keys do as commands with names, so that the palette has everything the keyboard has."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import SystemCommand

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.binding import ActiveBinding
    from textual.screen import Screen

NAMED_OTHERWISE = {
    "app.help",
    "app.picture",
    "app.quit",
    "app.leave",
    "call.now",
    "cost.explain",
    "cost.runs",
    "cost.runs-here",
    "plan.add",
    "plan.add-here",
    "plan.difference",
    "plan.export",
    "plan.open",
    "plan.redo",
    "plan.save",
    "plan.swap",
    "plan.undo",
    "session.close-tab",
    "session.diagnostics",
    "session.next-tab",
    "session.open",
    "session.open-parent",
    "session.open-subagent",
    "study.open-compare",
    "study.open-composition",
    "study.open-costs",
    "study.open-tune",
    "study.close",
}
"""Keys whose command has a name and a sentence of its own."""

MOVES = {"up", "down", "page-up", "page-down", "first", "last", "before", "after", "top", "bottom"}
"""Last words of names of keys that only move the cursor: nobody looks these up."""


def key_commands(screen: Screen[Any]) -> Iterator[SystemCommand]:
    """A command for every key that does something now, where the focus is, and has none otherwise.

    Args:
        screen: The screen under the palette.
    """
    seen = set()
    for active in screen.active_bindings.values():
        name = active.binding.id or ""
        room, _, verb = name.partition(".")
        if not verb or name in NAMED_OTHERWISE or name in seen or verb in MOVES or verb.startswith("switch-"):
            continue
        if not active.enabled:
            continue
        seen.add(name)
        said = verb.replace("-", " ").capitalize()
        yield SystemCommand(f"{room}: {said}", _help(screen, active), partial(_run, screen, active))


def _help(screen: Screen[Any], active: ActiveBinding) -> str:
    key = screen.app.get_key_display(active.binding)
    return f"{active.binding.tooltip or active.binding.description}  ({key})"


async def _run(screen: Screen[Any], active: ActiveBinding) -> None:
    await screen.app.run_action(active.binding.action, active.node)
