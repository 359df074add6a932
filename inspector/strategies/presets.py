"""Plans by name.

Built in: the defaults of each described system, an empty plan, and four of this project's own. Saved: the plans in the
platform's data folder.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from inspector.atomic_files import APPLICATION, write_atomic
from inspector.session.files import expand_user, glob_sorted
from inspector.strategies.plan import Plan, PlanError
from inspector.strategies.registry import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from inspector.session.model import Session


@dataclass(frozen=True, slots=True)
class Preset:
    """A plan of the program. `fits_session`: values not named take the defaults that fit a session."""

    name: str
    summary: str
    specs: tuple[str, ...]
    fits_session: bool = False

    def plan(self, session: Session | None = None) -> Plan:
        made = Plan.from_specs(self.specs, session=session if self.fits_session else None)
        return Plan(made.entries, name=self.name)


_TRIMMED = r'marker="\n\n[... {removed:,} chars trimmed from {tool} output, all of it: {recall} ...]\n\n"'
_PROCESSED = r'marker="\n...[truncated, already processed; all of it: {recall}]"'

_ALL = (
    Preset("none", "No cuts: everything is sent as recorded.", ()),
    Preset(
        "newest-ten",
        "Our own: the newest ten results stay whole, older ones are masked in batches of 30,000 tokens or more.",
        ("last-observations:keep=10,batch-tokens=30000",),
    ),
    Preset(
        "newest-twenty-messages",
        "Our own: tool calls and results of the newest 20 messages stay, older ones go in batches of 30,000 tokens or "
        "more; reasoning stays where text follows it.",
        ("vercel-prune:reasoning=none,tool-calls=before-last-messages,messages=20,batch-tokens=30000",),
    ),
    Preset(
        "careful",
        "Our own: large results keep both ends from insertion on, stale ones shrink in batches of 20,000 tokens or "
        "more.",
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
        "Our own: large results keep both ends from insertion on, stale ones a few lines, cut as soon as they are "
        "stale.",
        (
            f"trim-at-insertion:per-tool=true,{_TRIMMED}",
            f"tiered-stale:confirmation=100,action=200,data=300,search=400,default=400,never-longer=true,{_PROCESSED}",
        ),
        fits_session=True,
    ),
    Preset("hynous", "Tiered limits, as in Hynous' design document.", ("tiered-stale",)),
    Preset("hynous-shipped", "Tiered limits, as Hynous ships them.", ("tiered-stale:variant=shipped",)),
    Preset(
        "micro-x",
        "Cap at insertion, then a token budget, as the micro-x agent loop had them.",
        ("cap-at-insertion", "token-budget:variant=shipped"),
    ),
    Preset(
        "micro-x-summary",
        "Cap at insertion, then a summary at a threshold, as in today's micro-x agent loop.",
        ("cap-at-insertion", "summarize"),
        fits_session=True,
    ),
    Preset(
        "smart-retention", "Smart retention by tool, as the focus agent ships it.", ("smart-retention:variant=shipped",)
    ),
    Preset("keep-recent", "Newest 30 results only, the focus agent's rule before smart retention.", ("keep-recent",)),
    Preset(
        "odincode", "Newest three results whole, older ones cleared, as in OdinCode.", ("clear-old:variant=shipped",)
    ),
    Preset(
        "hermes-proposal",
        "Trimming at insertion by tool, as proposed for Hermes.",
        ("trim-at-insertion:per-tool=true",),
    ),
    Preset("utah", "Old results pruned in two tiers, as in Utah.", ("prune-old",)),
    Preset("anthropic", "Old tool uses cleared, as in the Anthropic API.", ("anthropic-clear-tool-uses",)),
    Preset(
        "anthropic-compaction",
        "Conversation summarized at 150,000 tokens, as by the Anthropic API.",
        ("anthropic-compact",),
        fits_session=True,
    ),
    Preset(
        "claude-code",
        "Old tool uses cleared, as read from Claude Code builds around 2.0.76 (microcompact); not confirmed by its "
        "makers.",
        ("anthropic-clear-tool-uses:trigger=40000,clear-at-least=20000",),
    ),
    Preset("langchain", "Old tool results cleared, as in LangChain's context editing.", ("langchain-clear-tool-uses",)),
    Preset(
        "langchain-summary",
        "Older messages summarized, as in LangChain.",
        ("langchain-summarization",),
        fits_session=True,
    ),
    Preset(
        "deepagents",
        "Large results moved to files, older messages summarized, as in deepagents.",
        ("deepagents-evict", "langchain-summarization"),
        fits_session=True,
    ),
    Preset(
        "opencode",
        "Truncation at insertion, old output pruned, as in OpenCode with pruning on.",
        ("opencode-truncate", "opencode-prune"),
    ),
    Preset(
        "opencode-dcp",
        "Repeated and failed calls pruned, as in OpenCode's DCP plug-in.",
        ("dcp-dedupe", "dcp-purge-errors"),
    ),
    Preset("codex", "Truncation at insertion, as in Codex.", ("codex-truncate",)),
    Preset(
        "gemini-cli",
        "Truncation at insertion, then compression and masking, as in Gemini CLI.",
        ("gemini-truncate", "gemini-compress", "gemini-mask"),
        fits_session=True,
    ),
    Preset(
        "cline",
        "Duplicate reads dropped, then half of the messages, as in Cline before version 4.",
        ("cline-truncate",),
    ),
    Preset(
        "cline-4",
        "Compaction near the end of the window, as in Cline since version 4.",
        ("cline-compaction",),
        fits_session=True,
    ),
    Preset("roo", "Oldest half of the messages hidden near the end of the window, as in Roo Code.", ("roo-truncate",)),
    Preset("swe-agent", "Newest five observations only, as in SWE-agent.", ("last-observations",)),
    Preset(
        "openhands",
        "Middle of the conversation summarized, as in OpenHands.",
        ("openhands-condenser",),
        fits_session=True,
    ),
    Preset("openhands-masking", "Old observations masked, as in OpenHands 0.x.", ("mask-observations",)),
    Preset("openclaw", "Old results pruned once the cache has expired, as in OpenClaw.", ("openclaw-prune",)),
    Preset(
        "openclaw-2026.9",
        "Old results pruned permanently once the cache has expired, as in OpenClaw 2026.9.",
        ("openclaw-prune:variant=2026.9",),
    ),
    Preset(
        "openclaw-server",
        "Tool uses cleared by the API, as OpenClaw 2026.9 requests it with an Anthropic key and a 200,000-token "
        "window.",
        ("anthropic-clear-tool-uses:trigger=60000,clear-at-least=12500",),
    ),
    Preset(
        "hermes",
        "Large results in files, old ones pruned before compression, as in Hermes.",
        ("store-large", "hermes-prepass"),
    ),
    Preset(
        "hermes-pruning",
        "Large results in files, old ones pruned early and before compression, as in Hermes with proactive pruning on.",
        ("store-large", "hermes-proactive-prune", "hermes-prepass"),
    ),
    Preset(
        "hermes-0.21",
        "Large results in files, MCP results sooner, and a pre-pass that spares less, as in Hermes 0.21.",
        ("store-large:mcp-limit=50000", "hermes-prepass:version=0.21"),
    ),
    Preset(
        "hermes-0.22",
        "Large results in files, and a pre-pass that leaves calls whole, as in Hermes 0.22.",
        ("store-large:mcp-limit=50000", "hermes-prepass:version=0.22"),
    ),
    Preset("headroom", "Reads of changed files replaced, as in Headroom.", ("headroom-stale-reads",)),
    Preset(
        "cozempic",
        "Results trimmed and aged, stale reads replaced, as in Cozempic's standard prescription.",
        ("cozempic-trim", "cozempic-age", "cozempic-stale-reads"),
    ),
    Preset(
        "pi", "Truncation at insertion, then compaction, as in pi.", ("pi-truncate", "pi-compaction"), fits_session=True
    ),
    Preset(
        "pi-1.5",
        "Truncation at insertion, then compaction, also during a run, as in pi 1.5.",
        ("pi-truncate:version=1.5", "pi-compaction:version=1.5"),
        fits_session=True,
    ),
    Preset(
        "haystack",
        "Oldest results pruned when the window fills up, as with Haystack's compaction hook.",
        ("haystack-prune",),
    ),
    Preset("strands", "Sliding window of messages, as in Strands.", ("strands-window",)),
    Preset(
        "agent-framework",
        "Conversation fitted to the context window, as in Microsoft's agent framework.",
        ("maf-context-window",),
    ),
    Preset("adk", "Newest runs only, as in the context filter of Google's ADK.", ("adk-filter",)),
    Preset(
        "vercel", "Reasoning and old tool uses pruned, as in the documentation of Vercel's AI SDK.", ("vercel-prune",)
    ),
)

PRESETS = {preset.name: preset for preset in _ALL}
"""Presets by name, in display order."""

_PART_OF = "part of "


def part_name(name: str) -> str:
    """Return the name of the part of a plan that an agent can apply."""
    return f"{_PART_OF}{name}"


def display_name(name: str, strategies: Iterable[str] = ()) -> str:
    """Return a plan's name for users, `newest ten` for `newest-ten`; its strategies if it has none."""
    if not name:
        return " + ".join(spec.partition(":")[0] for spec in strategies)
    identifier = name.removeprefix(_PART_OF)
    return name.replace("-", " ") if identifier in PRESETS and identifier not in STRATEGIES else name


