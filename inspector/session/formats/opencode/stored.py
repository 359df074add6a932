"""A stored message with its parts, and the messages of a session that are made of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from inspector.session.formats.opencode.views import COMPACTION, STEP_START, MessageView, PartView
from inspector.session.model import Message, Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.session.model import Block, Usage


class Step(NamedTuple):
    """One call's response and the results that came back; either message may hold nothing."""

    response: Message
    results: Message
    usage: Usage | None


@dataclass(frozen=True, eq=False)
class Stored:
    """A message with its parts, in order.

    What is made of them is made once, however often the session is put together anew.
    """

    message: MessageView
    parts: Sequence[PartView]

    @cached_property
    def spoken(self) -> Message:
        """What was said, for a message that is no response."""
        blocks = [block for part in self.parts for block in part.spoken]
        is_typed = any(part.spoken and not part.is_synthetic and part.kind != COMPACTION for part in self.parts)
        return _message(self.message, self.message.role, blocks, is_meta=not is_typed)

    @cached_property
    def notice(self) -> Message:
        """What went wrong."""
        return _message(self.message, Role.OTHER, self.message.notice)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """A response's steps, each one call.

        A message says of its usage what its last step does, and alone says it where steps do not.
        """
        message, parts = self.message, self.parts
        starts = [place for place, part in enumerate(parts) if part.kind == STEP_START]
        # What stands before the first step belongs to it.
        bounds = [0, *starts[1:], len(parts)]
        is_reported = any(part.usage is not None for part in parts)
        steps = []
        for start, end in pairwise(bounds):
            step = parts[start:end]
            usage = next((part.usage for part in step if part.usage is not None), None)
            if end == len(parts) and not is_reported:
                usage = message.usage
            spoken = [block for part in step for block in part.spoken]
            results = [block for part in step for block in part.results]
            response = _message(message, Role.ASSISTANT, spoken, is_summary=message.is_summary)
            steps.append(Step(response, _message(message, Role.TOOL, results), usage))
        return tuple(steps)


def _message(
    message: MessageView, role: Role, blocks: Sequence[Block], *, is_meta: bool = False, is_summary: bool = False
) -> Message:
    return Message(
        role=role,
        blocks=tuple(blocks),
        time=message.created,
        identifier=message.identifier,
        is_meta=is_meta,
        is_summary=is_summary,
    )
