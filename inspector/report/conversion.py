"""Conversion of a session to formats of other programs, with a list of losses.

The formats are requests of Anthropic's Messages API and of OpenAI's Chat Completions API, and ATIF 1.7 trajectories:
the first version with a field for subagents' conversations.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from inspector.replay.message_lists import media_notice, recorded_part, tool_input
from inspector.session.model import Block, BlockKind, Call, Message, Role, Session, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


TEXTS = frozenset({BlockKind.SYSTEM_TEXT, BlockKind.USER_TEXT, BlockKind.ASSISTANT_TEXT})

TOOLS = "tools"
"""Locator of tool definitions."""


@dataclass(frozen=True)
class Selection:
    """The messages to write.

    Attributes:
        main: Message indices of the main conversation, in order.
        others: Message indices of each subagent's conversation, by its number.
        calls: Call of each response, by message index.
    """

    main: tuple[int, ...]
    others: dict[int, tuple[int, ...]] = field(default_factory=dict)
    calls: dict[int, Call] = field(default_factory=dict)


def select(session: Session, losses: Losses, *, whole: bool, with_subagents: bool) -> Selection:
    """Select the messages of the next prompt, or the whole conversation; `losses` counts omissions."""
    main = _main_thread(session)
    calls = {call.response: call for call in session.calls}
    if not whole:
        contexts = [context for context in session.contexts if context.thread == main]
        return Selection(tuple(contexts[-1].members) if contexts else (), calls=calls)
    by_name: dict[int, list[int]] = {}
    for index, message in enumerate(session.messages):
        if message.role is Role.OTHER or message.is_synthetic:
            losses.note("notices left out because they were never sent to a model")
        elif message.is_abandoned:
            losses.note("messages on abandoned branches left out")
        elif all(block.kind is BlockKind.OTHER for block in message.blocks) and message.blocks:
            losses.note("messages with only unknown blocks left out")
        else:
            by_name.setdefault(message.thread, []).append(index)
    losses.note("compactions not marked as such", len(session.compactions))
    others = {thread: tuple(members) for thread, members in by_name.items() if thread != main}
    if not with_subagents:
        losses.note("messages of subagents left out", sum(map(len, others.values())))
        others = {}
    return Selection(tuple(by_name.get(main, ())), others, calls)


def _main_thread(session: Session) -> int:
    threads = [context.thread for context in session.contexts]
    return 0 if 0 in threads or not threads else threads[0]


def definitions(session: Session, block: Block) -> list[Any] | None:
    """Return the tools that a block defines; None for any other block."""
    if block.kind is not BlockKind.SYSTEM_TEXT or block.origin.locator != TOOLS:
        return None
    try:
        value = json.loads(session.text(block))
    except ValueError:
        return None
    return value if isinstance(value, list) else None


def call_input(text: str, losses: Losses) -> dict[str, Any]:
    """Parse the input of a call as an object, which two of the formats require."""
    value = tool_input(text)
    if list(value) == ["input"] and not _is_object(text):
        losses.note("calls with plain text input written as {input: …}")
    return dict(value)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict) if text else True
    except ValueError:
        return False


def media_text(block: Block, text: str, losses: Losses) -> str:
    """Return a placeholder for an image or document that the format cannot carry, or the session does not hold."""
    losses.note(f"{block.kind.label}s written as text")
    return text or media_notice(block)


def note_unnamed_results(session: Session, selection: Selection, losses: Losses) -> None:
    """Note results without a tool name because their call is not written."""
    blocks = [block for index in selection.main for block in session.messages[index].blocks]
    called = {block.tool_call_id for block in blocks if block.kind is BlockKind.TOOL_CALL}
    unnamed = [block for block in blocks if block.kind is BlockKind.TOOL_RESULT and block.tool_call_id not in called]
    losses.note("tool names left out for results without a call", sum(bool(block.tool_name) for block in unnamed))


class Losses:
    """Counts of content that was left out or replaced, by description."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def note(self, what: str, count: int = 1) -> None:
        """Count a loss; `what` is a plural noun and its fate."""
        if count:
            self._counts[what] += count

    def sentences(self) -> list[str]:
        """Return one line per kind of loss."""
        return [f"{what}: {count:,}" for what, count in self._counts.items()]

    @property
    def counts(self) -> dict[str, int]:
        return dict(self._counts)


SCHEMA = "ATIF-v1.7"

Step = dict[str, Any]


