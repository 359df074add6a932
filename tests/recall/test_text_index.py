"""Text search in sessions: results, their order, and the cached index."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from functools import cache
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.recall.find import sessions_at
from inspector.recall.text_index import FILE_NAME, IndexUnavailableError, drop_index, open_index
from inspector.session.open import open_session
from tests.conftest import ROOT
from tests.session.claude_lines import Script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from inspector.recall.text_index import TextSearch

CODING = ROOT / "sample_sessions" / "coding-agent.jsonl"


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return tmp_path / "cache" / FILE_NAME


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    folder = tmp_path / "sessions"
    folder.mkdir()
    return folder


def write(path: Path, *texts: str) -> Path:
    script = Script()
    for number, text in enumerate(texts):
        script.prompt(text)
        script.text(f"answer-{number}", f"Answer {number}.")
    script.write(path)
    return path


def search(index: Path | None, asked: str, path: Path, limit: int = 10_000) -> TextSearch:
    headers = sessions_at([path])
    with open_index(index) as opened:
        opened.update(headers)
        return opened.search(asked, headers, limit)


def excerpts(index: Path | None, asked: str, path: Path) -> list[str]:
    return [hit.excerpt for hit in search(index, asked, path).hits]


def read_of(index: Path, path: Path, tell: Callable[[int], None] = lambda done: None) -> int:
    """Bring an index up to date; how many sessions are read for it."""
    totals = [0]

    def progress(done: int, total: int) -> None:
        totals.append(total)
        tell(done)

    with open_index(index) as opened:
        opened.update(sessions_at([path]), progress)
    return totals[-1]


def test_any_word_is_enough_in_any_of_its_forms_and_more_and_rarer_ones_come_first(sessions: Path) -> None:
    said = ("compacting of zebras", "the compacted one", "compacted again", "a zebra alone here", "nothing of it")
    found = excerpts(None, "zebra compactions", write(sessions / "one.jsonl", *said))
    assert found[0] == said[0]
    assert set(found) == set(said[:4])
    assert found.index(said[3]) < found.index(said[1])


def test_text_that_is_there_literally_comes_first_inside_a_word_too(sessions: Path) -> None:
    said = ("reset twice, reset again: reset", "prefix_xyzreset_suffix(1)", "unrelated")
    found = search(None, "xyzReset_", write(sessions / "one.jsonl", *said)).hits
    assert [(hit.excerpt, hit.is_literal) for hit in found] == [(said[1], True)]
    assert excerpts(None, '"quoted" AND', write(sessions / "two.jsonl", 'say "quoted" AND this')) == [
        'say "quoted" AND this'
    ]


def test_a_hit_names_the_line_and_leads_to_its_text(sessions: Path) -> None:
    text = "\n".join(["first", "second", f"{'long ' * 100}needle{' long' * 100}", "last"])
    (hit,) = search(None, "needle", write(sessions / "one.jsonl", text)).hits
    assert hit.line == 3
    assert "needle" in hit.excerpt
    assert (hit.excerpt[0], hit.excerpt[-1]) == ("…", "…")
    assert hit.place.session.text(hit.place.session.all_blocks[hit.place.block]) == text


def test_a_text_that_two_sessions_hold_is_found_once_and_says_so(index: Path, sessions: Path) -> None:
    write(sessions / "one.jsonl", "the same giraffe")
    write(sessions / "two.jsonl", "the same giraffe", "and more")
    (hit,) = search(index, "giraffe", sessions).hits
    assert hit.sessions == 2
    (alone,) = search(index, "giraffe", sessions / "one.jsonl").hits
    assert (alone.sessions, alone.place.session.path) == (1, sessions / "one.jsonl")


def test_only_what_is_new_or_has_changed_is_read_again(index: Path, sessions: Path) -> None:
    write(sessions / "one.jsonl", "the first giraffe")
    write(sessions / "two.jsonl", "the second giraffe")
    assert read_of(index, sessions) == 2
    assert read_of(index, sessions) == 0
    write(sessions / "two.jsonl", "the second giraffe", "a third giraffe")
    assert read_of(index, sessions) == 1
    assert len(search(index, "giraffe", sessions).hits) == 3


def test_what_was_in_a_session_that_is_gone_or_was_rewritten_is_found_no_more(index: Path, sessions: Path) -> None:
    write(sessions / "one.jsonl", "the first giraffe")
    write(sessions / "two.jsonl", "the second giraffe")
    assert len(search(index, "giraffe", sessions).hits) == 2
    (sessions / "one.jsonl").unlink()
    assert excerpts(index, "giraffe", sessions) == ["the second giraffe"]
    write(sessions / "two.jsonl", "an okapi")
    assert excerpts(index, "giraffe", sessions) == []
    assert excerpts(index, "okapi", sessions) == ["an okapi"]


def test_an_index_that_is_mostly_of_what_is_gone_is_rebuilt(index: Path, sessions: Path) -> None:
    path = sessions / "one.jsonl"
    for number in range(4):
        write(path, *(f"giraffe {number} {text}" for text in range(20)))
        read_of(index, sessions)
    with closing(sqlite3.connect(index)) as connection:
        (texts,) = connection.execute("SELECT count(*) FROM texts").fetchone()
    assert texts < 3 * 40
    assert len(search(index, "giraffe", sessions).hits) == 20


def test_an_update_that_is_broken_off_keeps_whole_sessions_and_goes_on_from_there(index: Path, sessions: Path) -> None:
    for number in range(4):
        write(sessions / f"{number}.jsonl", f"giraffe {number}")

    def interrupt(done: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_of(index, sessions, interrupt)
    assert read_of(index, sessions) == 2
    assert len(search(index, "giraffe", sessions).hits) == 4


def test_the_index_is_private_and_holds_no_text(index: Path) -> None:
    assert search(index, "auditor", CODING).hits
    assert stat.S_IMODE(index.stat().st_mode) == 0o600
    assert stat.S_IMODE(index.parent.stat().st_mode) == 0o700
    kept = index.read_bytes()
    session = open_session(CODING)
    lines = {line for block in session.all_blocks for line in session.text(block).splitlines() if len(line) > 60}
    assert lines
    assert not [line for line in lines if line.encode() in kept]


@pytest.mark.parametrize("broken", [b"", b"no database" * 1000, b"SQLite format 3\0" + b"\xff" * 5000])
def test_an_index_that_is_none_is_rebuilt(index: Path, sessions: Path, broken: bytes) -> None:
    index.parent.mkdir(mode=0o700)
    index.write_bytes(broken)
    assert excerpts(index, "giraffe", write(sessions / "one.jsonl", "a giraffe")) == ["a giraffe"]


def test_an_index_of_another_version_is_rebuilt(index: Path, sessions: Path) -> None:
    path = write(sessions / "one.jsonl", "a giraffe")
    read_of(index, path)
    with closing(sqlite3.connect(index)) as connection:
        connection.execute("PRAGMA user_version = 99")
    assert read_of(index, path) == 1
    assert excerpts(index, "giraffe", path) == ["a giraffe"]


def test_where_none_can_be_kept_it_says_how_to_do_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    with pytest.raises(IndexUnavailableError) as raised, open_index(tmp_path / "file" / FILE_NAME):
        pass
    assert "--no-index" in raised.value.explanation


def test_a_dropped_index_is_gone_and_made_again_when_asked_for(index: Path, sessions: Path) -> None:
    path = write(sessions / "one.jsonl", "a giraffe")
    assert not drop_index(index)
    read_of(index, path)
    assert drop_index(index)
    assert not list(index.parent.iterdir())
    assert excerpts(index, "giraffe", path) == ["a giraffe"]


@cache
def sample_texts() -> tuple[str, ...]:
    session = open_session(CODING)
    return tuple(session.text(block) for block in session.all_blocks)


@pytest.fixture(scope="module")
def searched() -> Iterator[Callable[[str], TextSearch]]:
    headers = sessions_at([CODING])
    with open_index(None) as opened:
        opened.update(headers)
        yield lambda asked: opened.search(asked, headers, 10_000)


@given(data=st.data())
def test_the_texts_that_hold_a_question_literally_are_those_that_do(
    searched: Callable[[str], TextSearch], data: st.DataObject
) -> None:
    text = data.draw(st.sampled_from([text for text in sample_texts() if len(text) > 10]))
    start = data.draw(st.integers(0, len(text) - 5))
    asked = text[start : start + data.draw(st.integers(3, 30))]
    hits = (hit.place for hit in searched(asked).hits if hit.is_literal)
    found = {place.session.text(place.session.all_blocks[place.block]) for place in hits}
    assert found == {text for text in sample_texts() if asked.lower() in text.lower()}
