"""Marked best plan of the comparison, the line above the table, and folded rows."""

from dataclasses import replace

import pytest

from inspector.replay.analysis.best_plan import ComparedPlan
from inspector.replay.analysis.hazards import Hazard, HazardKind
from inspector.replay.analysis.plan_outcome import Savings
from inspector.replay.analysis.recoveries import Envelope, EvidenceLevel, Need, Rate, Recoveries, Refetches
from inspector.replay.analysis.reuse import NeedKind
from inspector.replay.engine.ledger import Figures
from inspector.replay.figure import Figure, HowKnown
from inspector.report.export import AgentSupport, answer_for
from inspector.session.model import BlockKind
from inspector.strategies.plan import Plan
from inspector.ui.compare.best import (
    best_of,
    excluded_from_front,
    front_of,
    front_table,
    headline,
    headlines,
    not_recommended_legend,
    not_recommended_reason,
    not_recommended_text,
    recommended_of,
    safest_line,
    safest_of,
    why,
)
from inspector.ui.compare.rows import (
    BEST_MARK,
    NEVER_APPLIED,
    NOT_RECOMMENDED_MARK,
    SAFEST_MARK,
    UNTESTED_MARK,
    CompareRow,
    PlanKind,
    PlanPurpose,
    about,
    compare_table,
)
from inspector.ui.figure_table.table import Sorting, Table, row_pieces, widths_for

REJECTED = Hazard(HazardKind.ORPHANED_PAIR, 0, (3,), (7,), 1)


def figure(value: float | None) -> Figure:
    return Figure(value, HowKnown.CALIBRATED)


def figures(cost: float) -> Figures:
    named = {name: figure(1.0) for name in Figures.__dataclass_fields__}
    return Figures(**{**named, "cost_usd": figure(cost)})


def contender(
    name: str, saved: float, needed: int | None, kind: PlanKind = PlanKind.STRATEGY, *hazards: Hazard
) -> CompareRow:
    """A tried plan that saves so many of ten dollars, with so many needs and expected re-fetches, a dime each.

    The interval ends at the estimate; the session is long enough for any number of re-fetches.
    """
    savings = Savings(tokens=figure(saved), usd=figure(saved), share=figure(saved / 10), share_of="cost_usd")
    first = 2 if saved else None
    found = ComparedPlan(Plan(), figures(10 - saved), savings, None, first, 5, hazards)
    recoveries = None
    if needed is not None:
        cost = needed / 10
        count, usd = Rate(needed, needed / 2, needed), Rate(cost, cost / 2, cost)
        expected = Refetches(count, Rate(0.0, 0.0, 0.0), usd, is_measured=True)
        needs = tuple(Need(NeedKind.ANCHOR, 0, 0, call, 0, 0, 1, 0, 1) for call in range(needed))
        recoveries = Recoveries(needs, 0, saved, expected)
    return CompareRow(name, name, Plan(), kind, found, recoveries)


SMALL = Savings(tokens=figure(1.0), usd=figure(1.0), share=figure(0.1), share_of="cost_usd")
BASELINE = contender("nothing cut", 0.0, None, PlanKind.RECORDED)


def keys_of(table: Table) -> list[object]:
    """Keys of the rows, without the titles of groups."""
    return [row.key for row in table.rows if not isinstance(row.key, PlanPurpose)]


def test_the_best_plan_saves_most_if_what_was_needed_is_got_back_and_is_not_rejected() -> None:
    plans = [
        BASELINE,
        contender("bold", 5.0, 12),
        contender("trap", 6.0, 40),
        contender("rejected", 4.9, 0, PlanKind.PRESET, REJECTED),
        contender("not looked at", 4.2, None),
        contender("own", 4.0, 0, PlanKind.CURRENT),
        contender("sound", 4.0, 0),
        contender("small", 2.0, 0),
    ]
    best = best_of(plans)
    assert best is not None
    assert best.key == "sound"

    said = headline(plans, best, 0)
    assert said.text == "★ best plan saves net about $4.00 with sound, after hardly any re-fetches; $4.00 (40 %) gross"
    assert said.short == "★ best saves net about $4.00 with sound"
    bold = best_of([contender("bold", 5.0, 9), *plans])
    assert bold is not None
    risky = headline(plans, bold, 0)
    assert risky.text == (
        "★ best plan saves net $4.10 to $4.55 with bold, after about 9 re-fetches (4 to 9); $5.00 (50 %) gross"
    )
    assert risky.short == "★ best saves net $4.10 to $4.55 with bold"
    so_far = headline(plans, best, 3)
    assert "so far" in so_far.text
    assert "so far" in so_far.short
    marks = {row.key: row.mark for row in compare_table(plans, best.key).rows}
    assert [key for key, mark in marks.items() if mark == BEST_MARK] == ["sound"]


