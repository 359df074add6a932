"""A plan an agent holds while it works: messages go in one by one, and what to send comes out before every call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.replay.given import counted, inputs_of_given, plan_of_given
from inspector.replay.replay import replay
from inspector.replay.rewriting import rewritten
from inspector.session.formats.plain.reader import read_conversation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.replay.messages import Form
    from inspector.strategies.plan import Plan
    from inspector.tokens.table import TokenTable

Entry = dict[str, Any]


class Conversation:
    """A conversation under a plan.

    What it gives is what `compact` gives for the messages so far: every earlier call is replayed, so that strategies
    that remember or wait for a trigger stand where they would. Texts are counted once, when they come.

    Args:
        plan: A plan, its one-line form (`tiered-stale:data=400`), or the name of a ready one (`careful`).
        form: The form of the messages; told from their content where not given.

    Raises:
        PlanError: The plan's text is none.
    """

    def __init__(self, plan: Plan | str, form: Form | None = None) -> None:
        self._plan = plan_of_given(plan)
        self._form: Form | None = form
        self._entries: list[Entry] = []
        self._table: TokenTable | None = None

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, *messages: Entry) -> None:
        """Add messages at the end: what was said, the model's responses, tool results. They are kept as they are."""
        self._entries.extend(messages)

    @property
    def messages(self) -> Sequence[Entry]:
        """Everything that was added, whole."""
        return tuple(self._entries)

    def to_send(self) -> list[Entry]:
        """The messages to send with the next call, in the form they came in.

        Raises:
            SessionError: The messages are no conversation in either form.
        """
        if not self._entries:
            return []
        session = read_conversation(self._entries, self._form)
        self._table = counted(session, self._table)
        outcome = replay(inputs_of_given(session, self._table), self._plan)
        return rewritten(self._entries, session, outcome.changed_renditions(outcome.history.call_count))
