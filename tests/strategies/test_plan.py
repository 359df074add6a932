import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from inspector.strategies.core.parameters import ParameterKind
from inspector.strategies.library.old_results import TieredStale
from inspector.strategies.plan import Plan, PlanEntry, PlanError
from inspector.strategies.registry import STRATEGIES, strategy, value_of, with_value
from tests.strategies.conversations import session_of, steps

writable_text = some.text(some.characters(exclude_categories=["Cs"]), max_size=20)


@some.composite
def made_strategies(draw):
    kind = STRATEGIES[draw(some.sampled_from(sorted(STRATEGIES)))]
    values = {}
    for parameter in kind.parameters:
        if draw(some.booleans()):
            values[parameter.field] = draw(values_of(parameter))
    return kind(**values)


def values_of(parameter):
    low = parameter.minimum if parameter.minimum is not None else -(10**9)
    high = parameter.maximum if parameter.maximum is not None else 10**9
    match parameter.kind:
        case ParameterKind.WHOLE_NUMBER:
            return some.integers(int(low), int(high))
        case ParameterKind.NUMBER:
            return some.floats(low, high)
        case ParameterKind.SWITCH:
            return some.booleans()
        case ParameterKind.CHOICE:
            return some.sampled_from(parameter.choices)
        case ParameterKind.TEXT:
            # Some are templates, in which a brace of one's own is written twice.
            return writable_text.map(lambda text: text.replace("{", "{{").replace("}", "}}"))
        case ParameterKind.TOOLS:
            return some.lists(writable_text, max_size=4).map(tuple)


plans = some.builds(
    Plan,
    some.lists(some.builds(PlanEntry, made_strategies(), some.booleans()), max_size=4).map(tuple),
    writable_text,
)


@given(plans)
@example(Plan.of(TieredStale(confirmation_tools=("a+b", "", 'c"d', " e "), marker='"x", a=b+c\\\n'), name="n"))
def test_a_plan_reads_back_from_toml_as_it_was_written(plan):
    assert Plan.from_toml(plan.to_toml()) == plan


@given(plans)
@example(Plan.of(TieredStale(confirmation_tools=("a+b", "", 'c"d', " e ", "a,b"), marker='"x", a=b+c\\\n')))
@example(Plan.of(TieredStale(confirmation_tools=("",), marker="")))
def test_a_plan_reads_back_from_its_one_line_form_as_it_was_written(plan):
    assert Plan.from_specs(plan.to_specs()).entries == plan.entries
    assert all("\n" not in spec for spec in plan.to_specs())


def test_the_one_line_form_names_only_what_differs_from_the_defaults():
    plan = Plan.of(TieredStale(confirmation=100, data_tools=("query", "fetch")), TieredStale()).toggled(1)
    assert plan.to_specs() == ["tiered-stale:confirmation=100,data-tools=query+fetch", "tiered-stale:enabled=false"]


def test_toml_names_every_value():
    table = Plan.of(TieredStale(), name="mine").to_toml()
    for parameter in TieredStale.parameters:
        assert f"\n{parameter.name} = " in table
    assert table.startswith('name = "mine"\n')


def test_a_specification_may_have_blanks_and_underscores_in_numbers():
    assert Plan.from_specs([" tiered-stale : data = 1_000 , never-longer = yes "]) == Plan.of(
        TieredStale(data=1000, never_longer=True)
    )


