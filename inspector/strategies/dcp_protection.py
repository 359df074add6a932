"""What opencode-dcp leaves alone, and when it looks at a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inspector.strategies.globs import matches_any
from inspector.strategies.history import NEVER
from inspector.strategies.signatures import files_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.session.model import Block, Session
    from inspector.strategies.history import History

DEFAULT_PROTECTED = (
    "task",
    "skill",
    "todowrite",
    "todoread",
    "compress",
    "batch",
    "plan_enter",
    "plan_exit",
    "write",
    "edit",
)
"""Tools that are left alone (`lib/config.ts`)."""

COMPRESS = "compress"
"""The tool with which the model compresses the conversation."""

WHEN = ("each-call", "on-compress")
WHEN_HELP = "When it acts: before each call, or only once the model has called the tool that compresses."


def is_protected(session: Session, call: Block, tools: tuple[str, ...], files: tuple[str, ...]) -> bool:
    """Whether a call's tool or one of the files it names is protected."""
    if matches_any(call.tool_name, tools):
        return True
    return bool(files) and any(matches_any(file, files) for file in files_of(session, call))


def batched(history: History, context: int, calls: NDArray[np.int32], when: str) -> NDArray[np.int32]:
    """The calls at which decisions that could be made at `calls` are made.

    Args:
        history: What was recorded.
        context: The context they are about.
        calls: Per decision, the first call it could be made at, `NEVER` for none.
        when: One of `WHEN`.
    """
    if when != "on-compress":
        return calls
    results = history.results
    is_compress = np.array([*(tool == COMPRESS for tool in history.tool_names), False], dtype=np.bool_)
    compressing = results[is_compress[history.tool[results]]]
    at = np.unique(history.enters[compressing])
    of_call = history.call_context[np.minimum(at, history.call_count)]
    at = at[(at != NEVER) & (of_call == context)]
    decided: NDArray[np.int32] = np.append(at, NEVER).astype(np.int32)[np.searchsorted(at, calls, side="left")]
    return decided
