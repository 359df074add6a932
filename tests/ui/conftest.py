"""Fixtures for tests that run the application."""

import gc
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from inspector.tokens.counter import Counter, load_counter
from inspector.tokens.tokenizer import TokenizerCounter
from inspector.ui.toolkit.failures import failures_log
from tests.ui import waiting
from tests.ui.facade import note_screens, started
from tests.ui.recordings import Recording, recording
from tests.ui.stylesheets import read_once


@pytest.fixture(scope="session")
def counter() -> Iterator[Counter]:
    """One tokenizer for all tests, which encodes each text once: building it takes longer than most of them."""
    with mock.patch.object(TokenizerCounter, "encode", cache(TokenizerCounter.encode)):
        yield load_counter()


@pytest.fixture(autouse=True)
def tokenizer_at_hand(counter: Counter, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the application the tokenizer that is already built."""
    monkeypatch.setattr("inspector.tokens.counter.load_counter", lambda: counter)


@pytest.fixture(autouse=True)
def idle_when_nothing_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting.use_in_textual(monkeypatch)


@pytest.fixture(autouse=True)
def style_sheets_read_once() -> Iterator[None]:
    """Read each style sheet once for all tests of a process, with the same colours."""
    with read_once():
        yield


@pytest.fixture(autouse=True)
def few_frames(request: pytest.FixtureRequest) -> Iterator[None]:
    """Paint seldom, but in tests of painting."""
    with nullcontext() if request.node.get_closest_marker("paints") else waiting.few_frames():
        yield


@pytest.fixture(autouse=True)
def nothing_failed(request: pytest.FixtureRequest, private_home: Path) -> Iterator[None]:
    """Fail where a part of the screen did: an application goes on without it."""
    yield
    if request.node.get_closest_marker("failures") is None:
        log = failures_log()
        assert not log.exists(), log.read_text()


@pytest.fixture
def screens_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Know which screens of sessions are still in memory, and collect no garbage but what comes from here on."""
    note_screens(monkeypatch)
    gc.freeze()


@pytest.fixture
def unweighed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspector.ui.tune.sweeps.limit_spreads", lambda *_: iter(()))


@pytest.fixture
def session_file(tmp_path: Path) -> Recording:
    """A small session as an agent writes it."""
    folder = tmp_path / "sessions"
    folder.mkdir()
    return recording(folder / "session.jsonl")


@pytest.fixture
def running() -> Callable[..., Any]:
    """Runs the application on a file, and waits until the first replay is shown: `tests.ui.facade.started`."""
    return started
