"""Fixtures every test may use, and how the tests are run."""

import gc
import os
import sys
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings

from tests.examples import EXAMPLES

# Machines that run tests are busy: how long one example takes says nothing. The same examples are drawn in every common
# run, so that what fails is what was changed; where more are asked for they are other ones.
settings.register_profile("common", deadline=None, derandomize=EXAMPLES not in os.environ)
settings.load_profile("common")

# The program is started hundreds of times, and every process of a run imports every test: compile all that once.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

ROOT = Path(__file__).resolve().parent.parent

FEW_FILES = 3
"""So many files, named one by one, are run in one process: to start others would take longer than the tests."""
NUMBERS = count()
COLLECTED_AFTER = (20_000, 20, 10)
"""Thresholds of the garbage collector: an application under test is a hundred thousand objects, soon gone."""


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Run a few files in this process, everything else in a process a core and one more: many tests mostly wait.

    Long tests wait most of all, for programs and browsers: there are three more.
    """
    named = {argument.split("::")[0] for argument in config.args}
    if len(named) <= FEW_FILES and all(name.endswith(".py") for name in named):
        return 0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + (3 if config.option.markexpr == "long" else 1)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the long tests where all are run; whoever names files, or says `-m` or `-k`, gets what is asked for."""
    is_all = all(
        Path(config.invocation_params.dir, argument).resolve() in (ROOT, ROOT / "tests") for argument in config.args
    )
    if not is_all or config.option.markexpr or config.option.keyword:
        return
    long = [item for item in items if item.get_closest_marker("long")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if not item.get_closest_marker("long")]


def pytest_collection_finish() -> None:
    """Keep the collector from going through all tests and modules again and again: they stay to the end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTED_AFTER)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Collect what is left once, instead of the five times that pytest does: it finds nothing in what is frozen."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference material beside the checkout: real sessions and recorded outputs of real systems."""
    folder = Path(os.environ.get("INSPECTOR_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"no reference material at {folder}; set INSPECTOR_SHARED to where it is")
    return folder


@pytest.fixture(scope="session")
def corpus(shared: Path) -> Path:
    """Real session files of public projects."""
    return shared / "corpus"


@pytest.fixture(autouse=True)
def private_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep every test away from the settings, state and caches of whoever runs it, and from their terminal's quirks."""
    # Not by `mktemp`, which looks through all that were made before for the next number.
    home = tmp_path_factory.getbasetemp() / "homes" / str(next(NUMBERS))
    home.mkdir(mode=0o700, parents=True)
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(home / name.lower()))
    for name in ("NO_COLOR", "FORCE_COLOR", "TEXTUAL_THEME", "TEXTUAL_ANIMATIONS", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    return home
