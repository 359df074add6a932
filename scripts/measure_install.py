"""Measure an installation: `python scripts/measure_install.py [PYTHON …]`, in megabytes and seconds, by package.

Installs this checkout into a fresh environment with pip, without its download cache, and prints Markdown tables.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

OWN = "session-inspector"

SIZES = """
import importlib.metadata, json, os
sizes = {}
for each in importlib.metadata.distributions():
    files = [each.locate_file(file) for file in each.files or ()]
    sizes[each.name] = sum(os.path.getsize(file) for file in files if os.path.isfile(file))
print(json.dumps(sizes))
"""

SCREEN = "import inspector.cli.screen, inspector.ui.app"
REPORT = "import inspector.cli.report, inspector.report.session_report, inspector.report.pages.writers, numpy, tiktoken"

LEAST_MEGABYTES = 0.5
LEAST_MILLISECONDS = 2.0


def installed(python: str, folder: Path) -> tuple[dict[str, float], float, Path]:
    """Megabytes of every distribution, seconds of the installation, and the environment's Python."""
    subprocess.run([python, "-m", "venv", folder], check=True)
    program = folder / "bin" / "python"
    before = json.loads(subprocess.run([program, "-c", SIZES], check=True, capture_output=True).stdout)
    began = time.monotonic()
    pip = [program, "-m", "pip", "install", "--quiet", "--no-cache-dir", ROOT]
    subprocess.run(pip, check=True, capture_output=True)
    seconds = time.monotonic() - began
    sizes = json.loads(subprocess.run([program, "-c", SIZES], check=True, capture_output=True).stdout)
    return {name: size / 1e6 for name, size in sizes.items() if name not in before}, seconds, program


def imported(program: Path, code: str) -> Counter[str]:
    """Milliseconds of importing by package, the second time."""
    for _ in range(2):
        done = subprocess.run([program, "-X", "importtime", "-c", code], check=True, capture_output=True, text=True)
    found: Counter[str] = Counter()
    for own, name in re.findall(r"import time:\s+(\d+) \|\s+\d+ \|\s+([\w.]+)", done.stderr):
        found[name.partition(".")[0]] += int(own)
    standard = [name for name in found if name in sys.stdlib_module_names or name.startswith("_")]
    found["Python's own"] = sum(found.pop(name) for name in standard)
    return Counter({name: microseconds // 1000 for name, microseconds in found.items()})


def table(head: tuple[str, str], rows: Counter[str] | dict[str, float], least: float, form: str) -> str:
    """Rows from the largest on, those below `least` together."""
    large = sorted(((size, name) for name, size in rows.items() if size >= least), reverse=True)
    rest = [size for size in rows.values() if size < least]
    lines = [f"| {head[0]} | {head[1]} |", "| --- | ---: |"]
    lines += [f"| {name} | {size:{form}} |" for size, name in large]
    lines += [f"| {len(rest)} others | {sum(rest):{form}} |"] if rest else []
    return "\n".join([*lines, f"| all | {sum(rows.values()):{form}} |"])


def main() -> None:
    """Measure with each Python named, or this one."""
    for python in sys.argv[1:] or [sys.executable]:
        with tempfile.TemporaryDirectory() as folder:
            sizes, seconds, program = installed(python, Path(folder) / "venv")
            print(f"{python}: installed in {seconds:.1f} s\n")
            print(table(("package", "MB"), sizes, LEAST_MEGABYTES, ".1f"), "\n")
            for what, code in (("the screen", SCREEN), ("a report", REPORT)):
                print(table((f"imports of {what}", "ms"), imported(program, code), LEAST_MILLISECONDS, ".0f"), "\n")


if __name__ == "__main__":
    main()
