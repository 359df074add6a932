"""OpenCode's pruning plug-in (opencode-dcp 3.1): equal tool calls, and failed calls.

Tools and files can be protected by patterns. Since version 3 the program acts only when the model compresses the
conversation.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from inspector.session.model import BlockKind, Role, TextUnavailableError
from inspector.strategies.core import javascript
from inspector.strategies.core.batching import Batching
from inspector.strategies.core.operations import BlockSource, ReplaceText, sent_text
from inspector.strategies.core.parameters import ToolList
from inspector.strategies.core.parametrized import choice, integer, tools
from inspector.strategies.core.rendition import Action, Rendition
from inspector.strategies.core.schedule_builder import CONTEXT_RESET, ScheduleBuilder
from inspector.strategies.core.strategy import Decision
from inspector.strategies.history.arguments import arguments_text, decoded, path_of
from inspector.strategies.history.arrival_order import arrivals, later
from inspector.strategies.history.history import NEVER
from inspector.strategies.history.memo import TextMemo
from inspector.strategies.history.tools import tool_kind_mask

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from inspector.session.model import Block, Session
    from inspector.strategies.core.strategy import Schedule
    from inspector.strategies.history.history import History


_PATCHED_FILE = re.compile(r"\*\*\* (?:Add|Delete|Update) File: ([^\n\r]+)")


def signature_of(session: Session, call: Block) -> str:
    """Return a signature of a tool call, equal for equal tools and inputs.

    Null values count as not given. The rule is opencode-dcp's (`lib/strategies/deduplication.ts`).
    """
    return f"{call.tool_name}::{_input_signature(session, call)}"


def files_of(session: Session, call: Block) -> tuple[str, ...]:
    """Return the files named in a tool call's input, including those in a patch."""
    named = path_of(session, call)
    value = decoded(_input(session, call)) if call.tool_name in ("apply_patch", "multiedit") else None
    found = [named] if named else []
    if isinstance(value, dict):
        if isinstance(value.get("patchText"), str):
            found += [path.strip() for path in _PATCHED_FILE.findall(value["patchText"])]
        edits = value.get("edits")
        for edit in edits if isinstance(edits, list) else ():
            if isinstance(edit, dict) and isinstance(edit.get("filePath"), str):
                found.append(edit["filePath"])
    return tuple(dict.fromkeys(found))


def _input(session: Session, call: Block) -> str:
    """Return a call's input, or its beginning if it can no longer be read."""
    try:
        return arguments_text(session, call)
    except TextUnavailableError:
        return call.preview


def _of_input(text: str) -> str:
    value = decoded(text)
    if not isinstance(value, dict):
        return text
    try:
        given = {name: each for name, each in value.items() if each is not None}
        return msgspec.json.encode(given, order="deterministic").decode()
    except (UnicodeEncodeError, RecursionError):
        return text


_input_signature = TextMemo(_of_input, "", _input)


def matches_any(text: str, patterns: Iterable[str]) -> bool:
    """Return True if a path or name fully matches one of the patterns.

    `**/` matches any number of folders, `**` anything, `*` anything without a slash, `?` one character except a slash.
    """
    return any(_compiled(pattern).fullmatch(text) is not None for pattern in patterns if pattern)


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    written = ""
    position = 0
    for wildcard in re.finditer(r"\*\*/|\*\*|\*|\?", pattern):
        written += re.escape(pattern[position : wildcard.start()]) + _MEANING[wildcard.group()]
        position = wildcard.end()
    return re.compile(written + re.escape(pattern[position:]))


_MEANING = {"**/": r"(?:[^\n]*/)?", "**": r"[^\n]*", "*": "[^/]*", "?": "[^/]"}


