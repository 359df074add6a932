"""Export of plans as code, a hook or an agent's own settings, with a list of unsupported parts.

The meaning of settings was read in the agents' sources and schemas; docs/development/described-systems.md lists the
versions.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from inspector.errors import InspectorError
from inspector.hook.compiled import applied, left_out, partly_applied
from inspector.replay.pricing.context_window import CLAUDE_BUFFER, CLAUDE_SUMMARY, CODEX_SHARE, DEFAULT_THRESHOLDS
from inspector.session.registry import format_named
from inspector.strategies.core.strategy import AgentSettings, Parametrized, Strategy
from inspector.strategies.history.tools import known_tools
from inspector.strategies.library.old_results import TIERS, TieredStale
from inspector.strategies.plan import Plan
from inspector.strategies.presets import display_name, part_name
from inspector.strategies.registry import SYSTEMS, value_of, with_values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from inspector.session.model import Session
    from inspector.strategies.core.parameters import Parameter


class ExportError(InspectorError):
    """Unsupported export; the message explains the reason and the remedy."""

    advice = "`inspector export --list` lists the targets"


@dataclass(frozen=True, slots=True)
class Exported:
    """A plan in another system's configuration format.

    Attributes:
        text: The configuration, with a trailing newline.
        language: Its language: `python`, `json`, `yaml`, `toml`, `rust`.
        where: Its destination, in a sentence.
        left_out: Unsupported parts of the plan, one sentence each.
        applied: The strategies it contains, with their effective values.
    """

    text: str
    language: str
    where: str
    left_out: tuple[str, ...]
    applied: tuple[Strategy, ...] = ()


@dataclass(frozen=True)
class Target:
    """A system a plan can be exported to. Each strategy names its `agent_settings` in that system.

    Attributes:
        name: Identifier, as in `SYSTEMS`: `langchain`.
        where: Destination of the configuration, in a sentence.
        write: Writes the configuration of strategies, by name, in the order of `takes`.
        one_at_a_time: Only one strategy can be configured; the plan's first counts.
    """

    name: str
    title: str
    language: str
    where: str
    write: Callable[[Mapping[str, Strategy]], str]
    one_at_a_time: bool = False

    @property
    def takes(self) -> tuple[str, ...]:
        return SYSTEMS[self.name]


def export_to(target: Target, plan: Plan) -> Exported:
    """Export a plan to a system; raise `ExportError` if it has no counterpart of any strategy."""
    chosen: dict[str, Strategy] = {}
    left_out: list[str] = []
    for strategy in plan.strategies:
        if strategy.name not in target.takes:
            left_out.append(f"{strategy.name}: {target.title} has no counterpart")
        elif chosen and target.one_at_a_time:
            left_out.append(f"{strategy.name}: only one strategy can be configured, and the plan's first is used")
        elif strategy.name in chosen:
            left_out.append(f"{strategy.name}: only the first of several can be configured")
        else:
            chosen[strategy.name] = strategy
            left_out.extend(_left_out(strategy))
    if not chosen:
        takes = ", ".join(target.takes)
        raise ExportError(f"{target.title} supports nothing in this plan; it takes {takes}")
    text = target.write({name: chosen[name] for name in target.takes if name in chosen})
    applied = tuple(_applied(strategy) for strategy in chosen.values())
    return Exported(text, target.language, target.where, tuple(left_out), applied)


def _left_out(strategy: Strategy) -> list[str]:
    agent_settings = agent_settings_of(strategy)
    sentences = []
    for parameter in _unsupported(strategy):
        why = "is a constant there" if parameter.name in agent_settings.constants else "has no counterpart there"
        value = _shown(value_of(strategy, parameter))
        sentences.append(f"{strategy.name}: {parameter.name}={value} {why} ({parameter.default!r} applies)")
    return sentences


def _unsupported(strategy: Strategy) -> list[Parameter]:
    """Return unsupported parameters with values that differ from the system's."""
    names = agent_settings_of(strategy).names
    return [
        parameter
        for parameter in strategy.parameters
        if parameter.name not in names and value_of(strategy, parameter) != parameter.default
    ]


