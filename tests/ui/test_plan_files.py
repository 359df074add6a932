from pathlib import Path

import pytest

from inspector.strategies.plan import Plan
from inspector.strategies.presets import library_folder, problem_with_name, save_named, saved_plans, target_of

PLAN = Plan.from_specs(["tiered-stale:data=40"])


def test_a_name_goes_to_the_library_and_a_path_where_it_says(private_home: Path, tmp_path: Path) -> None:
    assert target_of("mine") == library_folder() / "mine.toml"
    assert private_home in library_folder().parents
    assert target_of(str(tmp_path / "mine")) == tmp_path / "mine.toml"
    assert target_of("../../etc/passwd").name == "passwd.toml"
    assert target_of("a\x1b[31m b").parent == library_folder()


def test_saved_plans_are_listed_and_what_is_none_says_why() -> None:
    save_named(PLAN, "mine")
    (library_folder() / "broken.toml").write_text("[[strategies]]\nname = 'no'\n")

    broken, mine = saved_plans()
    assert (mine.name, mine.plan.strategies) == ("mine", PLAN.strategies)
    assert broken.plan is None
    assert "no" in broken.problem


@pytest.mark.parametrize("text", ["", "  ", "..", "/"])
def test_a_plan_needs_a_name(text: str) -> None:
    assert problem_with_name(text)


def test_a_plan_is_never_saved_over_a_session(session_file) -> None:
    assert "is not a .toml file" in problem_with_name(str(session_file.path))
    renamed = session_file.path.rename(session_file.path.with_suffix(".toml"))

    assert "never overwritten" in problem_with_name(str(renamed))


async def test_a_saved_plan_names_the_plan_says_when_that_is_another_and_is_opened_again_and_compared(
    running, session_file
) -> None:
    async with running(session_file.path) as run:
        assert run.plan_title == "Plan A"
        await run.press("1")
        await run.tap("w", "s")
        await run.pause()
        await run.tap(*"keep", "enter")
        await run.until(saved_plans)
        await run.settled()
        assert run.plan_title == "Plan A: keep"
        await run.press("1")
        assert run.plan_title == "Plan A: keep, changed"
        await run.press("1")
        assert "Plan A: keep " in run.text()
        await run.press("1", "w", "o")
        await run.until_open("picker")
        await run.tap(*"keep", "enter")
        await run.settled()
        assert run.plan.strategies == saved_plans()[0].plan.strategies
        await run.tap("c")
        await run.until_shown("your keep")
        await run.tap("escape")
        await run.until_open("session")
        await run.press("1")

    async with running(session_file.path) as run:
        assert run.plan_title == "Plan A: keep, changed"


async def test_a_plan_that_does_nothing_has_nothing_to_export_and_a_plan_file_is_opened_by_its_path(
    running, session_file, tmp_path: Path
) -> None:
    target = tmp_path / "other.toml"
    target.write_text(PLAN.to_toml())
    async with running(session_file.path, size=(80, 24)) as run:
        await run.tap("w", "e")
        await run.until_shown("nothing to export")
        await run.tap("plus")
        await run.until_open("picker")
        # The first choice is explained before any key.
        await run.until_shown("keep only its first")
        await run.tap("escape")
        await run.until_open("session")
        await run.tap("w", "o")
        await run.until_open("picker")
        run.line = str(target)
        await run.pause()
        await run.tap("enter")
        await run.settled()
        assert run.plan.strategies == PLAN.strategies


async def test_an_export_is_previewed_then_saved(running, session_file, tmp_path: Path) -> None:
    target = tmp_path / "tiers.py"
    async with running(session_file.path) as run:
        await run.press("1")
        await run.tap("w", "e")
        await run.until_open("export")
        await run.until_shown("Claude Code cannot apply it. Supported:")
        await run.until_shown("compact(messages, PLAN)")
        await run.tap("down")
        await run.until_shown("_STALE_TRUNCATION")
        await run.tap("enter")
        await run.until(lambda: run.has_line)
        run.line = str(target)
        await run.tap("enter")
        await run.until(target.exists)

    assert "_STALE_TRUNCATION" in target.read_text()
