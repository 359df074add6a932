"""What images and documents take, by the examples that providers give for their rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.session.model import BlockKind, Media
from inspector.tokens.media_tokens import block_media_tokens, image_rule, media_tokens, unsized_images
from tests.tokens.conftest import block_of


@pytest.mark.parametrize(
    ("model", "width", "height", "tokens"),
    [
        # Anthropic's table, standard tier and high resolution.
        ("claude-sonnet-4-5", 200, 200, 64),
        ("claude-opus-4-6", 1000, 1000, 1296),
        ("claude-haiku-4-5", 1092, 1092, 1521),
        ("claude-opus-4-6", 1920, 1080, 1560),
        ("anthropic/claude-sonnet-4.6", 2000, 1500, 1564),
        ("claude-opus-4-5", 3840, 2160, 1560),
        ("claude-opus-4-7", 1000, 1000, 1296),
        ("claude-opus-4-8[1m]", 1920, 1080, 2691),
        ("claude-sonnet-5", 2000, 1500, 3888),
        ("claude-fable-5", 3840, 2160, 4784),
        # OpenAI's examples: patches, and tiles.
        ("gpt-4.1-mini", 1024, 1024, 1659),
        ("gpt-5.2", 1024, 1024, 1024),
        ("gpt-5.2-codex", 1800, 2400, 1452),
        ("o4-mini", 1800, 2400, 2498),
        ("gpt-4o", 1024, 1024, 765),
        ("gpt-4o", 2048, 4096, 1105),
        ("gpt-5.1", 1024, 1024, 630),
        ("gpt-5-codex", 1024, 1024, 630),
        ("gpt-5.6", 3840, 2160, 8160),
        # Google's example, and its table.
        ("gemini-2.5-pro", 384, 384, 258),
        ("gemini-2.5-flash", 960, 540, 1548),
        ("gemini-3-flash-preview", 960, 540, 1120),
    ],
)
def test_an_image_takes_what_its_provider_says(model: str, width: int, height: int, tokens: int) -> None:
    assert image_rule(model).tokens(width, height) == tokens


MOST = {"claude-opus-4-6": 1568, "claude-opus-4-8": 4784, "gpt-5.2": 1536, "gpt-5.5": 10_000, "": 4784}
MODELS = [*MOST, "gpt-5.6", "gpt-4o", "gpt-5-nano", "gemini-2.5-pro"]


@given(st.sampled_from(MODELS), st.integers(1, 20_000), st.integers(1, 20_000))
def test_every_size_takes_something_and_no_more_than_the_limit(model: str, width: int, height: int) -> None:
    tokens = image_rule(model).tokens(width, height)
    assert tokens > 0
    assert tokens <= MOST.get(model, tokens)
    assert image_rule(model).tokens(height, width) == tokens


@pytest.mark.parametrize(
    ("media", "tokens"),
    [
        (Media("image/jpeg", 123_456), 1560),
        (Media("", 0), 1560),
        (Media("application/pdf", 500_000), 125_000),
        (Media("application/pdf", 1 << 30), 300_000),
        (Media("text/plain", 10), 3),
    ],
)
def test_an_image_of_unknown_size_is_a_usual_one_and_documents_go_by_bytes(media: Media, tokens: int) -> None:
    assert media_tokens(media, image_rule("")) == tokens


def test_how_far_an_image_of_unknown_size_may_be_off_is_told() -> None:
    rule = image_rule("claude-opus-4-8")
    unsized = unsized_images(block_of("see", 0, media=(Media("image/png", 0), Media("image/png", 0, 30, 30))), rule)
    assert unsized is not None
    assert (unsized.count, unsized.least, unsized.most) == (1, 64, 4784)
    assert unsized_images(block_of("", 0, BlockKind.IMAGE), rule) is not None
    assert unsized_images(block_of("", 0, BlockKind.IMAGE, media=(Media("image/png", 0, 30, 30),)), rule) is None
    assert unsized_images(block_of("", 0, BlockKind.DOCUMENT, media=(Media("application/pdf", 9),)), rule) is None


def test_images_in_a_tool_result_are_added_and_what_is_never_sent_takes_nothing() -> None:
    small = Media("image/png", 0, 75, 100)
    rule = image_rule("claude-opus-4-8")
    assert block_media_tokens(block_of("two pictures", 0, media=(small, small)), rule) == 24
    assert block_media_tokens(block_of("opaque", 0, BlockKind.OTHER, media=(small,)), rule) == 0
    report = (Media("application/pdf", 4000),)
    assert block_media_tokens(block_of("", 0, BlockKind.DOCUMENT, media=report), rule) == 1000
    assert block_media_tokens(block_of("its text", 0, BlockKind.DOCUMENT, media=report), rule) == 0
