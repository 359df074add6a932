"""Threads that let go of a session once it is closed."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class ForgettingExecutor(ThreadPoolExecutor):
    """Threads that keep nothing of what they have done.

    Textual notes the worker at work in the context of the thread. That of an idle thread would hold the last worker it
    ran, with its screen, and all that is known of a session closed since.
    """

    def submit(
        self, fn: Callable[Parameters, Result], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Future[Result]:
        """Call a function in a thread, in a context of its own."""
        return super().submit(Context().run, partial(fn, *args, **kwargs))