def trajectory(session: Session, selection: Selection, losses: Losses) -> dict[str, Any]:
    """Build the trajectory, including subagents."""
    document = _Writer(session, selection, losses).written(selection.main)
    document = {**document, "session_id": session.identifier, "notes": f"converted from {session.format}"}
    calls = [selection.calls[index] for index in selection.main if index in selection.calls]
    document["final_metrics"] = _sums([call.usage for call in calls if call.usage is not None], document["steps"])
    if selection.others:
        document["subagent_trajectories"] = [
            {**_Writer(session, selection, losses).written(members), "trajectory_id": f"subagent-{thread}"}
            for thread, members in sorted(selection.others.items())
        ]
    return document


def _sums(usages: list[Usage], steps: list[Step]) -> dict[str, Any]:
    sums: dict[str, Any] = {"total_steps": len(steps)}
    if usages:
        sums["total_prompt_tokens"] = sum(usage.prompt for usage in usages)
        sums["total_completion_tokens"] = sum(usage.output for usage in usages)
        sums["total_cached_tokens"] = sum(usage.cache_read for usage in usages)
    return sums


class _Writer:
    def __init__(self, session: Session, selection: Selection, losses: Losses) -> None:
        self._session = session
        self._calls = selection.calls
        self._losses = losses
        self._steps: list[Step] = []
        self._step_of_call: dict[str, Step] = {}
        self._tools: list[Any] = []

    def written(self, members: Iterable[int]) -> dict[str, Any]:
        for index in members:
            message = self._session.messages[index]
            if message.role is Role.ASSISTANT:
                self._answer(message, self._calls.get(index))
            else:
                self._message(message)
        name, _, version = self._session.agent.rpartition(" ")
        if not name or not any(character.isdigit() for character in version):
            name, version = self._session.agent, ""
        agent: dict[str, Any] = {"name": name or self._session.format, "version": version or "unknown"}
        if self._session.main_model:
            agent["model_name"] = self._session.main_model
        if self._tools and all(isinstance(tool, dict) for tool in self._tools):
            agent["tool_definitions"] = self._tools
        return {"schema_version": SCHEMA, "agent": agent, "steps": self._steps}

    def _add(self, message: Message, source: str, content: Any) -> Step:
        step: Step = {"step_id": len(self._steps) + 1, "source": source, "message": content}
        if message.time is not None:
            step["timestamp"] = datetime.fromtimestamp(message.time, UTC).isoformat().replace("+00:00", "Z")
        if message.is_inherited:
            step["is_copied_context"] = True
        self._steps.append(step)
        return step

    def _answer(self, message: Message, call: Call | None) -> None:
        blocks = message.blocks
        parts = [block for block in blocks if block.kind not in (BlockKind.THINKING, BlockKind.TOOL_CALL)]
        step = self._add(message, "agent", self._content(parts))
        thoughts = [block for block in blocks if block.kind is BlockKind.THINKING]
        texts = [text for block in thoughts if (text := self._session.text(block))]
        self._losses.note("reasoning blocks without recorded text left out", len(thoughts) - len(texts))
        self._losses.note("reasoning blocks merged with the previous one", max(len(texts) - 1, 0))
        self._losses.note("reasoning signatures left out", sum(bool(one.signature_characters) for one in thoughts))
        is_model = call is not None or message.is_inherited
        if texts and is_model:
            step["reasoning_content"] = "\n\n".join(texts)
        calls = [block for block in blocks if block.kind is BlockKind.TOOL_CALL]
        if calls:
            step["tool_calls"] = [self._call(block, step) for block in calls]
        if call is None:
            step.update({} if message.is_inherited else {"llm_call_count": 0})
            return
        step["llm_call_count"] = 1
        if call.model:
            step["model_name"] = call.model
        if call.usage is not None:
            self._losses.note("placeholder response sizes left out", call.usage.output_is_placeholder)
            step["metrics"] = _metrics(call.usage)

    def _call(self, block: Block, step: Step) -> dict[str, Any]:
        self._step_of_call[block.tool_call_id] = step
        arguments = call_input(self._session.text(block), self._losses)
        return {"tool_call_id": block.tool_call_id, "function_name": block.tool_name, "arguments": arguments}

    def _message(self, message: Message) -> None:
        blocks = []
        for block in message.blocks:
            if block.kind is BlockKind.TOOL_RESULT:
                self._result(message, block)
            elif (defined := definitions(self._session, block)) is not None and not self._steps:
                self._tools += defined
            else:
                blocks.append(block)
        if blocks:
            source = "system" if message.role is Role.SYSTEM else "user"
            self._add(message, source, self._content(blocks))

    def _result(self, message: Message, block: Block) -> None:
        """Add a result to the step of its call, or without a call to a step that no model answered."""
        self._losses.note("images in tool results left out", len(block.media))
        self._losses.note("failure flags of tool results left out", block.is_error)
        text = self._session.text(block)
        result = {"source_call_id": block.tool_call_id, "content": text}
        step = self._step_of_call.get(block.tool_call_id)
        if step is None:
            self._losses.note("tool results without a call written as separate steps")
            last = self._steps[-1] if self._steps else {}
            is_open = "observation" in last and last.get("llm_call_count") == 0 and "tool_calls" not in last
            step = last if is_open else {**self._add(message, "agent", ""), "llm_call_count": 0}
            self._steps[-1] = step
        step.setdefault("observation", {"results": []})["results"].append(result)

    def _content(self, blocks: Iterable[Block]) -> Any:
        texts = []
        for block in blocks:
            text = self._session.text(block)
            if block.kind in TEXTS:
                texts.append(text)
            elif block.kind in (BlockKind.IMAGE, BlockKind.DOCUMENT):
                texts.append(media_text(block, text, self._losses))
            else:
                self._losses.note("blocks of unknown kinds left out")
        if len(texts) > 1:
            return [{"type": "text", "text": text} for text in texts]
        return texts[0] if texts else ""


