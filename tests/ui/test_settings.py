import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.cli.help import section
from inspector.settings import Settings, load_settings, save_setting, settings_path, with_line
from inspector.ui.all_actions import problems_with_keymap
from inspector.ui.controller.saved_state import state_path


def test_no_file_means_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"

    assert load_settings(path) == Settings(path=path)


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text('theme = "light"\nruns_per_day = 3\nlog_scale = true\n[keymap]\n"plan.undo" = "f5"\n')

    settings = load_settings(path)

    assert (settings.theme, settings.runs_per_day, settings.log_scale) == ("light", 3, True)
    assert settings.keymap == {"plan.undo": "f5"}
    assert not settings.problems


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("runs_per_day = -1", "runs_per_day"),
        ("runs_per_day = true", "runs_per_day"),
        ("theme = 4", "theme"),
        ("log_scale = 1", "log_scale"),
        ("keymap = 1", "keymap"),
        ("colour = 'red'", "colour"),
        ("theme = ", "settings.toml"),
        ("\x00", "settings.toml"),
    ],
)
def test_what_is_wrong_is_named_and_the_rest_is_used(tmp_path: Path, text: str, named: str) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(text)

    settings = load_settings(path)

    assert named in settings.problems[0]
    assert (settings.theme, settings.runs_per_day) == ("dark", 1)


def test_bytes_that_are_no_text_are_a_problem_not_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_bytes(b"\xff\xfe\x00")

    assert load_settings(path).problems


def test_a_changed_setting_leaves_the_rest_of_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text('# mine\ntheme = "dark"  # at night\n\n[keymap]\n"plan.undo" = "f5"  # runs_per_day = 3\n')
    settings = load_settings(path)

    settings = save_setting(settings, "runs_per_day", 100)
    settings = save_setting(settings, "theme", "light")

    text = path.read_text()
    assert text.startswith("# mine\n")
    assert "# at night" in text
    assert "# runs_per_day = 3" in text
    assert load_settings(path) == settings


def test_a_file_that_cannot_be_read_is_never_written(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("theme = \n")

    changed = save_setting(load_settings(path), "theme", "light")

    assert changed.theme == "light"
    assert path.read_text() == "theme = \n"


texts = st.sampled_from(
    [
        "",
        "# a comment\n",
        'theme = "dark"\n',
        'theme="nord" # dark\nruns_per_day = 2',
        "[keymap]\n",
        '\n\n[keymap]\na = "b"\n',
    ]
)


@given(texts, st.floats(0.5, 1e6), st.booleans(), st.sampled_from(["dark", "light", "ansi"]))
def test_any_change_can_be_read_back(text: str, runs: float, scale: bool, theme: str) -> None:
    for name, value in (("runs_per_day", round(runs)), ("log_scale", scale), ("theme", theme)):
        text = with_line(text, name, value)

    table = tomllib.loads(text)
    assert (table["runs_per_day"], table["log_scale"], table["theme"]) == (round(runs), scale, theme)


def test_settings_and_state_are_where_the_platform_wants_them(private_home: Path, tmp_path: Path) -> None:
    assert private_home in settings_path().parents
    assert private_home in state_path(tmp_path / "session.jsonl").parents


def test_a_name_nearly_right_is_suggested(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("theem = 'light'\n")

    assert "did you mean theme?" in load_settings(path).problems[0]


@pytest.mark.parametrize(
    ("keymap", "told"),
    [
        ({"plan.undo": "f7"}, ""),
        ({"plan.undo": "?"}, "app.help"),
        ({"plan.undoo": "u"}, "did you mean plan.undo?"),
        ({"plan.undo": "ctrl+"}, "is not a key"),
        ({"plan.undo": "hyperspace"}, "is not a key"),
        ({"plan.undo": "a"}, "plan.swap"),
        ({"plan.undo": "a", "plan.swap": "f5"}, ""),
        ({"plan.undo": "f5, question_mark", "app.help": "f1"}, ""),
    ],
)
def test_what_is_wrong_with_a_keymap_is_reported(keymap: dict[str, str], told: str) -> None:
    problems = problems_with_keymap(keymap)

    assert bool(problems) == bool(told)
    assert told in "".join(problems)


async def test_a_keymap_that_does_nothing_is_reported_on_the_screen(running, session_file) -> None:
    async with running(session_file.path, settings=Settings(keymap={"plan.undoo": "u"})) as run:
        await run.until(lambda: any("did you mean plan.undo?" in toast for toast in run.toasts))


def test_the_file_in_the_documents_is_one(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
    text = section(page, "settings")
    path = tmp_path / "settings.toml"
    path.write_text("\n".join(line[4:] for line in text.splitlines() if line.startswith("    ")), encoding="utf-8")

    settings = load_settings(path)

    assert not settings.problems
    assert settings.theme == "contrast"
    assert not problems_with_keymap(settings.keymap)
