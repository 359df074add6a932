"""Notices in the corner, where the program was held up just before one is shown."""

from __future__ import annotations

from time import time
from typing import TYPE_CHECKING

from textual import notifications
from textual.widgets._toast import Toast

from inspector.ui.toolkit.status_bar import CornerNotice

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.ui.recordings import Recording

HELD_UP = 60.0


async def test_a_notice_goes_whose_time_was_over_before_it_stood_on_the_screen(
    running, session_file: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, late, made = Toast.__init__, [0.0], []
    monkeypatch.setattr(notifications, "time", lambda: time() + late[0])

    def make_late(toast: Toast, notification: notifications.Notification) -> None:
        late[0] = HELD_UP
        # A timer below zero never ends, and then this test would not either.
        assert notification.time_left > 0
        make(toast, notification)
        made.append(toast)

    monkeypatch.setattr(Toast, "__init__", make_late)
    async with running(session_file.path) as run:
        await run.tap("w", "p")
        await run.until_shown("Save a picture")
        run.line = str(tmp_path / "picture.svg")
        await run.tap("enter")
        await run.until(lambda: made)
        await run.until(lambda: not made[0].is_attached)


def test_a_notice_is_over_when_its_time_is_however_much_is_left_to_show_it() -> None:
    old, new = (CornerNotice("saved", timeout=5, raised_at=time() - seconds) for seconds in (6, 0))
    assert old.has_expired
    assert 0 < old.time_left < 1
    assert not new.has_expired
    assert 4 < new.time_left <= 5
