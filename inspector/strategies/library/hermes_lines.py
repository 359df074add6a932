"""Hermes' one-line replacements of old tool results, and its cuts of long arguments.

Source: hermes-agent 0.19.0 `agent/context_compressor.py`: `_summarize_tool_result`, `_truncate_tool_call_args_json` and
`_estimate_msg_budget_tokens`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inspector.strategies.core.measures import Measure
from inspector.strategies.core.operations import sent_text
from inspector.strategies.core.rendition import Action, Rendition

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.session.model import Block
    from inspector.strategies.core.operations import BlockSource

_EXIT_CODE = re.compile(r'"exit_code"\s*:\s*(-?\d+)')
_TOTAL_COUNT = re.compile(r'"total_count"\s*:\s*(\d+)')
_BROWSER = ("navigate", "click", "snapshot", "type", "scroll", "vision")

Arguments = dict[str, Any]


def line_for(tool: str, arguments: str, text: str, *, newer: bool = False) -> str:
    """Return the replacement of a result: its tool, its arguments, and the size of its output.

    Args:
        tool: The tool's name, `unknown` if the call is missing.
        arguments: The call's arguments as JSON.
        text: The result.
        newer: Follow 0.21: include the user's answer and how to reload a skill, and use new tool names.
    """
    lines = _NEWER_LINES if newer else _LINES
    try:
        parsed = json.loads(arguments) if arguments else {}
    except (ValueError, RecursionError):
        parsed = {}
    try:
        return lines.get(tool, _other)(_Result(tool, parsed if isinstance(parsed, dict) else {}, text))
    except (TypeError, ValueError, AttributeError, LookupError, RecursionError):
        return f"[{tool}] ({len(text):,} chars result)"


@dataclass(frozen=True, slots=True)
class _Result:
    tool: str
    arguments: Arguments
    text: str

    @property
    def size(self) -> str:
        return f"{len(self.text):,} chars"

    @property
    def lines(self) -> int:
        return self.text.count("\n") + 1 if self.text.strip() else 0

    def get(self, name: str, default: str = "?") -> Any:
        return self.arguments.get(name, default)

    def written(self, name: str) -> str:
        value = self.arguments.get(name, "")
        return "" if value is None else str(value)


def _short(text: str, most: int) -> str:
    return text[: most - 3] + "..." if len(text) > most else text


def _terminal(result: _Result) -> str:
    code = _EXIT_CODE.search(result.text)
    command = _short(result.written("command"), 80)
    return f"[terminal] ran `{command}` -> exit {code.group(1) if code else '?'}, {result.lines} lines output"


def _search_files(result: _Result) -> str:
    count = _TOTAL_COUNT.search(result.text)
    matches = count.group(1) if count else "?"
    what = f"{result.get('target', 'content')} search for '{result.get('pattern')}' in {result.get('path', '.')}"
    return f"[search_files] {what} -> {matches} matches"


def _write_file(result: _Result) -> str:
    lines = result.written("content").count("\n") + 1 if result.arguments.get("content") else "?"
    return f"[write_file] wrote to {result.get('path')} ({lines} lines)"


def _browser(result: _Result) -> str:
    url, ref = result.get("url", ""), result.get("ref", "")
    detail = f" {url}" if url else f" ref={ref}" if ref else ""
    return f"[{result.tool}]{detail} ({result.size})"


def _web_extract(result: _Result) -> str:
    urls = result.arguments.get("urls", [])
    several = isinstance(urls, list)
    first = urls[0] if several and urls else "?"
    if isinstance(first, dict):
        first = first.get("url") or first.get("href") or "?"
    elif not isinstance(first, str):
        first = "?"
    more = f" (+{len(urls) - 1} more)" if several and len(urls) > 1 else ""
    # Hermes cannot append to an address that is not a text, and its error line has less detail.
    return f"[web_extract] {first + more if more else first} ({result.size})"


def _execute_code(result: _Result) -> str:
    code = result.written("code")
    preview = code[:60].replace("\n", " ") + ("..." if len(code) > 60 else "")
    return f"[execute_code] `{preview}` ({result.lines} lines output)"


def _other(result: _Result) -> str:
    named = "".join(f" {name}={str(value)[:40]}" for name, value in list(result.arguments.items())[:2])
    return f"[{result.tool}]{named} ({result.size} result)"


_LINES: dict[str, Callable[[_Result], str]] = {
    "terminal": _terminal,
    "read_file": lambda it: f"[read_file] read {it.get('path')} from line {it.arguments.get('offset', 1)} ({it.size})",
    "write_file": _write_file,
    "search_files": _search_files,
    "patch": lambda it: f"[patch] {it.get('mode', 'replace')} in {it.get('path')} ({it.size} result)",
    **{f"browser_{what}": _browser for what in _BROWSER},
    "web_search": lambda it: f"[web_search] query='{it.get('query')}' ({it.size} result)",
    "web_extract": _web_extract,
    "delegate_task": lambda it: f"[delegate_task] '{_short(it.written('goal'), 60)}' ({it.size} result)",
    "execute_code": _execute_code,
    **{
        name: lambda it: f"[{it.tool}] name={it.get('name')} ({it.size})"
        for name in ("skill_view", "skills_list", "skill_manage")
    },
    "vision_analyze": lambda it: f"[vision_analyze] '{it.written('question')[:50]}' ({it.size})",
    "memory": lambda it: f"[memory] {it.get('action')} on {it.get('target')}",
    "todo": lambda _: "[todo] updated task list",
    "clarify": lambda _: "[clarify] asked user a question",
    "text_to_speech": lambda it: f"[text_to_speech] generated audio ({it.size})",
    "cronjob": lambda it: f"[cronjob] {it.get('action')}",
    "process": lambda it: f"[process] {it.get('action')} session={it.get('session_id')}",
}


_LONGEST_SKILL = 5_000
_LONGEST_ANSWER = 199
_NO_ANSWERS = (
    "The user did not provide a response",
    "[user did not respond",
    "[clarify prompt could not be delivered",
    "[oneshot mode:",
)


def _skill_view(result: _Result) -> str:
    skill = result.get("name")
    line = f"[skill_view] name={skill} ({result.size})"
    if len(result.text) <= _LONGEST_SKILL:
        return line
    return f"{line} [SKILL_PRUNED: content lost in compression; reload with skill_view(name='{skill}')]"


def _clarify(result: _Result) -> str:
    answer = _answer(result.text)
    if answer is None:
        return "[clarify] asked user a question"
    written = json.dumps(answer, ensure_ascii=False).encode("utf-8", errors="backslashreplace").decode("utf-8")
    line, cut = f"[clarify] user responded: {written}", "...[truncated]"
    return line if len(line) <= _LONGEST_ANSWER else line[: _LONGEST_ANSWER - len(cut)].rstrip() + cut


def _answer(text: str) -> str | list[str] | None:
    """Return the user's answer; None if there is none, or only a note that there is none."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    answer = found.get("user_response") if isinstance(found, dict) else None
    parts = answer if isinstance(answer, list) else [answer]
    texts = [each for each in parts if isinstance(each, str) and each]
    if not parts or len(texts) < len(parts) or any(text.lstrip().startswith(_NO_ANSWERS) for text in texts):
        return None
    return answer


