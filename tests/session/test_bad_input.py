"""Every path gives either one clear error line or a session with visible diagnostics."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.errors import SessionError
from inspector.session.model import BlockKind
from inspector.session.open import open_session
from tests.examples import examples
from tests.permissions import permissions_hold
from tests.session.claude_lines import Script, outline, texts


def message_for(path: Path) -> str:
    with pytest.raises(SessionError) as caught:
        open_session(path)
    message = caught.value.message
    assert "\n" not in message
    assert str(path) in message
    return message


def sound_lines() -> list[bytes]:
    script = Script()
    script.prompt("go")
    script.call("m1", "t1")
    script.result("t1", "one")
    script.text("m2", "done")
    return script.encoded()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"  \n\n", "empty"),
        (b"Dear diary,\n", "not a JSON object or a list"),
        (b"42", "not a JSON object or a list"),
        ('[{"role": "user", "content": "hi"}]'.encode("utf-16"), "Convert it to UTF-8"),
        (b'{"type": "user", "mess', "broken JSON"),
        (b'[{"role": "user", "content": "cut of', "broken JSON"),
        (b'{"name": "package", "version": "1.0"}', "not of a supported agent"),
        (b"[1, 2, 3]", "not of a supported agent"),
        (b"\x7fELF\x00\x01\x02" + bytes(500), "binary"),
        (b"{" + bytes(500), "binary"),
        (b"[" * 100_000, "broken JSON"),
        (b'{"a":' * 100_000, "broken JSON"),
    ],
    ids=[
        "empty",
        "blank",
        "prose",
        "number",
        "UTF-16",
        "cut line",
        "cut list",
        "other",
        "list",
        "program",
        "zeros",
        "deep list",
        "deep object",
    ],
)
def test_what_is_no_session_is_refused_in_one_line(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "looks-like-a.jsonl"
    path.write_bytes(content)
    assert words in message_for(path)


def test_a_missing_path_is_refused(tmp_path: Path) -> None:
    assert "no such file" in message_for(tmp_path / "nowhere.jsonl")


def test_a_path_through_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert "Check the path" in message_for(tmp_path / "file" / "inside.jsonl")


def test_a_name_longer_than_names_can_be_is_refused(tmp_path: Path) -> None:
    assert "cannot be opened" in message_for(tmp_path / ("x" * 5000))


def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    path = Script().write(tmp_path / "session.jsonl")
    path.chmod(0)
    with permissions_hold():
        assert "permission" in message_for(path)


def test_devices_and_pipes_are_refused_without_waiting(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    assert "not a regular file" in message_for(pipe)
    device = tmp_path / "link-to-null.jsonl"
    device.symlink_to("/dev/null")
    assert "not a regular file" in message_for(device)


def test_a_folder_without_sessions_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    assert "no sessions in this directory" in message_for(tmp_path)


def test_a_folder_of_sessions_names_the_newest(tmp_path: Path) -> None:
    for age, name in enumerate(("new.jsonl", "middle.jsonl", "old.txt")):
        path = tmp_path / name
        path.write_bytes(b"".join(sound_lines()))
        os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))
    message = message_for(tmp_path)
    assert "3 sessions" in message
    assert str(tmp_path / "new.jsonl") in message


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"type": "user", "message": {"role"', "invalid JSON"),
        (b"not json at all", "invalid JSON"),
        (b"[1, 2]", "not a JSON object"),
        (b"17", "not a JSON object"),
        (b"\x00\x00\x00", "only white space and zero bytes"),
        (b'{"a":' * 100_000, "JSON nested too deeply"),
        (b'{"type":"user"}{"type":"user"}', "invalid JSON"),
    ],
    ids=["cut", "prose", "list", "number", "zeros", "deep", "two on a line"],
)
@pytest.mark.parametrize("position", [0, 2, 4])
def test_a_bad_line_is_skipped_and_counted(tmp_path: Path, line: bytes, reason: str, position: int) -> None:
    lines = sound_lines()
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(lines))
    sound = open_session(path)
    expected = outline(sound)
    path.write_bytes(b"".join([*lines[:position], line + b"\n", *lines[position:]]))
    session = open_session(path)
    assert outline(session) == expected
    assert session.calls == sound.calls
    assert session.skipped_records == 1
    (note,) = session.diagnostics
    assert (note.reason, note.line, note.skipped) == (reason, position + 1, True)
    assert note.offset == sum(len(before) for before in lines[:position])


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b'"one"', b'"o\xffe"', "invalid UTF-8"),
        (b'"one"', b'"o\\ud800e"', "lone surrogates"),
    ],
)
def test_text_that_is_no_text_is_read_with_replacements(tmp_path: Path, old: bytes, new: bytes, reason: str) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(sound_lines()).replace(old, new))
    session = open_session(path)
    assert texts(session, 2) == ["o\ufffde"]
    assert session.skipped_records == 0
    assert [(note.reason, note.skipped) for note in session.diagnostics] == [(reason, False)]


def test_fields_of_a_wrong_type_cost_only_themselves(tmp_path: Path) -> None:
    script = Script()
    script.prompt("go")
    script.add(
        type="assistant",
        timestamp=["17"],
        version=["2"],
        message={
            "id": "m1",
            "model": 5,
            "content": ["not a part", {"type": "text", "text": "kept"}, {"type": "text", "text": {"not": "text"}}],
            "usage": {"input_tokens": "many", "output_tokens": 4.0},
        },
    )
    session = open_session(script.write(tmp_path / "session.jsonl"))
    assert texts(session, 1) == ["kept", ""]
    assert session.messages[1].time is None
    usage = session.calls[0].usage
    assert usage is not None
    assert (usage.uncached, usage.output) == (0, 4)
    assert [(note.line, note.skipped) for note in session.diagnostics] == [(2, False)]
    assert "unexpected type of" in session.diagnostics[0].reason


def test_counts_no_computer_could_hold_are_no_counts(tmp_path: Path) -> None:
    script = Script()
    script.text("m1", usage={"input_tokens": 10**30, "output_tokens": -5, "cache_read_input_tokens": 7})
    usage = open_session(script.write(tmp_path / "session.jsonl")).calls[0].usage
    assert usage is not None
    assert (usage.uncached, usage.output, usage.cache_read) == (0, 0, 7)


def test_results_without_calls_and_calls_without_results_are_kept(tmp_path: Path) -> None:
    script = Script()
    script.result("nobody", "orphan")
    script.call("m1", "never answered")
    session = open_session(script.write(tmp_path / "session.jsonl"))
    assert [(block.kind, block.tool_name) for block in session.blocks] == [
        (BlockKind.TOOL_RESULT, ""),
        (BlockKind.TOOL_CALL, "Bash"),
    ]


def test_megabyte_lines_are_read_and_their_texts_read_again(tmp_path: Path) -> None:
    script = Script()
    long = "0123456789abcdef" * 200_000
    script.call("m1", "t1")
    script.result("t1", long)
    script.text("m2", "after")
    session = open_session(script.write(tmp_path / "session.jsonl"))
    assert texts(session, 1) == [long]
    assert len(session.messages[1].blocks[0].preview) == 240
    assert texts(session, 2) == ["after"]


def test_blank_lines_carriage_returns_and_a_byte_order_mark_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    lines = [line.rstrip(b"\n") for line in sound_lines()]
    path.write_bytes(b"\xef\xbb\xbf" + b"\r\n".join(lines) + b"\r\n\r\n   \n\n")
    session = open_session(path)
    assert len(session.messages) == 4
    assert [session.text(block) for block in session.blocks] == ["go", '{"command":"t1"}', "one", "done"]


def test_a_last_line_without_its_end_is_read_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(sound_lines()).rstrip(b"\n"))
    assert len(open_session(path).messages) == 4


def test_a_last_line_that_is_cut_is_a_diagnostic(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(sound_lines())[:-20])
    session = open_session(path)
    assert len(session.messages) == 3
    assert [(note.reason, note.line) for note in session.diagnostics] == [("the last line is incomplete", 4)]
    assert session.skipped_records == 1


def test_only_the_first_hundred_diagnostics_are_kept_and_all_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(sound_lines()) + b"nonsense\n" * 1000)
    session = open_session(path)
    assert len(session.diagnostics) == 100
    assert session.skipped_records == 1000


@pytest.mark.parametrize("depth", [400, 900, 5000])
def test_values_nested_deeply_never_raise(tmp_path: Path, depth: int) -> None:
    nested = "[" * depth + "]" * depth
    script = Script()
    script.prompt("go")
    script.add(type="attachment", attachment={"type": "file", "content": "NESTED"})
    script.block("m1", {"type": "unheard of", "what": "NESTED"})
    script.result("t1", [{"type": "unheard of", "content": "NESTED"}])
    script.add(type="system", subtype="api_error", error="NESTED")
    script.text("m2", "end")
    path = tmp_path / "session.jsonl"
    path.write_text("".join(line.decode() for line in script.encoded()).replace('"NESTED"', nested))
    session = open_session(path)
    kept = [session.text(block) for block in session.blocks]
    assert kept[0] == "go"
    assert kept[-1] == "end"
    path.write_text(f'{{"role":"user","content":{nested}}}\n{{"role":"user","content":"end"}}\n')
    session = open_session(path)
    assert session.text(session.blocks[-1]) == "end"


@settings(max_examples=examples(150), deadline=None)
@given(data=st.data())
def test_damage_anywhere_never_raises_and_never_loses_other_lines(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    lines = sound_lines()
    index = data.draw(st.integers(0, len(lines) - 1))
    line = lines[index][:-1]
    start = data.draw(st.integers(0, len(line) - 1))
    end = data.draw(st.integers(start, min(start + 40, len(line))))
    damage = data.draw(st.binary(max_size=12)).replace(b"\n", b"")
    damaged = line[:start] + damage + line[end:]
    path = tmp_path_factory.mktemp("damaged") / "session.jsonl"
    path.write_bytes(b"".join([*lines[:index], damaged + b"\n", *lines[index + 1 :]]))
    session = open_session(path)
    for block in session.blocks:
        assert len(session.text(block)) == block.characters
    blocks = {session.text(block) for block in session.blocks}
    others = {"go", '{"command":"t1"}', "one", "done"} - {["go", '{"command":"t1"}', "one", "done"][index]}
    assert others <= blocks


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=examples(200), deadline=None)
@given(
    value=json_values, where=st.sampled_from(["message", "content", "part", "usage", "attachment", "metadata", "line"])
)
def test_any_json_in_any_place_is_read_without_raising(
    tmp_path_factory: pytest.TempPathFactory, value: object, where: str
) -> None:
    script = Script()
    script.prompt("go")
    match where:
        case "message":
            script.add(type="assistant", message=value)
        case "content":
            script.add(type="user", message={"role": "user", "content": value})
        case "part":
            script.user({"type": "tool_result", "tool_use_id": value, "content": value, "is_error": value})
        case "usage":
            script.add(type="assistant", message={"id": "m1", "content": [], "usage": value})
        case "attachment":
            script.add(type="attachment", attachment={"type": "file", "content": value, "filename": value})
        case "metadata":
            script.add(type="system", subtype="compact_boundary", compactMetadata=value, content=value)
        case _:
            script.add(type=value, isSidechain=value, parentUuid=value, version=value)
    script.text("m9", "end")
    session = open_session(script.write(tmp_path_factory.mktemp("any") / "session.jsonl"))
    assert [session.text(block) for block in session.blocks][:1] == ["go"]
    assert "end" in [session.text(block) for block in session.blocks]
    assert json.dumps(session.record_counts)
