"""The small projects the recorded agents work on."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

PROJECTS = Path(__file__).parent / "projects"


def sources(name: str) -> dict[str, str]:
    """Every file of a project, by its path inside it."""
    folder = PROJECTS / name
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(part.startswith((".", "__pycache__")) for part in path.relative_to(folder).parts)
    }


def meter_readings(meters: int = 2) -> str:
    """Hourly readings of March 2024 in local time, as the file a meter operator sends."""
    generator = random.Random(2024)  # noqa: S311 - the same readings on every run
    first = datetime(2024, 2, 29, 22, tzinfo=UTC)
    rows = ["meter,start_utc,kwh"]
    for meter in range(meters):
        for hour in range(31 * 24 + 2):
            instant = first + timedelta(hours=hour)
            wave = (18, 14, 12, 12, 13, 20, 42, 61, 55, 40, 36, 38, 47, 44, 39, 37, 42, 58, 76, 81, 72, 60, 44, 28)
            amount = wave[(instant.hour + 1) % 24] * (9 + 3 * meter) + generator.randrange(240)
            rows.append(f"{4471 + 316 * meter},{instant:%Y-%m-%dT%H:%MZ},{amount / 1000:.3f}")
    return "\n".join(rows) + "\n"
