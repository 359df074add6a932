"""`inspector mcp`: queried by the protocol's own client, over real pipes and in this process."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, chdir
from pathlib import Path
from typing import Any

import pytest

from inspector.cli.mcp import server_of
from inspector.recall.originals import state_folder, store_original
from inspector.report.mcp_tools import SessionMemory
from inspector.session.model import BlockKind
from inspector.session.open import open_session
from tests.conftest import ROOT
from tests.program import COMMAND, environment, run_program
from tests.session.opencode_store import Store
from tests.test_cli_files import session_of

mcp = pytest.importorskip("mcp")


SAMPLE = ROOT / "sample_sessions" / "coding-agent.jsonl"
CLIENT = {"name": "test", "version": "1"}
KEY = "sk-ant-api03-" + "Zq8Lr2Vx9Tn4Wb7Kc1Yd6Hs3Pf5Mg0Ja" * 2 + "-AAAAAA"


@asynccontextmanager
async def client_of(*paths: Path, allow_secrets: bool = False) -> AsyncIterator[mcp.Client]:
    """Connect to a server in this process."""
    server = server_of(SessionMemory(paths, Path.cwd(), allow_secrets=allow_secrets))
    async with mcp.Client(server, read_timeout_seconds=120) as client:
        yield client


@asynccontextmanager
async def client_of_program(*words: object, cwd: Path | None = None) -> AsyncIterator[mcp.Client]:
    command = ["-m", "inspector", "mcp", *map(str, words)]
    server = mcp.StdioServerParameters(command=sys.executable, args=command, env=environment(), cwd=cwd)
    async with mcp.Client(server, read_timeout_seconds=120) as client:
        yield client


async def ask(client: mcp.Client, tool: str, /, **arguments: Any) -> Any:
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content[0].text
    assert json.loads(answer.content[0].text) == answer.structured_content
    return answer.structured_content


async def refusal(client: mcp.Client, tool: str, /, **arguments: Any) -> str:
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    text = answer.content[0].text
    assert "Traceback" not in text
    return text


async def test_four_tools_are_offered_as_read_only() -> None:
    async with client_of_program(SAMPLE) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["memory_query", "file_state_at", "changelog", "context_report"]
        for tool in tools:
            assert tool.annotations.read_only_hint
            assert not tool.annotations.destructive_hint
            assert not tool.annotations.open_world_hint
        taken = {"session_id", "execution_id", "tool", "text", "limit"}
        assert taken <= set(tools[0].input_schema["properties"])
        assert {"path", "turn", "call", "time"} <= set(tools[1].input_schema["properties"])
        assert "memory_query" in (client.instructions or "")


async def test_a_result_comes_back_whole_in_pages_by_its_id_or_a_notice() -> None:
    session = open_session(SAMPLE)
    results = [block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]
    longest = max(results, key=lambda block: block.characters)
    name = longest.tool_call_id
    async with client_of(SAMPLE, allow_secrets=True) as client:
        for asked in (name, f"[Old tool result content cleared (execution_id: {name}). Use memory_query tool]"):
            text, offset = "", 0
            while offset is not None:
                page = await ask(client, "memory_query", execution_id=asked, offset=offset)
                assert len(page["text"]) <= 8_000
                text, offset = text + page["text"], page["next_offset"]
            assert text == session.text(longest)
        word = max(re.findall(r"[a-z]{4,}", text), key=len)
        lines = await ask(client, "memory_query", execution_id=name, text=word)
        assert all(word in line.lower() for line in lines["text"].splitlines())


async def test_what_the_hook_has_trimmed_comes_back_whole(tmp_path: Path) -> None:
    path = session_of(tmp_path / "s.jsonl", ("Bash", {"command": "make"}, "tri … ed"))
    store_original(state_folder(), "toolu_0", open_session(path).identifier, "trimmed no more", {"tool": "Bash"})
    async with client_of(path) as client:
        page = await ask(client, "memory_query", execution_id="toolu_0")
        assert (page["text"], page["total_characters"]) == ("trimmed no more", 15)


async def test_a_result_of_a_session_in_a_database_is_found_by_its_id(tmp_path: Path) -> None:
    store = Store()
    store.prompt()
    store.response("call_in_database")
    database = store.database(tmp_path / "opencode.db")
    async with client_of(database) as client:
        page = await ask(client, "memory_query", execution_id="call_in_database")
        assert (page["text"], page["session_id"]) == ("done", store.identifier)


async def test_results_are_listed_and_found_by_tool_and_by_words() -> None:
    async with client_of(SAMPLE) as client:
        first = await ask(client, "memory_query", limit=3)
        second = await ask(client, "memory_query", limit=3, offset=first["next_offset"])
        turns = [entry["turn"] for entry in (*first["results"], *second["results"])]
        assert turns == sorted(turns, reverse=True)
        tool = first["results"][0]["tool"]
        of_tool = await ask(client, "memory_query", tool=tool, limit=50)
        assert {entry["tool"] for entry in of_tool["results"]} == {tool}
        named = await ask(client, "memory_query", session_id=first["session_id"], limit=3)
        assert named == first
        words = re.findall(r"[a-z]{4,}", " ".join(entry["begins"] for entry in second["results"]))
        found = await ask(client, "memory_query", text=words[0], limit=4)
        assert 0 < len(found["results"]) <= 4
        assert all(entry["execution_id"] and entry["excerpt"] for entry in found["results"])


async def test_files_changes_and_the_context_are_reported(tmp_path: Path) -> None:
    session = session_of(
        tmp_path / "s.jsonl",
        ("Read", {"file_path": "/w/a.py"}, "1\tone\n2\ttwo\n3\t"),
        ("Edit", {"file_path": "/w/a.py", "old_string": "two", "new_string": "2"}, "updated"),
        ("Read", {"file_path": "/w/a.py"}, "1\tone\n2\t2\n3\t"),
    )
    async with client_of(session) as client:
        assert (await ask(client, "file_state_at", path="a.py", turn=3))["text"] == "one\ntwo\n"
        assert (await ask(client, "file_state_at", path="a.py", call=2))["text"] == "one\ntwo\n"
        assert (await ask(client, "file_state_at", path="a.py"))["text"] == "one\n2\n"
        changes = await ask(client, "changelog", path="a.py")
        assert [(change["turn"], change["what"]) for change in changes["changes"]] == [(5, "I do it.")]
        report = await ask(client, "context_report")
        assert report["prompt_tokens"] > 0
        assert report["by_tool"]["Read"] > 0
        # The session grows: the next answer knows it.
        longer = session_of(
            tmp_path / "longer.jsonl",
            ("Write", {"file_path": "/w/a.py", "content": "all new"}, "ok"),
        )
        session.write_text(longer.read_text())
        os.utime(session, (2_000_000_000, 2_000_000_000))
        assert (await ask(client, "file_state_at", path="a.py"))["text"] == "all new"


async def test_what_cannot_be_answered_is_reported_to_the_model(tmp_path: Path) -> None:
    secret = tmp_path / "on-disk.txt"
    secret.write_text("never told")
    async with client_of(SAMPLE) as client:
        for path in (str(secret), "../on-disk.txt", "/etc/passwd"):
            told = await refusal(client, "file_state_at", path=path)
            assert "did not read or change a file named" in told
            assert "never told" not in told
        assert "no tool result has the id" in await refusal(client, "memory_query", execution_id="toolu_nothing")
        assert "not an available session" in await refusal(client, "memory_query", session_id="another")
        assert "must be 1 to 50" in await refusal(client, "memory_query", limit=0)
        assert "must be 1 to 50" in await refusal(client, "changelog", limit=10_000)
        assert "must be 0 or more" in await refusal(client, "memory_query", offset=-1)
        assert "valid integer" in await refusal(client, "memory_query", limit="many")
        assert "the limit is 1,000" in await refusal(client, "memory_query", text="x" * 5_000)
        assert "null byte" in await refusal(client, "memory_query", execution_id="a\x00b")
        some = (await ask(client, "changelog", limit=1))["changes"][0]["path"]
        assert "one of turn, call and time" in await refusal(client, "file_state_at", path=some, turn=1, call=1)
        assert "there is no turn 99,999" in await refusal(client, "file_state_at", path=some, turn=99_999)
        assert "is not a time" in await refusal(client, "file_state_at", path=some, time="soon")


async def test_secrets_are_masked_wherever_a_page_begins_unless_they_are_allowed(tmp_path: Path) -> None:
    text = "x" * 7_980 + f"\nkey = '{KEY}'\n" + "word " * 400
    session = session_of(
        tmp_path / "s.jsonl",
        ("Bash", {"command": "env"}, text),
        ("Write", {"file_path": "/w/a.env", "content": f"ANTHROPIC_API_KEY={KEY}\n", "intent": f"use {KEY}"}, "ok"),
    )
    parts = [KEY[at : at + 24] for at in range(0, len(KEY) - 24, 8)]
    async with client_of(session) as client:
        first = await ask(client, "memory_query", execution_id="toolu_0")
        answers = [
            first,
            await ask(client, "memory_query", execution_id="toolu_0", offset=first["next_offset"]),
            await ask(client, "memory_query", execution_id="toolu_0", offset=8_040),
            await ask(client, "memory_query", execution_id="toolu_0", text="key"),
            await ask(client, "memory_query", text="key"),
            await ask(client, "memory_query"),
            await ask(client, "file_state_at", path="a.env"),
            await ask(client, "changelog"),
            await ask(client, "context_report"),
        ]
        for answer in answers:
            assert not any(part in json.dumps(answer) for part in parts)
        assert "masked]" in answers[6]["text"]
    async with client_of(session, allow_secrets=True) as client:
        assert KEY in (await ask(client, "file_state_at", path="a.env"))["text"]


async def test_lines_of_a_huge_result_are_found_before_they_are_masked(tmp_path: Path) -> None:
    filler = "".join(f"row {number} of nothing in particular, id={number}\n" for number in range(20_000))
    text = f"{filler}the needle is here\ntoken = {KEY} # needle\n{'y' * 9_000}needle\n" + "more needle\n" * 150
    assert len(text) > 800_000
    session = session_of(tmp_path / "s.jsonl", ("Bash", {"command": "log"}, text))
    async with client_of(session) as client:
        started = time.monotonic()
        page = await ask(client, "memory_query", execution_id="toolu_0", text="NEEDLE")
        assert time.monotonic() - started < 12
        lines, offset = page["text"], page["next_offset"]
        assert lines.startswith("20001:the needle is here\n20002:token = [")
        assert KEY[:20] not in lines
        while offset is not None:
            page = await ask(client, "memory_query", execution_id="toolu_0", text="NEEDLE", offset=offset)
            lines, offset = lines + ("" if page["text"][:1] == "y" else "\n") + page["text"], page["next_offset"]
        # Three lines, then 150 more.
        assert [line.partition(":")[0] for line in lines.split("\n")] == [str(20_001 + each) for each in range(153)]
        assert lines.count("needle") == 153
        # A guess of a secret is not confirmed.
        assert "no line of" in await refusal(client, "memory_query", execution_id="toolu_0", text=KEY[:24])


async def test_lone_surrogates_in_requests_and_in_answers_are_replaced(tmp_path: Path) -> None:
    session = session_of(tmp_path / "s.jsonl", ("Bash", {"command": "ls"}, "a \ud800 b \U0001f600"))
    asked = [
        {"method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT}},
        *(
            {"method": "tools/call", "params": {"name": "memory_query", "arguments": arguments}}
            for arguments in ({"execution_id": "\udfff"}, {"execution_id": "toolu_0"}, {"execution_id": "\\\\ud800"})
        ),
    ]
    requests = "".join(f"{json.dumps({'jsonrpc': '2.0', 'id': at, **each})}\n" for at, each in enumerate(asked))
    with subprocess.Popen(
        [*COMMAND, "mcp", str(session)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        kill = threading.Timer(60, server.kill)
        kill.start()
        server.stdin.write(requests)
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline() or "{}") for _ in asked]
        server.stdin.close()
        kill.cancel()
    by_id = {answer.get("id"): json.dumps(answer, ensure_ascii=False) for answer in answers}
    assert set(by_id) == {0, 1, 2, 3}
    assert "no tool result has the id \ufffd" in by_id[1]
    assert "a \ufffd b \U0001f600" in by_id[2]
    assert "ud800" in by_id[3]  # an escaped backslash and letters


async def test_without_a_path_it_answers_for_the_folder_it_is_started_in(private_home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    place = private_home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(folder))
    place.mkdir(parents=True)
    session = session_of(place / "0b5b1a2e-1111-4222-8333-444455556666.jsonl", ("Bash", {"command": "ls"}, "here"))
    lines = [json.loads(line) for line in session.read_text().splitlines()]
    session.write_text("".join(f"{json.dumps({**line, 'cwd': str(folder)})}\n" for line in lines))
    async with client_of_program(cwd=folder) as client:
        listed = await ask(client, "memory_query")
        assert [entry["begins"] for entry in listed["results"]] == ["here"]
    with chdir(tmp_path):
        async with client_of() as client:
            assert "was found: pass one" in await refusal(client, "memory_query")


async def test_nothing_is_written_but_the_index(private_home: Path, tmp_path: Path) -> None:
    session = session_of(tmp_path / "s.jsonl", ("Bash", {"command": "ls"}, "some words"))
    before = {path for path in (*private_home.rglob("*"), *tmp_path.rglob("*")) if path.is_file()}
    async with client_of(session) as client:
        await ask(client, "memory_query", execution_id="toolu_0")
        await ask(client, "context_report")
        await ask(client, "changelog")
        after = {path for path in (*private_home.rglob("*"), *tmp_path.rglob("*")) if path.is_file()}
        assert after == before
        await ask(client, "memory_query", text="words")
        written = {path for path in (*private_home.rglob("*"), *tmp_path.rglob("*")) if path.is_file()} - before
    assert {path.name.split("-")[0] for path in written} <= {"texts.db"}


def test_a_wrong_command_line_is_one_line(tmp_path: Path) -> None:
    outcome = run_program("mcp", tmp_path / "gone.jsonl")
    assert outcome.code == 1
    assert "no such file or directory" in outcome.complaint
    outcome = run_program("mcp", SAMPLE)  # standard input is at its end
    assert (outcome.code, outcome.out) == (0, "")


def test_without_the_sdk_it_says_how_to_install_it(tmp_path: Path) -> None:
    (tmp_path / "mcp.py").write_text("raise ImportError('not here')\n")
    outcome = run_program("mcp", SAMPLE, env={"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"})
    assert outcome.code == 1
    assert "pip install 'session-inspector[mcp]'" in outcome.complaint