def _applied(strategy: Strategy) -> Strategy:
    return with_values(strategy, {parameter.name: parameter.default for parameter in _unsupported(strategy)})


def _shown(value: object) -> str:
    return "+".join(value) if isinstance(value, tuple) else str(value)


def agent_settings_of(strategy: Strategy) -> AgentSettings:
    """Return a strategy's counterpart in the configuration of its system."""
    agent_settings = strategy.agent_settings if isinstance(strategy, Parametrized) else None
    if agent_settings is None:
        raise AssertionError(f"{strategy.name} is in SYSTEMS and has no counterpart")
    return agent_settings


def settings_of(strategy: Strategy) -> dict[str, Any]:
    """Return a strategy's settings by the names of its system."""
    agent_settings = agent_settings_of(strategy)
    values = {name: value_of(strategy, parameter) for parameter, name in agent_settings.names.items() if name}
    return {**agent_settings.always, **values}


def sections(written: Mapping[str, Any]) -> dict[str, Any]:
    """Nest settings in the sections that their names contain."""
    found: dict[str, Any] = {}
    for name, value in written.items():
        *outer, last = name.split(".")
        section = found
        for each in outer:
            section = section.setdefault(each, {})
        section[last] = value
    return found


def json_settings(chosen: Mapping[str, Strategy]) -> str:
    """Write strategies as the settings of a program that stores them in JSON."""
    written = {name: value for strategy in chosen.values() for name, value in settings_of(strategy).items()}
    return json.dumps(sections(written), indent=2) + "\n"


def values(strategy: Strategy) -> dict[str, Any]:
    return {parameter.field: value_of(strategy, parameter) for parameter in strategy.parameters}


OWN_CODE, HOOK = "python", "hook"

CUT_AT_ONCE = "trim-at-insertion, store-large"
"""The most useful strategies that cut results on arrival."""

PLAN_FILE = "plan.toml"
"""File name of the plan in the instructions for the hook."""


@dataclass(frozen=True, slots=True)
class ApplyMethod:
    """A way to apply a plan other than an agent's settings; `export` raises `ExportError` if it applies no part."""

    name: str
    title: str
    takes: str
    export: Callable[[Plan], Exported]


def _own_code(plan: Plan) -> Exported:
    specs = "".join(
        f"        {json.dumps(spec, ensure_ascii=False)},\n" for spec in Plan.of(*plan.strategies).to_specs()
    )
    text = (
        "from inspector import Plan, compact\n\n"
        f"PLAN = Plan.from_specs(\n    [\n{specs}    ]\n)\n\n"
        "# The whole conversation, before every call. Claude caches only up to blocks with cache_control: set it on\n"
        "# the system prompt and on the last block of the last message, as the figures of the plan assume.\n"
        "messages_to_send = compact(messages, PLAN)\n"
    )
    where = (
        "In code that calls the model, before every call. Adapters do this for SDKs and frameworks: "
        "inspector help adapters"
    )
    return Exported(text, "python", where, (), plan.strategies)


def _hook(plan: Plan) -> Exported:
    lacking = left_out(plan)
    if len(lacking) == len(plan.strategies):
        raise ExportError(
            "a hook can do nothing in this plan, because it cuts results on arrival and changes nothing later; use "
            f"{CUT_AT_ONCE}"
        )
    text = (
        f"cat > {PLAN_FILE} <<'END'\n{plan.to_toml()}END\n"
        f"inspector hook install --agent claude-code --plan {PLAN_FILE}  # or --agent opencode, --agent hermes\n"
    )
    where = (
        "In a shell, for Claude Code, OpenCode or Hermes. It shows the changes to their settings and asks first; from "
        "then on results are cut before the model sees them: inspector help hook"
    )
    parts = (*lacking, *partly_applied(plan))
    left = tuple(f"{each.name}: {each.reason}" for each in parts)
    return Exported(text, "sh", where, left, applied(plan).strategies)


APPLY_METHODS: Mapping[str, ApplyMethod] = {
    OWN_CODE: ApplyMethod(OWN_CODE, "your own code", "any plan", _own_code),
    HOOK: ApplyMethod(HOOK, "a hook in the live agent", "strategies that cut results on arrival", _hook),
}
"""Ways by name, in display order."""

