"""Index of all actions, by screen or widget and by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from inspector.ui.actions import main_screen, parts, screens
from inspector.ui.actions.action import UserAction

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.ui.actions.action import Table

TABLES: Final[tuple[Table, ...]] = tuple(
    table
    for module in (main_screen, parts, screens)
    for table in vars(module).values()
    if isinstance(table, tuple) and any(isinstance(action, UserAction) for action in table)
)
"""Action tables of all screens and widgets."""

BY_NAME: Final[Mapping[str, UserAction[Any]]] = {action.name: action for place in TABLES for action in place}
