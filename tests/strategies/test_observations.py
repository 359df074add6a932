import re

from hypothesis import example, given
from hypothesis import strategies as some

from inspector.replay.message_lists import compact
from inspector.strategies.core.operations import Action
from inspector.strategies.library.swe_agent import ClosedWindows
from tests.strategies.conversations import Sent, session_of
from tests.strategies.plain_lists import openai_list
from tests.strategies.recorded import changed

VIEWER = "ls\n[File: {file} ({lines} lines total)]\n(2 more lines above)\n3:def a():\n4:    pass\n(end)"


def swe_agent_closed_windows(texts):
    numbered = re.compile(r"^(\d+)\:.*?(\n|$)", re.MULTILINE)
    header = re.compile(r"\[File:\s+(.*)\s+\(\d+\s+lines\ total\)\]")
    sent, shown = [], set()
    for text in reversed(texts):
        found = list(numbered.finditer(text))
        if found:
            file = header.search(text)
            if not file:
                continue
            if file.group(1) in shown:
                note = f"Outdated window with {len(found)} lines omitted...\n"
                text = text[: found[0].start()] + note + text[found[-1].end() :]
            shown.add(file.group(1))
        sent.append(text)
    return sent[::-1]


LINES = (
    "[File: a.py (9 lines total)]",
    "[File:  b (1  lines total)] x",
    "[File: a (2 lines total)] (3 lines total)]",
    "[File:a (1 lines total)]",
    "3:[File: a.py (9 lines total)]",
    "1:x",
    "22:",
    "4",
    " 6:z",
    "note 5: y",
    "",
)


@given(some.lists(some.lists(some.sampled_from(LINES), max_size=5).map("\n".join), max_size=6))
@example([VIEWER.format(file="a.py", lines=9)] * 3)
def test_windows_close_as_in_swe_agent(texts):
    entries = []
    for text in texts:
        entries += [{"role": "user", "content": text}, {"role": "assistant", "content": "go"}]
    sent = Sent(session_of(entries), ClosedWindows())
    prompt = [index for index in sent.history.prompt(len(texts)).tolist() if index % 2 == 0]
    renditions = [(sent.rendition(index).action, sent.text(index)) for index in prompt]
    kept = [text for action, text in renditions if action is not Action.REMOVED]
    assert kept == swe_agent_closed_windows(texts)


def test_windows_in_tool_results_close_when_asked_and_none_is_dropped():
    entries = [{"role": "user", "content": "task"}]
    window = VIEWER.format(file="a.py", lines=9)
    for step, text in enumerate([window, "7:no header", window]):
        call = {"id": f"c{step}", "name": "bash", "args": {}}
        entries += [{"role": "assistant", "calls": [call]}, {"role": "tool", "id": f"c{step}", "content": text}]
    messages = openai_list(entries)
    assert compact(messages, "closed-windows") == messages
    closed = window.replace("3:def a():\n4:    pass\n", "Outdated window with 2 lines omitted...\n")
    assert changed(messages, compact(messages, "closed-windows:results=true")) == {"2": closed}
