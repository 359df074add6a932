"""Write the sessions of `sample_sessions/`: `python scripts/make_samples.py [FOLDER]`.

Clock, seeds and identifiers are fixed and machine-dependent parts are removed from every text, so that a second run
writes the same bytes. The tools of the recorded agents really run, in a temporary folder.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from samples import (
    benchmark_trial,
    coding_agent,
    local_agent,
    mail_and_jobs,
    security_agent,
    terminal_agent,
    trading_desk,
)

SESSIONS = {
    "trading-desk.json": trading_desk.make,
    "mail-and-jobs.jsonl": mail_and_jobs.make,
    "coding-agent.jsonl": coding_agent.make,
    "security-agent.jsonl": security_agent.make,
    "local-agent.json": local_agent.make,
    "terminal-agent.jsonl": terminal_agent.make,
    "benchmark-trial.json": benchmark_trial.make,
}


def main(folder: Path) -> None:
    """Write every session into a folder."""
    for name, make in SESSIONS.items():
        with tempfile.TemporaryDirectory() as workspace:
            text = make(Path(workspace))
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
        print(f"{name}: {len(text.encode()):,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent / "sample_sessions")
