"""Release contents that can be checked without a build; `.ci/run` builds and checks the rest."""

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

import inspector
from scripts.check_release import (
    IN_SDIST,
    IN_WHEEL,
    problems_of_sdist,
    problems_of_version,
    problems_of_wheel,
    relative_links,
)
from scripts.homebrew_formula import FORMULA, formula
from tests.conftest import ROOT

VERSION = inspector.__version__


def wheel(folder: Path, *more: str, without: str = "") -> Path:
    """A wheel of empty files, with more in it than there should be, or without something."""
    path = folder / f"session_inspector-{VERSION}-py3-none-any.whl"
    package = [each.relative_to(ROOT).as_posix() for each in (ROOT / "inspector").rglob("*.py")]
    data = f"session_inspector-{VERSION}"
    info = [f"{data}.dist-info/{name}" for name in ("METADATA", "entry_points.txt", "licenses/LICENSE")]
    names = {*package, *IN_WHEEL, *info, f"{data}.data/data/share/man/man1/inspector.1", *more}
    with zipfile.ZipFile(path, "w") as archive:
        for name in sorted(names - {without}):
            archive.writestr(name, "")
    return path


def test_a_wheel_with_all_it_needs_is_fine(tmp_path: Path) -> None:
    assert list(problems_of_wheel(wheel(tmp_path))) == []


def test_what_is_missing_in_a_wheel_or_should_not_be_in_it_is_named(tmp_path: Path) -> None:
    (lacking,) = problems_of_wheel(wheel(tmp_path, without="inspector/py.typed"))
    assert "lacks inspector/py.typed" in lacking
    (holding,) = problems_of_wheel(wheel(tmp_path, "tests/conftest.py"))
    assert "holds tests/conftest.py" in holding
    (cached,) = problems_of_wheel(wheel(tmp_path, "inspector/__pycache__/a.pyc"))
    assert "__pycache__" in cached


def test_what_should_not_be_in_a_source_distribution_is_named(tmp_path: Path) -> None:
    path = tmp_path / f"session_inspector-{VERSION}.tar.gz"
    file = tmp_path / "file"
    file.write_text("")
    with tarfile.open(path, "w:gz") as archive:
        for name in (*IN_SDIST, "shared/corpus/session.jsonl"):
            archive.add(file, f"session_inspector-{VERSION}/{name}")
    assert [problem.rpartition(" ")[2] for problem in problems_of_sdist(path)] == ["shared/corpus/session.jsonl"]


def test_the_changelog_has_the_version_and_a_tag_of_another_is_refused(tmp_path: Path) -> None:
    assert list(problems_of_version(wheel(tmp_path), f"v{VERSION}")) == []
    assert len(list(problems_of_version(wheel(tmp_path), "v0.0.1"))) == 1


def test_the_program_is_started_by_the_name_of_the_package_too() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"][project["name"]] == project["scripts"]["inspector"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"^ {4}(\S.*)$", readme, re.MULTILINE)
    assert lines[0].startswith("python3 -m venv .venv && .venv/bin/pip install . &&")
    assert lines[1].startswith(f"uvx {project['name']} demo")


def built_metadata(folder: Path) -> Message:
    """The metadata of the wheel, written by the build back end."""
    code = "import sys, hatchling.build; print(hatchling.build.prepare_metadata_for_build_wheel(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", code, folder], cwd=ROOT, capture_output=True, text=True, check=True)
    return HeaderParser().parsestr((folder / done.stdout.strip() / "METADATA").read_text(encoding="utf-8"))


def test_the_long_description_is_short_and_its_links_are_absolute_and_lead_to_files(tmp_path: Path) -> None:
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    metadata = built_metadata(tmp_path)
    assert list(relative_links(metadata)) == []
    assert metadata["Description-Content-Type"] == "text/markdown"
    text = str(metadata.get_payload())
    assert len(text.encode()) <= 7_500
    shown = MarkdownIt("commonmark").enable("table").render(text)
    links = re.findall(r"(?:href|src)=\"([^\"#][^\"]*)\"", shown)
    assert len(links) > 10
    repository, site = urls["Repository"], urls["Documentation"]
    raw = repository.replace("github.com", "raw.githubusercontent.com") + "/main/"
    assert [link for link in links if link.startswith(raw)] == [f"{raw}docs/demo.svg?sanitize=true"]
    for link in links:
        place = link.partition("#")[0].partition("?")[0]
        for prefix, folder in ((f"{repository}/blob/main/", ROOT), (raw, ROOT), (site, ROOT / "docs")):
            if place.startswith(prefix):
                assert (folder / place.removeprefix(prefix)).is_file(), link
                break
        else:
            pytest.fail(f"{link}: neither in the repository nor on the site")


def test_relative_links_of_a_description_are_found() -> None:
    text = "Version: 1\n\n![a](docs/a.svg) [b](https://b.org) [c](#c) <img src='d.png'> [e](./e.md)\n"
    assert sorted(relative_links(HeaderParser().parsestr(text))) == ["./e.md", "d.png", "docs/a.svg"]


def ruby_values(text: str) -> dict[str, str]:
    return dict(re.findall(r"^  (desc|homepage|url|sha256|license|depends_on) \"([^\"]*)\"$", text, re.MULTILINE))


def test_the_homebrew_formula_is_of_this_version_and_has_the_fields_that_brew_requires(tmp_path: Path) -> None:
    """Check a part of `brew style` and `brew audit`, because neither runs here."""
    text = FORMULA.read_text(encoding="utf-8")
    values = ruby_values(text)
    assert list(values) == ["desc", "homepage", "url", "sha256", "license", "depends_on"]
    assert len(values["desc"]) <= 80
    assert not re.match(r"(An?|The|Inspector)\b|.*\.$", values["desc"], re.IGNORECASE)
    assert values["url"].endswith(f"/session-inspector/session_inspector-{VERSION}.tar.gz")
    assert re.fullmatch(r"[0-9a-f]{64}", values["sha256"])
    assert all(not line.endswith(" ") and len(line) <= 118 for line in text.splitlines())
    opened = re.findall(r"^ *(?:class|def|test do)\b", text, re.MULTILINE)
    assert len(opened) == len(re.findall(r"^ *end$", text, re.MULTILINE)) == 3

    sdist = tmp_path / f"session_inspector-{VERSION}.tar.gz"
    sdist.write_bytes(b"")
    # The SHA-256 digest of nothing.
    digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert formula(sdist) == text.replace(values["sha256"], digest)


@pytest.mark.skipif(shutil.which("ruby") is None, reason="no ruby")
def test_the_homebrew_formula_is_valid_ruby() -> None:
    assert subprocess.run(["ruby", "-c", FORMULA], capture_output=True, check=False).returncode == 0


def lint_of_workflow(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_release_workflow_is_as_github_takes_it_and_one_that_is_not_is_reported(tmp_path: Path) -> None:
    workflow = ROOT / ".github" / "workflows" / "release.yml"
    wrong = tmp_path / "release.yml"
    wrong.write_text(workflow.read_text(encoding="utf-8").replace("runs-on:", "run-on:"), encoding="utf-8")

    sound = lint_of_workflow(workflow)
    assert sound.returncode == 0, sound.stdout + sound.stderr
    assert "run-on" in lint_of_workflow(wrong).stdout
