"""One-line summaries of sessions for lists, and their cache between runs.

`SummaryCache` lets a long list of sessions show its previous content at once: one file in the user's cache folder,
readable only by its owner. It holds the listed texts, among them titles, first prompts and last answers, each cut
short. A summary is valid while its session's file has the same size, modification time and inode, and while the reading
and pricing code is unchanged. The file is replaced atomically; an unreadable file is ignored, and without write access
nothing is stored.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field, fields, replace
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from math import isnan
from pathlib import Path  # type of a field, resolved when decoding
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from inspector.atomic_files import cache_folder, replacing
from inspector.errors import SessionError, UnreadableFileError
from inspector.plug_ins import versions as plug_in_versions
from inspector.replay.cache.prompt_usage import PromptUsage
from inspector.replay.engine.token_scale import apportion
from inspector.replay.pricing.prices import Pricing
from inspector.session.model import BlockKind, Call, Role, Session, SideCall, Usage, first_prompt
from inspector.session.open import open_reader
from inspector.session.related import locate, parent_of, without_copied_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


FIRST_BYTES = 1 << 20
"""Bytes of a session read for a first look; most sessions are shorter."""

FILE_NAME = "summaries.msgpack"

MOST_KEPT = 50_000
"""Maximum number of stored summaries, some five hundred bytes each."""

MOST_BYTES = 64 << 20
"""Maximum size of a file written by this module."""

LONGEST_TEXT = 300
"""Stored characters of any text, longer than a line of the list."""

PACKAGE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """Summary of one session, read or partly read.

    Attributes:
        path: Path that opens it.
        format: Name of its format; empty if it cannot be read as a session.
        problem: Reason why it cannot be read, in one line; empty if it can.
        is_whole: All of it was read; otherwise counts cover its beginning.
        title: Title given by the agent; empty if it has none.
        agent: The program that recorded it.
        model: The model of its last call.
        calls: Number of calls, without those copied from other sessions.
        tokens: Tokens of all reported prompts; None without reports.
        context: Tokens of the last reported prompt and its response; None without reports.
        usd: Cost of the reported tokens, including side requests; None without reports, or if a model has no price.
        is_lower_bound: The cost is a lower bound: some call reported nothing, only a placeholder response, or usage in
            a field that is not counted.
        prompt: The first user prompt, as recorded.
        last: The last assistant text, as recorded.
        parent: Path that opens the session that started it; None if the user started it.
        last_recorded: Time of its newest record, seconds since the epoch; None if unknown.
        is_unreadable: Its file cannot be opened, or is not text, so it may be a session.
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
    is_lower_bound: bool = False
    prompt: str = ""
    last: str = ""
    parent: Path | None = None
    last_recorded: float | None = None
    is_unreadable: bool = False


def summarize(
    path: Path,
    pricing: Pricing | None = None,
    *,
    is_cancelled: Callable[[], bool] = lambda: False,
    most_bytes: int | None = None,
) -> SessionSummary:
    """Summarize any file, by default at the user's prices; a cancelled or limited summary covers the part read."""
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
    """Summarize a session; without `pricing`, at the user's own prices."""
    # A session that only has copied calls is shown with its copied calls, unless their original is available.
    own = session.own_calls or without_copied_calls(session).calls
    reported = [call for call in own if call.usage is not None and call.usage.prompt]
    usages = [call.usage for call in reported if call.usage is not None]
    rests = [] if len(own) < len(session.calls) else _rests_of_totals(session)
    sides = [each for each in session.own_side_calls if each.usage is not None]
    paid: list[Call | SideCall] = [*reported, *sides, *rests]
    parent = parent_of(session)
    return SessionSummary(
        path=session.path,
        format=session.format,
        is_whole=is_whole,
        identifier=session.identifier,
        title=session.title,
        agent=session.agent,
        working_directory=session.working_directory,
        model=session.main_model,
        messages=len(session.messages),
        calls=len(own),
        tokens=sum(usage.prompt for usage in (*usages, *(each.usage for each in rests)) if usage) if paid else None,
        context=usages[-1].prompt + usages[-1].output if usages else None,
        usd=_cost(paid, pricing or Pricing.load()) if paid else None,
        is_lower_bound=any(usage.ignored for usage in usages) or not _is_complete(session),
        prompt=first_prompt(session),
        last=_last_answer(session),
        parent=locate(session, parent) if parent is not None else None,
        last_recorded=session.last_recorded if is_whole else None,
    )


