"""Content that a compaction removed from the prompt and content it retained, compared with the prompts."""

from collections import Counter
from pathlib import Path

import pytest

from inspector.replay.analysis.compactions import CompactionEffect, sizes_of
from inspector.replay.analysis.context_blocks import context_at
from inspector.replay.sessions import replay_session
from inspector.session.model import BlockKind
from inspector.session.open import open_session
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.tokens.token_table import TokenTable
from tests.conftest import ROOT

SAMPLE = ROOT / "sample_sessions" / "coding-agent.jsonl"


def _around_compactions(path: Path) -> list[tuple[History, CompactionEffect]]:
    history = History.of(open_session(path))
    contexts = history.call_context[: history.call_count].tolist()
    pairs = [(call - 1, call) for call in range(1, len(contexts)) if contexts[call] != contexts[call - 1]]
    return [(history, CompactionEffect.between(history, *pair)) for pair in pairs]


@pytest.fixture
def effect() -> tuple[History, CompactionEffect]:
    return _around_compactions(SAMPLE)[0]


def test_what_was_sent_before_was_removed_or_kept_and_what_is_sent_after_was_kept_or_is_new(effect) -> None:
    history, found = effect
    before, after = (set(history.prompt(call).tolist()) for call in (found.before, found.after))
    removed, kept, added = (set(each.tolist()) for each in (found.removed, found.kept, found.added))
    repeated = set(found.repeated.tolist())

    assert removed
    assert before <= removed | kept | repeated
    assert not removed & repeated
    assert kept | added == after
    assert not removed & after
    assert not added & before


def test_the_answer_to_the_last_call_is_gone_with_the_prompt_it_answers(effect) -> None:
    history, found = effect
    response = history.session.calls[found.before].response
    answer = range(int(history.message_first_block[response]), int(history.message_first_block[response + 1]))

    assert set(answer) <= set(found.removed.tolist())


def test_what_a_compaction_records_once_more_was_not_removed(corpus: Path) -> None:
    (path,) = (corpus / "codex").glob("rollout-2026-06-18T*.jsonl")
    for history, found in _around_compactions(path):
        texts = [(block.kind, block.digest) for block in history.session.blocks]
        removed = Counter(texts[block] for block in found.removed.tolist())
        added = Counter(texts[block] for block in found.added.tolist())

        assert len(found.repeated) >= 5
        assert not removed & added
        kept = Counter(texts[block] for block in found.kept.tolist())
        assert not Counter(texts[block] for block in found.repeated.tolist()) - kept


def test_parts_add_up_to_what_was_removed_the_largest_first(effect) -> None:
    history, found = effect
    table = TokenTable.estimated(history.session)

    tokens = table.tokens[found.removed]
    parts = found.parts(history, tokens)

    assert sum(part.blocks for part in parts) == len(found.removed)
    assert sum(part.tokens for part in parts) == tokens.sum()
    assert [part.tokens for part in parts] == sorted((part.tokens for part in parts), reverse=True)
    results = {part.tool: part.blocks for part in parts if part.kind is BlockKind.TOOL_RESULT}
    blocks = [history.session.blocks[block] for block in found.removed.tolist()]
    assert results["Bash"] == sum(block.kind is BlockKind.TOOL_RESULT and block.tool_name == "Bash" for block in blocks)


def test_what_was_removed_takes_what_the_prompt_before_held_of_it_and_the_answer_comes_on_top(effect) -> None:
    _, found = effect
    baseline = replay_session(open_session(SAMPLE), Plan(), precise=False)
    before, after = (context_at(baseline, baseline.state(call)) for call in (found.before, found.after))
    held = dict(zip(before.blocks.tolist(), before.sent.tolist(), strict=True))

    sizes = sizes_of(found, baseline)

    taken = dict(zip(found.removed.tolist(), sizes.removed.tolist(), strict=True))
    assert {block: tokens for block, tokens in taken.items() if block in held} == {
        block: tokens for block, tokens in held.items() if block in taken
    }
    assert sizes.answer == round(sum(tokens for block, tokens in taken.items() if block not in held)) > 0
    assert sizes.prompts == (before.prompt.value, after.prompt.value)
    assert sizes.rest == after.prompt.value - before.prompt.value - sizes.answer + sizes.removed_total - sizes.added
