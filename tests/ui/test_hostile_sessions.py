"""Sessions with hostile names, texts and numbers on every analysis screen, one of every kind of container."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from tests.hostile import DISTURBING, HOSTILE
from tests.session.growing import GROWING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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
)
SCREENS = ("v", "dollar_sign", "M", "E", "c", "t", "question_mark", "A", "ctrl+p", "plus")


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


def rewrite(file: Path) -> None:
    if zipfile.is_zipfile(file):
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


@pytest.mark.parametrize("container", CONTAINERS)
async def test_no_character_that_disturbs_a_terminal_is_on_any_screen(
    running: Callable[..., Any], tmp_path: Path, container: str
) -> None:
    growing = GROWING[container]
    path = tmp_path / growing.name
    growing.write(path, 6)
    for file in [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]:
        rewrite(file)
    async with running(path, size=(80, 24), ready=False) as run:
        await run.until(lambda: run.has_replay)
        assert HOSTILE[:5] in "".join(block.preview for block in run.session.all_blocks)
        opened = set()
        for screen in SCREENS:
            await run.tap(screen)
            await run.pause(0.2)
            opened.add(run.on_top)
            for key in ("down", "tab", "enter"):
                await run.tap(key)
                await run.pause()
                found = DISTURBING.search(run.text().replace("\n", ""))
                assert found is None, (screen, key, run.text())
            while run.on_top != "session":
                await run.tap("escape")
                await run.pause()
        assert opened >= {"composition", "costs", "misses", "compare", "tune", "help", "palette"}
