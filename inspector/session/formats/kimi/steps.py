"""Build the conversations of Kimi's agents: a step is a call with a response recorded in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import structs

from inspector.session.formats.chat import ChatMessage, ChatThread
from inspector.session.json.values import count, mapping, string
from inspector.session.model import Role, Usage
from inspector.session.usage_fields import KIMI_CLI, KIMI_CODE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inspector.session.model import Call, Origin


class StepThread(ChatThread):
    """A conversation with a separate record for each part of a response."""

    _identifier = ""
    _time: float | None = None
    _response: int | None = None
    _call: int | None = None
    _counted = 0
    model = ""
    """Model of the following calls."""
    agent = ""
    """The conversation's subagent. Its calls may be recorded both in its own file and in its parent's."""

    def begin_step(self, identifier: str, time: float | None) -> None:
        """Begin a call with an empty response."""
        self._identifier, self._time = identifier, time
        self._response = self._call = None

    def answer(self, value: Mapping[str, Any], origin: Origin, time: float | None) -> None:
        """Add a part of the response."""
        chat = ChatMessage(value, self._time or time, self._identifier, is_call=True, model=self.model)
        if self._response is None:
            (self._response,) = self.add_record([chat], origin)
            self._call = len(self._builder.calls) - 1
        else:
            (message,) = self.messages([chat], origin)
            self._builder.add_blocks(self._response, list(message.blocks))

    def add_response(self, chat: ChatMessage, origin: Origin) -> None:
        """Add a response stored as one message; directly after another one it continues that response."""
        if self._response is None or self.members[-1:] != [self._response]:
            self.begin_step(chat.identifier, chat.time)
        self.answer(chat.value, origin, chat.time)

    def discard_step(self, *, is_made_again: bool) -> None:
        """Remove a step's messages after its request failed; no later prompt contains them.

        If the request is retried, a call without usage is removed too.
        """
        if self._response not in self.members:
            return
        first = self.members.index(self._response)
        of_step = [
            member
            for member in self.members[first:]
            if self._builder.messages[member].role in (Role.ASSISTANT, Role.TOOL)
        ]
        for member in of_step:
            self._builder.replace_message(member, is_abandoned=True)
        self.members[first:] = [member for member in self.members[first:] if member not in of_step]
        if is_made_again and self._call == len(self._builder.calls) - 1 and self._builder.calls[-1].usage is None:
            self._builder.calls.pop()
        self._response = self._call = None

    @property
    def last_call(self) -> Call | None:
        """The call of this step; None without any response."""
        return self._builder.calls[self._call] if self._call is not None else None

    def count(self, usage: Usage, model: str, origin: Origin) -> None:
        """Set the usage of this step; a later report replaces it."""
        if self._call is None:
            self.answer({"role": "assistant", "content": []}, origin, self._time)
        if self._call is not None:
            call = self._builder.calls[self._call]
            self._builder.calls[self._call] = structs.replace(call, usage=usage, model=model or call.model)

    def name_response(self, identifier: str) -> None:
        """Set the provider's response id, empty without one; copies in forks have the same id."""
        if self._call is None:
            return
        call = self._builder.calls[self._call]
        copied_as = call.copied_as
        if self.agent:
            self._counted += not copied_as
            copied_as = f"{self.agent} {identifier or self._counted}"
        self._builder.calls[self._call] = structs.replace(
            call, identifier=identifier or call.identifier, copied_as=copied_as
        )

    def name_model(self, model: str) -> None:
        """Set the model of this step's call if it has none."""
        if self._call is not None and model and not self._builder.calls[self._call].model:
            self._builder.calls[self._call] = structs.replace(self._builder.calls[self._call], model=model)


def parts_of(content: Any) -> Any:
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    return [_part(part) for part in content]


def _part(part: Any) -> Any:
    fields = mapping(part)
    kind = string(fields.get("type"))
    if kind == "think":
        signature = string(fields.get("encrypted"))
        return {"type": "thinking", "thinking": string(fields.get("think")), "signature": signature}
    for name in ("image_url", "audio_url", "video_url"):
        if kind == name:
            place = mapping(fields.get(name)) or mapping(fields.get("imageUrl")) or mapping(fields.get("url"))
            url = string(place.get("url")) or string(fields.get("url"))
            known = "image_url" if name == "image_url" else "document"
            return {"type": known, "image_url": {"url": url}}
    return part


def calls_of(calls: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Convert calls to OpenAI form, with or without a `function` object."""
    found = []
    for call in calls:
        function = mapping(call.get("function")) or call
        arguments = function.get("arguments")
        about = {"name": string(function.get("name")), "arguments": arguments if arguments is not None else "{}"}
        found.append({"id": string(call.get("id")), "type": "function", "function": about})
    return found


def usage_of(reported: Any, names: tuple[str, str, str]) -> Usage | None:
    """Convert reported usage. `names` are the fields for uncached input, cache reads and cache writes."""
    fields = mapping(reported)
    plain, read, written = (count(fields.get(name)) for name in names)
    usage = Usage(plain, read, written, output=count(fields.get("output"))).unless_zero()
    return (KIMI_CODE if "inputOther" in names else KIMI_CLI).check(usage, fields)
