import msgspec
import pytest

from inspector.report.catalogue import FigureSet, PlanFacts, Saving, TierFacts
from inspector.report.comparison import comparison_text
from inspector.report.document import Report, SessionFacts, TokenFacts
from inspector.report.layout import LEFT, RIGHT, Page, broken_after_commas
from inspector.report.numbers import MINUS
from inspector.report.text import report_text


def figures(tokens: int = 1000, cost: float | None = 1.0) -> FigureSet:
    return FigureSet(
        calls=3,
        prompt_tokens=tokens,
        peak_prompt_tokens=tokens,
        cache_read_tokens=tokens // 2,
        cache_write_tokens=0,
        uncached_tokens=tokens // 2,
        output_tokens=10,
        cache_breaks=0,
        cost_usd=cost,
        known={"prompt_tokens": "estimated", **({"cost_usd": "estimated"} if cost is not None else {})},
    )


def plan(name: str = "", usd: float | None = 0.5, edits: int = 1) -> PlanFacts:
    percent_of = "prompt_tokens" if usd is None else "cost_usd"
    return PlanFacts(
        name=name,
        strategies=["tiered-stale:data=400"],
        figures=figures(),
        saved=Saving(tokens=5, usd=usd, percent=50.0, percent_of=percent_of, known={}),
        break_even_call=None,
        first_firing=1 if edits else None,
        edits=edits,
        tiers=[TierFacts(strategy="tiered-stale", tier="data", results=2, touched=1, tokens_cut=-7)],
        hazards=None,
        needed_later=None,
        projection=None,
    )


def report(*plans: PlanFacts, baseline: FigureSet | None = None, title: str = "A title") -> Report:
    session = SessionFacts(
        path="session.jsonl",
        format="claude-code",
        id="one",
        title=title,
        agent="",
        model=None,
        models=[],
        messages=1,
        blocks=1,
        tool_results=0,
        calls=1,
        compactions=0,
        skipped_records=0,
    )
    return Report(
        schema=2,
        inspector="0",
        session=session,
        tokens=TokenFacts(method="estimate", calibration=None),
        recorded=None,
        baseline=baseline or figures(),
        plans=list(plans),
        warnings=[],
    )


def test_every_plan_has_a_column_however_many_there_are():
    text = report_text(report(*(plan(f"number {index}") for index in range(30))))

    for name in ("plan A", "plan Z", "plan 27", "plan 30"):
        assert f" {name}\n" in text or f" {name} " in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(("write", "tokens"), [(report_text, "999,999,999,999,999"), (comparison_text, "1000T")])
def test_figures_are_never_cut_however_large(write, tokens):
    huge = figures(tokens=999_999_999_999_999, cost=123_456_789.01)
    text = write(report(msgspec.structs.replace(plan("p"), figures=huge), baseline=huge))

    assert text.count(tokens) >= 2
    assert text.count("$123,456,789.01") == 2
    assert "…" not in text


def test_a_loss_is_shown_with_its_sign():
    text = report_text(report(plan(usd=-0.61)))

    assert f"{MINUS}$0.61" in text
    assert f" {MINUS}7  " in text


def test_colours_change_nothing_but_colours():
    from rich.text import Text

    contents = report(plan(usd=-0.61), plan(usd=None))
    colored = report_text(contents, color=True)

    assert "\x1b[" in colored
    plain_lines = [line.rstrip() for line in Text.from_ansi(colored).plain.splitlines()]
    assert plain_lines == report_text(contents).splitlines()


def test_without_a_price_nothing_is_shown_to_pay_off_or_not():
    lines = report_text(report(plan(usd=None))).splitlines()

    assert [line.split()[-1] for line in lines if "breaks even" in line] == ["unknown"]


def test_a_plan_that_changes_nothing_neither_pays_off_nor_fails_to():
    lines = report_text(report(plan(usd=0.0, edits=0))).splitlines()

    assert [line.split()[-1] for line in lines if "breaks even" in line] == ["-"]


def test_markup_in_a_title_is_shown_as_it_is():
    assert report_text(report(title="[bold]x[/] [/foo] [red")).startswith("[bold]x[/] [/foo] [red\n")


def test_numbers_line_up_at_their_last_digit():
    page = Page()
    page.table(("name", "count"), [("a", "1"), ("longer", "1,000")], LEFT + RIGHT)

    assert page.text() == "  name    count\n  a           1\n  longer  1,000\n"


def test_a_long_specification_breaks_after_commas_only():
    text = "name:" + ",".join(f"parameter{index}={index}" for index in range(12))
    lines = broken_after_commas(text, 40)

    assert "".join(lines) == text
    assert all(len(line) <= 40 for line in lines)
    assert all(line.endswith(",") for line in lines[:-1])
