"""One session in a line: what a list of sessions says about each, and these lines kept between runs.

`SummaryCache` lets a long list of sessions opened again say at once what it said before: one file in the user's cache
folder, readable by its owner alone. It holds what the list shows: titles, first prompts and last answers among it, each
cut short. A summary counts as long as its session's file has the same size, time of change and inode, and as long as
neither what reads sessions nor what prices them has changed. The file is written whole and put in place at once; what
cannot be read is ignored, and where nothing can be written nothing is kept.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field, fields, replace
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from inspector.atomic_files import cache_folder, replacing
from inspector.replay.cache.prompt_usage import PromptUsage
from inspector.replay.pricing.prices import Pricing
from inspector.session.duplicate_calls import counted_here
from inspector.session.errors import SessionError, UnreadableFileError
from inspector.session.model import BlockKind, Role
from inspector.session.open import open_reader
from inspector.session.related import locate, parent_of
from inspector.session.session_name import first_prompt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from inspector.session.model import Call, Session

FIRST_BYTES = 1 << 20
"""So much of a session is read for a first look; most sessions are no longer."""

# a field's type, looked up when decoding


FILE_NAME = "summaries.msgpack"

MOST_KEPT = 50_000
"""Summaries the file holds, some five hundred bytes each."""

MOST_BYTES = 64 << 20
"""A larger file was not written here."""

LONGEST_TEXT = 300
"""Characters kept of any text, more than a line of the list has."""

PACKAGE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """What is known of one session, read or partly read.

    Attributes:
        path: What opens it.
        format: Name of its format; empty where it cannot be read as a session.
        problem: Why it cannot be read, in one line; empty where it can.
        is_whole: All of it was read; otherwise counts are of its beginning.
        identifier: Its id.
        title: What the agent calls it; empty where it has no title.
        agent: The program that recorded it.
        working_directory: Where the agent worked.
        model: The model of its last call.
        messages: How many there are.
        calls: How many there are, those copied from other sessions left out.
        tokens: Tokens of all prompts that were reported; None where none were.
        context: Tokens of the last reported prompt and its response; None where none were.
        usd: What the reported tokens cost; None where none were, or a model has no price.
        is_least: It cost more: of some call nothing was reported, or of its response the placeholder of a stream.
        prompt: The first thing a person said, as recorded.
        last: The last thing the model said, as recorded.
        parent: What opens the session that started it; None for one a person began.
        last_recorded: When its newest record was made, seconds since the epoch; None where that is not known.
        is_unreadable: Its file cannot be opened, or is no text, so that it may have been a session all the same.
    """

    path: Path
    format: str = ""
    problem: str = ""
    is_whole: bool = True
    identifier: str = ""
    title: str = ""
    agent: str = ""
    working_directory: str = ""
    model: str = ""
    messages: int = 0
    calls: int = 0
    tokens: int | None = None
    context: int | None = None
    usd: float | None = None
    is_least: bool = False
    prompt: str = ""
    last: str = ""
    parent: Path | None = None
    last_recorded: float | None = None
    is_unreadable: bool = False


def summarise(
    path: Path,
    pricing: Pricing | None = None,
    *,
    is_cancelled: Callable[[], bool] = lambda: False,
    most_bytes: int | None = None,
) -> SessionSummary:
    """Read a session and sum it up. Never raises for what a file holds.

    Args:
        path: What opens it.
        pricing: Prices; None for the user's own.
        is_cancelled: True when nobody waits for the summary any more; it is of what was read by then.
        most_bytes: Stop reading after so much; None to read all.
    """
    is_whole = True
    try:
        reader = open_reader(path)
        for done, total in reader.load():
            if done < total and (is_cancelled() or (most_bytes is not None and done >= most_bytes)):
                is_whole = False
                break
        return summary_of(reader.snapshot(), pricing, is_whole=is_whole)
    except SessionError as error:
        return SessionSummary(path, problem=error.message, is_unreadable=isinstance(error, UnreadableFileError))


def summary_of(session: Session, pricing: Pricing | None = None, *, is_whole: bool = True) -> SessionSummary:
    """Sum a session up.

    Args:
        session: What was read.
        pricing: Prices; None for the user's own.
        is_whole: It is all of the session.
    """
    # A session that made no call yet is shown with what it took over, unless that can be seen where it was made.
    own = session.own_calls or counted_here(session).calls
    reported = [call for call in own if call.usage is not None and call.usage.prompt]
    usages = [call.usage for call in reported if call.usage is not None]
    parent = parent_of(session)
    return SessionSummary(
        path=session.path,
        format=session.format,
        is_whole=is_whole,
        identifier=session.identifier,
        title=session.title,
        agent=session.agent,
        working_directory=session.working_directory,
        model=next((call.model for call in reversed(session.calls) if call.model), ""),
        messages=len(session.messages),
        calls=len(own),
        tokens=sum(usage.prompt for usage in usages) if usages else None,
        context=usages[-1].prompt + usages[-1].output if usages else None,
        usd=_cost(reported, pricing or Pricing.load()) if reported else None,
        is_least=len(reported) < len(own) or any(usage.output_is_placeholder for usage in usages),
        prompt=first_prompt(session),
        last=_last_answer(session),
        parent=locate(session, parent) if parent is not None else None,
        last_recorded=session.last_recorded if is_whole else None,
    )


def _cost(calls: list[Call], pricing: Pricing) -> float | None:
    usages = [call.usage for call in calls if call.usage is not None]
    output = np.array([usage.output for usage in usages], dtype=np.int64)
    times = np.array([call.time if call.time is not None else np.nan for call in calls])
    rates = pricing.call_rates([call.model for call in calls], times, [call.terms for call in calls])
    usd = float(rates.cost(PromptUsage.of(usages), output).sum())
    return None if isnan(usd) else usd


def _last_answer(session: Session) -> str:
    for message in reversed(session.messages):
        if message.role is Role.ASSISTANT:
            for block in reversed(message.blocks):
                if block.kind is BlockKind.ASSISTANT_TEXT and block.preview.strip():
                    return block.preview
    return ""


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