def test_a_plan_that_leaves_out_messages_is_not_the_best_and_the_line_says_why() -> None:
    window = contender("window", 6.0, 0)
    assert window.found is not None
    window = replace(window, found=replace(window.found, drops_text=True))
    best = best_of([BASELINE, window, contender("sound", 4.0, 0)])
    assert best is not None
    assert best.key == "sound"
    assert headline([BASELINE, window], best_of([BASELINE, window]), 0).text == (
        "nothing worth changing here: largest saving is $6.00 (60 %) with window, "
        "but it leaves out user or assistant messages"
    )


def test_a_plan_that_is_not_recommended_is_marked_and_says_why_whatever_it_saves() -> None:
    window, rejected = contender("window", 6.0, 0), contender("rejected", 5.0, 0, PlanKind.PRESET, REJECTED)
    assert window.found is not None
    window = replace(window, found=replace(window.found, drops_text=True))
    small = replace(contender("small window", 1.0, 0), found=replace(window.found, savings=SMALL))
    plans = [BASELINE, window, rejected, small, contender("sound", 4.0, 0), contender("trap", 4.5, 40)]
    best = best_of(plans)
    passed_over = {each.key: why for each in plans if (why := not_recommended_reason(each))}
    said = "it leaves out user or assistant messages"
    assert passed_over == {"window": said, "rejected": "a provider would reject it", "small window": said}
    assert not_recommended_legend(plans) == "✗ leaves out messages or would be rejected"
    assert not_recommended_legend([small]) == "✗ leaves out messages"
    assert not not_recommended_legend([BASELINE, plans[-1]])
    marks = {row.key: row.mark for row in compare_table(plans, "sound").rows}
    assert {key for key, mark in marks.items() if mark == NOT_RECOMMENDED_MARK} == set(passed_over)
    told = about(window, BASELINE.found, passed_over=not_recommended_text(window, best))
    assert told[0] == ("excluded", "saves more net, but it leaves out user or assistant messages")
    assert not_recommended_text(small, best) == f"{said}, and it is unknown whether that was needed"


def test_the_safest_plan_is_the_one_whose_cuts_were_needed_least_of_those_that_save_for_sure() -> None:
    plans = [
        BASELINE,
        contender("bold", 5.0, 12),
        contender("careful", 2.0, 1),
        contender("dear", 1.0, 1),
        contender("trifle", 0.05, 0),
        contender("rejected", 3.0, 0, PlanKind.PRESET, REJECTED),
    ]
    best, safest = best_of(plans), safest_of(plans)
    assert best is not None
    assert safest is not None
    assert (best.key, safest.key) == ("bold", "careful")
    marks = {row.key: row.mark for row in compare_table(plans, best.key, safest.key).rows}
    assert (marks["bold"], marks["careful"]) == (BEST_MARK, SAFEST_MARK)
    said = safest_line(best, safest, 0)
    assert said is not None
    assert said.short == "◆ safer: net $1.90 to $1.95 with careful; 1 re-fetch (best: 12)"
    assert said.text.endswith(
        " saves net $1.90 to $1.95 with careful, ~$1.90 less than the best; about 1 re-fetch, 12 with the best plan"
    )
    assert safest in front_of(plans, best, safest)

    alone = [BASELINE, contender("sound", 4.0, 0)]
    sound = safest_of(alone)
    assert sound is best_of(alone)
    assert safest_line(sound, sound, 0) is None
    assert headline(alone, sound, 0, sound).text.startswith(
        "★ best plan, also the safest, saves net about $4.00 with sound"
    )


