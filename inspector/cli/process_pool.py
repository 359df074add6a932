"""Processes that work on many sessions at once."""

from __future__ import annotations

import signal
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context


def process_pool(workers: int) -> ProcessPoolExecutor:
    """A pool of processes that leave ctrl-c to the one that waits for them, and end with it."""
    # Started anew, not forked: the tokenizer and numpy hold threads, which a fork would leave behind half-way.
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_leave_interrupts)


def _leave_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
