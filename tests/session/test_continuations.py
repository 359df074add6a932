"""Trajectories that were compacted go on in other files, and are read as one session."""

from pathlib import Path
from typing import Any

from inspector.session.discovery import sessions_in
from inspector.session.follow import Follower
from inspector.session.model import Context, ContextCause, Session
from inspector.session.open import open_session
from tests.session import run_files
from tests.session.run_files import Record, encoded
from tests.session.soundness import assert_sound

SYSTEM: Record = {"source": "system", "message": "You code."}


def steps_of(*parts: Any) -> list[Record]:
    """Steps numbered through."""
    return [{**part, "step_id": number} for number, part in enumerate(parts, 1)]


def copied(step: Record) -> Record:
    return {**step, "is_copied_context": True}


def write(folder: Path, count: int) -> Path:
    turns = run_files.trajectory(2)["steps"]
    for number in range(count):
        document = run_files.trajectory(0)
        summary = {"source": "user", "message": f"summary {number}"}
        begun = [copied(SYSTEM), copied(turns[0]), copied(summary)] if number else [SYSTEM, turns[0]]
        document["steps"] = steps_of(*begun, *turns[1:])
        if number + 1 < count:
            document["continued_trajectory_ref"] = f"trajectory.cont-{number + 1}.json"
        name = f"trajectory.cont-{number}.json" if number else "trajectory.json"
        (folder / name).write_bytes(encoded(document))
    return folder / "trajectory.json"


def texts_of(session: Session, context: Context) -> list[str]:
    return [session.text(block) for index in context.members for block in session.messages[index].blocks]


def test_a_trajectory_is_read_with_the_files_in_which_it_goes_on(tmp_path: Path) -> None:
    session = open_session(write(tmp_path, 3))
    assert_sound(session)
    assert [path.name for path in session.files] == [
        "trajectory.json",
        "trajectory.cont-1.json",
        "trajectory.cont-2.json",
    ]
    assert [context.cause for context in session.contexts] == [ContextCause.START, *[ContextCause.COMPACTION] * 2]
    assert [texts_of(session, context)[:3] for context in session.contexts] == [
        ["You code.", "go on", "turn 0"],
        ["You code.", "go on", "summary 1"],
        ["You code.", "go on", "summary 2"],
    ]
    assert len(session.calls) == 6, "two of each file, none of what was copied"
    assert len(session.compactions) == 2
    said = [session.text(block) for block in session.blocks]
    assert said.count("You code.") == 1, "what was copied is not there twice"
    assert said.count("turn 1") == 3


def test_files_in_which_a_trajectory_goes_on_are_not_listed_next_to_it(tmp_path: Path) -> None:
    path = write(tmp_path, 3)
    assert [found.path for found in sessions_in(tmp_path)] == [path]
    alone = open_session(tmp_path / "trajectory.cont-2.json")
    assert len(alone.calls) == 2, "each of them can be opened for itself"


def test_a_continuation_that_is_missing_elsewhere_or_circular_is_only_named(tmp_path: Path) -> None:
    path = write(tmp_path, 1)
    outside = tmp_path.parent / "outside.json"
    outside.write_bytes(path.read_bytes())
    for place in ("gone.json", "../outside.json", str(outside), "https://example.invalid/t.json", "trajectory.json"):
        document = {**run_files.trajectory(1), "continued_trajectory_ref": place}
        path.write_bytes(encoded(document))
        session = open_session(path)
        assert_sound(session)
        assert len(session.files) == 1, place
        assert session.text(session.messages[-1].blocks[0]) == f"continued in {place}"


def test_a_continuation_is_followed_while_it_is_written(tmp_path: Path) -> None:
    path = write(tmp_path, 1)
    follower = Follower(path)
    assert len(follower.session.calls) == 2
    write(tmp_path, 2)
    follower.poll()
    assert len(follower.session.calls) == 4
    whole = (tmp_path / "trajectory.cont-1.json").read_bytes()
    (tmp_path / "trajectory.cont-1.json").write_bytes(whole[: len(whole) // 2])
    follower.poll()
    assert len(follower.session.calls) == 4, "the last good view stays"
    write(tmp_path, 3)
    follower.poll()
    assert len(follower.session.calls) == 6
    assert follower.session == open_session(path)
    assert_sound(follower.session)
