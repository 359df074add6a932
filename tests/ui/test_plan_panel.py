import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from inspector.replay.analysis.sweep import LimitSizes, sizes_for
from inspector.report.numbers import MINUS
from inspector.strategies.core.parameters import Parameter, ParameterKind, ValueScale
from inspector.strategies.plan import Plan
from inspector.strategies.registry import STRATEGIES
from inspector.ui.plan.choices import tool_choices, with_tools
from inspector.ui.plan.limits import (
    DEFAULT,
    KNOB,
    KNOB_BEYOND,
    MARK,
    Effect,
    KnobHold,
    LimitTrack,
    counts_sizes,
    hint_lines,
    histogram,
    name_row,
    number_text,
    range_of,
    risk_lines,
    shape_of,
    sizes_row,
    track_row,
    value_text,
)
from inspector.ui.plan.results import setting_rows

limits = st.builds(
    lambda default, reach, logarithmic: Parameter(
        "keep", ParameterKind.WHOLE_NUMBER, default, "How many.", "characters", 0, reach, logarithmic=logarithmic
    ),
    st.integers(0, 500),
    st.integers(500, 10_000_000),
    st.booleans(),
)
tracks = st.builds(
    lambda end, logarithmic, cells: LimitTrack(ValueScale(0, end, logarithmic), cells),
    st.integers(1, 1_000_000),
    st.booleans(),
    st.integers(2, 80),
)


@given(limits, st.integers(1, 20_000_000))
def test_a_range_ends_a_little_above_the_largest_result_and_never_beyond_what_is_allowed(
    limit: Parameter, largest: int
) -> None:
    scale = range_of(limit, 0, largest)

    assert scale.minimum == limit.minimum
    assert limit.maximum is not None
    assert scale.maximum <= limit.maximum
    if scale.maximum < limit.maximum:
        assert largest < scale.maximum <= max(largest * 1.2, largest + 2)


@given(limits, st.integers(1, 20_000_000), st.integers(1, 20_000_000))
def test_a_larger_result_never_makes_a_range_shorter(limit: Parameter, one: int, other: int) -> None:
    low, high = sorted((one, other))

    assert range_of(limit, 0, low).maximum <= range_of(limit, 0, high).maximum


def test_a_range_ends_at_a_round_number_and_takes_every_value_where_no_result_is_known() -> None:
    limit = Parameter("keep", ParameterKind.WHOLE_NUMBER, 400, "How many.", "characters", 0, 100_000, logarithmic=True)

    assert [range_of(limit, 400, largest).maximum for largest in (3, 53, 2_841, 94_000, 99_999)] == [
        4,
        56,
        3_000,
        99_000,
        100_000,
    ]
    assert range_of(limit, 400, None).maximum == 100_000


@given(tracks, st.integers(0, 1_200_000), st.integers(0, 1_200_000))
def test_a_larger_value_never_is_further_left(track: LimitTrack, one: int, other: int) -> None:
    low, high = sorted((one, other))

    assert 0 <= track.cell(low) <= track.cell(high) <= track.cells - 1


@given(tracks, st.integers(0, 79))
def test_the_value_of_a_cell_is_on_it_where_whole_numbers_are_close_enough(track: LimitTrack, cell: int) -> None:
    cell = min(cell, track.cells - 1)
    value = track.value(cell)
    fraction = track.scale.fraction
    apart = max(abs(fraction(value + step) - fraction(value)) for step in (-1, 1)) * (track.cells - 1)

    assert abs(track.cell(value) - cell) <= (apart + 1 if apart > 0.1 else 0.6)


@given(tracks, st.integers(0, 1_200_000), st.booleans())
def test_steps_end_where_the_line_does_and_lead_back_to_it_from_beyond(
    track: LimitTrack, value: int, coarse: bool
) -> None:
    up, down = (track.stepped(value, steps, coarse=coarse) for steps in (1, -1))

    if track.is_beyond(value):
        assert (up, down) == (value, track.scale.maximum)
    else:
        assert down <= value <= up <= track.scale.maximum
        assert up > value or value == track.scale.maximum


