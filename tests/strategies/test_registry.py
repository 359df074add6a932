import pkgutil
import subprocess
import sys
from importlib import import_module

import pytest

from inspector.strategies import library
from inspector.strategies.core.strategy import Parametrized, ScheduledStrategy, SequentialStrategy
from inspector.strategies.registry import STRATEGIES
from tests.program import environment


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_goes_by_its_own_name(name: str):
    strategy = STRATEGIES[name]

    assert strategy.name == name
    assert isinstance(strategy(), ScheduledStrategy | SequentialStrategy)


def test_every_strategy_there_is_can_be_chosen():
    for module in pkgutil.iter_modules(library.__path__, f"{library.__name__}."):
        import_module(module.name)
    written = {
        each for each in _below(Parametrized) if "name" in vars(each) and each.__module__.startswith("inspector.")
    }

    assert written == set(STRATEGIES.values())


def test_a_plan_imports_only_the_strategies_it_has():
    code = """
import sys
from inspector.strategies.plan import Plan
Plan.from_specs(["keep-recent"])
print(*(name for name in sys.modules if name.startswith("inspector.strategies.")))
"""
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)

    imported = done.stdout.split()
    assert "inspector.strategies.library.smart_retention" in imported
    assert "inspector.strategies.library.old_results" not in imported


def _below(kind: type) -> set[type]:
    return {kind, *(each for below in kind.__subclasses__() for each in _below(below))} - {Parametrized}
