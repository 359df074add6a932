import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from inspector.session.model import BlockKind, Media
from inspector.ui.timeline.previews import call_summary, preview
from tests.hostile import HOSTILE_TEXTS
from tests.ui.synthetic import block


@pytest.mark.parametrize(
    ("arguments", "summary"),
    [
        ('{"command": "pytest -q", "timeout": 120}', "pytest -q"),
        ('{"timeout": 120, "command": "echo \\"a\\"\\nb"}', 'echo "a"\nb'),
        ('{"command": ["bash", "-lc", "ls -la"], "workdir": "/srv"}', "bash -lc ls -la"),
        ('{"file_path": "/srv/project/src/app.py", "limit": 40}', "src/app.py"),
        ('{"file_path": "/srv/elsewhere/app.py"}', "/srv/elsewhere/app.py"),
        ('{"old_string": "a", "new_string": "b", "path": "x.py"}', "x.py"),
        ('{"unheard_of": "value"}', "value"),
        ('{"command": "cut off in the mid', "cut off in the mid"),
        ('{"command": "cut off in an escape \\u00', "cut off in an escape "),
        ('{"command": "cut off in an escape \\', "cut off in an escape "),
        ("{}", ""),
        ('{"count": 3}', '{"count": 3}'),
        ("*** Begin Patch", "*** Begin Patch"),
        ("", ""),
    ],
)
def test_a_call_is_summed_up_by_the_argument_that_says_most(arguments: str, summary: str) -> None:
    assert call_summary(arguments, "/srv/project") == summary


def test_paths_are_shortened_on_every_platform() -> None:
    assert call_summary('{"file_path": "C:\\\\srv\\\\src\\\\app.py"}', "C:\\srv") == "src\\app.py"
    assert call_summary('{"file_path": "/srv/src/app.py"}', "/srv/") == "src/app.py"
    assert call_summary('{"file_path": "/srv/src/app.py"}', "") == "/srv/src/app.py"


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.text())), st.integers(0, 240))
def test_any_beginning_of_any_arguments_has_a_summary(arguments: dict[str, object], length: int) -> None:
    assert isinstance(call_summary(json.dumps(arguments)[:length], "/srv"), str)


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
