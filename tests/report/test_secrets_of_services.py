"""Secrets of many services in the surroundings of an agent's work, on each way out; and texts without a secret."""

# ruff: noqa: E501  harmless texts are as long as they are

from __future__ import annotations

import json
import random
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import pytest

from inspector.cli import main
from inspector.report import session_report
from inspector.report.mcp_tools import SessionMemory
from inspector.report.secret_redaction import SecretRedactor
from tests.report.service_secrets import KEYS, SURROUNDINGS, TEXTS, TOKENS, is_left_over, placed, secrets_of
from tests.test_cli_files import session_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.report.planted_secrets import Dressed
    from tests.report.service_secrets import Secret

COUNT = 225 * 11
"""Kinds of secrets times surroundings."""
MOST_MISSED = COUNT * 2 // 100


def all_placed() -> Iterator[tuple[str, Secret, Dressed]]:
    """Every kind in every surrounding, each time another secret, by its name and where the form suffices without."""
    for number, surrounding in enumerate(SURROUNDINGS):
        for one in secrets_of(number):
            is_named = one.service in KEYS or number % 2 == 0
            yield f"{one.service} in {surrounding}", one, placed(one, surrounding, is_named=is_named)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session with a result for every kind in every surrounding."""
    calls = [("Bash", {"command": "env"}, str(dressed)) for _, _, dressed in all_placed()]
    last = ("Bash", {"command": "true"}, "a result that no call sends")
    return session_of(tmp_path_factory.mktemp("services") / "s.jsonl", *calls, last)


def missed(shown: dict[int, str]) -> list[str]:
    """Secrets of which a part is in their shown text; the texts are by number."""
    planted = list(all_placed())
    assert len(planted) == COUNT
    return [name for number, (name, one, dressed) in enumerate(planted) if is_left_over(one, dressed, shown[number])]


def test_there_are_as_many_kinds_as_are_counted() -> None:
    assert len(TOKENS | KEYS) + len(TEXTS) == 225
    assert len(SURROUNDINGS) == 11


def test_nearly_no_secret_is_in_the_texts_of_a_report(
    session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_report, "HEAVIEST", COUNT)
    target = tmp_path / "report.json"
    assert main(["report", str(session), "--include-text", "--format", "json", "-o", str(target)]) == 0
    # Messages: a request, then a call and its result for every secret.
    rows = json.loads(target.read_text(encoding="utf-8"))["heaviest"]
    found = missed({(row["message"] - 3) // 2: row["text"] for row in rows})

    assert len(found) <= MOST_MISSED, found


def test_nearly_no_secret_is_in_a_list_of_results_for_an_agent(session: Path) -> None:
    memory = SessionMemory([session], Path.cwd())
    listed: dict[int, str] = {}
    offset: int | None = 0
    while offset is not None:
        answer = memory.memory_query(limit=50, offset=offset)
        listed |= {int(entry["execution_id"].removeprefix("toolu_")): entry["begins"] for entry in answer["results"]}
        offset = answer["next_offset"]
    found = missed(listed)
    assert len(found) <= MOST_MISSED, found


def test_nearly_no_secret_is_in_a_page_of_a_result_for_an_agent(tmp_path: Path) -> None:
    some = random.Random(1).sample(list(all_placed()), 60)  # noqa: S311
    # Every query reads its whole session again: keep it small.
    session = session_of(tmp_path / "s.jsonl", *(("Bash", {"command": "env"}, str(dressed)) for _, _, dressed in some))
    memory = SessionMemory([session], Path.cwd())
    pages = [memory.memory_query(execution_id=f"toolu_{number}")["text"] for number in range(len(some))]
    left = [name for (name, one, dressed), page in zip(some, pages, strict=True) if is_left_over(one, dressed, page)]
    assert len(left) <= 1, left


DRAW = random.Random(3)  # noqa: S311  nothing is protected by it


def hexadecimal(count: int) -> str:
    return DRAW.randbytes(count // 2 + 1).hex()[:count]


def encoded(count: int) -> str:
    return b64encode(DRAW.randbytes(count)).decode()


HARMLESS = {
    "uuids": f"{UUID(int=DRAW.getrandbits(128))} created by {UUID(int=DRAW.getrandbits(128))}",
    "git log": f"commit {hexadecimal(40)}\nMerge: {hexadecimal(7)} {hexadecimal(7)}\nAuthor: Ada\n\n    Fix the key of the cache ({hexadecimal(12)})\n",
    "git index": f"index {hexadecimal(7)}..{hexadecimal(7)} 100644\n--- a/src/key.py\n+++ b/src/key.py\n",
    "digests": f"sha256:{hexadecimal(64)}\nmd5: {hexadecimal(32)}\n{hexadecimal(64)}  dist/app.whl\n",
    "docker digest": f"FROM python:3.12@sha256:{hexadecimal(64)}\nStatus: Downloaded newer image for python@sha256:{hexadecimal(64)}",
    "image": f"![logo](data:image/png;base64,iVBORw0KGgo{encoded(300)})",
    "package lock": f'"node_modules/ms": {{"version": "2.1.3", "resolved": "https://registry.npmjs.org/ms/-/ms-2.1.3.tgz", "integrity": "sha512-{encoded(64)}"}}',
    "yarn lock": f'ms@^2.1.1:\n  version "2.1.3"\n  resolved "https://registry.yarnpkg.com/ms/-/ms-2.1.3.tgz#{hexadecimal(40)}"\n  integrity sha512-{encoded(64)}\n',
    "cargo lock": f'name = "serde"\nversion = "1.0.203"\nsource = "registry+https://github.com/rust-lang/crates.io-index"\nchecksum = "{hexadecimal(64)}"\n',
    "poetry lock": f'files = [\n    {{file = "rich-13.7.1-py3-none-any.whl", hash = "sha256:{hexadecimal(64)}"}},\n]\n',
    "go sum": f"github.com/pkg/errors v0.9.1 h1:{encoded(32)}\ngithub.com/pkg/errors v0.9.1/go.mod h1:{encoded(32)}\n",
    "requirements": f"rich==13.7.1 \\\n    --hash=sha256:{hexadecimal(64)} \\\n    --hash=sha256:{hexadecimal(64)}\n",
    "minified": '!function(e,t){"object"==typeof exports&&"undefined"!=typeof module?module.exports=t():(e=e||self).Vue=t()}(this,function(){"use strict";var e=Object.freeze({});function t(e){return null==e}var n={key:"aB1",token:t.token,password:e.password}});',
    "prose": "The password must be at least twelve characters long, and the token is rotated every 30 days. The key to this is patience.",
    "colors": "--accent: #1e90ff; --shadow: rgba(0,0,0,.25); color: #A1B2C3D4; background: #0f172a",
    "times": "2026-03-04T05:06:07.123456Z 2026-W10-3 1772600767 05:06:07,123 P3DT4H",
    "versions": "numpy 1.26.4+cu121, node v20.11.1, 1.0.0-rc.1+build.20260304.sha.5114f85, linux 6.8.0-45-generic",
    "paths": "/usr/lib/python3.12/site-packages/requests/auth.py:284 C:\\Windows\\System32\\drivers\\etc\\hosts src/app/(auth)/login/page.tsx",
    "traceback": 'File "/srv/app/auth/token.py", line 120, in get_token\n    raise InvalidTokenError("Token is invalid or expired")\nKeyError: \'api_key\'',
    "ids": "toolu_01A09q90qw90lq917835lq9 msg_01XFDUDYJgAACzvnptvVoYEL req_011CSHoEeqs5C35K2UUqR7Fy call_Ab12Cd34Ef56Gh78Ij90Kl12 chatcmpl-9aBcDeFgHiJkLmNoPqRsTuVw",
    "typescript": "interface Props { password: string; apiKey?: string; token: string | null; onChange(key: keyof State): void }",
    "python": 'def login(user: str, password: str) -> Token:\n    token = create_access_token(data={"sub": user.name})\n    return Token(access_token=token, token_type="bearer")',
    "sql": "CREATE TABLE users (id SERIAL PRIMARY KEY, password_hash VARCHAR(255) NOT NULL, api_key_id INT REFERENCES api_keys(id));",
    "yaml keys": 'cache:\n  key: v1-deps-{{ checksum "package-lock.json" }}\n  restore-keys: |\n    v1-deps-\nsort_key: created_at2\nprimary_key: order_item_id_2026\n',
    "kubernetes": "pod/web-7d9f8c6b5d-x2x9z   1/1   Running   0   12d   10.244.1.17   node-3\nsecretKeyRef:\n  name: db-credentials\n  key: password\n",
    "terraform": 'resource "aws_secretsmanager_secret" "db" {\n  name = "prod/db/password"\n  kms_key_id = aws_kms_key.main.arn\n}\n',
    "arn": "arn:aws:iam::123456789012:role/deploy arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-AbCdEf",
    "mac and ip": "00:16:3e:5e:6c:00 2001:0db8:85a3:0000:0000:8a2e:0370:7334 fe80::1ff:fe23:4567:890a 10.0.0.1:5432",
    "usage": '{"input_tokens": 11029, "cache_read_input_tokens": 43123, "max_tokens": 4096, "token_count": 55, "service_tier": "standard"}',
    "help": "  --password PASSWORD   the password to log in with\n  --token TOKEN         token (default: $API_TOKEN)\n  -k, --api-key KEY     key of the API",
    "tests": "tests/test_auth.py::test_password_is_hashed PASSED [ 12%]\ntests/test_auth.py::test_token_expires_in_3600s PASSED [ 25%]\n",
    "source map": "//# sourceMappingURL=app.3f2a9c1b.js.map\n/assets/index-BxY12zQw.js   143.21 kB │ gzip: 46.13 kB",
    "public key": f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{encoded(32)[:43]} ada@laptop\nSHA256:{encoded(32)[:43]} ada@laptop (ED25519)",
    "etag": f'ETag: "{hexadecimal(32)}"\nX-Request-Id: {UUID(int=DRAW.getrandbits(128))}\nContent-MD5: {encoded(16)}',
    "trace": f"traceparent: 00-{hexadecimal(32)}-{hexadecimal(16)}-01\ntrace_id={hexadecimal(32)} span_id={hexadecimal(16)}",
    "html": '<input type="password" name="password" autocomplete="current-password"><label for="api_key">API key</label><div class="md-collapse-button-container1 sk-loading-spinner-2">',
    "markdown table": "| parameter | type | default |\n| --- | --- | --- |\n| password | string | none |\n| token | varchar(255) | null |\n| cache key | sha256 | app-v2 |\n",
    "math": "x = 3.141592653589793238462643383279502884197169399375105820974944592307816406286",
    "dna": "ACGTACGTTAGCTAGCTAGGATCGATCGATTTAGCGCGATATCGGCTA MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEK",
    "shell": "export PATH=$HOME/bin:$PATH PASSWORD=$(cat /run/secrets/db) TOKEN=${TOKEN:?} && git push -u origin fix/token-refresh-2",
    "languages": "le mot de passe est obligatoire; das Passwort ist zu kurz; la password è richiesta; a senha é fraca; hasło jest za krótkie; 密码是必填项; パスワードは必須です; parola: domanda",
    "java": 'private static final String TOKEN_HEADER = HttpHeaders.AUTHORIZATION; SecretKeySpec key = new SecretKeySpec(bytes, "HmacSHA256");',
    "nix": f"/nix/store/{hexadecimal(32)}-python3-3.12.3/bin/python3",
    "solidity": "address 0x52908400098527886E0F7030069857D2E4169EE7 holds 3 ether",
    "gradle": "distributionSha256Sum="
    + hexadecimal(64)
    + "\nkey: value1234\nhost key verification failed; cache key node-modules-linux-x64-20260304",
    "vscode": '{"key": "ctrl+shift+p", "command": "workbench.action.showCommands"}, {"key": "cmd+k cmd+s"}',
    "react": '<li key="item-20260304-ab12"> useMemo(() => tokenizer(token1, token2), [token1])',
    "nonce": '<script nonce="r4nd0m" integrity="sha384-' + encoded(48) + '" crossorigin>',
}


@pytest.mark.parametrize("name", HARMLESS)
def test_a_harmless_text_is_left_alone(name: str) -> None:
    assert SecretRedactor()(HARMLESS[name]) == HARMLESS[name]
