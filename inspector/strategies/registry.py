"""Look up strategies by name and build them from named values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, cast

from inspector.plug_ins import STRATEGIES as GROUP
from inspector.plug_ins import PlugIns, UnusablePlugInError, failure_of
from inspector.strategies.core.parameters import CHARACTERS, TOKENS, Parameter, ParameterError, ParameterValue
from inspector.strategies.core.strategy import FittedStrategy, ScheduledStrategy, SequentialStrategy, Strategy

if TYPE_CHECKING:
    from inspector.plug_ins import PlugIn
    from inspector.session.model import Session

    StrategyType = type[ScheduledStrategy] | type[SequentialStrategy]


_HOMES: dict[str, tuple[str, str]] = {
    "tiered-stale": ("old_results", "TieredStale"),
    "token-budget": ("micro_x", "TokenBudget"),
    "smart-retention": ("smart_retention", "SmartRetention"),
    "clear-old": ("old_results", "ClearOld"),
    "trim-at-insertion": ("at_insertion", "TrimAtInsertion"),
    "prune-old": ("old_results", "PruneOld"),
    "truncate-after-use": ("micro_x", "TruncateAfterUse"),
    "smart-diff-compression": ("smart_retention", "SmartDiffCompression"),
    "keep-recent": ("smart_retention", "KeepRecent"),
    "dedupe-reads": ("smart_retention", "DedupeReads"),
    "cap-at-insertion": ("micro_x", "CapAtInsertion"),
    "store-large": ("at_insertion", "StoreLarge"),
    "summarize": ("micro_x", "Summarize"),
    "anthropic-clear-tool-uses": ("anthropic", "AnthropicClearToolUses"),
    "anthropic-clear-thinking": ("anthropic", "AnthropicClearThinking"),
    "anthropic-compact": ("anthropic", "AnthropicCompact"),
    "langchain-clear-tool-uses": ("langchain", "LangChainClearToolUses"),
    "langchain-summarization": ("langchain", "LangChainSummarization"),
    "deepagents-evict": ("langchain", "DeepagentsEvict"),
    "deepagents-truncate-arguments": ("langchain", "DeepagentsTruncateArguments"),
    "opencode-prune": ("opencode", "OpenCodePrune"),
    "opencode-truncate": ("opencode", "OpenCodeTruncate"),
    "dcp-dedupe": ("opencode", "DcpDedupe"),
    "dcp-purge-errors": ("opencode", "DcpPurgeErrors"),
    "codex-truncate": ("codex", "CodexTruncate"),
    "gemini-mask": ("gemini", "GeminiMask"),
    "gemini-truncate": ("gemini", "GeminiTruncate"),
    "gemini-compress": ("gemini", "GeminiCompress"),
    "cline-truncate": ("cline", "ClineTruncate"),
    "cline-compaction": ("cline", "ClineCompaction"),
    "roo-truncate": ("cline", "RooTruncate"),
    "last-observations": ("swe_agent", "LastObservations"),
    "closed-windows": ("swe_agent", "ClosedWindows"),
    "remove-regex": ("swe_agent", "RemoveRegex"),
    "mask-observations": ("openhands", "MaskObservations"),
    "mask-browser-output": ("openhands", "MaskBrowserOutput"),
    "recent-events": ("openhands", "RecentEvents"),
    "amortized-forgetting": ("openhands", "AmortizedForgetting"),
    "openhands-condenser": ("openhands", "OpenHandsCondenser"),
    "headroom-stale-reads": ("headroom", "HeadroomStaleReads"),
    "cozempic-trim": ("cozempic", "CozempicTrim"),
    "cozempic-age": ("cozempic", "CozempicAge"),
    "cozempic-stale-reads": ("cozempic", "CozempicStaleReads"),
    "pi-truncate": ("pi", "PiTruncate"),
    "pi-compaction": ("pi", "PiCompaction"),
    "openclaw-prune": ("openclaw", "OpenClawPrune"),
    "hermes-prepass": ("hermes", "HermesPrepass"),
    "hermes-proactive-prune": ("hermes", "HermesProactivePrune"),
    "strands-window": ("strands", "StrandsWindow"),
    "strands-offload": ("strands", "StrandsOffload"),
    "adk-filter": ("adk", "AdkFilter"),
    "haystack-prune": ("haystack", "HaystackPrune"),
    "vercel-prune": ("vercel", "VercelPrune"),
    "maf-tool-results": ("maf", "MafToolResults"),
    "maf-tool-calls": ("maf", "MafToolCalls"),
    "maf-window": ("maf", "MafWindow"),
    "maf-truncation": ("maf", "MafTruncation"),
    "maf-context-window": ("maf", "MafContextWindow"),
}
"""Strategy name to (module, class)."""


SYSTEMS: Mapping[str, tuple[str, ...]] = {
    "hynous": ("tiered-stale",),
    "micro-x": ("token-budget", "cap-at-insertion"),
    "smart-retention": ("smart-retention", "keep-recent", "dedupe-reads"),
    "odincode": ("clear-old",),
    "hermes": ("trim-at-insertion",),
    "anthropic": ("anthropic-clear-tool-uses", "anthropic-clear-thinking", "anthropic-compact"),
    "langchain": ("langchain-clear-tool-uses", "langchain-summarization"),
    "deepagents": ("deepagents-evict",),
    "haystack": ("haystack-prune",),
    "opencode": ("opencode-prune", "opencode-truncate"),
    "gemini-cli": ("gemini-truncate", "gemini-mask"),
    "codex": ("codex-truncate",),
    "swe-agent": ("last-observations", "closed-windows"),
    "openhands": ("mask-observations", "mask-browser-output", "recent-events", "amortized-forgetting"),
}
"""Strategies that each system can be configured with, in the order its configuration lists them.

