"""A session read by a subprocess equals one read in process, and can be followed even if either one dies."""

import dataclasses
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import msgpack

from inspector.errors import SessionError
from inspector.session import reading_process
from inspector.session.follow import Follower
from inspector.session.jsonl_reader import JsonlReader, ReadPlace
from inspector.session.model import Session
from inspector.session.open import open_reader, open_session
from inspector.session.reading_process import ReadingProcess
from inspector.session.transfer import EncodedSession, TransferPart, resumes
from tests.examples import examples
from tests.session.claude_lines import Script
from tests.session.following import assert_same_objects, settle
from tests.session.generated import files
from tests.session.growing import GROWING


@pytest.fixture
def talk(tmp_path: Path) -> Script:
    script = Script()
    for number in range(30):
        script.prompt(f"prompt {number}")
        script.text(f"m{number}", f"answer {number}")
    script.write(tmp_path / "session.jsonl")
    return script


@pytest.fixture
def path(talk: Script, tmp_path: Path) -> Path:
    assert talk
    return tmp_path / "session.jsonl"


def read_by(process: ReadingProcess) -> Follower:
    follower = Follower(process.path, load=False)
    for _ in follower.load(process):
        pass
    return follower


def plugin_event(path: Path) -> Follower:
    """A follower that goes on where another reader is, as it does after a process, without the process."""
    reader = open_reader(path)
    assert resumes(reader)
    for _ in reader.load():
        pass
    encoded = msgpack.encode(TransferPart(1, 1, EncodedSession.of(reader.snapshot()), reader.place))
    part = msgpack.decode(encoded, type=TransferPart)
    return read_by(Sending(path, part))  # type: ignore[arg-type]  as much of a process as is used


class Sending:
    """In the place of a process: sends these parts."""

    def __init__(self, path: Path, *parts: TransferPart) -> None:
        self.path = path
        self._parts = parts

    def parts(self) -> Iterator[TransferPart]:
        yield from self._parts


def test_nothing_of_a_session_but_its_texts_stays_behind() -> None:
    assert {field.name for field in dataclasses.fields(Session)} - {"texts"} == set(EncodedSession.__struct_fields__)


@pytest.mark.parametrize("name", sorted(GROWING))
def test_a_session_of_every_format_is_the_same_once_it_was_sent(name: str, tmp_path: Path) -> None:
    growing = GROWING[name]
    growing.write(tmp_path / growing.name, 12)
    session = open_session(tmp_path / growing.name)

    sent = msgpack.decode(msgpack.encode(EncodedSession.of(session)), type=EncodedSession).session(session.texts)

    assert sent == session
    assert sent.blocks == session.blocks
    assert [sent.text(block) for block in sent.blocks] == [session.text(block) for block in session.blocks]


def test_real_sessions_are_the_same_once_they_were_sent(corpus: Path) -> None:
    for folder in ("claude-code", "codex", "pi"):
        for path in sorted((corpus / folder).rglob("*.jsonl"))[:6]:
            session = open_session(path)
            sent = msgpack.decode(msgpack.encode(EncodedSession.of(session)), type=EncodedSession)
            assert sent.session(session.texts) == session, path


def test_what_a_process_reads_is_what_is_read_here(path: Path) -> None:
    follower = read_by(ReadingProcess(path))

    expected = open_session(path)
    assert follower.session == expected
    assert [follower.session.text(block) for block in follower.session.blocks] == [
        expected.text(block) for block in expected.blocks
    ]
    assert follower.poll() is None
    assert follower.state == "live"


