r"""Rules for secrets in addition to a detector's: next to a name, in an argument, a header, an address, or alone.

A rule is a pattern, with a further test if the pattern alone is too broad. It is tried on every decoded view of a text
(`decoded_views`), so it can ignore escapes and invisible characters. Patterns take linear time: each starts at few
positions, and its repetitions are bounded or possessive.

Tests that distinguish random secrets from words of prose or programs.

The distinguishing feature is how often lower case, capitals and digits alternate: in random strings at more than every
second character, in human text at every fourth.

Decoded views of a text for searching, each with a mapping to positions in the original.

A secret may be encoded in many ways: in JSON within JSON (`\\\"`), in a URL (`%3D`), in HTML (`&quot;`), with color
codes or invisible characters inside, or broken over two lines of a shell command. Rules for the plain form find all of
them in the decoded views: the text itself, the text without invisible characters, and then with one layer of escapes
less at a time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


MOST_LAYERS = 4
"""Maximum layers of escapes to decode: JSON in JSON in JSON in a quoted argument."""

MOST_READINGS = 2 + 2 * MOST_LAYERS
"""Maximum views of a text: the original, and each layer with and without invisible characters."""

AROUND = 600
"""Characters searched on both sides of a changed position: the length of the longest match."""

_INVISIBLE = (
    "\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff"
)
_TERMINAL = (
    r"[\x1b\u241b](?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\u241b\n]{0,500}(?:\x07|\x1b\\|\u241b\\)"
    r"|[()][0-9A-B]|[=>78]?)"
)
_CONTINUATION = r"\\\r?\n[ \t]*+|(?<=[ \t])[`^]\r?\n[ \t]*+"
_NOISE = re.compile(f"[{_INVISIBLE}]++|{_TERMINAL}|{_CONTINUATION}")
"""Invisible characters, color codes and line continuations, which may split a match."""

_ESCAPE = re.compile(
    r"\\(?:u(?P<four>[0-9A-Fa-f]{4})|x(?P<two>[0-9A-Fa-f]{2})|u\{(?P<braced>[0-9A-Fa-f]{1,6})\}"
    r"|U(?P<eight>[0-9A-Fa-f]{8})|(?P<octal>[0-3][0-7]{2})|(?P<one>[^\w\s]|[nrtbfe]))"
    r"|%(?P<percent>0[9ADad]|[2-7][0-9A-Fa-f])"
    r"|&(?:\#x(?P<hexadecimal>[0-9A-Fa-f]{1,6})|\#(?P<decimal>[0-9]{1,7})|(?P<name>quot|amp|apos|lt|gt|nbsp));"
)
_LETTERS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "e": "\x1b"}
_NAMES = {"quot": '"', "amp": "&", "apos": "'", "lt": "<", "gt": ">", "nbsp": " "}
_BASES = {"four": 16, "two": 16, "braced": 16, "eight": 16, "octal": 8, "percent": 16, "hexadecimal": 16, "decimal": 10}
_LAST_CODE = 0x10FFFF


@dataclass(frozen=True, slots=True)
class DecodedView:
    """One decoded view of a text; `source` is the view it was decoded from, None for the original."""

    text: str
    source: DecodedView | None = None
    _at: list[int] = field(default_factory=list)
    """Positions in `text` of changed pieces, ascending."""
    _widths: list[int] = field(default_factory=list)
    """Lengths of the changed pieces in `text`: 1, or 0 if removed."""
    _starts: list[int] = field(default_factory=list)
    _stops: list[int] = field(default_factory=list)
    """End positions of the changed pieces in the source; `_starts` holds the beginnings."""

    def stretches(self) -> Iterator[tuple[int, int]]:
        """Yield the ranges that differ from the source, with their surroundings."""
        if self.source is None:
            yield 0, len(self.text)
            return
        start = stop = -1
        for place in self._at:
            if place - AROUND > stop:
                if stop >= 0:
                    yield start, stop
                start = max(0, place - AROUND)
            stop = min(len(self.text), place + AROUND)
        yield start, stop

    def span(self, start: int, stop: int) -> tuple[int, int]:
        """Return the range in the original text of a range in this view, `stop` exclusive."""
        reading = self
        while reading.source is not None:
            start, stop = reading._in_source(start)[0], reading._in_source(stop - 1)[1]
            reading = reading.source
        return start, stop

    def _in_source(self, place: int) -> tuple[int, int]:
        """Return the range in the source of one character."""
        change = bisect_right(self._at, place) - 1
        if change < 0:
            return place, place + 1
        behind = self._at[change] + self._widths[change]
        if place < behind:
            return self._starts[change], self._stops[change]
        start = self._stops[change] + place - behind
        return start, start + 1


def decoded_views(text: str) -> Iterator[DecodedView]:
    """Yield at most `MOST_READINGS` views: the original, without invisible characters, and less escaped ones."""
    reading = DecodedView(text)
    yield reading
    for step in range(1, MOST_READINGS):
        if step % 2:
            changed = _changed(reading, _NOISE, lambda match: "")  # noqa: ARG005  every match is removed
        else:
            changed = _changed(reading, _ESCAPE, _unescaped)
            if changed is reading:
                return
        if changed is not reading:
            yield changed
        reading = changed


def _changed(source: DecodedView, pattern: re.Pattern[str], replacement: Callable[[re.Match[str]], str]) -> DecodedView:
    """Replace every match with one character or none; return the source itself without a match."""
    parts: list[str] = []
    at: list[int] = []
    widths: list[int] = []
    starts: list[int] = []
    stops: list[int] = []
    length = end = 0
    for match in pattern.finditer(source.text):
        start, stop = match.span()
        new = replacement(match)
        length += start - end
        at.append(length)
        widths.append(len(new))
        starts.append(start)
        stops.append(stop)
        parts += (source.text[end:start], new)
        length += len(new)
        end = stop
    if not at:
        return source
    parts.append(source.text[end:])
    return DecodedView("".join(parts), source, at, widths, starts, stops)


def _unescaped(match: re.Match[str]) -> str:
    """Decode an escape to its character."""
    kind = match.lastgroup or ""
    reported = match[kind]
    if kind in _BASES:
        code = int(reported, _BASES[kind])
        return chr(code) if code <= _LAST_CODE else "\ufffd"
    return _NAMES[reported] if kind == "name" else _LETTERS.get(reported, reported)


MASK = "[{kind} masked]"

_MASKS = re.compile(r"\[[^\[\]]{1,80} masked\]")


@dataclass(frozen=True, slots=True, order=True)
class Found:
    """A secret in a text: start, exclusive end, and kind."""

    start: int
    stop: int
    kind: str


def says_something(text: str) -> bool:
    """Return True if a text holds a letter or a digit outside its masks."""
    return any(character.isalnum() for character in _MASKS.sub("", text))


def merge_overlapping(found: Iterable[Found]) -> list[Found]:
    """Sort secrets and merge overlapping ones, with the kind of the first."""
    joined: list[Found] = []
    for one in sorted(found):
        if joined and one.start < joined[-1].stop:
            last = joined.pop()
            one = Found(last.start, max(last.stop, one.stop), last.kind)
        joined.append(one)
    return joined


def masked(text: str, found: Iterable[Found]) -> str:
    """Replace each secret with a mask; `found` is from `merge_overlapping`."""
    parts: list[str] = []
    end = 0
    for one in found:
        parts += (text[end : one.start], MASK.format(kind=one.kind))
        end = one.stop
    return "".join((*parts, text[end:]))


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

_HEXADECIMAL_DIGITS = re.compile("(?:0x)?[0-9A-Fa-f]+")
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
    return bool(_PLACEHOLDER.fullmatch(value))


def is_code(value: str) -> bool:
    """Return True for a name, call, path or option of a program."""
    return bool(_CODE.fullmatch(value)) and not looks_random(value)


def is_value(value: str, *, is_password: bool, is_quoted: bool) -> bool:
    """Return True for a secret next to its name: passwords may be short, a quoted value is no word of a program."""
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
    if _HEXADECIMAL_DIGITS.fullmatch(value):
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


class Finder(Protocol):
    """Finder of one kind of secrets."""

    @property
    def kind(self) -> str: ...

    def spans(self, text: str, start: int, stop: int) -> Iterator[tuple[int, int]]: ...


def _always(match: re.Match[str]) -> bool:  # noqa: ARG001  the pattern suffices
    return True


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern of a secret.

    Attributes:
        kind: Name in a mask.
        pattern: The pattern. The secret is its group `value`, `double` or `single`, otherwise the whole match.
        is_secret: Test of a match.
        within: Finder for a part of a match that is not a secret as a whole.
    """

    kind: str
    pattern: re.Pattern[str]
    is_secret: Callable[[re.Match[str]], bool] = _always
    within: Rule | None = None

    def spans(self, text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
        for match in self.pattern.finditer(text, start, stop):
            if not self.is_secret(match):
                continue
            group = _secret_group(match)
            if self.within is None:
                yield match.span(group)
            else:
                yield from self.within.spans(text, *match.span(group))


def _secret_group(match: re.Match[str]) -> str | int:
    groups = match.groupdict()
    return next((name for name in ("value", "double", "single") if groups.get(name) is not None), 0)


def _form(pattern: str, flags: int = re.IGNORECASE | re.VERBOSE) -> re.Pattern[str]:
    return re.compile(pattern, flags)


_START = r"(?<![A-Za-z0-9])"
_ESCAPED = r"\\(?![nrtbfux\"'\\/0-9])"
_BARE = rf"(?:[^\s\"'`\\,;&|<>(){{}}\[\]]|{_ESCAPED}){{4,500}}(?<![.:])"
"""A value without quotes, up to a word boundary in shells, programs and prose."""

_QUOTED = r"""
    "(?P<double>(?:[^"\\\r\n]|\\[^\r\n]){1,500}+)(?:"|\Z)
    | '(?P<single>(?:[^'\\\r\n]|\\[^\r\n]){1,500}+)(?:'|\Z)
"""

_PASSWORDS = r"""
    passwords? | passwd | passphrase | pwd | passwort | kennwort | contraseña | senha | пароль | 密码 | 密碼
    | パスワード | mot[ ]de[ ]passe | has[łl]o(?!\w) | 비밀번호 | 암호 | كلمة[ ](?:المرور|السر)
    | (?<![a-z_])psk(?=["']?[ ]?[=:])
"""
_KEYS = r"""
    (?:api|access|private|secret|account|auth|encryption|signing|master|sharedaccess|license|service)[_\ -]?key
    | secret | token | credentials? | connect[.]sid | jsessionid | phpsessid
"""
_OF_PASSWORDS = _form(f"(?:{_PASSWORDS}|pass|psk)")

_SAYS_SOMETHING_ELSE = _form(
    r"""
    iz | is[ei] | ary | ive | ly | less | ed\b | ing | y\b
    | [_.-]?s?[_.-]?(?:
        types? | counts? | names? | limits? | fields? | files? | paths? | urls? | uris? | endpoints? | lengths? | len
        | sizes? | usages? | expir\w* | policy | prompts? | labels? | hint | help | format | index | ids? | arn | refs?
        | mount | manager | mgr | store | version | required | reset | input | min | max | budget | per | used | left
        | total | window | rate | price | cost | details | placeholder | regex | pattern | class
    )(?![a-z])
    """
)
"""Suffixes of names that describe a secret without being one."""

_ASSIGNED = _form(
    rf"""
    (?P<name>{_PASSWORDS} | (?<=[_-])pass | {_START}pass(?=["']\s{{0,4}}:) | {_KEYS}) (?P<end>[\w.-]{{0,24}}+)
    ["'\]]{{0,2}} [ \t]{{0,20}} (?::=|=>|={{1,3}}|[:\uff1a\uff1d]) [ \t]{{0,20}}
    (?:[bru@]?(?:{_QUOTED}) | ["'`]?(?P<value>{_BARE}))
    """
)
_CALLED = _form(
    rf"""
    (?P<name>{_PASSWORDS} | {_KEYS} | \bidentified[ ]by) (?P<end>[\w-]{{0,24}}+)
    (?:[ \t]{{0,4}}\( | ["'][ \t]{{0,4}}, | [ \t])[ \t]{{0,4}} (?:{_QUOTED})
    """
)
_COMPARED = _form(
    rf"""
    ["'](?P<value>[^\s"'\\]{{4,200}}+)["'][ \t]{{0,4}}[!=]={{1,2}}[ \t]{{0,4}}[\w.]{{0,40}}?
    (?P<name>{_PASSWORDS} | {_KEYS})(?P<end>)
    """
)
_MARKED_UP = _form(
    rf"""
    <(?:[\w-]{{1,30}}:)?[\w.-]{{0,30}}? (?P<name>{_PASSWORDS}|{_KEYS}) (?P<end>[\w.-]{{0,24}}+) [^<>]{{0,100}}>
    (?P<value>[^<>\s]{{4,500}})</
    """
)
_ENVIRONMENT = re.compile(
    r"""
    ^[ \t]{0,20}(?:(?:export|set|env|-e)[ \t]{1,4})?[A-Z0-9_]{0,40}?
    (?P<name>PASSWORD|PASSWD|PASSPHRASE|PASS|PWD|SECRET|TOKEN|KEY) (?P<end>[A-Z0-9_]{0,24}+)
    =(?P<value>[^\s"'`$][^\s"'`\\]{3,500}+)[ \t]*+$
    """,
    re.MULTILINE | re.VERBOSE,
)
_ENVIRONMENT_INSIDE = re.compile(
    r"""
    (?<![A-Za-z0-9_?&])[A-Z0-9_]{0,40}?
    (?P<name>PASSWORD|PASSWD|PASSPHRASE|PASS|PWD|SECRET|TOKEN|KEY) (?P<end>[A-Z0-9_]{0,24}+)
    =(?P<value>[^\s"'`$=\\<>][^\s"'`=\\<>]{3,500}?)(?=[;,.)\]}|]{0,4}(?:[\s"'`\\<>]|\Z))
    """,
    re.VERBOSE,
)
"""A variable inside a line, with signs that end other values."""
_CONNECTION = _form(
    r"""
    (?:[;"'=]|^)[ \t]*+(?P<name>password|pwd)(?P<end>)[ \t]{0,4}=[ \t]{0,4}
    (?P<value>[^;"'\r\n]{4,200}+)(?=;[ \t]*[A-Za-z]|;?["'])
    """,
    flags=re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_STATED = _form(
    rf"""
    (?:{_PASSWORDS})(?:
        [ \t]{{1,4}}(?:is|was|ist|es|est|to|jest|brzmi|هي|هو)[ \t:]{{1,4}} | 是[ \t:\uff1a]{{0,4}} | [은는][ \t:]{{1,4}}
    )
    (?:{_QUOTED} | [`(]?(?P<value>{_BARE}))
    """
)
_STRING_DATA = _form(
    r"""
    (?<![\w-])["']?stringData["']?[ \t]{0,4}:[ \t]{0,4}\{?[ \t]{0,4}(?:[|>][+-]?)?\r?\n?(?P<value>
        (?:(?:[+-]|[ ]{0,6}\d{1,6}[\t:])?[ \t]{1,20}[^\r\n]{1,500}+(?:\r?\n|\Z)){1,60}+
        | [ \t]{0,4}["'][^{}\r\n]{1,2000}+
    )
    """
)
_STRING_DATA_ENTRY = _form(
    r"""
    (?:^(?:[+-]|[ ]{0,6}\d{1,6}[\t:])?[ \t]{1,20}|(?<=[{,"]))
    [ \t]{0,4}["']?[\w.-]{1,60}+["']?[ \t]{0,4}:[ \t]{1,4}(?:[|>][+-]?\r?\n[ \t]{1,20})?
    (?:"(?P<double>[^"\r\n]{4,500}+)" | '(?P<single>[^'\r\n]{4,500}+)' | (?P<value>[^\s"'|>{][^\r\n]{3,500}+))
    """,
    flags=re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_NETRC = _form(
    rf"""
    {_START}login[ \t\r\n]{{1,8}}[^\s"']{{1,100}}+[ \t\r\n]{{1,8}}(?P<name>password)(?P<end>)[ \t\r\n]{{1,8}}
    (?P<value>{_BARE})
    """
)
_ARGUMENT = _form(
    rf"""
    (?<![\w-])(?:
        --?(?:[a-z0-9]{{1,20}}-){{0,3}}(?P<name>{_PASSWORDS}|pass|{_KEYS})(?:[ \t]{{1,8}}|=)
        | -pass(?:in|out)?[ ]pass:
    )
    (?:{_QUOTED} | (?P<value>(?!-){_BARE}))
    """
)
_OPTIONS = r"(?:[ \t]{1,4}-[a-zA-Z]{1,8}(?:[ \t]\d{1,3})?)"
_PROGRAM_ARGUMENT = _form(
    rf"""
    (?<![\w-])(?:
        (?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump)(?=[ \t])[^\n|;"']{{0,200}}?[ \t]-p
        | sshpass[ \t]{{1,4}}-p[ \t]{{0,4}}
        | (?:zip|unzip|sqlcmd|bcp)[ \t][^\n|;"']{{0,200}}?-P[ \t]{{1,4}}
        | 7z[a-z]?[ \t][^\n|;"']{{0,200}}?-p
        | ssh-keygen[ \t][^\n|;"']{{0,200}}?-N[ \t]{{1,4}}
        | ldap[a-z]{{2,10}}[ \t][^\n|;"']{{0,200}}?-w[ \t]{{1,4}}
        | (?:docker|podman|az|cf|oc)[ \t]{{1,4}}login[ \t][^\n|;"']{{0,200}}?[ \t]-p[ \t]{{1,4}}
        | htpasswd(?={_OPTIONS}{{0,6}}?[ \t]{{1,4}}-[a-zA-Z]{{0,8}}b){_OPTIONS}{{1,6}}+
            (?:(?<=n)|(?<=n[a-zA-Z])|(?<=n[a-zA-Z]{{2}})|[ \t]{{1,4}}[^\s;|&]{{1,200}}+)
            [ \t]{{1,4}}[^\s;|&"']{{1,64}}+[ \t]{{1,4}}
        | redis-cli(?=[ \t])[^\n|;"']{{0,200}}?[ \t]-a[ \t]{{1,4}}
    )(?P<name>(?!))?(?:{_QUOTED} | (?P<value>(?!-){_BARE}))
    """,
    flags=re.VERBOSE,
)
_LOGIN_ARGUMENT = _form(
    rf"""
    (?<![\w-])(?:-u|--(?:proxy-)?user)(?:[ \t]{{1,8}}|=|(?=["']))(?:
        "[^\s:"'/\\]{{0,64}}+:(?P<double>(?:[^"\\\r\n]|\\[^\r\n]){{1,200}}+)"
        | '[^\s:"'/\\]{{0,64}}+:(?P<single>[^'\r\n]{{1,200}}+)'
        | [^\s:"'/\\]{{0,64}}+:(?P<value>(?!//)(?:[^\s"'\\&;|<>]|{_ESCAPED}){{1,200}}+)
    )
    """
)
_PIPED = _form(
    r"""
    (?<![\w-])(?:echo|printf)[ \t]{1,4}["']?(?P<value>[^\s"'|]{4,200}+)["']?[ \t]{0,4}\|[ \t]{0,4}
    (?:sudo[ \t](?:-[a-z]+[ \t]{1,4}){0,4}?-S | (?:sudo[ \t]{1,4})?chpasswd)
    """
)
_LOGIN_CALL = _form(
    rf"""
    (?:
        \b(?:login|getConnection|auth[ \t]?=[ \t]?)\([^"'\r\n]{{0,60}}["'][^"'\r\n]{{1,100}}+["'],[ \t]{{0,4}}
        | SecureString[ \t]{{1,4}}(?:-String[ \t]{{1,4}})?
    )
    (?:{_QUOTED})
    """
)
_HASH = re.compile(r"\$(?:apr1|2[abxy]|[156y]|argon2(?:id?|d)|scrypt|pbkdf2[\w-]{0,16})\$[A-Za-z0-9./$=,+-]{20,300}+")
_ENCODED_LOGIN = _form(r"""(?<![a-z])_?auth["']?[ \t]{0,4}[:=][ \t]{0,4}["']?(?P<value>[A-Za-z0-9+/]{12,400}={0,2}+)""")
_COOKIES = _form(
    r"""
    (?:(?<![a-z])(?:set-)?cookie["']{0,2}[ \t]{0,4}[:=,][ \t]{0,4} | (?<![\w-])(?:-b|--cookie)[ \t]{1,8})
    ["']?(?P<value>[^\r\n"']{3,4000}+)
    """
)
_COOKIE = _form(r"""(?<![^\s;,"'])[^\s=;,"'()]{1,64}=(?P<value>[^\s;,"'()\\]{6,2000}+)""")
_SIGNATURE = _form(
    rf"""
    {_START}(?:sig|signature|x-(?:amz|goog)-signature|x-amz-security-token|sharedaccesssignature)
    =(?P<value>[A-Za-z0-9%+/=_.~-]{{16,2000}}+)
    """
)
_SCHEME = _form(
    rf"{_START}(?:bearer|basic|token|apikey|digest)[ \t]{{1,4}}(?P<value>[A-Za-z0-9+/_=.~-]{{16,4000}}+)(?<!\.)"
)
_AUTHORIZATION = _form(
    r"""
    (?<![a-z])authorization["']{0,2}[ \t]{0,4}[:=,][ \t]{0,4}["']?(?:[a-z][\w-]{0,30}+[ \t]{1,4})?
    (?P<value>[A-Za-z0-9+/_=.~:-]{8,4000}+)
    """
)
_ADDRESS = _form(r"""://[^\s/:@"'<>\\]{0,200}+:(?P<value>[^\s/?"'<>\\]{1,200})@""")

_ADDRESS_TOKEN = _form(r"""://(?P<value>[a-z0-9_-]{20,300}+)@""")
_THIN_ADDRESS = _form(r""":thin:[^\s/:@"'\\]{1,64}/(?P<value>[^\s/"'\\]{4,200})@""")

_PRIVATE_KEY = re.compile(
    r"""
    -----BEGIN[ ][A-Z0-9 ]{0,40}PRIVATE[ ]KEY(?:[ ]BLOCK)?-----
    (?:
        (?:[^-]++|-(?!----))*+ -----END[ ][A-Z0-9 ]{0,40}PRIVATE[ ]KEY(?:[ ]BLOCK)?-----
        | (?:[^A-Za-z0-9+/=]{0,40}+(?:Proc-Type|DEK-Info|Version|Comment):[^\r\n\\]{0,100}+){0,4}+
          (?:[^A-Za-z0-9+/=]{0,40}+(?:\d{1,6}[^A-Za-z0-9+/=]{1,4})?[A-Za-z0-9+/=]{24,}+)*+
          (?:[\r\n]{1,2}[A-Za-z0-9+/=]+\Z)?
    )
    """,
    re.VERBOSE,
)
"""A private key to its end marker, or as long as possible if the end was cut off."""

_OTHER_PRIVATE_KEY = re.compile(
    r"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----[^-]*+(?:---- END SSH2 ENCRYPTED PRIVATE KEY ----)?"
    r"|Private-Lines:[ \t]*\d+\r?\n(?:[A-Za-z0-9+/=]{64}\r?\n)*+[A-Za-z0-9+/=]*|AGE-SECRET-KEY-1[A-Z0-9]{50,70}"
)

_TOKENS: tuple[tuple[str, str], ...] = (
    ("provider key", r"sk-(?=[\w-]{0,40}[0-9])[A-Za-z0-9_-]{16,}|AIza[\w-]{30,}|(?:gsk_|xai-|pplx-)[A-Za-z0-9]{20,}"),
    ("provider key", r"hf_[A-Za-z0-9]{20,}|r8_[A-Za-z0-9]{30,}|nvapi-[\w-]{20,}|tvly-[\w-]{16,}|GOCSPX-[\w-]{20,}"),
    ("provider key", r"ya29\.[\w-]{20,}|SG\.[\w-]{16,}\.[\w-]{16,}|key-[0-9a-f]{32}|(?:AC|SK)[0-9a-f]{32}"),
    ("token", r"(?:github_pat|gh[pousr])_\w{16,}|gl(?:pat|ptt|dt|rt|soat|cbt|ft|agent)-[\w-]{16,}|npm_[\w-]{16,}"),
    ("token", r"pypi-[\w-]{16,}|do[opr]_v1_\w{16,}|shp(?:at|ca|pa|ss)_\w{16,}|xox[a-z]-[\w-]{10,}|xapp-[\w-]{16,}"),
    ("token", r"dckr_pat_[\w-]{16,}|(?:lin_api|ntn|glsa|pscale)_\w{16,}|figd_[\w-]{16,}|(?:PMAK|tskey)-[\w-]{16,}"),
    ("token", r"hv[sbr]\.[\w-]{20,}|sntry[su]_[\w=+/-]{16,}|sbp_\w{20,}|dapi[0-9a-f]{32}|sq0[a-z]{3}-[\w-]{20,}"),
    ("token", r"(?:bot)?[0-9]{8,10}:AA[\w-]{30,}|AKC[a-z0-9][A-Za-z0-9]{30,200}"),
    ("token", r"v[1-4]\.(?:local|public)\.[\w-]{20,}(?:\.[\w-]+)?|k[1-4]\.(?:local|secret)(?:-wrap)?\.[\w-]{20,}"),
    ("token", r"AT(?:ATT3|CTT3|BB)[\w=-]{20,}|NR(?:AK|II|JS|AL)-[A-Za-z0-9_-]{16,}|[0-9a-f]{36}(?:FFFF)?NRAL"),
    ("token", r"dp\.(?:st|pt|ct|sa|said|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}"),
    ("token", r"[A-Za-z0-9]{14}\.atlasv[0-9]\.[\w=-]{60,}"),
    ("Stripe key", r"(?:[rsp]k_(?:live|test)|whsec)_[A-Za-z0-9]{10,}"),
    ("AWS key", r"(?:AKIA|ASIA|AGPA|AIDA|AROA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("web token", r"(?<![\w=.-])eyJ[\w-]{8,}+\.[\w-]{8,}+(?:\.[\w-]*+){0,3}"),
    ("web hook", r"https://(?:hooks\.slack\.com/(?:services|workflows)|discord(?:app)?\.com/api/webhooks)/[\w/-]+"),
    ("web hook", r"https://[\w-]{1,63}\.webhook\.office\.com/[\w/@-]+"),
)
"""Secrets with a recognizable prefix."""

_CARD = re.compile(
    r"""
    (?<![\w.,+-])(?P<value>
        [2-6]\d{12,18}
        | [2-6]\d{3}(?P<sign>[ -])\d{4}(?P=sign)\d{4}(?P=sign)\d{1,7}
        | 3\d{3}(?P<other>[ -])\d{6}(?P=other)\d{4,5}
    )(?![\w-]|[.,]\d)
    """,
    re.VERBOSE,
)
_LABELED_PHRASE = _form(
    r"""
    (?:mnemonic | (?:seed|recovery|secret|backup|wallet)[_\ -]?(?:phrase|words?) | (?<![a-z])seed)
    [\w\ ]{0,20}["'`]?\s{0,4}[:=]?\s{0,4}["'`(\[]{0,2}(?P<value>
        (?:
            (?:["']?(?:\d{1,2}[.)]\ ?)?[a-z]{3,8}["']?[\ ,\t]{1,3}){11,23}
            | (?:(?:\d{1,2}[.)]\ ?)?[a-z]{3,8}\r?\n[\ \t]{0,8}){11,23}
        )
        (?:\d{1,2}[.)]\ ?)?[a-z]{3,8}
    )(?![a-z])
    """
)
_PHRASE = re.compile(
    r"""(?:^|(?<=["'`:=>|]))[ ]?(?P<value>(?:[a-z]{3,8}[ ]){11,23}+[a-z]{3,8})(?=[ ]?(?:$|["'`<|\\]))""",
    re.MULTILINE | re.VERBOSE,
)
_HEXADECIMAL = re.compile(r"(?<![A-Za-z0-9+/_.@%\\-])(?P<value>(?:0x)?[0-9A-Fa-f]{32,}+)(?![A-Za-z0-9+/_]|  | \*|\.\w)")
_LONG_WORD = re.compile(r"(?<![A-Za-z0-9+/_.%$@\\-])(?!//)(?P<value>[A-Za-z0-9+/_-]{32,}+={0,2}+)(?![\w(])")

_BEFORE = 32
"""Characters before a value that may label it."""

_DIGEST_BEFORE = _form(
    r"""
    (?:sha-?\d* | md5 | commit | digest | checksum | hash(?:es)? | etag | rev(?:ision)? | tree | parent | blob
        | index | objects? | merge | uu?id | guid | head | ref | from | \bid | _id | version | sum | fingerprint
        | integrity | nonce)
    ["'`*)\]]{0,3}\s{0,4}[:=(]{0,2}\s{0,4}["'`*(\[]{0,3}\Z
    """
)
_PUBLIC_BEFORE = _form(
    r"""
    (?:base64, | h1: | sha\d{1,3}[-:=] | integrity | signature | thinking | ssh-[a-z0-9]+\  | nistp\d+\  | digest
        | checksum | hash)["']?\s?[:=]?\s?["']?\Z
    """
)


def _is_assigned(match: re.Match[str]) -> bool:
    if _SAYS_SOMETHING_ELSE.match(match["end"]):
        return False
    group = _secret_group(match)
    return is_value(match[group], is_password=bool(_OF_PASSWORDS.match(match["name"])), is_quoted=group != "value")


def _is_called(match: re.Match[str]) -> bool:
    return _is_assigned(match) and is_mixed(match[_secret_group(match)])


def _is_stated(match: re.Match[str]) -> bool:
    value = match[_secret_group(match)]
    return len(value) >= 6 and " " not in value and is_mixed(value) and not is_placeholder(value)


def _is_string_data(match: re.Match[str]) -> bool:
    return not is_placeholder(match[_secret_group(match)])


def _is_argument(match: re.Match[str]) -> bool:
    value = match[_secret_group(match)]
    if len(value) < 4 or is_placeholder(value) or _OF_PASSWORDS.fullmatch(value):
        return False
    if match["name"] is None or _OF_PASSWORDS.match(match["name"]):
        return value[0] not in "/~."
    return is_mixed(value) or looks_random(value)


def _is_login(match: re.Match[str]) -> bool:
    value = match[_secret_group(match)]
    return not (is_placeholder(value) or value.isdigit())


def _is_address_login(match: re.Match[str]) -> bool:
    value = match["value"]
    return not (is_placeholder(value) or _OF_PASSWORDS.fullmatch(value))


def _is_piped(match: re.Match[str]) -> bool:
    return not is_placeholder(match["value"])


def _is_long(match: re.Match[str]) -> bool:
    return looks_random(match["value"]) or is_hexadecimal_secret(match["value"])


def _is_cookie(match: re.Match[str]) -> bool:
    value = match["value"]
    return is_mixed(value) and not is_placeholder(value) and not is_code(value)


def _is_credential(match: re.Match[str]) -> bool:
    value = match["value"]
    return is_mixed(value) and not is_placeholder(value)


def _is_card(match: re.Match[str]) -> bool:
    return is_card_number(match["value"])


def _is_labeled_phrase(match: re.Match[str]) -> bool:
    return is_recovery_phrase(match["value"], is_labeled=True)


def _is_phrase(match: re.Match[str]) -> bool:
    return is_recovery_phrase(match["value"], is_labeled=False)


def _is_hexadecimal(match: re.Match[str]) -> bool:
    return is_hexadecimal_secret(match["value"]) and not _is_preceded(_DIGEST_BEFORE, match)


def _is_long_word(match: re.Match[str]) -> bool:
    return is_random_word(match["value"]) and not _is_preceded(_PUBLIC_BEFORE, match)


def _is_preceded(pattern: re.Pattern[str], match: re.Match[str]) -> bool:
    return bool(pattern.search(match.string, max(0, match.start() - _BEFORE), match.start()))


NAMED_RULES: tuple[Rule, ...] = (
    Rule("private key", _PRIVATE_KEY),
    Rule("private key", _OTHER_PRIVATE_KEY),
    *(Rule(kind, re.compile(f"{_START}(?:{form})", re.ASCII)) for kind, form in _TOKENS),
    Rule("login in an address", _ADDRESS, _is_address_login),
    Rule("login in an address", _ADDRESS_TOKEN, _is_long),
    Rule("login in an address", _THIN_ADDRESS, _is_address_login),
    Rule("credentials", _SCHEME, _is_credential),
    Rule("credentials", _ENCODED_LOGIN, _is_long),
    Rule("credentials", _LOGIN_CALL, _is_stated),
    Rule("credentials", _PIPED, _is_piped),
    Rule("password's hash", _HASH),
    Rule("credentials", _AUTHORIZATION, _is_credential),
    Rule("credentials", _LOGIN_ARGUMENT, _is_login),
    Rule("signature", _SIGNATURE, _is_credential),
    Rule("cookie", _COOKIES, within=Rule("cookie", _COOKIE, _is_cookie)),
    Rule("value of a secret's name", _ASSIGNED, _is_assigned),
    Rule("value of a secret's name", _ENVIRONMENT, _is_assigned),
    Rule("value of a secret's name", _ENVIRONMENT_INSIDE, _is_assigned),
    Rule("value of a secret's name", _CALLED, _is_called),
    Rule("value of a secret's name", _COMPARED, _is_called),
    Rule("value of a secret's name", _MARKED_UP, _is_assigned),
    Rule("value of a secret's name", _CONNECTION, _is_assigned),
    Rule("value of a secret's name", _STATED, _is_stated),
    Rule(
        "value of a secret's name",
        _STRING_DATA,
        within=Rule("value of a secret's name", _STRING_DATA_ENTRY, _is_string_data),
    ),
    Rule("value of a secret's name", _NETRC, _is_assigned),
    Rule("secret argument", _ARGUMENT, _is_argument),
    Rule("secret argument", _PROGRAM_ARGUMENT, _is_argument),
    Rule("card number", _CARD, _is_card),
)
"""Secrets recognizable by their form, by their label, or by their check digit."""

ALL_RULES: tuple[Rule, ...] = (
    *NAMED_RULES,
    Rule("recovery phrase", _LABELED_PHRASE, _is_labeled_phrase),
    Rule("recovery phrase", _PHRASE, _is_phrase),
    Rule("long hexadecimal number", _HEXADECIMAL, _is_hexadecimal),
    Rule("long random word", _LONG_WORD, _is_long_word),
)
"""The named rules, and rules for unlabeled long random strings, which also match some session file names."""


def secrets_in(text: str, finders: Sequence[Finder]) -> Iterator[Found]:
    """Yield secrets in a text, unsorted, with overlaps and duplicates."""
    for reading in decoded_views(text):
        for part in reading.stretches():
            for finder in finders:
                for place in finder.spans(reading.text, *part):
                    yield Found(*reading.span(*place), finder.kind)
