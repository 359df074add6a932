"""What every dialog does with the mouse: a click beside it closes it, and the keys its frame names can be clicked."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from textual.content import Content
from textual.screen import ModalScreen

from inspector.ui.toolkit.one_line import ACTION, clickable

if TYPE_CHECKING:
    from textual import events

Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer]):
    """A screen over another one. Closed without an answer it gives None."""

    async def on_click(self, event: events.Click) -> None:
        """Do what was clicked; close where the click was beside everything."""
        if action := event.style.meta.get(ACTION):
            event.stop()
            await self.run_action(action)
        elif event.widget is self:
            event.stop()
            self.dismiss(None)


def key_words(*said: tuple[str, str]) -> Content:
    """What keys do, for the frame of a dialog.

    Args:
        said: Pairs of a few words and the action a click on them runs, empty for none.
    """
    return Content(" · ").join([clickable(text, action) for text, action in said])
