"""Fixtures for tests of strategies."""

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def vectors(shared: Path) -> dict[str, list[dict[str, Any]]]:
    """Inputs and exact outputs of real systems, by system."""
    by_system: dict[str, list[dict[str, Any]]] = {}
    for vector in json.loads((shared / "vectors" / "vectors.json").read_text(encoding="utf-8"))["vectors"]:
        by_system.setdefault(vector["system"], []).append(vector)
    return by_system
