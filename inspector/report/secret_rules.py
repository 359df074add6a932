r"""Rules for secrets in addition to a detector's: next to a name, in an argument, a header, an address, or alone.

A rule is a pattern, with a further test if the pattern alone is too broad. It is tried on every decoded view of a text
(`decoded_views`), so it can ignore escapes and invisible characters. Patterns take linear time: each starts at few
positions, and its repetitions are bounded or possessive.

Tests that distinguish random secrets from words of prose or programs.

The distinguishing feature is how often lower case, capitals and digits alternate: in random strings at more than every
second character, in human text at every fourth.
"""

from __future__ import annotations

import re
from base64 import b64decode
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from inspector.report.decoded_views import decoded_views

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


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
_WALLET = 42
"""Characters of a public wallet address."""

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
    """Return True if a long hexadecimal number may be secret: not a commit id, wallet address, or few digits."""
    has_both = _HAS_DIGIT.search(value) and _HAS_LETTER.search(value)
    is_public = (len(value) == _GIT_NAME and value.islower()) or (len(value) == _WALLET and value[:2] == "0x")
    return bool(has_both) and len(set(value)) >= 8 and not is_public


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
        hints: Lower-case words of which every match is near one, so that most of a text is skipped.
        around: Characters searched before and after the start of a hint.
    """

    kind: str
    pattern: re.Pattern[str]
    is_secret: Callable[[re.Match[str]], bool] = _always
    within: Rule | None = None
    hints: tuple[str, ...] = ()
    around: tuple[int, int] = (400, 5_000)

    def spans(self, text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
        for part in self._parts(text, start, stop):
            for match in self.pattern.finditer(text, *part):
                if not self.is_secret(match):
                    continue
                group = _secret_group(match)
                if self.within is None:
                    yield match.span(group)
                else:
                    yield from self.within.spans(text, *match.span(group))

    def _parts(self, text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges to search."""
        if not self.hints:
            yield start, stop
            return
        before, after = self.around
        first, last = start, -1
        for place in _places(text, start, stop, self.hints):
            if place - before > last:
                if last >= 0:
                    yield first, last
                first = max(start, place - before)
            last = min(stop, place + after)
        if last >= 0:
            yield first, last


