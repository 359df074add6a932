"""Texts of a session made fit to leave the machine: secrets masked, home folders shortened, the user not named.

Secrets are found by the patterns of bc-detect-secrets, the maintained line of Yelp's detect-secrets, and behind it by
rules for what it does not know (`secret_rules`). Nothing is looked up or verified anywhere. No detector finds all
secrets: what looks like ordinary words is not found, and who sends a text should read it.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inspector.errors import InspectorError
from inspector.report.path_redaction import homes, user_names, without_home
from inspector.report.secret_masks import Found, apart, masked
from inspector.report.secret_rules import ALL_RULES, secrets_in
from inspector.report.secret_values import is_random_word
from inspector.report.tool_words import result_words
from inspector.session.model import TextUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from inspector.report.secret_rules import Finder
    from inspector.session.model import Session

LONGEST_LINE = 2_000
"""Characters of a line that the detector looks at together."""

SHORTEST_REPEATED, MOST_REPEATED = 8, 200
"""Characters of a secret that is masked wherever else it stands, at least, and how many such are looked for."""

LOOKED_AT = 8_000
"""Characters of a text that are searched for secrets before its beginning is shown."""

SHOWN = 400
"""Characters of it that are shown, of that."""

OWN_IS_WIDER = frozenset(
    {"Basic Auth Credentials", "JSON Web Token", "Private Key", "NPM tokens", "Artifactory Credentials"}
)
"""Kinds of the detector that rules of our own find too, and whose patterns take in too much or take too long.

So it is with values beside a name and with hexadecimal numbers, of which the detector has no patterns alone.
"""

DRAWN = "Base64 High Entropy String"
"""The detector's kind of words in quotes that are unlike words."""

_LINE = re.compile(rf"[^\r\n]{{1,{LONGEST_LINE}}}")


class DetectorMissingError(InspectorError):
    """What finds secrets is not installed; the message says how to install it."""

    advice = "pip install 'session-inspector[texts]'"


@dataclass(frozen=True, slots=True)
class _DetectorPattern:
    """A form of secrets that the detector knows; the secret is its first group, if it has one."""

    kind: str
    pattern: re.Pattern[str]

    def spans(self, text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
        for match in self.pattern.finditer(text, start, stop):
            group = 1 if self.pattern.groups and match[1] else 0
            if match[group]:
                yield match.span(group)


@dataclass(frozen=True, slots=True)
class _DrawnWords:
    """Words in quotes that are unlike words, shorter ones than rules of our own know."""

    kind: str
    detector: Any

    def spans(self, text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
        for line in _LINE.finditer(text, start, stop):
            for value in self.detector.analyze_string(line[0]):
                # Its letters hold escapes and what stands between a name and a value; other readings have neither.
                is_word = not (set(value.rstrip("=")) & {"\\", "="}) and is_random_word(value)
                if is_word and self.detector.calculate_shannon_entropy(value) > self.detector.entropy_limit:
                    place = line.start() + line[0].index(value)
                    yield place, place + len(value)


class SecretRedactor:
    """Masks secrets in texts, and counts them by kind.

    Attributes:
        masked: How many were masked, by kind.
    """

    def __init__(self, *, needs_detector: bool = True) -> None:
        """Load the detector.

        Args:
            needs_detector: Whether rules of our own are not enough.

        Raises:
            DetectorMissingError: It is needed and not installed.
        """
        self._finders: tuple[Finder, ...] = (*ALL_RULES, *_detector(is_needed=needs_detector))
        self.masked: Counter[str] = Counter()

    def __call__(self, text: str) -> str:
        """A text without secrets, home folders and the user's name."""
        text = without_home(text)
        found = apart([*self._secrets(text), *user_names(text)])
        self.masked.update(one.kind for one in found)
        return masked(text, found)

    def secrets_in_place(self, text: str) -> list[Found]:
        """Where secrets stand in a text, in order and apart; home folders and names of users are none."""
        return apart(self._secrets(text))

    def in_place(self, text: str) -> list[Found]:
        """Where secrets and names of users stand in a text, home folders included, in order and apart."""
        return apart([*self._secrets(text), *user_names(text), *homes(text)])

    def _secrets(self, text: str) -> list[Found]:
        found = apart(secrets_in(text, self._finders))
        return [*found, *_repeated(text, found)]


def excerpt(session: Session, block: int, redactor: SecretRedactor) -> str:
    """How what a result says begins, secrets masked before it is cut; empty where the file no longer holds it."""
    try:
        text = session.text(session.blocks[block])
    except TextUnavailableError:
        return ""
    begin = redactor(result_words(text[:LOOKED_AT]))
    return begin if len(begin) <= SHOWN else f"{begin[:SHOWN]}…"


def _repeated(text: str, found: Sequence[Found]) -> Iterator[Found]:
    """Secrets where they stand once more, without what told of them."""
    values = {text[one.start : one.stop]: one.kind for one in found if one.stop - one.start >= SHORTEST_REPEATED}
    for value, kind in list(values.items())[:MOST_REPEATED]:
        start = text.find(value)
        while start >= 0:
            yield Found(start, start + len(value), kind)
            start = text.find(value, start + len(value))


def _detector(*, is_needed: bool) -> Iterator[Finder]:
    """What the detector knows; nothing where it is neither installed nor needed."""
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
        if kind == DRAWN:
            yield _DrawnWords(kind, plugin())
        elif issubclass(plugin, RegexBasedDetector) and kind not in OWN_IS_WIDER:
            yield from (_DetectorPattern(kind, pattern) for pattern in plugin().denylist)
