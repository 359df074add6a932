import numpy as np
import pytest

from inspector.replay.cache.cache_models import (
    CACHE_MODELS,
    NO_PREFIX,
    CacheModelError,
    cache_model_for,
    recorded_cache,
)
from inspector.replay.cache.prompt_usage import PromptUsage
from inspector.replay.pricing.prices import Pricing
from inspector.session.model import Usage


@pytest.mark.parametrize(
    ("model", "name", "minimum"),
    [
        ("claude-opus-4-5-20251101", "anthropic", 4096),
        ("us.anthropic.claude-opus-4-6-v1:0", "anthropic", 4096),
        ("claude-opus-4-7", "anthropic", 2048),
        ("claude-opus-4-8[1m]", "anthropic", 1024),
        ("claude-opus-4-1-20250805", "anthropic", 1024),
        ("anthropic/claude-opus-5", "anthropic", 512),
        ("claude-fable-5", "anthropic", 512),
        ("claude-sonnet-4-6", "anthropic", 1024),
        ("claude-sonnet-5", "anthropic", 1024),
        ("claude-haiku-4-5-20251001", "anthropic", 4096),
        ("claude-3-5-haiku-20241022", "anthropic", 2048),
        ("gpt-5.2-codex", "openai", 1024),
        ("gpt-5.5", "openai-24h", 1024),
        ("gpt-5.6-sol", "openai-30m", 1024),
        ("o3", "openai", 1024),
        ("google/gemini-2.5-pro", "gemini", 4096),
        ("gemini-3.8-flash", "gemini", 1024),
        ("deepseek-chat", "deepseek", 64),
        ("house-model", "none", NO_PREFIX),
        ("", "none", NO_PREFIX),
    ],
)
def test_a_model_has_the_cache_its_provider_documents(model: str, name: str, minimum: int):
    cache = cache_model_for(model)
    assert (cache.name, cache.minimum_prefix) == (name, minimum)


def test_a_model_of_another_provider_has_a_cache_when_its_reads_are_cheaper_than_its_input():
    pricing = Pricing()
    assert cache_model_for("grok-4", rates=pricing.rates("grok-4")).name == "automatic"
    assert cache_model_for("kimi-k2", rates=pricing.rates("kimi-k2")).name == "none"


def test_a_named_cache_keeps_the_minimum_of_the_model():
    cache = cache_model_for("claude-opus-4-5", named="anthropic-1h")
    assert (cache.lifetime, cache.minimum_prefix, cache.writes_one_hour) == (3600, 4096, True)
    assert cache_model_for("claude-opus-4-5", named="none").minimum_prefix == NO_PREFIX


def test_an_unknown_cache_is_refused_with_the_nearest_name_and_all_there_are():
    with pytest.raises(CacheModelError, match=r"did you mean 'anthropic-1h'.*openai-24h"):
        cache_model_for("claude-opus-5", named="antropic-1h")


def test_only_caches_that_count_writes_tell_an_hour_from_five_minutes():
    assert all(cache.writes for cache in CACHE_MODELS.values() if cache.writes_one_hour)


@pytest.mark.parametrize(
    ("hours", "minutes", "title"),
    [
        (900, 0, "Anthropic, one hour"),
        (0, 900, "Anthropic, five minutes"),
        (500, 400, "Anthropic, five minutes"),
        (0, 0, "Anthropic, five minutes"),
    ],
)
def test_a_session_whose_every_write_was_of_an_hour_is_reported_to_be_cached_for_an_hour(hours, minutes, title) -> None:
    usage = PromptUsage.of([Usage(cache_write_1h=hours, cache_write_5m=minutes, output=1)])

    found = recorded_cache(cache_model_for("claude-opus-4-5"), usage)

    assert (found.title, found.minimum_prefix) == (title, 4096)
    assert recorded_cache(CACHE_MODELS["openai"], usage) is CACHE_MODELS["openai"]


def test_a_cache_that_is_read_and_never_written_is_behind_a_gateway_that_counts_no_writes() -> None:
    reads = PromptUsage.of(
        [Usage(uncached=9_000, output=1), *(Usage(cache_read=each, output=1) for each in (8_997, 9_410))]
    )

    found = recorded_cache(CACHE_MODELS["anthropic"], reads)

    assert not found.writes
    assert found.title == "Anthropic, five minutes, writes not counted"
    assert recorded_cache(CACHE_MODELS["anthropic"], reads.rows(np.array([0, 1]))).writes, "one read shows too little"


@pytest.mark.parametrize(
    ("reads", "step"),
    [
        ([12_000, 12_900, 13_800, 14_700, 15_600], 1),
        ((1_024, 2_560, 4_608, 512), 512),
        ((1_024, 2_560, 4_736, 128), 128),
        ((1_024, 2_563, 4_736, 128), 1),
        ((1_024, 1_024, 2_048, 4_096), 128),  # three different ones show too little
    ],
)
def test_the_step_of_reads_is_the_power_of_two_that_all_of_them_are_multiples_of(reads, step) -> None:
    usage = PromptUsage.of([Usage(cache_read=each, output=1) for each in reads])

    assert recorded_cache(CACHE_MODELS["openai"], usage).step == step