@given(tracks, st.integers(0, 1_200_000), st.integers(-20, 100), st.integers(-20, 100))
def test_the_mouse_on_the_knob_changes_nothing_until_it_moves_and_back_there_nothing_again(
    track: LimitTrack, value: int, elsewhere: int, rested: int
) -> None:
    hold = KnobHold.taken(track, value, track.cell(value))

    assert hold.value(track.cell(value)) == value
    there = hold.value(elsewhere)
    assert there == value or 0 <= there <= track.scale.maximum
    assert hold.resting(rested, 7).value(rested) == 7


@given(tracks, st.lists(st.integers(0, 1_200_000), max_size=50), st.integers(0, 1_200_000))
def test_a_histogram_has_a_glyph_a_cell_and_shows_every_size_where_the_limit_would_be(
    track: LimitTrack, sizes: list[int], limit: int
) -> None:
    bars = histogram(LimitSizes(np.array(sizes, dtype=np.int64), "result"), track)

    assert len(bars) == track.cells
    assert {cell for cell, glyph in enumerate(bars) if glyph != " "} == {track.cell(size) for size in sizes}
    row = sizes_row(bars, track.cell(limit))
    assert "".join(text for text, _ in row) == bars[: track.cell(limit)] + MARK + bars[track.cell(limit) + 1 :]


@given(tracks, st.integers(0, 1_200_000), st.integers(0, 1_200_000), st.booleans())
def test_a_line_is_as_wide_as_it_may_be_with_its_knob_where_the_value_is(
    track: LimitTrack, value: int, default: int, is_moving: bool
) -> None:
    text = "".join(piece for piece, _ in track_row(track, value, default, is_moving=is_moving))

    assert len(text) == track.cells
    assert text[track.cell(value)] == (KNOB_BEYOND if track.is_beyond(value) else KNOB)


def test_while_it_is_moved_the_value_is_next_to_the_knob_on_the_side_with_room() -> None:
    track = LimitTrack(ValueScale(0, 100), 21)

    def drawn(value: float, *, is_moving: bool = True) -> str:
        return "".join(piece for piece, _ in track_row(track, value, 50, is_moving=is_moving))

    assert drawn(20) == "━━━━● 20 ─┼──────────"
    assert drawn(90) == "━━━━━━━━━━━━━━ 90 ●──"
    assert drawn(20, is_moving=False) == "━━━━●─────┼──────────"
    assert drawn(5_000, is_moving=False) == "━━━━━━━━ beyond 100 ▶"
    assert DEFAULT not in drawn(90)


labels = st.text(st.characters(min_codepoint=97, max_codepoint=122), min_size=1, max_size=24)


@given(labels, st.integers(0, 9_999), st.integers(0, 10_000_000), st.integers(24, 60))
def test_the_line_of_a_name_is_as_wide_as_the_panel_and_always_shows_the_value(
    label: str, touched: int, value: int, width: int
) -> None:
    effect = Effect("many", "+191k tokens", f"{touched:,} of 9,999")

    pieces = name_row(f"  {label}", effect, (number_text(value), "parameter--value"), width)

    assert sum(len(text) for text, _ in pieces) == width
    assert pieces[-1][0].strip() == number_text(value)
    assert pieces[0][0].strip()


def test_a_value_has_a_short_unit_unless_the_name_of_its_limit_has_it() -> None:
    assert value_text(150, "characters", "confirmation") == "150 chars"
    assert value_text(50_000, "tokens", "result-budget") == "50,000 tokens"
    assert value_text(20, "messages", "keep-messages") == "20"
    assert value_text(0.7, "", "threshold") == "0.7"