OF_AGENTS: Mapping[str, tuple[str, ...]] = {
    "claude-code": (HOOK,),
    "codex": ("codex",),
    "gemini-cli": ("gemini-cli",),
    "hermes": (HOOK, "hermes"),
    "opencode": (HOOK, "opencode"),
    "openhands": ("openhands",),
    "openhands-v0": ("openhands",),
    "swe-agent": ("swe-agent",),
}
"""Export formats for each agent, by the name of its session format; others are undocumented."""


def _assignments(chosen: Mapping[str, Strategy]) -> str:
    return "".join(
        f"{name} = {json.dumps(value)}\n"
        for strategy in chosen.values()
        for name, value in settings_of(strategy).items()
    )


def _history_processors(chosen: Mapping[str, Strategy]) -> str:
    lines = ["agent:", "  history_processors:"]
    for strategy in chosen.values():
        first, *others = settings_of(strategy).items()
        lines += [f"    - {first[0]}: {first[1]}", *(f"      {name}: {value}" for name, value in others)]
    return "\n".join(lines) + "\n"


CODING_AGENTS = (
    # Truncation of long output is always on in OpenCode.
    Target("opencode", "OpenCode", "json", "In opencode.json; OpenCode 2 does not prune.", json_settings),
    Target("gemini-cli", "Gemini CLI", "json", "In settings.json.", json_settings),
    Target("codex", "Codex", "toml", "In config.toml.", _assignments),
    Target("swe-agent", "SWE-agent", "yaml", "In the agent's configuration.", _history_processors),
    Target(
        "openhands",
        "OpenHands",
        "toml",
        "In config.toml; one condenser works at a time.",
        lambda chosen: f"[condenser]\n{_assignments(chosen)}",
        one_at_a_time=True,
    ),
)


def _tier_dictionary(chosen: Mapping[str, Strategy]) -> str:
    strategy = cast("TieredStale", chosen["tiered-stale"])
    lines = ["_STALE_TRUNCATION = {"]
    listed = dict.fromkeys(known_tools(strategy.tool_set, shipped=strategy.variant == "shipped"))
    listed.update(dict.fromkeys(tool for tier in TIERS for tool in getattr(strategy, f"{tier}_tools")))
    for tier in TIERS[:-1]:
        tools = [tool for tool in listed if strategy.tier_of(tool) == tier]
        if tools:
            lines.append(f"    # {tier.capitalize()} tools")
            lines.extend(f"    {json.dumps(tool)}: {strategy.limit(tier)}," for tool in tools)
    lines += ["}", f"_DEFAULT_STALE_LIMIT = {strategy.limit('default')}  # any tool not listed above"]
    return "\n".join(lines) + "\n"


_PROJECTIONS = {
    "smart-retention": "smart_tool_retention",
    "keep-recent": "keep_recent_tool_results",
    "dedupe-reads": "dedupe_file_reads",
}


def _projection(chosen: Mapping[str, Strategy]) -> str:
    calls = []
    for name, strategy in chosen.items():
        arguments = [f"{argument}={value}" for argument, value in settings_of(strategy).items()]
        if name == "keep-recent":
            arguments = [str(values(strategy)["keep"])]
        calls.append(f"{_PROJECTIONS[name]}({', '.join(arguments)})")
    return (calls[0] if len(calls) == 1 else f"compose({', '.join(calls)})") + "\n"


def _constants(chosen: Mapping[str, Strategy]) -> str:
    written = {name: value for strategy in chosen.values() for name, value in settings_of(strategy).items()}
    return "".join(f"const {name}: usize = {value};\n" for name, value in written.items())


_PROFILES = (("terminal", "shell"), ("read_file", "read"), ("search_files", "search"), ("web_extract", "web"))


