"""Formats and strategies of other packages: the examples of the documentation, installed; broken packages."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from inspector import plug_ins
from inspector.session.registry import PLUG_INS as FORMATS
from inspector.strategies.presets import PRESETS
from inspector.strategies.registry import _HOMES, PLAN_NAMES
from tests.conftest import ROOT
from tests.forked_program import run_forked
from tests.program import Outcome

PAGE = ROOT / "docs" / "development" / "extending.md"
SAMPLE = ROOT / "sample_sessions" / "coding-agent.jsonl"


def files_of_page() -> dict[str, str]:
    """Return the code of the page by the file name before each block."""
    found = re.findall(r"`([\w./]+)`:\n\n```\w+\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert [name for name, _ in found] == ["pyproject.toml", "acme_inspector/log.py", "acme_inspector/edges.py"]
    return dict(found)


def install(folder: Path, files: dict[str, str], metadata: dict[str, Any]) -> None:
    """Write the files of a package and what tells of it, as pip installs them."""
    info = f"{metadata['name'].replace('-', '_')}-{metadata['version']}.dist-info"
    groups = metadata["entry-points"].items()
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in each.items()) for group, each in groups
    ]
    described = {
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".format_map(metadata),
        f"{info}/entry_points.txt": "\n".join(lines),
    }
    for name, text in (files | described).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def broken(name: str, code: str = "", **points: dict[str, str]) -> dict[str, Any]:
    """Return arguments of `install` for a package of one module."""
    module = name.replace("-", "_")
    groups = {f"inspector.{group}": each for group, each in points.items()}
    return {"files": {f"{module}.py": code}, "metadata": {"name": name, "version": "0.1", "entry-points": groups}}


def run(place: Path, *words: str | Path) -> Outcome:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((os.fspath(place), os.fspath(ROOT))),
        "HOME": os.fspath(place),
    }
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        environment.pop(name, None)
    done = run_forked([*map(os.fspath, words)], environment, os.fspath(place))
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode(), done.stdout)


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example package of the page."""
    folder = tmp_path_factory.mktemp("example") / "packages"
    files = files_of_page()
    metadata = tomllib.loads(files.pop("pyproject.toml"))["project"]
    install(folder, files, metadata)
    return folder


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "acme.jsonl"
    lines = [["user", "count to two"], ["assistant", "one, two"], ["user", "on"], ["assistant", "three"]]
    path.write_text("".join(json.dumps({"acme": line}) + "\n" for line in lines), encoding="utf-8")
    return path


def test_a_session_of_the_example_format_is_opened(example: Path, log: Path) -> None:
    done = run(example, "formats", "--json", log)
    assert done.code == 0, done.err
    session = json.loads(done.out)["sessions"][0]
    assert (session["format"], session["messages"], session["calls"]) == ("acme-log", 4, 2)
    assert session["reason"] == "its lines are Acme messages"
    report = run(example, "report", log, "--format", "json")
    assert json.loads(report.out)["session"]["format"] == "acme-log"


def test_the_example_strategy_is_replayed_and_its_parameters_are_checked(example: Path) -> None:
    done = run(example, "report", SAMPLE, "--strategy", "keep-edges:newest=1,edge=20", "--format", "json")
    assert done.code == 0, done.err
    plan = json.loads(done.out)["plans"][0]
    assert plan["edits"] > 0
    wrong = run(example, "report", SAMPLE, "--strategy", "keep-edges:newest=101")
    assert wrong.code == 2
    assert "newest" in wrong.err


