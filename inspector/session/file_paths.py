r"""Paths of files in sessions: one name per file, even if a Windows session spells it in several ways.

In a session with a Windows working directory, `C:\shop\src\a.py`, `c:/shop/src/a.py`, `src\a.py`, `/c/shop/src/a.py`
(Git Bash), `/c:/shop/src/a.py` (URIs) and `\\?\C:\shop\src\a.py` are one file. Elsewhere, a backslash is part of a
name.
"""

from __future__ import annotations

import posixpath
import re

_DRIVE = re.compile(r"[A-Za-z]:(?=[\\/]|$)")
_IN_URI = re.compile(r"/(?=[A-Za-z]:[\\/])")
_IN_GIT_BASH = re.compile(r"/([A-Za-z])(?=/|$)")
_LONG = "\\\\?\\"
"""Windows prefix for long paths."""
_SHARE = ("\\\\", "//")


def is_windows_path(path: str) -> bool:
    """Return True for an absolute path of Windows: of a drive, or of a network share."""
    return path.startswith(_SHARE) or _DRIVE.match(path) is not None or _IN_URI.match(path) is not None


def is_absolute_path(path: str) -> bool:
    """Return True for an absolute path of any system, or one from the home directory."""
    return path.startswith(("/", "~")) or is_windows_path(path)


def joined_path(folder: str, path: str) -> str:
    """Return a path in its normal form, with slashes, and absolute if `folder` is; addresses are unchanged.

    Args:
        folder: The folder of relative paths: the working directory.
        path: The path as a tool call, a command or a result names it.
    """
    if not path or "://" in path:
        return path
    home = _with_slashes(folder) if is_windows_path(folder) else folder
    drive = _DRIVE.match(home)
    if is_windows_path(path):
        return posixpath.normpath(_with_slashes(path))
    if home != folder or drive:
        path = path.replace("\\", "/") if not path.startswith("/") else path
        if drive and (found := _IN_GIT_BASH.match(path)):
            return posixpath.normpath(f"{found[1].upper()}:/{path[found.end() :]}")
    return posixpath.normpath(path if is_absolute_path(path) else posixpath.join(home, path))


def relative_path(folder: str, path: str) -> str:
    """Return a path of `joined_path` relative to a folder it is in; otherwise unchanged."""
    home = joined_path("", folder).rstrip("/")
    is_inside = bool(home) and same_file(path).startswith(f"{same_file(home)}/")
    return path[len(home) + 1 :] if is_inside else path


def same_file(path: str) -> str:
    """Return a key that is equal for paths of one file, for paths of `joined_path`: Windows ignores case."""
    return path.casefold() if _DRIVE.match(path) or path.startswith("//") else path


def _with_slashes(path: str) -> str:
    """Return an absolute path of Windows with slashes, and its drive as a capital."""
    path = path.removeprefix(_LONG)
    path = path[1:] if _IN_URI.match(path) else path
    drive = path[:1].upper() if _DRIVE.match(path) else path[:1]
    return f"{drive}{path[1:]}".replace("\\", "/")