_RENAMED = {"todo": "todo_list", "cronjob": "cronjob_manage", "process": "process_manage"}
_NEWER_LINES = {_RENAMED.get(tool, tool): line for tool, line in _LINES.items()} | {
    "skill_view": _skill_view,
    "clarify": _clarify,
}


@dataclass(frozen=True, slots=True)
class ShrinkArguments:
    """Cut every long text in a call's arguments, which stay valid JSON.

    Attributes:
        limit: Longest arguments that are left whole, in characters of JSON.
        keep: Characters kept of every text.
    """

    limit: int = 500
    keep: int = 200

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        if rendition.length <= self.limit:
            return rendition
        text = sent_text(rendition, source)
        try:
            shrunk = text if text is None else json.dumps(self._shrunk(json.loads(text)), ensure_ascii=False)
        except (ValueError, RecursionError):
            return rendition
        if shrunk is None or shrunk == text:
            return rendition
        return Rendition((shrunk,), Action.CUT, rendition.kind)

    def _shrunk(self, value: Any) -> Any:
        if isinstance(value, str):
            return value[: self.keep] + "...[truncated]" if len(value) > self.keep else value
        if isinstance(value, dict):
            return {name: self._shrunk(inner) for name, inner in value.items()}
        return [self._shrunk(inner) for inner in value] if isinstance(value, list) else value


PER_TOKEN = 4
PER_IMAGE = 6_400
_AROUND_CALL = len("{'id': , 'type': 'function', 'function': {'name': , 'arguments': }}")
REPR_CHARACTERS = Measure(lambda text: len(repr(text)))
"""Length of a text as a Python literal."""


def call_characters(call: Block, arguments: int) -> int:
    """Count the characters of a tool call's Python form, given the length of its quoted arguments."""
    return _AROUND_CALL + len(repr(call.tool_call_id)) + len(repr(call.tool_name)) + arguments


def call_tokens(call: Block, arguments: int) -> int:
    """Estimate the tokens of a tool call as a quarter of its Python form, given the length of its quoted arguments."""
    return call_characters(call, arguments) // PER_TOKEN
