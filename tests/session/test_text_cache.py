"""Cache of texts while a session is read."""

import os
from pathlib import Path

import pytest

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
