"""Applying plans to recorded inputs through the public interface."""

from collections.abc import Sequence
from typing import Any

from inspector.replay.message_lists import apply_once, compact
from inspector.strategies.plan import Plan
from inspector.strategies.registry import strategy
from tests.strategies.conversations import content, matches
from tests.strategies.plain_lists import anthropic_list, openai_list, results_in

Vector = dict[str, Any]
Entry = dict[str, Any]
FORMS = (openai_list, anthropic_list)


def plan_of(name: str, **values: Any) -> Plan:
    return Plan.of(strategy(name, **values))


def replayed(given: Sequence[Entry], plan: Plan) -> list[Entry]:
    sent = compact(given, plan)
    assert apply_once(given, plan) == sent
    return sent


def assert_changed(vector: Vector, sent: Sequence[Entry]) -> None:
    positions = [at for at, entry in enumerate(vector["input"]) if entry["role"] == "tool"]
    expected = {int(at): text for at, text in vector["expected"]["changed"].items()}
    assert expected.keys() <= set(positions)
    for at, text in zip(positions, results_in(sent), strict=True):
        assert matches(text, expected.get(at, content(vector["input"][at]["content"]))), at


def changed(before: Sequence[Entry], after: Sequence[Entry]) -> dict[str, Any]:
    pairs = enumerate(zip(before, after, strict=True))
    return {str(at): new["content"] for at, (old, new) in pairs if old["content"] != new["content"]}
