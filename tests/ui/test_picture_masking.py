"""Pictures of the screen with secrets masked: in every part, where a part cuts or folds them, and nothing moves."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ElementTree
from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from inspector.cli import main
from inspector.report.secret_redaction import SecretRedactor
from inspector.safe_text import clip_cells, one_line, safe_text
from inspector.ui.picture_masking import SIGN, Area, masked_picture
from tests.conftest import ROOT
from tests.report.planted_secrets import KINDS, MORE_SURROUNDINGS, SURROUNDINGS, VARIANTS, Draw, pieces_of
from tests.report.test_secret_redaction import planted

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = ROOT / "sample_sessions/coding-agent.jsonl"
REDACTOR = SecretRedactor()
TOKEN = KINDS["GitHub"](Draw(1)).secret


def picture_of(*lines: str, width: int = 60) -> str:
    """A picture of some lines, as the application's is drawn."""
    console = Console(width=width, file=io.StringIO(), record=True, legacy_windows=False, color_system="truecolor")
    for line in lines:
        console.print(line, markup=False, highlight=False, no_wrap=True, crop=True)
    return console.export_svg(title="inspector")


def lines_of(picture: str) -> list[str]:
    rows: dict[str, list[tuple[float, str]]] = {}
    for run in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text"):  # noqa: S314  our own
        if "clip-path" in run.attrib:
            rows.setdefault(run.attrib["clip-path"], []).append((float(run.attrib["x"]), run.text or ""))
    return ["".join(text for _, text in row).replace("\N{NO-BREAK SPACE}", " ").rstrip() for row in rows.values()]


def test_a_secret_is_masked_sign_for_sign_and_all_else_stays():
    masked = lines_of(masked_picture(picture_of(f"push with {TOKEN} & <go>", "語 next"), (), REDACTOR))

    assert masked == [f"push with {SIGN * len(TOKEN)} & <go>", "語 next"]


def test_a_secret_that_is_folded_in_one_part_of_the_screen_is_masked_there():
    picture = picture_of(f"a note {TOKEN[:13]}│plan  ", f"{TOKEN[13:33]}│      ", f"{TOKEN[33:]} was it│ limit")
    left = Area(0, 0, 20, 3)
    masked = lines_of(masked_picture(picture, (left,), REDACTOR))

    assert masked == [f"a note {SIGN * 13}│plan", f"{SIGN * 20}│", f"{SIGN * (len(TOKEN) - 33)} was it│ limit"]


def test_a_secret_that_is_cut_off_is_known_from_the_text_behind_it():
    picture = picture_of(f"143 R Bash   {TOKEN[:9]}…", "144 A        ghost writer")
    alone = lines_of(masked_picture(picture, (), REDACTOR))
    known = lines_of(masked_picture(picture, (), REDACTOR, [f"cloned with {TOKEN} again"]))

    assert TOKEN[:9] in alone[0]
    assert known == [f"143 R Bash   {SIGN * 9}…", "144 A        ghost writer"]


def test_the_name_of_a_user_is_masked_within_a_home_folder():
    assert lines_of(masked_picture(picture_of("in /home/grace/shop/a.py now"), (), REDACTOR)) == [
        f"in /home/{SIGN * 5}/shop/a.py now"
    ]


@given(st.lists(st.text("ab <>&\"'語é│•", max_size=30), min_size=1, max_size=5))
@settings(max_examples=30)
def test_a_picture_without_secrets_is_the_same(lines: list[str]):
    picture = picture_of(*lines)

    assert masked_picture(picture, (Area(0, 0, 30, len(lines)),), REDACTOR) == picture


@pytest.mark.parametrize("keys", ["", "tab"])
def test_no_planted_secret_is_on_a_masked_screen(keys: str, tmp_path: Path):
    kinds = ["GitHub", "AWS secret key alone", "password as an argument", "long hexadecimal number", "web token"]
    secrets = [KINDS[kind](Draw(5)) for kind in kinds]
    said = "\n".join("".join(each) for each in secrets)
    session = planted(SAMPLE, tmp_path / "planted.jsonl", said)
    shown = {}
    for options in ((), ("--mask",)):
        target = tmp_path / f"screen{len(options)}.svg"
        assert main(["screenshot", str(session), "--keys", keys, "--size", "140x45", *options, "-o", str(target)]) == 0
        shown[options] = "".join(lines_of(target.read_text(encoding="utf-8")))

    pieces = {piece[:6] for each in secrets for piece in pieces_of(each.secret) if len(piece) >= 6}
    assert any(piece in shown[()] for piece in pieces)
    assert not [piece for piece in pieces if piece in shown["--mask",]]
    assert len(re.findall(SIGN, shown["--mask",])) > 20


@pytest.mark.long
def test_of_every_kind_of_secret_in_a_clipped_row_and_a_wrapped_text_nearly_all_are_masked():
    missed, count = [], 0
    planted_in = product((KINDS | VARIANTS).items(), (SURROUNDINGS | MORE_SURROUNDINGS).items())
    for number, ((kind, plant), (surrounding, dress)) in enumerate(planted_in):
        if number % 5:
            continue
        secret = plant(Draw(number))
        dressed = dress(secret)
        text = str(dressed)
        lines = [safe_text(line) for line in text.split("\n")]
        wrapped = [line[at : at + 40] for line in lines for at in range(0, len(line) or 1, 40)]
        picture = picture_of(clip_cells(one_line(text), 40), *wrapped, width=40)
        areas = (Area(0, 0, 40, 1), Area(0, 1, 40, 1 + len(wrapped)))
        shown = "\n".join(lines_of(masked_picture(picture, areas, REDACTOR, [text])))
        pieces = {
            piece[at : at + 6]
            for piece in pieces_of(secret.secret) | pieces_of(dressed.secret)
            for at in range(len(piece) - 5)
        }
        count += 1
        if any(piece in shown and piece not in dressed.before + dressed.after for piece in pieces):
            missed.append(f"{kind} in {surrounding}")

    assert count == 303  # every fifth of 108 kinds in 14 surroundings
    assert len(missed) <= 0.02 * count, missed