def test_unnamed_values_take_the_defaults_that_fit_a_session():
    session = session_of(steps(1, tool="Read"))
    fitted = Plan.from_specs(["tiered-stale:data=200"], session=session)
    assert fitted.strategies == (TieredStale(data=200, tool_set="coding", lists=True),)
    assert (
        Plan.from_specs(["tiered-stale:tool-set=document"], session=session).strategies[0].tier_of("Read") == "default"
    )


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("tierd-stale", "unknown strategy 'tierd-stale'; did you mean 'tiered-stale'?"),
        ("tiered-stale:confirmtion=1", "tiered-stale has no parameter 'confirmtion'; did you mean 'confirmation'?"),
        (
            "tiered-stale:confirmation=-5",
            "tiered-stale: confirmation: -5 is not allowed; it takes 0 to 100,000 characters (default 150)",
        ),
        (
            "tiered-stale:confirmation=lots",
            "tiered-stale: confirmation: 'lots' is not a whole number; it takes 0 to 100,000 characters",
        ),
        ("tiered-stale:variant=released", "one of document, shipped"),
        ("tiered-stale:lists=maybe", "tiered-stale: lists: 'maybe' is not a switch; it takes true or false"),
        ("tiered-stale:data", "tiered-stale: 'data' is not of the form parameter=value"),
        ("tiered-stale:data=1,data=2", "tiered-stale: data is given twice"),
        ("tiered-stale:enabled=perhaps", "tiered-stale: enabled: 'perhaps' is not allowed"),
        ('tiered-stale:marker="cut', 'tiered-stale: marker: "cut is not a quoted text'),
        ("", "names no strategy"),
        (":data=1", "names no strategy"),
    ],
)
def test_a_bad_specification_says_what_is_wrong_and_what_is_allowed(spec, message):
    with pytest.raises(PlanError) as caught:
        Plan.from_specs([spec])
    assert message in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("[[strategies]\n", "the plan is not valid TOML"),
        (
            '[[strategies]]\nname = "tiered-stale"\ndata = "4"\n',
            "tiered-stale: data: '4' is not allowed; it takes 0 to",
        ),
        ('[[strategies]]\nname = "tiered-stale"\ndata = true\n', "tiered-stale: data: True is not allowed"),
        ('[[strategies]]\nname = "tiered-stale"\ndatum = 4\n', "has no parameter 'datum'; did you mean 'data'?"),
        ('[[strategies]]\nname = "tiered-stale"\nenabled = 1\n', "enabled: 1 is not allowed"),
        ('[[strategies]]\nname = "stale"\n', "unknown strategy 'stale'; did you mean 'tiered-stale'?"),
        ("[[strategies]]\ndata = 4\n", "strategy 1 of the plan has no name"),
        ('[[strategy]]\nname = "x"\n', "a plan has no key 'strategy'; did you mean 'strategies'?"),
        ("strategies = 3\n", "[[strategies]]"),
        ("name = 3\n", "name: 3 is not allowed"),
        (
            '[[strategies]]\nname = "tiered-stale"\ndata-tools = "x"\n',
            "data-tools: 'x' is not allowed; it takes tool names",
        ),
        ('[[strategies]]\nname = "tiered-stale"\ndata-tools = [1]\n', "data-tools: (1,) is not allowed"),
    ],
)
def test_a_bad_plan_file_says_what_is_wrong_and_what_is_allowed(toml, message):
    with pytest.raises(PlanError) as caught:
        Plan.from_toml(toml)
    assert message in caught.value.message


def test_editing_a_plan_makes_another_plan():
    first, second = TieredStale(data=1), TieredStale(data=2)
    plan = Plan.of(first).added(second)
    assert plan.strategies == (first, second)
    assert plan.moved(0, 1).strategies == (second, first)
    assert plan.toggled(0).strategies == (second,)
    assert plan.toggled(0).toggled(0) == plan
    assert plan.removed(0).strategies == (second,)
    third = with_value(second, "data", 3)
    assert plan.toggled(1).with_strategy(1, third).entries[1] == PlanEntry(third, enabled=False)
    assert plan.strategies == (first, second)
    assert Plan().strategies == ()


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_every_strategy_describes_itself_and_all_of_its_values(name):
    made = strategy(name)
    assert made.title
    assert made.source
    assert made.summary.endswith(".")
    assert len({parameter.name for parameter in made.parameters}) == len(made.parameters)
    for parameter in made.parameters:
        assert parameter.name not in ("name", "enabled")
        assert parameter.help.endswith(".")
        assert len(parameter.help) <= 74, "the Tune pane shows one line of 74 characters at 80 columns"
        assert value_of(made, parameter) == parameter.default
        assert with_value(made, parameter.name, parameter.default) == made