def test_the_safest_plan_saves_half_of_what_the_best_does_where_one_does_and_was_needed_less() -> None:
    bold, half, trifle = contender("bold", 5.0, 12), contender("half", 3.0, 2), contender("trifle", 0.4, 0)

    assert safest_of([BASELINE, bold, half, trifle]) is half
    assert safest_of([BASELINE, bold, trifle]) is trifle
    assert safest_of([BASELINE, bold, contender("as bold", 4.9, 12), trifle]) is trifle


def test_what_a_plan_leaves_out_is_stated_next_to_it_and_shorter_where_there_is_less_room() -> None:
    bold = contender("bold", 5.0, 12)
    assert bold.found is not None
    gone = (BlockKind.THINKING, BlockKind.TOOL_CALL, BlockKind.TOOL_RESULT)
    bold = replace(bold, found=replace(bold.found, left_out=gone))
    wordings = list(headline([BASELINE, bold], bold, 0).wordings())
    assert wordings[0].endswith("; leaves out thinking, tool calls, tool results")
    assert wordings[2] == "★ best saves net $3.80 to $4.40 with bold; cuts thinking, calls, results"
    assert ("leaves out", "thinking, tool calls, tool results") in about(bold, BASELINE.found)


def test_a_plan_that_no_other_beats_is_on_the_front_page_with_its_mark_where_it_is_not_recommended() -> None:
    best = best_of(FRONT)
    assert [each.key for each in excluded_from_front(FRONT)] == ["rejected"]
    marks = {row.key: row.mark for row in front_table(FRONT, best).rows}
    assert marks["rejected"] == NOT_RECOMMENDED_MARK
    # A plan on the page beats every other one, or the row gives the reason against a recommendation.
    for each in FRONT:
        if each.recoveries is not None and each.key not in marks and not each.is_baseline:
            needed, saved = each.recoveries.needed, each.saved_share
            shown = [other for other in FRONT if other.key in marks and other.recoveries is not None]
            assert any(
                other.recoveries.needed <= needed and other.saved_share >= saved
                for other in shown
                if other.recoveries is not None
            )


def test_without_a_plan_to_recommend_the_line_says_what_the_most_saving_one_would_lose() -> None:
    plans = [BASELINE, contender("bold", 5.0, 52), contender("other", 3.0, 31)]
    assert best_of(plans) is None
    assert headline(plans, None, 0).text == (
        "nothing worth changing here: largest saving is $5.00 (50 %) with bold, but net "
        "\N{MINUS SIGN}$0.20 to $2.40 after about 52 re-fetches (26 to 52)"
    )
    bare = contender("bold", 5.0, 0)
    assert bare.recoveries is not None
    beyond = Envelope(EvidenceLevel.BEYOND, "cuts after 1 call")
    assert headline([BASELINE, replace(bare, recoveries=replace(bare.recoveries, envelope=beyond))], None, 0).short == (
        "nothing worth changing here: largest saving with bold, but untested"
    )
    assert headline([BASELINE], None, 0).text == "nothing worth changing here: no plan saves anything"
    assert headline(plans, None, 2).text == "looking for the plan with the largest net saving …"


def test_what_never_applied_is_one_row_below_all_others_and_can_be_unfolded() -> None:
    idle = [contender(f"idle {number}", 0.0, 0) for number in range(3)]
    current = contender("current plan", 0.0, 0, PlanKind.CURRENT)
    failed = replace(contender("failed", 0.0, None), found=None, failure="out of luck")
    plans = [BASELINE, *idle, current, failed, contender("sound", 4.0, 0)]

    table = compare_table(plans).sorted(Sorting("saved"))
    assert keys_of(table) == ["nothing cut", "sound", "failed", NEVER_APPLIED]
    assert table.rows[-1].words.startswith("▸ 3 strategies never applied in this session")
    preset = contender("idle preset", 0.0, 0, PlanKind.PRESET)
    assert "4 plans never" in compare_table([*plans, preset]).rows[-1].words

    unfolded = compare_table(plans, is_unfolded=True).sorted(Sorting("name", falls=False))
    # A current plan without a strategy is the session with nothing cut.
    assert len(keys_of(unfolded)) == len(plans)
    assert unfolded.rows[-1].words.startswith("▾ 3 strategies")


