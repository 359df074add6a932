"""Following files that other processes write, replace and delete, and waiting for those that are not there yet."""

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.cli.output import CommandError
from inspector.cli.reading import resolve_targets
from inspector.errors import SessionError
from inspector.session.files import may_appear
from inspector.session.follow import Follower, Update, follow, why_not_ready
from inspector.session.model import TextUnavailableError
from inspector.session.open import open_session
from tests.examples import examples
from tests.session.claude_lines import Script
from tests.session.codex_lines import Rollout
from tests.session.following import assert_same_objects

WRITER = """
import sys, time
source, target, first = sys.argv[1], sys.argv[2], int(sys.argv[3])
for line in open(source, "rb").read().splitlines(keepends=True)[first:]:
    with open(target, "ab") as file:
        file.write(line[:len(line) // 2]); file.flush()
        file.write(line[len(line) // 2:])
    time.sleep(0.002)
"""


def conversation(turns: int, start: int = 0) -> Script:
    script = Script()
    for number in range(start, start + turns):
        script.prompt(f"prompt {number}", uuid=f"u{number}")
        script.text(f"m{number}", f"answer {number}", uuid=f"a{number}")
    return script


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return conversation(3).write(tmp_path / "session.jsonl")


@contextlib.asynccontextmanager
async def following(path: Path) -> AsyncIterator[AsyncIterator[Update]]:
    stop = asyncio.Event()
    updates = follow(path, stop)
    try:
        async with asyncio.timeout(60):
            yield updates
    finally:
        stop.set()
        await updates.aclose()  # type: ignore[attr-defined]  # it is an async generator


@pytest.fixture(params=["events", "stat"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "stat":
        monkeypatch.setenv("INSPECTOR_WATCH", "stat")
    return str(request.param)


@pytest.mark.usefixtures("way")
async def test_what_another_process_appends_arrives_whole(tmp_path: Path, corpus: Path) -> None:
    source = corpus / "claude-code-growth/cc432c40/snap4.jsonl"
    lines = source.read_bytes().splitlines(keepends=True)
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(lines[:20]))
    expected = open_session(source)
    async with following(path) as updates:
        assert (await anext(updates)).change == "loaded"
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(source), str(path), "20"])
        try:
            update = await anext(updates)
            while len(update.session.blocks) < len(expected.blocks):
                update = await anext(updates)
                assert update.change == "appended"
        finally:
            writer.wait(60)
    assert update.session.messages == expected.messages
    assert update.session.calls == expected.calls


@pytest.mark.usefixtures("way")
async def test_deletion_keeps_the_last_view_and_reappearance_is_noticed(path: Path) -> None:
    async with following(path) as updates:
        last = (await anext(updates)).session
        content = path.read_bytes()
        path.unlink()
        update = await anext(updates)
        assert (update.change, update.session) == ("vanished", last)
        assert update.session.text(update.session.blocks[-1]) == "answer 2"
        assert path.name in update.notice
        other = path.with_name("new")
        other.write_bytes(content + conversation(1, 3).encoded()[0])
        other.replace(path)
        update = await anext(updates)
        assert update.change == "returned"
        assert len(update.session.blocks) == 7


@pytest.mark.usefixtures("way")
async def test_a_deleted_folder_that_comes_back_is_followed_on(path: Path) -> None:
    content = path.read_bytes()
    async with following(path) as updates:
        await anext(updates)
        shutil.rmtree(path.parent)
        assert (await anext(updates)).change == "vanished"
        path.parent.mkdir()
        path.write_bytes(content)
        assert (await anext(updates)).change == "returned"
        with path.open("ab") as file:
            file.write(conversation(1, 9).encoded()[0])
        update = await anext(updates)
        assert update.change == "appended"
        assert len(update.session.blocks) == 7


