import pytest

from inspector.session.model import BlockKind, Media
from inspector.tokens.block_tokens import fixed_tokens, media_tokens, sends_text
from tests.tokens.conftest import block_of


@pytest.mark.parametrize(
    ("media", "tokens"),
    [
        (Media("image/png", 0, 200, 200), 54),
        (Media("image/png", 0, 1000, 1000), 1334),
        (Media("image/jpeg", 0, 8000, 8000), 4784),
        (Media("image/jpeg", 123_456), 1600),
        (Media("", 0), 1600),
        (Media("application/pdf", 500_000), 125_000),
        (Media("application/pdf", 1 << 30), 300_000),
        (Media("text/plain", 10), 3),
    ],
)
def test_images_go_by_pixels_and_documents_by_bytes(media, tokens):
    assert media_tokens(media) == tokens


def test_an_image_is_sent_without_its_text_and_has_tokens_even_when_nothing_is_known():
    assert not sends_text(block_of("a placeholder", 0, BlockKind.IMAGE))
    assert fixed_tokens(block_of("", 0, BlockKind.IMAGE)) == 1600
    assert fixed_tokens(block_of("", 0, BlockKind.IMAGE, media=(Media("image/png", 0, 75, 100),))) == 10


def test_images_in_a_tool_result_are_added_to_its_text():
    small = Media("image/png", 0, 75, 100)
    result = block_of("two pictures", 0, media=(small, small))
    assert sends_text(result)
    assert fixed_tokens(result) == 20


def test_thinking_without_text_goes_by_its_signature():
    assert fixed_tokens(block_of("", 0, BlockKind.THINKING, signature_characters=401)) == 101
    assert fixed_tokens(block_of("hm", 0, BlockKind.THINKING, signature_characters=401)) == 0
    assert fixed_tokens(block_of("", 0, BlockKind.THINKING)) == 0


def test_a_document_goes_by_its_text_where_there_is_one():
    report = (Media("application/pdf", 4000),)
    assert fixed_tokens(block_of("", 0, BlockKind.DOCUMENT, media=report)) == 1000
    assert fixed_tokens(block_of("its text", 0, BlockKind.DOCUMENT, media=report)) == 0
    assert sends_text(block_of("its text", 0, BlockKind.DOCUMENT))


def test_what_is_never_sent_has_no_tokens():
    other = block_of("opaque", 0, BlockKind.OTHER, media=(Media("image/png", 0, 750, 750),))
    assert not sends_text(other)
    assert fixed_tokens(other) == 0