def _metrics(usage: Usage) -> dict[str, Any]:
    metrics: dict[str, Any] = {"prompt_tokens": usage.prompt, "cached_tokens": usage.cache_read}
    if not usage.output_is_placeholder:
        metrics["completion_tokens"] = usage.output
    extra: dict[str, Any] = {}
    written = usage.cache_write_5m + usage.cache_write_1h
    if written:
        extra["cache_creation_input_tokens"] = written
        extra["cache_creation"] = {"ephemeral_1h_input_tokens": usage.cache_write_1h}
    if usage.reasoning:
        extra["reasoning_tokens"] = usage.reasoning
    return {**metrics, "extra": extra} if extra else metrics


AnthropicBlock = dict[str, Any]

OpenAiMessage = dict[str, Any]


def anthropic_request(session: Session, selection: Selection, losses: Losses) -> dict[str, Any]:
    """Build the request from model, tools, system text and messages, if present."""
    request: dict[str, Any] = {}
    if session.main_model:
        request["model"] = session.main_model
    tools: list[Any] = []
    system: list[Any] = []
    messages: list[dict[str, Any]] = []
    for index in selection.main:
        message = session.messages[index]
        parts = []
        for block in message.blocks:
            if (defined := definitions(session, block)) is not None and not messages:
                tools += defined
            elif (part := anthropic_block(session, block, losses)) is not None:
                parts.append(part)
        if message.role is Role.SYSTEM and not messages:
            system += parts
        elif parts:
            messages.append({"role": _speaker(message), "content": _anthropic_content(message, parts)})
            losses.note("system texts in mid-conversation, which only newer models accept", message.role is Role.SYSTEM)
        else:
            losses.note("messages without content left out")
    note_unnamed_results(session, selection, losses)
    losses.note("usage and times of calls left out", sum(index in selection.calls for index in selection.main))
    others = {"tools": tools, "system": system}
    return {**request, **{name: value for name, value in others.items() if value}, "messages": messages}


def _speaker(message: Message) -> str:
    if message.role is Role.SYSTEM:
        return "system"
    return "assistant" if message.role is Role.ASSISTANT else "user"


def _anthropic_content(message: Message, parts: list[dict[str, Any]]) -> Any:
    """Return a single plain text as a string: strategies may treat a list differently."""
    is_plain = len(parts) == 1 and parts[0].keys() == {"type", "text"} and message.blocks[0].plain_text
    return parts[0]["text"] if is_plain else parts


def anthropic_block(session: Session, block: Block, losses: Losses) -> AnthropicBlock | None:
    """Convert a block to a part of an Anthropic message; None if it has no content."""
    recorded = recorded_part(session, block)
    if recorded is not None:
        return recorded
    text = session.text(block)
    if block.kind in TEXTS:
        return {"type": "text", "text": text}
    if block.kind is BlockKind.THINKING:
        if not text:
            losses.note("reasoning blocks without recorded text left out")
            return None
        if block.signature_characters:
            losses.note("reasoning signatures left out")
        return {"type": "thinking", "thinking": text, "signature": ""}
    if block.kind is BlockKind.TOOL_CALL:
        name = {"id": block.tool_call_id, "name": block.tool_name}
        return {"type": "tool_use", **name, "input": call_input(text, losses)}
    if block.kind is BlockKind.TOOL_RESULT:
        losses.note("images in tool results left out", len(block.media))
        result = {"type": "tool_result", "tool_use_id": block.tool_call_id, "content": text}
        return {**result, "is_error": True} if block.is_error else result
    if block.kind in (BlockKind.IMAGE, BlockKind.DOCUMENT):
        return {"type": "text", "text": media_text(block, text, losses)}
    losses.note("blocks of unknown kinds left out")
    return None