def test_what_a_limit_does_is_reported_as_fully_as_there_is_room_for() -> None:
    effect = Effect("20 of 53 results", "+21k tokens", "20 of 53")

    assert [effect.within(width) for width in (20, 18, 16, 15, 13, 8, 5, 3)] == [
        "20 of 53 +21k tokens",
        "20/53 +21k tokens",
        "20/53 +21k tok",
        "20/53 +21k tok",
        "+21k tokens",
        "+21k tok",
        "+21k",
        "",
    ]


@given(st.lists(labels, max_size=6), st.integers(30, 60), st.integers(0, 4))
def test_risks_never_take_more_room_than_is_kept_for_them(risks: list[str], width: int, rows: int) -> None:
    lines = risk_lines(risks, width, rows)

    assert len(lines) == min(len(risks), rows)
    assert all(len(line) <= width for line in lines)


def test_the_last_line_of_risks_says_how_many_more_there_are_and_where_they_are() -> None:
    risks = ["13 later calls needed cut text", "never applied", "first request no longer sent"]

    assert risk_lines(risks[:1], 40, 1) == ["! 13 later calls needed cut text · g r"]
    assert risk_lines(risks, 40, 2) == ["! 13 later calls needed cut text", "! never applied · ! 1 more · g r"]
    assert risk_lines(risks, 36, 1) == ["! 13 later calls needed cut…, 2 more"]
    assert risk_lines(risks, 30, 1) == ["! 13 later calls need…, 2 more"]
    assert risk_lines([], 36, 1) == []


def test_a_row_that_risks_leave_says_what_needed_means_if_all_of_that_fits() -> None:
    (risk,) = risks = ["13 later calls needed cut text"]

    assert risk_lines(risks, 44, 2)[1:] == ["needed: a later call used text that was cut"]
    assert risk_lines(risks, 38, 2)[1:] == ["needed: a later call used cut text"]
    assert risk_lines(risks, 33, 2)[1:] == []
    assert risk_lines([risk, "never applied"], 44, 2)[1:] == ["! never applied · g r"]
    assert risk_lines(["never applied"], 44, 2)[1:] == []


def test_a_hint_that_is_too_long_ends_in_a_sign() -> None:
    assert hint_lines(["one two three four five"], 9, 2) == ["one two", "three …"]
    assert hint_lines(["one two"], 9, 2) == ["one two"]
    assert hint_lines(["one two"], 0, 2) == []


def test_every_limit_that_has_sizes_keeps_a_line_for_them() -> None:
    for name in STRATEGIES:
        for parameter in STRATEGIES[name].parameters:
            if parameter.kind in (ParameterKind.WHOLE_NUMBER, ParameterKind.NUMBER) and not counts_sizes(parameter):
                assert sizes_for(None, STRATEGIES[name](), parameter) is None  # queries no session if there is none


def test_sizes_do_not_depend_on_limits_but_on_tiers() -> None:
    one, other = Plan.from_specs(["tiered-stale:data=40"]), Plan.from_specs(["tiered-stale:data=90,enabled=false"])
    third = Plan.from_specs(["tiered-stale:data-tools=Bash"])

    assert shape_of(one) == shape_of(other)
    assert shape_of(one) != shape_of(third)


async def test_nothing_moves_while_a_limit_is_dragged_and_what_it_comes_to_arrives(running, session_file) -> None:
    async with running(session_file.path, size=(80, 24)) as run:
        await run.press("p", "down")
        slider = run.slider("confirmation")
        await run.until(lambda: slider.has_sizes)
        place, taken, end = slider.place, [each.lines_taken for each in run.sliders()], slider.end
        header = next(line for line in run.lines() if " who " in line)
        assert " tokens " in header
        assert " change " in header

        await slider.press(10)
        await slider.drag_over(12, 3)
        await run.settled()
        value = run.plan.entries[0].strategy.confirmation
        assert f" {value} " in slider.text().split("\n")[1]
        await run.until(lambda: slider.has_effect and run.knows_needed and run.risks.lines())
        assert "! " in run.text()
        assert slider.place == place

        session_file.turn("x" * 60_000, "Edit")
        session_file.turn()
        await run.until(lambda: slider.largest == 60_000)
        await slider.drag_over(4)
        await run.settled()
        assert slider.end == end
        await slider.release(4)
        line, below = slider.text().split("\n")[1:]
        assert line.index("●") == below.index(MARK)
        assert ([each.lines_taken for each in run.sliders()], slider.place) == (taken, place)

        await run.press("ctrl+z")
        assert run.plan.entries[0].strategy.confirmation == 150
        await run.press("right")
        assert slider.end == 63_000


