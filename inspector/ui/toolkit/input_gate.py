"""Ordering and coalescing of input that arrives faster than screens open: a key waits for the keys before it.

While dragging, only the newest mouse move per frame is processed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet, ref

from textual import events
from textual.app import App
from textual.errors import NoWidget
from textual.widget import Widget

from inspector.ui.performance.painting import FRAME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.message_pump import MessagePump
    from textual.screen import Screen
    from textual.timer import Timer


MOST_KEPT = 1_000
"""Maximum number of waiting keys; further ones are dropped."""

TURNS_OF_WIDGETS = 8
"""Event loop turns in which widgets pass on the effects of a key or click, such as opening a dialog."""

SECONDS_OF_A_LOOK = 0.25
LOOKS_TO_FOLLOW = 4
"""Number of polls after which the next key is delivered: the widget with the previous key is busy or gone.

Polls are counted instead of seconds, because a process without CPU time has had no chance to react.
"""


class QueuedInput(NamedTuple):
    """Waiting input.

    Attributes:
        event: The event.
        screen: Screen on top when it arrived.
    """

    event: events.Event
    screen: Screen[Any] | None


class GatedApp(App[None]):
    """An app that delivers input to the screen it was meant for.

    A key waits until the keys before it are handled and until any screen they open has its widgets and its focus. A
    click is meant for the screen visible at its arrival: while a screen is opening or closing, it is dropped.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._queued_input: deque[QueuedInput] = deque()
        self._open_screens: WeakSet[Screen[Any]] = WeakSet()
        self._opening_screens: WeakSet[Screen[Any]] = WeakSet()
        # Weak references: the last key is stored until the next one, and its screen may be gone by then.
        self._aimed_at: WeakKeyDictionary[events.Key, ref[Screen[Any]]] = WeakKeyDictionary()
        self._followed: events.Key | None = None
        self._polls: int | None = None
        self._is_mouse_dropped = False
        self._look_again: Timer | None = None

    def on_mount(self) -> None:
        """Check the waiting input whenever the screen on top changes."""
        self.screen_change_signal.subscribe(self, self._screen_changed, immediate=True)
        self.call_later(self._deliver_due)

    def _screen_changed(self, _: object) -> None:
        self._polls = None
        self.call_later(self._deliver_due)

    async def on_event(self, event: events.Event) -> None:
        """Queue input that is not due yet; drop input meant for a screen no longer on top."""
        if isinstance(event, events.InputEvent | events.Paste) and not event.is_forwarded:
            if isinstance(event, events.MouseEvent) and self._drops_mouse(event):
                return
            if len(self._queued_input) < MOST_KEPT:
                self._queued_input.append(QueuedInput(event, self._front))
            await self._deliver_due()
            if self._queued_input and self._look_again is None:
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
        """Return True while a screen is opening or closing; from a press on, until the button is released."""
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
        """Return True if the screen on top has widgets and focus; otherwise deliver queued input once it does."""
        front = self._front
        if front is None:
            return False
        if front not in self._open_screens:
            if front not in self._opening_screens:
                self._opening_screens.add(front)
                # A screen handles its first message once all its widgets are mounted; the focus changes it requests
                # then are made by this app, in order.
                front.call_later(self.call_later, self._open, front)
            return False
        return True

    async def _open(self, screen: Screen[Any]) -> None:
        self._open_screens.add(screen)
        await self._deliver_due()

    async def _give_overdue(self) -> None:
        """Deliver waiting input even if no notification arrived."""
        self._look_again = None
        if self._polls is not None:
            self._polls += 1
        await self._deliver_due()
        if self._queued_input:
            self._look_again = self.set_timer(SECONDS_OF_A_LOOK, self._give_overdue)

    async def _deliver_due(self) -> None:
        """Deliver all input that is due, unless the app is exiting."""
        while self._queued_input and self.is_running and not self._is_following() and self._is_open():
            event, screen = self._queued_input.popleft()
            if isinstance(event, events.MouseEvent) and (screen is not self._front or not self._is_there(event)):
                continue
            await self._give(event)

    def _is_there(self, event: events.MouseEvent) -> bool:
        """Return False if the widget under the mouse is being removed; it stays in place until the next layout."""
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
            self._polls = 0
            self._followed = event
            self._follow(event, [*target.ancestors_with_self])
        else:
            await super().on_event(event)
            if isinstance(event, events.MouseDown | events.MouseUp):
                await _turns()

    def _is_following(self) -> bool:
        """Return True while a key is being handled."""
        return self._polls is not None and self._polls < LOOKS_TO_FOLLOW

    def _follow(self, key: events.Key, way: Sequence[MessagePump]) -> None:
        """Follow a key from the focused widget up to the app, behind it in each message queue."""
        for place, node in enumerate(way):
            if node is self:
                break
            if node.call_later(self._follow, key, way[place + 1 :]):
                return
        self.call_later(self._arrive, key)

    async def _arrive(self, key: events.Key) -> None:
        await _turns()
        if key is self._followed:  # not an earlier key, when a closed screen did not wait for this one
            self._polls = None
            await self._deliver_due()


