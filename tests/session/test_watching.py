"""File events, and polling where they are unavailable."""

import asyncio
from pathlib import Path

import pytest

from inspector.session.watching import file_system_in, has_events, is_silent, watch_folders

MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:26 / /mnt/c rw - 9p drvfs rw
31 22 0:27 / /home/me/server rw - nfs4 server:/export rw
32 31 0:28 / /home/me/server/local\\040disk rw - xfs /dev/sdb1 rw
33 22 0:29 / /home/me/box rw master:2 - fuse.sshfs box: rw
"""


@pytest.mark.parametrize(
    ("folder", "file_system", "silent"),
    [
        ("/home/me", "ext4", False),
        ("/mnt/c/Users", "9p", True),
        ("/mnt/cellar", "ext4", False),
        ("/home/me/server", "nfs4", True),
        ("/home/me/server/local disk/x", "xfs", False),
        ("/home/me/box/deep/down", "fuse.sshfs", True),
    ],
)
def test_the_mount_that_holds_a_folder_shows_whether_there_are_events(
    folder: str, file_system: str, silent: bool
) -> None:
    assert file_system_in(MOUNTS, folder) == file_system
    assert is_silent(file_system) is silent


def test_looking_instead_of_events_can_be_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSPECTOR_WATCH", "stat")
    assert not has_events((tmp_path,))


async def test_a_folder_that_does_not_exist_is_looked_for(tmp_path: Path) -> None:
    stop = asyncio.Event()
    count = 0
    async with asyncio.timeout(60):
        async for _ in watch_folders((tmp_path / "not yet",), stop):
            count += 1
            if count == 3:
                stop.set()
    assert count == 3


async def test_waking_ends_on_request(tmp_path: Path) -> None:
    stop = asyncio.Event()
    async with asyncio.timeout(60):
        async for _ in watch_folders((tmp_path,), stop):
            stop.set()
