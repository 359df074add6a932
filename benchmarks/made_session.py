"""A session of any length in memory, with token counts, for work that is done on columns of numbers alone."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from inspector.session.model import Block, BlockKind, Call, Context, ContextCause, Message, Origin, Role, Session, Usage
from inspector.tokens.counter import load_counter
from inspector.tokens.prefix_counts import CountedTexts
from inspector.tokens.token_table import TokenTable, count_session

if TYPE_CHECKING:
    from inspector.tokens.block_tokens import BlockColumns

CALLS_PER_CONTEXT = 500
CHARACTERS_PER_TOKEN = 4
_TOOLS = ("Read", "Read", "Read", "Bash", "Bash", "Grep", "Edit", "WebFetch", "Glob")


class _NoTexts:
    """Text source without texts: reading one would measure something else."""

    def text(self, block: Block) -> str:
        raise NotImplementedError

    def record(self, block: Block) -> bytes:
        raise NotImplementedError


def made_session(messages: int) -> Session:
    """Create a session of alternating calls and results, with a new context every 500 calls."""
    rng = random.Random(1)  # noqa: S311  not for secrets
    made: list[Message] = []
    calls: list[Call] = []
    contexts: list[Context] = []
    begins, prompt = 0, 20_000
    nowhere = Origin(0, 0)
    for turn in range(messages // 2):
        if turn and turn % CALLS_PER_CONTEXT == 0:
            contexts.append(_context(begins, len(made), len(contexts)))
            begins, prompt = len(made), 20_000
        time = 1_780_000_000.0 + 7.0 * turn
        size = min(int(rng.lognormvariate(6.7, 1.5)), 100_000) + 1
        tool = _TOOLS[rng.randrange(len(_TOOLS))]
        written = 40 + size // CHARACTERS_PER_TOKEN
        usage = Usage(3, prompt, 0, written, 120)
        calls.append(Call(len(made), len(contexts), len(made) - begins, "claude-opus-4-6", time, usage))
        prompt += written
        call, digest = f"call {turn}", turn.to_bytes(16, "big")
        asked = Block(BlockKind.TOOL_CALL, 40, b"call" * 4, "", nowhere, tool_call_id=call, tool_name=tool)
        result = Block(BlockKind.TOOL_RESULT, size, digest, "", nowhere, tool_call_id=call, tool_name=tool)
        made.append(Message(Role.ASSISTANT, (asked,), time))
        made.append(Message(Role.USER, (result,), time + 3.0))
    contexts.append(_context(begins, len(made), len(contexts)))
    return Session("made", Path("made"), "made", tuple(made), tuple(calls), tuple(contexts), _NoTexts())


def _context(first: int, end: int, index: int) -> Context:
    cause = ContextCause.COMPACTION if index else ContextCause.START
    return Context(tuple(range(first, end)), cause=cause)


def made_table(session: Session) -> TokenTable:
    """Its tokens, of four characters each, as if they had been counted."""
    sizes = {block.digest: block.characters for block in session.blocks}
    characters = np.fromiter(sizes.values(), np.int64, len(sizes))
    tokens = -(-characters // CHARACTERS_PER_TOKEN)
    lengths = np.full(int(tokens.sum()), CHARACTERS_PER_TOKEN, np.uint8)
    lengths[np.cumsum(tokens) - 1] = characters - CHARACTERS_PER_TOKEN * (tokens - 1)
    texts = CountedTexts(load_counter())
    texts.add_counted(list(sizes), tokens, lengths)
    for name in {block.tool_name for block in session.blocks}:
        texts.count(name)
    *_, table = count_session(session, texts.counter, previous=TokenTable.of(session, _columns(session, texts), texts))
    return table


def _columns(session: Session, texts: CountedTexts) -> BlockColumns:
    from inspector.tokens.block_tokens import BlockColumns

    return BlockColumns.of(session, texts, BlockColumns.empty())
