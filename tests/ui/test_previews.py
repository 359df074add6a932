from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from inspector.session.model import BlockKind, Media
from inspector.ui.timeline.rows import media_label, preview
from tests.hostile import HOSTILE_TEXTS
from tests.ui.synthetic import block


def test_a_result_is_shown_by_what_it_says_and_other_texts_as_they_are() -> None:
    text = '{"output":"\\n# Implemented\\n","metadata":{"exit_code":0}}'

    assert preview(block(BlockKind.TOOL_RESULT, text)) == "# Implemented"
    assert preview(block(BlockKind.USER_TEXT, text)) == text


def test_a_command_is_shown_without_the_shell_that_runs_it() -> None:
    assert preview(block(BlockKind.TOOL_CALL, '{"command":["bash","-lc","cat notes.md"]}')) == "cat notes.md"


@given(st.sampled_from(BlockKind), st.text(st.characters(exclude_categories=())) | st.sampled_from(HOSTILE_TEXTS))
def test_a_preview_is_one_line_a_terminal_can_show(kind: BlockKind, text: str) -> None:
    line = preview(block(kind, text))

    assert "\n" not in line
    assert not any(ord(character) < 32 or 0x7F <= ord(character) < 0xA0 for character in line)
    assert cell_len(line) >= 0


def test_a_block_without_text_says_what_it_holds_instead() -> None:
    image = block(BlockKind.IMAGE, "", media=(Media("image/png", 81_000, 1024, 768),))
    thinking = block(BlockKind.THINKING, "", signature_characters=1204)

    assert preview(image) == "image/png 1024 by 768 81.0 kB"
    assert preview(thinking) == "encrypted, 1,204 characters"
    assert preview(block(BlockKind.THINKING, "")) == "thinking not recorded"
    assert preview(block(BlockKind.USER_TEXT, "")) == ""


def test_pages_of_a_document_and_the_detail_of_an_image_are_next_to_their_size() -> None:
    assert media_label(Media("application/pdf", 88_000, pages=3)) == "application/pdf 3 pages 88.0 kB"
    assert media_label(Media("image/png", 2_000, 64, 32, detail="low")) == "image/png 64 by 32 low detail 2.0 kB"
    assert media_label(Media("", 0)) == "media"