@dataclass(frozen=True, slots=True)
class BlankInput:
    """Replace values in a tool call's input with a note.

    Attributes:
        note: The text that replaces them.
        name: Name of the only value to replace, of any type; empty to replace every string.
    """

    note: str
    name: str = ""

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Replace the values; return the rendition unchanged if it is not an object or has no such values."""
        text = sent_text(rendition, source)
        value = _object(text) if text else None
        if not value:
            return rendition
        blanked: dict[str, object] = {
            key: self.note if (key == self.name if self.name else isinstance(each, str)) else each
            for key, each in value.items()
        }
        if blanked == value:
            return rendition
        return Rendition((javascript.compact_json(blanked),), Action.CUT, rendition.kind)


def _object(text: str) -> dict[str, object] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


DEFAULT_PROTECTED = (
    "task",
    "skill",
    "todowrite",
    "todoread",
    "compress",
    "batch",
    "plan_enter",
    "plan_exit",
    "write",
    "edit",
)
"""Tools that are left alone by default (`lib/config.ts`)."""

COMPRESS = "compress"
"""Tool with which the model compresses the conversation."""

WHEN = ("each-call", "on-compress")
WHEN_HELP = "Act before each call, or only once the model has called the compress tool."


def is_protected(session: Session, call: Block, tools: tuple[str, ...], files: tuple[str, ...]) -> bool:
    if matches_any(call.tool_name, tools):
        return True
    return bool(files) and any(matches_any(file, files) for file in files_of(session, call))


def batched(history: History, context: int, calls: NDArray[np.int32], when: str) -> NDArray[np.int32]:
    """Return the calls at which decisions possible at `calls` are made.

    Args:
        history: The recorded history.
        context: The context of the decisions.
        calls: Per decision, the first possible call, `NEVER` for none.
        when: One of `WHEN`.
    """
    if when != "on-compress":
        return calls
    compressing = history.results_of(tool_kind_mask(history.tool_names, (), (COMPRESS,)))
    at = np.unique(history.enters[compressing])
    of_call = history.call_context[np.minimum(at, history.call_count)]
    at = at[(at != NEVER) & (of_call == context)]
    decided: NDArray[np.int32] = np.append(at, NEVER).astype(np.int32)[np.searchsorted(at, calls, side="left")]
    return decided


PLACEHOLDER = "[Output removed to save context - information superseded or no longer needed]"
BLANK_INPUT = "[input removed due to failed tool call]"
BLANK_QUESTIONS = "[questions removed - see output for user's answers]"
OUTPUT_KEPT = ("question", "edit", "write")
"""Tools with output that is never removed."""


@dataclass(frozen=True)
class DcpDedupe(Batching):
    """Clear the output of all but the newest of equal tool calls.

    Source: deduplication of opencode-dcp 3.1 (@tarquinen/opencode-dcp `lib/strategies/deduplication.ts`,
    `lib/messages/prune.ts`). Calls of one tool with the same input, in any order of names, are duplicates; all but the
    newest lose their output. A failed call keeps its error and loses its input. Since version 3 the program looks for
    duplicates only when the model compresses the conversation (`when=on-compress`), so that the prompt cache survives.
    Sessions recorded without the program have no such calls, so the default here is every call, as in version 1.
    """

    name = "dcp-dedupe"
    title = "Deduplicate calls (DCP)"
    summary = "When a tool is called again with the same input, clear the output of the earlier call."
    source = "opencode-dcp 3.1.14 lib/strategies/deduplication.ts"

    when: str = choice(WHEN, WHEN_HELP)
    protected_tools: tuple[str, ...] = tools(
        DEFAULT_PROTECTED, "Tools that are left alone; * and ? are wildcards.", about=ToolList.LEFT_ALONE
    )
    protected_files: tuple[str, ...] = tools((), "Leave calls on these files alone; patterns with *, ** and ?.")

    def schedule(self, history: History) -> Schedule:
        """Clear output at the call that adds the result of the next equal call."""
        builder = ScheduleBuilder(history)
        signature = self._signatures(history)
        clear = Decision(ReplaceText(PLACEHOLDER), "called again with the same input", points_to="later")
        blank = Decision(BlankInput(BLANK_INPUT), "failed, and called again with the same input")
        ask = Decision(BlankInput(BLANK_QUESTIONS, "questions"), "asked again")
        questions = tool_kind_mask(history.tool_names, (), ("question",))
        kept = tool_kind_mask(history.tool_names, (), OUTPUT_KEPT)
        for context in arrivals(history, signature >= 0):
            order = np.argsort(signature[context.blocks], kind="stable")
            blocks, calls = context.blocks[order], context.calls[order]
            same = signature[blocks[1:]] == signature[blocks[:-1]]
            again = np.append(np.where(same, calls[1:], NEVER), NEVER)[: len(blocks)].astype(np.int32)
            again = batched(history, context.context, again, self.when)
            retained = context.blocks[: context.retained]
            for column in (retained, history.call_block[retained]):
                builder.add(column, context.calls[: context.retained], CONTEXT_RESET)
            failed = history.is_error[blocks]
            shown = ~failed & ~kept[history.tool[blocks]]
            builder.add(blocks[shown], again[shown], clear)
            builder.add(history.call_block[blocks[failed]], again[failed], blank)
            asked = ~failed & questions[history.tool[blocks]]
            builder.add(history.call_block[blocks[asked]], again[asked], ask)
        return builder.schedule()

    def _signatures(self, history: History) -> NDArray[np.int32]:
        """Return, per block, the number of its call's signature; -1 for blocks that are not results, or protected."""
        session = history.session
        signature = np.full(len(history.kind), -1, dtype=np.int32)
        results = history.results[history.call_block[history.results] >= 0]
        numbers: dict[str, int] = {}
        for block, call in zip(results.tolist(), history.call_block[results].tolist(), strict=True):
            made = session.blocks[call]
            if not is_protected(session, made, self.protected_tools, self.protected_files):
                signature[block] = numbers.setdefault(signature_of(session, made), len(numbers))
        return signature


