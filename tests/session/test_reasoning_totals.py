"""Reasoning tokens inside or outside the reported output, as the reported total shows."""

from collections.abc import Callable
from typing import Any

import pytest

from inspector.session.formats import chat, pi
from inspector.session.formats.inspect_ai import reader as inspect_ai
from inspector.session.formats.opencode import reader as opencode
from inspector.session.model import Usage

# A prompt of 100 tokens and 60 read from the cache; a response of 30 tokens of text and 25 of reasoning.


def of_chat(output: int, total: int) -> Usage | None:
    details = {"completion_tokens_details": {"reasoning_tokens": 25}, "prompt_tokens_details": {"cached_tokens": 60}}
    return chat.usage_of({"prompt_tokens": 160, "completion_tokens": output, "total_tokens": total, **details})


def of_pi(output: int, total: int) -> Usage | None:
    reported = {"input": 100, "cacheRead": 60, "cacheWrite": 0, "output": output, "reasoning": 25, "totalTokens": total}
    return pi.usage_of({"usage": reported})


def of_inspect(output: int, total: int) -> Usage | None:
    reported = {"input_tokens": 160, "input_tokens_cache_read": 60, "output_tokens": output, "reasoning_tokens": 25}
    return inspect_ai.usage_of({**reported, "total_tokens": total})


def of_inspect_without_cache(output: int, total: int) -> Usage | None:
    """Anthropic's input excludes cached tokens."""
    reported = {"input_tokens": 100, "input_tokens_cache_read": 60, "output_tokens": output, "reasoning_tokens": 25}
    return inspect_ai.usage_of({**reported, "total_tokens": total})


def of_opencode(output: int, total: int) -> Usage | None:
    cache = {"read": 60, "write": 0}
    return opencode.usage_of({"input": 100, "output": output, "reasoning": 25, "cache": cache, "total": total})


READERS: tuple[Callable[[int, int], Any], ...] = (of_chat, of_pi, of_inspect, of_inspect_without_cache, of_opencode)


@pytest.mark.parametrize("read", READERS)
def test_output_excludes_reasoning_if_only_the_sum_with_it_equals_the_total(read: Callable[[int, int], Any]) -> None:
    usage = read(30, 160 + 30 + 25)
    assert (usage.prompt, usage.cache_read, usage.output, usage.reasoning) == (160, 60, 55, 25)


@pytest.mark.parametrize("read", READERS)
def test_output_includes_reasoning_if_the_sum_without_it_equals_the_total(read: Callable[[int, int], Any]) -> None:
    usage = read(55, 160 + 55)
    assert (usage.prompt, usage.cache_read, usage.output, usage.reasoning) == (160, 60, 55, 25)


@pytest.mark.parametrize("read", READERS)
def test_output_includes_reasoning_without_a_total(read: Callable[[int, int], Any]) -> None:
    assert read(55, 0).output == 55