def test_a_process_sends_what_it_has_read_so_far(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(path.read_bytes() * 400)  # the same records again, which are counted and not shown
    follower = Follower(path, load=False)

    sent = [*follower.load(ReadingProcess(path))]

    parts = [each.session for each in sent if each.session is not None]
    assert len(parts) == 2
    assert parts[-1] == follower.session == open_session(path)
    assert [each.is_complete for each in sent] == [*([False] * (len(sent) - 1)), True]
    assert [each.done for each in sent] == sorted(each.done for each in sent)
    assert sent[-1].done == sent[-1].total == path.stat().st_size


def test_a_file_is_not_read_again_before_something_is_added(
    talk: Script, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower = plugin_event(path)
    taken: list[int] = []
    take = JsonlReader._take
    monkeypatch.setattr(JsonlReader, "_take", lambda reader, data: (taken.append(len(data)), take(reader, data)))
    follower.poll()
    settle(path)
    follower.poll()
    assert taken == []

    talk.prompt("more")
    talk.write(path)
    follower.poll()

    assert sum(taken) == path.stat().st_size
    assert follower.session == open_session(path)


@settings(max_examples=examples(60), deadline=None)
@given(lines=files(), cuts=st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_a_session_read_elsewhere_grows_like_one_that_was_read_here(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], cuts: list[float]
) -> None:
    path, data = tmp_path_factory.mktemp("elsewhere") / "session.jsonl", b"".join(lines)
    start = max(len(lines[0]), int(min(cuts) * len(data)))
    path.write_bytes(data[:start])
    settle(path)
    follower = plugin_event(path)
    assert follower.session == open_session(path)
    done = start
    for cut in [*sorted(start + int(cut * (len(data) - start)) for cut in cuts), len(data)]:
        before = follower.session
        with path.open("ab") as file:
            file.write(data[done:cut])
        done = cut
        settle(path)
        follower.poll()
        follower.poll()
        assert follower.session == open_session(path)
        assert_same_objects(follower.session.messages, before.messages)


@pytest.mark.parametrize("name", sorted(name for name, known in GROWING.items() if known.family == "lines"))
def test_every_format_of_lines_goes_on_from_where_a_process_was(name: str, tmp_path: Path) -> None:
    growing, path = GROWING[name], tmp_path / GROWING[name].name
    growing.write(path, 6)
    # A format that keeps more than the lines of one file is read here.
    follower = plugin_event(path) if resumes(open_reader(path)) else read_by(ReadingProcess(path))
    growing.write(path, 9)
    settle(path)

    follower.poll()

    assert follower.change == "appended"
    assert follower.session == open_session(path)


def test_a_last_line_that_was_not_complete_is_taken_when_it_is(talk: Script, path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    follower = plugin_event(path)
    assert follower.session.skipped_records == 1
    with path.open("ab") as file:
        file.write(whole[-20:])

    follower.poll()

    assert follower.session.skipped_records == 0
    assert follower.session == open_session(path)


def test_a_file_that_was_rewritten_is_reread(path: Path) -> None:
    follower = plugin_event(path)
    other = Script()
    other.prompt("something else")
    path.unlink()
    other.write(path)

    follower.poll()

    assert follower.change == "reloaded"
    assert follower.session == open_session(path)


def test_a_file_replaced_while_a_process_read_it_is_read_here(path: Path) -> None:
    follower = Follower(path, load=False)
    stale = msgpack.encode(TransferPart(1, 1, *_sent(path)))
    part = msgpack.decode(stale, type=TransferPart)
    assert part.place is not None
    other = part.place.state._replace(inode=part.place.state.inode + 1)
    moved = TransferPart(1, 1, part.session, part.place._replace(state=other))

    for _ in follower.load(Sending(path, moved)):  # type: ignore[arg-type]  as much of a process as is used
        pass

    assert follower.session == open_session(path)
    assert follower.session.texts is not None


def _sent(path: Path) -> tuple[EncodedSession, ReadPlace]:
    reader = open_reader(path)
    assert resumes(reader)
    for _ in reader.load():
        pass
    return EncodedSession.of(reader.snapshot()), reader.place


def test_what_a_process_cannot_send_is_read_here(tmp_path: Path) -> None:
    script = Script()
    script.prompt("half a character: ?")
    path = script.write(tmp_path / "session.jsonl")
    path.write_bytes(path.read_bytes().replace(b"?", rb"\ud83d"))

    assert read_by(ReadingProcess(path)).session == open_session(path)


def test_a_process_that_ends_in_the_middle_costs_nothing_but_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_process, "PROGRAM", "import os; os.write(1, bytes(7) + b'\\x09half'); os._exit(1)")
    assert read_by(ReadingProcess(path)).session == open_session(path)

    monkeypatch.setattr(reading_process, "PROGRAM", "import os; os.write(1, bytes(7) + b'\\x04what'); os._exit(0)")
    assert read_by(ReadingProcess(path)).session == open_session(path)


def test_what_is_no_session_is_refused_as_it_is_without_a_process(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text("not a session\n")

    with pytest.raises(SessionError):
        read_by(ReadingProcess(path))


@pytest.mark.parametrize("name", ["cline", "opencode"])
def test_a_session_that_is_no_file_of_lines_is_read_here(name: str, tmp_path: Path) -> None:
    growing = next(known for each, known in sorted(GROWING.items()) if each.startswith(name))
    growing.write(tmp_path / growing.name, 3)

    assert read_by(ReadingProcess(tmp_path / growing.name)).session == open_session(tmp_path / growing.name)


def test_no_process_is_started_for_what_is_soon_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ReadingProcess.begin(path) is None
    assert ReadingProcess.begin(path.parent) is None
    assert ReadingProcess.begin(path.with_name("missing.jsonl")) is None
    monkeypatch.setattr(reading_process, "LEAST_BYTES", path.stat().st_size)
    monkeypatch.setattr(reading_process, "processors", lambda: 1)
    assert ReadingProcess.begin(path) is None
    monkeypatch.setattr(reading_process, "processors", lambda: 2)
    process = ReadingProcess.begin(path)
    assert process is not None
    process.stop()
    monkeypatch.setattr(sys, "executable", str(path))
    assert ReadingProcess.begin(path) is None


def test_a_process_no_one_waits_for_any_more_ends(path: Path) -> None:
    begun, left = ReadingProcess(path), ReadingProcess(path)
    parts = left.parts()
    next(parts)
    del parts
    begun.stop()
    begun.stop()

    for process in (begun, left):
        with pytest.raises(ProcessLookupError):
            os.kill(process.identifier, 0)


def test_a_process_finds_the_package_wherever_it_is_started(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere" / "inspector").mkdir(parents=True)
    (tmp_path / "elsewhere" / "json.py").write_text("raise SystemExit('not the library')")
    monkeypatch.chdir(tmp_path / "elsewhere")

    (whole,) = [part for part in ReadingProcess(path).parts() if part.place is not None]

    assert whole.session is not None
    assert os.fsdecode(whole.session.path) == str(path)
