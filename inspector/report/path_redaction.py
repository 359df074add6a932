"""Redaction of paths and names in reports: no user names, no secrets.

Agents store a project's sessions in a folder named after the project's path (`-home-ada-shop` for `/home/ada/shop`), so
a path may contain the home folder twice. The name of a home folder is a user name, which also appears elsewhere: as the
owner of files, at a shell prompt.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from inspector.report.secret_masks import MASK, Found, masked, merge_overlapping
from inspector.report.secret_rules import NAMED_RULES, secrets_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

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
IMPERSONAL_NAMES = re.compile(
    "root|home|users?|example|guest|default|public|admin|administrator|system|runner|agent|build|docker|node|apps?|dev|data"
    "|ubuntu|debian|centos|fedora|vscode|codespace|jovyan|work|workspace|tests?|tmp|main|src|code",
    re.IGNORECASE,
)
"""Account names that do not identify a person, and common words."""

USER_NAME = "user name"


def shown_path(path: Path) -> str:
    """Return a path with every home folder as `~`, and secrets in file names masked."""
    return shown_name(os.fsencode(path).decode("utf-8", "replace"))


def shown_name(text: str) -> str:
    """Redact homes, the user's name, and labeled secrets in a name, a path, or a line with some.

    Long numbers and words that merely look random stay: agents name sessions that way.
    """
    text = without_home(text)
    return masked(text, merge_overlapping([*secrets_in(text, NAMED_RULES), *user_names(text)]))


def secrets_of_names(names: Iterable[str]) -> dict[str, str]:
    """Return the secrets in names of tools, models and programs, and the mask of each."""
    return {
        name[one.start : one.stop]: MASK.format(kind=one.kind)
        for name in set(names)
        for one in merge_overlapping(secrets_in(name, NAMED_RULES))
    }


def without_secrets_of_names(value: Any, masks: Mapping[str, str]) -> Any:
    """Mask secrets in every text of a report, which may quote a name anywhere."""
    match value:
        case str():
            for secret, mask in masks.items():
                value = value.replace(secret, mask)
            return value
        case Struct():
            each = {name: getattr(value, name) for name in value.__struct_fields__}
            return type(value)(**without_secrets_of_names(each, masks))
        case dict():
            return {
                without_secrets_of_names(key, masks): without_secrets_of_names(each, masks)
                for key, each in value.items()
            }
        case list():
            return [without_secrets_of_names(each, masks) for each in value]
    return value


def without_home(text: str) -> str:
    """Replace every mention of a home folder, as a path or in a folder's name, with `~`."""
    home = _home()
    if home:
        folder_name = _NOT_IN_FOLDER_NAMES.sub("-", home)
        text = re.sub(rf"(?<![\w.-]){re.escape(home)}(?![\w.-])", "~", text)
        text = re.sub(rf"(?<![\w-]){re.escape(folder_name)}(?![A-Za-z0-9])", "-~", text)
    return _OTHER_HOMES.sub(lambda match: "-~" if match["folder"] else "~", text)


def homes(text: str) -> Iterator[Found]:
    """Yield user names in paths of home folders."""
    for match in _OTHER_HOMES.finditer(text):
        group = match.lastgroup or 0
        if is_name(match[group]):
            yield Found(*match.span(group), USER_NAME)


def user_names(text: str) -> Iterator[Found]:
    """Yield standalone mentions of this machine's user, unless the name does not identify a person."""
    name = Path(_home()).name
    if is_name(name):
        for match in re.finditer(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", text):
            yield Found(*match.span(), USER_NAME)


def is_name(account: str) -> bool:
    """Return True if an account name may identify a person."""
    return len(account) >= SHORTEST_NAME and not IMPERSONAL_NAMES.fullmatch(account)


def _home() -> str:
    try:
        home = str(Path.home())
    except (RuntimeError, KeyError):  # the home folder is unknown
        return ""
    return home if len(Path(home).parts) > 1 else ""
