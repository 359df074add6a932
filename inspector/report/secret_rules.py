"""Rules for secrets in addition to a detector's: next to a name, in an argument, a header, an address, or alone.

A rule is a pattern, with a further test if the pattern alone is too broad. It is tried on every decoded view of a text
(`decoded_views`), so it can ignore escapes and invisible characters. Patterns take linear time: each starts at few
positions, and its repetitions are bounded or possessive.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from inspector.report.decoded_views import decoded_views
from inspector.report.secret_masks import Found
from inspector.report.secret_values import (
    is_card_number,
    is_code,
    is_hexadecimal_secret,
    is_mixed,
    is_placeholder,
    is_random_word,
    is_recovery_phrase,
    is_value,
    looks_random,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class Finder(Protocol):
    """Finder of one kind of secrets."""

    @property
    def kind(self) -> str:
        """Name in a mask."""
        ...

    def spans(self, text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Yield matches in a range of a text."""
        ...


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
        """Yield secrets of this form in a range of a text."""
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
