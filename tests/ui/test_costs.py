"""The cost screen and the explain key, run as users run them."""

import dataclasses
from pathlib import Path

import pytest
from textual.widgets import Input, Static

from inspector.replay.assumptions import Assumptions
from inspector.ui.cost.assumptions import TERMS, TermError
from inspector.ui.cost.rows import Section
from inspector.ui.cost.screen import CostsScreen
from inspector.ui.explain.dialog import ExplainScreen
from tests.ui.conftest import Running
from tests.ui.recordings import Recording


async def opened(run: Running) -> CostsScreen:
    """The cost screen with its first figures."""
    await run.press("dollar_sign")
    screen = run.app.screen
    assert isinstance(screen, CostsScreen)
    await shown(run, screen)
    return screen


async def shown(run: Running, screen: CostsScreen) -> None:
    """Wait until the figures shown are of the newest replay and terms."""
    source = run.screen
    await run.settled()

    def is_newest() -> bool:
        sheet = screen.sheet
        return sheet is not None and sheet.planned is source.outcome.replay and sheet.terms == source.terms

    await run.until(is_newest)
    await run.pilot.pause()


def cell(screen: CostsScreen, key: object, column: str) -> str:
    """What a row says in a column."""
    return next(row.cells[column].text for row in screen.figures.rows if row.key == key)


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_every_figure_of_every_section_has_an_explanation(running, session_file: Recording, size):
    async with running(session_file.path, size=size) as run:
        await run.press("1")
        screen = await opened(run)
        seen = set()
        for place, section in enumerate(Section, start=1):
            await run.press(str(place))
            await shown(run, screen)
            for row in screen.figures.rows:
                key = ("next", "calls") if row.key == ("next", "prompt") else row.key
                is_term = isinstance(key, tuple) and key[0] in ("term", "source")
                unchanged = isinstance(key, tuple) and key[0] == "tier" and "cost" not in row.cells
                assert key in screen.sheet.explained or is_term or unchanged, (section, key)
                seen.add(section)
        assert seen >= set(Section) - {Section.COMPACTIONS}


async def test_a_tier_the_plan_leaves_alone_says_so_where_others_are_explained(running, session_file: Recording):
    async with running(session_file.path) as run:
        await run.press("1", "p", "down", "end", "escape")
        screen = await opened(run)
        await run.press("3")
        await shown(run, screen)
        left_alone = [place for place, row in enumerate(screen.figures.rows) if "cost" not in row.cells]
        assert left_alone
        screen.figures.cursor = left_alone[0]
        await run.until(lambda: "The plan changed none of these." in run.text())


async def test_totals_are_those_of_the_replay(running, session_file: Recording):
    async with running(session_file.path) as run:
        await run.press("1")
        screen = await opened(run)
        outcome = run.screen.outcome
        assert cell(screen, "prompt_tokens", "before") == f"{outcome.baseline.figures.prompt_tokens.value:,}"
        assert cell(screen, "prompt_tokens", "after") == f"{outcome.totals.figures.prompt_tokens.value:,}"
        assert f"{outcome.totals.figures.prompt_tokens.value:,}" in run.text()


async def test_a_price_factor_typed_on_the_screen_halves_the_cost_everywhere(running, session_file: Recording):
    async with running(session_file.path) as run:
        before = run.screen.outcome.baseline.figures.cost_usd.value
        screen = await opened(run)
        await run.press("7")
        screen.figures.move_to_key(("term", "factor"))
        await run.pilot.press("enter")
        await run.until(lambda: run.app.screen is not screen)
        run.app.screen.query_one(Input).value = "0.5"
        await run.pilot.press("enter")
        await run.until(lambda: run.app.screen is screen)
        await run.until(lambda: run.screen.outcome.terms is not None)
        await shown(run, screen)

        assert run.screen.outcome.baseline.figures.cost_usd.value == pytest.approx(before / 2)
        assert cell(screen, ("term", "factor"), "value") == "0.5"
        assert run.screen.cost.summary.recorded.value == pytest.approx(before / 2)