def preset_named(text: str) -> Preset | None:
    """Return the built-in plan of a name or a display name."""
    return PRESETS.get(text) or PRESETS.get(text.replace(" ", "-"))


SUFFIX = ".toml"


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """A saved plan; None with the reason if it cannot be read."""

    name: str
    path: Path
    plan: Plan | None
    problem: str = ""


def library_folder() -> Path:
    from platformdirs import user_data_path

    return user_data_path(APPLICATION) / "plans"


def saved_plans(folder: Path | None = None) -> list[SavedPlan]:
    """Return every saved plan by name. Invalid files are included with their error."""
    found = []
    for path in glob_sorted(folder or library_folder(), f"*{SUFFIX}"):
        try:
            plan = Plan.from_toml(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, PlanError) as error:
            found.append(SavedPlan(path.stem, path, None, f"cannot be read: {str(error).splitlines()[0]}"))
        else:
            found.append(SavedPlan(plan.name or path.stem, path, plan))
    return found


def target_of(text: str, folder: Path | None = None) -> Path:
    """Return the path for a typed path or name. A name is saved in the library."""
    text = text.strip()
    if text.startswith("~") or text.endswith(SUFFIX) or os.sep in text:
        path = expand_user(text)
        return path if path.suffix else path.with_suffix(SUFFIX)
    stem = re.sub(r"[^\w .+-]+", "-", text).strip(". ")
    return (folder or library_folder()) / f"{stem}{SUFFIX}"


def problem_with_name(text: str) -> str:
    """Return why a plan cannot be saved under a name, or an empty string."""
    if not re.search(r"\w", text):
        return "a plan name needs at least one letter or digit"
    path = target_of(text)
    if path.suffix != SUFFIX:
        return f"{path.name} is not a {SUFFIX} file"
    from inspector.session.registry import problem_with_target

    problem = problem_with_target(path)
    return f"{path} {problem}" if problem else ""


def save_named(plan: Plan, text: str) -> Path:
    """Save a plan by name or in a file; return its path. Raises `OSError` if it cannot be written."""
    path = target_of(text)
    write_atomic(path, replace(plan, name=path.stem).to_toml())
    return path
