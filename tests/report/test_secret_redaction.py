"""Secrets planted in every text of a session, and looked for in every report on it."""

from __future__ import annotations

import json
import random
import string
import sys
from typing import TYPE_CHECKING, Any

import pytest

from inspector.cli import main
from inspector.report.secret_redaction import SecretRedactor
from tests.conftest import ROOT
from tests.program import run_here

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = ROOT / "sample_sessions/coding-agent.jsonl"
LETTERS = string.ascii_letters + string.digits
TEXTS = frozenset({"text", "content", "thinking", "summary", "title", "customTitle", "aiTitle", "stdout", "command"})


def made_up(length: int, seed: int, letters: str = LETTERS) -> str:
    return "".join(random.Random(seed).choices(letters, k=length))  # noqa: S311  nothing is protected by it


UPPER = string.ascii_uppercase + string.digits
PRIVATE = "\n".join(made_up(64, seed) for seed in range(90, 96))
SECRETS = {
    # Each pair is a secret and the text around it. None was ever valid.
    "AWS key id": (key := "AK" + "IA" + made_up(16, 1, UPPER), f"export AWS_ACCESS_KEY_ID={key}"),
    "AWS secret": (key := made_up(40, 2), f"aws_secret_access_key = {key}"),
    "GitHub": (key := "gh" + "p_" + made_up(36, 3), f"git clone with {key}"),
    "GitHub, fine-grained": (key := "github" + "_pat_" + made_up(22, 4) + "_" + made_up(59, 5), f"remote: {key}"),
    "GitLab": (key := "gl" + "pat-" + made_up(20, 6), f"PRIVATE-TOKEN {key}"),
    "Slack": (key := "xo" + "xb-" + made_up(12, 7, string.digits) + "-" + made_up(24, 8), f"posted with {key}"),
    "Slack web hook": (key := made_up(24, 9), f"https://hooks.slack.com/services/T0AAAAAAA/B0AAAAAAA/{key}"),
    "Stripe": (key := "sk" + "_live_" + made_up(24, 10), f"charge via {key}"),
    "Anthropic": (key := "sk" + "-ant-api03-" + made_up(80, 11), f"x-api-key {key}"),
    "OpenAI": (key := "sk" + "-proj-" + made_up(48, 12), f"using {key} now"),
    "Google": (key := "AI" + "za" + made_up(35, 13), f"maps?key={key}"),
    "Hugging Face": (key := "hf" + "_" + made_up(34, 14), f"login {key}"),
    "npm": (key := "np" + "m_" + made_up(36, 15), f"//registry/:_authToken={key}"),
    "web token": (
        key := "eyJ" + made_up(30, 16) + ".eyJ" + made_up(60, 17) + "." + made_up(43, 18),
        f"Authorization: Bearer {key}",
    ),
    "bearer": (key := made_up(32, 19), f"Authorization: Bearer {key}"),
    "private key": (
        PRIVATE,
        "-----BEGIN RSA " + f"PRIVATE KEY-----\n{PRIVATE}\n-----END RSA " + "PRIVATE KEY-----",
    ),
    "private key, cut off": (PRIVATE[:200], "-----BEGIN OPENSSH " + f"PRIVATE KEY-----\n{PRIVATE[:200]}"),
    "login in an address": (key := made_up(14, 20), f"postgres://shop:{key}@db.internal:5432/orders"),
    "generic key": (key := made_up(20, 21), f"api_key={key}"),
    "generic key in JSON": (key := made_up(20, 22), json.dumps({"apiKey": key})),
    "password": (key := "hunter2-" + made_up(6, 23), f"DB_PASSWORD: {key}"),
    "client secret": (key := made_up(24, 24), f'client_secret = "{key}"'),
    "SendGrid": (key := "SG." + made_up(22, 25) + "." + made_up(43, 26), f"mail with {key}"),
    "Twilio": (key := "SK" + made_up(32, 27, "0123456789abcdef"), f"twilio {key}"),
}


