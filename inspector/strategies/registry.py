"""Every strategy by name, and making one from values by name."""

from __future__ import annotations

from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING

from inspector.strategies.adk_filter import AdkFilter
from inspector.strategies.anthropic_clear_thinking import AnthropicClearThinking
from inspector.strategies.anthropic_clear_tool_uses import AnthropicClearToolUses
from inspector.strategies.cap_at_insertion import CapAtInsertion
from inspector.strategies.clear_old import ClearOld
from inspector.strategies.cline_truncate import ClineTruncate
from inspector.strategies.closed_windows import ClosedWindows
from inspector.strategies.codex_truncate import CodexTruncate
from inspector.strategies.cozempic import CozempicAge, CozempicTrim
from inspector.strategies.cozempic_stale_reads import CozempicStaleReads
from inspector.strategies.dcp_dedupe import DcpDedupe
from inspector.strategies.dcp_purge_errors import DcpPurgeErrors
from inspector.strategies.dedupe_reads import DedupeReads
from inspector.strategies.deepagents_evict import DeepagentsEvict
from inspector.strategies.forget_events import AmortizedForgetting, RecentEvents
from inspector.strategies.gemini_compress import GeminiCompress
from inspector.strategies.gemini_mask import GeminiMask
from inspector.strategies.gemini_truncate import GeminiTruncate
from inspector.strategies.headroom_stale_reads import HeadroomStaleReads
from inspector.strategies.hermes_prune import HermesPrepass, HermesProactivePrune
from inspector.strategies.keep_recent import KeepRecent
from inspector.strategies.langchain_clear_tool_uses import LangChainClearToolUses
from inspector.strategies.langchain_summarization import LangChainSummarization
from inspector.strategies.last_observations import LastObservations
from inspector.strategies.maf_compaction import MafContextWindow, MafToolCalls, MafToolResults, MafTruncation, MafWindow
from inspector.strategies.mask_observations import MaskBrowserOutput, MaskObservations
from inspector.strategies.openclaw_prune import OpenClawPrune
from inspector.strategies.opencode_prune import OpenCodePrune
from inspector.strategies.opencode_truncate import OpenCodeTruncate
from inspector.strategies.openhands_condenser import OpenHandsCondenser
from inspector.strategies.parameters import ParameterError
from inspector.strategies.pi_compaction import PiCompaction
from inspector.strategies.pi_truncate import PiTruncate
from inspector.strategies.prune_old import PruneOld
from inspector.strategies.roo_truncate import RooTruncate
from inspector.strategies.smart_retention import SmartRetention
from inspector.strategies.store_large import StoreLarge
from inspector.strategies.strands_offload import StrandsOffload
from inspector.strategies.strands_window import StrandsWindow
from inspector.strategies.summarize import Summarize
from inspector.strategies.tiered_stale import TieredStale, tiered_stale_for
from inspector.strategies.token_budget import TokenBudget
from inspector.strategies.trim_at_insertion import TrimAtInsertion
from inspector.strategies.truncate_after_use import TruncateAfterUse
from inspector.strategies.vercel_prune import VercelPrune

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from inspector.session.model import Session
    from inspector.strategies.base import ScheduledStrategy, SequentialStrategy, Strategy
    from inspector.strategies.parameters import Parameter, ParameterValue

    StrategyType = type[ScheduledStrategy] | type[SequentialStrategy]

_ALL: tuple[StrategyType, ...] = (
    TieredStale,
    TokenBudget,
    SmartRetention,
    ClearOld,
    TrimAtInsertion,
    PruneOld,
    TruncateAfterUse,
    KeepRecent,
    DedupeReads,
    CapAtInsertion,
    StoreLarge,
    Summarize,
    AnthropicClearToolUses,
    AnthropicClearThinking,
    LangChainClearToolUses,
    LangChainSummarization,
    DeepagentsEvict,
    OpenCodePrune,
    OpenCodeTruncate,
    DcpDedupe,
    DcpPurgeErrors,
    CodexTruncate,
    GeminiMask,
    GeminiTruncate,
    GeminiCompress,
    ClineTruncate,
    RooTruncate,
    LastObservations,
    ClosedWindows,
    MaskObservations,
    MaskBrowserOutput,
    RecentEvents,
    AmortizedForgetting,
    OpenHandsCondenser,
    HeadroomStaleReads,
    CozempicTrim,
    CozempicAge,
    CozempicStaleReads,
    PiTruncate,
    PiCompaction,
    OpenClawPrune,
    HermesPrepass,
    HermesProactivePrune,
    StrandsWindow,
    StrandsOffload,
    AdkFilter,
    VercelPrune,
    MafToolResults,
    MafToolCalls,
    MafWindow,
    MafTruncation,
    MafContextWindow,
)

STRATEGIES: Mapping[str, StrategyType] = MappingProxyType({each.name: each for each in _ALL})
"""Every strategy's class by the name plans use, in the order screens list them."""


def strategy_type(name: str) -> StrategyType:
    """The strategy of that name.

    Raises:
        ParameterError: There is none; the message suggests the nearest name.
    """
    if name not in STRATEGIES:
        raise ParameterError(f"unknown strategy {name!r}{suggestion(name, STRATEGIES)}")
    return STRATEGIES[name]


def strategy(name: str, **values: ParameterValue) -> Strategy:
    """A strategy with the given values, by parameter name (hyphens or underscores), and defaults for the rest.

    Raises:
        ParameterError: No such strategy or parameter, or a value out of range.
    """
    kind = strategy_type(name)
    return kind(**{parameter_of(kind, key.replace("_", "-")).field: value for key, value in values.items()})


def strategy_for(name: str, session: Session) -> Strategy:
    """A strategy with the defaults that fit a session's tools, where it has any such.

    Raises:
        ParameterError: There is no strategy of that name.
    """
    return tiered_stale_for(session) if name == TieredStale.name else strategy(name)


def parameter_of(strategy: Strategy | StrategyType, name: str) -> Parameter:
    """The parameter of that name.

    Raises:
        ParameterError: The strategy has none; the message suggests the nearest name.
    """
    known = {parameter.name: parameter for parameter in strategy.parameters}
    if name not in known:
        raise ParameterError(f"{strategy.name} has no parameter {name!r}{suggestion(name, known)}")
    return known[name]


def value_of(strategy: Strategy, parameter: Parameter | str) -> ParameterValue:
    """The value a strategy has for one of its parameters.

    Raises:
        ParameterError: The strategy has no parameter of that name.
    """
    if isinstance(parameter, str):
        parameter = parameter_of(strategy, parameter)
    value: ParameterValue = getattr(strategy, parameter.field)
    return value


def with_value(strategy: Strategy, parameter_name: str, value: ParameterValue) -> Strategy:
    """The same strategy with one value changed.

    Raises:
        ParameterError: The strategy has no parameter of that name, or the value is out of range.
    """
    return with_values(strategy, {parameter_name: value})


def with_values(strategy: Strategy, values: Mapping[str, ParameterValue]) -> Strategy:
    """The same strategy with some values changed, by parameter name.

    Raises:
        ParameterError: The strategy has no parameter of such a name, or a value is out of range.
    """
    changed = {parameter.field: value_of(strategy, parameter) for parameter in strategy.parameters}
    changed.update({parameter_of(strategy, name).field: value for name, value in values.items()})
    return type(strategy)(**changed)


def suggestion(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the nearest known name, or the list of all where none is near."""
    names = list(known)
    near = get_close_matches(name, names, n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else f"; there is {', '.join(names)}"