def _trim_profiles(chosen: Mapping[str, Strategy]) -> str:
    strategy = chosen["trim-at-insertion"]
    found = values(strategy)
    if not found["per_tool"]:
        constants = {name: value for name, value in settings_of(strategy).items() if name != "TOOL_TRIM_PROFILES"}
        return "".join(f"{name} = {value:_}\n" for name, value in constants.items())
    lines = ["TOOL_TRIM_PROFILES = {"]
    for tool, prefix in (*_PROFILES, ("default", "")):
        name = f"{prefix}_" if prefix else ""
        soft, head, tail = (found[f"{name}{part}"] for part in ("threshold", "head", "tail"))
        lines.append(f'    "{tool}": {{"soft_trim": {soft:_}, "head": {head:_}, "tail": {tail:_}}},')
    return "\n".join([*lines, "}", f"MAX_TOOL_RESULT_CHARS = {found['cap']:_}"]) + "\n"


FOUNDING = (
    Target(
        "hynous",
        "Hynous",
        "python",
        "In src/hynous/intelligence/agent.py, in place of the dictionary of that name.",
        _tier_dictionary,
    ),
    Target("micro-x", "the micro-x agent loop", "json", "In its configuration file.", json_settings),
    Target(
        "smart-retention",
        "the projections of the focus agent",
        "python",
        "The projection to pass when the history is composed.",
        _projection,
    ),
    Target(
        "odincode",
        "OdinCode",
        "rust",
        "In src/llm/frame_stack.rs, in place of the constant of that name.",
        _constants,
    ),
    Target(
        "hermes",
        "Hermes",
        "python",
        "In run_agent.py, with the names of the insertion-time trimming proposal.",
        _trim_profiles,
    ),
)
"""Systems known from design documents."""


def _context_management(chosen: Mapping[str, Strategy]) -> str:
    edits: list[dict[str, object]] = []
    # The API requires the clearing of thinking to be listed first.
    if "anthropic-clear-thinking" in chosen:
        edits.append(sections(settings_of(chosen["anthropic-clear-thinking"])))
    if "anthropic-clear-tool-uses" in chosen:
        found = values(chosen["anthropic-clear-tool-uses"])
        trigger = "tool_uses" if found["trigger_type"] == "tool-uses" else "input_tokens"
        edit: dict[str, object] = {
            "type": "clear_tool_uses_20250919",
            "trigger": {"type": trigger, "value": found["trigger"]},
            "keep": {"type": "tool_uses", "value": found["keep"]},
        }
        if found["clear_at_least"]:
            edit["clear_at_least"] = {"type": "input_tokens", "value": found["clear_at_least"]}
        if found["exclude_tools"]:
            edit["exclude_tools"] = list(found["exclude_tools"])
        if found["clear_tool_inputs"]:
            edit["clear_tool_inputs"] = list(found["clear_inputs_of"]) or True
        edits.append(edit)
    if "anthropic-compact" in chosen:
        found = values(chosen["anthropic-compact"])
        compaction: dict[str, object] = {
            "type": "compact_20260112",
            "trigger": {"type": "input_tokens", "value": found["trigger"]},
        }
        if found["keep_messages"]:
            compaction["pause_after_compaction"] = True
        edits.append(compaction)
    return json.dumps({"context_management": {"edits": edits}}, indent=2) + "\n"


def _langchain(chosen: Mapping[str, Strategy]) -> str:
    parts, names = [], []
    if "langchain-clear-tool-uses" in chosen:
        names += ["ClearToolUsesEdit", "ContextEditingMiddleware"]
        written = settings_of(chosen["langchain-clear-tool-uses"])
        arguments = ",\n            ".join(f"{name}={value!r}" for name, value in written.items())
        edit = f"        ClearToolUsesEdit(\n            {arguments},\n        ),\n"
        parts.append(f"    ContextEditingMiddleware(edits=[\n{edit}    ]),")
    if "langchain-summarization" in chosen:
        found = values(chosen["langchain-summarization"])
        names.append("SummarizationMiddleware")
        parts.append(
            "    SummarizationMiddleware(\n        model=model,\n"
            f"        trigger={_measures(found, 'trigger', every=bool(found['all_triggers']))},\n"
            f"        keep={_keep(found)},\n    ),"
        )
    body = "\n".join(parts)
    return f"from langchain.agents.middleware import {', '.join(sorted(names))}\n\nmiddleware = [\n{body}\n]\n"


