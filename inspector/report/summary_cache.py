"""Summaries kept between runs, so that a long list of sessions opened again says at once what it said before.

One file in the user's cache folder, readable by its owner alone. It holds what the list shows: titles, first prompts
and last answers among it, each cut short. A summary counts as long as its session's file has the same size, time of
change and inode, and as long as neither what reads sessions nor what prices them has changed. The file is written
whole and put in place at once; what cannot be read is ignored, and where nothing can be written nothing is kept.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field, fields, replace
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from inspector.atomic_files import cache_folder, replacing
from inspector.report.session_summary import SessionSummary  # noqa: TC001  # a field's type, looked up when decoding

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inspector.replay.pricing.prices import Pricing

FILE_NAME = "summaries.msgpack"

MOST_KEPT = 50_000
"""Summaries the file holds, some five hundred bytes each."""

MOST_BYTES = 64 << 20
"""A larger file was not written here."""

LONGEST_TEXT = 300
"""Characters kept of any text, more than a line of the list has."""

PACKAGE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class ReadSummary:
    """A session's summary, as it was read.

    Attributes:
        summary: What reading the session told.
        size: Of its file then, in bytes.
        modified: When its file had been written then, seconds since the epoch.
        inode: Of its file.
        took: Seconds that reading took.
        ended: When it was read, on the monotonic clock; 0 for what an earlier run read.
    """

    summary: SessionSummary
    size: int
    modified: float
    inode: int
    took: float
    ended: float = 0.0


class _Stored(msgspec.Struct, array_like=True, frozen=True):
    maker: bytes
    kept: list[ReadSummary]


@dataclass(frozen=True)
class SummaryCache:
    """Keeps summaries by path. Never raises.

    Attributes:
        folder: Where the file is.
    """

    folder: Path = field(default_factory=lambda: cache_folder("lists"))

    def load(self, pricing: Pricing) -> dict[Path, ReadSummary]:
        """What an earlier run kept, where the same program priced it in the same way; empty for anything else."""
        path = self.folder / FILE_NAME
        try:
            if path.stat().st_size > MOST_BYTES:
                return {}
            stored = msgspec.msgpack.decode(path.read_bytes(), type=_Stored, dec_hook=_decoded)
        except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
            return {}
        if stored.maker != maker(pricing):
            return {}
        return {kept.summary.path: kept for kept in stored.kept}

    def save(self, kept: Iterable[ReadSummary], pricing: Pricing) -> bool:
        """Keep summaries, the first of them where they are too many; whether that could be done."""
        short = [
            replace(one, summary=_shortened(one.summary), ended=0.0)
            for one, _ in zip(kept, range(MOST_KEPT), strict=False)
        ]
        data = msgspec.msgpack.encode(_Stored(maker(pricing), short), enc_hook=_encoded)
        try:
            with replacing(self.folder / FILE_NAME) as file:
                file.write(data)
        except OSError:
            return False
        return True

    def forget(self) -> None:
        """Keep nothing any more."""
        with contextlib.suppress(OSError):
            (self.folder / FILE_NAME).unlink()


def maker(pricing: Pricing) -> bytes:
    """What made summaries: another value, and they have to be made anew."""
    digest = blake2b(repr((pricing.own, pricing.factor, _version_of_prices())).encode(errors="replace"), digest_size=16)
    for room in ("session", "replay", "report"):
        for path in sorted((PACKAGE / room).rglob("*.py")):
            with contextlib.suppress(OSError):
                status = path.stat()
                digest.update(f"{path.name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.digest()


def _version_of_prices() -> str:
    try:
        return version("genai-prices")
    except PackageNotFoundError:
        return ""


def _shortened(summary: SessionSummary) -> SessionSummary:
    values = {one.name: getattr(summary, one.name) for one in fields(summary)}
    short: dict[str, Any] = {name: _cut(value) for name, value in values.items() if isinstance(value, str)}
    return replace(summary, **short)


def _cut(text: str) -> str:
    # Half a character, as broken escapes in a session leave it, can be shown but not stored.
    return text.strip()[:LONGEST_TEXT].encode(errors="replace").decode()


def _encoded(value: Any) -> Any:
    if isinstance(value, Path):
        return os.fsencode(value)
    raise NotImplementedError


def _decoded(wanted: type, value: Any) -> Any:
    if wanted is Path and isinstance(value, bytes):
        return Path(os.fsdecode(value))
    raise ValueError
