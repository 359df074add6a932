"""Tests that distinguish random secrets from words of prose or programs.

The distinguishing feature is how often lower case, capitals and digits alternate: in random strings at more than every
second character, in human text at every fourth.
"""

from __future__ import annotations

import re
from itertools import pairwise

JUDGED = 200
"""Maximum characters of a value to test; the rest looks alike."""

_CLASSES = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/_=.~%-",
    "a" * 26 + "A" * 26 + "0" * 10 + " " * 8,
)
_THREE = frozenset("aA0")

_HAS_DIGIT = re.compile("[0-9]")
_HAS_LETTER = re.compile("[A-Za-z]")
_HAS_STRONG_SIGN = re.compile(r"[!@#$%^*+?=~]")
"""Characters common in passwords but not in names."""

_PLACEHOLDER = re.compile(
    r"""
    [xX*.•·…\#_-]+ | (?-i:[A-Z][A-Z_-]*)
    | (?:your|my|the|some|an?|new|old|test|example|dummy|fake|changeme|redacted|masked)(?:[_\ .-][a-z_\ .-]*)?
    | str | string | text | value | none | null | nil | undefined | true | false | bool | boolean | bytes | any | object
    | required | optional | hidden
    | \$\w+ | &\#?\w+ | \#[0-9a-f]{3,8} | [$%\#]?\{.* | \$\(.* | <.* | (?:%\(?\w*\)?[sd%]\W?)+ | @\w+ | \[.* | \.\.\..*
    """,
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
"""Placeholders that manuals and templates use for a secret."""

_CODE = re.compile(
    r"""
    [A-Za-z_]\w*(?:(?:\.|->|::)\w+)+ | (?:await\s+)?[A-Za-z_][\w.]*[(\[].*
    | [(/~].* | \.\.?/.* | [a-z]+://.* | --?[a-z].*
    """,
    re.DOTALL | re.VERBOSE,
)
"""Names, calls, paths and options in the position of a secret in programs."""

_WORDS = re.compile(r"[^\W\d]+(?:[_.' -][^\W\d]+)*[.:?!]?")
_NUMBERS = re.compile(r"[\d.,:%/+\s-]+")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_PASSWORD_WORD = re.compile("(?:passwords?|passwd|pass|pwd|secret|token)", re.IGNORECASE)

_HEXADECIMAL = re.compile("(?:0x)?[0-9A-Fa-f]+")
_PUBLIC_WORD = re.compile(
    r"sha\d{1,3}[-_]|AAAA[A-Z][0-9]|REDACTED"
    r"|(?:toolu|call|msg|req|resp|rs|fc|chatcmpl|run|thread|step|asst|file|ses|prt|session|gen|item)[_-]"
)
"""Prefixes of digests, public keys, and ids from agents and providers."""

_GIT_NAME = 40
"""Hex digits of a commit id."""

_NETWORKS = re.compile(
    r"""
    4(?:\d{12}|\d{15}|\d{18}) | 5[1-5]\d{14} | (?:222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12} | 3[47]\d{13}
    | (?:6011|65\d\d|64[4-9]\d)\d{12} | 35\d{14} | 3(?:0[0-5]|[68]\d)\d{11} | 62\d{14,17} | 5[06-8]\d{14}
    """,
    re.VERBOSE,
)
"""Prefixes and lengths of card numbers."""

_PHRASE_LENGTHS = frozenset({12, 15, 18, 21, 24})
_NO_WORD_OF_PHRASES = re.compile(
    r"\b(?:the|and|for|with|are|was|from|not|has|its|but|our|his|her|been|were|than|could|would|should|does|did|these"
    r"|those|them|how|who|why|which|your|their|here|both|each|per|via|uses|using|files|lines|tests|runs|names|values"
    r"|types|errors|results|returns|string|default|command|function|class|null|none|users|data|value)\b"
)
"""Words of prose and programs that are not among the 2,048 words of recovery phrases."""


def looks_random(value: str) -> bool:
    """Return True if a word of letters and digits looks random."""
    kinds = value[:JUDGED].translate(_CLASSES).replace(" ", "")
    if len(kinds) < 2:
        return False
    changes = sum(one != other for one, other in pairwise(kinds)) / (len(kinds) - 1)
    if set(kinds) >= _THREE:
        return changes >= 0.4
    # Random base36: ten of 36 characters are digits, and two of five neighbors differ in kind.
    return len(set(kinds)) > 1 and 0.12 <= kinds.count("0") / len(kinds) <= 0.6 and changes >= 0.27


def is_mixed(value: str) -> bool:
    """Return True for letters mixed with digits or password characters."""
    return bool(_HAS_LETTER.search(value) and (_HAS_DIGIT.search(value) or _HAS_STRONG_SIGN.search(value)))


def is_placeholder(value: str) -> bool:
    """Return True for a placeholder of a secret."""
    return bool(_PLACEHOLDER.fullmatch(value))


def is_code(value: str) -> bool:
    """Return True for a name, call, path or option of a program."""
    return bool(_CODE.fullmatch(value)) and not looks_random(value)


def is_value(value: str, *, is_password: bool, is_quoted: bool) -> bool:
    """Return True if the value next to the name of a secret is a secret.

    Args:
        value: The value.
        is_password: The name suggests that people choose the value, so that it may be short.
        is_quoted: The value is quoted, so it is not a word of a program.
    """
    if is_placeholder(value) or is_code(value):
        return False
    if any(character.isspace() for character in value):
        return is_password and any(_HAS_DIGIT.search(part) and _HAS_LETTER.search(part) for part in value.split())
    if _NUMBERS.fullmatch(value):
        return is_password and len(value) >= 6 and value.isdigit()
    if is_password and value.isascii():
        return len(value) >= 4 and (is_quoted or not _WORDS.fullmatch(value)) and not _PASSWORD_WORD.fullmatch(value)
    return len(value) >= 8 and is_mixed(value)


def is_hexadecimal_secret(value: str) -> bool:
    """Return True if a long hexadecimal number may be secret: not a commit id, nor made of few different digits."""
    has_both = _HAS_DIGIT.search(value) and _HAS_LETTER.search(value)
    return bool(has_both) and len(set(value)) >= 8 and not (len(value) == _GIT_NAME and value.islower())


def is_random_word(value: str) -> bool:
    """Return True if a long base64 or base62 word may be secret: random, not a number, not words with separators."""
    if _HEXADECIMAL.fullmatch(value):
        return False
    signs = sum(map(value.count, "-_/"))
    if signs and (signs * 10 > len(value) or not set(value[:JUDGED].translate(_CLASSES)) >= _THREE):
        return False
    return looks_random(value) and not (_PUBLIC_WORD.match(value) or _UUID.search(value))


def is_card_number(value: str) -> bool:
    """Return True for digits, with spaces or hyphens, with a card network's prefix, length and check digit."""
    digits = value.replace(" ", "").replace("-", "")
    if not (digits.isascii() and _NETWORKS.fullmatch(digits)) or len(set(digits)) < 3:
        return False
    doubled = [2 * int(digit) for digit in digits[-2::-2]]
    return (sum(map(int, digits[-1::-2])) + sum(each - 9 if each > 9 else each for each in doubled)) % 10 == 0


def is_recovery_phrase(value: str, *, is_labeled: bool) -> bool:
    """Return True if words may be the recovery phrase of a wallet.

    There is no word list here: a phrase is recognized by its number of words, and by the absence of words that prose
    cannot do without.

    Args:
        value: Words, with numbers, commas and quotes among them.
        is_labeled: The preceding text labels them as a recovery phrase.
    """
    value = value.lower()
    words = re.findall("[a-z]+", value)
    is_long = len(words) >= min(_PHRASE_LENGTHS) if is_labeled else len(words) in _PHRASE_LENGTHS
    return is_long and len(set(words)) >= len(words) - 2 and not _NO_WORD_OF_PHRASES.search(value)