@dataclass(frozen=True)
class DcpPurgeErrors(Batching):
    """Blank the input of tool calls that failed some turns ago.

    Source: purgeErrors of opencode-dcp 3.1 (@tarquinen/opencode-dcp `lib/strategies/purge-errors.ts`,
    `lib/messages/prune.ts`). There a turn is a model response, not a user question. Every string in the input is
    replaced; other values stay. See `dcp-dedupe` for when the program acts.
    """

    name = "dcp-purge-errors"
    title = "Purge failed calls (DCP)"
    summary = "A few responses after a failed tool call, blank the texts of its input and keep the error."
    source = "opencode-dcp 3.1.14 lib/strategies/purge-errors.ts"

    turns: int = integer(
        4, "Model responses after which a failed call's input is blanked.", "turns", minimum=1, maximum=1_000
    )
    when: str = choice(WHEN, WHEN_HELP)
    protected_tools: tuple[str, ...] = tools(
        DEFAULT_PROTECTED, "Tools that are left alone; * and ? are wildcards.", about=ToolList.LEFT_ALONE
    )
    protected_files: tuple[str, ...] = tools((), "Leave calls on these files alone; patterns with *, ** and ?.")

    def schedule(self, history: History) -> Schedule:
        """Blank input at the call with `turns` responses after the one that made the tool call."""
        builder = ScheduleBuilder(history)
        old = Decision(BlankInput(BLANK_INPUT), f"failed {self.turns} turns ago")
        session = history.session
        failed = history.results[history.is_error[history.results] & (history.call_block[history.results] >= 0)]
        purged = np.zeros(len(history.kind), dtype=np.bool_)
        for call in history.call_block[failed].tolist():
            purged[call] = not is_protected(session, session.blocks[call], self.protected_tools, self.protected_files)
        responses = np.fromiter(
            (message.role is Role.ASSISTANT for message in session.messages), np.bool_, len(session.messages)
        )
        of_model = responses[history.message] & (history.kind != BlockKind.OTHER)
        for context in arrivals(history, of_model):
            messages = history.message[context.blocks]
            first = np.append(True, messages[1:] != messages[:-1])[: len(messages)]
            step = np.cumsum(first) - 1
            chosen = purged[context.blocks]
            blocks = context.blocks[chosen]
            retained = blocks[: int(np.count_nonzero(chosen[: context.retained]))]
            builder.add(retained, context.calls[chosen][: len(retained)], CONTEXT_RESET)
            goes = later(context.calls[first], self.turns)[step[chosen]]
            builder.add(blocks, batched(history, context.context, goes, self.when), old)
        return builder.schedule()