def planted(source: Path, target: Path, said: str) -> Path:
    def with_text(value: Any, name: str = "") -> Any:
        match value:
            case dict():
                return {key: with_text(inner, key) for key, inner in value.items()}
            case list():
                return [with_text(inner, name) for inner in value]
            case str() if name in TEXTS:
                return f"{said}\n{value}"
            case _:
                return value

    lines = [json.dumps(with_text(json.loads(line))) for line in source.read_text(encoding="utf-8").splitlines()]
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return target


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_masked_and_counted_and_what_is_around_it_stays(name: str):
    secret, text = SECRETS[name]
    masker = SecretRedactor()
    masked = masker(f"before it\n{text}\nafter it, twice" if "cut off" not in name else f"before it\n{text}")

    assert secret not in masked
    assert not any(part in masked for part in secret.split("\n"))
    assert masked.startswith("before it\n")
    assert masker.masked.total() >= 1
    assert "masked]" in masked


def test_ordinary_words_are_left_alone():
    text = "def total(prices):\n    return sum(prices)  # 363.920 kWh, see README.md and src/billing.py:120\n"
    masker = SecretRedactor()

    assert masker(text) == text
    assert masker.masked.total() == 0


def test_home_folders_are_shortened_wherever_the_session_was_recorded():
    said = "/home/ada/shop/a.py /Users/ada/shop/a.py C:\\Users\\ada\\shop\\a.py C:\\Users\\Ada Byron\\a.py"

    assert SecretRedactor()(said) == "~/shop/a.py ~/shop/a.py ~\\shop\\a.py ~\\a.py"


def test_names_of_other_users_are_left_out_of_folder_names_too():
    assert SecretRedactor()("projects/-Users-ada-shop and -home-made") == "projects/-~-shop and -home-made"


