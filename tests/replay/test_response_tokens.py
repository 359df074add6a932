"""Estimated lengths of responses for which the file holds only a stream placeholder, or nothing."""

from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import Replay, replay
from inspector.replay.figure import Figure, HowKnown
from inspector.replay.pricing.prices import Pricing
from inspector.session.model import BlockKind, Role, Usage
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.tokens.counter import load_counter
from tests.replay.synthetic import CharacterTable, SessionBuilder

MODEL = "claude-opus-4-5"
PLACEHOLDER = Usage(1_000, 0, 0, 0, output=2, output_is_placeholder=True)


class CountedTable(CharacterTable):
    counter = load_counter()


def replayed(*responses: tuple[tuple[BlockKind, str], ...], usage: Usage | None = PLACEHOLDER) -> Replay:
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "question"))
    for blocks in responses:
        builder.respond(*(builder.block(kind, text) for kind, text in blocks), model=MODEL, usage=usage)
    session = builder.session()
    return replay(ReplayInputs.of(History.of(session), CountedTable(session), pricing=Pricing()), Plan())


def test_a_placeholder_gives_way_to_what_texts_and_thinking_measure():
    found = replayed(((BlockKind.THINKING, "t" * 300), (BlockKind.ASSISTANT_TEXT, "a" * 100)))

    ratio = found.inputs.scale.ratio[0]
    assert ratio > 0
    assert found.ledger.output.tolist()[0] >= round(400 * ratio)
    assert found.figures.output_tokens.known is HowKnown.ESTIMATED
    assert found.figures.cost_usd.known is HowKnown.ESTIMATED
    assert not found.figures.cost_usd.is_lower_bound


def test_where_thinking_left_neither_text_nor_signature_the_cost_is_at_least_what_is_known():
    found = replayed(((BlockKind.THINKING, ""), (BlockKind.ASSISTANT_TEXT, "a" * 100)))

    assert found.figures.output_tokens.is_lower_bound
    assert found.figures.cost_usd.is_lower_bound
    assert not found.figures.prompt_tokens.is_lower_bound


def test_where_nothing_of_a_response_was_recorded_it_was_at_least_as_long_as_was_reported():
    found = replayed(())

    assert found.ledger.output.tolist() == [2]
    assert found.figures.output_tokens == Figure(2, HowKnown.ESTIMATED, is_lower_bound=True)


def test_a_reported_length_stands_whatever_the_texts_measure():
    usage = Usage(1_000, 0, 0, 0, output=7)

    found = replayed(((BlockKind.THINKING, ""), (BlockKind.ASSISTANT_TEXT, "a" * 100)), usage=usage)

    assert found.figures.output_tokens == Figure(7, HowKnown.EXACT)


# Opus 5.5 and Sonnet 5.5 return the text between tool calls as thinking, which Claude Code records empty and unsigned.
# Every response of 300 to 690 tokens stays in the prompts, with a result of 100 to 490 characters, one token each.
def test_silent_turns_are_part_of_later_prompts_at_their_reported_length() -> None:
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "u" * 100))
    prompt = read = 20_000
    for number in range(40):
        output, result = 300 + 10 * (7 * number % 40), 100 + 10 * (11 * number % 40)
        usage = Usage(cache_read=read, cache_write_5m=prompt - read, output=output)
        builder.respond(
            builder.block(BlockKind.THINKING, ""),
            builder.block(BlockKind.TOOL_CALL, f"{number:020}", "Bash", f"t{number}"),
            usage=usage,
            model="claude-opus-5-5",
        )
        builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, f"{number:0{result}}", "Bash", f"t{number}"))
        read, prompt = prompt, prompt + output + result + 20
    session = builder.session()
    found = replay(ReplayInputs.of(History.of(session), CountedTable(session), pricing=Pricing()), Plan())

    assert found.inputs.scale.known is HowKnown.CALIBRATED
    assert abs(found.inputs.sizes.whole[-1] - prompt) < 0.002 * prompt
    assert found.figures.output_tokens.known is HowKnown.EXACT
