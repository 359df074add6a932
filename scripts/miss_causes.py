"""The table of cache miss causes in `docs/cache-and-cost.md`."""

from __future__ import annotations

from inspector.replay.cache.miss_causes import MissCause

CAUSE_HEAD = ("cause", "meaning", "prevention", "evidence in the file")

EVIDENCE = {
    MissCause.FIRST_REQUEST: "no earlier call shares the beginning of its prompt",
    MissCause.MODEL_CHANGED: "another model answered the call before, or the API reports `model_changed`",
    MissCause.COMPACTION: "the session records a compaction between the two calls",
    MissCause.TOOLS_CHANGED: "recorded tool definitions differ, or the API reports `tools_changed`",
    MissCause.SYSTEM_PROMPT_CHANGED: "recorded system texts differ, or the API reports `system_changed`",
    MissCause.REWIND: "the prompt lacks messages of the prompt before",
    MissCause.PLAN_EDIT: "a strategy of the replayed plan edits it at this call",
    MissCause.CLEARING: "the agent blanked results at this call, by its records or its rule",
    MissCause.TTL_EXPIRED_5M: "over five minutes since the call before, which wrote for five minutes",
    MissCause.TTL_EXPIRED_1H: "over an hour since the call before, which wrote for an hour",
    MissCause.TTL_EXPIRED: "longer since the call before than the provider's documented lifetime",
    MissCause.RESUMED: "the call before was copied from another session",
    MissCause.BELOW_MINIMUM: "shorter than the model's minimum, and nothing was read",
    MissCause.LOOK_BACK: "20 or more positions were added since the call before, and something was read",
    MissCause.MESSAGES_REWRITTEN: "the API reports `messages_changed` or `input_changed`, the file no closer reason",
    MissCause.BETAS_CHANGED: "logged requests carry different `anthropic-beta` headers or `betas`",
    MissCause.THINKING_CHANGED: "recorded thinking level, budget or effort differ, or the API reports a changed effort",
    MissCause.OUTPUT_FORMAT_CHANGED: "OpenAI reports `text_format_changed` or `verbosity_changed`",
    MissCause.CACHE_KEY_CHANGED: "OpenAI reports `prompt_cache_key_changed`",
    MissCause.SERVICE_TIER_CHANGED: "recorded service tiers differ, or OpenAI reports `service_tier_changed`",
    MissCause.LIKELY_SERVER_SIDE: "none of the above, with automatic caches (OpenAI, Gemini and others)",
    MissCause.UNKNOWN: "none of the above, with explicit caches (Anthropic)",
}
"""Evidence for each cause, in the order in which causes are tried."""

NOTHING = {True: "nothing: expected", False: "nothing known"}


def cause_rows() -> list[tuple[str, ...]]:
    """Build one row per cause."""
    return [
        (f"`{cause.value}`", cause.label, cause.prevention or NOTHING[cause.is_expected], EVIDENCE[cause])
        for cause in EVIDENCE
    ]
