"""Commands, keys, parameters, links and file names in the documents are correct."""

import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from inspector.cli.commands import COMMANDS, command_parser, find_command, screen_parser
from inspector.cli.help import ALIASES, page_text, pages
from inspector.replay.pricing.price_tables import read_price_file
from inspector.session.registry import all_formats
from inspector.strategies.plan import Plan
from inspector.strategies.registry import STRATEGIES
from tests.program import run_here, run_program
from tests.ui.waiting import use_in_textual

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "sample_sessions" / "README.md"])
CODE = re.compile(r"(?:^ {4}.*\n(?:\n+(?= {4}))?)+", re.MULTILINE)


def identifier(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def lines_of_code(path: Path) -> list[str]:
    blocks = CODE.findall(path.read_text(encoding="utf-8"))
    return [line.strip() for block in blocks for line in block.splitlines()]


def inspector_lines() -> list[tuple[str, list[str]]]:
    """Every command line in the documents that runs the program, split as a shell does."""
    found = []
    for path in DOCUMENTS:
        for line in lines_of_code(path):
            last = line.split("&&")[-1].strip()
            last = last.removeprefix("$ ")
            words = shlex.split(last, comments=True) if re.match(r"\S*\binspector( |$)", last) else []
            if words:
                found.append((f"{identifier(path)}: {line}", words[1:]))
    return found


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The folder of scripts, as when one of them is run."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    yield
    for name in ("update_docs", "outputs", "miss_causes", "keys", "running", "man_page"):
        sys.modules.pop(name, None)


def test_what_the_program_knows_itself_is_current(scripts: None, monkeypatch: pytest.MonkeyPatch) -> None:
    import outputs
    import update_docs

    def printed(command: str) -> tuple[str, ...]:
        outcome = run_program(*shlex.split(command), cwd=ROOT, env={"TZ": "UTC"})
        return tuple(outcome.out.rstrip("\n").split("\n"))

    monkeypatch.setattr(outputs, "printed", cache(printed))
    use_in_textual(monkeypatch)  # a few frames a second
    for path in update_docs.FILES:
        text = path.read_text(encoding="utf-8")
        assert update_docs.current(text) == text, f"{identifier(path)}: run python scripts/update_docs.py"


def test_the_man_page_says_what_the_program_says(scripts: None) -> None:
    import man_page

    assert man_page.MAN_PAGE.read_text(encoding="utf-8") == man_page.man_page(), "run python scripts/man_page.py"


def test_every_page_is_in_the_index_and_shown_as_help() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    named = re.findall(r"^- \[[^\]]+\]\(([a-z/-]+)\.md\)", index, re.MULTILINE)
    there = {path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert set(named) == there - {"index"}
    assert [page.path for page in pages()] == named
    assert len({page.name for page in pages()}) == len(named)


def test_pages_of_subfolders_are_installed() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    wheel = build["wheel"]
    assert wheel["sources"]["docs"] == "inspector/docs"
    assert "docs/**/*.md" in wheel["include"]


USER_PAGES = [path for path in (ROOT / "docs").rglob("*.md") if "development" not in path.parts]
MOST_PAGES, MOST_WORDS, MOST_WORDS_FOR_USERS = 19, 47_300, 29_500


def test_pages_are_few_and_short() -> None:
    assert len(USER_PAGES) <= MOST_PAGES
    words = {path: len(path.read_text(encoding="utf-8").split()) for path in (ROOT / "docs").rglob("*.md")}
    assert sum(words.values()) <= MOST_WORDS
    assert sum(words[path] for path in USER_PAGES) <= MOST_WORDS_FOR_USERS


@pytest.mark.parametrize("path", USER_PAGES, ids=identifier)
def test_a_page_for_users_begins_with_an_example(path: Path) -> None:
    beginning = "".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[:15])
    assert CODE.search(beginning) or "```" in beginning or "![" in beginning


@pytest.mark.parametrize("alias", ALIASES)
def test_an_old_name_of_a_page_shows_its_section(alias: str) -> None:
    name, _, anchor = ALIASES[alias].partition("#")
    (path,) = (page.path for page in pages() if page.name == name)
    whole = (ROOT / "docs" / f"{path}.md").read_text(encoding="utf-8")
    shown = page_text(alias)
    assert shown is not None
    assert shown in whole
    assert (shown != whole) == bool(anchor)


def test_the_help_of_a_command_names_the_page_of_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert "inspector help tune.md" in run_here(capsys, "help", "tune").out
    assert run_here(capsys, "help", "tune.md").out.startswith("# Tune")
    assert run_here(capsys, "help", "hook.md").out.startswith("## The hook")


@pytest.mark.parametrize(
    ("topic", "said"),
    [
        ("report", "--strategy"),
        ("settings", "## Settings"),
        ("insertion", "# Strategies at insertion"),
        ("benchmarks", "python -m benchmarks"),
        ("tiered-stale", "confirmation"),
        ("careful", "careful"),
        ("inspector", "--last"),
    ],
)
def test_a_topic_is_a_command_a_page_a_strategy_or_a_plan(
    topic: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = run_here(capsys, "help", topic)
    assert outcome.code == 0
    assert said in outcome.out


def test_a_topic_that_is_none_is_reported_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = run_here(capsys, "help", "setings")
    assert outcome.code == 2
    assert "did you mean settings?" in outcome.complaint


def test_every_topic_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = run_here(capsys, "help")
    assert all(f"  {name} " in outcome.out for name in (*COMMANDS, *(page.name for page in pages())))


def test_the_page_of_commands_names_every_command() -> None:
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"`inspector {name}`" not in text] == []


def test_the_readme_sets_up_everything_in_one_line_for_each_of_two_jobs() -> None:
    commands = [
        line for line in lines_of_code(README) if line.startswith("python3 -m venv .venv && .venv/bin/pip install")
    ]
    assert [command.split("&& ")[-1] for command in commands] == [".venv/bin/inspector demo", ".venv/bin/pytest"]


@pytest.mark.parametrize(("where", "words"), inspector_lines())
def test_a_documented_command_line_is_understood(where: str, words: list[str]) -> None:
    command, rest = find_command(words)
    options = (command_parser(command) if command else screen_parser()).parse_args(rest)
    for specification in getattr(options, "strategy", None) or []:
        Plan.from_specs([part.strip() for part in specification.split(" + ")])


def test_a_command_with_arguments_named_in_a_sentence_is_understood() -> None:
    found = 0
    for path in DOCUMENTS:
        if path.name == "CHANGELOG.md":
            continue  # notes on an earlier version stay
        text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for named in re.findall(r"`inspector(\s[^`]+)`", text):
            command, rest = find_command(shlex.split(named))
            if rest and rest[-1] not in ("--help", "--version"):
                (command_parser(command) if command else screen_parser()).parse_args(rest)
                found += 1
    assert found > 12


@pytest.mark.parametrize("path", DOCUMENTS, ids=identifier)
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?://)([^)]+)\)", text):
        name, _, heading = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        assert file.exists(), target
        if heading:
            headings = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in [each.lower().replace(" ", "-") for each in headings], target


@pytest.mark.parametrize("path", DOCUMENTS, ids=identifier)
def test_files_and_folders_named_in_code_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    named = re.findall(r"`((?:inspector|tests|scripts|docs|sample_sessions|benchmarks)/[\w./-]*)`", text)
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_format_has_a_section_of_its_own() -> None:
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    sections = re.findall(r"^### ([a-z0-9-]+)$", text, re.MULTILINE)
    assert sorted(sections) == sorted(known.name for known in all_formats())


def test_every_strategy_has_a_section_of_its_own() -> None:
    pages_of_families = (ROOT / "docs" / "strategies").glob("*.md")
    text = "".join(path.read_text(encoding="utf-8") for path in pages_of_families)
    assert sorted(re.findall(r"^## ([a-z0-9-]+)$", text, re.MULTILINE)) == sorted(STRATEGIES)


def test_the_plan_in_the_documents_is_a_plan() -> None:
    text = (ROOT / "docs" / "strategies.md").read_text(encoding="utf-8")
    (block,) = [block for block in CODE.findall(text) if "[[strategies]]" in block]
    assert Plan.from_toml(re.sub(r"^ {4}", "", block, flags=re.MULTILINE)).name == "mine"


def test_the_price_file_in_the_documents_is_one(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")
    (block,) = [block for block in CODE.findall(text) if "[aliases]" in block]
    file = tmp_path / "prices.toml"
    file.write_text(re.sub(r"^ {4}", "", block, flags=re.MULTILINE), encoding="utf-8")
    assert read_price_file(file).factor == tomllib.loads(file.read_text(encoding="utf-8"))["factor"]


def test_the_pictures_fetch_nothing() -> None:
    for path in (ROOT / "docs").glob("*.svg"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"@import|@font-face|(?:href|src)\s*=|url\((?!#)", text), path
