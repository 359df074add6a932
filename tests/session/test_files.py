from pathlib import Path

import pytest

from inspector.session.files import exists, glob_sorted, is_file, is_folder, is_link
from tests.permissions import permissions_hold


def test_what_is_there_is_distinguished(tmp_path: Path) -> None:
    file, folder, link, lost = (tmp_path / name for name in ("file", "folder", "link", "lost"))
    file.write_text("x")
    folder.mkdir()
    link.symlink_to(file)
    lost.symlink_to(tmp_path / "nowhere")
    places = [file, folder, link, lost, tmp_path / "nowhere", tmp_path / "a\0b"]

    assert [exists(place) for place in places] == [True, True, True, False, False, False]
    assert [is_file(place) for place in places] == [True, False, True, False, False, False]
    assert [is_folder(place) for place in places] == [False, True, False, False, False, False]
    assert [is_link(place) for place in places[:5]] == [False, False, True, True, False]


def test_where_no_one_may_look_nothing_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "stat", refuse)
    monkeypatch.setattr(Path, "is_symlink", refuse)

    for ask in (exists, is_file, is_folder, is_link):
        assert not ask(tmp_path)


def test_a_file_in_a_locked_folder_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    (folder / "file").write_text("x")
    folder.chmod(0)
    try:
        with permissions_hold():
            assert not exists(folder / "file")
            assert not is_file(folder / "file")
            assert glob_sorted(folder, "*") == []
            assert glob_sorted(folder, "*/*") == []
    finally:
        folder.chmod(0o755)
