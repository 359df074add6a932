"""Recall of secret masking on a set of generated secrets, without other changes to the text."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.report.secret_redaction import SecretRedactor
from tests.report.planted_secrets import KINDS, MORE_SURROUNDINGS, SURROUNDINGS, VARIANTS, Draw, pieces_of

if TYPE_CHECKING:
    from tests.report.planted_secrets import Dressed, Planted

SEEDS = range(4)
MASK = r"\[[A-Za-z0-9' -]+ masked\]"
REDACTOR = SecretRedactor()
ALONE = SecretRedactor(needs_detector=False)


def is_hidden(planted: Planted, dressed: Dressed, masked: str) -> bool:
    return not any(piece in masked for piece in pieces_of(planted.secret) | pieces_of(dressed.secret))


def is_exact(dressed: Dressed, masked: str) -> bool:
    return bool(re.fullmatch(re.escape(dressed.before) + MASK + re.escape(dressed.after), masked))


@pytest.mark.parametrize("surrounding", SURROUNDINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_planted_secret_is_masked_and_nothing_else_is(kind: str, surrounding: str):
    for seed in SEEDS:
        planted = KINDS[kind](Draw(seed))
        dressed = SURROUNDINGS[surrounding](planted)
        masked = REDACTOR(str(dressed))

        assert is_hidden(planted, dressed, masked), (seed, masked)
        assert is_exact(dressed, masked), (seed, masked)


def test_nearly_all_of_a_wider_set_are_masked_and_seldom_more_than_that():
    missed, inexact, count = [], [], 0
    for kind, plant in (KINDS | VARIANTS).items():
        for surrounding, dress in (SURROUNDINGS | MORE_SURROUNDINGS).items():
            planted = plant(Draw(11))
            dressed = dress(planted)
            masked = REDACTOR(str(dressed))
            count += 1
            if not is_hidden(planted, dressed, masked):
                missed.append(f"{kind} in {surrounding}")
            elif not is_exact(dressed, masked):
                inexact.append(f"{kind} in {surrounding}")

    assert count == 1_512  # 108 kinds in 14 surroundings
    assert len(missed) <= 0.02 * count, missed
    assert len(inexact) <= 0.01 * count, inexact


def test_a_part_of_a_text_shows_nothing_of_a_secret_that_its_edge_cuts():
    """Excerpts, pages of an MCP answer and their edges mask as the whole text does."""
    line = "The build ran and wrote its log to the usual place.\n"
    missed = []
    for kind, plant in KINDS.items():
        planted = plant(Draw(5))
        dressed = SURROUNDINGS["lines of text"](planted)
        text = f"{line * 20}{dressed}\n{line * 20}"
        at = text.index(planted.secret) + len(planted.secret) // 2
        parts = (REDACTOR.part(text, 0, at), REDACTOR.part(text, at, len(text)))
        missed += [kind for part in parts if not is_hidden(planted, dressed, part)]
    assert not missed


def test_a_password_with_signs_in_a_variable_is_masked_to_its_end_and_an_address_keeps_its_other_values():
    assert (
        REDACTOR("run DB_PASSWORD=fYQc87&(#);PCr99 (12 ms)")
        == "run DB_PASSWORD=[value of a secret's name masked] (12 ms)"
    )
    assert REDACTOR("go?TOKEN=fYQc87PCr99dKw&page=12").endswith("&page=12")


def test_rules_of_our_own_find_as_much_without_the_detector():
    for kind, plant in KINDS.items():
        for surrounding, dress in SURROUNDINGS.items():
            planted = plant(Draw(7))
            dressed = dress(planted)
            assert is_hidden(planted, dressed, ALONE(str(dressed))), (kind, surrounding)


WORDS = st.text(st.sampled_from("abcdefghij   \n.,'"), max_size=60)


@given(st.sampled_from(sorted(KINDS)), st.sampled_from(sorted(SURROUNDINGS)), st.integers(0, 10**6), WORDS, WORDS)
@settings(max_examples=60)
def test_what_is_around_a_secret_stays_whatever_it_is(kind: str, surrounding: str, seed: int, before: str, after: str):
    planted = KINDS[kind](Draw(seed))
    dressed = SURROUNDINGS[surrounding](planted)
    masked = REDACTOR(f"{before}\n\n{dressed}\n\n{after}")

    assert is_hidden(planted, dressed, masked)
    assert masked.startswith(f"{before}\n\n")
    assert masked.endswith(f"\n\n{after}")


@given(st.text(st.characters(codec=None), max_size=300))
@settings(max_examples=60)
def test_any_text_is_masked_in_places_that_follow_one_another(text: str):
    found = REDACTOR.in_place(text)
    places = [place for one in found for place in (one.start, one.stop)]

    assert places == sorted(places)
    assert all(0 <= one.start < one.stop <= len(text) for one in found)
    assert isinstance(REDACTOR(text), str)


@pytest.mark.parametrize(
    "text",
    [
        "def total(prices):\n    return sum(prices)  # 363.920 kWh, see README.md and src/billing.py:120\n",
        '{"status": "running", "content": "completed", "input_tokens": 11029, "max_tokens": 4096}',
        'token = parse_token(text)\npassword: str = Field(default="")\nself.secret = secret\napi_key=os.environ["KEY"]',
        "export TOKEN=$GITHUB_TOKEN PASSWORD=${DB_PASSWORD} API_KEY=<your-key> SECRET=changeme",
        'parser.add_argument("--password", help="the password to log in with")\n  --token string   the token to use',
        "commit 3f786850e387550fdab836ed7e6dc881de23001b\n"
        "d3b07384d113edec49eaa6238ad5ff00  a.txt\nsha256:" + "0123456789abcdef" * 4,
        "docker run -p 8080:80 -u 1000:1000 image && git push -u origin main",
        "session 550e8400-e29b-41d4-a716-446655440000, token 1700000000000, price 4111.1111",
        "src/components/DashboardWidgetContainer/AbstractSingletonProxyFactoryBean.java",
        "git curl wget vim nano make gcc cmake ninja gdb strace ltrace for the build",
        "https://localhost:8080/@scope/package and postgres://user:password@localhost/db",
        'pwd = (self.password.encode("utf-8"))\npassword = as_bytes(auth[1], name="auth")\nuser_pass = "%s:%s"',
        '"deepskyblue": "#00bfff", "Cryptography_HAS_PSK_TLSv1_3": cryptography_has_psk_tlsv13',
        "kind: ConfigMap\ndata:\n  admin: enabled\nspec:\n  stringData: null\n  replicas: 3\n",
        "htpasswd -b file user password, see -B; le mot de passe est requis; hasło jest wymagane; 비밀번호는 필수",
        "v1.local.example.org, dp.st.test and v2.public.api are hosts; كلمة المرور هي مطلوبة",
        "<input type=password name=password> <label>Password: </label>",
    ],
)
def test_what_is_no_secret_is_left_alone(text: str):
    assert REDACTOR(text) == text


def test_a_secret_is_masked_wherever_else_it_is():
    secret = KINDS["password in a setting"](Draw(3)).secret
    masked = REDACTOR(f"DB_PASSWORD={secret}\nrunning with {secret} in it\n")

    assert masked.count("masked]") == 2
    assert secret not in masked


HOSTILE = {
    "names": "password=token=secret: ",
    "names in quotes": "\"password': '",
    "web tokens": "eyJhbGciOi-",
    "web tokens without a point": "eyJ",
    "keys without an end": "-----BEGIN PRIVATE KEY-----",
    "addresses": "://a:",
    "addresses in one": "://",
    "backslashes": "\\",
    "escapes": "\\u005c",
    "terminal": "\x1b]",
    "words": "abandon ",
    "mnemonics": "mnemonic abandon abandon ",
    "digits": "4111 1111 ",
    "names in a table": "| key | token | ",
    "files of passwords": "host:5432:a:b:",
    "one-time passwords": "otpauth://secret=",
    "networks": "WIFI:;P:",
    "passwords near a login": "login aB3!",
    "bytes in an address": "%d9%83",
    "base64": "aB3/",
    "hexadecimal": "0f3a",
    "arguments": "--password -u a: -p ",
    "programs": "mysql docker login ",
    "cookies": "Cookie: a=b;",
    "blanks": " ",
    "lines": "\n",
    "hyphens": "-",
    "artifactory": "artifactory ",
    "aws": "aws key ",
    "names in capitals": "A_PASSWORD_",
    "tags": "<password ",
    "htpasswd": "htpasswd -b ",
    "data of Kubernetes": "stringData:\n  a: b\n",
    "entries of Kubernetes": "  stringData: {a: b, ",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_the_work_for_a_text_grows_in_proportion_to_it(name: str):
    def work(length: int) -> float:
        text = (HOSTILE[name] * length)[:length]
        started = time.process_time()
        REDACTOR.in_place(text)
        return time.process_time() - started

    short = min(work(2_500) for _ in range(3))
    # In proportion it is 16 times as much, with the square 256 times; one fair look of three is enough.
    assert any(work(40_000) < 16 * 3 * short for _ in range(3))
