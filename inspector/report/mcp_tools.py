"""MCP tools for an agent's own session: cut results, file states, changes, and the content of its context.

Every answer is a dictionary of plain values, with limits and paging. Texts are read from the sessions' own files, and
secrets in them are masked unless that is disabled. Nothing is written except the index of `inspector.recall`, and only
by a text search.
"""

from __future__ import annotations

import os
import re
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspector.errors import InspectorError, SessionError
from inspector.file_history.changelog import generate_changelog
from inspector.file_history.history import FileHistory, file_history
from inspector.recall.find import RecalledText, RecallSearch, find_in, sessions_at
from inspector.recall.originals import original_of
from inspector.report.listings import changelog_document, state_document, state_notes, state_text
from inspector.report.secret_redaction import SecretRedactor
from inspector.session.model import BlockKind, Session
from inspector.session.open import open_session
from inspector.session.related import full_output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.session.discovery import Header

PAGE_CHARACTERS = 8_000
"""Maximum characters of text in one answer."""
MOST_ENTRIES = 50
"""Maximum list entries in one answer."""
USUAL_ENTRIES = 10
EXCERPT_CHARACTERS = 160
MOST_LINES = 100
"""Maximum matching lines of one result in one answer, because each is searched for secrets with its surroundings."""
AROUND_HIT = 2_000
"""Characters of a line from the searched words on that may hold them outside a secret."""
LONGEST_ARGUMENT = 1_000
MOST_OF_FOLDER = 24
"""Newest sessions of this machine that are opened to find those of a folder."""
HEAVIEST = 10
"""Tool results listed in a context report."""

NO_INDEX = "INSPECTOR_NO_INDEX"


class MemoryQueryError(InspectorError):
    """A query that cannot be answered; the message explains the reason and the alternatives."""

    advice = "repeat the call with other arguments"


