"""The measurements as a table, for a terminal and for `docs/development/benchmarks.md`."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING

from benchmarks.promises import PROMISES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.promises import Measurement

PACKAGES = ("textual", "tiktoken", "numpy", "msgspec", "watchfiles", "genai-prices")
KEPT = {True: "yes", False: "no", None: ""}
COLUMNS = ("promise", "case", "measured", "promised", "kept")

INTRODUCTION = """# Benchmarks

    python -m benchmarks --write docs/development/benchmarks.md    # measure everything and write this page
    python -m benchmarks plan-change append                        # or some of it

Promises on time, memory and accuracy, and measurements. No test asserts times, because machines and their load differ.
Rows without a promise explain others."""


def as_text(measurements: Sequence[Measurement]) -> str:
    """Columns that line up."""
    rows = [COLUMNS, *map(_cells, measurements)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def as_markdown(
    measurements: Sequence[Measurement], missing: Mapping[str, str], hows: Sequence[tuple[str, str]]
) -> str:
    """Return the whole document.

    Args:
        measurements: In any order.
        missing: Names of benchmarks that could not be run here, and why.
        hows: Names of the benchmarks, and their methods.
    """
    parts = [INTRODUCTION, "## Machine", machine(), "## Promises", _promises(), "## Figures"]
    rows = [COLUMNS, ("---",) * len(COLUMNS)]
    for name in PROMISES:
        cells = [_cells(each) for each in measurements if each.promise == name]
        rows += [(row[0] if place == 0 else "", *row[1:]) for place, row in enumerate(cells)]
    parts.append("\n".join(f"| {' | '.join(row)} |" for row in rows))
    parts += [f"Not measured here: {name}, {reason}." for name, reason in missing.items()]
    parts += ["## Method", *(f"**{name}.** {' '.join(how.split())}" for name, how in hows)]
    return "\n\n".join(parts) + "\n"


def machine() -> str:
    """Describe the machine in a sentence or two, without names or paths that identify its owner."""
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    load = f" Load averages while measuring: {', '.join(f'{each:.1f}' for each in os.getloadavg())}."
    python = f"{sys.implementation.name} {platform.python_version()}"
    return f"{os.cpu_count()} cores, {platform.system()} on {platform.machine()}, {python}; {packages}.{load}"


def _promises() -> str:
    return "\n".join(f"- {name}: {promise}." for name, promise in PROMISES.items())


def _cells(measurement: Measurement) -> tuple[str, ...]:
    kept = KEPT[measurement.is_kept]
    return (measurement.promise, measurement.case, measurement.measured, measurement.limit, kept)