def test_plans_that_are_equal_in_what_they_are_sorted_by_are_ordered_by_saving() -> None:
    plans = [contender("small", 2.0, 0), BASELINE, contender("bold", 5.0, 12), contender("sound", 4.0, 0)]
    table = compare_table(plans, "sound")
    for_needed = table.sorted(Sorting("needed", falls=False))
    assert keys_of(for_needed) == ["nothing cut", "sound", "small", "bold"]
    assert keys_of(table.sorted(Sorting("needed"))) == ["nothing cut", "sound", "bold", "small"]


def test_at_eighty_columns_what_a_plan_risks_stays_in_sight() -> None:
    table = compare_table([BASELINE, contender("bold", 5.0, 12)])
    widths = widths_for(table.columns, 77)
    assert {"name", "kind", "saved", "net", "needed"} <= set(widths)
    line = "".join(text for text, _ in row_pieces(table.columns, widths, table.rows[-1], selected=False))
    assert "strategy" in line
    assert line.rstrip().endswith(" 12")


FRONT = [
    BASELINE,
    contender("bold", 5.0, 12),
    contender("trap", 6.0, 25),
    contender("rejected", 6.5, 0, PlanKind.PRESET, REJECTED),
    contender("sound", 4.0, 0),
    contender("copy", 4.0, 0, PlanKind.YOURS),
    contender("bad bargain", 3.0, 12),
    contender("not looked at", 9.0, None),
    contender("idle", 0.0, 0),
]


def test_on_the_front_are_the_plans_of_which_no_other_saves_more_and_is_needed_less() -> None:
    best = best_of(FRONT)

    assert [each.key for each in front_of(FRONT, best)] == ["sound", "bold", "trap"]
    rows = front_table([each for each in FRONT if each.key != "rejected"], best).rows
    assert [(row.key, row.mark) for row in rows] == [("sound", BEST_MARK), ("bold", " "), ("trap", " ")]
    assert [row.cells["needed"].text for row in rows] == ["0", "12", "25"]
    assert [row.cells["net"].text for row in rows] == ["$4.00", "$3.80", "$3.50"]
    assert [row.cells["each"].text for row in rows] == ["·", "~$0.10", "~$0.10"]
    length = rows[1].cells["band"].length
    assert length is not None
    assert (length.sent / length.full, length.recorded / length.full) == pytest.approx((3.8 / 6, 5 / 6))


def test_the_best_plan_is_on_the_front_even_where_another_one_saves_more_and_is_needed_as_often() -> None:
    cheap = contender("cheap", 4.0, 1)
    dear = contender("dear", 4.1, 1)
    assert dear.recoveries is not None
    costly = replace(dear.recoveries.expected, cost=Rate(2.0, 0.05, 2.0))
    dear = replace(dear, recoveries=replace(dear.recoveries, expected=costly))
    best = best_of([BASELINE, cheap, dear])

    assert best is cheap
    assert [each.key for each in front_of([BASELINE, cheap, dear], best)] == ["cheap", "dear"]
    assert "less than the cost of re-fetches" in why(dear, best, (cheap, dear))


def test_why_a_plan_is_the_best_and_others_are_not_is_stated_in_a_sentence() -> None:
    best = best_of(FRONT)
    others = front_of(FRONT, best)
    sound, bold, _ = others

    assert why(sound, best, others) == (
        "largest net saving of the tested built-in plans that keep all user and assistant text; "
        "more is saved before re-fetches with trap, but net $3.50 to $4.75 (saves $6.00) after about 25 re-fetches "
        "(12 to 25); 25 later calls needed cut text"
    )
    assert why(bold, best, others) == (
        "net $3.80 to $4.40 (saves $5.00) after about 12 re-fetches (6 to 12); 12 later calls needed cut text; its "
        "extra saving over ★ sound is less than the cost of re-fetches"
    )
    least = contender("careful", 1.0, 0)
    risky = contender("risky", 5.0, 9)
    assert "9 fewer calls needed cut text than with ★ risky" in why(least, risky, (least, risky))
    assert why(least, None, (least,)) == ""


