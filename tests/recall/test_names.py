"""Names in notices lead back to the result, in real and in generated sessions."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from inspector.errors import SessionError
from inspector.recall.find import call_of, call_without_result, find, matching_blocks, similar_ids, strip_reference
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.replay.pricing.prices import Pricing
from inspector.session.discovery import sessions_in
from inspector.session.files import Locator
from inspector.session.model import BlockKind
from inspector.session.open import open_session
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.tokens.token_table import TokenTable
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from inspector.session.model import Session

MOST_BLOCKS, MOST_BYTES = 1_500, 4_000_000
SAID = re.compile(
    r"execution_id: (\S+?)\)|[Ss]aved to: (\S+)|[Ff]ull output(?: see| available at)?: (\S+?)[\]\s]|"
    r"at this path: (\S+)|tool call (\S+?) was saved"
)
PLANS = (
    *(f"clear-old:keep=1,notice={notice}" for notice in ("messages", "prompt")),
    "store-large:limit=500",
    "deepagents-evict:limit=100,exempt-tools=none",
    "opencode-truncate:max-lines=5",
    "gemini-mask:protect=100,minimum=0,exempt-tools=none",
    "gemini-truncate:limit=500,applies-to=all",
    "pi-truncate:max-lines=5",
)


def said_of_results(session: Session) -> Iterator[tuple[str, int, str]]:
    inputs = ReplayInputs.of(History.of(session), TokenTable.estimated(session), pricing=Pricing())
    for name in PLANS:
        planned = replay(inputs, Plan.from_specs([name], session=session))
        last = inputs.history.call_count - 1
        for block in planned.changed_renditions(last):
            if session.blocks[block].kind is not BlockKind.TOOL_RESULT or not session.blocks[block].tool_call_id:
                continue
            sent, recorded = planned.text(block, last), session.text(session.blocks[block])
            for found in SAID.finditer(sent):
                said = next(group for group in found.groups() if group)
                # Results that the agent saved elsewhere are out of scope.
                if said.partition("\\n")[0] not in recorded:
                    yield said, block, name


EDITS = "smart-diff-compression:changes=1,line={ids},marker=~"


def assert_notes_of_edits_lead_back(sessions: list[Session]) -> Counter[str]:
    seen: Counter[str] = Counter()
    for session in sessions:
        inputs = ReplayInputs.of(History.of(session), TokenTable.estimated(session), pricing=Pricing())
        planned = replay(inputs, Plan.from_specs([EDITS], session=session))
        last = inputs.history.call_count - 1
        changed = set(planned.changed_renditions(last))
        results = {block for block in changed if session.blocks[block].kind is BlockKind.TOOL_RESULT}
        sent = {block: planned.text(block, last) for block in results}
        notes = [text for text in sent.values() if text.startswith("[Edits to ")]
        said = [each for text in notes for line in text.splitlines()[1:-1] for each in line.split(", ")]
        for identifier in said:
            found = matching_blocks(session, strip_reference(identifier))
            assert len(found) == 1, (identifier, session.path)
            assert call_of(session, found[0]) in changed, (identifier, session.path)
            assert found[0] in changed, (identifier, session.path)
        # A search reads the whole file, so test one name of each session.
        for identifier in said[:1]:
            there = find(identifier, [Locator.of(session.path).file]).found
            assert [each.block for each in there if each.session.path == session.path] == matching_blocks(
                session, strip_reference(identifier)
            )
        # Some agents record that they cleared results themselves.
        assert len(said) == len(set(said)) == len(notes) + sum(not text for text in sent.values())
        seen[session.format] += len(said)
    return seen


def assert_said_leads_back(sessions: list[Session]) -> Counter[str]:
    seen: Counter[str] = Counter()
    for session in sessions:
        for said, block, name in said_of_results(session):
            found = matching_blocks(session, strip_reference(said))
            texts = {session.text(session.blocks[each]) for each in found}
            assert session.text(session.blocks[block]) in texts, (name, said, session.path)
            calls = [each for each in session.blocks if each.kind is BlockKind.TOOL_CALL]
            if sum(each.tool_call_id == session.blocks[block].tool_call_id for each in calls) == 1:
                assert len(found) == 1, (name, said, session.path)
            seen[name] += 1
    return seen


@pytest.mark.long
def test_every_id_and_file_in_a_notice_leads_to_the_result_in_the_samples() -> None:
    sessions = [open_session(path) for path in sorted((ROOT / "sample_sessions").glob("*.json*"))]
    seen = assert_said_leads_back(sessions)
    assert set(seen) == set(PLANS)
    assert assert_notes_of_edits_lead_back(sessions)["claude-code"]


@pytest.mark.long
def test_every_id_and_file_in_a_notice_leads_to_the_result_in_real_sessions(corpus: Path) -> None:
    kept: dict[str, Session] = {}
    for found in sessions_in(corpus):
        if found.path.is_file() and found.path.stat().st_size > MOST_BYTES:
            continue
        try:
            session = open_session(found.path)
        except SessionError:
            continue
        known = kept.get(session.format)
        if len(session.blocks) <= MOST_BLOCKS and (known is None or len(session.blocks) > len(known.blocks)):
            kept[session.format] = session
    sessions = [session for session in kept.values() if session.calls]
    seen = assert_said_leads_back(sessions)
    assert set(seen) == set(PLANS)
    assert min(seen.values()) > 20
    notes = assert_notes_of_edits_lead_back(sessions)
    assert len([count for count in notes.values() if count]) >= 4, notes
    assert notes.total() > 30, notes


@pytest.mark.parametrize("around", ["{}", " {}\n", "'{}'", "(execution_id: {})", "[{}]", "`{}`", "…/{}.txt", "{}..."])
def test_text_around_an_id_is_no_part_of_it(around: str) -> None:
    session = open_session(ROOT / "sample_sessions" / "coding-agent.jsonl")
    block = next(index for index, each in enumerate(session.blocks) if each.kind is BlockKind.TOOL_RESULT)
    asked = around.format(session.blocks[block].tool_call_id)
    assert matching_blocks(session, strip_reference(asked)) == [block]


def test_a_short_beginning_means_nothing_and_a_longer_one_all_that_begin_so() -> None:
    session = open_session(ROOT / "sample_sessions" / "coding-agent.jsonl")
    results = [index for index, each in enumerate(session.blocks) if each.kind is BlockKind.TOOL_RESULT]
    assert matching_blocks(session, "toolu") == []
    assert matching_blocks(session, "toolu_01") == [
        index for index in results if session.blocks[index].tool_call_id.startswith("toolu_01")
    ]


def test_a_call_without_a_result_is_distinguished_from_an_id_that_no_one_has() -> None:
    session = open_session(ROOT / "sample_sessions" / "coding-agent.jsonl")
    call = next(index for index, each in enumerate(session.blocks) if each.kind is BlockKind.TOOL_CALL)
    assert call_without_result(session, session.blocks[call].tool_call_id) == call
    assert call_without_result(session, "nobody") is None


def test_near_ids_are_the_likest_first() -> None:
    assert similar_ids(["toolu_abc1", "toolu_abc2x", "", "call_9"], "toolu_abc1") == ["toolu_abc1", "toolu_abc2x"]