def _measures(found: Mapping[str, object], prefix: str, *, every: bool) -> str:
    units = ("tokens", "messages", "fraction")
    named = [(unit, found[f"{prefix}_{unit}"]) for unit in units if found[f"{prefix}_{unit}"]]
    if every and len(named) > 1:
        return repr(dict(named))
    return repr(named[0]) if len(named) == 1 else repr(named)


def _keep(found: Mapping[str, object]) -> str:
    for unit in ("fraction", "tokens", "messages"):
        if found[f"keep_{unit}"]:
            return repr((unit, found[f"keep_{unit}"]))
    return repr(("messages", 0))


def _deepagents(chosen: Mapping[str, Strategy]) -> str:
    arguments = "".join(f"        {name}={value},\n" for name, value in settings_of(chosen["deepagents-evict"]).items())
    return (
        "from deepagents.middleware.filesystem import FilesystemMiddleware\n\n"
        f"middleware = [\n    FilesystemMiddleware(\n{arguments}    ),\n]\n"
    )


def _haystack(chosen: Mapping[str, Strategy]) -> str:
    strategy = chosen["haystack-prune"]
    found, written = values(strategy), settings_of(strategy)
    of_compactor = ("min_keep_steps", "min_tokens", "placeholder")
    compactor = ", ".join(f"{name}={written[name]!r}" for name in of_compactor if name in written)
    window = found["window"] or "context_window"
    return (
        "from haystack.hooks.compaction import CompactionHook, ToolResultPruningCompactor\n\n"
        f"hook = CompactionHook(\n    compactor=ToolResultPruningCompactor({compactor}),\n"
        f"    context_window={window},\n"
        f"    compact_at={found['compact_at']},\n    compact_to={found['compact_to']},\n)\n"
    )


FRAMEWORKS = (
    Target(
        "anthropic",
        "the Anthropic API",
        "json",
        "Fields of a Messages request, with the beta header context-management-2025-06-27, and compact-2026-01-12 for "
        "compaction.",
        _context_management,
    ),
    Target("langchain", "LangChain", "python", "The middleware to give create_agent.", _langchain),
    Target("deepagents", "deepagents", "python", "The middleware to give create_agent.", _deepagents),
    Target("haystack", "Haystack", "python", "The hook to give an Agent, as hooks={'before_llm': [hook]}.", _haystack),
)


TARGETS: dict[str, Target] = {target.name: target for target in (*FOUNDING, *FRAMEWORKS, *CODING_AGENTS)}
"""Every system with settings for plans, by name, in display order."""

TITLES: Mapping[str, str] = {
    **{way.name: way.title for way in APPLY_METHODS.values()},
    **{target.name: target.title for target in TARGETS.values()},
}
"""Titles of all export formats by name: code and hooks first, since settings of a system do not limit them."""


def export_plan(plan: Plan, name: str) -> Exported:
    """Export a plan's enabled strategies. Raises `ExportError` if the target is unknown or supports none."""
    if name in APPLY_METHODS:
        return APPLY_METHODS[name].export(plan)
    if name not in TARGETS:
        near = get_close_matches(name, TITLES, n=1)
        meant = f"; did you mean {near[0]}?" if near else "."
        raise ExportError(f"no system named {name!r}{meant} There are: {', '.join(TITLES)}")
    return export_to(TARGETS[name], plan)


NONE_RECOMMENDED = "no recommended plan"
"""Plans an agent can apply natively, if none of them is recommended."""


