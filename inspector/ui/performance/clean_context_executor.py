"""Worker threads that release a session once it is closed."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class CleanContextExecutor(ThreadPoolExecutor):
    """A thread pool in which idle threads hold no references to finished work.

    Textual stores the active worker in the thread's context. The context of an idle thread would hold its last worker
    with its screen and thereby all data of a closed session.
    """

    def submit(
        self, fn: Callable[Parameters, Result], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Future[Result]:
        """Run a function in a thread, in a new context."""
        return super().submit(Context().run, partial(fn, *args, **kwargs))
