"""Every format is followed while another process writes it at its own pace.

Formats whose agents also take back, branch, compact or update rows have separate tests of this, too.
"""

from pathlib import Path
from typing import Any

import pytest

from inspector.session.follow import Follower
from inspector.session.open import open_session
from tests.session.growing import GROWING, Growing
from tests.session.other_process import append, new_file, quiet_moments, replace, rewrite
from tests.session.soundness import assert_sound

TURNS = 6

WRITTEN = [name for name, known in GROWING.items() if known.family != "database"]


@pytest.mark.parametrize("name", WRITTEN)
def test_what_another_process_writes_is_followed(tmp_path: Path, name: str) -> None:
    known = GROWING[name]
    path = tmp_path / known.name
    known.write(path, 1)
    follower = Follower(path)
    assert follower.session.format == known.format
    steps = steps_of(known, tmp_path / f"source-{known.name}")
    for _ in quiet_moments(path, steps, follower.poll, seed=len(name)):
        follower.poll()
        assert follower.session == open_session(path)
        assert_sound(follower.session)
    if known.format != "transcripts":  # of which the newest is shown
        assert TURNS <= len(follower.session.calls) <= TURNS + 1


def steps_of(known: Growing, source: Path) -> list[dict[str, Any]]:
    known.write(source, 1)
    before = contents(source)
    steps = []
    for turns in range(2, TURNS + 1):
        known.write(source, turns)
        after = contents(source)
        if known.family == "lines":
            added = after[""][len(before[""]) :]
            steps += [append(line) for line in added.splitlines(keepends=True)]
        elif known.family == "document":
            steps.append(replace(after[""]) if turns % 3 == 0 else rewrite(after[""]))
        else:
            steps += [new_file(name, data) for name, data in after.items() if before.get(name) != data]
        before = after
    return steps


def contents(path: Path) -> dict[str, bytes]:
    if path.is_file():
        return {"": path.read_bytes()}
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return {str(file.relative_to(path)): file.read_bytes() for file in files}
