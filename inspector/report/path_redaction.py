"""Paths and names as reports show them: without who made the report, and without secrets.

Agents keep a project's sessions in a folder named after the project's own path (`-home-ada-shop` for `/home/ada/shop`),
so the home folder may stand in a path a second time. The name of a home folder is the name of a user, who is named in
other places too: as the owner of files, at a prompt.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.report.secret_masks import Found, apart, masked
from inspector.report.secret_rules import NAMED_RULES, secrets_in

if TYPE_CHECKING:
    from collections.abc import Iterator

_NOT_IN_FOLDER_NAMES = re.compile("[^A-Za-z0-9]")

_OTHER_HOMES = re.compile(
    r"""
    \\?/(?:home|Users)\\?/(?P<name>(?!Shared\b)\w[\w.@+-]*)
    | [A-Za-z]:\\+Users\\+(?P<windows>(?!Public\b)(?:[^\\/:*?"'<>|\r\n]{1,40}(?=\\)|\w[\w.-]*))
    | (?:(?<=[/\\])|\A)-(?:home|Users)-(?P<folder>[A-Za-z0-9]+)(?![A-Za-z0-9])
    """,
    re.VERBOSE,
)
"""Home folders of the machine a session was recorded on, as paths and in names of folders."""

SHORTEST_NAME = 3
NOBODY = re.compile(
    "root|home|users?|example|guest|default|public|admin|administrator|system|runner|agent|build|docker|node|apps?|dev|data"
    "|ubuntu|debian|centos|fedora|vscode|codespace|jovyan|work|workspace|tests?|tmp|main|src|code",
    re.IGNORECASE,
)
"""Names of accounts that name nobody, and words that stand everywhere."""

USER_NAME = "user name"


def shown_path(path: Path) -> str:
    """A path with the home folder as `~`, wherever it stands in it, and secrets in names of files masked."""
    return shown_name(os.fsencode(path).decode("utf-8", "replace"))


def shown_name(text: str) -> str:
    """A name, a path, or a line that holds some, without homes, the user's name, and secrets that say what they are.

    Long numbers and words that only look drawn are left: agents name sessions that way.
    """
    text = without_home(text)
    return masked(text, apart([*secrets_in(text, NAMED_RULES), *user_names(text)]))


def without_home(text: str) -> str:
    """A text with every mention of a home folder, as a path or in a folder's name, as `~`."""
    home = _home()
    if home:
        folder_name = _NOT_IN_FOLDER_NAMES.sub("-", home)
        text = re.sub(rf"(?<![\w.-]){re.escape(home)}(?![\w.-])", "~", text)
        text = re.sub(rf"(?<![\w-]){re.escape(folder_name)}(?![A-Za-z0-9])", "-~", text)
    return _OTHER_HOMES.sub(lambda match: "-~" if match["folder"] else "~", text)


def homes(text: str) -> Iterator[Found]:
    """Where names of users stand within paths of home folders."""
    for match in _OTHER_HOMES.finditer(text):
        group = match.lastgroup or 0
        if is_name(match[group]):
            yield Found(*match.span(group), USER_NAME)


def user_names(text: str) -> Iterator[Found]:
    """Where the name of this machine's user stands by itself in a text; nowhere where it names nobody."""
    name = Path(_home()).name
    if is_name(name):
        for match in re.finditer(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", text):
            yield Found(*match.span(), USER_NAME)


def is_name(account: str) -> bool:
    """Whether the name of an account is that of somebody."""
    return len(account) >= SHORTEST_NAME and not NOBODY.fullmatch(account)


def _home() -> str:
    try:
        home = str(Path.home())
    except (RuntimeError, KeyError):  # nobody knows where it is
        return ""
    return home if len(Path(home).parts) > 1 else ""
