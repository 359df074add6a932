"""Modules named on the architecture page exist."""

import re

from tests.conftest import ROOT

PAGE = ROOT / "docs" / "development" / "architecture.md"


def named_paths(text: str) -> set[str]:
    found = re.findall(r"(?<![\w/.-])((?:[\w*…]+/)*(?:[\w*…]+\.py|[\w*…]+/))", text)
    return {each for each in found if each.endswith((".py", "/"))}


def test_every_file_and_folder_the_page_names_exists() -> None:
    text = PAGE.read_text(encoding="utf-8")
    names = named_paths(text)
    assert len(names) > 30
    files = {path.relative_to(ROOT / "inspector").as_posix() for path in (ROOT / "inspector").rglob("*.py")}
    missing = set()
    for name in names:
        pattern = re.escape(name).replace("…", r"[\w/]*").replace(r"\*", r"\w*")
        inside = rf"(?:.*/)?{pattern}" + (".*" if name.endswith("/") else "")
        if name.startswith(("tests/", "scripts/")):
            missing |= set() if (ROOT / name).exists() else {name}
            continue
        if not any(re.fullmatch(inside, file) for file in files):
            missing.add(name)
    assert not missing
