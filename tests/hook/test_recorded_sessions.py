"""The hook on recorded tool results sends the same texts as a replay of the same plan."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from inspector.hook.events import claude_code
from inspector.hook.run import HookArguments, respond
from inspector.recall.originals import find_originals, stored_originals, stored_path
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.replay.pricing.prices import Pricing
from inspector.session.model import BlockKind
from inspector.session.open import open_session
from inspector.strategies.history.history import NEVER, History
from inspector.strategies.plan import Plan
from inspector.tokens.token_table import TokenTable
from tests.hook.events import recorded_events, sent_output

SESSIONS = (
    "0cf3db51-1c73-43bb-8d05-dc02739514a5",
    "70d782f7-b303-4e48-9512-6bec16c37abd",
    "8ecab05f-4481-43d6-9428-a6b177981877",
    "e92f5a0b-1b9e-4913-98b3-c319b4d5e90b",
)
ADAPTIVE = "adaptive=window,adaptive-share=0.002,adaptive-least=99"
PLANS = (
    ("trim-at-insertion:threshold=600,head=200,tail=150",),
    ("trim-at-insertion:per-tool=true",),
    ("trim-at-insertion:threshold=900,head=500,tail=0,cap=550", "cap-at-insertion:limit=540"),
    ("trim-at-insertion:threshold=3000,head=1000,tail=500,adaptive=window,adaptive-share=0.004,adaptive-least=200",),
    (
        'trim-at-insertion:threshold=500,head=200,tail=100,marker="[{recall}]",exempt-tools=Grep',
        "cap-at-insertion:limit=700",
    ),
    ("trim-at-insertion:threshold=170,head=60,tail=41,unit=tokens",),
    ("trim-at-insertion:threshold=300,head=150,tail=33,cap=150,unit=tokens", "cap-at-insertion:limit=77,unit=tokens"),
    ("trim-at-insertion:threshold=600,head=200,tail=150", "cap-at-insertion:limit=90,unit=tokens"),
    (f"trim-at-insertion:threshold=900,head=300,tail=150,unit=tokens,{ADAPTIVE}",),
)
"""Limits in tokens are compared with a replay of estimated tokens: a replay of counted ones cuts elsewhere, since no
tokenizer can be asked in the time a hook has."""

STORING = {
    "store-large:limit=500,preview=200,batch-budget=10000000": r"saved to: (\S+)",
    "deepagents-evict:limit=100,exempt-tools=none,head=3,tail=2": r"at this path: (\S+)",
    "opencode-truncate:max-lines=5,max-bytes=400": r"saved to: (\S+)",
    "opencode-truncate:max-lines=7,max-bytes=900,direction=tail,hint=delegate": r"saved to: (\S+)",
    "gemini-truncate:limit=500": r"full output see: (\S+)",
}


@pytest.mark.parametrize("name", SESSIONS)
@pytest.mark.parametrize("specs", PLANS)
def test_what_the_hook_answers_is_what_the_replay_sends(
    corpus: Path, tmp_path: Path, name: str, specs: tuple[str, ...]
) -> None:
    if "window" in specs[0]:
        specs = (f"{specs[0]},window=150000",)
    trimmed = assert_answers_are_what_is_sent(corpus, tmp_path, name, specs)
    assert trimmed > (10 if "=600" in specs[0] or "=170" in specs[0] else -1)


@pytest.mark.parametrize("name", SESSIONS)
@pytest.mark.parametrize("spec", STORING)
def test_what_the_hook_stores_is_in_the_file_its_notice_names(
    corpus: Path, tmp_path: Path, name: str, spec: str
) -> None:
    assert assert_answers_are_what_is_sent(corpus, tmp_path, name, (spec,), STORING[spec]) > 5


@cache
def recorded_session(path: Path) -> tuple[ReplayInputs, list[tuple[dict[str, Any], str]]]:
    session = open_session(path)
    inputs = ReplayInputs.of(History.of(session), TokenTable.estimated(session), pricing=Pricing())
    return inputs, [*recorded_events(path)]


def assert_answers_are_what_is_sent(
    corpus: Path, tmp_path: Path, name: str, specs: tuple[str, ...], says_file: str = ""
) -> int:
    plan = Plan.from_specs(specs)
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    asked = HookArguments(plan=str(tmp_path / "plan.toml"))
    inputs, events = recorded_session(corpus / "claude-code" / f"{name}.jsonl")
    history = inputs.history
    replayed = replay(inputs, plan)
    blocks = {
        block.tool_call_id: index
        for index, block in enumerate(history.session.blocks)
        if block.kind is BlockKind.TOOL_RESULT and history.enters[index] != NEVER
    }
    trimmed = 0
    for event, recorded in events:
        answer = respond(json.dumps(event).encode(), asked, str(tmp_path))
        seen = claude_code(event)
        if seen is None:
            assert answer == b""
            continue
        if seen.text != recorded:
            # No strategy sees the results that the agent cut before the model saw them: the hook runs earlier.
            assert "<persisted-output>" in recorded
            continue
        block = blocks.get(event["tool_use_id"])
        if block is None:
            continue
        sent = replayed.text(block, int(history.enters[block]))
        if says_file and sent != recorded:
            file = Path(stored_path(str(tmp_path), event["tool_use_id"], event["session_id"]))
            (named,) = set(re.findall(says_file, sent)) - set(re.findall(says_file, recorded))
            sent = sent.replace(named, str(file))
            assert file.read_bytes() == recorded.encode()
            assert [text for _, text in find_originals(str(file), str(tmp_path))] == [recorded]
        if not answer:
            assert sent == recorded
            continue
        output = sent_output(answer)
        assert type(output) is type(event["tool_response"])
        again = claude_code({**event, "tool_response": output})
        assert again is not None
        # The agent takes blank lines before the output of a shell away, and blanks at its end.
        assert again.text.strip() == sent.strip()
        assert seen.answer(sent) == json.loads(answer)
        assert recorded in [text for _, text in stored_originals(event["tool_use_id"], str(tmp_path))]
        trimmed += 1
    return trimmed
