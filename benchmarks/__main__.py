"""`python -m benchmarks [NAME ...] [--quick] [--write FILE]`: measure the promises and print a table."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.table import as_markdown, as_text, machine
from benchmarks.terminal import NotShownError
from benchmarks.workbench import NotMeasuredError, Workbench

if TYPE_CHECKING:
    from benchmarks.promises import Measurement

BENCHMARKS = {
    "first-paint": "first_paint",
    "first-line": "first_line",
    "opening": "opening",
    "large-file": "large_file",
    "counting": "counting",
    "plan-change": "plan_change",
    "append": "appending",
    "scroll": "scrolling",
    "session-list": "session_list",
    "replay": "replaying",
    "presets": "presets",
    "tuning": "tuning",
    "folder": "folder",
    "fleet": "fleet",
    "recorded-usage": "recorded_usage",
    "hook": "hook",
    "status": "status",
}
"""Names and the modules that measure, in the order they are run."""


def main(arguments: list[str] | None = None) -> int:
    """Run benchmarks; return 1 if a measured promise is not kept."""
    parser = _parser()
    options = parser.parse_args(arguments)
    names = options.names or list(BENCHMARKS)
    if unknown := [name for name in names if name not in BENCHMARKS]:
        parser.error(f"no benchmark {unknown[0]!r}; choose from {', '.join(BENCHMARKS)}")
    measured: list[Measurement] = []
    missing: dict[str, str] = {}
    with Workbench.open(is_quick=options.quick) as bench:
        for name in names:
            print(f"{name} …", file=sys.stderr, flush=True)
            try:
                measured += import_module(f"benchmarks.{BENCHMARKS[name]}").measure(bench)
            except (NotMeasuredError, NotShownError) as error:
                missing[name] = str(error)
                print(f"{name}: {error}", file=sys.stderr)
    print(machine())
    print(as_text(measured))
    if options.write is not None:
        hows = [(name, import_module(f"benchmarks.{BENCHMARKS[name]}").HOW) for name in names]
        reasons = {name: reason.splitlines()[0] for name, reason in missing.items()}
        options.write.write_text(as_markdown(measured, reasons, hows), encoding="utf-8")
    return int(any(each.is_kept is False for each in measured))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure the promises.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"benchmarks to run (all): {', '.join(BENCHMARKS)}")
    parser.add_argument("--quick", action="store_true", help="only show that it works; the figures mean nothing")
    parser.add_argument("--write", type=Path, metavar="FILE", help="also write a document with the table")
    return parser


if __name__ == "__main__":
    sys.exit(main())
