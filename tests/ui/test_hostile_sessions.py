"""Sessions with hostile names, texts and numbers on every screen, one of every kind of container."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from inspector.live.status import Loop
from tests.hostile import DISTURBING, HOSTILE
from tests.live.made import write_session
from tests.program import run_program
from tests.session import opencode_2_store
from tests.session.growing import GROWING
from tests.session.test_zstd_reader import packed
from tests.ui.test_files import session_of
from tests.ui.test_live import Fixed, session, watching

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.ui.facade import Running

pytestmark = pytest.mark.long

TEXTS = frozenset({"text", "content", "output", "command", "title", "thinking", "description", "cwd", "name", "model"})
"""Fields whose values are shown. Others join records, or name their kinds."""
NUMBERS = (-1, 2**70, 1e308, float("nan"), 0)
DEEP = "@deep@"
"""Replaced by nested lists."""
CONTAINERS = (
    "claude-code",
    "codex",
    "gemini-cli",
    "openai-chat",
    "atif",
    "inspect archive",
    "openhands folder",
    "opencode",
    "opencode 2",
    "goose",
    "hermes",
    "openai-agents",
    "codex zstd",
)
SCREENS = ("v", "dollar_sign", "M", "E", "c", "t", "question_mark", "A", "ctrl+p", "plus")
MOST_INTEGER = 2**63 - 1
"""Largest integer of SQLite."""


def hostile(value: Any, name: str = "") -> Any:
    match value:
        case dict():
            made = {key: hostile(inner, key) for key, inner in value.items()}
            return (
                made | {"input": {"deep": DEEP, HOSTILE: "y" * 10_000, **value["input"]}}
                if "input" in made and isinstance(value["input"], dict)
                else made
            )
        case list():
            return [hostile(inner, name) for inner in value]
        case str() if name in TEXTS and value:
            return HOSTILE + value + "w" * 10_000
        case int() if "token" in name.lower():
            return NUMBERS[value % len(NUMBERS)]
    return value


def encoded(value: Any, depth: int = 50) -> str:
    return json.dumps(hostile(value)).replace(f'"{DEEP}"', "[" * depth + "]" * depth)


def hostile_cell(name: str, value: Any) -> Any:
    if isinstance(value, int) and "token" in name.lower():
        return min(NUMBERS[value % len(NUMBERS)], MOST_INTEGER)
    if isinstance(value, str) and value[:1] in {"{", "["}:
        return encoded(json.loads(value)).encode()
    if isinstance(value, str) and name in TEXTS:
        return (HOSTILE + value + "w" * 10_000).encode("utf-8", "surrogatepass")
    return value


def rewrite_database(file: Path) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%fts%'"
        for (table,) in connection.execute(tables).fetchall():
            found = connection.execute(f"SELECT rowid, * FROM {table}")  # noqa: S608  a name of the test's own
            names = [column[0] for column in found.description[1:]]
            for row, *values in found.fetchall():
                for name, value in zip(names, values, strict=True):
                    made = hostile_cell(name, value)
                    if made != value:
                        cell = "CAST(? AS TEXT)" if isinstance(made, bytes) else "?"
                        connection.execute(f"UPDATE {table} SET {name} = {cell} WHERE rowid = {row}", (made,))  # noqa: S608


def write(container: str, path: Path) -> None:
    if container == "opencode 2":
        store = opencode_2_store.Database(path)
        store.session()
        for turn in range(6):
            store.prompt(f"go {turn}")
            store.answer(opencode_2_store.text("looking"), opencode_2_store.tool(f"c{turn}"))
    else:
        GROWING[container].write(path, 6)


def rewrite(file: Path) -> None:
    if file.read_bytes()[:6] == b"SQLite":
        rewrite_database(file)
    elif zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as archive:
            members = {each: archive.read(each) for each in archive.namelist()}
        with zipfile.ZipFile(file, "w") as archive:
            for each, data in members.items():
                archive.writestr(each, encoded(json.loads(data)) if each.startswith("samples/") else data)
    elif file.suffix == ".jsonl":
        lines = file.read_text(encoding="utf-8").splitlines()
        made = [encoded(json.loads(line)) for line in lines]
        # The last call cannot be read: it is nested too deeply.
        made += [encoded(json.loads(line), 1_000) for line in lines[-2:]]
        file.write_text("\n".join(made) + "\n")
    else:
        file.write_text(encoded(json.loads(file.read_bytes())))


def check(run: Running, *pressed: str) -> None:
    found = DISTURBING.search(run.text().replace("\n", ""))
    assert found is None, (pressed, run.text())


@pytest.mark.parametrize("container", CONTAINERS)
async def test_no_character_that_disturbs_a_terminal_is_on_any_screen(
    running: Callable[..., Any], tmp_path: Path, container: str
) -> None:
    kind = container.removesuffix(" zstd")
    path = tmp_path / (GROWING[kind].name if kind in GROWING else "opencode.db")
    write(kind, path)
    for file in [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]:
        rewrite(file)
    if kind != container:
        path = packed(path.with_name(path.name + ".zst"), path.read_bytes())
    async with running(path, size=(80, 24), ready=False) as run:
        await run.until(lambda: run.has_replay)
        assert HOSTILE[:5] in "".join(block.preview for block in run.session.all_blocks)
        opened = set()
        for screen in SCREENS:
            await run.tap(*screen.split())
            await run.pause(0.2)
            opened.add(run.on_top)
            for key in ("down", "tab", "enter"):
                await run.tap(key)
                await run.pause()
                check(run, screen, key)
            while run.on_top != "session":
                await run.tap("escape")
                await run.pause()
        assert opened >= {"composition", "costs", "misses", "compare", "tune", "help", "palette"}


async def test_a_session_of_hostile_files_is_shown_safely_while_it_grows(
    running: Callable[..., Any], tmp_path: Path
) -> None:
    calls = [
        (tool, {"file_path": f"/w/{HOSTILE}{number % 3}", "old_string": "a", "new_string": HOSTILE, **more}, HOSTILE)
        for number in range(9)
        for tool, more in (("Read", {}), ("Edit", {}), (f"mcp__{HOSTILE}__do", {"content": HOSTILE}))
    ]
    path = session_of(tmp_path / "session.jsonl", *calls)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:20]))
    async with running(path, size=(80, 24), ready=False) as run:
        await run.until(lambda: run.has_replay)
        with path.open("ab") as file:
            file.write(b"".join(lines[20:]))
        await run.until(lambda: len(run.session.messages) == len(lines))
        check(run, "appended")
        opened = set()
        for screen in ("g l", "v", "M", "p", "o"):
            await run.tap(*screen.split())
            await run.pause(0.2)
            for key in ("down", "enter", "down", "tab", "down", "enter"):
                await run.tap(key)
                await run.pause()
                opened.add(run.on_top)
                check(run, screen, key)
            while run.on_top != "session":
                await run.tap("escape")
                await run.pause()
        assert opened >= {"files", "composition", "misses"}


async def test_hostile_names_are_safe_on_the_live_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    named = dict.fromkeys(("agent", "project", "title", "model"), HOSTILE + "w" * 300)
    source = Fixed(session(HOSTILE, 0.5, **named), session("loop", float("inf"), loop=Loop(HOSTILE, 2**70), **named))
    async with watching(source, monkeypatch) as (run, _):
        for key in ("down", "enter", "tab", "question_mark", "escape", "slash"):
            check(run, key)
            await run.tap(key)
            await run.pause()
        check(run)


@pytest.mark.parametrize("command", ["status", "live", "why", "report", "files"])
def test_hostile_names_are_safe_in_the_lines_of_a_running_session(
    command: str, private_home: Path, tmp_path: Path
) -> None:
    path = write_session(private_home, str(tmp_path))
    rewrite(path)
    outcome = run_program(command, *([] if command in {"status", "live"} else [path]), cwd=tmp_path)
    assert outcome.out
    assert "Traceback" not in outcome.err
    assert DISTURBING.search((outcome.out + outcome.err).replace("\n", "")) is None
