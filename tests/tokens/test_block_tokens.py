"""Token overhead of blocks besides their texts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from inspector.session.model import BlockKind, Call, Media
from inspector.tokens.block_tokens import BlockColumns, sends_text, thinking_tokens
from inspector.tokens.counter import EstimateCounter
from inspector.tokens.prefix_counts import CountedTexts
from tests.tokens.conftest import block_of, session_of

if TYPE_CHECKING:
    from inspector.session.model import Session

SCREEN = Media("image/png", 0, 1920, 1080)


def test_an_image_and_what_is_never_sent_are_sent_without_their_text():
    assert not sends_text(block_of("a placeholder", 0, BlockKind.IMAGE))
    assert not sends_text(block_of("opaque", 0, BlockKind.OTHER))
    assert sends_text(block_of("two pictures", 0, media=(SCREEN, SCREEN)))
    assert sends_text(block_of("its text", 0, BlockKind.DOCUMENT))


def test_thinking_without_text_goes_by_its_signature():
    assert thinking_tokens(block_of("", 0, BlockKind.THINKING, signature_characters=401)) == 101
    assert thinking_tokens(block_of("hm", 0, BlockKind.THINKING, signature_characters=401)) == 0
    assert thinking_tokens(block_of("", 0, BlockKind.THINKING)) == 0


def pictured(*models: str) -> Session:
    session = session_of(["see", "picture"])
    question, shown = session.messages
    shown = structs.replace(shown, blocks=(block_of("", 1, BlockKind.IMAGE, media=(SCREEN,)),))
    calls = tuple(Call(0, 0, 0, model) for model in models)
    return replace(session, messages=(question, shown), calls=calls)


@pytest.mark.parametrize(
    ("models", "tokens"),
    [
        (("claude-opus-4-6",), 1560 / 1.15),
        (("claude-opus-4-8",), 2691 / 1.55),
        (("gpt-5.1",), 70 + 6 * 140),
        (("gpt-5.1", "claude-opus-4-6", "claude-opus-4-6"), 1560 / 1.15),
    ],
)
def test_an_image_is_counted_so_that_the_models_ratio_makes_it_what_the_provider_says(
    models: tuple[str, ...], tokens: float
):
    columns = BlockColumns.of(pictured(*models), CountedTexts(EstimateCounter()), BlockColumns.empty())
    assert columns.media.tolist() == columns.fixed.tolist() == [0, round(tokens)]


def test_an_image_is_counted_again_when_another_model_answers_most_calls():
    texts = CountedTexts(EstimateCounter())
    before = BlockColumns.of(pictured("gpt-5.1"), texts, BlockColumns.empty())
    for models in (("gpt-5.1", "gpt-5.1", "claude-opus-4-6"), ("gpt-5.1", "claude-opus-4-8", "claude-opus-4-8")):
        grown = pictured(*models)
        assert (
            BlockColumns.of(grown, texts, before).media.tolist()
            == BlockColumns.of(grown, texts, BlockColumns.empty()).media.tolist()
        )