async def _turns() -> None:
    for _ in range(TURNS_OF_WIDGETS):
        await asyncio.sleep(0)


BETWEEN_MOVES = FRAME
"""Minimum seconds between two processed moves: more than one per frame would only add delay."""

TURNS_OF_INPUT = 3
"""Event loop turns in which input that was read reaches the app."""

TURNS_OF_MESSAGES = 40
"""Event loop turns in which a widget's messages about a move reach their handlers."""


class DraggingApp(App[None]):
    """An app that processes one mouse move per frame while a widget captures the mouse.

    Terminals report every cell that the mouse passes, up to a thousand per second: processing each one would leave no
    time to paint.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._newest_move: events.MouseMove | None = None
        self._move_timer: Timer | None = None
        self._moved = 0.0

    async def on_event(self, event: events.Event) -> None:
        """Hold back a move soon after the previous one; any other event is processed after it."""
        if isinstance(event, events.InputEvent) and not event.is_forwarded:
            if isinstance(event, events.MouseMove) and self.mouse_captured is not None:
                wait = self._moved + BETWEEN_MOVES - monotonic()
                if wait > 0:
                    self._newest_move = event
                    if self._move_timer is None:
                        self._move_timer = self.set_timer(wait, self.take_newest_move)
                    return
                self._newest_move = None
                self._moved = monotonic()
            else:
                await self.take_newest_move()
        await super().on_event(event)

    async def take_newest_move(self) -> None:
        if self._move_timer is not None:
            self._move_timer.stop()
            self._move_timer = None
        move, self._newest_move = self._newest_move, None
        if move is not None:
            self._moved = monotonic()
            await super().on_event(move)

    async def follow_at_once(self) -> None:
        """Process the held move now, or the next one on arrival, because the previous move has been handled."""
        if self._newest_move is None:
            self._moved = 0.0
        await self.take_newest_move()


async def take_newest_move(widget: Widget) -> None:
    """Process the newest move of the widget's app and wait until it has been handled.

    A move becomes a message of the capturing widget, which its ancestors handle in turn; without waiting, the caller
    would use the previous position.
    """
    app = widget.app
    if not isinstance(app, DraggingApp):
        return
    for _ in range(TURNS_OF_INPUT):
        await asyncio.sleep(0)
    await app.follow_at_once()
    holder = app.mouse_captured
    if holder is None:
        return
    # The screen may be waiting here itself and handles no messages until then.
    on_the_way = [node for node in holder.ancestors_with_self if isinstance(node, Widget) and node is not holder.screen]
    for _ in range(TURNS_OF_MESSAGES):
        await asyncio.sleep(0)
        if not any(node.message_queue_size for node in on_the_way):
            break
