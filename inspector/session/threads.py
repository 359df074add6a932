"""One conversation while it is put together: messages, the calls that answered them, and the contexts they are in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from inspector.session.model import Call, Compaction, ContextCause

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inspector.session.assembly import Assembly, OpenContext
    from inspector.session.model import Message, Usage


class Thread:
    """The main conversation of a session, or an inline subagent's.

    Attributes:
        number: As in `Message.thread`.
        context: The context that grows; None before the first.
    """

    def __init__(self, assembly: Assembly, number: int = 0) -> None:
        """Begin.

        Args:
            assembly: What to fill.
            number: As in `Message.thread`.
        """
        self._assembly = assembly
        self.number = number
        self.context: OpenContext | None = None

    @property
    def members(self) -> list[int]:
        """The messages of the context that grows."""
        return self.context.members if self.context is not None else []

    def add(self, message: Message, *, is_sent: bool = True) -> int:
        """Add a message; its index.

        Args:
            message: The message.
            is_sent: Whether it is part of later prompts.
        """
        index = self._assembly.add_message(message)
        if is_sent:
            self._open().members.append(index)
        return index

    def respond(
        self,
        message: Message,
        *,
        model: str = "",
        usage: Usage | None = None,
        identifier: str = "",
        is_sent: bool = True,
    ) -> int:
        """Add a model's response, and the call that it answers; the message's index.

        Args:
            message: The response.
            model: The model's name.
            usage: What the provider reported for the call.
            identifier: Request or response id.
            is_sent: Whether the response is part of later prompts.
        """
        context = self._open()
        prompt_messages = len(context.members)
        index = self.add(message, is_sent=is_sent)
        self._assembly.calls.append(
            Call(index, context.index, prompt_messages, model, message.time, usage, identifier or message.identifier)
        )
        return index

    def begin(self, cause: ContextCause, members: Iterable[int] = (), carried: int | None = None) -> OpenContext:
        """Begin a new context.

        Args:
            cause: Why.
            members: The messages it begins with.
            carried: How many of them were kept; all where not given.
        """
        self.context = self._assembly.add_context(self.number, cause)
        self.context.members.extend(members)
        self.context.carried = len(self.context.members) if carried is None else carried
        return self.context

    def compact(
        self, compaction: Compaction, summary: Message | None, kept: Iterable[int] = (), before: Iterable[int] = ()
    ) -> int:
        """Begin the context that a compaction leaves; index of the first message after it.

        Args:
            compaction: What is known of it; its message is filled in here.
            summary: The message that stands for what was compacted.
            kept: Messages sent behind the summary.
            before: Messages sent before it, which a compaction does not touch: system text.
        """
        before, kept = list(before), list(kept)
        first = len(self._assembly.messages)
        # What belongs to no context is shown, but a summary always belongs to the one it begins.
        own = [self._assembly.add_message(summary)] if summary is not None else []
        members = [*before, *own, *kept]
        self.begin(ContextCause.COMPACTION, members, len(members) if kept else len(before))
        self._assembly.compactions.append(structs.replace(compaction, message=first))
        return first

    def _open(self) -> OpenContext:
        if self.context is None:
            self.context = self._assembly.add_context(self.number, ContextCause.START)
        return self.context
