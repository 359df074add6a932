"""A conversation as a trajectory in ATIF, as harnesses of evaluations write it: a call and its result on one step."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .conversation import AssistantTurn, CompactionTurn, Conversation
from .measure import counter
from .write_openai import MINIMUM, STEP

if TYPE_CHECKING:
    from datetime import datetime


def document(conversation: Conversation, system: str, model: str, tools: list[dict[str, Any]]) -> str:
    """Return the trajectory as one JSON document, with the usage of each step.

    The provider caches automatically, as for `write_openai.log`.

    Args:
        conversation: The conversation.
        system: The system prompt.
        model: The model's name.
        tools: The tools' definitions.
    """
    steps: list[dict[str, Any]] = []
    prompt, cached = counter().count(json.dumps(tools)), 0
    for source, time, fields in _steps(conversation, system):
        completion, seen = _tokens(fields, observed=False), _tokens(fields, observed=True)
        step = {"step_id": len(steps) + 1, "timestamp": _written(time), "source": source, **fields}
        if source == "agent":
            step["metrics"] = {"prompt_tokens": prompt, "completion_tokens": completion, "cached_tokens": cached}
            cached = prompt // STEP * STEP if prompt >= MINIMUM else 0
        prompt += completion + seen + 4
        steps.append(step)
    used = [step["metrics"] for step in steps if "metrics" in step]
    sums = {
        f"total_{name}": sum(one[name] for one in used)
        for name in ("prompt_tokens", "completion_tokens", "cached_tokens")
    }
    trajectory = {
        "schema_version": "ATIF-v1.6",
        "session_id": conversation.identifier("trial-", 8),
        "agent": {"name": "tiny-harness", "version": "0.3.1", "model_name": model, "tool_definitions": tools},
        "steps": steps,
        "final_metrics": {**sums, "total_steps": len(steps)},
    }
    return json.dumps(trajectory, ensure_ascii=False, indent=1) + "\n"


def _steps(conversation: Conversation, system: str) -> list[tuple[str, datetime, dict[str, Any]]]:
    listed: list[tuple[str, datetime, dict[str, Any]]] = [("system", conversation.turns[0].time, {"message": system})]
    for turn in conversation.turns:
        if isinstance(turn, CompactionTurn):
            raise TypeError("a trajectory goes on in another file after a compaction")
        if not isinstance(turn, AssistantTurn):
            listed.append(("user", turn.time, {"message": turn.text}))
            continue
        fields: dict[str, Any] = {"message": turn.text}
        if turn.uses:
            fields["tool_calls"] = [
                {"tool_call_id": use.identifier, "function_name": use.name, "arguments": use.input} for use in turn.uses
            ]
            results = [{"source_call_id": use.identifier, "content": use.result.text} for use in turn.uses]
            fields["observation"] = {"results": results}
        listed.append(("agent", turn.time, fields))
    return listed


def _tokens(fields: dict[str, Any], *, observed: bool) -> int:
    if observed:
        return sum(counter().count(one["content"]) + 4 for one in fields.get("observation", {}).get("results", ()))
    called = [one["function_name"] + json.dumps(one["arguments"]) for one in fields.get("tool_calls", ())]
    return counter().count(fields["message"]) + sum(counter().count(text) + 8 for text in called)


def _written(time: datetime) -> str:
    return time.isoformat().replace("+00:00", "Z")