def beyond(each: CompareRow, reason: str) -> CompareRow:
    """Return the plan with untested settings."""
    assert each.recoveries is not None
    return replace(each, recoveries=replace(each.recoveries, envelope=Envelope(EvidenceLevel.BEYOND, reason)))


def applied_by_agent(each: CompareRow, *, is_whole: bool) -> CompareRow:
    agent = "Claude Code"
    return replace(each, answer=AgentSupport("", "", ("claude-code",), agent, (), is_whole=is_whole))


def dropping_text(each: CompareRow) -> CompareRow:
    assert each.found is not None
    assert each.recoveries is not None
    recoveries = replace(each.recoveries, drops_text=True)
    return replace(each, found=replace(each.found, drops_text=True), recoveries=recoveries)


def test_plans_beyond_what_was_tried_are_below_all_others_in_any_order_with_the_nearest_tried_setting() -> None:
    bold = beyond(contender("bold", 8.0, 0), "cuts file reads after 2 calls; tried: 20 calls")
    bolder = beyond(contender("bolder", 9.0, 0), "cuts file reads after 0 calls; tried: 20 calls")
    plans = [BASELINE, bold, contender("sound", 4.0, 0), bolder, dropping_text(contender("window", 6.0, 0))]
    best = best_of(plans)
    assert best is not None
    assert best.key == "sound"
    assert not_recommended_text(bold, best) == (
        "saves more net, but it is untested: cuts file reads after 2 calls; tried: 20 calls"
    )
    table = compare_table(plans, best.key)
    assert keys_of(table.sorted(Sorting("net"))) == ["nothing cut", "sound", "window", "bolder", "bold"]
    by_saving = ["nothing cut", "sound", "window", "bold", "bolder"]
    assert keys_of(table.sorted(Sorting("saved", falls=False))) == by_saving
    marks = {row.key: row.mark for row in table.rows}
    assert (marks["window"], marks["bold"], marks["bolder"]) == ("✗", UNTESTED_MARK, UNTESTED_MARK)


def test_a_plan_with_two_reasons_against_it_has_one_verdict_in_its_row_the_legend_and_the_headline() -> None:
    window = dropping_text(beyond(contender("window", 6.0, 0), "cuts results after 0 calls; tried: 10 calls"))
    table = compare_table([BASELINE, window])
    assert {row.key: row.mark for row in table.rows}["window"] == NOT_RECOMMENDED_MARK
    assert not_recommended_legend([window]) == "✗ leaves out messages"
    said = headline([BASELINE, window], None, 0)
    assert said.text.endswith("with window, but it leaves out user or assistant messages")
    assert said.short.endswith("with window, but leaves out messages")
    bold = beyond(contender("bold", 5.0, 0), "cuts results after 0 calls; tried: 10 calls")
    assert not_recommended_legend([window, bold]) == "✗ leaves out messages  ? untested"


@pytest.mark.parametrize("kind", [PlanKind.YOURS, PlanKind.CURRENT])
def test_a_plan_of_the_user_is_ranked_but_never_the_best_one_which_is_built_in_as_on_the_main_screen(
    kind: PlanKind,
) -> None:
    own, built_in = contender("own", 5.0, 0, kind), contender("built-in", 4.0, 0)
    plans = [BASELINE, own, built_in]
    best, safest = best_of(plans), safest_of(plans)
    assert (best, safest, recommended_of(plans)) == (built_in, built_in, built_in)
    assert own in front_of(plans, best, safest)
    assert why(own, best, ()) == "saves more net here; ★ is a built-in plan, since your own may fit this session only"
    assert best_of([BASELINE, own]) is None


