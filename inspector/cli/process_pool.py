"""Processes that work on many sessions at once."""

from __future__ import annotations

import signal
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING

from inspector.cli.output import ProgressLine

if TYPE_CHECKING:
    from argparse import Namespace
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class SessionTask:
    """One session, as a process is asked for it.

    Attributes:
        path: What opens it.
        options: What was asked for, prices among it.
        elsewhere: Keys of calls that another session is counted with.
    """

    path: Path
    options: Namespace
    elsewhere: frozenset[bytes] = frozenset()


def process_pool(workers: int) -> ProcessPoolExecutor:
    """A pool of processes that leave ctrl-c and progress to the one that waits for them, and end with it."""
    # Started anew, not forked: the tokenizer and numpy hold threads, which a fork would leave behind half-way.
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_work_for_another)


def _work_for_another() -> None:
    ProgressLine.is_shown = False
    signal.signal(signal.SIGINT, signal.SIG_IGN)
