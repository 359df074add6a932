"""Read Kimi Code and the older Kimi CLI: a JSONL file (`wire.jsonl`) for every agent of a session.

Checked against MoonshotAI/kimi-code: `packages/agent-core/src/agent/records/types.ts` (records), `agent/context` (their
effect on the context) and `loop/events.ts`; MoonshotAI/kimi-cli: `src/kimi_cli/wire/types.py` and `file.py`,
`soul/kimisoul.py` (when usage is reported) and `soul/compaction.py`. Titles and subagents of Kimi Code:
`session/index.ts` and `agent-core-v2/src/session/sessionMetadata` (`state.json`), `tools/agent/agentTool.ts` and
`agent-swarm.ts` (results that name the agents they started), `agent/task/taskOps.ts`; of Kimi CLI: `session_state.py`,
`subagents/store.py` and `subagents/runner.py`, `tools/agent/__init__.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.files import glob_sorted, is_file
from inspector.session.format import ContainedSession, Format, can_name_file, home_of, sessions_at
from inspector.session.json import mapping, string

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample

WIRE = "wire.jsonl"

AGENTS = "agents"

SUBAGENTS = "subagents"

MAIN = "main"

RECORDS = frozenset(
    {"agent.message.appended", "config.update", "context.append_loop_event", "context.append_message"}
    | {"context.apply_compaction", "llm.request", "profile.bind", "turn.prompt", "usage.record"}
)
"""Record types specific to Kimi Code."""

MESSAGES = frozenset(
    {"CompactionBegin", "ContentPart", "StatusUpdate", "StepBegin", "ToolCall", "ToolResult", "TurnBegin"}
)
"""Message types specific to Kimi CLI."""


def _is_header(record: dict[str, Any]) -> bool:
    return record.get("type") == "metadata" and isinstance(record.get("protocol_version"), str)


class KimiCodeFormat(Format):
    """Kimi Code records."""

    name = "kimi-code"
    title = "Kimi Code"
    where = "~/.kimi-code/sessions, or sessions in $KIMI_CODE_HOME"
    exact = "prompt and output tokens of every call"

    def recognize(self, sample: Sample) -> str:
        found = [record for record in sample.records if string(record.get("type")) in RECORDS]
        header = any(map(_is_header, sample.records))
        alone = header and len(sample.records) == 1 and "created_at" in sample.records[0]
        if not alone and (not found or not (header or len(found) * 2 > len(sample.records))):
            return ""
        return f"{len(found)} of the first {len(sample.records)} lines are Kimi Code records"

    def homes(self) -> tuple[Path, ...]:
        return (home_of("KIMI_CODE_HOME", ".kimi-code") / "sessions",)

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.kimi.reader import KimiCodeInterpreter, WireReader

        made = KimiCodeInterpreter(path)
        return WireReader(path, self.name, made, made.documents, made.note)

    def parent_file(self, path: Path) -> Path | None:
        """Return the main agent's file, next to the folders of its subagents."""
        main = path.parent.with_name(MAIN) / WIRE
        is_agent = path.name == WIRE and path.parent.parent.name == AGENTS and path.parent.name != MAIN
        return main if is_agent and is_file(main) else None

    def subagents(self, path: Path, identifier: str) -> Sequence[ContainedSession]:  # noqa: ARG002  the path has the id
        files = glob_sorted(path.parent.parent, f"*/{WIRE}")
        return sessions_at(file for file in files if self.parent_file(file) == path)

    def locate(self, path: Path, identifier: str) -> Path | None:
        """Find the session that this one was forked from, in a sibling folder of the same workspace."""
        agents = path.parent.parent
        if path.name != WIRE or agents.name != AGENTS or not can_name_file(identifier):
            return None
        main = agents.parent.with_name(identifier) / AGENTS / MAIN / WIRE
        return main if is_file(main) else None

    def is_bookkeeping(self, count_name: str) -> bool:
        from inspector.session.formats.kimi.reader import CODE_QUIET

        return count_name in CODE_QUIET

    def knows_record(self, count_name: str) -> bool:
        from inspector.session.formats.kimi.reader import CODE_INTERPRETED

        return count_name in CODE_INTERPRETED or self.is_bookkeeping(count_name)


class KimiCliFormat(Format):
    """Kimi CLI messages between agent and screen."""

    name = "kimi-cli"
    title = "Kimi CLI"
    where = "~/.kimi/sessions, or sessions in $KIMI_SHARE_DIR"
    exact = "prompt and output tokens of every call"

    def recognize(self, sample: Sample) -> str:
        kinds = [
            string(mapping(record.get("message")).get("type")) for record in sample.records if "timestamp" in record
        ]
        found = sum(kind in MESSAGES for kind in kinds)
        is_new = len(sample.records) == 1 and _is_header(sample.records[0])
        if not is_new and (not found or len(kinds) * 2 <= len(sample.records)):
            return ""
        return f"{found} of the first {len(sample.records)} lines are Kimi CLI messages"

    def homes(self) -> tuple[Path, ...]:
        return (home_of("KIMI_SHARE_DIR", ".kimi") / "sessions",)

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.kimi.reader import KimiCliInterpreter, WireReader

        made = KimiCliInterpreter(path)
        return WireReader(path, self.name, made, made.documents, made.note)

    def parent_file(self, path: Path) -> Path | None:
        """Return the main agent's file, in the folder that contains its subagents."""
        main = path.parent.parent.with_name(WIRE)
        is_agent = path.name == WIRE and path.parent.parent.name == SUBAGENTS
        return main if is_agent and is_file(main) else None

    def subagents(self, path: Path, identifier: str) -> Sequence[ContainedSession]:  # noqa: ARG002  the path has the id
        return sessions_at(glob_sorted(path.parent / SUBAGENTS, f"*/{WIRE}") if path.name == WIRE else ())

    def is_sidecar(self, path: Path) -> bool:
        """Return True for the file of sent messages; the wire file next to it has more information."""
        return path.name.startswith("context") and path.suffix == ".jsonl" and is_file(path.with_name(WIRE))

    def is_bookkeeping(self, count_name: str) -> bool:
        from inspector.session.formats.kimi.reader import CLI_QUIET

        return count_name in CLI_QUIET

    def knows_record(self, count_name: str) -> bool:
        from inspector.session.formats.kimi.reader import CLI_INTERPRETED

        return count_name in CLI_INTERPRETED or self.is_bookkeeping(count_name)


FORMATS = (KimiCodeFormat(), KimiCliFormat())
