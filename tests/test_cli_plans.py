"""Plans asked for by name: files, saved ones, ready ones."""

import json
from pathlib import Path

import pytest

from inspector.cli.arguments import plan_of, settled
from inspector.cli.output import CommandError, ExitCode
from inspector.fleet.session_tasks import PlanRequest
from inspector.strategies.plan import Plan
from inspector.strategies.presets import PRESETS, save_named
from tests.program import run_here


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)


MINE = Plan.from_specs(["clear-old:keep=7"])


def test_a_ready_plan_is_found_by_its_name():
    assert plan_of(PlanRequest(plan="careful")) == PRESETS["careful"].plan()


def test_a_ready_plan_is_found_by_the_name_that_reports_show_and_fits_each_session():
    request = PlanRequest(plan="newest ten")
    assert plan_of(request) == PRESETS["newest-ten"].plan()
    assert settled(request) == PlanRequest(plan="newest-ten")


def test_a_saved_plan_is_found_by_its_name():
    save_named(MINE, "mine")

    assert plan_of(PlanRequest(plan="mine")).strategies == MINE.strategies


def test_a_saved_plan_takes_the_place_of_a_ready_one_and_a_file_that_of_both(tmp_path: Path):
    save_named(MINE, "careful")
    assert plan_of(PlanRequest(plan="careful")).strategies == MINE.strategies

    (tmp_path / "careful").write_text(Plan.from_specs(["keep-recent"]).to_toml())
    assert plan_of(PlanRequest(plan="careful")).strategies == Plan.from_specs(["keep-recent"]).strategies


@pytest.mark.parametrize(
    ("asked", "code", "said"),
    [
        ("carefull", ExitCode.WRONG_USAGE, "did you mean 'careful'?"),
        ("min", ExitCode.WRONG_USAGE, "did you mean 'mine'?"),
        ("clear-old:keep=3", ExitCode.WRONG_USAGE, "use --strategy clear-old:keep=3"),
        ("none.toml", ExitCode.UNREADABLE, "none.toml: no such file or directory. Check the path."),
        ("./careful", ExitCode.UNREADABLE, "careful: no such file or directory. Check the path."),
        ("./", ExitCode.UNREADABLE, "a directory, not a file. Give the path of a file in it."),
    ],
)
def test_a_name_nothing_has_is_reported_with_a_way_out(asked: str, code: ExitCode, said: str):
    save_named(MINE, "mine")

    with pytest.raises(CommandError) as caught:
        plan_of(PlanRequest(plan=asked))

    assert caught.value.code == code
    assert said in caught.value.message


def test_strategies_lists_the_plans_there_are(capsys: pytest.CaptureFixture[str]):
    save_named(MINE, "mine")

    listed = json.loads(run_here(capsys, "strategies", "--plans", "--json").out)
    text = run_here(capsys, "strategies", "--plans").out

    assert [plan["name"] for plan in listed] == ["mine", *PRESETS]
    assert listed[0]["strategies"] == ["clear-old:keep=7"]
    assert all(f"\n{name}\n" in f"\n{text}" for name in ["mine", *PRESETS])
    assert "careful" in run_here(capsys, "strategies").out


def test_one_plan_is_shown_by_its_name_and_an_unknown_one_suggests_the_nearest(capsys: pytest.CaptureFixture[str]):
    assert "trim-at-insertion" in run_here(capsys, "strategies", "careful").out

    outcome = run_here(capsys, "strategies", "carefull")
    assert outcome.code == ExitCode.WRONG_USAGE
    assert "did you mean 'careful'?" in outcome.err


@pytest.mark.parametrize("name", PRESETS)
def test_what_is_listed_of_a_ready_plan_can_be_typed(name: str):
    assert Plan.from_specs(PRESETS[name].specs).strategies == PRESETS[name].plan().strategies