class AgentSupport(NamedTuple):
    """Ability of a session's agent to apply a plan.

    Attributes:
        verdict: A short answer: `Claude Code cannot apply it`.
        advice: Next step for the user, in a sentence.
        names: Export formats, most fitting first; `OWN_CODE` if the agent cannot apply it.
        applied: The strategies the agent would apply, with their effective values; None if unknown.
        is_whole: True if they are the whole plan.
    """

    verdict: str
    advice: str
    names: tuple[str, ...]
    agent: str
    applied: tuple[Strategy, ...] | None
    is_whole: bool = False

    @property
    def is_lacking(self) -> bool:
        """True if the agent's abilities are documented and do not cover the whole plan."""
        return self.applied is not None and not self.is_whole

    @property
    def can(self) -> str:
        """Prefix of the phrase: `Claude Code can apply`."""
        return f"{self.agent} can apply"

    def can_apply(self, what: str) -> str:
        """Describe the natively applicable plan, or `NONE_RECOMMENDED`: `Claude Code can apply vercel-prune`."""
        return f"{self.can} {what}"

    @property
    def in_short(self) -> str:
        """Short answer, with an alternative way to apply the plan if the agent cannot."""
        return f"{self.verdict}; your own code can" if self.names == (OWN_CODE,) else self.verdict

    @property
    def sentence(self) -> str:
        return f"{_capital(self.in_short)}."

    @property
    def in_full(self) -> str:
        """Answer and advice, in sentences."""
        return f"{_capital(self.verdict)}. {self.advice}"


