"""Process restrictions: file permissions that also bind root, and refused file events.

Tests often run as root, who may read and write everything. On Linux the capabilities of root can be dropped one by one:
the user stays the same, and may run the same programs.
"""

import ctypes
import errno
import os
import platform
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import pytest

IS_ADMINISTRATOR: Final = os.geteuid() == 0
NOBODY: Final = 65_534

DAC_OVERRIDE, DAC_READ_SEARCH = 1, 2
PR_CAPBSET_DROP: Final = 24
VERSION: Final = 0x20080522
EFFECTIVE: Final = 0

INOTIFY_CALLS: Final = {"x86_64": (253, 294), "aarch64": (26,)}
"""Numbers of the system calls that make an instance of inotify."""
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, MODE_FILTER = 22, 38, 2
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOWED, FAILED = 0x7FFF0000, 0x00050000

Header = ctypes.c_uint32 * 2
Sets = ctypes.c_uint32 * 6


def without_privileges() -> Callable[[], None] | None:
    if not IS_ADMINISTRATOR:
        return None
    libc = _libc()

    def drop() -> None:
        for capability in (DAC_OVERRIDE, DAC_READ_SEARCH):
            if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
                raise OSError(ctypes.get_errno(), "capabilities cannot be dropped")

    return drop


class Filter(ctypes.Structure):
    """A program of such instructions."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def without_inotify() -> Callable[[], None]:
    libc, calls = _libc(), INOTIFY_CALLS.get(platform.machine())
    if calls is None:
        pytest.skip(f"the numbers of system calls on {platform.machine()} are not known here")
    steps = [(LOAD, 0, 0, 0)]
    steps += [(JUMP_IF_EQUAL, len(calls) - place, 0, number) for place, number in enumerate(calls)]
    steps += [(RETURN, 0, 0, ALLOWED), (RETURN, 0, 0, FAILED | errno.EMFILE)]
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    instructions = ctypes.create_string_buffer(code, len(code))

    def refuse() -> None:
        program = Filter(len(steps), ctypes.addressof(instructions))
        if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
            PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(program), 0, 0
        ):
            raise OSError(ctypes.get_errno(), "system calls cannot be refused")

    try:
        subprocess.run(["true"], preexec_fn=refuse, check=True)
    except subprocess.SubprocessError:
        pytest.skip("the system lets no process be refused a system call")
    return refuse


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
