"""Sessions that another one started are found in every format with subagents, each once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from inspector.session.discovery import found_in, sessions_in
from inspector.session.model import LinkKind
from inspector.session.open import open_session
from inspector.session.related import subagents_of
from tests.session.claude_lines import SESSION
from tests.session.codex_lines import Rollout
from tests.session.gemini_lines import GeminiScript
from tests.session.harness_lines import HarnessScript
from tests.session.hermes_store import HermesStore, create
from tests.session.kimi_lines import KimiScript
from tests.session.opencode_store import Store
from tests.session.qwen_lines import QwenScript
from tests.session.run_files import jsonl
from tests.session.test_kimi import kimi_code_session
from tests.session.test_related import CHILD, PARENT, claude_child, claude_parent

Family = tuple["Path", "Path"]
"""The path of a session, and of one that it started."""


def claude(folder: Path) -> Family:
    child = claude_child(folder / SESSION / "subagents" / "workflows" / "w1" / "agent-a1b2.jsonl")
    copy = child.parent.parent.parent / "agent-acompact-c3d4.jsonl"
    copy.write_bytes(child.read_bytes())
    return claude_parent(folder, "a1b2"), child


def codex(folder: Path) -> Family:
    """A subagent that only its own header names."""
    parent, child = Rollout(), Rollout()
    parent.header(PARENT)
    parent.prompt("go")
    child.header(CHILD, source={"subagent": {"thread_spawn": {"parent_thread_id": PARENT, "depth": 1}}})
    child.prompt("find it")
    path = parent.write(folder / f"rollout-2026-04-07T13-54-20-{PARENT}.jsonl")
    return path, child.write(folder / f"rollout-2026-04-07T13-59-53-{CHILD}.jsonl")


def gemini(folder: Path) -> Family:
    parent, child = GeminiScript(), GeminiScript()
    parent.header(sessionId="12345678-aaaa")
    parent.user("u1", "go")
    child.header(sessionId="sub-1")
    child.user("u1", "find it")
    path, other = folder / "chats" / "session-2026-03-01T10-00-12345678.jsonl", folder / "chats" / "12345678-aaaa"
    other.mkdir(parents=True)
    parent.write(path)
    child.write(other / "sub-1.jsonl")
    return path, other / "sub-1.jsonl"


def qwen(folder: Path) -> Family:
    parent, child = QwenScript(), QwenScript()
    parent.user("go")
    child.add("system", subtype="parent_session", systemPayload={"parentSessionId": "s1"}, sessionId="s2")
    child.user("find it", sessionId="s2")
    for name, script in (("s1", parent), ("s2", child)):
        (folder / f"{name}.jsonl").write_bytes(jsonl(script.lines))
    return folder / "s1.jsonl", folder / "s2.jsonl"


def harness(folder: Path) -> Family:
    parent, child = HarnessScript(id="s0"), HarnessScript(origin="subagent", parentSession="s0")
    paths = []
    for name, script in (("s0", parent), ("s1", child)):
        script.user("go")
        (folder / name).mkdir()
        paths.append(folder / name / "session.jsonl")
        paths[-1].write_bytes(jsonl(script.lines))
    return paths[0], paths[1]


def kimi(folder: Path) -> Family:
    main, sub = KimiScript(), KimiScript()
    main.user("go")
    sub.user("find it")
    files = kimi_code_session(folder / "ws" / "session_1", {}, main=main, agent_0=sub)
    return files["main"], files["agent_0"]


def hermes(folder: Path) -> Family:
    store = HermesStore()
    path = create(
        folder / "state.db",
        store.session("s1"),
        store.user("s1", "go"),
        store.session("sub", parent_session_id="s1", source="tool"),
        store.user("sub", "find it"),
    )
    return path.with_name("state.db#s1"), path.with_name("state.db#sub")


def opencode(folder: Path) -> Family:
    parent = Store()
    child = Store(identifier="ses_9", parent=parent.identifier)
    for store in (parent, child):
        store.message("user")
        store.part("text", text="go")
        store.database(folder / "opencode.db")
    return folder / f"opencode.db#{parent.identifier}", folder / "opencode.db#ses_9"


FAMILIES = [claude, codex, gemini, qwen, harness, kimi, hermes, opencode]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_started_session_is_found_once(tmp_path: Path, family: Callable[[Path], Family]) -> None:
    parent, child = family(tmp_path)
    found = subagents_of(open_session(parent))
    assert [one.path for one in found.found] == [child]
    assert not found.missing
    assert not subagents_of(open_session(child)).found
    assert [link.kind for link in open_session(child).links] == [LinkKind.PARENT]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_folder_lists_it_only_with_subagents(tmp_path: Path, family: Callable[[Path], Family]) -> None:
    parent, child = family(tmp_path)
    everything = [header.path for header in found_in(tmp_path, with_subagents=True)]
    assert sorted(everything) == sorted([parent, child])
    # Only its content shows that a file in the folder of its parent is a subagent's.
    own = [parent, child] if parent.parent == child.parent and "#" not in parent.name else [parent]
    own += [child] if family in (gemini, harness) else []
    assert sorted(header.path for header in sessions_in(tmp_path)) == sorted(own)
