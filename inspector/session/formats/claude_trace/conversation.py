"""Telling the conversations of a log apart: the main one, subagents', small calls beside them, and compactions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from inspector.session.formats.plain.conversation import Entry, PlainConversation, Thread
from inspector.session.model import BlockKind, Role
from inspector.session.values import string

if TYPE_CHECKING:
    from inspector.session.assembly import Assembly
    from inspector.session.formats.plain.shapes import Request

CONTINUED = "This session is being continued from a previous conversation"
"""How the message begins in which Claude Code sends its own summary."""

TITLE_CHARACTERS = 120

TELLING_CHARACTERS = 200
"""So much of an answer in the first message of another conversation is a summary, no coincidence."""


class TraceConversation(PlainConversation):
    """Takes the requests of a log in order and fills an assembly."""

    counts_entries = False

    def __init__(self, assembly: Assembly) -> None:
        """Begin."""
        super().__init__(assembly)
        self._has_main = False
        self._said: dict[int, str] = {}

    def _new_thread(self, request: Request | None = None) -> Thread:
        """The first conversation that is no small call beside one is the main one."""
        is_main = not self._has_main and request is not None and not _is_small(request)
        self._has_main |= is_main
        others = sum(thread.number != 0 for thread in self._threads)
        return self._thread_of(0 if is_main else others + 1)

    def _compacted(self, entries: list[Entry]) -> Thread | None:
        first = next((entry for entry in entries if entry.role is Role.USER), None)
        if first is None:
            return None
        texts = [made.text for made in first.blocks if made.block.kind is BlockKind.USER_TEXT]
        for thread in reversed(self._threads):
            said = self._said.get(thread.number, "")
            middle = said[len(said) // 4 :][:TELLING_CHARACTERS]
            if len(middle) == TELLING_CHARACTERS and any(middle in text for text in texts):
                return thread
        if any(text.lstrip().startswith(CONTINUED) for text in texts):
            return next((thread for thread in self._threads if thread.number == 0 and thread.digests), None)
        return None

    def _append(self, thread: Thread, entry: Entry, *, is_call: bool, is_repeated: bool = False) -> None:
        if entry.role is Role.ASSISTANT:
            self._said[thread.number] = "\n".join(
                made.text for made in entry.blocks if made.block.kind is BlockKind.ASSISTANT_TEXT
            )
        if thread.number == 0 and entry.role is Role.USER and not self._assembly.title:
            self._assembly.title = _asked(entry)
        index = len(self._assembly.messages)
        super()._append(thread, entry, is_call=is_call, is_repeated=is_repeated)
        compactions = self._assembly.compactions
        if (
            entry.role is Role.USER
            and compactions
            and not any(message.is_summary for message in self._assembly.messages[compactions[-1].message :])
        ):
            self._assembly.messages[index] = structs.replace(self._assembly.messages[index], is_summary=True)


def _asked(entry: Entry) -> str:
    """The beginning of what a person says, which stands behind what programs add in tags."""
    texts = (made.text for made in entry.blocks if made.block.kind is BlockKind.USER_TEXT)
    return next((text[:TITLE_CHARACTERS] for text in texts if not text.lstrip().startswith("<")), "")


def _is_small(request: Request) -> bool:
    """Whether a request is one of those that programs make beside a conversation: for a title, to ask for a quota."""
    tools = request.tools.value() if request.tools is not None else None
    return not tools and ("haiku" in string(request.about.get("model")) or request.about.get("max_tokens") == 1)