async def test_a_link_to_a_session_elsewhere_is_followed(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "links" / "latest.jsonl"
    link.parent.mkdir()
    link.symlink_to(path)
    async with following(link) as updates:
        await anext(updates)
        with path.open("ab") as file:
            file.write(conversation(1, 9).encoded()[0])
        assert (await anext(updates)).change == "appended"


async def test_what_is_no_session_cannot_be_followed(tmp_path: Path) -> None:
    with pytest.raises(SessionError):
        await anext(follow(tmp_path / "missing.jsonl"))


def poll(follower: Follower) -> str:
    follower.poll()
    return follower.change


def test_an_atomic_replacement_is_reread(path: Path) -> None:
    follower = Follower(path)
    conversation(5, 10).write(path.with_name("new")).replace(path)
    assert poll(follower) == "reloaded"
    assert follower.session == open_session(path)
    assert poll(follower) == ""


def test_a_file_cut_short_is_reread(path: Path) -> None:
    follower = Follower(path)
    path.write_bytes(b"".join(conversation(3).encoded()[:2]))
    assert poll(follower) == "reloaded"
    assert len(follower.session.messages) == 2


def test_a_longer_rewrite_in_place_is_reread(path: Path) -> None:
    follower = Follower(path)
    conversation(30, 50).write(path)
    assert poll(follower) == "reloaded"
    assert follower.session == open_session(path)


def test_a_change_just_before_the_end_of_what_was_read_is_noticed(tmp_path: Path) -> None:
    path = conversation(40).write(tmp_path / "session.jsonl")
    assert path.stat().st_size > 8192
    follower = Follower(path)
    script = conversation(40)
    script.lines[-1]["message"]["content"][0]["text"] = "ANSWER 39"
    script.prompt("more")
    script.write(path)
    assert poll(follower) == "reloaded"
    assert follower.session == open_session(path)


def test_a_file_emptied_before_it_is_rewritten_keeps_its_last_view(path: Path) -> None:
    follower = Follower(path)
    before = follower.session
    path.write_bytes(b"")
    assert poll(follower) == ""
    assert follower.session is before
    conversation(1, 7).write(path)
    assert poll(follower) == "reloaded"
    assert len(follower.session.messages) == 2


def test_something_else_in_its_place_keeps_the_last_view_and_says_so_once(path: Path) -> None:
    notices: list[str] = []
    follower = Follower(path, on_notice=notices.append)
    before = follower.session
    path.write_text("Dear diary")
    assert poll(follower) == "notice"
    assert poll(follower) == ""
    assert follower.session is before
    assert len(notices) == 1
    conversation(4, 7).write(path)
    assert poll(follower) == "reloaded"


def test_a_folder_or_pipe_in_its_place_does_no_harm(path: Path) -> None:
    follower = Follower(path)
    before = follower.session
    path.unlink()
    os.mkfifo(path)
    assert poll(follower) == "notice"
    path.unlink()
    path.mkdir()
    assert poll(follower) == "notice"
    assert follower.session is before


def test_a_file_moved_away_and_back_returns_as_it_was(path: Path) -> None:
    follower = Follower(path)
    before = follower.session
    path.rename(path.with_name("aside"))
    assert poll(follower) == "vanished"
    assert follower.state == "vanished"
    assert poll(follower) == ""
    path.with_name("aside").rename(path)
    assert poll(follower) == "returned"
    assert follower.state == "live"
    assert follower.session is before


def test_touching_a_file_changes_nothing(path: Path) -> None:
    follower = Follower(path)
    os.utime(path)
    assert poll(follower) == ""
    assert follower.poll() is None


def test_texts_of_a_rewritten_file_are_unavailable_not_wrong(path: Path) -> None:
    session = open_session(path)
    path.write_bytes(path.read_bytes().replace(b"answer 1", b"ANSWER 1"))
    with pytest.raises(TextUnavailableError, match=r"session\.jsonl has been rewritten"):
        session.text(session.blocks[3])
    assert session.text(session.blocks[1]) == "answer 0"
    path.write_bytes(b"")
    with pytest.raises(TextUnavailableError, match="shorter"):
        session.texts.record(session.blocks[3])


def test_reading_changes_nothing_on_disk(path: Path) -> None:
    before = (path.read_bytes(), path.stat().st_mtime_ns, sorted(path.parent.iterdir()))
    follower = Follower(path)
    follower.poll()
    for block in follower.session.blocks:
        follower.session.text(block)
    assert (path.read_bytes(), path.stat().st_mtime_ns, sorted(path.parent.iterdir())) == before


def test_a_big_file_shows_its_first_rows_before_it_is_read(tmp_path: Path) -> None:
    script = Script()
    for number in range(60):
        script.call(f"m{number}", f"t{number}")
        script.result(f"t{number}", f"{number:06d} " * 15_000)
    path = script.write(tmp_path / "session.jsonl")
    loadings = list(Follower(path, load=False).load())
    parts = [loading.session for loading in loadings if loading.session is not None]
    assert len(parts) > 2
    assert parts[-1] == open_session(path)
    for part in parts[:-1]:
        common = len(part.messages) - 2
        assert all(new is old for new, old in zip(parts[-1].messages[:common], part.messages, strict=False))
    assert [loading.done for loading in loadings] == sorted(loading.done for loading in loadings)
    assert loadings[-1].is_complete
    assert loadings[-1].done == loadings[-1].total == path.stat().st_size


def test_a_document_grows_when_it_is_rewritten_and_is_kept_while_it_is_broken(tmp_path: Path) -> None:
    path = tmp_path / "conversation.json"
    path.write_text('[{"role": "user", "content": "hi"}]')
    follower = Follower(path)
    before = follower.session
    path.write_text('[{"role": "user", "content": "hi"}, {"role": "assi')
    assert poll(follower) == ""
    assert follower.session is before
    path.write_text('[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]')
    assert poll(follower) == "appended"
    assert follower.session == open_session(path)
    assert len(follower.session.messages) == 2
    assert follower.session.messages[0] is before.messages[0]
    assert poll(follower) == ""


def test_a_document_that_stays_broken_is_shown_to_be_so_once(tmp_path: Path) -> None:
    path = tmp_path / "conversation.json"
    path.write_text('[{"role": "user", "content": "hi"}]')
    follower = Follower(path)
    before = follower.session
    path.write_text('[{"role": "user", "content": "hi"}, {"role": "assi')
    os.utime(path, (1_700_000_000, 1_700_000_000))
    assert poll(follower) == "notice"
    assert poll(follower) == ""
    assert follower.session is before
    path.write_text('[{"role": "user", "content": "hi"}, {"role": "user", "content": "still there?"}]')
    assert poll(follower) == "appended"
    assert len(follower.session.messages) == 2


def test_a_document_replaced_by_one_of_another_format_is_reread(tmp_path: Path) -> None:
    path = tmp_path / "conversation.json"
    path.write_text('[{"role": "user", "content": "hi"}]')
    follower = Follower(path)
    conversation(2).write(path)
    assert poll(follower) == "reloaded"
    assert follower.session.format == "claude-code"


@settings(max_examples=examples(60), deadline=None)
@given(
    sizes=st.lists(st.tuples(st.integers(0, 90), st.integers(0, 90), st.booleans()), min_size=1, max_size=8),
)
def test_a_rewritten_document_is_a_loaded_one_and_changes_show_from_the_end(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[tuple[int, int, bool]]
) -> None:
    path = tmp_path_factory.mktemp("document") / "conversation.json"
    path.write_text('[{"role": "user", "content": "first"}]')
    follower = Follower(path)
    for number, (size, changed, is_atomic) in enumerate(sizes):
        before = follower.session.messages
        entries = [
            {"role": "user", "content": f"{index} {number if index == changed else ''}"} for index in range(size)
        ]
        target = path.with_suffix(".new") if is_atomic else path
        target.write_text(json.dumps([{"role": "user", "content": "first"}, *entries]))
        target.replace(path)
        follower.poll()
        after = follower.session.messages
        assert follower.session == open_session(path)
        assert [follower.session.text(block) for block in follower.session.blocks][1:] == [
            entry["content"] for entry in entries
        ]
        assert_same_objects(after, before)


def rollout() -> Rollout:
    made = Rollout()
    made.header()
    made.prompt("go")
    return made


def test_a_session_is_awaited_until_there_is_one(tmp_path: Path) -> None:
    path = tmp_path / "later.jsonl"
    assert may_appear(path)
    assert why_not_ready(path) == "the file does not exist yet"
    path.touch()
    assert may_appear(path)
    assert why_not_ready(path) == "the file is still empty"
    path.write_bytes(rollout().encoded()[0][:30])
    assert why_not_ready(path) == "it is not a session yet"
    rollout().write(path)
    assert why_not_ready(path) == ""
    assert not may_appear(path)


def test_a_folder_is_awaited_until_a_session_is_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "later"
    assert may_appear(folder)
    folder.mkdir()
    assert why_not_ready(folder)
    rollout().write(folder / "rollout.jsonl")
    assert why_not_ready(folder) == ""


async def test_a_session_that_is_not_there_yet_can_be_waited_for_and_followed(tmp_path: Path) -> None:
    path = tmp_path / "later.jsonl"
    stop = asyncio.Event()
    updates: list[Update] = []

    async def listen() -> None:
        async for update in follow(path, stop, waits=True):
            updates.append(update)
            if len(updates) == 2:
                stop.set()

    async with asyncio.timeout(60):
        listening = asyncio.create_task(listen())
        await asyncio.sleep(0.05)
        path.write_bytes(rollout().encoded()[0][:30])
        await asyncio.sleep(0.05)
        assert updates == []
        made = rollout()
        made.write(path)
        while not updates and not listening.done():
            await asyncio.sleep(0.02)
        made.response("c1")
        made.write(path)
        await listening
    assert [len(update.session.calls) for update in updates] == [0, 1]


async def test_waiting_for_a_session_ends_on_request_and_a_slip_is_an_error(tmp_path: Path) -> None:
    stop = asyncio.Event()
    stop.set()
    assert [update async for update in follow(tmp_path / "later.jsonl", stop, waits=True)] == []
    with pytest.raises(SessionError, match="no such file"):
        await anext(follow(tmp_path / "later.jsonl"))
    with pytest.raises(SessionError, match="no such file"):
        await anext(follow(tmp_path / "nowhere" / "later.jsonl", waits=True))


def test_nothing_is_awaited_where_there_is_no_folder_or_something_else(tmp_path: Path) -> None:
    assert not may_appear(tmp_path / "nowhere" / "later.jsonl")
    assert not may_appear(tmp_path)
    (tmp_path / "notes.txt").write_text("notes")
    assert not may_appear(tmp_path / "notes.txt")
    assert not may_appear(tmp_path / "notes.txt" / "later.jsonl")
    assert not may_appear(tmp_path / ("x" * 5000))


def test_the_screen_waits_for_a_named_path_but_not_for_a_slip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "later.jsonl"
    assert resolve_targets([path], waits=True).sessions == (path,)
    with pytest.raises(CommandError, match="no such file"):
        resolve_targets([path])
    rollout().write(tmp_path / "rollout-1.jsonl")
    with pytest.raises(CommandError, match="no such file"):
        resolve_targets([tmp_path / "rolout-1.jsonl"], waits=True)
    with pytest.raises(CommandError, match="Did you mean the command report"):
        resolve_targets([tmp_path.relative_to(tmp_path) / "reprot"], waits=True)
    with pytest.raises(CommandError, match="Check the path"):
        resolve_targets([tmp_path.relative_to(tmp_path) / "old-sessions"])
