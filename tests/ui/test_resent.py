"""The cost driver screen without prices or cache usage: resent tokens, the largest results, and an offer of a price."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from inspector.replay.explain.cost_sheet import resent_tokens
from inspector.replay.sessions import replay_session
from inspector.session.open import open_session
from inspector.strategies.plan import Plan

if TYPE_CHECKING:
    from pathlib import Path


def chat(folder: Path, results: tuple[str, ...] = ("one " * 600, "two " * 100)) -> Path:
    """Write a conversation without models and usage, with one tool call per result and an answer."""
    messages: list[dict[str, object]] = [{"role": "user", "content": "look"}]
    for number, result in enumerate(results):
        call = {"id": f"c{number}", "type": "function", "function": {"name": f"tool{number}", "arguments": "{}"}}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": result},
        ]
    messages.append({"role": "assistant", "content": "done"})
    path = folder / "chat.json"
    path.write_text(json.dumps({"messages": messages}), encoding="utf-8")
    return path


def test_resent_tokens_are_those_that_the_previous_prompt_had(tmp_path: Path) -> None:
    """The prompts grow: the second has the first again, the third the second, and nothing has the third."""
    plain = replay_session(open_session(chat(tmp_path)), Plan())
    first, second, third = plain.ledger.prompt_tokens.tolist()
    assert first < second < third
    assert resent_tokens(plain) == first + second


async def test_without_a_price_resent_tokens_and_the_largest_results_are_shown(running, tmp_path: Path) -> None:
    for size in ((80, 24), (120, 36)):
        async with running(chat(tmp_path), plan=Plan(), size=size) as run:
            await run.settled()
            await run.press("M")
            await run.until(lambda: "Results with the most resent tokens" in run.text())
            text = run.text()
            assert "3 calls sent ~" in text
            assert "prompt tokens, ~" in text
            assert "of them again (" in text
            lines = text.splitlines()
            assert any("tool result tool0" in line and "%" in line for line in lines)
            assert next(line for line in lines if "▶" in line and "tool0" in line and "one one" in line)
            assert "S set a price" in text
            assert "B bill" not in text
            assert "$" not in text
            assert "no price: the session does not name its model" in text


async def test_a_conversation_without_results_has_no_empty_frame(running, tmp_path: Path) -> None:
    async with running(chat(tmp_path, results=()), plan=Plan(), size=(120, 36)) as run:
        await run.settled()
        await run.press("M")
        await run.until(lambda: "content of all prompts" in run.text())
        await run.until(lambda: "Results with the most resent tokens" not in run.text())


async def test_a_result_leads_to_its_row(running, tmp_path: Path) -> None:
    async with running(chat(tmp_path), plan=Plan(), size=(120, 36)) as run:
        await run.settled()
        await run.press("M")
        await run.until(lambda: "Results with the most resent tokens" in run.text())
        await run.press("tab", "enter")
        await run.until(lambda: run.timeline.row.tool == "tool0")


async def test_a_price_can_be_assumed_on_the_screen(running, tmp_path: Path) -> None:
    async with running(chat(tmp_path), plan=Plan(), size=(120, 36)) as run:
        await run.settled()
        await run.press("M")
        await run.until(lambda: "S set a price" in run.text())
        await run.press("S", *"nothing-known", "enter")
        await run.until(lambda: "no price for this model" in run.text())
        await run.press("escape", "S", *"claude-sonnet-4-6", "enter")
        await run.until(lambda: "Cost per call" in run.text() and "S switch model" in run.text())
