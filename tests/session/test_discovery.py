"""Finding sessions in folders and in the homes of agents."""

import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from inspector.session.discovery import (
    Header,
    describe_folder,
    format_of_name,
    found_in,
    list_sessions,
    read_header,
    search_places,
    sessions_in,
)
from inspector.session.registry import all_formats, detect, format_named
from tests.session.claude_lines import SESSION, Script, session_at
from tests.session.codex_lines import Rollout
from tests.session.opencode_store import Store

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def test_sessions_are_reported_by_content_and_listed_newest_first(tmp_path: Path) -> None:
    old = session_at(tmp_path / "project" / "old.jsonl", 20)
    new = session_at(tmp_path / "other" / "renamed.txt", 10)
    chat = tmp_path / "chat.json"
    chat.write_text('[{"role": "user", "content": "hi"}]')
    os.utime(chat, (1_600_000_000, 1_600_000_000))
    (tmp_path / "package.json").write_text('{"name": "x"}')
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "notes.jsonl").write_text("not a session\n")
    found = list(sessions_in(tmp_path))
    assert [(one.path, one.format) for one in found] == [
        (new, "claude-code"),
        (old, "claude-code"),
        (chat, "openai-chat"),
    ]
    assert [one.size for one in found] == [path.stat().st_size for path in (new, old, chat)]


def test_parts_of_sessions_and_other_peoples_code_are_passed_over(tmp_path: Path) -> None:
    main = session_at(tmp_path / "s.jsonl")
    session_at(tmp_path / "s" / "subagents" / "agent-1.jsonl")
    session_at(tmp_path / "node_modules" / "x" / "fixture.jsonl")
    (tmp_path / "loop").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert [one.path for one in sessions_in(tmp_path)] == [main]


def every(header_batches: Iterable[list[Header]]) -> list[Path]:
    return sorted(header.path for batch in header_batches for header in batch)


