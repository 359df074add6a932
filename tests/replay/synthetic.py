"""Small generated sessions with one token per character, and scripted strategies."""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from hypothesis import strategies as st

from inspector.session.model import (
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
    Usage,
)
from inspector.strategies.core.operations import CutText, RemoveBlock, ReplaceText
from inspector.strategies.core.strategy import Choice, Decision, Schedule


class KnownTexts:
    def __init__(self, texts: dict[bytes, str]) -> None:
        self.texts = texts

    def text(self, block: Block) -> str:
        return self.texts[block.digest]

    def record(self, block: Block) -> bytes:
        return self.texts[block.digest].encode()


class SessionBuilder:
    """Writes a session message by message."""

    def __init__(self) -> None:
        self.texts: dict[bytes, str] = {}
        self.messages: list[Message] = []
        self.calls: list[Call] = []
        self.contexts: list[Context] = []
        self.members: list[int] = []
        self.compactions: list[Compaction] = []
        self.retained = 0
        self.cause = ContextCause.START

    def block(self, kind: BlockKind, text: str, tool: str = "", identifier: str = "", **rest: Any) -> Block:
        digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
        self.texts[digest] = text
        origin = Origin(offset=len(self.messages), length=len(text))
        return Block(kind, len(text), digest, text[:240], origin, tool_call_id=identifier, tool_name=tool, **rest)

    def add(self, role: Role, *blocks: Block, **rest: Any) -> int:
        self.messages.append(Message(role, blocks, **rest))
        self.members.append(len(self.messages) - 1)
        return len(self.messages) - 1

    def respond(self, *blocks: Block, usage: Usage | None = None, model: str = "", time: float | None = None) -> None:
        sent = len(self.members)
        response = self.add(Role.ASSISTANT, *blocks)
        self.calls.append(Call(response, len(self.contexts), sent, model=model, time=time, usage=usage))

    def compact(self, keep: int, trigger: str = "auto", tokens_before: int | None = None) -> None:
        self.compactions.append(Compaction(len(self.messages), trigger, tokens_before))
        kept = self.members[len(self.members) - keep :] if keep else []
        self.contexts.append(Context(tuple(self.members), self.retained, self.cause))
        self.members, self.retained, self.cause = list(kept), len(kept), ContextCause.COMPACTION

    def rewind(self, keep: int) -> None:
        kept = self.members[:keep]
        self.contexts.append(Context(tuple(self.members), self.retained, self.cause))
        self.members, self.retained, self.cause = list(kept), len(kept), ContextCause.REWIND

    def clear(self, *identifiers: str) -> None:
        self.compactions.append(Compaction(len(self.messages), "auto", cleared_tool_call_ids=identifiers))

    def session(self) -> Session:
        contexts = (*self.contexts, Context(tuple(self.members), self.retained, self.cause))
        return Session(
            "test",
            Path("test"),
            "test",
            tuple(self.messages),
            tuple(self.calls),
            contexts,
            KnownTexts(self.texts),
            compactions=tuple(self.compactions),
        )