def test_the_user_s_name_is_masked_where_it_is_by_itself(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", "/home/grace")
    said = "drwxr-xr-x grace staff, grace@host:~$ disgrace grace.py"

    assert SecretRedactor()(said) == "drwxr-xr-x [user name masked] staff, [user name masked]@host:~$ disgrace grace.py"


@pytest.mark.parametrize("home", ["/root", "/home/ubuntu", "/home/al", "/"])
def test_an_account_that_names_no_one_is_no_name(home: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", home)
    said = "root ubuntu al al@host"

    assert SecretRedactor()(said) == said


def test_a_report_without_texts_tells_neither_secrets_in_file_names_nor_the_user(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("HOME", "/home/grace")
    secret = SECRETS["GitHub"][0]
    folder = tmp_path / "grace" / f"work with {secret}"
    folder.mkdir(parents=True)
    session = planted(SAMPLE, folder / f"token={secret}.jsonl", "nothing")
    for options in ([str(session)], [str(folder)]):
        target = tmp_path / "report.json"
        assert main(["report", *options, "--format", "json", "-o", str(target)]) == 0
        report = target.read_text(encoding="utf-8")
        assert secret not in report
        assert "grace" not in report
        assert "[user name masked]" in report


@pytest.mark.parametrize("form", ["text", "json", "md", "html", "csv"])
def test_no_planted_secret_is_in_any_report(form: str, tmp_path: Path):
    said = "\n".join(text for _, text in SECRETS.values())
    session = planted(SAMPLE, tmp_path / "planted.jsonl", said)
    for options in ([], ["--include-text"]):
        target = tmp_path / f"report.{form}"
        arguments = ["report", str(session), "--strategy", "tiered-stale", "--explain", *options, "--format", form]
        if form == "json":
            arguments.append("--ledger")
        assert main([*arguments, "-o", str(target)]) == 0
        report = target.read_text(encoding="utf-8")
        for name, (secret, _) in SECRETS.items():
            assert not any(part in report for part in secret.split("\n")), name
        if options and form != "csv":
            assert "masked]" in report


@pytest.mark.parametrize("form", ["text", "json", "md", "html", "csv"])
def test_secrets_in_names_of_tools_and_models_are_masked_without_an_option(form: str, tmp_path: Path):
    tool, model, version = (SECRETS[name][0] for name in ("GitHub", "OpenAI", "GitLab"))
    lines = [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        line["version"] = version
        message = line.get("message", {})
        if "model" in message:
            message["model"] = model
        for part in message["content"] if isinstance(message.get("content"), list) else ():
            if part["type"] == "tool_use":
                part["name"] = f"mcp__{tool}__{part['name']}"
    session = tmp_path / "named.jsonl"
    session.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    target = tmp_path / f"report.{form}"
    assert main(["report", str(session), "--strategy", "tiered-stale", "--format", form, "-o", str(target)]) == 0
    report = target.read_text(encoding="utf-8")
    for secret in (tool, model, version):
        assert secret[:16] not in report
    assert " masked" in report or form == "csv"


NAMED = {
    "folder": ("report", "{folder}", "--no-kept-results"),
    "sets": ("compare", "--before", "{folder}", "--after", "{other}"),
    "check": ("check", "{folder}"),
    "formats": ("formats", "{folder}/0.jsonl"),
    "tuning": ("tune", "{folder}", "--minutes", "0.02", "--no-kept-results"),
    "compaction": ("tune", "--compaction", "{folder}", "--no-kept-results"),
    "why": ("why", "{folder}/0.jsonl"),
    "comparison": ("compare", "{folder}/0.jsonl"),
}


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("form", ["text", "json"])
def test_no_report_on_one_or_many_sessions_has_a_secret_that_is_a_name(name: str, form: str, tmp_path: Path, capsys):
    tool, model, version, server = (SECRETS[each][0] for each in ("GitHub", "OpenAI", "GitLab", "Slack"))
    text = SAMPLE.read_text(encoding="utf-8").replace('"Bash"', f'"{tool}"').replace('"Read"', f'"mcp__{server}__read"')
    text = text.replace("claude-opus-4-8", model).replace('"2.1.219"', f'"{version}"')
    folder, other = tmp_path / "before", tmp_path / "after"
    for number, place in enumerate((folder, folder, other)):
        place.mkdir(exist_ok=True)
        mine = text.replace("1880028d-", f"1880028{number}-").replace('"msg_', f'"msg{number}_')
        (place / f"{number}.jsonl").write_text(mine, encoding="utf-8")
    words = [word.format(folder=folder, other=other) for word in NAMED[name]]
    as_json = ["--json"] if name == "formats" else ["--format", "json"]
    rates = [] if name == "formats" else ["--rates", "5/25/0.5/6"]
    outcome = run_here(capsys, *words, *rates, *(as_json if form == "json" else []))
    assert outcome.code == 0
    for secret in (tool, model, version, server):
        assert secret[:16] not in outcome.out + outcome.err


def test_what_was_masked_is_counted_in_the_report(tmp_path: Path):
    session = planted(SAMPLE, tmp_path / "planted.jsonl", SECRETS["GitHub"][1])
    target = tmp_path / "report.json"
    assert main(["report", str(session), "--include-text", "--format", "json", "-o", str(target)]) == 0
    report = json.loads(target.read_text(encoding="utf-8"))
    shown = report["session"]["title"] + "".join(row["text"] for row in report["heaviest"])

    assert sum(report["masked"].values()) == shown.count("masked]") > 1
    assert any("secrets masked" in warning for warning in report["warnings"])


def test_without_the_detector_texts_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys):
    monkeypatch.setitem(sys.modules, "detect_secrets.core.plugins.util", None)

    assert main(["report", str(SAMPLE), "--include-text", "-o", str(tmp_path / "report.txt")]) == 1
    assert "pip install 'session-inspector[texts]'" in capsys.readouterr().err
    assert not (tmp_path / "report.txt").exists()