def _capital(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"


def describe_applied_plan(plan: Plan, session: Session | None) -> str:
    """Report in one line that a plan was made current, how to undo it, and whether the agent can apply it."""
    name = display_name(plan.name, plan.to_specs()) or "another plan"
    verdict = "" if session is None else f"; {answer_for(session.format, plan).verdict} (w e)"
    return f"now on: {name}; ctrl+z undoes it{verdict}"


@lru_cache(maxsize=512)
def answer_for(name: str, plan: Plan) -> AgentSupport:
    """Determine whether the agent that wrote a session, by its format, can apply a plan, and how."""
    known = format_named(name)
    agent = name if known is None else known.title
    names = OF_AGENTS.get(name)
    own_code = "Your own code can apply any plan: inspector help apply."
    if names is None:
        return AgentSupport("unknown if this agent can apply it", own_code, (OWN_CODE,), agent, None)
    made = {each: exported for each in names if (exported := _exported(plan, each)) is not None}
    whole = tuple(each for each, exported in made.items() if not exported.left_out)
    if whole:
        by = f"Through {TITLES[whole[0]]}."
        return AgentSupport(f"{agent} can apply it", by, whole, agent, plan.strategies, is_whole=True)
    if made:
        name, exported = next(iter(made.items()))
        only = ", ".join(strategy.name for strategy in exported.applied)
        by = f"Through {TITLES[name]}: {only}, which compare (c) shows separately."
        return AgentSupport(f"{agent} can apply part of it", by, tuple(made), agent, exported.applied)
    takes = f"{APPLY_METHODS[HOOK].takes}: {CUT_AT_ONCE}" if HOOK in names else ", ".join(TARGETS[names[0]].takes)
    advice = f"Supported: {takes}. {own_code}"
    return AgentSupport(f"{agent} cannot apply it", advice, (OWN_CODE,), agent, ())


def part_of(name: str, plan: Plan) -> Plan | None:
    """Return the part of a plan that an agent (by format) can apply, itself if whole; None if none or unknown."""
    answer = answer_for(name, plan)
    if answer.is_whole:
        return plan
    return Plan.of(*answer.applied, name=part_name(plan.name)) if answer.applied else None


def _exported(plan: Plan, name: str) -> Exported | None:
    try:
        return export_plan(plan, name)
    except ExportError:
        return None


@dataclass(frozen=True, slots=True)
class CompactionSetting:
    """An agent's compaction setting, written for a threshold and a window (None if unknown), both in tokens."""

    name: str
    title: str
    write: Callable[[int, int | None], Exported]


CLAUDE_WINDOWS: Final = (100_000, 1_000_000)
"""Range of `autoCompactWindow`."""


def _claude_code(threshold: int, window: int | None) -> Exported:
    least, most = CLAUDE_WINDOWS
    asked = threshold + CLAUDE_SUMMARY + CLAUDE_BUFFER
    notes: list[str] = []
    if asked > most:
        raise ExportError(f"Claude Code accepts no window above {most:,} tokens, and compacts before it is full")
    if window is not None and asked > window:
        raise ExportError(f"Claude Code compacts at {window - CLAUDE_SUMMARY - CLAUDE_BUFFER:,} tokens at the latest")
    if asked >= least:
        settings: dict[str, object] = {"autoCompactWindow": asked}
        notes.append(f"or in the environment, which takes precedence: CLAUDE_CODE_AUTO_COMPACT_WINDOW={asked}")
        if window is not None:
            share = _percent(threshold, window - CLAUDE_SUMMARY)
            notes.append(f"or as a share of the whole window (not both): CLAUDE_AUTOCOMPACT_PCT_OVERRIDE={share}")
    else:
        share = _percent(threshold, least - CLAUDE_SUMMARY)
        settings = {"autoCompactWindow": least, "env": {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": str(share)}}
        notes.append(f"a window this small cannot be set, so use a share of it; export it in the shell: {share}")
    notes.append("some versions reportedly ignore it: check the sizes at which the next sessions compact")
    where = "In ~/.claude/settings.json; it compacts 33,000 tokens below the configured window."
    return Exported(_json(settings), "json", where, tuple(notes))


def _codex(threshold: int, window: int | None) -> Exported:
    latest = None if window is None else round(CODEX_SHARE * window)
    notes = () if latest is None or threshold <= latest else (f"it always compacts at {latest:,} tokens or earlier",)
    return Exported(f"model_auto_compact_token_limit = {threshold}\n", "toml", "In ~/.codex/config.toml.", notes)


def _kilo(threshold: int, window: int | None) -> Exported:
    share = _percent(threshold, _known(window, "Kilo"))
    notes = ("it compacts earlier if its reserve requires it",)
    return Exported(_json({"compaction": {"threshold_percent": share}}), "json", "In Kilo's configuration file.", notes)


def _opencode(threshold: int, window: int | None) -> Exported:
    reserved = _known(window, "OpenCode") - threshold
    notes = (
        "for models that list an input limit, counted from that limit",
        "others compact at the window minus the longest answer, regardless of the setting",
        "in OpenCode 2 the setting is compaction.buffer, for all models",
    )
    return Exported(_json({"compaction": {"reserved": max(reserved, 0)}}), "json", "In opencode.json.", notes)


def _gemini(threshold: int, window: int | None) -> Exported:
    share = min(round(threshold / _known(window, "Gemini CLI"), 3), 1.0)
    where = "In ~/.gemini/settings.json; restart required."
    return Exported(_json({"model": {"compressionThreshold": share}}), "json", where, ())


def _pi(threshold: int, window: int | None) -> Exported:
    reserve = max(_known(window, "pi") - threshold, 0)
    return Exported(_json({"compaction": {"reserveTokens": reserve}}), "json", "In ~/.pi/agent/settings.json.", ())


def _percent(threshold: int, window: int) -> int:
    """Return the threshold in whole percent of the window, rounded down if possible."""
    return min(max(100 * threshold // max(window, 1), 1), 100)


def _known(window: int | None, title: str) -> int:
    if window is None:
        raise ExportError(f"{title} needs a share of the model's window, which is unknown: add --window TOKENS")
    return window


def _json(settings: dict[str, object]) -> str:
    return json.dumps(settings, indent=2) + "\n"


COMPACTION_SETTINGS: Final[dict[str, CompactionSetting]] = {
    each.name: each
    for each in (
        CompactionSetting("claude-code", "Claude Code", _claude_code),
        CompactionSetting("codex", "Codex", _codex),
        CompactionSetting("kilo", "Kilo", _kilo),
        CompactionSetting("opencode", "OpenCode", _opencode),
        CompactionSetting("gemini-cli", "Gemini CLI", _gemini),
        CompactionSetting("pi", "pi", _pi),
    )
}
"""Agents with a compaction setting, by the names of their session formats."""


def export_compaction(agent: str, threshold: int, window: int | None) -> Exported:
    """Write a threshold as an agent's configuration. Raises `ExportError` if the agent has none for it."""
    if agent not in COMPACTION_SETTINGS:
        raise ExportError(f"no compaction setting for {agent}; supported: {', '.join(COMPACTION_SETTINGS)}")
    return COMPACTION_SETTINGS[agent].write(threshold, window)


def default_threshold(agent: str, window: int | None) -> int | None:
    """Return an agent's default threshold in tokens; None if unknown."""
    default = DEFAULT_THRESHOLDS.get(agent)
    return None if default is None or window is None else default(window)
