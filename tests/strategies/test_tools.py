from dataclasses import replace

import pytest

from inspector.session.model import BlockKind
from inspector.strategies.history.reads import path_of
from inspector.strategies.history.tools import (
    AGENT_TOOLS,
    DOCUMENT_TIERS,
    TIER_OF_KIND,
    ToolKind,
    tool_kind,
    tool_kind_mask,
    tool_set_for,
)
from tests.strategies.conversations import Texts, block, session_of


@pytest.mark.parametrize(
    ("tool", "meaning"),
    [
        ("Read", ToolKind.READ),
        ("read_file", ToolKind.READ),
        ("Bash", ToolKind.SHELL),
        ("exec_command", ToolKind.SHELL),
        ("run_shell_command", ToolKind.SHELL),
        ("terminal", ToolKind.SHELL),
        ("apply_patch", ToolKind.EDIT),
        ("replace_in_file", ToolKind.EDIT),
        ("write_to_file", ToolKind.WRITE),
        ("Grep", ToolKind.SEARCH),
        ("WebFetch", ToolKind.WEB),
        ("TodoWrite", ToolKind.CONFIRMATION),
        ("unfocus", ToolKind.LIGHT),
        ("Task", ToolKind.AGENT),
        ("execute_trade", ToolKind.ACTION),
        ("mcp__files__read_file", ToolKind.READ),
        ("functions.exec_command", ToolKind.SHELL),
        ("GREP", ToolKind.SEARCH),
        ("mcp__linear-server__create_issue", ToolKind.OTHER),
        ("", ToolKind.OTHER),
    ],
)
def test_a_tool_s_meaning_is_known_by_its_name(tool, meaning):
    assert tool_kind(tool) is meaning


def test_agents_agree_on_what_a_name_means():
    seen = {}
    for agent, tools in AGENT_TOOLS.items():
        for meaning, names in tools.items():
            for name in names.split():
                assert seen.setdefault(name, (meaning, agent))[0] is meaning, (name, agent, seen[name])


def test_every_meaning_has_a_tier_and_the_document_names_twenty_three_tools():
    assert set(TIER_OF_KIND) == set(ToolKind)
    assert sum(map(len, DOCUMENT_TIERS.values())) == 23


def test_known_tools_decide_which_classification_fits():
    assert tool_set_for(["Bash", "whatever"]) == "coding"
    assert tool_set_for(["Bash", "execute_trade"]) == "document"
    assert tool_set_for(["whatever"]) == "document"
    assert tool_set_for([]) == "document"


def test_a_mask_is_false_for_blocks_without_a_tool():
    mask = tool_kind_mask(("Read", "Bash", "mine"), (ToolKind.READ,), ("mine",))
    assert mask[[0, 1, 2, -1]].tolist() == [True, False, True, False]


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ('{"file_path": "a/b.py"}', "a/b.py"),
        ('{"path": "", "filename": "c.py"}', "c.py"),
        ('{"command": ["bash", "-lc", "ls"]}', ""),
        ('{"cmd": "make test"}', ""),
        ('{"path": 3}', ""),
        ("[1]", ""),
        ("no json", ""),
        ("", ""),
        ('{"note": "' + "n" * 1000 + '", "path": "far/away.py"}', "far/away.py"),
    ],
)
def test_arguments_name_a_file(arguments, path):
    texts = Texts()
    session = replace(session_of([]), texts=texts)
    call = block(texts, BlockKind.TOOL_CALL, arguments)
    assert path_of(session, call) == path