async def test_another_cache_makes_costs_projected(running, session_file: Recording):
    async with running(session_file.path) as run:
        screen = await opened(run)
        run.screen.set_terms(dataclasses.replace(run.screen.terms, cache="none"))
        await run.until(lambda: run.screen.outcome.terms is not None)
        await shown(run, screen)
        figures = run.screen.outcome.baseline.figures
        assert (figures.cache_read_tokens.value, figures.cost_usd.known.value) == (0, "projected")


async def test_days_and_next_calls_change_what_is_ahead_without_a_replay(running, session_file: Recording):
    async with running(session_file.path) as run:
        await run.press("1")
        screen = await opened(run)
        await run.press("6")
        replay = run.screen.outcome.replay
        run.screen.set_terms(dataclasses.replace(run.screen.terms, days_per_month=10, next_calls=7))
        screen.show_outcome()
        await shown(run, screen)
        assert run.screen.outcome.replay is replay
        assert "a month, 10 days" in run.text()
        assert "next 7 calls" in run.text()


async def test_the_explain_key_explains_the_row_under_the_cursor(running, session_file: Recording):
    async with running(session_file.path) as run:
        await run.press("E")
        await run.until(lambda: isinstance(run.app.screen, ExplainScreen))
        text = run.text()
        assert "tokens of this row" in text
        assert "o200k_base" in text
        await run.press("down")
        assert "what every call paid" in str(run.app.screen.query_one("#explanation", Static).render()).lower()
        await run.press("escape")
        assert run.app.screen is run.screen


async def test_the_explain_key_explains_costs_where_the_cost_bar_has_the_cursor(running, session_file: Recording):
    async with running(session_file.path) as run:
        await run.press("1")
        run.screen.cost.focus()
        await run.press("E")
        await run.until(lambda: isinstance(run.app.screen, ExplainScreen))
        for name in ("cost as recorded", "saved", "pays off from", "saved a month"):
            assert name in run.text()


async def test_a_result_leads_to_its_row(running, session_file: Recording):
    async with running(session_file.path) as run:
        screen = await opened(run)
        await run.press("4")
        await shown(run, screen)
        _, block = screen.figures.cursor_key
        await run.press("enter")
        assert run.app.screen is run.screen
        assert run.screen.parts.timeline.cursor_block == block


async def test_a_session_without_a_price_says_what_is_missing(running, tmp_path: Path):
    from tests.ui.recordings import recording

    file = recording(tmp_path / "priceless.jsonl", turns=12, model="house-model-9")
    async with running(file.path) as run:
        await run.press("1")
        screen = await opened(run)
        assert cell(screen, "cost_usd", "after") == "unknown"
        await run.press("6")
        await shown(run, screen)
        assert "nothing can be projected without a price" in run.text()
        await run.press("7")
        assert "no price" in run.text()


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("next", "120", "0"),
        ("days", "22", "40"),
        ("factor", "0.9", "-1"),
        ("rates", "3/15", "cheap"),
        ("cache", "openai", "antropic"),
        ("window", "200,000", "1.5"),
    ],
)
def test_terms_take_what_they_show_and_refuse_the_rest(name: str, good: str, bad: str):
    term = next(term for term in TERMS if term.name == name)
    changed = term.taken(Assumptions(), good)
    assert changed != Assumptions()
    assert term.taken(Assumptions(), term.shown(changed)) == changed
    with pytest.raises(TermError):
        term.taken(changed, bad)


@pytest.mark.parametrize("name", ["model", "rates", "cache", "window"])
def test_nothing_typed_means_as_recorded(name: str):
    term = next(term for term in TERMS if term.name == name)
    assert term.taken(Assumptions(), "") == Assumptions()
    assert term.shown(Assumptions()) == ""


@pytest.mark.parametrize(("key", "said"), [("c", "cost as recorded"), ("t", "saved a month"), ("v", "the next prompt")])
async def test_the_explain_key_works_on_every_screen_that_studies_the_session(
    running, session_file: Recording, key: str, said: str
):
    async with running(session_file.path) as run:
        await run.press("1")
        await run.press(key)
        await run.until(lambda: run.app.screen is not run.screen)
        await run.pilot.pause(0.2)
        await run.pilot.press("E")
        await run.until(lambda: isinstance(run.app.screen, ExplainScreen))
        await run.pilot.pause()
        assert said in run.text()
