"""Putting the events of OpenHands' current versions together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import structs

from inspector.session.assembly import Assembly
from inspector.session.decoding import lenient_json
from inspector.session.formats.chat import ChatThread, Spoken, all_blocks
from inspector.session.formats.openhands.accumulated import Accumulated, usage_of_tokens
from inspector.session.formats.openhands.condensing import Events
from inspector.session.formats.openhands.events import spoken_in
from inspector.session.values import count, mapping, objects, sequence, string

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from inspector.session.blocks import TextBlock
    from inspector.session.model import Origin, Usage

CONDENSER = "condenser"
"""The usage of the model that writes summaries: no call of the conversation."""


def blocks_again(record: bytes, origin: Origin, /) -> list[TextBlock]:
    """The blocks of an event that is read again."""
    said = spoken_in(mapping(lenient_json(record)[0]))
    return all_blocks([said], origin) if said is not None else []


class Conversation:
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
        self._open: dict[str, int] = {}
        self._sums: dict[str, Accumulated] = {}
        self._reported: Usage | None = None
        self._model = ""

    def add(self, event: dict[str, Any], origin: Origin) -> None:
        """Take an event."""
        kind = string(event.get("kind"))
        self.assembly.record_counts[kind or "(no kind)"] += 1
        if event.get("key") == "stats":
            self._note_sums(mapping(event.get("value")))
        if event.get("key") == "full_state":
            self.tell(event.get("value"))
        said = spoken_in(event)
        if kind == "Condensation":
            self._condense(event, said, origin)
        elif said is not None and said.is_call:
            self._respond(event, said, origin)
        elif said is not None:
            self._note(self._chat.add([said], origin), event)

    def tell(self, about: Any) -> None:
        """Take up the state of the conversation: its id, its model, and the usage of each response."""
        state = mapping(about)
        model = mapping(mapping(state.get("agent")).get("llm"))
        self._model = string(model.get("model")) or self._model
        self.assembly.identifier = string(state.get("id")) or self.assembly.identifier
        self.assembly.title = string(state.get("title")) or self.assembly.title
        folder = mapping(state.get("workspace")).get("working_dir")
        self.assembly.working_directory = string(folder) or self.assembly.working_directory
        known: dict[str, Mapping[str, Any]] = {}
        for metrics in _metrics(state.get("stats")).values():
            for one in objects(metrics.get("token_usages")):
                known[string(one.get("response_id"))] = one
                self.assembly.window = count(one.get("context_window")) or self.assembly.window
        for index, call in enumerate(self.assembly.calls):
            tokens = known.get(call.identifier) or {}
            usage = usage_of_tokens(tokens) or call.usage
            name = call.model or string(tokens.get("model")) or self._model
            if (usage, name) != (call.usage, call.model):
                self.assembly.calls[index] = structs.replace(call, usage=usage, model=name)

    def _respond(self, event: Mapping[str, Any], said: Spoken, origin: Origin) -> None:
        """Add an answer; several actions of one response are one answer."""
        response = string(event.get("llm_response_id"))
        (message,) = self._chat.messages([said], origin)
        if response and response in self._open:
            self.assembly.add_blocks(self._open[response], list(message.blocks))
            self._events.note(self._open[response], string(event.get("id")), message.blocks)
            return
        index = self._chat.thread.respond(
            message, model=self._model, usage=self._reported, identifier=said.identifier or message.identifier
        )
        self._reported = None
        self._open = {response: index} if response else {}
        self._events.note(index, string(event.get("id")), message.blocks)

    def _note(self, added: Iterable[int], event: Mapping[str, Any]) -> None:
        for index in added:
            self._events.note(index, string(event.get("id")), self.assembly.messages[index].blocks)

    def _note_sums(self, stats: Any) -> None:
        for name, metrics in _metrics(stats).items():
            usage = self._sums.setdefault(name, Accumulated()).added(metrics.get("accumulated_token_usage"))
            if name != CONDENSER and usage is not None:
                self._reported = usage
                self._model = string(metrics.get("model_name")) or self._model

    def _condense(self, event: Mapping[str, Any], said: Spoken | None, origin: Origin) -> None:
        forgotten = [one for one in sequence(event.get("forgotten_event_ids")) if isinstance(one, str)]
        summary = self._chat.messages([said], origin)[0] if said is not None else None
        time = said.time if said is not None else None
        self._events.condense(self._chat, summary, forgotten, count(event.get("summary_offset")), time)


def _metrics(stats: Any) -> dict[str, Mapping[str, Any]]:
    """The metrics of each use of a model; their name changed over versions."""
    about = mapping(stats)
    named = mapping(about.get("usage_to_metrics")) or mapping(about.get("service_to_metrics"))
    return {str(name): mapping(metrics) for name, metrics in named.items()}
