"""Base of all adapters: a gate that applies a plan to the messages of each model call.

A framework passes the whole conversation before every call. The gate matches it with the conversations of earlier
calls, adds the new messages, and returns the messages to send. On any error, it returns the messages unchanged and
prints one line on standard error, once.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.replay.message_lists import Conversation, Form, MessageDict, resolve_plan
from inspector.session.model import BlockKind
from inspector.strategies.core.operations import Action

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from inspector.replay.engine.replay import Replay
    from inspector.strategies.plan import Plan

MOST_HELD = 8
"""Maximum number of cached conversations; the least recently used ones are evicted and read again if needed."""


class CutBlock(NamedTuple):
    """A block that is not sent as it is.

    Attributes:
        kind: Kind of the block: `tool result`.
        tool: The tool of a call or result; otherwise empty.
        tool_call_id: Its id; otherwise empty.
        action: `cut`, `replaced` or `removed`.
        reason: The strategy and its reason.
        characters_before: Original length.
        characters_sent: Length sent.
        is_new: True if it was sent differently in the previous call.
    """

    kind: str
    tool: str
    tool_call_id: str
    action: str
    reason: str
    characters_before: int
    characters_sent: int
    is_new: bool


class CallReport(NamedTuple):
    """Effect of a plan on one call: its row of the ledger, and the cuts.

    Attributes:
        call: The call, counted from 1.
        whole_tokens: Tokens of all of them, excluding the provider's envelope.
        prompt_tokens: Tokens sent, excluding the provider's envelope.
        reusable_tokens: Tokens in `prompt_tokens` that a prompt cache could still hold from the previous call.
        edits: Number of blocks sent differently than in the previous call.
        cuts: All blocks that are not sent whole.
        printed: Messages that the real programs print when they act at this call.
    """

    call: int
    messages: int
    whole_tokens: int
    prompt_tokens: int
    reusable_tokens: int
    edits: int
    cuts: tuple[CutBlock, ...]
    printed: tuple[str, ...]
    plan: str

    @property
    def removed_tokens(self) -> int:
        """Tokens removed by the plan; negative if it added some."""
        return self.whole_tokens - self.prompt_tokens

    @property
    def diagnostic(self) -> str:
        """Line for standard error if the plan acted at this call, otherwise empty.

        It uses the message of the real program if that prints one, as for the token budget.
        """
        if self.printed:
            return "\n".join(self.printed)
        if not self.edits:
            return ""
        what = f"{self.edits:,} block{'' if self.edits == 1 else 's'}"
        sent = f"{self.prompt_tokens:,} of {self.whole_tokens:,} tokens sent"
        return f"Note: Call {self.call:,}: {self.plan or 'the plan'} changed {what} — {sent}"


class PlanGate:
    """Applies a plan before the model calls of an agent; used by every adapter.

    Args:
        plan: A plan, one strategy in its one-line form, or the name of a built-in plan.
        form: Format of the messages; detected from their content by default.
        on_call: Called with a report on every call.
        diagnostics: Print a line to standard error when the plan acts.

    Raises:
        PlanError: The plan is invalid.
    """

    def __init__(
        self,
        plan: Plan | str,
        form: Form | None = None,
        *,
        on_call: Callable[[CallReport], None] | None = None,
        diagnostics: bool = False,
    ) -> None:
        self._plan, self._form = resolve_plan(plan), form
        self._on_call, self._diagnostics = on_call, diagnostics
        self._held: list[Conversation] = []
        self._lock = threading.Lock()
        self._has_failed = False

    def to_send(self, messages: Sequence[MessageDict]) -> list[MessageDict]:
        """Return the messages to send; on any error, those passed in."""
        try:
            with self._lock:
                conversation = self._conversation(messages)
                sent = conversation.to_send()
                self._report_call(conversation)
        except Exception as error:  # noqa: BLE001  the agent continues without its plan
            self._fail(error)
            return list(messages)
        return sent

    def result_texts(self, messages: Sequence[MessageDict]) -> dict[str, str]:
        """Return the texts to send for tool results that are not sent whole, by tool call id.

        For frameworks with message objects: changes to other blocks are dropped. A result is sent whole if the plan
        removes it or its id is not unique.
        """
        try:
            with self._lock:
                conversation = self._conversation(messages)
                conversation.to_send()
                self._report_call(conversation)
                return _result_texts(conversation.replayed)
        except Exception as error:  # noqa: BLE001  the agent continues without its plan
            self._fail(error)
            return {}

    def _conversation(self, messages: Sequence[MessageDict]) -> Conversation:
        for held in self._held:
            if len(held) <= len(messages) and all(map(_is_same, held.messages, messages)):
                break
        else:
            held = Conversation(self._plan, self._form)
        self._held = [held, *(each for each in self._held if each is not held)][:MOST_HELD]
        held.add(*messages[len(held) :])
        return held

    def _report_call(self, conversation: Conversation) -> None:
        replayed = conversation.replayed
        if replayed is None or not (self._on_call or self._diagnostics):
            return
        report = _report(replayed, len(conversation))
        if self._diagnostics and report.diagnostic:
            _print(report.diagnostic)
        if self._on_call is not None:
            self._on_call(report)

    def _fail(self, error: Exception) -> None:
        if not self._has_failed:
            self._has_failed = True
            message = getattr(error, "message", "") or str(error)
            _print(f"inspector: the plan was not applied: {type(error).__name__}: {message}")


def _is_same(one: MessageDict, other: MessageDict) -> bool:
    return one is other or one == other


def _print(line: str) -> None:
    from inspector.safe_text import one_line

    if sys.stderr is not None:
        sys.stderr.write("".join(f"{one_line(each, 2_000)}\n" for each in line.split("\n")))


def _result_texts(replayed: Replay | None) -> dict[str, str]:
    if replayed is None:
        return {}
    session = replayed.history.session
    texts: dict[str, str] = {}
    for index, rendition in replayed.changed_renditions(replayed.history.call_count).items():
        block = session.blocks[index]
        if block.kind is not BlockKind.TOOL_RESULT or not block.tool_call_id or rendition.kind is not None:
            continue
        if rendition.action is Action.REMOVED or block.tool_call_id in session.repeated_call_ids:
            continue
        texts[block.tool_call_id] = rendition.text(session.text(block))
    return texts


def _report(replayed: Replay, messages: int) -> CallReport:
    history, session = replayed.history, replayed.history.session
    call = history.call_count
    state = replayed.state(call)
    prompt = history.prompt(call)
    cuts = []
    for index, rendition in sorted(replayed.changed_renditions(call).items()):
        if rendition.action is Action.WHOLE or not state.in_prompt[index]:
            continue
        block = session.blocks[index]
        cuts.append(
            CutBlock(
                block.kind.label,
                block.tool_name,
                block.tool_call_id,
                rendition.action.label,
                replayed.reason(index, call),
                block.characters,
                rendition.length,
                replayed.changed_at(index, call) == call,
            )
        )
    reusable = prompt[: int(replayed.reusable_blocks[call])]
    return CallReport(
        call + 1,
        messages,
        int(state.recorded[prompt].sum(dtype=np.int64)),
        int(state.sent[prompt].sum(dtype=np.int64)),
        int(state.sent[reusable].sum(dtype=np.int64)),
        sum(cut.is_new for cut in cuts),
        tuple(cuts),
        tuple(_printed(replayed, call)),
        replayed.plan.name,
    )


def _printed(replayed: Replay, call: int) -> list[str]:
    return [notice.text for notice in replayed.edits.notices if notice.call == call]
