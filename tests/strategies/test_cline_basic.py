"""Cline's compaction without a model, compared with the output of its code, and by hand.

`cline_basic.json` holds generated lists and the output of `runBasicCompaction` of cline/cline at 21cb8d2525 for them,
once or before every request, with `createTokenEstimator` given only role and content.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from inspector import apply_once, compact
from inspector.strategies.library.cline_basic import changed_lines, paths_in
from tests.examples import examples

RECORDED = json.loads(Path(__file__).with_name("cline_basic.json").read_text(encoding="utf-8"))
BASIC = "cline-compaction:variant=basic"
NOTICE = "<SYSTEM_NOTICE>\nEarlier context was compacted. Summary of your actions after the request above:\n"
Entry = dict[str, Any]


LARGE = 2_500
"""A window that a few short questions and notices do not fill."""


def parts(messages: list[Entry]) -> list[tuple[str, Entry]]:
    found: list[tuple[str, Entry]] = []
    for message in messages:
        content = message["content"]
        own = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found += [(message["role"], part) for part in own]
    return found


@pytest.mark.parametrize("case", RECORDED, ids=range(len(RECORDED)))
def test_lists_are_sent_as_cline_sends_them(case: Entry) -> None:
    if case["at_once"]:
        sent = apply_once(case["messages"], BASIC, input_tokens=1, window=case["window"])
    else:
        sent = compact(case["messages"], f"{BASIC},window={case['window']}")
    assert parts(sent) == parts(case["sent"])


def asked(text: str) -> Entry:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def said(text: str) -> Entry:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def worked(tool: str, number: int, result: str, **given: Any) -> list[Entry]:
    call = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": given}
    answer = {"type": "tool_result", "tool_use_id": f"t{number}", "content": result}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]}]


def test_work_that_is_dropped_is_reported_behind_the_question_it_was_for() -> None:
    messages = [
        asked(" First. "),
        *worked("read_files", 1, "r" * 900, files=[{"path": "a.py", "start_line": 1, "end_line": 9}]),
        *worked("editor", 2, "-4: a\n+7: b" + "r" * 900, path="b.py"),
        *worked("run_commands", 3, "r" * 900, commands=["x" * 101]),
        said("Done with it."),
        asked("Second."),
    ]
    sent = apply_once(messages, BASIC, input_tokens=1, window=1_200)
    told = f"{NOTICE}Files read:\na.py:1-9\n\nFiles edited:\nb.py:4-7\n\nCommands ran:\n{'x' * 100}...</SYSTEM_NOTICE>"
    assert parts(sent) == parts([asked("First."), asked(told), said("Done with it."), asked("Second.")])


def test_answers_that_are_dropped_are_reported_where_they_are_among_the_last_three() -> None:
    messages = [asked("First."), *[said(f"{number}" + "w" * 600) for number in range(5)]]
    sent = apply_once(messages, BASIC, input_tokens=1, window=250)
    answers = "\n---\n".join(f"{number}" + "w" * 600 for number in (2, 3, 4))
    work = "Files read:\n\n\nFiles edited:\n\n\nCommands ran:\n"
    told = f"{NOTICE}{work}\n\nYour recent responses:\n{answers}</SYSTEM_NOTICE>"
    assert parts(sent) == parts([asked("First."), asked(told)])


def test_thinking_goes_from_what_stays_and_attachments_from_all_but_the_newest_question() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    first, second = asked("First."), asked("Second.")
    first["content"].append(picture)
    second["content"].append(picture)
    thought = said("Yes.")
    thought["content"].insert(0, {"type": "thinking", "thinking": "hm", "signature": "s"})
    messages = [first, *worked("bash", 1, "r" * 3_000), said("No."), second, thought]
    sent = apply_once(messages, BASIC, input_tokens=1, window=1_200)
    assert parts(sent) == parts([asked("First."), said("No."), second, said("Yes.")])


def test_a_request_that_fits_is_sent_as_it_is_and_so_is_one_message_alone() -> None:
    messages = [asked(" First. "), said("w" * 900)]
    assert apply_once(messages, BASIC, input_tokens=1, window=100_000) == messages
    assert apply_once(messages[:1], BASIC, input_tokens=1, window=1) == messages[:1]


def test_questions_that_alone_are_too_much_are_cut_and_dropped_but_for_the_first_and_the_newest() -> None:
    messages = [asked(f"{number}" + "q" * 600) for number in range(4)]
    sent = apply_once(messages, BASIC, input_tokens=1, window=750)
    # 607 tokens fit, and the four come to 860: all but the newest are cut to 455 characters, and the second goes.
    cut = "q" * 429 + "\n...[truncated 171 chars]"
    assert parts(sent) == parts([asked(f"0{cut}"), asked(f"2{cut}"), messages[3]])
    sent = apply_once(messages, BASIC, input_tokens=1, window=20)
    assert [part["text"][:1] for _, part in parts(sent)] == ["0", "3"]


def test_paths_and_changed_lines_are_found_in_every_form_cline_knows() -> None:
    given = {"path": "a", "file_path": ["b", " "], "files": [{"path": "c"}, "d"], "file_paths": ["e", {"path": "f"}]}
    assert paths_in(given) == ["a", "b", "c", "e", "f"]
    assert paths_in({"file_paths": "a"}) == []
    assert changed_lines('{"result": "-12: a\\n+14: b"}') == (12, 14)
    assert changed_lines("x -3: a") is None
    assert changed_lines("+3: a\\n-9: b") == (3, 9)


@some.composite
def talks(draw: some.DrawFn) -> list[Entry]:
    messages: list[Entry] = []
    number = 0
    for turn in range(draw(some.integers(1, 5))):
        messages.append(asked(f"question {turn}"))
        for _ in range(draw(some.integers(0, 4))):
            number += 1
            messages += worked(
                draw(some.sampled_from(["read_files", "bash"])), number, "r" * draw(some.integers(0, 900))
            )
        if draw(some.booleans()):
            messages.append(said("w" * draw(some.integers(1, 300))))
    return messages


@given(talks(), some.integers(50, 4_000), some.booleans())
@settings(max_examples=examples(60), deadline=None)
def test_what_was_typed_stays_and_no_result_without_its_call(messages: list[Entry], window: int, again: bool) -> None:
    plan = f"{BASIC},window={window}"
    sent = parts(compact(messages, plan) if again else apply_once(messages, plan, input_tokens=1))
    typed = [part["text"] for role, part in sent if role == "user" and part["type"] == "text"]
    questions = [part["text"] for role, part in parts(messages) if role == "user" and part["type"] == "text"]
    assert questions[-1] in typed
    if window >= LARGE:
        assert [text for text in typed if not text.startswith(NOTICE)] == questions
    called = [part["id"] for _, part in sent if part["type"] == "tool_use"]
    assert called == [part["tool_use_id"] for _, part in sent if part["type"] == "tool_result"]
