"""Putting the events of OpenHands' version 0 together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from inspector.session.assembly import Assembly
from inspector.session.decoding import lenient_json
from inspector.session.formats.chat import ChatThread, Spoken, all_blocks
from inspector.session.formats.openhands.accumulated import Accumulated
from inspector.session.formats.openhands.condensing import Events
from inspector.session.formats.openhands.events_0 import call_id, response_of, spoken_in
from inspector.session.model import Role
from inspector.session.values import count, mapping, sequence, string

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.session.blocks import TextBlock
    from inspector.session.model import Origin


def blocks_again_0(record: bytes, origin: Origin, /) -> list[TextBlock]:
    """The blocks of an event that is read again."""
    # Whether a message was the first says who spoke, and only a person's has images.
    said = spoken_in(mapping(lenient_json(record)[0]), is_first=True)
    return all_blocks([said], origin) if said is not None else []


class Conversation0:
    """Takes events in order and fills an assembly.

    Attributes:
        assembly: What is filled.
    """

    def __init__(self, assembly: Assembly | None = None) -> None:
        """Begin.

        Args:
            assembly: What to fill; a new one where not given.
        """
        self.assembly = assembly if assembly is not None else Assembly()
        self.assembly.agent = "OpenHands"
        self._chat = ChatThread(self.assembly)
        self._events = Events()
        self._sums = Accumulated()
        self._open: dict[str, int] = {}
        self._count = 0
        self._last_call = ""

    def tell(self, about: Any) -> None:
        """Take up what stands beside the events."""
        self.assembly.title = string(mapping(about).get("title")) or self.assembly.title

    def add(self, event: dict[str, Any], origin: Origin) -> None:
        """Take an event."""
        self._count += 1
        observation = event.get("observation")
        name = f"observation:{observation}" if isinstance(observation, str) else f"action:{event.get('action')}"
        self.assembly.record_counts[name] += 1
        said = spoken_in(event, is_first=not self.assembly.messages)
        if event.get("action") == "condensation":
            self._condense(event, said, origin)
        elif said is not None and said.is_call:
            self._respond(event, said, origin)
        elif said is not None:
            if said.role is Role.TOOL and not said.value.get("tool_call_id"):
                said = replace(said, value={**said.value, "tool_call_id": self._last_call})
            for index in self._chat.add([said], origin):
                self._events.note(index, str(event.get("id")), self.assembly.messages[index].blocks)

    def _respond(self, event: Mapping[str, Any], said: Spoken, origin: Origin) -> None:
        """Add an answer; several actions of one response are one answer. Early versions give no ids: order tells."""
        if said.value.get("tool_calls") and not call_id(event):
            self._last_call = f"event-{self._count}"
            (call,) = said.value["tool_calls"]
            said = replace(said, value={**said.value, "tool_calls": [{**call, "id": self._last_call}]})
        elif said.value.get("tool_calls"):
            self._last_call = call_id(event)
        usage = self._sums.added(mapping(event.get("llm_metrics")).get("accumulated_token_usage"))
        if said.usage is None:
            said = replace(said, usage=usage)
        response = string(response_of(event).get("id"))
        if response and response in self._open:
            (message,) = self._chat.messages([replace(said, value={**said.value, "reasoning_content": None})], origin)
            self.assembly.add_blocks(self._open[response], list(message.blocks))
            self._events.note(self._open[response], str(event.get("id")), message.blocks)
            return
        (index,) = self._chat.add([said], origin)
        self._open = {response: index} if response else {}
        self._events.note(index, str(event.get("id")), self.assembly.messages[index].blocks)

    def _condense(self, event: Mapping[str, Any], said: Spoken | None, origin: Origin) -> None:
        args = mapping(event.get("args"))
        first, last = args.get("forgotten_events_start_id"), args.get("forgotten_events_end_id")
        forgotten = [str(one) for one in sequence(args.get("forgotten_event_ids"))]
        if not forgotten and isinstance(first, int) and isinstance(last, int):
            known = range(first, min(last, first + (1 << 20)) + 1)
            forgotten = [str(one) for one in known]
        summary = self._chat.messages([said], origin)[0] if said is not None else None
        time = said.time if said is not None else None
        self._events.condense(self._chat, summary, forgotten, count(args.get("summary_offset")), time)
