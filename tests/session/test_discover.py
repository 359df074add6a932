"""Finding sessions in folders and in the homes of agents."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from inspector.session.discovery import places, sessions_in
from inspector.session.registry import all_formats, detect, format_named
from tests.session.claude_lines import Script, session_at

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_sessions_are_told_by_content_and_listed_newest_first(tmp_path: Path) -> None:
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


def test_the_homes_of_claude_code_are_known(private_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    assert places() == []
    session_at(private_home / ".claude" / "projects" / "-project" / "s.jsonl")
    assert [place for place, _ in places()] == [private_home / ".claude" / "projects"]
    elsewhere = private_home / "elsewhere"
    session_at(elsewhere / "projects" / "-project" / "s.jsonl")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(elsewhere))
    assert [place for place, _ in places()] == [elsewhere / "projects"]


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
    assert "1 of its first 1 records" in detect(path).reason


def test_sessions_of_other_agents_are_not_taken_for_ours(corpus: Path) -> None:
    ours = {corpus / "claude-code", corpus / "claude-code-growth" / "cc432c40"}
    for one in sessions_in(corpus):
        assert (one.format == "claude-code") == (one.path.parent in ours), one.path
