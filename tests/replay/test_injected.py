"""Texts that the agent inserted into user messages: detection, and equal counts on every page."""

from pathlib import Path

import numpy as np
import pytest

from inspector.replay.analysis.breakdown import Breakdown, resend_cost
from inspector.replay.analysis.context_blocks import INJECTED, injected_blocks
from inspector.replay.analysis.context_breakdown import Grouping, Scope, context_breakdown
from inspector.replay.sessions import replay_session
from inspector.session.model import BlockKind
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from tests.replay.test_model_costs import TWO_MODELS, UNDER_ANOTHER_NAME, the_session

WRITTEN_BY_PROGRAM = ("<system-reminder>\nThe user sent the following message:\n<task-notification>", "<environment")
WRITTEN_BY_PEOPLE = ("pick up where", "<system-reminder>\nThe user sent the following message:\nok for #33", "re: the")


def test_notices_and_reminders_are_injected_and_what_a_person_typed_meanwhile_is_not(corpus: Path) -> None:
    for pattern in (TWO_MODELS, UNDER_ANOTHER_NAME):
        history = replay_session(open_session(the_session(corpus, pattern)), Plan()).history
        texts = {int(block): history.session.blocks[block].preview for block in range(len(history.kind))}
        injected = set(np.flatnonzero(injected_blocks(history)).tolist())

        assert all(history.kind[block] == BlockKind.USER_TEXT for block in injected)
        for block in np.flatnonzero(history.kind == BlockKind.USER_TEXT).tolist():
            if texts[block].startswith(WRITTEN_BY_PROGRAM):
                assert block in injected, texts[block]
            if texts[block].startswith(WRITTEN_BY_PEOPLE):
                assert block not in injected, texts[block]


def test_the_window_and_the_report_count_the_same_injected_text(corpus: Path) -> None:
    found = replay_session(open_session(the_session(corpus, TWO_MODELS)), Plan())
    state = found.state(found.history.call_count)
    window = context_breakdown(found, state, resend_cost(found), Grouping.ROLE, Scope.SESSION)
    parts = {part.name: part for part in window.parts}
    rows = {row.kind: row for row in Breakdown(found, found).by_kind() if not row.tool}

    for part, row in ((parts[INJECTED], rows[INJECTED]), (parts["user"], rows["user text"])):
        assert len(part.blocks) == row.blocks
        assert part.tokens == pytest.approx(row.carried_tokens, abs=1)
        assert part.token_calls == pytest.approx(row.sent_tokens, abs=1)
