"""File permissions that hold for the administrator too, as whom tests often run, and who may read and write everything.

On Linux what makes an administrator of somebody can be laid down piece by piece: the user stays the same, and may run
the same programs.
"""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

IS_ADMINISTRATOR: Final = os.geteuid() == 0
NOBODY: Final = 65_534

DAC_OVERRIDE, DAC_READ_SEARCH = 1, 2
"""What reads and writes whatever the permissions are, as the kernel numbers capabilities."""
PR_CAPBSET_DROP: Final = 24
VERSION: Final = 0x20080522
EFFECTIVE: Final = 0

Header = ctypes.c_uint32 * 2
Sets = ctypes.c_uint32 * 6


def without_privileges() -> Callable[[], None] | None:
    """What a child process does before it begins, so that permissions hold for it; None where nothing has to be done.

    Skips the test where that cannot be had.
    """
    if not IS_ADMINISTRATOR:
        return None
    libc = _libc()

    def drop() -> None:
        for capability in (DAC_OVERRIDE, DAC_READ_SEARCH):
            if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
                raise OSError(ctypes.get_errno(), "capabilities cannot be dropped")

    return drop


@contextmanager
def permissions_hold() -> Iterator[None]:
    """Let permissions hold for this thread; skips the test where that cannot be had."""
    if not IS_ADMINISTRATOR:
        yield
        return
    libc, header, sets = _libc(), Header(VERSION, 0), Sets()
    if libc.capget(header, sets):
        pytest.skip("the system does not tell what makes an administrator")
    before = sets[EFFECTIVE]
    sets[EFFECTIVE] = before & ~(1 << DAC_OVERRIDE | 1 << DAC_READ_SEARCH)
    if libc.capset(header, sets):
        pytest.skip("the system lets nobody lay down what makes an administrator")
    try:
        yield
    finally:
        sets[EFFECTIVE] = before
        libc.capset(header, sets)


def _libc() -> ctypes.CDLL:
    if sys.platform != "linux":
        pytest.skip("the administrator may read and write everything here")
    return ctypes.CDLL(None, use_errno=True)