def test_linked_project_folders_are_found_and_loops_end(private_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    projects = private_home / ".claude" / "projects"
    own = session_at(projects / "-own" / f"{SESSION}.jsonl")
    elsewhere = private_home / "work" / "shop"
    session_at(elsewhere / "linked.jsonl")
    session_at(elsewhere / "deeper" / "deep.jsonl")
    session_at(private_home / "work" / "unrelated.jsonl")
    (projects / "-shop").symlink_to(elsewhere)
    (projects / "-again").symlink_to(projects / "-own")
    (projects / "-itself").symlink_to(projects / "-itself")
    (projects / "-home").symlink_to(private_home)
    (projects / "-gone").symlink_to(private_home / "nothing")
    (elsewhere / "around").symlink_to(projects)
    (elsewhere / "here").symlink_to(elsewhere)
    found = [own, projects / "-shop" / "deeper" / "deep.jsonl", projects / "-shop" / "linked.jsonl"]
    assert every(list_sessions(search_places())) == sorted(found)
    assert sorted(header.path for header in sessions_in(projects)) == sorted(found)


def test_a_linked_folder_keeps_the_format_of_its_home(private_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CODEX_HOME", raising=False)
    rollout = Rollout()
    rollout.header()
    moved = private_home / "disk" / "2026"
    moved.mkdir(parents=True)
    rollout.write(moved / "rollout-x.jsonl")
    sessions = private_home / ".codex" / "sessions"
    sessions.mkdir(parents=True)
    (sessions / "2026").symlink_to(moved)
    (batch, *_) = list_sessions(search_places())
    assert [(header.path, header.format) for header in batch] == [(sessions / "2026" / "rollout-x.jsonl", "codex")]


def test_a_linked_home_is_the_same_home(tmp_path: Path) -> None:
    own = session_at(tmp_path / "real" / "p" / "s.jsonl")
    (tmp_path / "linked").symlink_to(tmp_path / "real")
    places = search_places([tmp_path / "real", tmp_path / "linked"])
    assert every(list_sessions(places)) == [own]


def test_a_file_with_several_names_is_one_session(tmp_path: Path) -> None:
    own = session_at(tmp_path / "b" / "own.jsonl")
    (tmp_path / "a.jsonl").symlink_to(own)
    (tmp_path / "b" / "latest.jsonl").symlink_to(own)
    (tmp_path / "b" / "zz.jsonl").hardlink_to(own)
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "backup.jsonl").hardlink_to(own)
    assert [header.path for header in sessions_in(tmp_path)] == [own]
    assert every(list_sessions(search_places([tmp_path]))) == [own]


@pytest.mark.parametrize("suffix", [".zst", ".zstd"])
def test_a_session_next_to_its_compressed_copy_is_listed_once(tmp_path: Path, suffix: str) -> None:
    path = session_at(tmp_path / "s.jsonl")
    packed = tmp_path / f"s.jsonl{suffix}"
    packed.write_bytes(zstd.compress(path.read_bytes()))
    session_at(tmp_path / "t.jsonl")
    assert sorted(header.path.name for header in sessions_in(tmp_path)) == ["s.jsonl", "t.jsonl"]
    assert every(list_sessions(search_places([tmp_path]))) == [path, tmp_path / "t.jsonl"]
    path.write_bytes(b"")
    assert sorted(header.path.name for header in sessions_in(tmp_path)) == [packed.name, "t.jsonl"]
    path.unlink()
    assert sorted(header.path.name for header in sessions_in(tmp_path)) == [packed.name, "t.jsonl"]


def test_a_rollout_next_to_its_compressed_copy_counts_once(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.header()
    path = rollout.write(tmp_path / "rollout-x.jsonl")
    (tmp_path / "rollout-x.jsonl.zst").write_bytes(zstd.compress(path.read_bytes()))
    assert every(list_sessions(search_places([tmp_path]))) == [path]
    assert [header.path for header in found_in(tmp_path, with_subagents=True)] == [path]


def test_the_homes_of_claude_code_are_known(private_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    assert search_places() == []
    session_at(private_home / ".claude" / "projects" / "-project" / "s.jsonl")
    assert [place for place, _ in search_places()] == [private_home / ".claude" / "projects"]
    elsewhere = private_home / "elsewhere"
    session_at(elsewhere / "projects" / "-project" / "s.jsonl")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(elsewhere))
    assert [place for place, _ in search_places()] == [elsewhere / "projects"]


def test_formats_have_names_of_their_own_and_say_what_is_exact() -> None:
    names = [known.name for known in all_formats()]
    assert len(set(names)) == len(names)
    assert [format_named(name) for name in names] == list(all_formats())
    assert format_named("no such format") is None
    assert all(known.title and known.exact for known in all_formats())


def test_the_first_lines_and_the_name_do_not_decide(tmp_path: Path) -> None:
    path = session_at(tmp_path / "image.png")
    path.write_bytes(b"garbage\n" + b'{"type":"brand-new-record"}\n' * 40 + path.read_bytes())
    assert detect(path).format.name == "claude-code"


def test_a_session_whose_first_line_is_megabytes_long_is_recognised(tmp_path: Path) -> None:
    script = Script()
    script.prompt("x" * 9_000_000)
    script.text("m1")
    assert detect(script.write(tmp_path / "s.jsonl")).format.name == "claude-code"


def test_a_session_of_bookkeeping_alone_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"type":"file-history-snapshot","messageId":"x","snapshot":{}}\n')
    assert detect(path).format.name == "claude-code"
    path.write_text('{"type":"summary","summary":"A title","leafUuid":"x"}\n')
    assert "1 of the first 1 records" in detect(path).reason


def test_sessions_of_other_agents_are_not_taken_for_ours(corpus: Path) -> None:
    ours = {corpus / "claude-code", corpus / "claude-code-growth" / "cc432c40"}
    for one in sessions_in(corpus):
        assert (one.format == "claude-code") == (one.path.parent in ours), one.path


def batches(folder: Path) -> list[list[Header]]:
    return list(list_sessions(search_places([folder])))


def test_names_tell_sessions_of_agents_before_any_file_is_opened(tmp_path: Path) -> None:
    old = session_at(tmp_path / "projects" / "-p" / f"{SESSION}.jsonl", 20)
    new = tmp_path / "2026" / "rollout-2026-04-07T13-59-53-x.jsonl"
    new.parent.mkdir()
    new.write_text("not looked into\n")
    told = session_at(tmp_path / "renamed.txt", 10)
    first, *others = batches(tmp_path)
    assert [(header.path, header.format, header.is_sniffed) for header in first] == [
        (new, "codex", False),
        (old, "claude-code", False),
    ]
    assert [[(header.path, header.is_sniffed) for header in batch] for batch in others] == [[(told, True)]]


def test_subagents_know_their_parents_by_their_place_and_copies_are_left_out(tmp_path: Path) -> None:
    main = session_at(tmp_path / f"{SESSION}.jsonl")
    folder = tmp_path / SESSION / "subagents"
    child = session_at(folder / "agent-a1.jsonl")
    deep = session_at(folder / "workflows" / "run" / "agent-a2.jsonl")
    session_at(folder / "agent-acompact-ff.jsonl")
    session_at(folder / "agent-aside_question-ff.jsonl")
    (tmp_path / SESSION / "tool-results").mkdir()
    (tmp_path / SESSION / "tool-results" / "toolu_1.json").write_text('[{"role": "user", "content": "x"}]')
    found = {header.path: header.parent for batch in batches(tmp_path) for header in batch}
    assert found == {main: None, child: main, deep: main}


def test_sessions_of_a_database_are_listed_with_what_its_rows_tell(tmp_path: Path) -> None:
    store = Store(title="Mine")
    store.prompt()
    path = store.database(tmp_path / "opencode.db")
    child = Store(identifier="ses_1", parent=store.identifier, title="Found")
    child.prompt()
    child.database(path)
    found = {header.identifier: header for batch in batches(tmp_path) for header in batch}
    assert set(found) == {store.identifier, "ses_1"}
    assert found["ses_1"].parent == found[store.identifier].path
    assert (found[store.identifier].title, found[store.identifier].working_directory) == ("Mine", "/project")


def test_files_that_did_not_change_are_not_looked_into_again(tmp_path: Path) -> None:
    told = session_at(tmp_path / "renamed.txt")
    known: dict = {}
    first = list(list_sessions(search_places([tmp_path]), known))
    shutil.copystat(told, tmp_path / "renamed.txt")
    before = told.stat()
    told.write_bytes(b"x" * before.st_size)
    os.utime(told, (before.st_atime, before.st_mtime))
    assert list(list_sessions(search_places([tmp_path]), known)) == first
    os.utime(told, (1, 1))
    assert list(list_sessions(search_places([tmp_path]), known)) == [[]]


def test_homes_are_looked_through_with_their_owners_names(private_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CODEX_HOME", raising=False)
    rollout = Rollout()
    rollout.header()
    folder = private_home / ".codex" / "archived_sessions"
    folder.mkdir(parents=True)
    path = rollout.write(folder / "rollout-x.jsonl")
    assert [header.path for batch in list_sessions(search_places()) for header in batch] == [path]
    assert [known.name for place, known in search_places() if known is not None and place == folder] == ["codex"]


def test_a_name_alone_tells_an_agent() -> None:
    known = format_of_name("events.jsonl")
    assert known is not None
    assert known.name == "copilot-cli"
    assert format_of_name("notes.jsonl") is None


def test_what_is_no_session_has_no_header(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    assert read_header(tmp_path / "x.json") is None
    assert read_header(tmp_path / "missing") is None
    path = session_at(tmp_path / SESSION / "subagents" / "agent-a1.jsonl")
    header = read_header(path)
    assert header is not None
    assert (header.format, header.parent) == ("claude-code", tmp_path / f"{SESSION}.jsonl")


def test_a_binary_file_named_like_a_session_is_found_with_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "damaged.jsonl").write_bytes(b"\x00\x01\x02" * 100)
    (tmp_path / "noise.jsonl").write_bytes(b"\xff\xfe\xfd\xfc no text" * 10)
    (tmp_path / "picture.png").write_bytes(b"\x00\x01\x02" * 100)
    (tmp_path / "numbers.jsonl").write_text('{"n": 1}\n')

    found = {header.path.name: header.problem for header in found_in(tmp_path)}
    assert found.keys() == {"damaged.jsonl", "noise.jsonl"}
    assert "an unknown binary file" in found["damaged.jsonl"]
    assert "UTF-16" in found["noise.jsonl"]
    assert not list(sessions_in(tmp_path))
    assert {header.path.name for batch in list_sessions(search_places([tmp_path])) for header in batch} == found.keys()
    assert "Unreadable files: 2" in describe_folder(tmp_path)
