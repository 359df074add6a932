"""What every adapter stands on: a plan at the door through which messages go to a model, call after call.

A framework hands over the whole conversation before every call. The gate finds the conversation it has held so far by
its messages, adds what is new, and says what to send. Whatever fails, the messages go as they are, and a line on
standard error says so, once.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.replay.message_lists import Conversation, resolve_plan
from inspector.session.model import BlockKind
from inspector.strategies.core.rendition import Action

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from inspector.replay.engine.replay import Replay
    from inspector.replay.message_lists import MessageDict
    from inspector.replay.provider_messages import Form
    from inspector.strategies.plan import Plan

MOST_HELD = 8
"""Conversations that are held at once; of more, the ones not used for longest are read anew."""


class CutBlock(NamedTuple):
    """A block that a call sends otherwise than it came.

    Attributes:
        kind: What it is: `tool result`.
        tool: The tool of a call or result; empty for others.
        tool_call_id: Its id; empty for others.
        action: `cut`, `replaced` or `removed`.
        reason: The strategy, and why.
        characters_before: How long it is.
        characters_sent: How much of it is sent.
        is_new: It was sent otherwise in the call before.
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
    """What a plan made of one call: the call's row of the ledger, and what was cut.

    Attributes:
        call: The call, counted from 1.
        messages: Messages handed over.
        whole_tokens: Tokens of all of them, counted without what a provider adds around them.
        prompt_tokens: Tokens sent, counted so.
        reusable_tokens: Of these, what a prompt cache could hold from the call before.
        edits: Blocks that are sent otherwise than in the call before.
        cuts: Every block that is not sent whole.
        printed: What the described programs print when they act at this call, in their own words.
        plan: The plan's name.
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
        """What the plan left out; below 0 where it added."""
        return self.whole_tokens - self.prompt_tokens

    @property
    def diagnostic(self) -> str:
        """The line for standard error when the plan acted at this call; empty when it did not.

        In the words of the program that a strategy describes where that prints any, as the token budget's does.
        """
        if self.printed:
            return "\n".join(self.printed)
        if not self.edits:
            return ""
        what = f"{self.edits:,} block{'' if self.edits == 1 else 's'}"
        sent = f"{self.prompt_tokens:,} of {self.whole_tokens:,} tokens sent"
        return f"Note: Call {self.call:,}: {self.plan or 'the plan'} changed {what} — {sent}"


class PlanGate:
    """A plan before the model calls of an agent; each adapter holds one.

    Args:
        plan: A plan, one strategy in its one-line form, or the name of a ready plan.
        form: The form of the messages; found from their content where not given.
        on_call: Told of every call what was made of it.
        diagnostics: Print a line to standard error when the plan acts.

    Raises:
        PlanError: The plan's text is none.
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
        """What to send in the place of a conversation's messages; these themselves where anything fails."""
        try:
            with self._lock:
                conversation = self._conversation(messages)
                sent = conversation.to_send()
                self._tell(conversation)
        except Exception as error:  # noqa: BLE001  an agent goes on without its plan
            self._fail(error)
            return list(messages)
        return sent

    def result_texts(self, messages: Sequence[MessageDict]) -> dict[str, str]:
        """What to send of tool results that are not sent whole, by their tool call's id.

        For frameworks whose messages are objects of their own: what a plan does to other blocks is left out there, and
        a result that it removes, or whose id is not its own alone, goes whole.
        """
        try:
            with self._lock:
                conversation = self._conversation(messages)
                conversation.to_send()
                self._tell(conversation)
                return _result_texts(conversation.replayed)
        except Exception as error:  # noqa: BLE001  an agent goes on without its plan
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

    def _tell(self, conversation: Conversation) -> None:
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
