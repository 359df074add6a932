"""What every dialog does with the mouse: a click beside it closes it, and the keys its frame names can be clicked."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from textual.content import Content
from textual.screen import ModalScreen
from textual.style import Style

if TYPE_CHECKING:
    from textual import events

Answer = TypeVar("Answer")

CLICK = "inspector_click"
"""Says in a cell which action of the dialog a click on it runs. Textual's own `@click` would draw it as a link."""


class Dialog(ModalScreen[Answer]):
    """A screen over another one. Closed without an answer it gives None."""

    async def on_click(self, event: events.Click) -> None:
        """Do what was clicked; close where the click was beside everything."""
        if action := event.style.meta.get(CLICK):
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
    words = (Content.styled(text, Style.from_meta({CLICK: action}) if action else "") for text, action in said)
    return Content(" · ").join(list(words))