def _rests_of_totals(session: Session) -> list[SideCall]:
    """Return the usage of totals that nothing reports, in equal parts for the calls without a prompt."""
    found: list[SideCall] = []
    for totals in session.recorded_totals:
        calls = session.calls[totals.first_call : totals.end_call]
        for model, usage in totals.usages if calls and not totals.includes_subagents else ():
            mine = [call for call in calls if call.model == model]
            known = [call.usage for call in mine if call.usage and call.usage.prompt]
            silent = [call for call in mine if not call.usage or not call.usage.prompt]
            known += [side for name, side in totals.side_usages if name == model]
            rest = [getattr(usage, name) - sum(getattr(one, name) for one in known) for name in _COUNTS]
            if not any(rest) or min(rest) < 0:
                continue
            if not silent:
                found.append(SideCall("", model, calls[-1].time, Usage(*rest), requests=0))
                continue
            parts = np.stack([apportion(count, np.ones(len(silent))) for count in rest], axis=1).tolist()
            found += [
                SideCall("", model, call.time, Usage(*part), terms=call.terms)
                for call, part in zip(silent, parts, strict=True)
            ]
    return found


def _is_complete(session: Session) -> bool:
    """Return True if the usage of every call is reported, or part of a recorded total of its model."""
    totals = [each for each in session.recorded_totals if each.usages and not each.includes_subagents]
    summed = {
        index
        for each in totals
        for index in range(each.first_call, min(each.end_call, len(session.calls)))
        if session.calls[index].model in dict(each.usages)
    }
    return all(
        index in summed or (call.usage is not None and call.usage.prompt and not call.usage.output_is_placeholder)
        for index, call in enumerate(session.calls)
        if not session.messages[call.response].is_inherited
    )


_COUNTS = ("uncached", "cache_read", "cache_write_5m", "cache_write_1h", "output")


def _cost(calls: Sequence[Call | SideCall], pricing: Pricing) -> float | None:
    usages = [call.usage for call in calls if call.usage is not None]
    requests = np.array([call.requests if isinstance(call, SideCall) else 1 for call in calls], dtype=np.int64)
    output = np.array([usage.output for usage in usages], dtype=np.int64)
    times = np.array([call.time if call.time is not None else np.nan for call in calls])
    rates = pricing.call_rates([call.model for call in calls], times, [call.terms for call in calls])
    usd = float(rates.cost(PromptUsage.of(usages), output, requests).sum())
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
    """A session's summary with the state of its file.

    Attributes:
        size: File size in bytes when read.
        modified: Modification time of the file when read, seconds since the epoch.
        took: Seconds spent reading.
        ended: When reading ended, on the monotonic clock; 0 for an earlier run.
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
    """Persistent cache of summaries by path. Never raises."""

    folder: Path = field(default_factory=lambda: cache_folder("lists"))

    def load(self, pricing: Pricing) -> dict[Path, ReadSummary]:
        """Load the summaries of an earlier run of the same program version and prices; empty for any other."""
        path = self.folder / FILE_NAME
        try:
            if path.stat().st_size > MOST_BYTES:
                return {}
            stored = msgspec.msgpack.decode(path.read_bytes(), type=_Stored, dec_hook=_decoded)
        except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
            return {}
        if stored.maker != code_fingerprint(pricing):
            return {}
        return {kept.summary.path: kept for kept in stored.kept}

    def save(self, kept: Iterable[ReadSummary], pricing: Pricing) -> bool:
        """Store as many summaries as allowed; return True on success."""
        short = [
            replace(one, summary=_shortened(one.summary), ended=0.0)
            for one, _ in zip(kept, range(MOST_KEPT), strict=False)
        ]
        data = msgspec.msgpack.encode(_Stored(code_fingerprint(pricing), short), enc_hook=_encoded)
        try:
            with replacing(self.folder / FILE_NAME) as file:
                file.write(data)
        except OSError:
            return False
        return True

    def forget(self) -> None:
        """Delete the cache."""
        with contextlib.suppress(OSError):
            (self.folder / FILE_NAME).unlink()


def code_fingerprint(pricing: Pricing) -> bytes:
    """Return a fingerprint of the code and prices; a different value invalidates all summaries."""
    outside = (pricing.own, pricing.factor, _version_of_prices(), plug_in_versions())
    digest = blake2b(repr(outside).encode(errors="replace"), digest_size=16)
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
    # Lone surrogates, from broken escapes in a session, can be displayed but not encoded.
    return text.strip()[:LONGEST_TEXT].encode(errors="replace").decode()


def _encoded(value: Any) -> Any:
    if isinstance(value, Path):
        return os.fsencode(value)
    raise NotImplementedError


def _decoded(wanted: type, value: Any) -> Any:
    if wanted is Path and isinstance(value, bytes):
        return Path(os.fsdecode(value))
    raise ValueError
