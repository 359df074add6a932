"""Cache of texts while a session is read."""

import os
import tracemalloc
from pathlib import Path

import pytest

from inspector.session import blocks
from inspector.session.open import open_session

SAMPLE = Path(__file__).parents[2] / "sample_sessions" / "coding-agent.jsonl"


@pytest.mark.parametrize("characters", [0, 2_000, 10_000_000])
def test_texts_are_the_same_however_many_are_kept(characters):
    read, kept = open_session(SAMPLE), open_session(SAMPLE, kept_characters=characters)
    for block in [*read.blocks, *reversed(read.blocks)]:
        assert kept.text(block) == read.text(block)


def test_what_was_kept_is_not_read_again(monkeypatch):
    session = open_session(SAMPLE, kept_characters=10_000_000)
    monkeypatch.setattr(os, "pread", lambda *given: pytest.fail(f"read again: {given}"))
    assert sum(len(session.text(block)) for block in session.blocks) == sum(each.characters for each in session.blocks)


def test_a_cache_of_short_texts_is_no_larger_than_one_of_long_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "CACHED_CHARACTERS", 1_000_000)
    path = tmp_path / "chat.jsonl"
    lines = (
        f'{{"role": "{role}", "content": "{number}"}}\n' for number in range(10_000) for role in ("user", "assistant")
    )
    path.write_text("".join(lines))
    session = open_session(path)
    tracemalloc.start()
    for block in session.blocks:
        session.text(block)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # 20,000 texts of 4 characters are 80,000 characters, but 600 bytes each with their place and digest: 12 MB.
    assert size < 3_000_000
