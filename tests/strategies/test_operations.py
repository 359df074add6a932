"""An operation on a rendition equals the same operation on its text."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as some

from inspector.session.model import Block, BlockKind, Origin
from inspector.strategies.core.operations import REMOVED, Action, CutText, RemoveBlock, Rendition, ReplaceText
from inspector.strategies.library.at_insertion import StoreText, TrimText
from inspector.strategies.library.micro_x import AppendSummary
from inspector.strategies.library.old_results import StripSnapshots
from inspector.strategies.library.smart_retention import CutOutput

numbers = some.integers(0, 30)
markers = some.text("ab{}[] \n", max_size=12)


@dataclass
class Recorded:
    recorded: str
    tool_name: str = "Bash"

    @property
    def block(self):
        return Block(BlockKind.TOOL_RESULT, len(self.recorded), b"", "", Origin(0, 0), tool_call_id="x")

    def text(self):
        return self.recorded


def cut(text, operation):
    if len(text) <= operation.limit:
        return text
    removed = len(text) - operation.head - operation.tail
    marker = operation.marker
    if operation.numbered:
        marker = marker.format(length=len(text), removed=removed, tool="Bash")
    result = text[: operation.head] + marker + (text[-operation.tail :] if operation.tail else "")
    return text if operation.never_longer and len(result) >= len(text) else result


cuts = some.builds(
    CutText,
    limit=numbers,
    head=numbers,
    tail=numbers,
    marker=markers,
    numbered=some.just(False),
    never_longer=some.just(False),
)
numbered_cuts = some.builds(
    CutText, numbers, numbers, numbers, some.just("[{removed:,} of {length:,} from {tool}]"), some.just(True)
)


@given(some.text(max_size=60), some.lists(cuts | numbered_cuts, max_size=4))
def test_cutting_what_was_cut_is_exact(text, operations):
    rendition, expected = Rendition.whole(len(text)), text
    for operation in operations:
        rendition = operation.apply(rendition, Recorded(text))
        expected = cut(expected, operation)
    assert rendition.text(text) == expected
    assert rendition.length == len(expected)


@given(some.text(max_size=60), numbers, numbers, markers)
def test_never_longer_never_lengthens(text, limit, head, marker):
    operation = CutText(limit, head, 0, marker, never_longer=True)
    assert operation.apply(Rendition.whole(len(text)), Recorded(text)).length <= len(text)


operations = some.one_of(
    cuts,
    numbered_cuts,
    some.builds(ReplaceText, markers, some.booleans()),
    some.just(StripSnapshots()),
    some.builds(CutOutput, numbers, numbers),
    some.builds(StoreText, numbers, numbers, some.sampled_from(["", "/saved"])),
    some.builds(TrimText, numbers, numbers, numbers, numbers),
    some.builds(AppendSummary, markers),
)


@given(
    some.text(max_size=80) | some.just("[Live State]\n1\n[End Live State]\n\nask"), some.lists(operations, max_size=5)
)
def test_no_combination_removes_a_block_unless_one_of_them_removes_it(text, combination):
    rendition = Rendition.whole(len(text))
    for operation in combination:
        rendition = operation.apply(rendition, Recorded(text))
        assert rendition.action is not Action.REMOVED
        assert rendition.length == len(rendition.text(text))
    assert RemoveBlock().apply(rendition, Recorded(text)) == REMOVED


@given(some.text(max_size=80), operations)
def test_equal_operations_do_the_same_and_can_be_kept_by_value(text, operation):
    once = operation.apply(Rendition.whole(len(text)), Recorded(text))
    assert {operation: once}[operation] == operation.apply(Rendition.whole(len(text)), Recorded(text))


def test_a_marker_with_braces_is_sent_unchanged_unless_it_is_a_template():
    text = "x" * 50
    assert CutText(10, 10, 0, "{length}").apply(Rendition.whole(50), Recorded(text)).text(text) == "x" * 10 + "{length}"
    numbered = CutText(10, 10, 0, "{length}", numbered=True)
    assert numbered.apply(Rendition.whole(50), Recorded(text)).text(text) == "x" * 10 + "50"
