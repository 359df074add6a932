"""Conversations of Kimi's agents: a step is a call, whose response comes part by part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import structs

from inspector.session.formats.chat import ChatMessage, ChatThread
from inspector.session.json.values import count, mapping, string
from inspector.session.model import Role, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inspector.session.model import Call, Origin


class StepThread(ChatThread):
    """A conversation in which the parts of a response are records of their own."""

    _identifier = ""
    _time: float | None = None
    _response: int | None = None
    _call: int | None = None
    _counted = 0
    model = ""
    """Of the calls to come."""
    agent = ""
    """The subagent whose conversation it is: its calls may stand in a file of its own and in that of who started it."""

    def begin_step(self, identifier: str, time: float | None) -> None:
        """Begin a call, whose response is nothing yet."""
        self._identifier, self._time = identifier, time
        self._response = self._call = None

    def answer(self, value: Mapping[str, Any], origin: Origin, time: float | None) -> None:
        """Add a part of the response.

        Args:
            value: It as a chat message.
            origin: Where the record stands.
            time: Seconds since the epoch, or None.
        """
        chat = ChatMessage(value, self._time or time, self._identifier, is_call=True, model=self.model)
        if self._response is None:
            (self._response,) = self.say([chat], origin)
            self._call = len(self._builder.calls) - 1
        else:
            (message,) = self.messages([chat], origin)
            self._builder.add_blocks(self._response, list(message.blocks))

    def go_on(self, chat: ChatMessage, origin: Origin) -> None:
        """Add a response that is a message of its own: one behind another is more of the same."""
        if self._response is None or self.members[-1:] != [self._response]:
            self.begin_step(chat.identifier, chat.time)
        self.answer(chat.value, origin, chat.time)

    def leave_out(self, *, is_made_again: bool) -> None:
        """Leave out what came of the step: its request failed, and no later prompt holds any of it.

        Args:
            is_made_again: The same call is made again, and nothing was reported of it yet.
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
        """The call of this step; None where nothing of its response is there."""
        return self._builder.calls[self._call] if self._call is not None else None

    def count(self, usage: Usage, model: str, origin: Origin) -> None:
        """Note what was reported for the step: what is reported last is counted."""
        if self._call is None:
            self.answer({"role": "assistant", "content": []}, origin, self._time)
        if self._call is not None:
            call = self._builder.calls[self._call]
            self._builder.calls[self._call] = structs.replace(call, usage=usage, model=model or call.model)

    def name_response(self, identifier: str) -> None:
        """Note the provider's id of the response, empty where it gave none: a fork's copy of it has the same."""
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
        """Note which model answered, where nothing said so before."""
        if self._call is not None and model and not self._builder.calls[self._call].model:
            self._builder.calls[self._call] = structs.replace(self._builder.calls[self._call], model=model)


def parts_of(content: Any) -> Any:
    """The parts of a message in the words of OpenAI's API."""
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
    """Calls in the words of OpenAI's API, whether their names stand in `function` or beside it."""
    found = []
    for call in calls:
        function = mapping(call.get("function")) or call
        arguments = function.get("arguments")
        about = {"name": string(function.get("name")), "arguments": arguments if arguments is not None else "{}"}
        found.append({"id": string(call.get("id")), "type": "function", "function": about})
    return found


def usage_of(reported: Any, names: tuple[str, str, str]) -> Usage | None:
    """Reported usage as ours: input beside the cache, read from it and written to it, under these names."""
    fields = mapping(reported)
    plain, read, written = (count(fields.get(name)) for name in names)
    return Usage(plain, read, written, output=count(fields.get("output"))).unless_zero()
