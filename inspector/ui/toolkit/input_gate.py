"""Input that comes faster than screens do: a key reaches the screen in front once those before it are done."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet, ref

from textual import events
from textual.app import App
from textual.errors import NoWidget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.message_pump import MessagePump
    from textual.screen import Screen
    from textual.timer import Timer

MOST_KEPT = 1_000
"""Keys that wait; those after them are dropped."""

TURNS_OF_WIDGETS = 8
"""Turns of the event loop within which widgets hand on what a key or a click comes to, and a dialog is opened by it."""

SECONDS_OF_A_LOOK = 0.25
LOOKS_TO_FOLLOW = 4
"""After so many looks the next key is given on: the widget that has the one before is at work, or gone.

Looks are counted and not seconds: a process that was not given the processor has had no time to do anything.
"""


class KeptInput(NamedTuple):
    """Input that waits.

    Attributes:
        event: What it is.
        screen: The screen that was in front when it came.
    """

    event: events.Event
    screen: Screen[Any] | None


class GatedApp(App[None]):
    """An application that gives input to the screen it is for.

    A key waits until the ones before it have done what they do, and until the screen they have opened has its widgets
    and its focus; it then goes where a user would have seen it go. A click is meant for what was seen when it came: if
    a screen was coming or going then, it is dropped.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._kept_input: deque[KeptInput] = deque()
        self._open_screens: WeakSet[Screen[Any]] = WeakSet()
        self._opening_screens: WeakSet[Screen[Any]] = WeakSet()
        # The last key is kept until the next one, and the screen it was for may have gone by then.
        self._aimed_at: WeakKeyDictionary[events.Key, ref[Screen[Any]]] = WeakKeyDictionary()
        self._followed: events.Key | None = None
        self._looks: int | None = None
        self._is_mouse_dropped = False
        self._look_again: Timer | None = None

    def on_mount(self) -> None:
        """Look again whenever another screen is in front."""
        self.screen_change_signal.subscribe(self, self._screen_changed, immediate=True)
        self.call_later(self._give_kept)

    def _screen_changed(self, _: object) -> None:
        self._looks = None
        self.call_later(self._give_kept)

    async def on_event(self, event: events.Event) -> None:
        """Keep input that is not due yet; drop what no screen in front was meant by."""
        if isinstance(event, events.InputEvent | events.Paste) and not event.is_forwarded:
            if isinstance(event, events.MouseEvent) and self._drops_mouse(event):
                return
            if len(self._kept_input) < MOST_KEPT:
                self._kept_input.append(KeptInput(event, self._front))
            await self._give_kept()
            if self._kept_input and self._look_again is None:
                self._look_again = self.set_timer(SECONDS_OF_A_LOOK, self._give_overdue)
        elif not (isinstance(event, events.Key) and self._is_of_another_screen(event)):
            await super().on_event(event)

    def _is_of_another_screen(self, key: events.Key) -> bool:
        aimed_at = self._aimed_at.get(key)
        return aimed_at is not None and aimed_at() is not self._front

    @property
    def _front(self) -> Screen[Any] | None:
        stack = self.screen_stack
        return stack[-1] if stack else None

    def _drops_mouse(self, event: events.MouseEvent) -> bool:
        """Whether nobody can have meant what is on the screen now; from a press on, until the button is let go."""
        if not self._is_open():
            self._is_mouse_dropped = not isinstance(event, events.MouseUp) and (
                self._is_mouse_dropped or isinstance(event, events.MouseDown)
            )
            return True
        if self._is_mouse_dropped and isinstance(event, events.MouseDown):
            self._is_mouse_dropped = False
        is_dropped = self._is_mouse_dropped
        if isinstance(event, events.MouseUp):
            self._is_mouse_dropped = False
        return is_dropped

    def _is_open(self) -> bool:
        """Whether the screen in front has its widgets and its focus; where not, what is kept is given on then."""
        front = self._front
        if front is None:
            return False
        if front not in self._open_screens:
            if front not in self._opening_screens:
                self._opening_screens.add(front)
                # A screen takes its first message once everything in it is mounted; the focus it asks for then is
                # given by this application, in the order in which it was asked.
                front.call_later(self.call_later, self._open, front)
            return False
        return True

    async def _open(self, screen: Screen[Any]) -> None:
        self._open_screens.add(screen)
        await self._give_kept()

    async def _give_overdue(self) -> None:
        """Give on what still waits, though nobody has told that it is due."""
        self._look_again = None
        if self._looks is not None:
            self._looks += 1
        await self._give_kept()
        if self._kept_input:
            self._look_again = self.set_timer(SECONDS_OF_A_LOOK, self._give_overdue)

    async def _give_kept(self) -> None:
        """Give on what is due, unless the application is closing."""
        while self._kept_input and self.is_running and not self._is_following() and self._is_open():
            event, screen = self._kept_input.popleft()
            if isinstance(event, events.MouseEvent) and (screen is not self._front or not self._is_there(event)):
                continue
            await self._give(event)

    def _is_there(self, event: events.MouseEvent) -> bool:
        """Whether what the mouse is on is not being taken away: until the next layout it still has its place."""
        try:
            widget, _ = self.get_widget_at(int(event.x), int(event.y))
        except NoWidget:
            return True
        return widget.is_attached

    async def _give(self, event: events.Event) -> None:
        front, target = self._front, self.focused or self._front
        if isinstance(event, events.Key) and front is not None and target is not None:
            self._aimed_at[event] = ref(front)
            await super().on_event(event)
            self._looks = 0
            self._followed = event
            self._follow(event, [*target.ancestors_with_self])
        else:
            await super().on_event(event)
            if isinstance(event, events.MouseDown | events.MouseUp):
                await _turns()

    def _is_following(self) -> bool:
        """Whether a key is still on its way."""
        return self._looks is not None and self._looks < LOOKS_TO_FOLLOW

    def _follow(self, key: events.Key, way: Sequence[MessagePump]) -> None:
        """Go the way a key goes from the widget with the focus up to the application, behind it."""
        for place, node in enumerate(way):
            if node is self:
                break
            if node.call_later(self._follow, key, way[place + 1 :]):
                return
        self.call_later(self._arrive, key)

    async def _arrive(self, key: events.Key) -> None:
        await _turns()
        if key is self._followed:  # and not one before it, whose screen went without waiting for this
            self._looks = None
            await self._give_kept()


async def _turns() -> None:
    for _ in range(TURNS_OF_WIDGETS):
        await asyncio.sleep(0)
