"""Cache of session summaries between runs, and its invalidation."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.replay.pricing.prices import Pricing
from inspector.report.session_summary import (
    FILE_NAME,
    LONGEST_TEXT,
    ReadSummary,
    SessionSummary,
    SummaryCache,
    summarize,
)
from inspector.ui.sessions.finder import SessionFinder
from tests.examples import examples
from tests.session.growing import GROWING

if TYPE_CHECKING:
    import pytest

PRICING = Pricing()


def kept(name: str, **fields: object) -> ReadSummary:
    return ReadSummary(SessionSummary(Path(os.fsdecode(name.encode("latin-1"))), **fields), 10, 1.5, 7, 0.25)  # type: ignore[arg-type]  # any field


def test_what_was_kept_is_given_again(tmp_path: Path) -> None:
    cache = SummaryCache(tmp_path / "lists")
    parent = Path("/a/parent.jsonl")
    first = kept("/a/caf\xe9.jsonl", format="codex", title="é", tokens=5, usd=0.5, parent=parent, is_whole=False)
    second = kept("/b", format="pi")
    assert cache.save([first, second], PRICING)
    assert cache.load(PRICING) == {one.summary.path: one for one in (first, second)}
    assert (tmp_path / "lists").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "lists" / FILE_NAME).stat().st_mode & 0o777 == 0o600


def test_texts_are_kept_short_and_half_characters_do_no_harm(tmp_path: Path) -> None:
    cache = SummaryCache(tmp_path)
    assert cache.save([kept("/a", prompt="x" * 5000, last="half \ud83d", title="\udcff")], PRICING)
    (found,) = cache.load(PRICING).values()
    assert found.summary.prompt == "x" * LONGEST_TEXT
    assert (found.summary.last, found.summary.title) == ("half ?", "?")


def test_other_prices_make_summaries_again(tmp_path: Path) -> None:
    cache = SummaryCache(tmp_path)
    cache.save([kept("/a")], PRICING)
    assert cache.load(Pricing(factor=2.0)) == {}
    assert cache.load(Pricing())


def test_no_more_is_kept_than_there_is_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspector.report.session_summary.MOST_KEPT", 2)
    cache = SummaryCache(tmp_path)
    cache.save([kept("/a"), kept("/b"), kept("/c")], PRICING)
    assert list(map(str, cache.load(PRICING))) == ["/a", "/b"]
    monkeypatch.setattr("inspector.report.session_summary.MOST_BYTES", 10)
    assert cache.load(PRICING) == {}


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = SummaryCache(tmp_path / "file" / "lists")
    assert not cache.save([kept("/a")], PRICING)
    assert cache.load(PRICING) == {}
    cache.forget()


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_a_damaged_file_is_as_good_as_none(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    cache = SummaryCache(tmp_path_factory.mktemp("cache"))
    cache.save([kept("/a", title="x", parent=Path("/b")), kept("/c", usd=1.0)], PRICING)
    path = cache.folder / FILE_NAME
    whole = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(whole[: data.draw(st.integers(0, len(whole)))]))
    assert all(isinstance(name, Path) for name in cache.load(PRICING))


def sessions(folder: Path) -> list[Path]:
    paths = [folder / "claude.jsonl", folder / "codex.jsonl"]
    GROWING["claude-code"].write(paths[0], 2)
    GROWING["codex"].write(paths[1], 2)
    return paths


def listed(folder: Path, *, keeps: bool = True) -> dict[Path, SessionSummary]:
    told: dict[Path, SessionSummary] = {}
    finder = SessionFinder((), (folder,), keeps=keeps)
    finder.run(lambda *_: None, lambda summaries: told.update({s.path: s for s in summaries}), lambda: len(told) == 2)
    return told


def test_only_sessions_that_changed_are_read_in_another_run(
    tmp_path: Path, private_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inspector.ui.sessions.finder.SECONDS_WORTH_KEEPING", 0.0)
    paths = sessions(tmp_path)
    first = listed(tmp_path)
    assert first == {path: summarize(path, PRICING) for path in paths}
    read: list[Path] = []

    def watched(path: Path, *arguments: object, **options: object) -> SessionSummary:
        read.append(path)
        return summarize(path, *arguments, **options)  # type: ignore[arg-type]  # as they were given

    monkeypatch.setattr("inspector.report.session_summary.summarize", watched)
    assert listed(tmp_path) == first
    assert read == []
    GROWING["codex"].write(paths[1], 4)
    assert listed(tmp_path)[paths[1]].calls == 4
    assert read == [paths[1]]
    listed(tmp_path, keeps=False)
    assert sorted(read[1:]) == paths
    assert list(private_home.rglob(FILE_NAME)) == [], "what was kept before is gone, too"


def test_what_could_not_be_read_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspector.ui.sessions.finder.SECONDS_WORTH_KEEPING", 0.0)
    sessions(tmp_path)
    with monkeypatch.context() as locked:
        locked.setattr(
            "inspector.report.session_summary.summarize", lambda path, *_, **__: SessionSummary(path, problem="locked")
        )
        assert {summary.problem for summary in listed(tmp_path).values()} == {"locked"}
    assert {summary.problem for summary in listed(tmp_path).values()} == {""}