async def test_the_wheel_moves_a_limit_finely_where_it_has_the_focus_and_a_typed_value_goes_beyond(
    running, session_file
) -> None:
    async with running(session_file.path) as run:
        slider = run.slider("confirmation")
        await run.until(lambda: slider.has_sizes)
        await slider.turn_wheel(2)
        assert (slider.value, run.plan.entries[0].enabled) == (150, False)

        await run.press("p", "down")
        await slider.turn_wheel(2)
        assert slider.value == 170
        await slider.turn_wheel(-1)
        assert slider.value == 160

        await run.press(*"99000", "enter")
        assert slider.value == 99_000
        name, line, _ = slider.text().split("\n")
        assert name.endswith("99,000 chars")
        assert line.endswith(f" beyond {slider.end:,.0f} ▶")
        await run.press("left")
        assert slider.value == slider.end


async def test_what_the_other_plan_would_come_to_is_on_the_screen(running, session_file) -> None:
    async with running(session_file.path) as run:
        assert "switch to" not in run.text()
        await run.press("a", "1")
        # Plan B costs $0.44 more than nothing cut, because every cut near a cache breakpoint is paid with rewrites.
        more = run.replay.figures.cost_usd.value - run.baseline.figures.cost_usd.value
        assert more > 0
        await run.until_shown(f"switch to A: {MINUS}${more:.2f}")
        await run.tap("w", "d")
        await run.until_open("difference")
        assert "change to A" in run.text()
        await run.tap("a")
        await run.settled()
        run.open_plan()
        await run.until_shown(f"switch to B: +${more:.2f}")
        assert run.plan_letter == "A"


def test_plans_differ_in_values_order_and_what_only_one_has() -> None:
    one = Plan.from_specs(["tiered-stale:data=40", "clear-old"])
    other = Plan.from_specs(["tiered-stale:data=50,enabled=false", "token-budget"])

    rows = [(row.name, row.here, row.there) for row in setting_rows(one, other)]

    assert rows == [
        ("tiered-stale", "on", "off"),
        ("tiered-stale: data", "40 characters", "50 characters"),
        ("clear-old", "on", "·"),
        ("token-budget", "·", "on"),
    ]
    assert not setting_rows(one, one)


async def test_tools_are_put_into_a_tier_and_out_of_the_others(running, session_file) -> None:
    async with running(session_file.path) as run:
        strategy = run.plan.entries[0].strategy
        data, action = (
            next(each for each in strategy.parameters if each.name == name) for name in ("data-tools", "action-tools")
        )
        named = [choice.name for choice in tool_choices(run.history, strategy, data)]
        assert named
        moved = with_tools(with_tools(strategy, data, (named[0],)), action, (named[0],))
        assert (moved.data_tools, moved.action_tools) == ((), (named[0],))


async def test_the_tools_of_the_session_are_offered_and_others_can_be_typed(running, session_file) -> None:
    async with running(session_file.path) as run:
        run.edit_tools("data-tools")
        await run.until_open("tools")
        await run.tap("enter", *"zzz-tool", "enter", "ctrl+d")
        await run.settled()
        chosen = run.plan.entries[0].strategy.data_tools
        assert len(chosen) == 2
        assert chosen[1] == "zzz-tool"
