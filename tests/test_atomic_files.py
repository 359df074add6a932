"""Files written whole or not at all, and no more of them than there is room for."""

import errno
import os
import time
from pathlib import Path
from typing import IO

import pytest

from inspector.atomic_files import evict, replacing, write_atomic


def test_a_file_takes_the_place_of_another_when_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_bytes(b"old")
    with replacing(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600


def _fail_after(file: IO[bytes]) -> None:
    file.write(b"ne")
    raise OSError("the disk is full")


def test_what_was_there_stays_where_writing_fails(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_bytes(b"old")
    with pytest.raises(OSError, match="full"), replacing(path) as file:
        _fail_after(file)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "state" / "sessions" / "kept"
    with replacing(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"
    assert path.parent.stat().st_mode & 0o777 == 0o700


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_files_left_alone_for_longest_go_when_there_are_too_many_or_they_are_too_large(tmp_path: Path) -> None:
    for number, name in enumerate("cadb"):
        (tmp_path / name).write_bytes(bytes(10))
        os.utime(tmp_path / name, (number, number))
    evict(tmp_path, most_files=4, most_bytes=40)
    assert left(tmp_path) == ["a", "b", "c", "d"]
    evict(tmp_path, most_files=3)
    assert left(tmp_path) == ["a", "b", "d"]
    evict(tmp_path, most_bytes=19)
    assert left(tmp_path) == ["b"]


def test_what_a_killed_process_left_half_written_goes_in_any_case(tmp_path: Path) -> None:
    abandoned, in_work, whole = (tmp_path / name for name in ("new-a.part", "new-b.part", "kept"))
    for path in (abandoned, in_work, whole):
        path.touch()
    for path in (abandoned, whole):
        os.utime(path, (time.time() - 7200,) * 2)
    evict(tmp_path)
    assert left(tmp_path) == ["kept", "new-b.part"]


def test_a_text_is_written_whole_through_a_link_and_keeps_its_mode(tmp_path: Path) -> None:
    real, link = tmp_path / "real" / "settings.toml", tmp_path / "settings.toml"
    write_atomic(real, "one = 1\n")
    real.chmod(0o640)
    link.symlink_to(real)

    write_atomic(link, "two = 2\n")

    assert link.is_symlink()
    assert real.read_text(encoding="utf-8") == "two = 2\n"
    assert real.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in real.parent.iterdir()] == ["settings.toml"]


def test_a_text_that_cannot_be_written_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plan.toml"
    write_atomic(path, "whole\n")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fchmod", full)
    with pytest.raises(OSError, match="No space"):
        write_atomic(path, "half")

    assert path.read_text(encoding="utf-8") == "whole\n"
    assert [each.name for each in tmp_path.iterdir()] == ["plan.toml"]
