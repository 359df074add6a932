"""Slow reference of Microsoft's agent framework: JSON is serialized at every call to measure sizes."""

import json
from dataclasses import dataclass, field
from typing import Any

from inspector.session.model import BlockKind, Role, Session

GONE = "gone"


@dataclass(eq=False)
class PlainGroup:
    kind: str
    messages: list[tuple[str, str, list[int]]]
    is_sent: bool = True
    listing: str | None = None

    @property
    def blocks(self) -> list[int]:
        return [block for _, _, blocks in self.messages for block in blocks]

    @property
    def is_open(self) -> bool:
        return self.kind == "tool_call" and self.is_sent and self.listing is None


@dataclass
class PlainFramework:
    session: Session
    texts: dict[int, str]
    groups: list[PlainGroup] = field(default_factory=list)
    count: int = 0
    span: PlainGroup | None = None
    takes_reasoning: bool = False
    prefix: list[PlainGroup] = field(default_factory=list)
    asked: list[tuple[str, PlainGroup]] = field(default_factory=list)
    first_user: PlainGroup | None = None

    def text(self, index: int) -> str:
        block = self.session.blocks[index]
        return self.texts[index] if index in self.texts else self.session.text(block)

    def json(self, index: int) -> Any:
        block, text = self.session.blocks[index], self.text(index)
        extra: dict[str, Any] = {"additional_properties": {}}
        if block.kind is BlockKind.TOOL_CALL:
            try:
                arguments = json.loads(text) if text else {}
            except ValueError:
                arguments = text
            named = {"call_id": block.tool_call_id, "hosted": False, "name": block.tool_name}
            return {**extra, "arguments": arguments, **named, "type": "function_call"}
        if block.kind is BlockKind.TOOL_RESULT:
            return {**extra, "call_id": block.tool_call_id, "result": text, "type": "function_result"}
        kind = "text_reasoning" if block.kind is BlockKind.THINKING else "text"
        return {**extra, "text": text, "type": kind}

    def contents(self, blocks: list[int]) -> list[int]:
        recorded = self.session.blocks
        return [at for at in blocks if recorded[at].kind is not BlockKind.ASSISTANT_TEXT or recorded[at].characters]

    def size(self, name: str, role: str, contents: list[Any]) -> int:
        written = json.dumps({"contents": contents, "message_id": name, "role": role}, ensure_ascii=False)
        return max(1, len(written) // 4)

    def tokens(self) -> int:
        total = 0
        for group in self.groups:
            if group.is_sent and group.listing is not None:
                content = {"additional_properties": {}, "text": group.listing, "type": "text"}
                total += self.size(f"tool_summary_group_{group.messages[0][0]}", "assistant", [content])
            elif group.is_sent:
                for name, role, blocks in group.messages:
                    total += self.size(name, role, [self.json(at) for at in self.contents(blocks)])
        return total

    def messages(self) -> int:
        return sum((len(group.messages) if group.listing is None else 1) for group in self.groups if group.is_sent)

    def take(self, number: int) -> None:
        session = self.session
        first = sum(len(message.blocks) for message in session.messages[:number])
        blocks = list(range(first, first + len(session.messages[number].blocks)))
        parts: list[list[int]] = []
        for at in blocks:
            is_result = session.blocks[at].kind is BlockKind.TOOL_RESULT
            if not parts or (session.blocks[parts[-1][0]].kind is BlockKind.TOOL_RESULT) is not is_result:
                parts.append([])
            parts[-1].append(at)
        for part in parts:
            is_result = session.blocks[part[0]].kind is BlockKind.TOOL_RESULT
            said = "assistant" if session.messages[number].role is Role.ASSISTANT else "user"
            name = session.messages[number].identifier or f"msg_{self.count}"
            self.count += 1
            self.place(name, "tool" if is_result else said, part)

    def begin(self, kind: str, message: tuple[str, str, list[int]]) -> PlainGroup:
        self.groups.append(PlainGroup(kind, [message]))
        if kind == "user" and self.first_user is None:
            self.first_user = self.groups[-1]
        self.span, self.takes_reasoning, self.prefix = None, False, []
        return self.groups[-1]

    def place(self, name: str, role: str, blocks: list[int]) -> None:  # noqa: C901  one rule, read in one go
        recorded, message = self.session.blocks, (name, role, blocks)
        kinds = {recorded[at].kind for at in self.contents(blocks)}
        if role == "tool":
            span = self.span
            if span is None:
                span = self.begin("tool_call", message)
            else:
                self.join(span, [message])
            for at in blocks:
                calls = [pair for pair in self.asked if pair[0] == recorded[at].tool_call_id]
                if len(calls) == 1:
                    self.asked.remove(calls[0])
                    if calls[0][1] is not span:
                        span = self.merge(span, calls[0][1])
            self.span, self.takes_reasoning, self.prefix = span, False, []
        elif role == "assistant" and kinds == {BlockKind.THINKING}:
            if self.span is not None and self.takes_reasoning:
                self.join(self.span, [message])
            else:
                before = self.prefix
                self.prefix = [*before, self.begin("assistant_text", message)]
        elif role == "assistant" and BlockKind.TOOL_CALL in kinds:
            before = [group for group in self.prefix if group.is_sent]
            call = self.begin("tool_call", message)
            call.messages = [each for group in (*before, call) for each in group.messages]
            self.groups = [group for group in self.groups if group not in before]
            self.span, self.takes_reasoning = call, True
            for at in blocks:
                if recorded[at].kind is BlockKind.TOOL_CALL and recorded[at].tool_call_id:
                    self.asked.append((recorded[at].tool_call_id, call))
        else:
            self.begin("user" if role == "user" else "assistant_text", message)

    def join(self, group: PlainGroup, messages: list[tuple[str, str, list[int]]]) -> None:
        if group.kind == "tool_call" and not group.is_open:
            if not group.is_sent:
                # Restored groups are inserted at the beginning of the conversation.
                self.groups.remove(group)
                self.groups.insert(0, group)
            group.is_sent, group.listing = True, None
            self.reopened.insert(0, group)
        group.messages = [*group.messages, *messages]

    def merge(self, group: PlainGroup, into: PlainGroup) -> PlainGroup:
        group.is_sent = False
        self.join(into, group.messages)
        self.asked = [(name, into if call is group else call) for name, call in self.asked]
        self.groups.remove(group)
        return into

    @property
    def reopened(self) -> list[PlainGroup]:
        return self.__dict__.setdefault("_reopened", [])

    def open_calls(self) -> list[PlainGroup]:
        """Tool uses sent as such, those first that came back, the latest of them foremost."""
        back = [group for at, group in enumerate(self.reopened) if group.is_open and group not in self.reopened[:at]]
        return [*back, *(group for group in self.groups if group.is_open and group not in back)]

    def list_results(self, keep: int) -> None:
        while len(waiting := self.open_calls()) > keep:
            group = waiting[0]
            recorded = self.session.blocks
            names = {recorded[at].tool_call_id: recorded[at].tool_name for at in group.blocks if self.is_call(at)}
            labels = []
            for at in group.blocks:
                if recorded[at].kind is BlockKind.TOOL_RESULT:
                    identifier = recorded[at].tool_call_id
                    name = names.get(identifier) if identifier else None
                    labels.append((f"{name}: {self.text(at)}" if name else self.text(at)).strip())
            group.listing = f"[Tool results: {'; '.join(labels) or 'no results'}]"

    def is_call(self, index: int) -> bool:
        return self.session.blocks[index].kind is BlockKind.TOOL_CALL

    def leave_out_calls(self, keep: int) -> None:
        while len(waiting := self.open_calls()) > keep:
            waiting[0].is_sent = False

    def leave_out_groups(self, keep: int) -> None:
        while len(sent := [group for group in self.groups if group.is_sent]) > keep:
            sent[0].is_sent = False

    def truncate(self, unit: str, limit: int, target: int, *, keep_first_user: bool) -> None:
        measure = self.messages if unit == "messages" else self.tokens
        if measure() <= limit:
            return
        spared: list[PlainGroup] = []
        while measure() > target:
            sent = [group for group in self.groups if group.is_sent and group not in spared]
            if len(sent) <= 1:
                break
            if keep_first_user and sent[0] is self.first_user:
                spared.append(sent[0])
            else:
                sent[0].is_sent = False

    def sent(self) -> dict[int, str]:
        found: dict[int, str] = {}
        for group in self.groups:
            for at in group.blocks:
                found[at] = self.text(at) if group.is_sent and group.listing is None else GONE
            if group.is_sent and group.listing is not None:
                found[group.blocks[0]] = group.listing
        return found