class SessionMemory:
    """Queries on sessions, which may grow meanwhile: those in `paths`, or without any those in `folder`."""

    def __init__(self, paths: Sequence[Path], folder: Path, *, allow_secrets: bool = False) -> None:
        """Create without reading. Raises `DetectorMissingError` if secrets are to be removed but cannot be."""
        self.paths = tuple(paths)
        self.folder = folder
        self._redactor = None if allow_secrets else SecretRedactor()
        self._opened: dict[Path, tuple[tuple[int, float, int], Session]] = {}

    def memory_query(
        self,
        session_id: str | None = None,
        execution_id: str | None = None,
        tool: str | None = None,
        text: str | None = None,
        limit: int = USUAL_ENTRIES,
        offset: int = 0,
    ) -> dict[str, Any]:
        """Return tool results: one by its id, matches of words, or a list, newest first.

        Args:
            session_id: A part of a session's id; defaults to the newest session.
            execution_id: A tool call's id, a prefix of it, a notice, or `SESSION:MESSAGE`.
            tool: Only results of this tool.
            text: Words to search for; with `execution_id`, lines of that result that contain them.
            limit: Maximum list entries, 1 to `MOST_ENTRIES`.
            offset: Start of the page: a character of a text, an entry of a list.

        Raises:
            InspectorError: Nothing matches, or an argument is out of range.
        """
        _check(session_id=session_id, execution_id=execution_id, tool=tool, text=text)
        _check_page(limit, offset)
        if execution_id:
            return self._result(session_id, execution_id, text, offset)
        if text:
            return self._found(self._headers(session_id), tool, text, limit, offset)
        session = self._session(session_id)
        results = [
            RecalledText(session, index)
            for index, block in enumerate(session.all_blocks)
            if block.kind is BlockKind.TOOL_RESULT and (tool is None or block.tool_name == tool)
        ]
        entries = [self._entry(place) for place in results[::-1][offset : offset + limit]]
        return self._page("results", entries, len(results), offset, {"session_id": session.identifier})

    def file_state_at(
        self,
        path: str,
        turn: int | None = None,
        call: int | None = None,
        time: str | None = None,
        session_id: str | None = None,
        offset: int = 0,
    ) -> dict[str, Any]:
        """Return a file as the agent knew it, at the end or at a turn, call or time; gaps are marked.

        Args:
            path: The file, or the end of its path; only recorded content is returned.
            turn: A message, counted from 1.
            call: A call, counted from 1: the state in its prompt.
            time: As `2026-11-23T14:05`.
            session_id: A part of a session's id; defaults to the newest session.
            offset: First character of the page.

        Raises:
            InspectorError: The file, moment or session does not exist.
        """
        _check(path=path, time=time, session_id=session_id)
        _check_page(1, offset)
        if sum(given is not None for given in (turn, call, time)) > 1:
            raise MemoryQueryError("pass only one of turn, call and time")
        history = self._history(session_id)
        if call is not None:
            turn = history.turn_of_call(call)
        elif time is not None:
            turn = history.turn_at(_seconds(time))
        elif turn is not None:
            history.check_turn(turn)
        state = history.file_state_at(path, turn)
        document = state_document(state)
        by_name = {name: value for name, value in document.items() if name not in ("pieces", "text", "doubts")}
        notes = [self._clean(note) for note in state_notes(state)]
        return {**by_name, "notes": notes, **self._text_page(state_text(state.content), offset)}

    def changelog(
        self,
        path: str | None = None,
        session_id: str | None = None,
        limit: int = USUAL_ENTRIES,
        offset: int = 0,
    ) -> dict[str, Any]:
        """Return changes to files with their purpose, newest first.

        Args:
            path: One file, or the end of its path; defaults to all files.
            session_id: A part of a session's id; defaults to the newest session.
            limit: Maximum changes, 1 to `MOST_ENTRIES`.
            offset: Number of newest changes to skip.

        Raises:
            InspectorError: The file or session does not exist.
        """
        _check(path=path, session_id=session_id)
        _check_page(limit, offset)
        history = self._history(session_id)
        document = changelog_document(history, generate_changelog(history, path))
        changes = document["changes"][::-1]
        entries = [{**each, "what": self._clean(each["what"])} for each in changes[offset : offset + limit]]
        return self._page("changes", entries, len(changes), offset, {"session_id": history.session.identifier})

    def context_report(self, session_id: str | None = None) -> dict[str, Any]:
        """Return the next prompt's content, in a named or the newest session. Raises `InspectorError`."""
        _check(session_id=session_id)
        session = self._session(session_id)
        if not session.calls:
            raise MemoryQueryError(f"session {session.identifier} has no call yet")
        from inspector.replay.analysis.context_blocks import NOT_RECORDED, context_at, repeats_in
        from inspector.replay.engine.inputs import ReplayInputs
        from inspector.replay.engine.replay import replay as replayed
        from inspector.replay.sessions import calibration_source_of
        from inspector.strategies.history.history import History
        from inspector.strategies.plan import Plan
        from inspector.tokens.counter import load_counter
        from inspector.tokens.token_table import CountCache, count_session

        # A path that cannot exist: the server must not write anything, including the count cache.
        *_, table = count_session(session, load_counter(), cache=CountCache(Path(os.devnull)))
        history = History.of(session)
        replay = replayed(
            ReplayInputs.of(history, table, calibration_source=calibration_source_of(history, table)), Plan()
        )
        context = context_at(replay, replay.state(replay.history.call_count))
        sent = dict(zip(context.blocks.tolist(), context.sent.tolist(), strict=True))
        kinds: dict[str, float] = {}
        tools: dict[str, float] = {}
        for index, tokens in sent.items():
            block = session.all_blocks[index]
            kinds[block.kind.label] = kinds.get(block.kind.label, 0.0) + tokens
            if block.kind is BlockKind.TOOL_RESULT:
                tools[block.tool_name] = tools.get(block.tool_name, 0.0) + tokens
        kinds[NOT_RECORDED] = context.rest
        results = [index for index in sent if session.all_blocks[index].kind is BlockKind.TOOL_RESULT]
        heaviest = sorted(results, key=lambda index: -sent[index])[:HEAVIEST]
        repeats = repeats_in(replay.history, context)
        window, tokens = replay.inputs.window.size, context.prompt.value or 0
        return {
            "session_id": session.identifier,
            "prompt_tokens": round(tokens),
            "known": context.prompt.known.value,
            "window_tokens": window,
            "share_of_window": round(tokens / window, 3) if window else None,
            "by_kind": _rounded(kinds),
            "by_tool": _rounded(tools),
            "heaviest_results": [
                {**self._entry(RecalledText(session, index)), "tokens": round(sent[index])} for index in heaviest
            ],
            "could_go": {
                "results": len(repeats),
                "tokens": round(sum(sent[repeat.block] for repeat in repeats)),
                "newest_first": [
                    {
                        "tool_call_id": session.all_blocks[repeat.block].tool_call_id,
                        "reference": RecalledText(session, repeat.block).reference,
                        "tokens": round(sent[repeat.block]),
                        "why": repeat.kind.value,
                        "path": repeat.path,
                    }
                    for repeat in repeats[::-1][:MOST_ENTRIES]
                ],
            },
        }

    def _result(self, session_id: str | None, execution_id: str, text: str | None, offset: int) -> dict[str, Any]:
        search = find_in(execution_id, self._headers(session_id))
        place = _only(search, execution_id)
        whole = _whole_text(place)
        if text:
            page = self._line_page(text, whole, offset)
            if page is None:
                raise MemoryQueryError(f"no line of {execution_id} contains {text!r}: omit text to get all of it")
            return {**self._entry(place), **page}
        return {**self._entry(place), **self._text_page(whole, offset)}

    def _found(self, headers: Sequence[Header], tool: str | None, text: str, limit: int, offset: int) -> dict[str, Any]:
        from inspector.recall.text_index import index_path, open_index

        most = MOST_ENTRIES if tool is not None else min(offset + limit + 1, 1_000)
        with open_index(None if os.environ.get(NO_INDEX) else index_path()) as index:
            index.update(headers)
            found = index.search(text, headers, most)
        hits = [
            hit for hit in found.hits if tool is None or hit.place.session.all_blocks[hit.place.block].tool_name == tool
        ]
        entries = [
            {**self._entry(hit.place), "line": hit.line, "excerpt": self._excerpt(hit.place, hit.excerpt)}
            for hit in hits[offset : offset + limit]
        ]
        return self._page("results", entries, len(hits), offset, {"sessions_searched": found.searched})

    def _entry(self, place: RecalledText) -> dict[str, Any]:
        block = place.session.all_blocks[place.block]
        begin = " ".join(self._part(place.session.text(block), 0, EXCERPT_CHARACTERS).split())
        return {
            "execution_id": block.tool_call_id or place.reference,
            "session_id": place.session.identifier,
            "turn": place.message,
            "kind": block.kind.label,
            "tool": block.tool_name,
            "is_error": block.is_error,
            "characters": block.characters,
            "begins": begin if block.characters <= EXCERPT_CHARACTERS else f"{begin}…",
        }

    def _page(
        self, name: str, entries: list[dict[str, Any]], total: int, offset: int, more: dict[str, Any]
    ) -> dict[str, Any]:
        end = offset + len(entries)
        return {**more, name: entries, "total": total, "next_offset": end if end < total and entries else None}

    def _text_page(self, text: str, offset: int) -> dict[str, Any]:
        """Return a page of a text; secrets across its edges are masked too."""
        if offset and offset >= len(text):
            raise MemoryQueryError(f"the text has {len(text):,} characters: offset must be smaller")
        end = min(len(text), offset + PAGE_CHARACTERS)
        return {
            "text": self._part(text, offset, end),
            "offset": offset,
            "total_characters": len(text),
            "next_offset": end if end < len(text) else None,
        }

    def _line_page(self, words: str, whole: str, offset: int) -> dict[str, Any] | None:
        """Return a page of the lines that contain some words, numbered; None if no line does.

        Only lines of the page are masked, so the time does not grow with the text. Offsets count unmasked characters.
        Lines with the words only inside a secret are dropped: queries must not confirm guesses of a secret.
        """
        pattern = re.compile(re.escape(words), re.IGNORECASE)
        parts: list[str] = []
        at = start = looked_at = 0
        next_offset = offset
        for number, line in enumerate(whole.split("\n"), 1):
            if hit := pattern.search(line):
                label = f"{number}:"
                end = at + len(label) + len(line)
                if end > offset and at < offset + PAGE_CHARACTERS and looked_at < MOST_LINES:
                    looked_at += 1
                    body = at + len(label)
                    first, last = (min(max(edge - body, 0), len(line)) for edge in (offset, offset + PAGE_CHARACTERS))
                    if pattern.search(
                        self._part(whole, start + hit.start(), start + min(len(line), hit.start() + AROUND_HIT))
                    ):
                        parts.append(label[max(0, offset - at) :] + self._part(whole, start + first, start + last))
                    next_offset = min(end + 1, offset + PAGE_CHARACTERS)
                at = end + 1
            start += len(line) + 1
        total = max(at - 1, 0)
        if total and offset >= total:
            raise MemoryQueryError(f"the text has {total:,} characters: offset must be smaller")
        has_more = next_offset < total
        if not parts and not has_more:
            return None
        return {
            "text": "\n".join(parts),
            "offset": offset,
            "total_characters": total,
            "next_offset": next_offset if has_more else None,
        }

    def _part(self, text: str, begin: int, end: int) -> str:
        """Return a part of a text; secrets across its edges are masked too."""
        if self._redactor is None:
            return text[begin:end]
        return self._redactor.part(text, begin, end)

    def _clean(self, text: str) -> str:
        return self._part(text, 0, len(text))

    def _excerpt(self, place: RecalledText, excerpt: str) -> str:
        """Return an excerpt of a text; secrets cut by its edges are masked too."""
        text = place.session.text(place.session.all_blocks[place.block])
        words = excerpt.strip("…")
        at = text.find(words)
        return (
            excerpt if not words else excerpt.replace(words, self._part(text, at, at + len(words)) if at >= 0 else "")
        )

    def _history(self, session_id: str | None) -> FileHistory:
        return file_history(self._session(session_id))

    def _session(self, session_id: str | None) -> Session:
        """Return the selected session, or the newest one without an id."""
        headers = self._headers(session_id)
        return self._open(next((header for header in headers if header.parent is None), headers[0]))

    def _headers(self, session_id: str | None) -> list[Header]:
        """Return the sessions to query, newest first, or the named one. Raises `MemoryQueryError`."""
        headers = sessions_at(self.paths) if self.paths else self._of_folder()
        if not headers:
            where = ", ".join(map(str, self.paths)) if self.paths else str(self.folder)
            raise MemoryQueryError(f"no session of {where} was found: pass one when starting the server")
        if not session_id:
            return headers
        wanted = session_id.lower()
        named = [
            header for header in headers if wanted in header.path.stem.lower() or wanted == header.identifier.lower()
        ]
        if not named:
            named = [header for header in headers[:MOST_OF_FOLDER] if wanted in self._open(header).identifier.lower()]
        if len(named) == 1:
            return named
        known = ", ".join(self._open(header).identifier for header in (named or headers)[:5])
        what = "matches several ids" if named else "is not an available session"
        raise MemoryQueryError(f"{session_id} {what}: {known}")

    def _of_folder(self) -> list[Header]:
        """Return sessions of the agent's working folder, among the newest of this machine."""
        found = []
        for header in sessions_at(())[:MOST_OF_FOLDER]:
            if header.parent is not None:
                continue
            try:
                worked_in = header.working_directory or self._open(header).working_directory
            except SessionError:
                continue
            if worked_in and self.folder.is_relative_to(Path(worked_in)):
                found.append(header)
        return found

    def _open(self, header: Header) -> Session:
        stamp = (header.size, header.modified, header.inode)
        known = self._opened.get(header.path)
        if known is None or known[0] != stamp:
            if len(self._opened) >= MOST_OF_FOLDER:
                self._opened.clear()
            known = stamp, open_session(header.path)
            self._opened[header.path] = known
        return known[1]


