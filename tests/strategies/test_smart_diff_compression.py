import json

import pytest

from inspector.recall.find import matching_blocks
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.session.model import BlockKind
from inspector.strategies.core.operations import Action
from inspector.strategies.history.history import History
from inspector.strategies.library.smart_retention import SmartDiffCompression
from inspector.strategies.plan import Plan
from tests.replay.synthetic import CharacterTable
from tests.strategies.conversations import Sent, session_of

PADDING = "# as it was before, " * 20


def edit(number, path="config.py", *, said="", intent="", result="The file was updated.", error=False, **args):
    """An edit and its answer."""
    args = args or {"file_path": path, "old_str": f"x{PADDING}", "new_str": f"y{PADDING}"}
    if intent:
        args["intent"] = intent
    call = {"id": f"t{number}", "name": "edit_file", "args": args}
    return [
        {"role": "assistant", "content": said, "calls": [call]},
        {"role": "tool", "id": f"t{number}", "name": "edit_file", "content": result, "error": error},
    ]


def read(number, path="config.py"):
    """A read and its answer."""
    call = {"id": f"t{number}", "name": "read_file", "args": {"file_path": path}}
    return [
        {"role": "assistant", "content": "", "calls": [call]},
        {"role": "tool", "id": f"t{number}", "name": "read_file", "content": "1\tAGENT_CONFIG = 1\n"},
    ]


def told(*steps):
    return [{"role": "user", "content": "task"}, *(entry for step in steps for entry in step)]


def notes(sent, call=None):
    return [text for text in sent.changed(call).values() if text.startswith("[Edits to")]


def calls_left(sent):
    blocks = sent.history.session.blocks
    changed = sent.changed()
    return {
        block.tool_call_id: changed.get(index, "whole")
        for index, block in enumerate(blocks)
        if block.kind is BlockKind.TOOL_CALL and sent.rendition(index).action is not Action.REMOVED
    }


DOCUMENT = told(
    edit(0, intent="Added AGENT_CONFIG"),
    edit(1, intent="Modified system prompt"),
    edit(2, intent="Modified system prompt"),
    edit(3, intent="Modified system prompt"),
    edit(4, intent="Added tool definitions"),
    read(5),
)


def test_the_note_is_the_document_s_word_for_word():
    sent = Sent(session_of(DOCUMENT), SmartDiffCompression(line="- {what}"))
    (note,) = notes(sent)
    assert note == (
        "[Edits to config.py: 5 changes between turns 3-11]\n"
        "- Added AGENT_CONFIG\n"
        "- Modified system prompt 3x\n"
        "- Added tool definitions\n"
        "[Full diff available in ground truth]"
    )


def test_every_line_names_the_calls_it_represents_and_the_note_keeps_the_file_s_name():
    sent = Sent(session_of(DOCUMENT), SmartDiffCompression())
    (note,) = notes(sent)
    assert "\n- Modified system prompt 3x (t1, t2, t3)\n" in note
    assert calls_left(sent) == {"t4": '{"file_path": "config.py"}', "t5": "whole"}


def test_commands_that_print_the_changes_can_be_stated():
    sent = Sent(session_of(DOCUMENT), SmartDiffCompression(line="{what}: {recall}", marker="All: {recall}"))
    (note,) = notes(sent)
    assert "\nAdded AGENT_CONFIG: inspector recall --call t0\n" in note
    assert note.endswith("\nAll: " + "; ".join(f"inspector recall --call t{number}" for number in range(5)))


def test_changes_since_the_last_read_of_their_file_stay_whole():
    since = [edit(number) for number in range(6, 12)]
    sent = Sent(session_of([*DOCUMENT, *told(*since)[1:], *read(20, "other.py")]), SmartDiffCompression())
    assert set(calls_left(sent)) == {"t4", "t5", "t20", *(f"t{number}" for number in range(6, 12))}
    assert len(notes(sent)) == 1


