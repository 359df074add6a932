"""Rules for the whole package: import cost, and no markup parsing of session texts."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import inspector.ui

LIBRARIES = ("numpy", "tiktoken", "genai_prices", "watchfiles")
OF_AN_OPEN_SESSION = (
    "inspector.session.model",
    "inspector.session.follow",
    "inspector.session.discovery",
    "inspector.strategies",
    "inspector.replay.analysis",
    "inspector.replay.cache",
    "inspector.replay.engine",
    "inspector.replay.pricing",
    "inspector.tokens",
)
ROOT = Path(inspector.ui.__file__).parents[2]
SOURCES = sorted(Path(inspector.ui.__file__).parent.rglob("*.py"))
TITLES = {"border_title", "border_subtitle", "tooltip"}
PARSING = {"notify", "update", "Static", "Label", "Button"}


def test_the_first_paint_waits_for_nothing_heavy_and_for_nothing_that_needs_the_session_read() -> None:
    path = ROOT / "sample_sessions" / "coding-agent.jsonl"
    code = f"""
import sys
from pathlib import Path
from inspector.cli.reading import resolve_targets
assert resolve_targets([Path({str(path)!r})], waits=True).sessions
import inspector.ui.app
print([name for name in {(*LIBRARIES, *OF_AN_OPEN_SESSION)!r} if name in sys.modules])
"""

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert found.strip() == "[]"


def test_no_text_is_parsed_as_markup() -> None:
    for source in SOURCES:
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                assert name not in PARSING or _is_plain(node), f"{source.name}:{node.lineno}: {ast.unparse(node)}"
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Attribute) and target.attr in (
                        "border_title",
                        "border_subtitle",
                        "tooltip",
                    ):
                        assert _is_content(node.value), f"{source.name}:{node.lineno}: {ast.unparse(node)}"


def _is_plain(call: ast.Call) -> bool:
    told = any(
        keyword.arg == "markup" and isinstance(keyword.value, ast.Constant) and keyword.value.value is False
        for keyword in call.keywords
    )
    return told or not call.args or _is_content(call.args[0])


def _is_content(value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return value.value is None
    text = ast.unparse(value)
    made = ("Content(", "Content.assemble(", "Content.styled(", "explanation_content(", "key_words(", "self._text(")
    return text.startswith(made)


def test_a_module_that_knows_no_screen_is_named_in_the_contract_that_keeps_it_so() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    pure = next(contract["source_modules"] for contract in contracts if contract["name"].startswith("What a screen"))
    named = {name.removeprefix("inspector.ui.").removeprefix("*.") for name in pure}

    unnamed = [
        source.relative_to(ROOT)
        for source in SOURCES
        if source.name != "__init__.py" and not _knows_screen(source) and not named & {source.stem, source.parent.name}
    ]

    assert not unnamed
    assert named <= {name for source in SOURCES for name in (source.stem, source.parent.name)}


def _knows_screen(source: Path) -> bool:
    if source not in _KNOWN:
        _KNOWN[source] = False
        _KNOWN[source] = any(
            name.startswith("textual") or (name.startswith("inspector.ui") and any(map(_knows_screen, _files_of(name))))
            for name in _imported(source)
        )
    return _KNOWN[source]


_KNOWN: dict[Path, bool] = {}


def _imported(source: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)


def _files_of(name: str) -> list[Path]:
    path = ROOT.joinpath(*name.split(".")).with_suffix(".py")
    return [path] if path.is_file() else []
