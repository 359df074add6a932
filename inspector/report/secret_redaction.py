"""Texts of a session made fit to leave the machine: secrets masked, home folders shortened.

Secrets are found by the patterns of bc-detect-secrets, the maintained line of Yelp's detect-secrets, and by a few for
what it does not know: keys of model providers and newer tokens. Nothing is looked up or verified anywhere. A detector
finds kinds of secrets, not secrets: what looks like ordinary words is not found, and who sends a text should read it.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from inspector.errors import InspectorError
from inspector.report.path_redaction import without_home
from inspector.session.model import TextUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.session.model import Session

MASK = "[{kind} masked]"

SHORTEST_VALUE = 6
"""Characters of a value that stands beside the name of a secret, at least."""

PEM = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)", re.DOTALL)
"""A private key to its end, or to the end of the text where it was cut off."""

OWN_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("private key", PEM),
    ("provider key", re.compile(r"\bsk-[A-Za-z0-9_-]{16,}")),
    ("provider key", re.compile(r"\b(?:AIza|gsk_|xai-|hf_)[A-Za-z0-9_-]{20,}")),
    ("token", re.compile(r"\b(?:github_pat_|gh[pousr]_|glpat-|npm_|pypi-|dop_v1_|shpat_|xox[a-z]-|xapp-)[\w-]{16,}")),
    ("Stripe key", re.compile(r"\b(?:[rsp]k_(?:live|test)|whsec)_[A-Za-z0-9]{10,}")),
    ("AWS key", re.compile(r"\b(?:AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{16}\b")),
    ("web token", re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?")),
    (
        "web hook",
        re.compile(r"https://(?:hooks\.slack\.com/services|discord(?:app)?\.com/api/webhooks)/[A-Za-z0-9/_-]+"),
    ),
    ("login in an address", re.compile(r"(?<=://)[^\s/:@\"']*:[^\s/@\"']+(?=@)")),
    ("credentials", re.compile(r"(?i)\b(?:bearer|basic|token)\s+[A-Za-z0-9+/_=.~-]{16,}")),
    (
        "value of a secret's name",
        re.compile(
            r"(?i)[\w.-]{0,40}(?:api_?-?key|access_?-?key|private_?-?key|secret|token|passw(?:or)?d|pwd|passphrase|credential)"
            r"[\w.-]{0,20}[\"']?\s*(?::=|=>?|:)\s*[\"']?(?P<value>(?!\d+\b)[^\s\"',;]{6,})"
        ),
    ),
)
"""Kinds of secrets beside those of the detector; a group `value` is the secret itself, else all of the match is."""

_OTHER_HOMES = re.compile(r"(?:/home/|/Users/|[A-Za-z]:\\+Users\\+)[^/\\\s\"'<>|:]+")
"""Home folders of the machine a session was recorded on."""


LOOKED_AT = 8_000
"""Characters of a text that are searched for secrets before its beginning is shown."""

SHOWN = 400
"""Characters of it that are shown, of that."""


class DetectorMissingError(InspectorError):
    """What finds secrets is not installed; the message says how to install it."""

    advice = "pip install 'session-inspector[texts]'"


class SecretRedactor:
    """Masks secrets in texts, and counts them by kind.

    Attributes:
        masked: How many were masked, by kind.
    """

    def __init__(self) -> None:
        """Load the detector.

        Raises:
            DetectorMissingError: It is not installed.
        """
        self._patterns = (*OWN_KINDS, *_detector_patterns())
        self._detectors = _value_detectors()
        self.masked: Counter[str] = Counter()

    def __call__(self, text: str) -> str:
        """A text without secrets and home folders."""
        spans = sorted(self._spans(text))
        parts, end = [], 0
        for start, stop, kind in spans:
            if stop <= end:
                continue
            parts += [text[end : max(start, end)], MASK.format(kind=kind) if start >= end else ""]
            self.masked[kind] += start >= end
            end = stop
        return _OTHER_HOMES.sub("~", without_home("".join([*parts, text[end:]])))

    def _spans(self, text: str) -> Iterator[tuple[int, int, str]]:
        for kind, pattern in self._patterns:
            for match in pattern.finditer(text):
                group = "value" if "value" in pattern.groupindex else 0
                start, stop = match.span(group)
                if stop > start:
                    yield start, stop, kind
        for line in text.splitlines():
            for kind, detector in self._detectors:
                for value in detector.analyze_string(line):
                    if len(value) >= SHORTEST_VALUE:
                        yield from ((each.start(), each.end(), kind) for each in re.finditer(re.escape(value), text))


def excerpt(session: Session, block: int, redactor: SecretRedactor) -> str:
    """How a block's text begins, secrets masked before it is cut; empty where the file no longer holds it."""
    try:
        text = session.text(session.blocks[block])
    except TextUnavailableError:
        return ""
    begin = redactor(text[:LOOKED_AT])
    return begin if len(begin) <= SHOWN else f"{begin[:SHOWN]}…"


def _detector_patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    plugins = _plugins()
    from detect_secrets.plugins.base import RegexBasedDetector

    for kind, plugin in plugins.items():
        if issubclass(plugin, RegexBasedDetector):
            for pattern in plugin().denylist:
                yield kind, pattern


def _value_detectors() -> list[tuple[str, Any]]:
    """What finds values by the name before them, or by how little they look like words."""
    plugins = _plugins()
    names = ("Secret Keyword", "Base64 High Entropy String", "Hex High Entropy String")
    return [(kind, plugins[kind]()) for kind in names if kind in plugins]


def _plugins() -> dict[str, type]:
    try:
        from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
    except ImportError:
        message = (
            "texts are given out only with secrets masked, which needs an optional part of the program; "
            "install it with: pip install 'session-inspector[texts]'"
        )
        raise DetectorMissingError(message) from None
    found: dict[str, type] = get_mapping_from_secret_type_to_class()
    return found
