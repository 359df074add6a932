"""Report types of the prompt cache: misses with causes, and the projected cost of another lifetime.

They belong to the contract of `inspector.report.document`, and their figures to the catalogue.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct, field

from inspector.report.catalogue import Count, How, Known, Unit, about, figure


class CacheMissesFacts(Struct, frozen=True, kw_only=True):
    """The cache misses of a session with nothing cut, and all other prompt tokens that were not read.

    `unread_tokens` is the sum of `new_tokens`, `noise_tokens`, `uncompared_tokens` and the tokens of all `causes`, less
    `beyond_tokens`.
    """

    calls: Annotated[
        Count,
        figure(
            "cache misses",
            Unit.CALLS,
            "Calls that read less from the cache than they could have, first requests, compactions and cleared results "
            "apart.",
            short="misses",
        ),
    ]
    tokens: Annotated[
        int | None, figure("tokens re-cached", Unit.TOKENS, "Tokens they did not read though they could have.")
    ]
    usd: Annotated[
        float | None,
        figure("cost of re-caching", Unit.DOLLARS, "Dollars of these, as they were written or sent uncached."),
    ]
    extra_usd: Annotated[
        float | None,
        figure("extra cost", Unit.DOLLARS, "Of these, what is more than reading them from the cache would have cost."),
    ]
    share: Annotated[
        float | None,
        figure("of the bill", Unit.SHARE, "`extra_usd` as a share of the session's cost: 0.25 for a quarter."),
    ]
    unread_tokens: Annotated[
        int | None,
        figure("not read", Unit.TOKENS, "Prompt tokens of all calls that were written to the cache or sent uncached."),
    ]
    new_tokens: Annotated[int | None, figure("new text", Unit.TOKENS, "Of these, what no call before had sent.")]
    noise_tokens: Annotated[
        int | None,
        figure("too few to be a miss", Unit.TOKENS, "What could have been read, too little to count as a miss."),
    ]
    beyond_tokens: Annotated[
        int | None,
        figure(
            "read beyond",
            Unit.TOKENS,
            "Tokens read beyond what the call before left in the cache: what other calls had written.",
        ),
    ]
    uncompared_tokens: Annotated[
        int | None,
        figure(
            "not compared", Unit.TOKENS, "Those of calls that reported usage where the one before did not, or reversed."
        ),
    ]
    causes: Annotated[list[MissCauseFacts], about("The causes there are, the costliest first, expected ones last.")]
    misses: Annotated[list[CacheMissFacts], about("Every call that missed, expected ones included, in call order.")]
    lifetime: Annotated[
        LifetimeFacts | None, about("The session with the cache's other lifetime; null where there is no choice.")
    ]
    next_call: Annotated[
        NextCallCostFacts | None, about("What the next call would cost; null where no cache keeps anything.")
    ]
    known: Known


class MissCauseFacts(Struct, frozen=True, kw_only=True):
    """All misses of one cause."""

    cause: Annotated[
        str, about("Its name; that of Claude Code's status line (`prompt_cache.miss_causes`) where that has one.")
    ]
    label: Annotated[str, about("What it means, in a few words.")]
    short: Annotated[str, about("The same in one or two.")]
    expected: Annotated[bool, about("The cache had to be written: it is not counted as a cache miss.")]
    prevention: Annotated[str, about("What would have prevented it; empty where nothing would.")]
    calls: Annotated[Count, figure("calls", Unit.CALLS, "How many calls missed for it.")]
    tokens: Annotated[
        int | None, figure("tokens re-cached", Unit.TOKENS, "Tokens they did not read; of first requests, wrote.")
    ]
    usd: Annotated[float | None, figure("cost of re-caching", Unit.DOLLARS, "Dollars of these.")]
    extra_usd: Annotated[
        float | None, figure("extra cost", Unit.DOLLARS, "Of these, what is more than reading them would have cost.")
    ]
    known: Known


class CacheMissFacts(Struct, frozen=True, kw_only=True):
    """A call that read clearly less from the prompt cache than it could have."""

    call: Annotated[Count, figure("call", Unit.CALL, "Counted from 1.")]
    time: Annotated[str, about("When its response began, ISO 8601 in UTC; empty when unknown.")]
    model: Annotated[str, about("As recorded; empty when unknown.")]
    cause: Annotated[str, about("Why: the provider's own word where it gave one, else what the session shows.")]
    cause_known: Annotated[How, about("How the cause is known: exact where the provider named it.")]
    derived: Annotated[str, about("What the session shows, whatever the provider said.")]
    reported: Annotated[str, about("The provider's word; empty where it said nothing.")]
    reported_tokens: Annotated[int | None, about("Tokens missed by the provider's account.")]
    expected: Annotated[bool, about("The cache had to be written: it is not counted as a cache miss.")]
    evidence: MissEvidenceFacts
    prevention: Annotated[str, about("What would have prevented it; empty where nothing would.")]
    could_read_tokens: Annotated[
        int | None,
        figure(
            "could be read",
            Unit.TOKENS,
            "Prompt tokens the cache had held; of a first request, the whole prompt.",
            source="could_read",
        ),
    ]
    read_tokens: Annotated[int | None, figure("read", Unit.TOKENS, "Those that were read.", source="read")]
    tokens: Annotated[int | None, figure("tokens re-cached", Unit.TOKENS, "The difference.")]
    usd: Annotated[float | None, figure("cost of re-caching", Unit.DOLLARS, "Dollars of these.")]
    extra_usd: Annotated[
        float | None, figure("extra cost", Unit.DOLLARS, "Of these, what is more than reading them would have cost.")
    ]
    known: Known


class MissEvidenceFacts(Struct, frozen=True, kw_only=True):
    """Evidence for the cause of one miss."""

    text: Annotated[str, about("All of it in a line: times, models, rules, what the provider said.")]
    previous_call: Annotated[
        int | None, about("The last call that shares the prompt's beginning, counted from 1; null for none.")
    ]
    gap_seconds: Annotated[float | None, about("Time since that one; null where a time is missing.")]
    lifetime_seconds: Annotated[float, about("How long the cache kept what that one left.")]
    previous_model: Annotated[str, about("The model of that call; empty when unknown.")]
    previous_message: Annotated[
        int | None, about("Where the two prompts part: the message that stood there, counted from 1; null for none.")
    ]
    message: Annotated[int | None, about("The message that stands there now, counted from 1; null for none.")]
    rule: Annotated[str, about("What the agent says of the edit that parts them; empty where none does.")]


WRITES_COST_MORE = figure(
    "writes cost more",
    Unit.DOLLARS,
    "What writes would have cost more; negative where less.",
    opposite="writes cost less",
)
FEWER_MISSES = figure(
    "fewer misses",
    Unit.CALLS,
    "Misses there would not have been; negative where more.",
    opposite="more misses",
)
MISSES_COST_LESS = figure(
    "misses cost less",
    Unit.DOLLARS,
    "What these cost beyond reading; negative where more.",
    opposite="misses cost more",
)
"""Figures of another cache lifetime, for one session and for many."""


class LifetimeFacts(Struct, frozen=True, kw_only=True):
    """Projection: the session with a 1-hour cache in place of a 5-minute cache, or the reverse."""

    seconds: Annotated[int, about("How long everything is kept: 300 or 3600.")]
    recorded_usd: Annotated[
        float | None, figure("as it was", Unit.DOLLARS, "What the session's calls cost as they were.")
    ]
    usd: Annotated[float | None, figure("with the other lifetime", Unit.DOLLARS, "What they would have cost.")]
    saved_usd: Annotated[
        float | None,
        figure(
            "saved",
            Unit.DOLLARS,
            "The difference; negative where it costs more.",
            saves=True,
            opposite="costs more",
        ),
    ]
    write_usd: Annotated[float | None, WRITES_COST_MORE]
    misses: Annotated[int | None, FEWER_MISSES]
    miss_usd: Annotated[float | None, MISSES_COST_LESS]
    break_even: Annotated[
        int | None,
        figure(
            "pauses to break even",
            Unit.COUNT,
            "How many such pauses make both lifetimes cost the same; null where that cannot be told.",
        ),
    ]
    known: Known


class NextCallCostFacts(Struct, frozen=True, kw_only=True):
    """Projected cost of the main conversation's next prompt, in several cases, without the text to be added."""

    prompt_tokens: Annotated[int | None, figure("next prompt", Unit.TOKENS, "Tokens of the prompt.")]
    cached_tokens: Annotated[
        int | None, figure("cached", Unit.TOKENS, "Of these, what the cache holds while it is warm.")
    ]
    lifetime_seconds: Annotated[float, about("How long the cache is kept after a call.")]
    expires: Annotated[str, about("When it goes cold, ISO 8601 in UTC; empty where the last call has no time.")]
    warm_usd: Annotated[float | None, figure("warm", Unit.DOLLARS, "The prompt where the warm cache is read.")]
    warm_chance: Annotated[
        float | None,
        figure("reads that succeed", Unit.SHARE, "How likely that is of a call within five minutes, 0 to 1."),
    ]
    cold_usd: Annotated[float | None, figure("cold", Unit.DOLLARS, "The prompt once it is cold.")]
    fresh_tokens: Annotated[
        int | None, figure("fresh prompt", Unit.TOKENS, "What a new conversation's first prompt would be.")
    ]
    fresh_usd: Annotated[float | None, figure("fresh", Unit.DOLLARS, "That prompt, nothing cached.")]
    compacted_tokens: Annotated[
        int | None, figure("compacted prompt", Unit.TOKENS, "What the prompt would be after a compaction.")
    ]
    compact_first_usd: Annotated[
        float | None,
        figure(
            "compact first",
            Unit.DOLLARS,
            "A cold prompt that asks for a summary, the summary, and the prompt after it.",
        ),
    ]
    compact_pays_after: Annotated[
        int | None, figure("pays after", Unit.CALLS, "Calls after which that costs less than going on as it is.")
    ]
    known: Annotated[dict[str, How], about("For every number above that is not null, how it is known.")] = field(
        default_factory=dict
    )