def test_worker_processes_replay_the_example_strategy(example: Path, tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    for number in range(2):
        (folder / f"{number}.jsonl").write_bytes(SAMPLE.read_bytes())
    done = run(
        example, "report", folder, "--strategy", "keep-edges:newest=1,edge=20", "--format", "json", "--processes", "2"
    )
    assert done.code == 0, done.err


def test_listings_name_the_package(example: Path) -> None:
    assert re.search(r"package +acme-inspector 1\.0", run(example, "formats").out)
    listed = {each["name"]: each["package"] for each in json.loads(run(example, "formats", "--json").out)["formats"]}
    assert (listed["acme-log"], listed["claude-code"]) == ("acme-inspector 1.0", "")
    assert "Source: Acme's agent. Package: acme-inspector 1.0" in run(example, "strategies", "keep-edges").out
    every = {each["name"]: each["package"] for each in json.loads(run(example, "strategies", "--json").out)}
    assert (every["keep-edges"], every["keep-recent"]) == ("acme-inspector 1.0", "")
    doctor = " ".join(run(example, "doctor").out.split())
    assert "format acme-log of acme-inspector 1.0, strategy keep-edges of acme-inspector 1.0" in doctor


def test_a_record_the_format_fails_on_is_a_diagnostic_that_names_the_package(example: Path, log: Path) -> None:
    log.write_text(log.read_text(encoding="utf-8") + '{"acme": 5}\n', encoding="utf-8")
    session = json.loads(run(example, "formats", "--json", log).out)["sessions"][0]
    assert (session["messages"], session["skipped_records"]) == (4, 1)
    assert session["problems"][0]["problem"].startswith("format acme-log of acme-inspector 1.0: TypeError")


BROKEN = {
    "absent": "import no_such_module",
    "leaving": "raise SystemExit(3)",
    "other": "x = 5",
}


@pytest.fixture(scope="module")
def broken_packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("broken") / "packages"
    for name, code in BROKEN.items():
        points = {f"{name}-one": f"{name}:x"}
        install(folder, **broken(name, code, formats=points, strategies=points))
    install(
        folder, **broken("taking", "x = 5", formats={"claude-code": "taking:x"}, strategies={"careful": "taking:x"})
    )
    for name in ("first", "second"):
        install(folder, **broken(name, "x = 5", strategies={"twice": f"{name}:x"}))
    failing = files_of_page()["acme_inspector/edges.py"].replace(
        "builder = ", "raise ValueError('out of \\x1b[31mluck')\n        builder = "
    )
    failing = failing.replace('"keep-edges"', '"fails"').replace('"Keep edges"', '"Keep\\x1b[31m edges"')
    install(folder, **broken("failing", failing, strategies={"fails": "failing:KeepEdges"}))
    formats = (
        files_of_page()["acme_inspector/log.py"]
        .replace("acme-log", "blind")
        .replace('return "its', '1 / 0\n        return "its')
    )
    install(folder, **broken("blind", formats, formats={"blind": "blind:AcmeLog"}))
    return folder


def test_broken_packages_are_named_and_everything_else_works(broken_packages: Path) -> None:
    formats, strategies = run(broken_packages, "formats"), run(broken_packages, "strategies")
    assert formats.code == strategies.code == 0
    for kind, done in (("format", formats), ("strategy", strategies)):
        text = " ".join(done.out.split())
        assert f"{kind} absent-one of absent 0.1: ModuleNotFoundError: No module named 'no_such_module'" in text
        assert f"{kind} leaving-one of leaving 0.1: SystemExit: 3" in text
        assert f"{kind} other-one of other 0.1: other:x is not a subclass of" in text
    assert "claude-code of taking 0.1: the name is built in" in " ".join(formats.out.split())
    problems = json.loads(run(broken_packages, "formats", "--json").out)["plug_in_problems"]
    assert any("absent-one of absent 0.1: ModuleNotFoundError" in each for each in problems)
    assert any("claude-code of taking 0.1: the name is built in" in each for each in problems)
    text = " ".join(strategies.out.split())
    assert "strategy careful of taking 0.1: the name is built in" in text
    assert "strategy twice of first 0.1: second 0.1 has the same name" in text
    assert "strategy twice of second 0.1: first 0.1 has the same name" in text
    assert run(broken_packages, "report", SAMPLE, "--plan", "careful").code == 0
    doctor = run(broken_packages, "doctor")
    assert doctor.code == 3
    assert "absent-one of absent 0.1" in " ".join(doctor.out.split())


def test_a_plan_with_a_broken_strategy_says_which_package_and_why(broken_packages: Path) -> None:
    done = run(broken_packages, "report", SAMPLE, "--strategy", "absent-one")
    assert done.code == 2
    assert "strategy absent-one of absent 0.1: ModuleNotFoundError" in done.err


def test_a_strategy_that_fails_is_one_safe_line_and_is_left_out_of_comparisons(broken_packages: Path) -> None:
    done = run(broken_packages, "report", SAMPLE, "--strategy", "fails")
    assert done.code == 1
    assert "strategy fails of failing 0.1: ValueError: out of ␛[31mluck" in done.err
    assert len(done.err.splitlines()) == 1
    compared = run(broken_packages, "compare", SAMPLE, "--format", "json")
    assert compared.code == 0, compared.err
    names = {each["name"] for each in json.loads(compared.out)["plans"]}
    assert "fails" not in names
    assert "keep-recent" in names
    assert "strategy fails of failing 0.1: ValueError" in compared.err
    assert "\x1b" not in run(broken_packages, "strategies", "fails").out


def test_a_format_that_fails_to_recognize_leaves_the_file_to_others(broken_packages: Path, log: Path) -> None:
    chat = log.with_name("chat.json")
    chat.write_text('[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]', encoding="utf-8")
    assert run(broken_packages, "report", chat).code == 0
    done = run(broken_packages, "report", log)
    assert done.code == 1
    assert "format blind of blind 0.1: ZeroDivisionError" in done.err


def test_entry_points_are_not_read_for_built_in_names() -> None:
    code = (
        "import sys\n"
        "from inspector import plug_ins\n"
        "from inspector.session.open import open_session\n"
        "from inspector.session.registry import format_named\n"
        "from inspector.strategies.presets import PRESETS\n"
        "session = open_session(sys.argv[1])\n"
        "assert format_named(session.format)\n"
        "[each.plan(session) for each in PRESETS.values()]\n"
        "assert plug_ins.declared.cache_info().currsize == 0\n"
    )
    subprocess.run([sys.executable, "-c", code, SAMPLE], cwd=ROOT, check=True)


def test_a_plug_in_cannot_have_the_name_of_a_plan() -> None:
    assert set(PRESETS) - set(_HOMES) == PLAN_NAMES


def test_versions_change_with_the_code_of_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "changing_plug_in.py").write_text("x = 5\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    plug_in = plug_ins.PlugIn(plug_ins.FORMATS, "changing", "changing_plug_in:x", "changing", "1.0")
    monkeypatch.setattr(plug_ins, "declared", lambda: (plug_in,))
    before = plug_ins.versions.__wrapped__()
    (tmp_path / "changing_plug_in.py").write_text("x = 6\n", encoding="utf-8")
    after = plug_ins.versions.__wrapped__()
    assert [each.partition(" (")[0] for each in (*before, *after)] == ["changing 1.0"] * 2
    assert before != after
    assert FORMATS.plug_in("changing") is None
