"""A session's replays in a thread of their own: nothing shared that is written to, and given up when asked."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from inspector.errors import InspectorError
from inspector.replay.engine.renderer import Renderer

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.replay.engine.inputs import ReplayInputs


class ReplayCancelledError(InspectorError):
    """A replay was given up because nobody waits for it any more."""

    advice = "ask for the replay again"


def isolated(inputs: ReplayInputs, cancelled: Callable[[], bool] | None = None) -> ReplayInputs:
    """The same session with a memory of its own for what is worked out of its blocks.

    For a thread of its own, and so that hundreds of values nobody looks at again are not remembered.

    Args:
        inputs: The session.
        cancelled: Asked again and again; once it is true, replays under way end with `ReplayCancelledError`. Some
            strategies take a minute on a hundred thousand messages, and a program should end at once.
    """
    renderer = inputs.renderer
    own = Renderer(inputs.history, inputs.table, renderer.precise)
    if cancelled is not None:
        own = _StoppableRenderer(inputs.history, inputs.table, renderer.precise, cancelled=cancelled)
    return replace(inputs, renderer=own)


@dataclass
class _StoppableRenderer(Renderer):
    """Every replay asks its renderer all the time, so that is where it can be stopped."""

    cancelled: Callable[[], bool] = field(kw_only=True)

    def go_on(self) -> None:
        if self.cancelled():
            raise ReplayCancelledError
