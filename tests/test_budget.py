"""The size of the package: a feature pays for its lines by removing others.

`pytest tests/test_budget.py -s` prints modules and lines per room. The limits are the size of the package when they
were last changed. If a change exceeds one, remove code that it replaces, or code that nobody would miss. If there is
none, raise the limit in the same commit, and write in its message what the lines are for. If a change makes the package
smaller, lower the limit in the same commit.
"""

from collections import Counter

from tests.conftest import ROOT

MOST_MODULES = 430
MOST_LINES = 134_983


def room_sizes() -> tuple[Counter[str], Counter[str]]:
    """Modules and lines of each folder or module at the root of the package."""
    modules, lines = Counter[str](), Counter[str]()
    for path in (ROOT / "inspector").rglob("*.py"):
        room = path.relative_to(ROOT / "inspector").parts[0]
        modules[room] += 1
        lines[room] += len(path.read_text(encoding="utf-8").splitlines())
    return modules, lines


def test_the_package_does_not_grow() -> None:
    modules, lines = room_sizes()
    table = [f"{'room':<18}{'modules':>8}{'lines':>9}"]
    table += [
        f"{room:<18}{modules[room]:>8,}{lines[room]:>9,}" for room in sorted(lines, key=lambda room: -lines[room])
    ]
    table.append(f"{'total':<18}{modules.total():>8,}{lines.total():>9,}")
    print("", *table, sep="\n")  # noqa: T201  shown with -s

    assert modules.total() <= MOST_MODULES, "\n".join(table)
    assert lines.total() <= MOST_LINES, "\n".join(table)


def test_the_limits_are_no_larger_than_the_package() -> None:
    modules, lines = room_sizes()

    assert MOST_MODULES - modules.total() < 10
    assert MOST_LINES - lines.total() < 300
