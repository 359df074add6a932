"""Damaged sessions of every format: read or refused, never anything else. `python -m tests.fuzz` goes on for longer."""

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.session.registry import all_formats
from tests.examples import examples
from tests.fuzz import main, play, seeds


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """Sessions to damage, by format, the smallest first."""
    found = seeds(tmp_path_factory.mktemp("seeds"))
    return {name: sorted(paths, key=lambda path: path.stat().st_size)[:3] for name, paths in found.items()}


@pytest.mark.parametrize("name", [known.name for known in all_formats()])
@settings(max_examples=examples(12), deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_a_damaged_session_is_read_or_refused(
    name: str, known: dict[str, list[Path]], tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    if name not in known:
        pytest.skip(f"no session of {name} to begin with")
    chance = random.Random(seed)  # noqa: S311  # nothing secret
    source = chance.choice(known[name])
    play(chance, source, tmp_path_factory.mktemp("damaged") / f"x{source.suffix}")


def test_the_command_tells_rounds_and_failures_by_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["codex", "--minutes", "0.01", "--seed", "1", "--keep", str(tmp_path)]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "seed 1"
    assert told[1].startswith("codex")
    assert told[1].endswith("0 failures")
