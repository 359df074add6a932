"""The size of an image from the first bytes of its base64 form."""

import base64
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.session.media import dimensions, media_of_base64

sizes = st.integers(1, 16_000)


def jpeg(width: int, height: int, preview: int = 0) -> bytes:
    segment = b"\xff\xe1" + struct.pack(">H", 2 + min(preview, 60_000)) + bytes(min(preview, 60_000))
    frame = b"\xff\xc2" + struct.pack(">HBHH", 17, 8, height, width) + bytes(10)
    return b"\xff\xd8" + segment + b"\xff" + frame + bytes(50)


def webp(kind: bytes, width: int, height: int) -> bytes:
    body = {
        b"VP8 ": struct.pack("<I", 50) + bytes(6) + struct.pack("<HH", width, height),
        b"VP8L": struct.pack("<I", 50) + b"\x2f" + struct.pack("<I", width - 1 | height - 1 << 14),
        b"VP8X": struct.pack("<I", 10)
        + bytes(4)
        + struct.pack("<I", width - 1)[:3]
        + struct.pack("<I", height - 1)[:3],
    }[kind]
    return b"RIFF" + struct.pack("<I", 100) + b"WEBP" + kind + body + bytes(40)


@given(width=sizes, height=sizes, preview=st.integers(0, 60_000), kind=st.integers(0, 5))
def test_width_and_height_are_read_from_every_kind_of_header(width: int, height: int, preview: int, kind: int) -> None:
    data = [
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + bytes(50),
        b"GIF89a" + struct.pack("<HH", width, height) + bytes(50),
        jpeg(width, height, preview),
        webp(b"VP8 ", width, height),
        webp(b"VP8L", width, height),
        webp(b"VP8X", width, height),
    ][kind]
    media = media_of_base64("image/x", base64.b64encode(data))
    assert (media.width, media.height, media.size_bytes) == (width, height, len(data))


@given(data=st.binary(max_size=300) | st.sampled_from([b"\xff\xd8", b"RIFF", b"GIF89a", b"\x89PNG\r\n\x1a\n"]))
def test_any_bytes_are_taken(data: bytes) -> None:
    width, height = dimensions(data)
    assert width >= 0
    assert height >= 0
    assert media_of_base64("", base64.b64encode(data)).size_bytes == len(data)
    media_of_base64("", data)


@pytest.mark.parametrize("start", [b"\x89PNG\r\n\x1a\n", b"GIF89a", b"\xff\xd8\xff\xc0", b"RIFF0000WEBPVP8X"])
def test_a_header_that_is_cut_tells_nothing(start: bytes) -> None:
    assert dimensions(start) == (0, 0)
