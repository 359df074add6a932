"""The shape of the package that no linter holds: short chains of classes, one name for one thing, whole modules."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests.conftest import ROOT

PACKAGE = ROOT / "inspector"

MOST_CLASSES_ABOVE = 2
MOST_LINES = 900
"""A module is one idea, whole: about 500 lines, and never so many that it has to be split to be read."""


@dataclass(frozen=True)
class ClassFound:
    name: str
    module: str
    line: int
    bases: tuple[str, ...]
    comment: str = field(compare=False)


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        relative = path.relative_to(ROOT).with_suffix("")
        parts = relative.parts[:-1] if relative.name == "__init__" else relative.parts
        yield ".".join(parts), path


@cache
def classes() -> tuple[ClassFound, ...]:
    found = []
    for module, path in modules():
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef):
                bases = tuple(base.id for base in map(unsubscripted, node.bases) if isinstance(base, ast.Name))
                above = lines[node.lineno - 2 - len(node.decorator_list)] if node.lineno > 1 else ""
                found.append(ClassFound(node.name, module, node.lineno, bases, f"{above} {lines[node.lineno - 1]}"))
    return tuple(found)


def unsubscripted(base: ast.expr) -> ast.expr:
    return base.value if isinstance(base, ast.Subscript) else base


def chain_of(found: ClassFound, by_name: dict[str, ClassFound]) -> list[str]:
    """The longest line of project classes above one, the nearest first."""
    above = [by_name[base] for base in found.bases if base in by_name and by_name[base] is not found]
    chains = [[one.name, *chain_of(one, by_name)] for one in above]
    return max(chains, key=len, default=[])


def test_no_class_has_more_than_two_classes_of_the_project_above_it() -> None:
    by_name = {found.name: found for found in classes()}
    assert len(by_name) > 100
    long = {found: chain_of(found, by_name) for found in classes()}
    told = [
        f"{found.module}:{found.line} {found.name} < {' < '.join(chain)}"
        for found, chain in long.items()
        if len(chain) > MOST_CLASSES_ABOVE and "#" not in found.comment
    ]
    assert not told, "say in a comment why, or let objects know each other by name:\n" + "\n".join(told)


PUBLISHED = frozenset({"Cell", "Column", "Ledger", "Page", "Table"})
"""Names the page's template and the published schema go by, which the screen has too."""


def test_a_public_class_name_is_once_in_the_package() -> None:
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for found in classes():
        if not found.name.startswith("_"):
            homes[found.name].append(f"{found.module}:{found.line}")
    twice = {name: where for name, where in homes.items() if len(where) > 1 and name not in PUBLISHED}
    assert not twice, f"one word, one meaning: {twice}"


def test_a_module_can_be_read_in_one_go() -> None:
    tables = {"inspector.report.catalogue"}  # every figure once: a table of data, read by looking one up
    long = {module: lines for module, path in modules() if (lines := len(path.read_text().splitlines())) > MOST_LINES}
    assert not long.keys() - tables


def test_modules_are_imported_by_name_only_within_their_own_room() -> None:
    wrong = []
    for module, path in modules():
        room = ".".join(module.split(".")[:2])
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if '"inspector.' in text else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("inspector."):
                target = ".".join(node.value.split(".")[:2])
                if module != "inspector" and is_module(node.value) and target != room:
                    wrong.append(f"{module}:{node.lineno} names {node.value}")
    assert not wrong


def is_module(name: str) -> bool:
    if name.endswith("."):
        return False
    place = ROOT.joinpath(*name.split("."))
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()
