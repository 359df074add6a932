"""Memory limits of this process: report too little address space (`ulimit -v`), and tune garbage collection.

Some native libraries end the process when memory is exhausted, or fail to import with a misleading error, so memory is
checked before they are imported.
"""

from __future__ import annotations

import errno
import gc
import os
from typing import Final


def address_space_limit() -> int | None:
    """Return the limit in bytes, or None if there is no limit or the platform has none."""
    try:
        import resource
    except ImportError:  # Windows, where the library is also used
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


MEMORY_NEEDED: Final = 192 << 20
"""Bytes of address space a command needs."""
SCREEN_MEMORY_NEEDED: Final = 1536 << 20
"""Bytes of address space the screen needs: it uses a tenth, and its threads' stacks reserve the rest."""
LITTLE_MEMORY: Final = 2 * MEMORY_NEEDED
"""Limit below which a failed library import is attributed to memory."""

OBJECTS_BETWEEN_COLLECTIONS: Final = 100_000


def too_little_memory(error: Exception | None = None) -> str:
    """Describe a limit that is too small, in one line; empty if there is none.

    Args:
        error: The failure; None before anything failed.
    """
    limit = address_space_limit()
    is_of_memory = isinstance(error, ImportError | SystemError) or (
        isinstance(error, OSError) and error.errno == errno.ENOMEM
    )
    if limit is None or limit >= (LITTLE_MEMORY if is_of_memory else MEMORY_NEEDED):
        return ""
    return _reported(limit, LITTLE_MEMORY if is_of_memory else MEMORY_NEEDED, "")


def too_little_memory_for_screen() -> str:
    """Describe a limit that is too small for the screen, in one line; empty if there is none."""
    limit = address_space_limit()
    if limit is None or limit >= SCREEN_MEMORY_NEEDED:
        return ""
    return f"{_reported(limit, SCREEN_MEMORY_NEEDED, ' for the screen')}; inspector report needs less"


def _reported(limit: int, enough: int, what: str) -> str:
    return (
        f"the memory limit of {limit >> 20} MB is too small{what}; at least {enough >> 20} MB are needed: "
        f"`ulimit -v {enough >> 10}`, or `ulimit -v unlimited`"
    )


def limit_blas_threads() -> None:
    """Limit numpy to one thread if memory is limited: each thread reserves memory."""
    if address_space_limit() is not None:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def tune_gc() -> None:
    """Raise the threshold of the garbage collector, in a process that belongs to this program.

    Nearly all objects of a session live as long as the session: Python's default collection after every 700 objects
    would take as long as a long replay itself.
    """
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
