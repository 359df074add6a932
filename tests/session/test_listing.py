"""Lists of sessions: what names tell without a look into any file, families, and what only content tells."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from inspector.session.discovery import Header, format_of_name, header_of, list_sessions, places
from tests.session.claude_lines import SESSION, session_at
from tests.session.codex_lines import Rollout
from tests.session.opencode_store import Store

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def batches(folder: Path) -> list[list[Header]]:
    return list(list_sessions(places([folder])))


def test_names_tell_sessions_of_agents_before_any_file_is_opened(tmp_path: Path) -> None:
    old = session_at(tmp_path / "projects" / "-p" / f"{SESSION}.jsonl", 20)
    new = tmp_path / "2026" / "rollout-2026-04-07T13-59-53-x.jsonl"
    new.parent.mkdir()
    new.write_text("not looked into\n")
    told = session_at(tmp_path / "renamed.txt", 10)
    first, *others = batches(tmp_path)
    assert [(header.path, header.format, header.is_told) for header in first] == [
        (new, "codex", False),
        (old, "claude-code", False),
    ]
    assert [[(header.path, header.is_told) for header in batch] for batch in others] == [[(told, True)]]


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
    first = list(list_sessions(places([tmp_path]), known))
    shutil.copystat(told, tmp_path / "renamed.txt")
    before = told.stat()
    told.write_bytes(b"x" * before.st_size)
    os.utime(told, (before.st_atime, before.st_mtime))
    assert list(list_sessions(places([tmp_path]), known)) == first
    os.utime(told, (1, 1))
    assert list(list_sessions(places([tmp_path]), known)) == [[]]


def test_homes_are_looked_through_with_their_owners_names(private_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CODEX_HOME", raising=False)
    rollout = Rollout()
    rollout.header()
    folder = private_home / ".codex" / "archived_sessions"
    folder.mkdir(parents=True)
    path = rollout.write(folder / "rollout-x.jsonl")
    assert [header.path for batch in list_sessions(places()) for header in batch] == [path]
    assert [known.name for place, known in places() if known is not None and place == folder] == ["codex"]


def test_a_name_alone_tells_an_agent() -> None:
    known = format_of_name("events.jsonl")
    assert known is not None
    assert known.name == "copilot-cli"
    assert format_of_name("notes.jsonl") is None


def test_what_is_no_session_has_no_header(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    assert header_of(tmp_path / "x.json") is None
    assert header_of(tmp_path / "missing") is None
    path = session_at(tmp_path / SESSION / "subagents" / "agent-a1.jsonl")
    header = header_of(path)
    assert header is not None
    assert (header.format, header.parent) == ("claude-code", tmp_path / f"{SESSION}.jsonl")
