"""Leaving the cyclic garbage collector out of work that makes many things which all stay.

A walk over a hundred thousand calls makes hundreds of thousands of containers that are in no cycle and live until it
is done. The collector looks through all of them, and through the whole session, again and again to find nothing: a
third of the time at a hundred thousand messages, and more the longer a session is.
"""

from __future__ import annotations

import gc
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOCK = threading.Lock()
_paused = 0
_was_enabled = False


@contextmanager
def collector_paused() -> Iterator[None]:
    """Let no collection begin until the block is left, in whatever thread; then all is as it was."""
    global _paused, _was_enabled  # noqa: PLW0603  the collector is one for the whole process
    with _LOCK:
        if not _paused:
            _was_enabled = gc.isenabled()
            gc.disable()
        _paused += 1
    try:
        yield
    finally:
        with _LOCK:
            _paused -= 1
            if not _paused and _was_enabled:
                gc.enable()