class ModelSwitchFacts(Struct, frozen=True, kw_only=True):
    """Projected cost of the main conversation on another model from some call on."""

    model: Annotated[str, about("The other model.")]
    call: Annotated[Count, figure("first call", Unit.CALL, "Its first call, counted from 1.")]
    calls: Annotated[Count, figure("calls", Unit.CALLS, "How many it would have answered.")]
    recorded_usd: Annotated[float | None, figure("as it was", Unit.DOLLARS, "What these cost as they were.")]
    usd: Annotated[float | None, figure("with the other model", Unit.DOLLARS, "What they would have cost.")]
    saved_usd: Annotated[
        float | None, figure("saved", Unit.DOLLARS, "The difference; negative where it costs more.", saves=True)
    ]
    recache_tokens: Annotated[
        int | None,
        figure(
            "tokens re-cached",
            Unit.TOKENS,
            "Tokens that its first call read from the cache, and that the other model's would not have held.",
        ),
    ]
    recache_usd: Annotated[
        float | None, figure("extra cost", Unit.DOLLARS, "What sending these costs beyond reading them.")
    ]
    pays_after: Annotated[
        int | None,
        figure("pays after", Unit.CALLS, "Calls after which it has cost less, for good; null where it never does."),
    ]
    window: Annotated[int | None, about("Tokens the other model's window holds; null where nobody says.")]
    beyond_window: Annotated[Count, figure("prompts beyond its window", Unit.CALLS, "How many prompts are longer.")]
    known: Known


