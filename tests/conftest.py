"""Fixtures every test may use, and how the tests are run."""

import gc
import os
import sys
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings

from tests.examples import EXAMPLES, examples

# Test machines are busy, so an example has no deadline. Common runs draw the same examples every time, so a failure
# points to the change under test; runs with more examples draw new ones.
settings.register_profile("common", deadline=None, derandomize=EXAMPLES not in os.environ, max_examples=examples(150))
settings.load_profile("common")

# The program is started hundreds of times, and every process of a run imports every test: compile all that once.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

ROOT = Path(__file__).resolve().parent.parent

CORE = (
    "session/test_claude_code_joining.py",
    "session/test_codex.py",
    "session/test_follow.py",
    "session/test_growing.py",
    "session/test_torn_lines.py",
    "session/test_usage_fields.py",
    "tokens/test_block_tokens.py",
    "tokens/test_calibration.py",
    "strategies/test_every_strategy.py",
    "strategies/test_recorded_systems.py",
    "strategies/test_tiered_stale.py",
    "replay/test_agent_breakpoints.py",
    "replay/test_invariants.py",
    "replay/test_ledger.py",
    "replay/test_prices.py",
    "replay/test_refetches.py",
    "report/test_golden.py",
    "report/test_json_document.py",
    "live",
    "ui/test_screens.py",
    "test_cli_commands.py",
    "test_structure.py",
)
"""Files and folders in `-m core`: a part of every room that fails soonest, for a minute's check while writing."""

FEW_FILES = 3
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


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the files without core tests where only these are run: importing them takes longer than the tests."""
    is_file = collection_path.suffix == ".py" and collection_path.name.startswith("test_")
    return True if config.option.markexpr == "core" and is_file and not _is_core(collection_path) else None


def _is_core(path: Path) -> bool:
    inner = path.relative_to(ROOT / "tests")
    return inner.as_posix() in CORE or inner.parts[0] in CORE


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if _is_core(item.path) and not item.get_closest_marker("long"):
            item.add_marker("core")
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
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def shared() -> Path:
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
    # Not by `mktemp`, which looks through all that were made before for the next number.
    home = tmp_path_factory.getbasetemp() / "homes" / str(next(NUMBERS))
    home.mkdir(mode=0o700, parents=True)
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(home / name.lower()))
    for name in ("NO_COLOR", "FORCE_COLOR", "TEXTUAL_THEME", "TEXTUAL_ANIMATIONS", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    return home


SEARCHED: dict[str, object] = {}


@pytest.fixture
def searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best plan of a session at a price is searched once a process, not for every command, format and test."""
    from inspector.report import session_report

    search = session_report._best_plan

    def best_plan(baseline, options, progress):
        inputs = baseline.inputs
        wanted = (options.beyond, options.most_saving)
        terms = (baseline.history.session.path, baseline.figures, inputs.cache, inputs.window, *wanted)
        if repr(terms) not in SEARCHED:
            SEARCHED[repr(terms)] = search(baseline, options, progress)
        return SEARCHED[repr(terms)]

    monkeypatch.setattr(session_report, "_best_plan", best_plan)
