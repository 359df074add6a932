"""Files written whole or not at all."""

from pathlib import Path
from typing import IO

import pytest

from inspector.session.replacing import replacing


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
