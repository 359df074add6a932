"""What tests of followed sessions share."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from inspector.session.assembly import LOOKED_AT_AGAIN

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.model import Message

LONG_AGO = 1_700_000_000


def settle(path: Path) -> None:
    """Make the file look as if nothing had been written for a while."""
    os.utime(path, (LONG_AGO, LONG_AGO + path.stat().st_size / 1000))


def unchanged(messages: tuple[Message, ...], before: tuple[Message, ...]) -> int:
    """Where someone finds the first change who compares from the end and stops at a run of equal messages."""
    equal = 0
    for index in range(min(len(messages), len(before)) - 1, -1, -1):
        equal = equal + 1 if messages[index] is before[index] else 0
        if equal > LOOKED_AT_AGAIN:
            return index + equal
    return equal
