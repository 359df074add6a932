"""Token counts of images and documents, compared with the providers' examples."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.session.model import BlockKind, Media
from inspector.tokens.block_tokens import (
    UncertainMedia,
    block_media_tokens,
    image_rule,
    media_tokens,
    uncertain_documents,
    unsized_images,
)
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
        ("gpt-5.2", 1024, 1024, 1229),
        ("gpt-5.4", 2048, 2048, 3000),
        ("o4-mini", 1800, 2400, 2498),
        ("gpt-4o", 1024, 1024, 765),
        ("gpt-4o", 2048, 4096, 1105),
        ("gpt-5.1", 1024, 1024, 630),
        ("gpt-5-codex", 1024, 1024, 630),
        ("gpt-5.6", 3840, 2160, 9792),
        ("gpt-6-astra", 3200, 960, 3600),
        # Google's example, and its table.
        ("gemini-2.5-pro", 384, 384, 258),
        ("gemini-2.5-flash", 960, 540, 1548),
        ("gemini-3-flash-preview", 960, 540, 1120),
    ],
)
def test_an_image_takes_what_its_provider_says(model: str, width: int, height: int, tokens: int) -> None:
    assert image_rule(model).tokens(width, height) == tokens


MOST = {"claude-opus-4-6": 1568, "claude-opus-4-8": 4784, "gpt-5.2": 7373, "gpt-5.5": 12_000, "": 4784}
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


@pytest.mark.parametrize(
    ("model", "detail", "width", "height", "tokens"),
    [
        # OpenAI's table of sizes, October 2026; the first four are of its calculator's kind.
        ("gpt-6-astra", "low", 640, 480, 231),
        ("gpt-6-astra", "high", 1280, 720, 1104),
        ("gpt-6-astra", "high", 3200, 960, 2916),
        ("gpt-6-astra", "original", 6400, 1440, 10_800),
        ("gpt-5.6-sol", "low", 4096, 4096, 308),
        ("gpt-5.6-sol", "high", 4096, 4096, 3000),
        ("gpt-5.6-sol", "auto", 4096, 4096, 19_661),
        ("gpt-5.5", "low", 1024, 1024, 308),
        ("gpt-5.5", "high", 2048, 2048, 3000),
        ("gpt-5.5", "", 2048, 2048, 4916),
        ("gpt-5.5", "original", 6000, 6000, 12_000),
        ("gpt-5.4", "high", 1024, 1024, 1229),
        ("gpt-5.4", "auto", 2048, 2048, 3000),
        ("gpt-5.4", "low", 2048, 2048, 4916),
        ("gpt-5.4-mini", "original", 2048, 2048, 4916),
        ("gpt-5.2", "low", 2048, 2048, 4916),
        ("gpt-4o", "low", 4096, 8192, 85),
        ("gpt-4o-mini", "low", 1024, 1024, 2833),
        ("gpt-5.1", "low", 1024, 1024, 70),
        ("o3", "low", 1024, 1024, 75),
        ("gpt-5.1", "auto", 1024, 1024, 630),
        ("claude-opus-4-6", "low", 1000, 1000, 1296),
        ("gemini-3-pro", "low", 1000, 1000, 1120),
    ],
)
def test_how_closely_an_image_is_looked_at_decides_with_openai(
    model: str, detail: str, width: int, height: int, tokens: int
) -> None:
    image = Media("image/png", 1000, width, height, detail=detail)
    assert media_tokens(image, image_rule(model)) == tokens


@pytest.mark.parametrize(
    ("model", "pages", "usual", "least", "most"),
    [
        ("claude-opus-4-8", 1, 2_340, 1_590, 4_590),
        ("claude-sonnet-4-5", 10, 23_400, 15_900, 45_900),
        ("gemini-2.5-pro", 3, 774, None, None),
        ("gemini-3-pro", 5, 2_800, None, None),
        ("gpt-4o", 1, 750 + 765, 85, 3_000 + 765),
        ("gpt-5.4", 2, 2 * (750 + 2_340), 2 * 600, 2 * (3_000 + 2_890)),
    ],
)
def test_a_page_of_a_pdf_takes_its_image_and_its_text(
    model: str, pages: int, usual: int, least: int | None, most: int | None
) -> None:
    report = block_of("", 0, BlockKind.DOCUMENT, media=(Media("application/pdf", 90_000, pages=pages),))
    rule = image_rule(model)
    assert block_media_tokens(report, rule) == usual
    told = uncertain_documents(report, rule)
    assert (told and (told.count, told.pages, told.least, told.most)) == (least and (1, pages, least, most))


def test_measured_pages_of_claude_and_gemini_lie_where_they_are_stated_to() -> None:
    """https://huggingface.co/datasets/JOHNISKING/pdf-token-cost: pages of text, of a table, scanned."""
    usual, least, most = image_rule("claude-opus-5-5").page
    assert all(least <= measured <= most for measured in (2_347, 2_326, 2_324, 2_481, 1_600, 2_115, 2_278, 1_592))
    assert usual == pytest.approx(2_324, rel=0.01)
    assert image_rule("gemini-3-pro").page.usual == pytest.approx(561, rel=0.01)


def test_a_pdf_whose_pages_the_file_does_not_tell_says_how_far_it_may_be_off() -> None:
    rule = image_rule("claude-opus-4-8")
    sized, named = Media("application/pdf", 500_000), Media("application/pdf", 0)
    assert [media_tokens(media, rule) for media in (sized, named)] == [125_000, 2_340]
    both = block_of("", 0, BlockKind.DOCUMENT, media=(sized, named))
    assert uncertain_documents(both, rule) == UncertainMedia(2, 0, 2 * 1_590, 200 * 4_590)
    assert unsized_images(both, rule) is None
    assert uncertain_documents(block_of("its text", 0, BlockKind.DOCUMENT, media=(sized,)), rule) is None


def test_an_image_of_unknown_size_and_low_detail_is_known_where_all_of_them_take_the_same() -> None:
    named = block_of("", 0, BlockKind.IMAGE, media=(Media("image/png", 0, detail="low"),))
    assert media_tokens(named.media[0], image_rule("gpt-4o")) == 85
    assert unsized_images(named, image_rule("gpt-4o")) is None
    assert unsized_images(named, image_rule("gpt-5.5")) == UncertainMedia(1, 0, 59, 173)


def test_how_far_an_image_of_unknown_size_may_be_off_is_reported() -> None:
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
