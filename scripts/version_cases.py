"""Cases that `compare_versions.py` records: command lines, library calls, MCP requests and screens.

A case of a session runs in the session's folder; a case of the program itself needs no session. All use only public
interfaces, so they run on any version of the package.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

PLANS: dict[str, tuple[str, ...]] = {
    "none": (),
    "at-insertion": ("--strategy", "trim-at-insertion:threshold=3000,head=1000,tail=500"),
    "stateless": ("--strategy", "tiered-stale:tool-set=coding,lists=true"),
    "triggered": ("--strategy", "token-budget:budget=12000"),
    "sticky": ("--strategy", "anthropic-clear-tool-uses:trigger=8000,clear-at-least=1000,clear-tool-inputs=true"),
    "preset": ("--plan", "hermes-pruning"),
    "batched": ("--strategy", "clear-old:batch-tokens=2000,batch-calls=3"),
    "summarizing": ("--strategy", "summarize:threshold=12000,tail=4 + dcp-dedupe"),
    "window": ("--strategy", "maf-context-window:window=40000,max-output=4000"),
}
"""One plan per kind of strategy, with limits that short sessions reach too."""

REPORTS = {
    "report": (
        *("--format", "json", "--ledger", "--explain", "--include-text"),
        *("--next-calls", "50", "--runs-per-day", "9"),
    ),
    "report-text": ("--explain", "--next-calls", "50", "--runs-per-day", "9"),
    "report-md": ("--format", "md", "--explain"),
    "report-calls": ("--format", "csv"),
    "report-blocks": ("--format", "csv", "--rows", "blocks"),
    "report-html": ("--format", "html", "--no-compare", "--no-script"),
}
"""Every form of a report, each on all plans."""

QUESTIONS = {"why": (), "why-switch": ("--switch", "claude-haiku-4-5", "--format", "json")}
FORMS = ("anthropic", "openai", "atif")

EXPORTS = {
    "python": "careful",
    "hook": "careful",
    "hynous": "hynous",
    "micro-x": "micro-x",
    "smart-retention": "keep-recent",
    "odincode": "clear-old",
    "hermes": "trim-at-insertion",
    "anthropic": "anthropic-clear-tool-uses",
    "langchain": "langchain-clear-tool-uses",
    "deepagents": "deepagents-evict",
    "opencode": "opencode-prune",
    "gemini-cli": "gemini-mask",
    "codex": "codex-truncate",
    "swe-agent": "last-observations",
    "openhands": "mask-observations",
}
"""Export targets, each with a ready plan or a strategy that it takes."""

COMMANDS = (
    "report",
    "why",
    "tune",
    "recall",
    "hook",
    "files",
    "mcp",
    "export",
    "serve",
    "screenshot",
    "compact",
    "compare",
    "check",
    "convert",
    "strategies",
    "formats",
    "demo",
    "help",
    "doctor",
    "clean",
    "completions",
)

SCREENS = {
    "main": "",
    "plan": "p",
    "limits": "p space",
    "detail": "down down tab",
    "best": "asterisk",
    "composition": "v",
    "compare": "c",
    "tune": "p space t",
    "costs": "dollar_sign",
    "misses": "M",
    "files": "g l",
    "help": "question_mark",
    "explain": "tab tab tab E",
    "reading": "z i",
}
"""Keys that lead from the main screen to each screen."""

SIZES = ("80x24", "140x45")

HOOK_EVENT = {
    "session_id": "s-1",
    "transcript_path": "/nowhere/s-1.jsonl",
    "cwd": "/nowhere",
    "hook_event_name": "PostToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "make"},
    "tool_response": {"stdout": "line of output\n" * 3_000, "stderr": "warning\n", "interrupted": False},
    "tool_use_id": "toolu_01CompareVersions",
}

MCP_REQUESTS = (
    ("tools/list", {}),
    ("tools/call", {"name": "context_report", "arguments": {}}),
    ("tools/call", {"name": "changelog", "arguments": {}}),
    ("tools/call", {"name": "memory_query", "arguments": {}}),
    ("tools/call", {"name": "memory_query", "arguments": {"text": "error"}}),
)

QUICK_PLANS = 3
"""Number of plans that a quick run applies to one session; the next session gets the next plans."""

QUICK_SAMPLES = ("coding-agent.jsonl", "trading-desk.json")
QUICK_BYTES = 160_000
"""A quick run takes the session of each format nearest to this size."""


@dataclass(frozen=True)
class Case:
    """One recorded run.

    Attributes:
        key: Name of the recording: folder, session and command.
        folder: Working directory.
        arguments: Words after the program's name; of a library case, the session and the plan.
        kind: "command", "library", "mcp" or "screen".
        stdin: Text on standard input.
    """

    key: str
    folder: Path
    arguments: tuple[str, ...]
    kind: str = "command"
    stdin: str = ""


@dataclass(frozen=True)
class Source:
    """A session to run commands on.

    Attributes:
        group: Label of the folder, "samples" or "corpus".
        folder: That folder.
        path: Path of the session in it.
        kind: Format, as the manifest names it.
    """

    group: str
    folder: Path
    path: str
    kind: str

    @property
    def size(self) -> int:
        return sum(each.stat().st_size for each in files_of(self.folder / self.path))


def files_of(path: Path) -> list[Path]:
    """Return the file itself, or all files in the folder."""
    return sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]


def representative(found: list[Source]) -> list[Source]:
    """Return one session of moderate size per format, and two samples."""
    kinds: dict[str, Source] = {}
    for source in found:
        best = kinds.get(source.kind)
        if best is None or abs(source.size - QUICK_BYTES) < abs(best.size - QUICK_BYTES):
            kinds[source.kind] = source
    samples = [each for each in found if each.group == "samples" and each.path in QUICK_SAMPLES]
    return samples + [source for kind, source in kinds.items() if kind != "sample"]


def session_cases(source: Source, quick: bool, turn: int) -> list[Case]:
    """Return the cases of one session; a quick run takes some, and all plans in turn over the sessions."""
    plans = tuple(word for words in PLANS.values() for word in words)
    reports = [(name, "report", (*plans, *words)) for name, words in REPORTS.items()]
    compacts = [(f"compact-{name}", "compact", words) for name, words in PLANS.items()]
    compacts.append(("compact-preset-openai", "compact", (*PLANS["preset"], "--format", "openai")))
    compacts.append(("compact-sticky-call", "compact", (*PLANS["sticky"], "--call", "7")))
    converts = [(f"convert-{form}", "convert", ("--to", form, "--what", "conversation")) for form in FORMS]
    questions = [(name, "why", words) for name, words in QUESTIONS.items()]
    libraries = [(name, words[1]) for name, words in PLANS.items() if words and words[0] == "--strategy"]
    screens = [(size, name, keys) for size in SIZES for name, keys in SCREENS.items()]
    others = [
        ("compare", "compare", ("--format", "json")),
        ("formats", "formats", ()),
        ("check", "check", ("--format", "json")),
        ("files", "files", ()),
        ("files-changelog", "files", ("--changelog", "--format", "json")),
    ]
    if quick:
        reports = [reports[0], reports[1 + turn % (len(reports) - 1)]]
        compacts = [compacts[(turn * QUICK_PLANS + step) % len(compacts)] for step in range(QUICK_PLANS)]
        converts = [converts[turn % len(converts)]]
        questions = [questions[turn % len(questions)]]
        libraries = [libraries[turn % len(libraries)]]
        others = [others[0], others[1 + turn % (len(others) - 1)]]
        if source.path != QUICK_SAMPLES[0]:
            screens = [screens[(turn * 3 + step) % len(screens)] for step in range(2)]
    folder = f"{source.group}/{source.path.replace('/', '--')}"
    cases = [
        Case(f"{folder}/{name}", source.folder, (command, source.path, *words))
        for name, command, words in (*reports, *questions, *compacts, *converts, *others)
    ]
    for place in (1, 5, 9):
        words = ("recall", f":{place}", source.path, "--json", "--no-index")
        cases.append(Case(f"{folder}/recall-{place}", source.folder, words))
    cases += [
        Case(f"{folder}/library-{name}", source.folder, (source.path, spec), "library") for name, spec in libraries
    ]
    cases += [
        Case(f"{folder}/screen-{size}-{name}", source.folder, (source.path, size, keys), "screen")
        for size, name, keys in screens
    ]
    cases.append(Case(f"{folder}/mcp", source.folder, (source.path,), "mcp"))
    return cases


def folder_cases(found: list[Source]) -> list[Case]:
    """Return the cases of folders: reports, searches for limits, two sets of sessions."""
    alone = ("--processes", "0", "--no-kept-results")
    cases = []
    for folder, path in sorted({(each.folder, each.path.partition("/")[0]) for each in found if "/" in each.path}):
        key = f"folders/{path}"
        spec = ("--strategy", "tiered-stale")
        cases += [
            Case(f"{key}/report", folder, ("report", path, *spec, *alone)),
            Case(f"{key}/report-json", folder, ("report", path, *spec, "--format", "json", *alone)),
            Case(f"{key}/check", folder, ("check", path, "--format", "json")),
        ]
    samples = [(each.folder, each.path) for each in found if each.group == "samples"]
    if samples:
        folder, first = samples[0]
        pair = ("--before", first, "--after", samples[-1][1])
        cases += [
            Case("folders/samples/report", folder, ("report", ".", "--strategy", "keep-recent", *alone)),
            Case("folders/samples/tune", folder, ("tune", ".", "--strategy", "keep-recent", "--minutes", "10", *alone)),
            Case(
                "folders/samples/tune-json",
                folder,
                ("tune", ".", "--strategy", "tiered-stale", "--minutes", "10", "--format", "json", *alone),
            ),
            Case("folders/samples/tune-compaction", folder, ("tune", ".", "--compaction", *alone)),
            Case("folders/samples/before-after", folder, ("compare", *pair, *alone)),
            Case("folders/samples/before-after-json", folder, ("compare", *pair, "--format", "json", *alone)),
        ]
    return cases


def program_cases() -> list[Case]:
    """Return the cases that need no session: help, lists, exports, hook events."""
    lines: dict[str, tuple[str, ...]] = {f"help-{name}": (name, "--help") for name in COMMANDS}
    lines["help"] = ("--help",)
    lines["strategies"] = ("strategies",)
    lines["strategies-json"] = ("strategies", "--json")
    lines["strategies-plans"] = ("strategies", "--plans")
    lines["strategy"] = ("strategies", "tiered-stale")
    lines["formats-json"] = ("formats", "--json")
    lines["export-list"] = ("export", "--list")
    lines["completions"] = ("completions", "bash")
    lines["hook-stats"] = ("hook", "stats", "--json")
    for target, plan in EXPORTS.items():
        option = "--plan" if plan in ("careful", "hynous", "micro-x") else "--strategy"
        lines[f"export-{target}"] = ("export", option, plan, "--to", target)
    lines["wrong-command"] = ("explode",)
    lines["wrong-option"] = ("report", "--no-such-option")
    lines["wrong-file"] = ("report", "no-such-file.jsonl")
    lines["wrong-strategy"] = ("report", "coding-agent.jsonl", "--strategy", "no-such-strategy")
    lines["wrong-limit"] = ("report", "coding-agent.jsonl", "--strategy", "tiered-stale:data=-1")
    samples = ROOT / "sample_sessions"
    cases = [Case(f"program/{name}", samples, words) for name, words in lines.items()]
    hooked = ("hook", "--agent", "claude-code", "--plan", "careful")
    for name, event in (("hook-event", json.dumps(HOOK_EVENT)), ("hook-broken", "{")):
        cases.append(Case(f"program/{name}", samples, hooked, stdin=event))
    return cases
