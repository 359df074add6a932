from inspector.report.listings import classed_tools, tools_text
from inspector.session.formats.plain import read_conversation
from inspector.strategies.history.tools import ToolKind


def session_with(*tools: str):
    messages = [{"role": "user", "content": "go"}]
    for at, tool in enumerate(tools):
        call = {"type": "tool_use", "id": f"c{at}", "name": tool, "input": {}}
        messages.append({"role": "assistant", "content": [call]})
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"c{at}", "content": "x"}]})
    return read_conversation(messages, "anthropic")


def test_tools_are_listed_by_calls_with_what_they_are_taken_for():
    found = classed_tools(session_with("Read", "Read", "mcp__files__read_file", "Bash", "frobnicate"))
    assert [(tool.name, tool.calls, tool.meaning) for tool in found] == [
        ("Read", 2, ToolKind.READ),
        ("Bash", 1, ToolKind.SHELL),
        ("frobnicate", 1, ToolKind.OTHER),
        ("mcp__files__read_file", 1, ToolKind.READ),
    ]


def test_unknown_tools_are_named_with_a_way_to_class_them():
    text = tools_text(session_with("Read", "frobnicate"))
    assert "1 unknown tool: frobnicate" in text
    assert "tiered-stale:data-tools=frobnicate" in text
    assert "All tools are classified." in tools_text(session_with("Read"))


def test_names_of_tools_cannot_drive_a_terminal():
    text = tools_text(session_with("\x1b[31mRead", "[/foo]"))
    assert "\x1b" not in text
    assert "[/foo]" in text
