import re
import shlex

import pytest

from inspector.cli.arguments import plan_of
from inspector.cli.commands import COMMANDS, command_parser, find_command, screen_parser
from inspector.cli.output import CommandError, ExitCode
from inspector.fleet.session_tasks import PlanRequest
from inspector.strategies.plan import specs_of


@pytest.mark.parametrize("path", ["./report", "session.jsonl", "reports", "a/demo"])
def test_a_first_word_that_is_no_command_is_a_path(path: str):
    command, rest = find_command([path])

    assert command is None
    assert screen_parser().parse_args(rest).paths == [path]


def test_a_command_word_means_the_command_only_at_the_beginning():
    assert find_command(["report", "demo"])[0] is COMMANDS["report"]
    assert find_command(["x.jsonl", "report"])[0] is None
    assert find_command(["--no-color", "formats"])[0] is COMMANDS["formats"]


def test_after_two_hyphens_everything_is_a_path():
    command, rest = find_command(["--", "report", "--odd"])

    assert command is None
    assert screen_parser().parse_args(rest).paths == ["report", "--odd"]


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_every_example_in_the_help_parses_and_names_strategies_there_are(command):
    for example in command.examples:
        in_shell = re.search(r"\$\((.+)\)", example)
        words = shlex.split(in_shell[1] if in_shell else example)
        found, rest = find_command(words[1:])
        options = command_parser(command).parse_args(rest)

        assert found is command
        for request in getattr(options, "plans", ()):
            if not request.plan.endswith(".toml"):
                assert plan_of(request).strategies


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_help_of_every_command_shows_its_examples_and_fits_eighty_columns_but_for_them(command):
    text = command_parser(command).format_help()

    for example in command.examples:
        assert f"  {example}\n" in text
    assert [line for line in text.splitlines() if len(line) > 80 and line.strip() not in command.examples] == []


def test_the_main_help_lists_every_command_with_an_example():
    text = screen_parser().format_help()

    for command in COMMANDS.values():
        assert command.summary in text
        assert command.examples[0] in text


@pytest.mark.parametrize(
    ("text", "specs"),
    [
        ("tiered-stale", ["tiered-stale"]),
        ("a:x=1 + b", ["a:x=1", "b"]),
        ("a:tools=p+q + b", ["a:tools=p+q", "b"]),
        ('a:marker="one + two" + b', ['a:marker="one + two"', "b"]),
        (r'a:marker="say \" + " + b', [r'a:marker="say \" + "', "b"]),
    ],
)
def test_a_plus_between_blanks_joins_strategies_unless_it_is_quoted(text: str, specs: list[str]):
    assert specs_of(text) == specs


def test_plans_and_strategies_keep_the_order_they_were_given_in():
    options = command_parser(COMMANDS["report"]).parse_args(
        ["x", "--strategy", "b", "--plan", "a.toml", "--strategy=c"]
    )

    assert [(request.spec, request.plan) for request in options.plans] == [("b", ""), ("", "a.toml"), ("c", "")]


def test_a_wrong_value_is_wrong_usage_and_names_parameter_value_and_range():
    with pytest.raises(CommandError) as caught:
        plan_of(PlanRequest(spec="tiered-stale:data=-3"))

    assert caught.value.code == ExitCode.WRONG_USAGE
    for part in ("data", "-3", "0 to 100,000"):
        assert part in caught.value.message


@pytest.mark.parametrize("option", ["--strategy", "--plan"])
def test_a_plan_without_a_word_is_wrong_usage(option: str):
    with pytest.raises(CommandError) as raised:
        command_parser(COMMANDS["compact"]).parse_args(["session.jsonl", option, " "])
    assert raised.value.code == ExitCode.WRONG_USAGE
    assert option in raised.value.message
