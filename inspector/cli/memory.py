"""What a process does about memory: too little address space (`ulimit -v`) is told, garbage is looked for seldom.

The libraries it stands on are in part written in languages that end the process where they get no memory, or say that
they could not be imported; so what they need is asked for before they are.
"""

from __future__ import annotations

import errno
import gc
import os
from typing import Final

from inspector.tokens.address_space import address_space_limit

MEMORY_NEEDED: Final = 192 << 20
"""Bytes in which a command can work."""
SCREEN_MEMORY_NEEDED: Final = 1536 << 20
"""Bytes in which the screen can work: it takes a tenth of that, and reserves the rest for its threads' stacks."""
LITTLE_MEMORY: Final = 2 * MEMORY_NEEDED
"""Bytes below which a library that cannot be imported had too little."""

OBJECTS_BETWEEN_COLLECTIONS: Final = 100_000


def too_little_memory(error: Exception | None = None) -> str:
    """What to tell of a limit that is too small, in a line; empty where there is none.

    Args:
        error: What something failed with; None before anything did.
    """
    limit = address_space_limit()
    is_of_memory = isinstance(error, ImportError | SystemError) or (
        isinstance(error, OSError) and error.errno == errno.ENOMEM
    )
    if limit is None or limit >= (LITTLE_MEMORY if is_of_memory else MEMORY_NEEDED):
        return ""
    return _told(limit, LITTLE_MEMORY if is_of_memory else MEMORY_NEEDED, "")


def too_little_memory_for_screen() -> str:
    """What to tell of a limit that is too small for the screen, in a line; empty where there is none."""
    limit = address_space_limit()
    if limit is None or limit >= SCREEN_MEMORY_NEEDED:
        return ""
    return f"{_told(limit, SCREEN_MEMORY_NEEDED, ' for the screen')}; inspector report takes less"


def _told(limit: int, enough: int, what: str) -> str:
    return (
        f"the limit of {limit >> 20} MB on memory is too small{what}; at least {enough >> 20} MB are needed: "
        f"`ulimit -v {enough >> 10}`, or `ulimit -v unlimited`"
    )


def make_do() -> None:
    """Where memory is limited, have numpy's arithmetic reserve it for one thread instead of one a core."""
    if address_space_limit() is not None:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def collect_seldom() -> None:
    """Look for garbage after many objects, in a process that is this program's own.

    Nearly all that is made of a session stays until the session goes: looking through it after every 700 objects, as
    Python does, takes as long as a long replay itself.
    """
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
