"""Redaction of session texts that leave the machine: secrets, home folders and user names.

Secrets are found by the patterns of bc-detect-secrets, the maintained fork of Yelp's detect-secrets, and then by
additional rules (`secret_rules`). Nothing is looked up or verified over the network. No detector finds all secrets:
ordinary-looking words are missed, so read a text before sending it.

Redaction of paths and names in reports: no user names, no secrets.

Agents store a project's sessions in a folder named after the project's path (`-home-ada-shop` for `/home/ada/shop`), so
a path may contain the home folder twice. The name of a home folder is a user name, which also appears elsewhere: as the
owner of files, at a shell prompt.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import Struct

from inspector.errors import InspectorError
from inspector.report.secret_rules import (
    ALL_RULES,
    MASK,
    NAMED_RULES,
    PUBLIC_BEFORE,
    Found,
    is_after,
    is_random_word,
    masked,
    merge_overlapping,
    secrets_in,
)
from inspector.report.tool_words import result_words
from inspector.session.model import Session, TextUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from inspector.report.secret_rules import Finder

Document = TypeVar("Document", bound=Struct)

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
    """Redact homes, the user's name and labeled secrets in a name; long numbers and random-looking words stay."""
    text = without_home(text)
    return masked(text, merge_overlapping([*secrets_in(text, NAMED_RULES), *user_names(text)]))


def without_secrets(report: Document) -> Document:
    """Mask labeled secrets in every text of a report, which may quote names of tools, models and programs anywhere."""
    masks = {
        text[one.start : one.stop]: MASK.format(kind=one.kind)
        for text in set(_texts(report))
        for one in merge_overlapping(secrets_in(text, NAMED_RULES))
    }
    return cast("Document", _with_masks(report, masks)) if masks else report


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Struct():
            for name in value.__struct_fields__:
                yield from _texts(getattr(value, name))
        case dict():
            for each in value.items():
                yield from _texts(each)
        case list() | tuple():
            for each in value:
                yield from _texts(each)


def _with_masks(value: Any, masks: Mapping[str, str]) -> Any:
    match value:
        case StrEnum():
            return value
        case str():
            for secret, mask in masks.items():
                value = value.replace(secret, mask)
            return value
        case Struct():
            return type(value)(**{name: _with_masks(getattr(value, name), masks) for name in value.__struct_fields__})
        case dict():
            return {_with_masks(key, masks): _with_masks(each, masks) for key, each in value.items()}
        case list():
            return [_with_masks(each, masks) for each in value]
        case tuple():
            return tuple(_with_masks(each, masks) for each in value)
    return value


def without_home(text: str) -> str:
    """Replace every mention of a home folder, as a path or in a folder's name, with `~`."""
    home = _home()
    if home:
        folder_name = _NOT_IN_FOLDER_NAMES.sub("-", home)
        text = re.sub(rf"(?<![\w.-])(?<!:/)(?<!%3A/){re.escape(home)}(?![\w.-])", "~", text)
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


LONGEST_LINE = 2_000
"""Maximum characters of a line that the detector receives at once."""

SHORTEST_REPEATED, MOST_REPEATED = 8, 200
"""Minimum length of a secret that is masked everywhere else, and the maximum number of such secrets."""

MARGIN_CHARACTERS = 8_000
"""Characters around a part that are also searched for secrets, so that its edges do not split one."""

LOOKED_AT = 8_000
"""Characters of a text searched for secrets before its start is shown."""

SHOWN = 400
"""Characters of that text that are shown."""

OWN_IS_WIDER = frozenset(
    {
        *("Basic Auth Credentials", "JSON Web Token", "Private Key", "NPM tokens", "Artifactory Credentials"),
        *("IBM Cloud IAM Key", "IBM COS HMAC Credentials", "SoftLayer Credentials", "Cloudant Credentials"),
        *("Azure Storage Account access key", "Mailchimp Access Key"),
    }
)
"""Detector kinds also covered by our rules, skipped because the detector's patterns are too wide or too slow.

The same applies to values next to a name and to hexadecimal numbers, which the detector only offers in combination.
"""

RANDOM_WORDS = "Base64 High Entropy String"
"""Detector kind of random-looking words in quotes."""

_LINE = re.compile(rf"[^\r\n]{{1,{LONGEST_LINE}}}")


class DetectorMissingError(InspectorError):
    """The secret detector is not installed; the message explains how to install it."""

    advice = "pip install 'session-inspector[texts]'"


