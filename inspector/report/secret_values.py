"""Whether what stands where a secret would stand is one: drawn by lot, or a word of prose or of a program.

What tells something drawn from other long words is how often lower case, capitals and digits follow one another: where
each character was drawn they change at more than every other one, in what people write at every fourth.
"""

from __future__ import annotations

import re
from itertools import pairwise

JUDGED = 200
"""Characters of a value that are looked at; the others are like them."""

_CLASSES = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/_=.~%-",
    "a" * 26 + "A" * 26 + "0" * 10 + " " * 8,
)
_THREE = frozenset("aA0")

_HAS_DIGIT = re.compile("[0-9]")
_HAS_LETTER = re.compile("[A-Za-z]")
_HAS_STRONG_SIGN = re.compile(r"[!@#$%^*+?=~]")
"""Signs that stand in passwords and not in names."""

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
"""What manuals and templates have in the place of a secret."""

_CODE = re.compile(
    r"""
    [A-Za-z_]\w*(?:(?:\.|->|::)\w+)+ | (?:await\s+)?[A-Za-z_][\w.]*[(\[].*
    | [(/~].* | \.\.?/.* | [a-z]+://.* | --?[a-z].*
    """,
    re.DOTALL | re.VERBOSE,
)
"""Other names, calls, paths and options: what stands in programs where a secret would."""

_WORDS = re.compile(r"[^\W\d]+(?:[_.' -][^\W\d]+)*[.:?!]?")
_NUMBERS = re.compile(r"[\d.,:%/+\s-]+")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_PASSWORD_WORD = re.compile("(?:passwords?|passwd|pass|pwd|secret|token)", re.IGNORECASE)

_HEXADECIMAL = re.compile("(?:0x)?[0-9A-Fa-f]+")
_PUBLIC_WORD = re.compile(
    r"sha\d{1,3}[-_]|AAAA[A-Z][0-9]|REDACTED"
    r"|(?:toolu|call|msg|req|resp|rs|fc|chatcmpl|run|thread|step|asst|file|ses|prt|session|gen|item)[_-]"
)
"""How digests, public keys and what agents and providers call their calls begin."""

_GIT_NAME = 40
"""Digits of the name of a commit."""

_NETWORKS = re.compile(
    r"""
    4(?:\d{12}|\d{15}|\d{18}) | 5[1-5]\d{14} | (?:222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12} | 3[47]\d{13}
    | (?:6011|65\d\d|64[4-9]\d)\d{12} | 35\d{14} | 3(?:0[0-5]|[68]\d)\d{11} | 62\d{14,17} | 5[06-8]\d{14}
    """,
    re.VERBOSE,
)
"""How numbers of cards begin, and how long they are."""

_PHRASE_LENGTHS = frozenset({12, 15, 18, 21, 24})
_NO_WORD_OF_PHRASES = re.compile(
    r"\b(?:the|and|for|with|are|was|from|not|has|its|but|our|his|her|been|were|than|could|would|should|does|did|these"
    r"|those|them|how|who|why|which|your|their|here|both|each|per|via|uses|using|files|lines|tests|runs|names|values"
    r"|types|errors|results|returns|string|default|command|function|class|null|none|users|data|value)\b"
)
"""Words of prose and programs that are not among the 2,048 a recovery phrase is drawn from."""


def is_drawn(value: str) -> bool:
    """Whether a word of letters and digits looks as if each was drawn by lot."""
    kinds = value[:JUDGED].translate(_CLASSES).replace(" ", "")
    if len(kinds) < 2:
        return False
    changes = sum(one != other for one, other in pairwise(kinds)) / (len(kinds) - 1)
    if set(kinds) >= _THREE:
        return changes >= 0.4
    # Lower case or capitals with digits: of 36 characters ten are digits, and two in five neighbours differ.
    return len(set(kinds)) > 1 and 0.12 <= kinds.count("0") / len(kinds) <= 0.6 and changes >= 0.27


def is_mixed(value: str) -> bool:
    """Letters with digits or strong signs among them."""
    return bool(_HAS_LETTER.search(value) and (_HAS_DIGIT.search(value) or _HAS_STRONG_SIGN.search(value)))


def is_placeholder(value: str) -> bool:
    """What stands in for a secret."""
    return bool(_PLACEHOLDER.fullmatch(value))


def is_code(value: str) -> bool:
    """A name, call, path or option of a program."""
    return bool(_CODE.fullmatch(value)) and not is_drawn(value)


def is_value(value: str, *, is_password: bool, is_quoted: bool) -> bool:
    """Whether what stands beside the name of a secret is one.

    Args:
        value: What stands there.
        is_password: The name says that people choose it, so that it may be short.
        is_quoted: It stands in quotes, so that it is no word of a program.
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
    """Whether a long hexadecimal number may be one: not the name of a commit, nor a number of few digits."""
    has_both = _HAS_DIGIT.search(value) and _HAS_LETTER.search(value)
    return bool(has_both) and len(set(value)) >= 8 and not (len(value) == _GIT_NAME and value.islower())


def is_random_word(value: str) -> bool:
    """Whether a long word of base64 or base62 may be a secret: drawn, no number, and not words with signs between."""
    if _HEXADECIMAL.fullmatch(value):
        return False
    signs = sum(map(value.count, "-_/"))
    if signs and (signs * 10 > len(value) or not set(value[:JUDGED].translate(_CLASSES)) >= _THREE):
        return False
    return is_drawn(value) and not (_PUBLIC_WORD.match(value) or _UUID.search(value))


def is_card_number(value: str) -> bool:
    """Digits, with blanks or hyphens between them, that a network's card may have, and whose check digit is right."""
    digits = value.replace(" ", "").replace("-", "")
    if not (digits.isascii() and _NETWORKS.fullmatch(digits)) or len(set(digits)) < 3:
        return False
    doubled = [2 * int(digit) for digit in digits[-2::-2]]
    return (sum(map(int, digits[-1::-2])) + sum(each - 9 if each > 9 else each for each in doubled)) % 10 == 0


def is_recovery_phrase(value: str, *, is_told: bool) -> bool:
    """Whether words may be the recovery phrase of a wallet.

    There is no list of words here: what tells a phrase is how many words there are, and that none is one of those that
    prose cannot do without.

    Args:
        value: Words, with numbers, commas and quotes among them.
        is_told: Before them stands that they are one.
    """
    value = value.lower()
    words = re.findall("[a-z]+", value)
    is_long = len(words) >= min(_PHRASE_LENGTHS) if is_told else len(words) in _PHRASE_LENGTHS
    return is_long and len(set(words)) >= len(words) - 2 and not _NO_WORD_OF_PHRASES.search(value)
