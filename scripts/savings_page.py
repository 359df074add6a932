"""Write the page for whoever never opens a terminal, on a sample: docs/savings.html, and its chart as a picture."""

from __future__ import annotations

from pathlib import Path

from inspector.cli import main

ROOT = Path(__file__).resolve().parent.parent

SESSION = "sample_sessions/coding-agent.jsonl"
PLAN = ("--strategy", "tiered-stale")
RUNS = ("--runs-per-day", "24")

PAGE = "docs/savings.html"
CHART = "docs/savings.svg"


def arguments(page: str) -> list[str]:
    """The command line that writes the page; without its script, so that it is small and any viewer shows it."""
    return ["report", SESSION, *PLAN, *RUNS, "--format", "html", "--no-script", "--include-text", "-o", page]


if __name__ == "__main__":
    for line in (arguments(PAGE), ["screenshot", SESSION, "--chart", *PLAN, "-o", CHART]):
        if main(line):
            raise SystemExit(1)
    print(f"{PAGE}: {(ROOT / PAGE).stat().st_size:,} bytes")
