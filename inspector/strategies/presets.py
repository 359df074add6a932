"""Ready plans: the defaults of each described system, an empty plan, and two of this project's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.strategies.plan import Plan

if TYPE_CHECKING:
    from inspector.session.model import Session


@dataclass(frozen=True, slots=True)
class Preset:
    """A plan that comes with the program.

    Attributes:
        name: Identifier the user selects it by.
        summary: One sentence of description.
        specs: Its strategies in their one-line form.
        fits_session: True if values not named take the defaults that fit a session.
    """

    name: str
    summary: str
    specs: tuple[str, ...]
    fits_session: bool = False

    def plan(self, session: Session | None = None) -> Plan:
        """Build the plan, fitted to `session` if given."""
        made = Plan.from_specs(self.specs, session=session if self.fits_session else None)
        return Plan(made.entries, name=self.name)


_TRIMMED = r'marker="\n\n[... {removed:,} chars trimmed from {tool} output, all of it: {recall} ...]\n\n"'
_PROCESSED = r'marker="\n...[truncated, already processed; all of it: {recall}]"'

_ALL = (
    Preset("none", "Nothing is cut.", ()),
    Preset(
        "careful",
        "Ours: large results keep both ends from the start, stale ones shrink in batches of at least 20,000 tokens.",
        (
            f"trim-at-insertion:threshold=24000,head=8000,tail=8000,{_TRIMMED}",
            (
                "tiered-stale:confirmation=400,action=1500,data=2000,search=2000,default=2000,never-longer=true,"
                f"batch-tokens=20000,{_PROCESSED}"
            ),
        ),
        fits_session=True,
    ),
    Preset(
        "aggressive",
        "Ours: large results keep both ends from the start, stale ones a few lines, cut as soon as they are stale.",
        (
            f"trim-at-insertion:per-tool=true,{_TRIMMED}",
            f"tiered-stale:confirmation=100,action=200,data=300,search=400,default=400,never-longer=true,{_PROCESSED}",
        ),
        fits_session=True,
    ),
    Preset("hynous", "Tiered truncation as its design document has it.", ("tiered-stale",)),
    Preset("hynous-shipped", "Tiered truncation as the program ships it.", ("tiered-stale:variant=shipped",)),
    Preset(
        "micro-x",
        "The micro-x agent loop: a cap at insertion, and a token budget.",
        ("cap-at-insertion", "token-budget:variant=shipped"),
    ),
    Preset(
        "micro-x-summary",
        "The micro-x agent loop as it is now: a cap at insertion, and a summary at a threshold.",
        ("cap-at-insertion", "summarize"),
        fits_session=True,
    ),
    Preset("smart-retention", "The focus agent's projection.", ("smart-retention:variant=shipped",)),
    Preset("keep-recent", "The projection smart retention took the place of.", ("keep-recent",)),
    Preset("odincode", "OdinCode: the newest three results.", ("clear-old:variant=shipped",)),
    Preset(
        "hermes-proposal", "Hermes' proposal: trimming at insertion, by tool.", ("trim-at-insertion:per-tool=true",)
    ),
    Preset("utah", "Utah: prune old results in two tiers.", ("prune-old",)),
    Preset("anthropic", "The Anthropic API's clearing of tool uses.", ("anthropic-clear-tool-uses",)),
    Preset(
        "claude-code",
        "Claude Code's microcompact as its builds around 2.0.76 were read; not confirmed by its makers.",
        ("anthropic-clear-tool-uses:trigger=40000,clear-at-least=20000",),
    ),
    Preset("langchain", "LangChain's context editing.", ("langchain-clear-tool-uses",)),
    Preset("langchain-summary", "LangChain's summarization.", ("langchain-summarization",), fits_session=True),
    Preset(
        "deepagents",
        "deepagents: eviction to files, then summarization.",
        ("deepagents-evict", "langchain-summarization"),
        fits_session=True,
    ),
    Preset("opencode", "OpenCode with pruning switched on.", ("opencode-truncate", "opencode-prune")),
    Preset("opencode-dcp", "OpenCode's pruning plug-in.", ("dcp-dedupe", "dcp-purge-errors")),
    Preset("codex", "Codex: truncation at insertion.", ("codex-truncate",)),
    Preset(
        "gemini-cli",
        "Gemini CLI: truncation at insertion, then compression and masking.",
        ("gemini-truncate", "gemini-compress", "gemini-mask"),
        fits_session=True,
    ),
    Preset("cline", "Cline: duplicate reads and truncation.", ("cline-truncate",)),
    Preset("cline-4", "Cline since version 4: compaction.", ("cline-compaction",), fits_session=True),
    Preset("roo", "Roo Code: the sliding window.", ("roo-truncate",)),
    Preset("swe-agent", "SWE-agent: the last five observations.", ("last-observations",)),
    Preset("openhands", "OpenHands: its condenser.", ("openhands-condenser",), fits_session=True),
    Preset("openhands-masking", "OpenHands 0.x: observation masking.", ("mask-observations",)),
    Preset("openclaw", "OpenClaw: pruning once the provider's cache has run out.", ("openclaw-prune",)),
    Preset(
        "openclaw-2026.9",
        "OpenClaw 2026.9: what was pruned once the cache has run out stays so.",
        ("openclaw-prune:variant=2026.9",),
    ),
    Preset(
        "openclaw-server",
        "OpenClaw 2026.9 with an Anthropic key: what it asks the API to clear, in a window of 200,000 tokens.",
        ("anthropic-clear-tool-uses:trigger=60000,clear-at-least=12500",),
    ),
    Preset("hermes", "Hermes: large results in files, and the pre-pass.", ("store-large", "hermes-prepass")),
    Preset(
        "hermes-pruning",
        "Hermes with its proactive prune switched on.",
        ("store-large", "hermes-proactive-prune", "hermes-prepass"),
    ),
    Preset(
        "hermes-0.21",
        "Hermes 0.21: large results in files, those of MCP servers sooner, and a pre-pass that spares less.",
        ("store-large:mcp-limit=50000", "hermes-prepass:version=0.21"),
    ),
    Preset(
        "hermes-0.22",
        "Hermes 0.22: large results in files, and a pre-pass that leaves calls whole.",
        ("store-large:mcp-limit=50000", "hermes-prepass:version=0.22"),
    ),
    Preset("headroom", "Headroom: reads of files that were changed since.", ("headroom-stale-reads",)),
    Preset(
        "cozempic",
        "Cozempic: what its standard prescription does to results.",
        ("cozempic-trim", "cozempic-age", "cozempic-stale-reads"),
    ),
    Preset("pi", "pi: truncation at insertion, then compaction.", ("pi-truncate", "pi-compaction"), fits_session=True),
    Preset(
        "pi-1.5",
        "pi 1.5: truncation at insertion, then compaction, within a run too.",
        ("pi-truncate:version=1.5", "pi-compaction:version=1.5"),
        fits_session=True,
    ),
    Preset("strands", "Strands: the sliding window.", ("strands-window",)),
    Preset("agent-framework", "Microsoft's agent framework: its context window strategy.", ("maf-context-window",)),
    Preset("adk", "Google's ADK: the context filter.", ("adk-filter",)),
    Preset("vercel", "Vercel's AI SDK: pruneMessages as its documentation calls it.", ("vercel-prune",)),
)

PRESETS = {preset.name: preset for preset in _ALL}
"""Presets by name, in display order."""
