"""Small in-memory sessions and the messages a strategy sends for them, for tests of single strategies."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from inspector.session.model import (
    PREVIEW_CHARACTERS,
    Block,
    BlockKind,
    Call,
    Context,
    ContextCause,
    Message,
    Origin,
    Role,
    Session,
)
from inspector.strategies.core.operations import Action, Rendition
from inspector.strategies.core.strategy import Choice, Decision, ScheduledStrategy, SequentialStrategy, Strategy, in_use
from inspector.strategies.history.history import History


def content(written: Any) -> str:
    """A text written as the vectors write it: plain, repeated, as numbered lines, or joined."""
    if isinstance(written, str):
        return written
    if "rep" in written:
        return written["rep"][0] * written["rep"][1]
    if "lines" in written:
        count, line = written["lines"]
        return "\n".join(line.format(i=i) for i in range(1, count + 1))
    return "".join(content(part) for part in written["cat"])


def matches(text: str, expected: Any) -> bool:
    if isinstance(expected, str):
        return text == expected
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    ends = text.startswith(expected["head"]) and text.endswith(expected["tail"])
    return len(text) == expected["len"] and digest == expected["sha256"] and ends


@dataclass
class Texts:
    kept: list[str] = field(default_factory=list)

    def add(self, text: str) -> Origin:
        self.kept.append(text)
        return Origin(len(self.kept) - 1, 0)

    def text(self, block: Block) -> str:
        return self.kept[block.origin.offset]

    def record(self, block: Block) -> bytes:
        return self.text(block).encode()


def block(texts: Texts, kind: BlockKind, text: str, **rest: Any) -> Block:
    digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
    return Block(kind, len(text), digest, text[:PREVIEW_CHARACTERS], texts.add(text), **rest)


def session_of(entries: Sequence[dict[str, Any]], *, grouped: bool = False, calls: bool = True) -> Session:
    """The session of entries in the vectors' neutral form.

    Args:
        entries: `{role, content, calls: [{id, name, args}], id, name, error, plain, time, usage}`.
        grouped: Make one user message of consecutive tool entries, as the Anthropic form does.
        calls: Whether assistant entries answer recorded calls; without, all of it is first sent by the next call.
    """
    texts = Texts()
    messages: list[Message] = []
    made_calls: list[Call] = []
    names: dict[str, str] = {}
    results: list[Block] = []

    def flush() -> None:
        if results:
            messages.append(Message(Role.USER, tuple(results)))
            results.clear()

    for entry in entries:
        text = content(entry.get("content", ""))
        if entry["role"] == "tool":
            name = entry.get("name", names.get(entry["id"], ""))
            made = block(
                texts,
                BlockKind.TOOL_RESULT,
                text,
                tool_call_id=entry["id"],
                tool_name=name,
                is_error=bool(entry.get("error")),
                plain_text=entry.get("plain", True),
            )
            if grouped:
                results.append(made)
            else:
                messages.append(Message(Role.TOOL, (made,)))
            continue
        flush()
        role = Role(entry["role"])
        if role is Role.ASSISTANT:
            if calls:
                made_calls.append(Call(len(messages), 0, len(messages), time=entry.get("time")))
            blocks = [block(texts, BlockKind.ASSISTANT_TEXT, text)] if text else []
            for call in entry.get("calls", ()):
                names[call["id"]] = call["name"]
                arguments = json.dumps(call["args"])
                blocks.append(
                    block(
                        texts,
                        BlockKind.TOOL_CALL,
                        arguments,
                        tool_call_id=call["id"],
                        tool_name=call["name"],
                        plain_text=False,
                    )
                )
            messages.append(Message(role, tuple(blocks), entry.get("time")))
        else:
            kind = BlockKind.SYSTEM_TEXT if role is Role.SYSTEM else BlockKind.USER_TEXT
            messages.append(Message(role, (block(texts, kind, text),), entry.get("time")))
    flush()
    context = Context(tuple(range(len(messages))), 0, ContextCause.START, 0)
    return Session("memory", Path("memory"), "memory", tuple(messages), tuple(made_calls), (context,), texts)


@dataclass
class Source:
    session: Session
    block: Block

    @property
    def tool_name(self) -> str:
        return self.block.tool_name

    def text(self) -> str:
        return self.session.text(self.block)

    @property
    def tokens(self) -> int:
        return (self.block.characters + 3) // 4

    def head_characters(self, tokens: int) -> int:
        return min(4 * tokens, self.block.characters)

    tail_characters = head_characters


def rendered(session: Session, index: int, decision: Decision | None) -> Rendition:
    """A block as one decision sends it."""
    made = session.blocks[index]
    whole = Rendition.whole(made.characters)
    if decision is None or decision.operation is None:
        return whole
    return decision.operation.apply(whole, Source(session, made))


@dataclass
class ObviousMoment:
    """A call about to be made, every question answered from scratch."""

    history: History
    call: int
    arrived: Any
    starts_context: bool
    previous_prompt_tokens: int
    decided: dict[int, Decision]
    idle_seconds: float | None = None

    def note_estimate(self, tokens: float) -> None: ...

    def note_printed(self, text: str) -> None: ...

    def note_model_call(self, prompt_tokens: int, output_tokens: int) -> None: ...

    @property
    def prompt_tokens(self) -> int:
        return sum(self.tokens(index) for index in self.history.prompt(self.call).tolist())

    def prompt(self) -> Any:
        blocks = self.history.prompt(self.call)
        return np.array([made for made in blocks if self.rendition(int(made)).action is not Action.REMOVED], np.int32)

    def rendition(self, index: int) -> Rendition:
        return rendered(self.history.session, index, self.decided.get(index))

    def is_whole(self, index: int) -> bool:
        return self.rendition(index).action is Action.WHOLE

    def are_whole(self, blocks) -> bool:
        return all(self.is_whole(block) for block in blocks)

    def total_tokens(self, blocks) -> int:
        return sum(self.tokens(block) for block in blocks)

    def length(self, index: int) -> int:
        return self.rendition(index).length

    def tokens(self, index: int) -> int:
        return (self.rendition(index).length + 3) // 4

    def tokens_under(self, choice: Choice) -> int:
        return (rendered(self.history.session, choice.block, choice.decision).length + 3) // 4

    def text(self, index: int) -> str:
        session = self.history.session
        return self.rendition(index).text(session.text(session.blocks[index]))


def decisions_by_call(
    history: History, strategy: SequentialStrategy, measured: dict[int, int] | None = None
) -> Iterator[dict[int, Decision]]:
    run = strategy.start(history)
    decided: dict[int, Decision] = {}
    seen: set[int] = set()
    contexts: dict[int, int] = {}
    sent: dict[int, int] = {}
    calls: dict[int, int] = {}
    for call in range(history.call_count + 1):
        context = int(history.call_context[call])
        thread = history.session.contexts[context].thread
        prompt = history.prompt(call)
        arrived = np.array([made for made in prompt.tolist() if made not in seen], dtype=np.int32)
        seen.update(prompt.tolist())
        gap = float(history.call_time[call] - history.call_time[calls[thread]]) if thread in calls else np.nan
        idle = None if np.isnan(gap) else gap
        starts = contexts.get(thread) != context
        now = ObviousMoment(history, call, arrived, starts, sent.get(thread, 0), decided, idle)
        contexts[thread], calls[thread] = context, call
        decided.update(run.step(now))
        sent[thread] = (measured or {}).get(call, now.prompt_tokens)
        yield dict(decided)


class Sent:
    def __init__(self, session: Session, strategy: Strategy, *, history: History | None = None, **known: Any) -> None:
        self.session = session
        self.history = History.of(session) if history is None else history
        self.by_call: list[dict[int, Decision]] = []
        strategy = in_use(strategy)
        if isinstance(strategy, ScheduledStrategy):
            self._from_schedule(strategy)
        else:
            self.by_call = list(decisions_by_call(self.history, strategy, **known))

    def _from_schedule(self, strategy: ScheduledStrategy) -> None:
        schedule = strategy.schedule(self.history)
        assert schedule.blocks.dtype == schedule.calls.dtype == schedule.decisions.dtype == np.int32
        assert len(schedule.blocks) == len(schedule.calls) == len(schedule.decisions)
        pairs = set(zip(schedule.blocks.tolist(), schedule.calls.tolist(), strict=True))
        assert len(pairs) == len(schedule.blocks), "a block is decided twice at one call"
        events: dict[int, list[tuple[int, int]]] = {}
        for made, call, decision in zip(schedule.blocks, schedule.calls, schedule.decisions, strict=True):
            events.setdefault(int(call), []).append((int(made), int(decision)))
        current: dict[int, Decision] = {}
        for call in range(self.history.call_count + 1):
            for made, decision in events.get(call, ()):
                current[made] = schedule.table[decision]
            self.by_call.append(dict(current))
        assert all(0 <= call <= self.history.call_count for call in events), "a decision for a call that never comes"

    def rendition(self, index: int, call: int | None = None) -> Rendition:
        decision = self.by_call[self.history.call_count if call is None else call].get(index)
        return rendered(self.session, index, decision)

    def text(self, index: int, call: int | None = None) -> str:
        return self.rendition(index, call).text(self.session.text(self.session.blocks[index]))

    def changed(self, call: int | None = None) -> dict[int, str]:
        """Block index to text, of every block of the prompt that is not sent whole."""
        now = self.history.call_count if call is None else call
        return {
            int(index): self.text(int(index), now)
            for index in self.history.prompt(now)
            if self.rendition(int(index), now).action is not Action.WHOLE
        }


def blocks_of_entries(entries: Iterable[dict[str, Any]]) -> dict[int, int]:
    found, index = {}, 0
    for position, entry in enumerate(entries):
        if entry["role"] == "assistant":
            if content(entry.get("content", "")):
                found[position] = index
                index += 1
            index += len(entry.get("calls", ()))
        else:
            found[position] = index
            index += 1
    return found


def call_blocks(entries: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Return the block index of each tool call, by id."""
    found, index = {}, 0
    for entry in entries:
        index += 0 if entry["role"] == "assistant" and not content(entry.get("content", "")) else 1
        for call in entry.get("calls", ()):
            found[call["id"]] = index
            index += 1
    return found


def steps(count: int, *, tool: str = "read_file", size: int = 2000) -> list[dict[str, Any]]:
    """A run of single tool calls, none of them answered by text alone."""
    entries: list[dict[str, Any]] = [{"role": "user", "content": "task"}]
    for step in range(count):
        call = {"id": f"c{step}", "name": tool, "args": {"path": f"f{step}.py"}}
        entries.append({"role": "assistant", "content": f"step {step}", "calls": [call]})
        entries.append({"role": "tool", "id": f"c{step}", "name": tool, "content": chr(97 + step % 26) * size})
    return entries


__all__ = [
    "Sent",
    "Source",
    "Texts",
    "block",
    "blocks_of_entries",
    "content",
    "matches",
    "session_of",
    "steps",
]