class CharacterTable:
    """A token a character, so that every count can be checked by eye."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.tokens = np.array([block.characters for block in session.blocks], dtype=np.int32)
        self.beyond_text = np.zeros_like(self.tokens)
        self.media = np.zeros_like(self.tokens)
        self.counted = len(self.tokens)
        self.is_complete = True

    def head_tokens(self, blocks, characters):
        return np.minimum(self.tokens[blocks], characters).astype(np.int32)

    tail_tokens = head_tokens

    def span_tokens(self, block: int, start: int, stop: int) -> int:
        return min(int(self.tokens[block]), stop) - min(int(self.tokens[block]), start)

    def head_characters(self, blocks, tokens):
        return np.minimum(self.tokens[blocks], tokens).astype(np.int64)

    tail_characters = head_characters

    def pieces_tokens(self, block: int, pieces) -> int:
        return sum(len(piece) if isinstance(piece, str) else piece[1] - piece[0] for piece in pieces)

    def text_tokens(self, text: str) -> int:
        return len(text)


@dataclass(frozen=True)
class Told:
    orders: tuple[tuple[int, int, Decision], ...] = ()
    name: ClassVar[str] = "told"
    title: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    source: ClassVar[str] = ""
    parameters: ClassVar[tuple] = ()

    def schedule(self, history) -> Schedule:
        blocks, calls, decisions = zip(*self.orders, strict=True) if self.orders else ((), (), ())
        return Schedule(
            np.array(blocks, dtype=np.int32),
            np.array(calls, dtype=np.int32),
            np.arange(len(decisions), dtype=np.int32),
            tuple(decisions),
        )


@dataclass(frozen=True)
class ToldStepByStep:
    orders: tuple[tuple[int, int, Decision], ...] = ()
    name: ClassVar[str] = "told-step-by-step"
    title: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    source: ClassVar[str] = ""
    parameters: ClassVar[tuple] = ()

    def start(self, history):
        return _ToldRun(self.orders)


@dataclass
class _ToldRun:
    orders: tuple[tuple[int, int, Decision], ...]
    measured: list[tuple[int, int]] = field(default_factory=list)

    def step(self, context):
        self.measured.append((context.call, context.previous_prompt_tokens))
        enters = context.history.enters
        return [
            Choice(block, decision)
            for block, call, decision in self.orders
            if max(call, int(enters[block])) == context.call
        ]


OPERATIONS = st.sampled_from(
    [
        None,
        CutText(limit=5, head=3, tail=0, marker="~"),
        CutText(limit=8, head=2, tail=2, marker="<{removed}>", numbered=True),
        CutText(limit=0, head=1, tail=0, marker="longer than it was", never_longer=True),
        ReplaceText("gone"),
        RemoveBlock(),
    ]
)


@st.composite
def sessions(draw, usage: bool = False) -> Session:
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "the goal"))
    clock = 1000.0
    for turn in range(draw(st.integers(0, 7))):
        clock += draw(st.sampled_from([1.0, 20.0, 400.0, 4000.0]))
        count = draw(st.integers(0, 3))
        calls = [builder.block(BlockKind.TOOL_CALL, "{}", "Read", f"c{turn}.{at}") for at in range(count)]
        said = builder.block(BlockKind.ASSISTANT_TEXT, f"turn {turn} " + "x" * draw(st.integers(0, 5)))
        builder.respond(said, *calls, model="claude-opus-4-6", time=clock)
        if count:
            texts = [f"{turn}.{at}:" + "r" * draw(st.integers(0, 30)) for at in range(count)]
            answers = [(text, f"c{turn}.{at}") for at, text in enumerate(texts)]
            builder.add(Role.USER, *(builder.block(BlockKind.TOOL_RESULT, text, "Read", at) for text, at in answers))
        if draw(st.integers(0, 5)) == 0:
            builder.compact(draw(st.integers(0, 2)))
            builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, f"summary {turn}"))
        if draw(st.booleans()) or not builder.members:
            builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, f"question {turn}"))
    return builder.session()


TOOLS = ("Read", "Bash", "Grep", "Edit", "read_file", "bash", "ls", "store_memory", "search_web", "frobnicate")

COUNTED_BY_CHARACTERS = "gpt-4o"


@st.composite
def agent_sessions(draw, longest: int = 9, cleared: bool = True) -> Session:
    """Sessions as agents have them: parallel calls, errors, waits, compactions, rewinds, results the agent cleared."""
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, draw(st.sampled_from(["task", "[Live State]\nx\n"]))))
    clock = 1_700_000_000.0
    asked: list[str] = []
    for turn in range(draw(st.integers(1, longest))):
        clock += draw(st.sampled_from([1.0, 20.0, 310.0, 1900.0, 4000.0, 90_000.0]))
        tools = draw(st.lists(st.sampled_from(TOOLS), max_size=3))
        named = [(f"c{turn}.{at}", tool) for at, tool in enumerate(tools)]
        arguments = [json.dumps({"path": draw(st.sampled_from(["a.py", "b.py"]))}) for _ in named]
        words = [builder.block(BlockKind.ASSISTANT_TEXT, f"turn {turn}")] if draw(st.booleans()) or not named else []
        calls = [
            builder.block(BlockKind.TOOL_CALL, text, tool, identifier)
            for (identifier, tool), text in zip(named, arguments, strict=True)
        ]
        builder.respond(*words, *calls, model=COUNTED_BY_CHARACTERS, time=clock)
        results = [
            builder.block(
                BlockKind.TOOL_RESULT,
                f"{identifier}:" + f"line {turn}\n" * draw(st.integers(0, 60)),
                tool,
                identifier,
                is_error=draw(st.integers(0, 5)) == 0,
                plain_text=draw(st.integers(0, 4)) > 0,
            )
            for identifier, tool in named
        ]
        if results:
            builder.add(Role.USER, *results)
        asked += [identifier for identifier, _ in named]
        event = draw(st.integers(0, 11))
        if event == 0:
            builder.compact(draw(st.integers(0, 2)))
            builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, f"summary {turn}"))
        elif event == 1:
            builder.rewind(draw(st.integers(1, len(builder.members))))
        elif event == 2 and asked and cleared:
            builder.clear(*draw(st.lists(st.sampled_from(asked), max_size=3, unique=True)))
        if not results or draw(st.integers(0, 3)) == 0:
            builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, f"[Update] question {turn}"))
    return builder.session()


@st.composite
def orders_for(draw, session: Session) -> tuple[tuple[int, int, Decision], ...]:
    blocks = len(session.blocks)
    count = draw(st.integers(0, 12))
    made = [
        (
            draw(st.integers(0, blocks - 1)),
            draw(st.integers(0, len(session.calls))),
            Decision(draw(OPERATIONS), f"order {at}", f"group {at % 2}"),
        )
        for at in range(count)
    ]
    # Of two decisions about one block at one call only one can be meant.
    return tuple({(block, call): (block, call, decision) for block, call, decision in made}.values())
