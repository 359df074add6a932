"""Sessions made up for tests of the screen: any length, any text, and a prompt that a plan has cut."""

from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inspector.session.model import (
    PREVIEW_CHARACTERS,
    Block,
    BlockKind,
    Call,
    Compaction,
    Context,
    ContextCause,
    Message,
    Origin,
    Role,
    Session,
)
from inspector.strategies.core.operations import Action
from inspector.strategies.history.history import History
from inspector.ui.timeline.rows import Rows
from inspector.ui.timeline.view import TimelineView


class Texts:
    """Texts kept in memory, by digest."""

    def __init__(self) -> None:
        self.by_digest: dict[bytes, str] = {}

    def text(self, block: Block) -> str:
        return self.by_digest[block.digest]

    def record(self, block: Block) -> bytes:
        return self.text(block).encode("utf-8", "surrogatepass")


def block(kind: BlockKind, text: str, texts: Texts | None = None, **fields: object) -> Block:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    if texts is not None:
        texts.by_digest[digest] = text
    return Block(kind, len(text), digest, text[:PREVIEW_CHARACTERS], Origin(0, 0), **fields)  # type: ignore[arg-type]  # fields of Block


def message(role: Role, *blocks: Block, **fields: object) -> Message:
    return Message(role, blocks, **fields)  # type: ignore[arg-type]  # fields of Message


def session(count: int, texts: list[str] | None = None, compact_every: int = 0) -> Session:
    source = Texts()
    wording = texts or ["src/app/router.py:88:    def resolve(self, path):\n        return self.table[path]\n"]
    messages: list[Message] = []
    calls: list[Call] = []
    contexts: list[Context] = []
    compactions: list[Compaction] = []
    first = 0
    tools = ("Bash", "Read", "Edit", "Grep", "mcp__browser__take_screenshot")
    for index in range(count):
        time = 1_700_000_000.0 + index * 7
        text = wording[index % len(wording)]
        if compact_every and index and index % compact_every == 0:
            cause = ContextCause.COMPACTION if contexts else ContextCause.START
            contexts.append(Context(tuple(range(first, index)), cause=cause))
            compactions.append(Compaction(index, "auto", 155_012, 12_400))
            first = index
        if index % 40 == 0:
            entry = message(
                Role.USER, block(BlockKind.USER_TEXT, f"Now run the suite again. {text}", source), time=time
            )
        elif index % 2:
            tool = tools[index // 2 % len(tools)]
            arguments = '{"command": "pytest -q tests/app", "timeout": 120}'
            call = block(BlockKind.TOOL_CALL, arguments, source, tool_name=tool, tool_call_id=f"call{index}")
            said = [block(BlockKind.THINKING, f"The guard is missing. {text}", source)] if index % 6 == 1 else []
            entry = message(Role.ASSISTANT, *said, call, time=time)
            calls.append(Call(index, len(contexts), index - first, "claude-opus-4-8", time))
        else:
            tool = tools[(index - 1) // 2 % len(tools)]
            result = block(
                BlockKind.TOOL_RESULT,
                text * (1 + index * 37 % 60),
                source,
                tool_name=tool,
                tool_call_id=f"call{index - 1}",
                is_error=index % 14 == 0,
            )
            entry = message(Role.USER, result, time=time)
        messages.append(entry)
    cause = ContextCause.COMPACTION if contexts else ContextCause.START
    contexts.append(Context(tuple(range(first, count)), cause=cause))
    return Session(
        format="synthetic",
        path=Path("synthetic.jsonl"),
        identifier="synthetic",
        messages=tuple(messages),
        calls=tuple(calls),
        contexts=tuple(contexts),
        compactions=tuple(compactions),
        texts=source,
        working_directory="/home/user/project",
        window=200_000,
    )


@dataclass(frozen=True)
class State:
    """A prompt as a replay would describe it."""

    in_prompt: NDArray[np.bool_]
    recorded: NDArray[np.int32]
    sent: NDArray[np.int32]
    action: NDArray[np.uint8]


def tokens_of(history: History) -> NDArray[np.int32]:
    return (history.characters // 4 + 1).astype(np.int32)


def state_of(history: History, limit: int = 300) -> State:
    recorded = tokens_of(history)
    in_prompt = np.isin(history.message, history.prompt_messages(history.call_count))
    cut = in_prompt & (history.kind == BlockKind.TOOL_RESULT) & (recorded > limit)
    sent = np.where(cut, limit, np.where(in_prompt, recorded, 0)).astype(np.int32)
    action = np.where(cut, Action.CUT, Action.WHOLE).astype(np.uint8)
    return State(in_prompt, recorded, sent, action)


def view_of(recorded: Session, *, planned: bool = True, previous: TimelineView | None = None) -> TimelineView:
    history = History.of(recorded, previous.rows.history if previous is not None else None)
    return TimelineView(
        rows=Rows.of(history, previous.rows if previous is not None else None),
        tokens=tokens_of(history),
        state=state_of(history) if planned else None,
        reason=lambda _: "tiered-stale: stale, tier search",
        known="calibrated",
    )


def grown(recorded: Session, *added: Message) -> Session:
    """The session after more messages, all sent in its last context."""
    messages = (*recorded.messages, *added)
    last = recorded.contexts[-1]
    members = (*last.members, *range(len(recorded.messages), len(messages)))
    contexts = (*recorded.contexts[:-1], Context(members, last.retained, last.cause, last.thread))
    return replace(recorded, messages=messages, contexts=contexts)