@dataclass(frozen=True, slots=True)
class _DetectorPattern:
    """A detector pattern; the secret is its first group, if it has one."""

    kind: str
    pattern: re.Pattern[str]

    def spans(self, text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
        for match in self.pattern.finditer(text, start, stop):
            group = 1 if self.pattern.groups and match[1] else 0
            if match[group]:
                yield match.span(group)


@dataclass(frozen=True, slots=True)
class _RandomWords:
    """Random-looking words in quotes, including shorter ones than our rules match."""

    kind: str
    detector: Any

    def spans(self, text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
        for line in _LINE.finditer(text, start, stop):
            for value in self.detector.analyze_string(line[0]):
                # Escapes and separators between name and value only appear in undecoded views.
                is_word = not (set(value.rstrip("=")) & {"\\", "="}) and is_random_word(value)
                if is_word and self.detector.calculate_shannon_entropy(value) > self.detector.entropy_limit:
                    place = line.start() + line[0].index(value)
                    if not is_after(PUBLIC_BEFORE, text, place):
                        yield place, place + len(value)


class SecretRedactor:
    """Masks secrets in texts, and counts them by kind in `masked`."""

    def __init__(self, *, needs_detector: bool = True) -> None:
        """Load the detector; raise `DetectorMissingError` if it is required and not installed."""
        self._finders: tuple[Finder, ...] = (*ALL_RULES, *_detector(is_needed=needs_detector))
        self.masked: Counter[str] = Counter()

    def __call__(self, text: str) -> str:
        """Redact secrets, home folders and the user's name in a text."""
        text = without_home(text)
        found = merge_overlapping([*self._secrets(text), *user_names(text)])
        self.masked.update(one.kind for one in found)
        return masked(text, found)

    def secrets_in_place(self, text: str) -> list[Found]:
        """Return the secrets in a text, sorted and merged, without home folders and user names."""
        return merge_overlapping(self._secrets(text))

    def part(self, text: str, begin: int, end: int) -> str:
        """Return a part of a text, `end` exclusive, with secrets masked, including those that its edges cut."""
        end = min(end, len(text))
        first = max(0, begin - MARGIN_CHARACTERS)
        parts, at = [], begin
        for secret in self.secrets_in_place(text[first : end + MARGIN_CHARACTERS]):
            start, stop = max(at, first + secret.start), min(end, first + secret.stop)
            if start < stop:
                parts += [text[at:start], MASK.format(kind=secret.kind)]
                self.masked[secret.kind] += 1
                at = stop
        return "".join([*parts, text[at:end]])

    def in_place(self, text: str) -> list[Found]:
        """Return the secrets and user names in a text, including home folders, sorted and merged."""
        return merge_overlapping([*self._secrets(text), *user_names(text), *homes(text)])

    def _secrets(self, text: str) -> list[Found]:
        found = merge_overlapping(secrets_in(text, self._finders))
        return [*found, *_repeated(text, found)]


def excerpt(session: Session, block: int, redactor: SecretRedactor) -> str:
    """Return the start of a result, with secrets masked before cutting; empty if the file no longer holds it."""
    try:
        text = session.text(session.blocks[block])
    except TextUnavailableError:
        return ""
    begin = redactor(result_words(redactor.part(text, 0, LOOKED_AT)))
    return begin if len(begin) <= SHOWN else f"{begin[:SHOWN]}…"


def _repeated(text: str, found: Sequence[Found]) -> Iterator[Found]:
    """Yield further occurrences of secrets, where their context does not reveal them."""
    values = {text[one.start : one.stop]: one.kind for one in found if one.stop - one.start >= SHORTEST_REPEATED}
    for value, kind in list(values.items())[:MOST_REPEATED]:
        start = text.find(value)
        while start >= 0:
            yield Found(start, start + len(value), kind)
            start = text.find(value, start + len(value))


def _detector(*, is_needed: bool) -> Iterator[Finder]:
    """Yield the detector's finders; none if it is neither installed nor needed."""
    try:
        from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
        from detect_secrets.plugins.base import RegexBasedDetector
    except ImportError:
        if not is_needed:
            return
        message = (
            "secrets are masked by a detector, which is an optional part of the program; "
            "install it with: pip install 'session-inspector[texts]'"
        )
        raise DetectorMissingError(message) from None
    for kind, plugin in get_mapping_from_secret_type_to_class().items():
        if kind == RANDOM_WORDS:
            yield _RandomWords(kind, plugin())
        elif issubclass(plugin, RegexBasedDetector) and kind not in OWN_IS_WIDER:
            yield from (_DetectorPattern(kind, pattern) for pattern in plugin().denylist)
