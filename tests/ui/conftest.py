"""Fixtures for tests that run the application."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.message import Message
from textual.pilot import Pilot

from inspector.tokens.counter import Counter, load_counter
from inspector.ui.app import InspectorApp
from inspector.ui.main.screen import InspectScreen
from inspector.ui.settings import Settings
from tests.ui.recordings import Recording, recording

PATIENCE = 400
"""Looks, a fiftieth of a second apart, before something is taken never to happen."""


class Running:
    """An application under test, and what its workers said."""

    def __init__(self, app: InspectorApp, pilot: Pilot[None], messages: list[Message]) -> None:
        self.app = app
        self.pilot = pilot
        self.messages = messages

    @property
    def screen(self) -> InspectScreen:
        """The main screen, whatever is shown over it."""
        return next(screen for screen in self.app.screen_stack if isinstance(screen, InspectScreen))

    async def until(self, fact: Callable[[], Any]) -> None:
        """Wait until something is true."""
        for _ in range(PATIENCE):
            if fact():
                return
            await self.pilot.pause(0.02)
        raise AssertionError("it never became true")

    async def press(self, *keys: str) -> None:
        """Press keys and let everything they start come to an end."""
        await self.pilot.press(*keys)
        await self.settled()

    async def settled(self) -> None:
        """Wait until the newest plan has been replayed and shown."""
        await self.pilot.pause()
        screen = self.screen
        await self.until(lambda: screen.outcome is not None and screen.outcome.plan == screen.plan)
        await self.pilot.pause()

    def seen(self, kind: type[Message]) -> list[Any]:
        """Messages of a kind, in order."""
        return [message for message in self.messages if isinstance(message, kind)]

    def text(self) -> str:
        """What the screen shows."""
        _, height = self.app.size
        strips = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text for strip in strips[:height])


@pytest.fixture(scope="session")
def counter() -> Counter:
    """One tokenizer for all tests: building it takes longer than most of them."""
    return load_counter()


@pytest.fixture(autouse=True)
def tokenizer_at_hand(counter: Counter, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the application the tokenizer that is already built."""
    monkeypatch.setattr("inspector.tokens.counter.load_counter", lambda: counter)


@pytest.fixture
def session_file(tmp_path: Path) -> Recording:
    """A small session as an agent writes it."""
    folder = tmp_path / "sessions"
    folder.mkdir()
    return recording(folder / "session.jsonl")


@pytest.fixture
def running() -> Callable[..., Any]:
    """Runs the application on a file, and waits until the first replay is shown."""

    @asynccontextmanager
    async def run(
        path: Path, *, size: tuple[int, int] = (120, 36), ready: bool = True, **options: Any
    ) -> AsyncIterator[Running]:
        messages: list[Message] = []
        app = InspectorApp(path, settings=options.pop("settings", Settings()), **options)
        async with app.run_test(size=size, message_hook=messages.append, notifications=True) as pilot:
            run = Running(app, pilot, messages)
            await run.until(lambda: any(isinstance(screen, InspectScreen) for screen in app.screen_stack))
            if ready:
                await run.settled()
                await run.until(lambda: not run.screen.is_counting)
                await run.settled()
            yield run

    return run