class HourFacts(Struct, frozen=True, kw_only=True):
    """Cost of the calls of one hour."""

    hour: Annotated[str, about("When it begins, ISO 8601 in UTC; empty for calls without a time.")]
    calls: Annotated[Count, figure("calls", Unit.CALLS, "Calls answered in it.")]
    usd: Annotated[float | None, figure("cost", Unit.DOLLARS, "What they cost; null without a price.")]
    misses: Annotated[Count, figure("cache misses", Unit.CALLS, "How many of them missed the cache.", short="misses")]
    extra_usd: Annotated[
        float | None, figure("extra cost", Unit.DOLLARS, "What these cost beyond reading; null without a price.")
    ]
    known: Known


class CacheMarksFacts(Struct, frozen=True, kw_only=True):
    """Projected cache use under the breakpoints of one rule, or of the requests, over the calls it covers.

    Read, written and neither add up to these calls' prompts.
    """

    rule: Annotated[
        str, about("Where the marks are put, as one word: `recorded` in the requests, `end`, `swe-agent` …")
    ]
    label: Annotated[str, about("The same for people.")]
    places: Annotated[str, about("What the marks stand behind, in a few words.")]
    calls: Annotated[
        Count,
        figure(
            "calls", Unit.CALLS, "Calls whose provider takes marks, and for recorded ones whose request is recorded."
        ),
    ]
    read_tokens: Annotated[int | None, figure("read", Unit.TOKENS, "Prompt tokens read from what marks held.")]
    written_tokens: Annotated[int | None, figure("written", Unit.TOKENS, "Prompt tokens written to the cache.")]
    uncached_tokens: Annotated[int | None, figure("neither", Unit.TOKENS, "Prompt tokens neither read nor written.")]
    usd: Annotated[
        float | None, figure("cost of prompts", Unit.DOLLARS, "What these prompts would cost, without output.")
    ]
    known: Known
