"""All deliberate errors have one base class and a message with a remedy."""

import importlib
import pkgutil

import pytest

import inspector
from inspector import InspectorError, Plan
from inspector.cli.output import ExitCode
from tests.program import run_here


def _all_modules() -> None:
    for module in pkgutil.walk_packages(inspector.__path__, "inspector."):
        if module.name.endswith("__main__"):
            continue
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError:
            # Adapters need libraries that are not installed with the rest.
            if not module.name.startswith("inspector.adapters."):
                raise


def _kinds(root: type[BaseException]) -> set[type[BaseException]]:
    return {kind for below in root.__subclasses__() for kind in {below, *_kinds(below)}}


def test_every_error_of_the_project_has_the_one_root_and_says_what_to_do() -> None:
    _all_modules()
    ours = {kind for kind in _kinds(BaseException) if kind.__module__.startswith("inspector.")}
    assert len(ours) > 15
    for kind in ours - {InspectorError}:
        assert issubclass(kind, InspectorError), f"{kind} does not come from InspectorError"
        assert kind.advice, f"{kind} gives no advice"


def test_a_program_catches_the_root_alone() -> None:
    with pytest.raises(InspectorError) as caught:
        Plan.from_specs(["no-such-strategy"])
    assert "no-such-strategy" in caught.value.message


def test_advice_is_added_where_the_message_does_not_hold_it() -> None:
    class UnreadableError(InspectorError):
        advice = "try another"

    assert UnreadableError("it is gone").explanation == "it is gone: try another"
    assert UnreadableError("it is gone, try another").explanation == "it is gone, try another"
    assert UnreadableError().explanation == "try another"


def test_an_error_no_command_expected_is_one_line_and_not_called_a_bug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class GoneError(InspectorError):
        advice = "open it again"

    def fail(arguments: object) -> int:
        raise GoneError("it is gone")

    monkeypatch.setattr("inspector.cli._run", fail)
    outcome = run_here(capsys)
    assert outcome.code == ExitCode.UNREADABLE
    assert outcome.complaint.endswith("it is gone: open it again")
