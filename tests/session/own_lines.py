"""Sessions in the form that anyone can write."""

from typing import Any


def own(turns: int) -> list[dict[str, Any]]:
    """A session of so many turns, compacted in the middle of every ten."""
    made: list[dict[str, Any]] = [
        {"type": "session", "inspector": 1, "id": "run-7", "title": "é", "agent": "mine 1", "window": 200_000},
        {"type": "message", "role": "system", "content": "You help."},
        {"type": "message", "role": "user", "content": "go", "id": "u"},
    ]
    for turn in range(turns):
        call = {"id": f"c{turn}", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
        usage = {"uncached": 100 + turn, "cache_read": 50, "output": 9, "reasoning": 3}
        made.append(
            {
                "type": "message",
                "role": "assistant",
                "tool_calls": [call],
                "model": "m",
                "usage": usage,
                "id": f"r{turn}",
            }
        )
        made.append({"type": "message", "role": "tool", "tool_call_id": f"c{turn}", "content": f"result {turn}"})
        if turn % 10 == 5:
            made.append({"type": "side_call", "purpose": "summary", "usage": {"uncached": 70}, "id": f"s{turn}"})
            made.append({"type": "compaction", "summary": f"so far {turn}", "kept": ["u"]})
    return made