Their names there are in `Strategy.agent_settings`.
"""


PLAN_NAMES = frozenset(
    """
    none newest-ten newest-twenty-messages careful aggressive hynous hynous-shipped micro-x micro-x-summary
    odincode hermes-proposal utah anthropic anthropic-compaction claude-code langchain langchain-summary
    deepagents opencode opencode-dcp codex gemini-cli cline cline-4 roo swe-agent openhands openhands-masking
    openclaw openclaw-2026.9 openclaw-server hermes hermes-pruning hermes-0.21 hermes-0.22 headroom cozempic pi
    pi-1.5 haystack strands agent-framework adk vercel
    """.split()  # noqa: SIM905  a list would have one name a line
)
"""Names of built-in plans that are not strategies: `--plan NAME` takes either, so no plug-in can have them."""


def _from_package(plug_in: PlugIn, loaded: object) -> StrategyType:
    """Check a strategy of another package, and make its texts safe to display."""
    from dataclasses import replace

    from inspector.safe_text import one_line
    from inspector.strategies.core.strategy import AdaptingStrategy, Parametrized, ScheduledStrategy, SequentialStrategy

    if not (isinstance(loaded, type) and issubclass(loaded, Parametrized)):
        raise UnusablePlugInError(f"{plug_in.target} is not a subclass of Parametrized or Batching")
    kind = loaded
    if kind.name != plug_in.name:
        raise UnusablePlugInError(f"its `name` is {kind.name!r}, not that of the entry point")
    for name in ("title", "summary", "source", "note"):
        setattr(kind, name, one_line(getattr(kind, name)))
    kind.parameters = tuple(
        replace(each, help=one_line(each.help), unit=one_line(each.unit), group=one_line(each.group))
        for each in kind.parameters
    )
    if not isinstance(kind(), ScheduledStrategy | SequentialStrategy | AdaptingStrategy):
        raise UnusablePlugInError("it has neither `schedule` nor `start`")
    return cast("StrategyType", kind)


PLUG_INS: PlugIns[StrategyType] = PlugIns(GROUP, lambda name: name in _HOMES or name in PLAN_NAMES, _from_package)
"""Strategies of other packages."""


class FailedPlugInError(ParameterError):
    """A strategy of another package raised an exception."""

    advice = "update or uninstall that package"


def raise_for_plug_in(error: Exception, strategies: Iterable[Strategy]) -> None:
    """Raise `FailedPlugInError`, which names the package, if its strategy raised the exception."""
    failed = failure_of(error, GROUP)
    if not failed:
        return
    for each in strategies:
        plug_in = PLUG_INS.plug_in(each.name)
        if plug_in is not None and failed.startswith(plug_in.named):
            PLUG_INS.note(plug_in, failed.removeprefix(f"{plug_in.named}: "))
    raise FailedPlugInError(failed) from error


class _Strategies(Mapping[str, "StrategyType"]):
    """Lazy mapping that imports a strategy on access: there are many, and a session usually needs one or two."""

    def __getitem__(self, name: str) -> StrategyType:
        if name not in _HOMES:
            if (found := PLUG_INS.get(name)) is None:
                raise KeyError(name)
            return found
        module, kind = _HOMES[name]
        return cast("StrategyType", getattr(import_module(f"inspector.strategies.library.{module}"), kind))

    def __contains__(self, name: object) -> bool:
        return name in _HOMES or (isinstance(name, str) and PLUG_INS.get(name) is not None)

    def __iter__(self) -> Iterator[str]:
        yield from _HOMES
        yield from PLUG_INS.names()

    def __len__(self) -> int:
        return len(_HOMES) + len(PLUG_INS.names())


STRATEGIES: Mapping[str, StrategyType] = _Strategies()
"""Strategy classes by the name plans use, in display order: those of this program, then those of other packages."""


def strategy_type(name: str) -> StrategyType:
    """Return a strategy class. Raises `ParameterError`, which suggests the nearest name."""
    if name not in STRATEGIES:
        if problem := PLUG_INS.problem_of(name):
            raise ParameterError(f"unusable {problem}")
        raise ParameterError(f"unknown strategy {name!r}{suggestion(name, STRATEGIES)}")
    return STRATEGIES[name]


def strategy(name: str, **values: ParameterValue) -> Strategy:
    """Build a strategy from values by parameter, otherwise defaults. Raises `ParameterError` for others."""
    kind = strategy_type(name)
    return kind(**{parameter_of(kind, key.replace("_", "-")).field: value for key, value in values.items()})


def strategy_for(name: str, session: Session) -> Strategy:
    """Build a strategy that fits a session's tools and summaries. Raises `ParameterError` for others."""
    made = strategy(name)
    if isinstance(made, FittedStrategy):
        try:
            made = made.for_session(session)
        except Exception as error:
            raise_for_plug_in(error, (made,))
            raise
    summary = next((parameter for parameter in made.parameters if parameter.name == "summary-tokens"), None)
    if summary is not None and session.compactions:
        return _with_recorded_summaries(made, summary, session)
    return made