def _whole_text(place: RecalledText) -> str:
    """Return a text as `inspector recall` does: from before the hook or the agent itself trimmed it."""
    block = place.session.all_blocks[place.block]
    if block.kind is BlockKind.TOOL_RESULT:
        original = original_of(block.tool_call_id, place.session.identifier)
        if original is not None:
            return original
    whole = place.session.text(block)
    kept = full_output(place.session, whole)
    return whole if kept is None or kept.text is None else kept.text


def _only(search: RecallSearch, asked: str) -> RecalledText:
    """Return the single match. Raises `MemoryQueryError` if there is no match, or there are several."""
    if search.is_clear:
        return search.found[0]
    if search.found:
        places = ", ".join(place.reference for place in search.found[:5])
        raise MemoryQueryError(f"{asked} is ambiguous: use one of {places}")
    if search.without_result is not None:
        turn = search.without_result.message
        raise MemoryQueryError(f"{asked}: its call is recorded at turn {turn:,}, but without a result")
    near = f"; similar ids: {', '.join(search.near)}" if search.near else ""
    raise MemoryQueryError(f"no tool result has the id {asked}{near}")


def _check(**texts: str | None) -> None:
    for name, text in texts.items():
        if text is not None and len(text) > LONGEST_ARGUMENT:
            raise MemoryQueryError(f"{name} has {len(text):,} characters; the limit is {LONGEST_ARGUMENT:,}")
        if text is not None and "\x00" in text:
            raise MemoryQueryError(f"{name} contains a null byte")


def _check_page(limit: int, offset: int) -> None:
    if not 1 <= limit <= MOST_ENTRIES:
        raise MemoryQueryError(f"limit is {limit:,}; it must be 1 to {MOST_ENTRIES}")
    if offset < 0:
        raise MemoryQueryError(f"offset is {offset:,}; it must be 0 or more")


def _seconds(time: str) -> float:
    try:
        return datetime.fromisoformat(time).timestamp()
    except (ValueError, OverflowError, OSError):
        raise MemoryQueryError(f"{time!r} is not a time; use the form 2026-11-23T14:05") from None


def _rounded(tokens: dict[str, float]) -> dict[str, int]:
    return {name: round(value) for name, value in sorted(tokens.items(), key=lambda item: -item[1]) if round(value)}
