"""Message lists that both APIs accept, in both forms, and the reasons either would refuse one."""

from typing import Any

from hypothesis import strategies as some

from tests.strategies.plain_lists import anthropic_list, openai_list

FORMS = {"anthropic": anthropic_list, "openai": openai_list}
TOOLS = ("read_file", "bash", "ls", "edit_file", "store_memory", "frobnicate", "search_web", "view_list")
WITHOUT_CALL = "a result without its call"
WITHOUT_RESULT = "a call without its result"
ASSISTANT_FIRST = "the assistant speaks first"
NOTHING = "nothing is said"
EMPTY = "a message without content"
STRANGER = "a role that the API does not know"
ROLES = {"anthropic": {"user", "assistant"}, "openai": {"system", "user", "assistant", "tool"}}


@some.composite
def conversations(draw: some.DrawFn, *, longest: int = 7) -> list[dict[str, Any]]:
    """Entries of a conversation that goes on with an answer: questions, answers, tool uses alone and side by side."""
    texts = some.integers(1, 40).map(lambda words: "some words " * words)
    entries = [{"role": "user", "content": draw(texts)}]
    number = 0
    for _ in range(draw(some.integers(0, longest))):
        uses = draw(some.integers(0, 3))
        answer = {"role": "assistant", "content": draw(texts) if not uses or draw(some.booleans()) else ""}
        if draw(some.integers(0, 3)) == 0:
            answer["think"] = "hm " * draw(some.integers(1, 20))
        calls = []
        for _ in range(uses):
            tool, path = draw(some.sampled_from(TOOLS)), draw(some.sampled_from("ab"))
            calls.append({"id": f"c{number}", "name": tool, "args": {"path": path}})
            number += 1
        entries.append({**answer, "calls": calls} if calls else answer)
        for call in calls:
            failed = draw(some.integers(0, 4)) == 0
            entries.append(
                {"role": "tool", "id": call["id"], "name": call["name"], "content": draw(texts), "error": failed}
            )
        if not calls or draw(some.integers(0, 3)) == 0:
            question = {"role": "user", "content": draw(texts)}
            if draw(some.booleans()):
                question["more"] = [draw(texts)]
            entries += [question] * draw(some.integers(1, 2))
    return entries


def refused(messages: list[dict[str, Any]], form: str) -> set[str]:
    found = set()
    spoken = [message for message in messages if message["role"] != "system"]
    if not spoken:
        found.add(NOTHING)
    elif spoken[0]["role"] == "assistant":
        found.add(ASSISTANT_FIRST)
    if any(message["role"] not in ROLES[form] for message in messages):
        found.add(STRANGER)
    if form == "anthropic" and any(_is_empty(message["content"]) for message in messages):
        found.add(EMPTY)
    if any(message["role"] == "tool" and "tool_call_id" not in message for message in messages):
        found.add(EMPTY)
    waiting: set[str] = set()
    for message in spoken:
        results = set(_results(message))
        if results - waiting:
            found.add(WITHOUT_CALL)
        waiting -= results
        if message["role"] == "tool":
            continue
        if waiting:
            found.add(WITHOUT_RESULT)
        waiting = set(_calls(message))
    return found | ({WITHOUT_RESULT} if waiting else set())


def _is_empty(content: str | list[dict[str, Any]]) -> bool:
    """Anthropic refuses messages without parts, and texts without a visible character."""
    if isinstance(content, str):
        return not content.strip()
    return not content or any(part["type"] == "text" and not part["text"].strip() for part in content)


def _calls(message: dict[str, Any]) -> list[str]:
    return [call["id"] for call in (*message.get("tool_calls", ()), *_parts(message, "tool_use"))]


def _results(message: dict[str, Any]) -> list[str]:
    if message["role"] == "tool":
        return [message["tool_call_id"]] if "tool_call_id" in message else []
    return [part["tool_use_id"] for part in _parts(message, "tool_result")]


def _parts(message: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    content = message["content"]
    return [part for part in content if part.get("type") == kind] if isinstance(content, list) else []