def test_fewer_changes_wait_for_the_next_read_and_a_note_never_changes():
    entries = told(edit(0), edit(1), read(2), edit(3), read(4), *(edit(number) for number in range(5, 8)), read(8))
    sent = Sent(session_of(entries), SmartDiffCompression())
    made = [notes(sent, call) for call in range(sent.history.call_count + 1)]
    assert [len(each) for each in made] == [0, 0, 0, 0, 0, 1, 1, 1, 1, 2]
    assert "3 changes between turns 3-9]" in made[5][0]
    assert "(t0, t1, t3)" in made[5][0]
    assert "3 changes between turns 13-17]" in made[9][1]
    assert made[9][0] == made[5][0]


def test_a_read_made_together_with_a_change_says_nothing_of_it():
    together = [
        {
            "role": "assistant",
            "content": "",
            "calls": [
                {"id": "a", "name": "edit_file", "args": {"path": "p", "old_str": PADDING, "new_str": "y"}},
                {"id": "b", "name": "read_file", "args": {"path": "p"}},
            ],
        },
        {"role": "tool", "id": "a", "name": "edit_file", "content": "fine"},
        {"role": "tool", "id": "b", "name": "read_file", "content": "1\ty\n"},
    ]
    strategy = SmartDiffCompression(changes=1)
    assert notes(Sent(session_of(told(together)), strategy)) == []
    assert len(notes(Sent(session_of(told(together, read(2, "p"))), strategy))) == 1


def test_what_failed_and_what_changes_several_files_stays():
    of_one = f"*** Begin Patch\n*** Update File: config.py\n@@\n-x\n+y{PADDING}\n"
    of_two = f"{of_one}*** Update File: b\n@@\n-x\n+y\n"
    entries = told(
        edit(0, error=True),
        edit(1, input=f"{of_two}*** End Patch"),
        edit(2),
        edit(3, input=f"{of_one}*** End Patch"),
        read(4),
    )
    sent = Sent(session_of(entries), SmartDiffCompression(changes=1))
    (note,) = notes(sent)
    assert "2 changes between turns 7-9]" in note
    assert calls_left(sent) == {"t0": "whole", "t1": "whole", "t3": "{}", "t4": "whole"}


def test_a_line_is_what_the_agent_said_before_or_else_the_difference():
    entries = told(
        edit(0, said="Let me see. Now raise the limit:"),
        edit(1, file_path="config.py", old_str="a", new_str=f"def loaded():\n    {PADDING}"),
        edit(2),
        read(3),
    )
    (note,) = notes(Sent(session_of(entries), SmartDiffCompression()))
    assert "\n- Now raise the limit (t0)\n- adds loaded (t1)\n- x# as" in note


def test_a_note_that_would_not_be_shorter_is_not_made():
    short = [edit(number, path="config.py", old_str="a", new_str="b") for number in range(3)]
    assert Sent(session_of(told(*short, read(4))), SmartDiffCompression()).changed() == {}


def test_paths_that_are_written_otherwise_are_one_file():
    entries = told(edit(0), edit(1, "./config.py"), edit(2, "src/../config.py"), read(3, "config.py"))
    assert "[Edits to src/../config.py: 3 changes" in notes(Sent(session_of(entries), SmartDiffCompression()))[0]


@pytest.mark.parametrize("before", [0, 20, 60, 90, 100])
def test_a_run_is_put_together_whole_or_not_at_all(before):
    output = {"role": "tool", "id": "t30", "name": "bash", "content": "z" * 40_000}
    asked = {"role": "assistant", "content": "", "calls": [{"id": "t30", "name": "bash", "args": {"command": "make"}}]}
    session = session_of([*DOCUMENT, asked, output, *read(31)])
    strategy = SmartDiffCompression(batch_before=before)
    planned = replay(ReplayInputs.of(History.of(session), CharacterTable(session)), Plan.of(strategy))
    changed = [len(planned.changed_renditions(call)) for call in range(len(session.calls))]
    assert set(changed) <= {0, 10}
    assert (10 in changed) == (before >= 20)


def test_every_id_leads_to_the_result_and_the_call():
    session = session_of(DOCUMENT)
    sent = Sent(session, SmartDiffCompression(line="{ids}", marker=""))
    for line in notes(sent)[0].splitlines()[1:-1]:
        for identifier in line.split(", "):
            (found,) = matching_blocks(session, identifier)
            assert session.blocks[found].tool_call_id == identifier
            arguments = json.loads(session.text(session.blocks[int(sent.history.call_block[found])]))
            assert arguments["new_str"].startswith("y")