def _with_recorded_summaries(made: Strategy, summary: Parameter, session: Session) -> Strategy:
    """Match the summary length to the session's own compactions, if it recorded any."""
    from inspector.strategies.library.micro_x import recorded_summary_tokens

    tokens = recorded_summary_tokens(session)
    if tokens is None:
        return made
    least, most = int(summary.minimum or 0), int(summary.maximum or tokens)
    return with_value(made, summary.name, min(max(tokens, least), most))


def parameter_of(strategy: Strategy | StrategyType, name: str) -> Parameter:
    """Return a parameter. Raises `ParameterError`, which suggests the nearest name."""
    known = {parameter.name: parameter for parameter in strategy.parameters}
    if name not in known:
        raise ParameterError(f"{strategy.name} has no parameter {name!r}{suggestion(name, known)}")
    return known[name]


def value_of(strategy: Strategy, parameter: Parameter | str) -> ParameterValue:
    """Return the value of a parameter. Raises `ParameterError` if the strategy has none of that name."""
    if isinstance(parameter, str):
        parameter = parameter_of(strategy, parameter)
    value: ParameterValue = getattr(strategy, parameter.field)
    return value


def unit_of(strategy: Strategy, parameter: Parameter) -> str:
    """Return the unit of a parameter's value: its own, or tokens if the strategy is set to count limits in tokens."""
    if parameter.unit == CHARACTERS and getattr(strategy, "unit", CHARACTERS) == TOKENS:
        return TOKENS
    return parameter.unit


def with_value(strategy: Strategy, parameter_name: str, value: ParameterValue) -> Strategy:
    """Return the strategy with one value changed. Raises `ParameterError` if it is not allowed."""
    return with_values(strategy, {parameter_name: value})


def with_values(strategy: Strategy, values: Mapping[str, ParameterValue]) -> Strategy:
    """Return the strategy with values changed by name. Raises `ParameterError` if one is not allowed."""
    changed = {parameter.field: value_of(strategy, parameter) for parameter in strategy.parameters}
    changed.update({parameter_of(strategy, name).field: value for name, value in values.items()})
    return type(strategy)(**changed)


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the nearest known name, or a list of all names if none is close."""
    names = list(known)
    near = get_close_matches(name, names, n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else f"; available: {', '.join(names)}"