@dataclass(frozen=True, slots=True)
class _AfterNames:
    """Patterns that begin with a secret's name, tried only where there is one."""

    kind: str
    tests: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], bool]], ...]

    def spans(self, text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
        for place in _places(text, start, stop, _NAMES_OF_SECRETS):
            for pattern, is_secret in self.tests:
                if (match := pattern.match(text, place, stop)) and is_secret(match):
                    yield match.span(_secret_group(match))


def _places(text: str, start: int, stop: int, words: tuple[str, ...]) -> list[int]:
    """Return the positions of lower-case words in any case."""
    lowered = _lowered(text)
    found = []
    for word in words:
        place = lowered.find(word, start, stop)
        while place >= 0:
            found.append(place)
            place = lowered.find(word, place + 1, stop)
    return sorted(found)


@lru_cache(maxsize=1)
def _lowered(text: str) -> str:
    return text.replace("\u0130", "I").lower()  # the only letter that is longer in lower case


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
    passwords? | passwd | passphrase | passcode | pwd | passwort | kennwort | contraseña | senha | пароль | 密码 | 密碼
    | パスワード | mot[ ]de[ ]passe | has[łl]o(?!\w) | 비밀번호 | 암호 | كلمة[ ](?:المرور|السر) | parola | wachtwoord
    | lösenord | salasana | heslo | (?<![a-z_])psk(?=["']?[ ]?[=:])
"""
_KEYS = r"""
    (?:api|access|private|secret|account|auth|encryption|signing|master|sharedaccess|license|service)[_\ -]?key
    | secret | token | credentials? | connect[.]sid | jsessionid | phpsessid
"""


def _words(listed: str) -> tuple[str, ...]:
    return tuple(listed.split("|"))


_PASSWORD_NAMES = _words(
    "pass|pwd|pw|psk|kennwort|contraseña|senha|пароль|密码|密碼|パスワード|mot de passe|hasło|haslo|비밀번호|암호"
    "|كلمة المرور|كلمة السر|parola|wachtwoord|lösenord|salasana|heslo"
)
_NAMES_OF_SECRETS = _PASSWORD_NAMES + _words(
    "api|access|private|account|auth|encryption|signing|master|shared|license|service|secret|token|credential|connect.sid"
    "|jsessionid|phpsessid|identified by|key|pat"
)
"""First words of all names of secrets, in lower case."""

_OF_PASSWORDS = _form(f"(?:{_PASSWORDS}|pass|psk)")

_SAYS_SOMETHING_ELSE = _form(
    r"""
    iz | is[ei] | ary | ive | ly | less | ed\b | ing | y\b
    | [_.-]?s?[_.-]?(?:
        types? | counts? | names? | limits? | fields? | files? | paths? | urls? | uris? | endpoints? | lengths? | len
        | sizes? | usages? | expir\w* | policy | prompts? | labels? | hint | help | format | index | ids? | arn
        | refs?
        | mount | manager | mgr | store | version | required | reset | input | min | max | budget | per | used | left
        | total | window | rate | price | cost | details | placeholder | regex | pattern | class
    )(?![a-z])
    """
)
"""Suffixes of names that describe a secret without being one."""

_SIGN = r"(?::[:=]|[=-]>|={1,3}|[:\uff1a\uff1d\u2014\u2192])"
_ASSIGNED = _form(
    rf"""
    (?P<name>
        {_PASSWORDS} | (?<=[_,-])pass | {_START}(?:pw(?=["']?\s?[:=]) | pass(?=["']\s{{0,4}}: | :[ ]?["'])) | {_KEYS}
    ) (?P<end>[\w.-]{{0,24}}+)
    ["'\]*]{{0,2}} [ \t]{{0,20}} {_SIGN} (?:\*\*)? [ \t]{{0,20}}
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
    (?P<name>{_PASSWORDS} | {_KEYS} | key | (?<=[_ -])pat(?![a-z])) (?P<end>(?-i:[\w.-]{{0,24}}?)) ["'`*)]{{0,3}}
    (?:
        (?P<link>
            [ \t]{{1,4}}(?:is|(?:(?:was|is)[ ])?(?:re)?set[ ]to|changed[ ]to|was|ist|lautet|es|est|è|é|to|jest|brzmi
                |هي|هو|är|on|je)[ \t:]{{1,4}}
            | (?:是|为|為|は)[ \t:\uff1a]{{0,4}} | [은는이가][ \t:]{{1,4}})
        | [ \t]{{0,20}} (?:[|→] | (?P<gap>[ \t])) [ \t]{{0,8}}
    )
    (?:{_QUOTED} | [`(*]{{0,2}}(?P<value>{_BARE}))
    """
)
_PAIRED = _form(
    rf"""
    (?P<name>{_PASSWORDS} | {_KEYS}) (?P<end>[\w.-]{{0,24}}+)
    ["']{{0,2}}[ \t]{{0,4}}[,{{]?[ \t]{{0,4}}\r?\n?[ \t]{{0,30}}["']?(?:value|default)["']?[ \t]{{0,4}}[:=][ \t]{{0,4}}
    (?:{_QUOTED} | (?P<value>{_BARE}))
    """
)
_OTHER_KEY = _form(
    rf"""
    (?P<name>key | (?<=[_-])pat(?![a-z]))(?P<end>[\w.-]{{0,24}}+) ["'\]]{{0,2}} [ \t]{{0,20}} {_SIGN} [ \t]{{0,20}}
    (?:base64:)? (?:[bru@]?(?:{_QUOTED}) | ["'`]?(?P<value>{_BARE}))
    """
)
_NO_SECRET_KEY = _form(
    r"""
    (?:public|primary|foreign|cache|sort|partition|host|object|s3|idempotency|storage|file|row|hash|dict|index|lookup
        |map|unique|group|shard|routing|natural|surrogate|known|ssh|gpg|pgp|react|translation|message|i18n|event|dedup
        |config|(?<![a-z0-9][_ -])(?<![a-z0-9]))[_ -]?\Z
    """
)
"""Words before a key that is not secret, or none."""
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
_SCANNED = _form(
    r"""
    otpauth://[^\s"'<>]{0,300}?secret=(?P<value>[A-Z2-7]{16,200}+)
    | WIFI:[^\r\n"']{0,150}?;P:(?P<single>[^;\r\n]{4,100}+);
    """
)
"""Addresses in QR codes: one-time passwords and wireless networks."""
_STRONG_WORD = re.compile(
    r"""(?<![^\s"'`:/%=(>|,;*])(?P<value>(?=[^\s]{0,62}?[!#$^*?~])[A-Za-z0-9!@#$^*+?~_-]{8,64}+)(?![\w.\[(])"""
)
_LOGIN_WORDS = _PASSWORD_NAMES + _words("login|user|cred|secret|openssl|snmp|auth(")
"""Words near which a word with the signs of a password is one."""
_PASSWORD_FILE = re.compile(
    r"""
    (?<![\w.:/-])[\w.*-]{1,100}+:(?:\d{3,5}|\*):[A-Za-z_*][\w.*-]{0,62}+:[A-Za-z_*][\w.@*-]{0,62}+
    :(?P<value>[^\s:"'|]{6,100}+)
    """,
    re.ASCII | re.VERBOSE,
)
"""A line of PostgreSQL's password file: host, port, database, user and password."""
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
        | requirepass[ \t]{{1,4}} | -(?:store|key)pass[ \t]{{1,4}}
        | redis-cli(?=[ \t])[^\n|;"']{{0,200}}?[ \t]-a[ \t]{{1,4}}
    )(?P<name>(?!))?(?:{_QUOTED} | (?P<value>(?!-){_BARE}))
    """,
    flags=re.VERBOSE,
)
_PROGRAMS = _words(
    "mysql|mariadb|sshpass|zip|sqlcmd|bcp|7z|ssh-keygen|ldap|login|htpasswd|redis-cli|requirepass|storepass|keypass"
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
    (?<![\w-])(?:echo|printf)[ \t]{1,4}(?:-n[ ]|["']?%s["']?[ ])?["']?(?P<value>[^\s"'|]{4,200}+)["']?
    [ \t]{0,4}\|[ \t]{0,4}
    (?:sudo[ \t](?:-[a-z]+[ \t]{1,4}){0,4}?-S | (?:sudo[ \t]{1,4})?chpasswd | (?:docker|podman|gh[ ]auth)[ ]login)
    """
)
_LOGIN_CALL = _form(
    rf"""
    (?:
        (?:\blogin|getConnection|HTTPBasicAuth|\.auth|auth[ \t]?=[ \t]?)
            \([^"'\r\n]{{0,60}}["'][^"'\r\n]{{1,100}}+["'],[ \t]{{0,4}}
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
    (
        "provider key",
        r"""
        sk-(?:(?:ant|proj|or|lf|svcacct|admin|None)-[\w-]{16,}
        | (?:[a-z][a-z0-9]{1,7}-){0,2}(?=\w{0,40}[0-9])[A-Za-z0-9]{16,}[\w-]*)
        | sk_[0-9a-f]{40,} | AIza[\w-]{30,} | 1//0[\w-]{40,} | ya29\.[\w-]{20,}
        | (?:gsk_|xai-|pplx-|hf_)[A-Za-z0-9]{20,} | r8_[A-Za-z0-9]{30,} | nvapi-[\w-]{20,} | tvly-[\w-]{16,}
        | nsec1[02-9ac-hj-np-z]{58} | lsv2_[a-z]{2}_[0-9a-f]{32}_\w{10} | GOCSPX-[\w-]{20,}
        | SG\.[\w-]{16,}\.[\w-]{16,} | key-[0-9a-f]{32}
        | (?:AC|SK)[0-9a-f]{32} | [0-9a-f]{32}-(?:us\d{1,2} | [0-9a-f]{8}-[0-9a-f]{8})(?![\w-]) | xkeysib-[\w-]{30,}
        | [\w~.]{3}\dQ~[\w~.-]{31,34} | (?:LTAI|AKID)[A-Za-z0-9]{16,} | pcsk_\w{20,}
        | (?:AKIA|ASIA|AGPA|AIDA|AROA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])
        | (?:[rsp]k_(?:live|test)|whsec)_[A-Za-z0-9]{10,} | rzp_(?:live|test)_[A-Za-z0-9]{14,} | FLWSECK[\w-]{16,}
        | access_token\$(?:production|sandbox)\$\w{16}\$\w{32}
        | access-(?:production|sandbox|development)-[0-9a-f-]{36}
        | sq0[a-z]{3}-[\w-]{20,} | shp(?:at|ca|pa|ss)_\w{16,} | django-insecure-[^\s"']{20,80}
        """,
    ),
    (
        "token",
        r"""
        (?:github_pat|gh[pousr])_\w{16,} | gl(?:pat|ptt|dt|rt|soat|cbt|ft|agent)-[\w-]{16,}(?:\.\w\w\.\w{7,})?
        | GR1348941[\w-]{16,}
        | npm_[\w-]{16,} | pypi-[\w-]{16,} | rubygems_\w{20,} | oy2[a-z2-7]{43} | dckr_pat_[\w-]{16,}
        | AKC[a-z0-9][A-Za-z0-9]{30,200}
        | do[opr]_v1_\w{16,} | xox[a-z]-[\w-]{10,} | xapp-[\w-]{16,} | [MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}
        | (?:bot)?[0-9]{8,10}:AA[\w-]{30,}
        | (?:lin_api|ntn|glsa|pscale|napi|hcaik|hcxik|sgp|pn[ub]|bkua|sq[uap]|shippo_(?:live|test))_\w{16,}
        | (?:figd|mdb_sa_sk|sb_secret|CCIPAT|tfp|nfp)_[\w-]{16,} | (?:PMAK|tskey|CFPAT|HRKU|FlyV1)-[\w-]{16,}
        | pul-[0-9a-f]{40}
        | pat-[a-z]{2}\d-[0-9a-f-]{36} | pat[A-Za-z0-9]{14}\.[0-9a-f]{64} | \d/\d{16}(?:/\d{16})?:[0-9a-f]{32}
        | hv[sbr]\.[\w-]{20,} | sntry[su]_[\w=+/-]{16,} | sbp_\w{20,} | dapi[0-9a-f]{32}
        | snyk_[a-z]{2,4}\.[0-9a-f]{8}\.[\w-]{20,}
        | v[1-4]\.(?:local|public)\.[\w-]{20,}(?:\.[\w-]+)? | k[1-4]\.(?:local|secret)(?:-wrap)?\.[\w-]{20,}
        | AT(?:ATT3|CTT3|BB|TA)[\w=-]{20,} | NR(?:AK|II|JS|AL)-[A-Za-z0-9_-]{16,} | [0-9a-f]{36}(?:FFFF)?NRAL
        | dp\.(?:st|pt|ct|sa|said|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}
        | [A-Za-z0-9]{14}\.atlasv[0-9]\.[\w=-]{60,}
        | dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64} | [sp]k\.eyJ[\w-]{20,}\.[\w-]{16,} | sl\.[\w.-]{100,}
        | A{19,}[\w%]{60,}
        | v1\.0-[0-9a-f]{24}-[0-9a-f]{140,} | 0\.[0-9a-f-]{36}\.\w{30}:[\w+/]{22}==
        | A3(?:-[A-Z0-9]{5,6}){5,6}(?![\w-])
        """,
    ),
    ("web token", r"(?<![\w.-])eyJ[\w-]{8,}+\.{1,2}[\w-]{8,}+(?:\.[\w-]++){0,3}"),
    (
        "web hook",
        r"""
        https://(?:hooks\.slack\.com/(?:services|workflows)|discord(?:app)?\.com/api/webhooks)/[\w/-]+
        | https://[\w-]{1,63}\.webhook\.office\.com/[\w/@-]+
        """,
    ),
)
"""Secrets with a recognizable form."""

_SHORT_PREFIX = re.compile(
    r"(?<![\w.-])(?:md|re|fw|rnd|s)[-_.](?:[A-Za-z0-9]{8}_)?(?P<body>[\w-]{22,28})(?![\w.-])", re.ASCII
)
"""Secrets with a prefix that is also common in names of other things."""

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
PUBLIC_BEFORE = _form(
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


def _is_login_word(match: re.Match[str]) -> bool:
    value = match[_secret_group(match)]
    return len(value) >= 6 and " " not in value and is_mixed(value) and not is_placeholder(value)


def _is_stated(match: re.Match[str]) -> bool:
    if not _is_login_word(match) or _SAYS_SOMETHING_ELSE.match(match["end"]):
        return False
    value = match[_secret_group(match)]
    if is_code(value):
        return False
    if not _OF_PASSWORDS.match(match["name"]):
        return _is_key(match, value, takes_ids=match["gap"] is None)
    has_sign = bool(_HAS_STRONG_SIGN.search(value[1:]) and _HAS_DIGIT.search(value))
    return match["link"] is not None or has_sign or looks_random(value)


def _is_other_key(match: re.Match[str]) -> bool:
    is_other = _SAYS_SOMETHING_ELSE.match(match["end"])
    return not is_other and _is_key(match, match[_secret_group(match)], takes_ids=False)


def _is_key(match: re.Match[str], value: str, *, takes_ids: bool) -> bool:
    """Return True if a value next to the name of a key or token is random; UUIDs are also ids."""
    if match["name"].lower() == "key" and _is_preceded(_NO_SECRET_KEY, match):
        return False
    if match["name"].lower() == "pat":
        return len(value) >= 20 and is_mixed(value)
    if _UUID.fullmatch(value):
        return takes_ids or match["name"].lower().endswith(("_key", "-key", " key", "secret"))
    if _HEXADECIMAL_DIGITS.fullmatch(value):
        return len(value) >= 30 and len(set(value)) >= 8 and not value.isdigit()
    return len(value) >= 16 and looks_random(value) and not _PUBLIC_WORD.match(value)


def _is_strong(match: re.Match[str]) -> bool:
    value = match["value"]
    kinds = set(value.translate(_CLASSES))
    return kinds >= _THREE and looks_random(value) and not is_placeholder(value)


def _is_short_prefixed(match: re.Match[str]) -> bool:
    return set(match["body"].translate(_CLASSES)) >= _THREE and looks_random(match["body"])


def _is_encoded_login(match: re.Match[str]) -> bool:
    login = b64decode(match["value"][: len(match["value"]) // 4 * 4])
    return _is_long(match) or (login.isascii() and b":" in login)


def _is_password_file(match: re.Match[str]) -> bool:
    value = match["value"]
    return looks_random(value) or (is_mixed(value) and bool(_HAS_STRONG_SIGN.search(value)))


def _is_no_placeholder(match: re.Match[str]) -> bool:
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


def _is_long(match: re.Match[str]) -> bool:
    return looks_random(match["value"]) or is_hexadecimal_secret(match["value"])


def _is_cookie(match: re.Match[str]) -> bool:
    return _is_credential(match) and not is_code(match["value"])


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
    return is_random_word(match["value"]) and not _is_preceded(PUBLIC_BEFORE, match)


def _is_preceded(pattern: re.Pattern[str], match: re.Match[str]) -> bool:
    return is_after(pattern, match.string, match.start())


def is_after(pattern: re.Pattern[str], text: str, place: int) -> bool:
    """Return True if a pattern matches up to a place in a text."""
    return bool(pattern.search(text, max(0, place - _BEFORE), place))


_NAMED = "value of a secret's name"

NAMED_RULES: tuple[Finder, ...] = (
    Rule("private key", _PRIVATE_KEY),
    Rule("private key", _OTHER_PRIVATE_KEY),
    *(Rule(kind, re.compile(f"{_START}(?=[!-~]{{15}})(?:{form})", re.ASCII | re.VERBOSE)) for kind, form in _TOKENS),
    Rule("token", _SHORT_PREFIX, _is_short_prefixed),
    Rule(_NAMED, _SCANNED, hints=("otpauth:", "wifi:")),
    Rule(_NAMED, _STRONG_WORD, _is_strong, hints=_LOGIN_WORDS, around=(40, 80)),
    Rule(_NAMED, _PASSWORD_FILE, _is_password_file),
    Rule("login in an address", _ADDRESS, _is_address_login),
    Rule("login in an address", _ADDRESS_TOKEN, _is_long),
    Rule("login in an address", _THIN_ADDRESS, _is_address_login),
    Rule("credentials", _SCHEME, _is_credential, hints=("bearer", "basic", "token", "apikey", "digest")),
    Rule("credentials", _ENCODED_LOGIN, _is_encoded_login, hints=("auth",)),
    Rule("credentials", _LOGIN_CALL, _is_login_word, hints=("login", "getconnection", "auth", "securestring")),
    Rule("credentials", _PIPED, _is_no_placeholder, hints=("sudo", "chpasswd", "login")),
    Rule("password's hash", _HASH),
    Rule("credentials", _AUTHORIZATION, _is_credential, hints=("authorization",)),
    Rule("credentials", _LOGIN_ARGUMENT, _is_login),
    Rule("signature", _SIGNATURE, _is_credential, hints=("sig", "x-amz-security-token")),
    Rule("cookie", _COOKIES, within=Rule("cookie", _COOKIE, _is_cookie), hints=("cookie", "-b")),
    _AfterNames(_NAMED, ((_ASSIGNED, _is_assigned), (_PAIRED, _is_assigned), (_OTHER_KEY, _is_other_key))),
    _AfterNames(_NAMED, ((_CALLED, _is_called), (_STATED, _is_stated))),
    Rule(_NAMED, _ENVIRONMENT, _is_assigned),
    Rule(_NAMED, _ENVIRONMENT_INSIDE, _is_assigned),
    Rule(_NAMED, _COMPARED, _is_called),
    Rule(_NAMED, _MARKED_UP, _is_assigned),
    Rule(_NAMED, _CONNECTION, _is_assigned),
    Rule(_NAMED, _STRING_DATA, within=Rule(_NAMED, _STRING_DATA_ENTRY, _is_no_placeholder), hints=("stringdata",)),
    Rule(_NAMED, _NETRC, _is_assigned, hints=("login",)),
    Rule("secret argument", _ARGUMENT, _is_argument),
    Rule("secret argument", _PROGRAM_ARGUMENT, _is_argument, hints=_PROGRAMS),
    Rule("card number", _CARD, _is_card),
)
"""Secrets recognizable by their form, by their label, or by their check digit."""

ALL_RULES: tuple[Finder, ...] = (
    *NAMED_RULES,
    Rule("recovery phrase", _LABELED_PHRASE, _is_labeled_phrase, hints=("mnemonic", "phrase", "seed", "words")),
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
