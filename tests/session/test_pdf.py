"""PDF page counts for every page tree, and their use with the detail level of images."""

import base64
import json
import time
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.session.formats.chat import media_of_part
from inspector.session.media import MOST_BYTES, count_pdf_pages, media_of_base64, media_of_data_url
from inspector.session.model import Media
from inspector.session.open import open_session
from tests.session import run_files
from tests.session.run_files import encoded

HEAD, TAIL = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", b"\ntrailer << /Root 1 0 R >>\n%%EOF\n"


def tree(pages: int) -> bytes:
    kids = b" ".join(b"%d 0 R" % (10 + at) for at in range(pages))
    resources = b"/Resources << /Font << /F1 << /Type /Font /Count 99 >> >> >>"
    half = pages // 2
    return (
        b"1 0 obj << /Type /Catalog /Pages 2 0 R /Outlines << /Count 500 >> >> endobj\n"
        b"2 0 obj << /Kids [ 3 0 R 4 0 R ] %b /Count %d /Type /Pages >> endobj\n"
        % (resources, pages)
        + b"3 0 obj <</Type/Pages/Count %d/Kids[%b]/Parent 2 0 R>> endobj\n" % (half, kids)
        + b"4 0 obj <</Type/Pages/Count %d/Kids[%b]/Parent 2 0 R>> endobj\n" % (pages - half, kids)
        + b"".join(b"%d 0 obj << /Type /Page /Parent 3 0 R >> endobj\n" % (10 + at) for at in range(pages))
    )


def packed(text: bytes) -> bytes:
    data = zlib.compress(text)
    return b"9 0 obj << /Type /ObjStm /N 4 /Filter /FlateDecode /Length %d >> stream\r\n%b\nendstream" % (
        len(data),
        data,
    )


@given(pages=st.integers(1, 30), noise=st.binary(max_size=60), is_packed=st.booleans())
def test_pages_are_those_of_the_root_of_the_page_tree(pages: int, noise: bytes, is_packed: bool) -> None:
    written = tree(pages)
    picture = b"8 0 obj << /Length 60 >> stream\n" + noise.replace(b">>", b"") + b"\nendstream endobj\n"
    assert count_pdf_pages(HEAD + picture + (packed(written) if is_packed else written) + TAIL) == pages


def test_pages_without_a_tree_are_counted() -> None:
    written = b"".join(b"%d 0 obj<</Type/Page>>endobj " % at for at in range(7))
    assert count_pdf_pages(HEAD + written) == 7
    assert count_pdf_pages(HEAD) == 0


@pytest.mark.parametrize("data", [b"", b"no PDF", tree(3), b"x" * 2_000 + HEAD + tree(3), HEAD + packed(tree(3))[:-90]])
def test_what_is_none_or_is_cut_has_no_pages(data: bytes) -> None:
    assert count_pdf_pages(data) == 0


@given(data=st.binary(max_size=400))
def test_any_bytes_are_taken(data: bytes) -> None:
    assert count_pdf_pages(HEAD + data) >= 0
    media_of_base64("application/pdf", data)


@pytest.mark.parametrize(
    "unit", [b"<<", b">>", b"<</Type/Pages/Count 1", b"/Type/ObjStm stream\n", b"/Type" + b" " * 20, b"/Count 1"]
)
def test_what_is_made_to_take_long_does_not(unit: bytes) -> None:
    began = time.process_time()
    count_pdf_pages(HEAD + unit * (2_000_000 // len(unit)))
    assert time.process_time() - began < 5


def test_a_large_one_is_not_looked_into() -> None:
    assert count_pdf_pages(HEAD + tree(2) + bytes(MOST_BYTES)) == 0


def test_the_pages_of_a_document_are_known_wherever_its_data_is() -> None:
    data = HEAD + tree(4) + TAIL
    text = base64.b64encode(data).decode()
    expected = Media("application/pdf", len(data), pages=4)
    parts: list[dict[str, Any]] = [
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": text}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{text}"}},
        {"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{text}"},
    ]
    assert [media_of_part(part)[0] for part in parts] == [expected] * 3
    assert media_of_base64("", text.encode()) == expected


def test_a_document_that_is_only_named_is_a_pdf_and_no_image() -> None:
    parts: list[dict[str, Any]] = [
        {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}},
        {"type": "file", "file": {"file_id": "file-1"}},
        {"type": "input_file", "file_url": "https://example.com/a.pdf"},
    ]
    assert [media_of_part(part)[0] for part in parts] == [Media("application/pdf", 0)] * 3


def test_how_closely_to_look_is_read_where_either_api_says_it() -> None:
    url = "https://example.com/a.png"
    parts: list[dict[str, Any]] = [
        {"type": "image_url", "image_url": {"url": url, "detail": "low"}},
        {"type": "input_image", "image_url": url, "detail": "low"},
        {"type": "computer_screenshot", "image_url": url, "detail": "low"},
    ]
    assert [media_of_part(part)[0] for part in parts] == [Media("", 0, detail="low")] * 3
    assert media_of_part({"type": "input_image", "image_url": url, "detail": 7})[0] == Media("", 0)
    picture = "data:image/gif;base64," + base64.b64encode(b"GIF89a\x05\x00\x07\x00" + bytes(40)).decode()
    assert media_of_data_url(picture, "high") == Media("image/gif", 50, 5, 7, detail="high")


def test_inspect_says_how_closely_to_look_in_the_part(tmp_path: Path) -> None:
    sample = run_files.inspect_sample(1)
    picture = {"type": "image", "image": "https://example.com/a.png", "detail": "low"}
    for message in (sample["messages"][0], sample["events"][1]["input"][0]):
        message["content"] = [{"type": "text", "text": "what is it?"}, picture]
    path = tmp_path / "log.json"
    path.write_bytes(encoded(run_files.inspect_log([sample])))
    (media,) = (one for block in open_session(path).blocks for one in block.media)
    assert media.detail == "low"


def test_a_document_claude_code_only_names_is_a_pdf(tmp_path: Path) -> None:
    from tests.session.claude_lines import Script

    script = Script()
    script.prompt("read it")
    source = {"type": "url", "url": "https://example.com/a.pdf"}
    script.lines[-1]["message"]["content"] = [{"type": "document", "source": source}]
    script.text("m1")
    session = open_session(script.write(tmp_path / "11111111-2222-4333-8444-555555555555.jsonl"))
    assert json.dumps([one.media_type for block in session.blocks for one in block.media]) == '["application/pdf"]'