def test_a_group_shows_five_plans_until_it_is_opened() -> None:
    plans = [BASELINE, *(contender(f"plan {number}", number + 1.0, 0) for number in range(7))]
    table = compare_table(plans).sorted(Sorting("net"))
    assert keys_of(table) == ["nothing cut", *(f"plan {number}" for number in (6, 5, 4, 3, 2))]
    title = next(row for row in table.rows if row.key == PlanPurpose.LIMITS)
    assert title.words == "▸ limits on old results · 7 plans · 5 shown, ⏎ shows all"
    opened = compare_table(plans, opened=[PlanPurpose.LIMITS])
    assert len(keys_of(opened)) == 1 + 7


@pytest.mark.parametrize(
    ("specs", "purpose"),
    [
        (["tiered-stale"], PlanPurpose.LIMITS),
        (["keep-recent"], PlanPurpose.NEWEST),
        (["cap-at-insertion"], PlanPurpose.ARRIVAL),
        (["cap-at-insertion", "token-budget"], PlanPurpose.LIMITS),
        (["dcp-dedupe", "dcp-purge-errors"], PlanPurpose.REPEATS),
        (["pi-truncate", "pi-compaction"], PlanPurpose.SUMMARIES),
    ],
)
def test_a_plan_is_in_the_group_of_its_most_far_reaching_strategy(specs: list[str], purpose: PlanPurpose) -> None:
    assert PlanPurpose.of(Plan.from_specs(specs)) is purpose


def test_what_the_agent_can_apply_comes_first_in_its_group() -> None:
    answer = answer_for("claude-code", Plan.from_specs(["trim-at-insertion"]))
    assert answer.is_whole
    can = replace(contender("can", 1.0, 0), answer=answer)
    table = compare_table([BASELINE, contender("more", 5.0, 0), can]).sorted(Sorting("net"))
    assert keys_of(table) == ["nothing cut", "can", "more"]


def test_a_plan_that_drops_text_is_not_measured_and_never_green_although_its_saving_is_large() -> None:
    window, sound = dropping_text(contender("window", 6.0, 0)), contender("sound", 4.0, 0)
    rows = {row.key: row.cells for row in compare_table([BASELINE, window, sound], "sound").rows}
    assert rows["window"]["needed"].text == "not measured"
    assert (rows["window"]["net"].style, rows["window"]["saved"].style) == ("", "")
    assert rows["sound"]["needed"].text == "0"
    assert (rows["sound"]["net"].style, rows["sound"]["saved"].style) == ("table--saved", "table--saved")
    found = dropping_text(contender("window", 6.0, 3))
    assert compare_table([BASELINE, found]).rows[-1].cells["needed"].text == "≥ 3"
    assert dict(about(found, None))["risks"] == "re-fetches not measured; 3 later calls needed cut text"


def test_a_saving_is_green_only_if_its_whole_net_range_is_positive() -> None:
    # $5.00 saved, 60 re-fetches at a dime: net -$1.00 at worst, $2.00 at best.
    unsure = contender("unsure", 5.0, 60)
    cells = compare_table([BASELINE, unsure]).rows[-1].cells
    assert (cells["net"].style, cells["saved"].style) == ("table--lost", "")


def test_the_agents_own_plan_is_the_headline_and_the_best_for_other_code_comes_second() -> None:
    best = applied_by_agent(contender("best", 5.0, 12), is_whole=False)
    own = applied_by_agent(contender("own settings", 2.0, 1), is_whole=True)
    plans = [BASELINE, best, own]
    lines = headlines(plans, 0)
    assert recommended_of(plans) is own
    assert lines[0].text == (
        "✓ best plan Claude Code can apply saves net $1.90 to $1.95 with own settings, "
        "after about 1 re-fetch (0 to 1); $2.00 (20 %) gross"
    )
    assert lines[0].key.startswith("* uses ◆,")
    assert lines[1].text.startswith("★ best plan saves net $3.80 to $4.40 with best,")
    # Without a plan of the agent's own the best one leads, and without any there is nothing to change.
    assert headlines([BASELINE, best], 0)[0].text.startswith("★ best plan, also the safest, saves")
    assert headlines([BASELINE, best], 0)[-1].short == "Claude Code can apply no recommended plan"
    assert [each.short for each in headlines([BASELINE], 0)] == ["nothing worth changing here"]
    assert recommended_of([BASELINE, best]) is best
    assert recommended_of([BASELINE]) is None
