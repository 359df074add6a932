"""Conversion to an ATIF 1.7 trajectory, the first version with a field for subagents' conversations."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from inspector.report.conversion.selection import TEXTS, call_input, definitions, media_text
from inspector.session.model import BlockKind, Role

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inspector.report.conversion.selection import Losses, Selection
    from inspector.session.model import Block, Call, Message, Session, Usage

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
    """Writer of one conversation."""

    def __init__(self, session: Session, selection: Selection, losses: Losses) -> None:
        self._session = session
        self._calls = selection.calls
        self._losses = losses
        self._steps: list[Step] = []
        self._step_of_call: dict[str, Step] = {}
        self._tools: list[Any] = []

    def written(self, members: Iterable[int]) -> dict[str, Any]:
        """Build the trajectory of these messages."""
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