def openai_request(session: Session, selection: Selection, losses: Losses) -> dict[str, Any]:
    """Build the request from model, tools and messages, if present."""
    tools: list[Any] = []
    messages: list[OpenAiMessage] = []
    for index in selection.main:
        message = session.messages[index]
        blocks = []
        for block in message.blocks:
            if (defined := definitions(session, block)) is not None and not messages:
                tools += defined
            else:
                blocks.append(block)
        if message.role is Role.ASSISTANT:
            messages.append(_answer(session, blocks, losses))
        elif blocks:
            messages.extend(_entries(session, message, blocks, losses))
    note_unnamed_results(session, selection, losses)
    losses.note("usage and times of calls left out", sum(index in selection.calls for index in selection.main))
    head = {"model": session.main_model} if session.main_model else {}
    return {**head, **({"tools": tools} if tools else {}), "messages": messages}


def _answer(session: Session, blocks: list[Block], losses: Losses) -> OpenAiMessage:
    parts = [block for block in blocks if block.kind not in (BlockKind.TOOL_CALL, BlockKind.THINKING)]
    entry: OpenAiMessage = {"role": "assistant", "content": _openai_content(session, parts, losses)}
    thoughts = [block for block in blocks if block.kind is BlockKind.THINKING]
    texts = [text for block in thoughts if (text := session.text(block))]
    if texts:
        entry["reasoning_content"] = "\n\n".join(texts)
    losses.note("reasoning blocks without recorded text left out", len(thoughts) - len(texts))
    losses.note("reasoning signatures left out", sum(bool(block.signature_characters) for block in thoughts))
    losses.note("reasoning blocks merged with the previous one", max(len(texts) - 1, 0))
    calls = [_call(session, block) for block in blocks if block.kind is BlockKind.TOOL_CALL]
    return {**entry, "tool_calls": calls} if calls else entry


def _call(session: Session, block: Block) -> OpenAiMessage:
    function = {"name": block.tool_name, "arguments": session.text(block)}
    return {"id": block.tool_call_id, "type": "function", "function": function}


def _entries(session: Session, message: Message, blocks: list[Block], losses: Losses) -> list[OpenAiMessage]:
    """Build one message per result, then the rest: the API requires results directly after their calls."""
    results = [block for block in blocks if block.kind is BlockKind.TOOL_RESULT]
    entries: list[OpenAiMessage] = []
    for block in results:
        losses.note("images in tool results left out", len(block.media))
        losses.note("failure flags of tool results left out", block.is_error)
        entries.append({"role": "tool", "tool_call_id": block.tool_call_id, "content": session.text(block)})
    rest = [block for block in blocks if block.kind is not BlockKind.TOOL_RESULT]
    if rest:
        content = _openai_content(session, rest, losses)
        if content is not None:
            entries.append({"role": "system" if message.role is Role.SYSTEM else "user", "content": content})
    return entries


def _openai_content(session: Session, blocks: list[Block], losses: Losses) -> Any:
    parts: list[OpenAiMessage] = []
    for block in blocks:
        if block.kind in TEXTS:
            parts.append({"type": "text", "text": session.text(block)})
        elif block.kind in (BlockKind.IMAGE, BlockKind.DOCUMENT):
            parts.append(_media(session, block, losses))
        else:
            losses.note("blocks of unknown kinds left out")
    if len(parts) == 1 and parts[0]["type"] == "text" and blocks[0].plain_text:
        return parts[0]["text"]
    return parts or None


def _media(session: Session, block: Block, losses: Losses) -> OpenAiMessage:
    source = (recorded_part(session, block) or {}).get("source")
    if block.kind is BlockKind.IMAGE and isinstance(source, dict) and source.get("type") == "base64":
        url = f"data:{source.get('media_type')};base64,{source.get('data')}"
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "text", "text": media_text(block, session.text(block), losses)}


FORMS: dict[str, Callable[[Session, Selection, Losses], dict[str, Any]]] = {
    "anthropic": anthropic_request,
    "openai": openai_request,
    "atif": trajectory,
}

PARTS = ("context", "conversation")
"""Parts to write: the next prompt, or the whole conversation."""


def convert(session: Session, form: str, part: str = "context") -> tuple[dict[str, Any], Losses]:
    """Convert a session; return the document and its losses. Raises `TextUnavailableError` or `KeyError`."""
    losses = Losses()
    selection = select(session, losses, whole=part == "conversation", with_subagents=form == "atif")
    return FORMS[form](session, selection, losses), losses
