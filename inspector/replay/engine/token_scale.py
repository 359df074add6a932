"""The provider's tokens for ours: how our counts are brought to the scale of what the provider reports and charges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.engine.recorded_calls import recorded_calls
from inspector.replay.figure import HowKnown
from inspector.session.model import BlockKind
from inspector.tokens.calibration import Calibration, PromptContents, Reading, calibrate
from inspector.tokens.typical_ratios import drops_reasoning, typical_coefficients

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from inspector.strategies.history.history import History
    from inspector.tokens.token_table import TokenTable

    Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Responses:
    """The responses of a session whose length was reported, by their first block.

    Attributes:
        tokens: Per block, the reported tokens of the response it begins, 0 elsewhere, int64.
        reasoning: Of these, the reasoning, int64.
        measured: Per block, it is part of such a response, bool.
    """

    tokens: Integers
    reasoning: Integers
    measured: NDArray[np.bool_]

    @classmethod
    def of(cls, history: History, table: TokenTable) -> Responses:
        """Those of a session."""
        count = len(history.kind)
        tokens, reasoning = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        calls = recorded_calls(history)
        first, last = history.message_first_block[calls.response], history.message_first_block[calls.response + 1]
        told = (calls.output > 0) & ~calls.is_placeholder & (first < last)
        if not told.any():
            return cls(tokens, reasoning, np.zeros(count, dtype=bool))
        first, last, output, apart = first[told], last[told], calls.output[told], calls.reasoning[told]
        ratio = np.array([typical_coefficients(model).ratio for model in calls.models.names])[calls.models.code[told]]
        thinking = history.kind == BlockKind.THINKING
        texts = np.concatenate(([0], np.cumsum(np.where(thinking, 0, table.tokens), dtype=np.int64)))
        thoughts = np.concatenate(([0], np.cumsum(thinking, dtype=np.int64)))
        left = np.maximum(output - np.rint(ratio * (texts[last] - texts[first])).astype(np.int64), 0)
        hidden = np.where(thoughts[last] > thoughts[first], left, 0)
        tokens[first] = output
        reasoning[first] = np.where(apart > 0, np.minimum(apart, output), hidden)
        edges = np.zeros(count + 1, dtype=np.int64)
        np.add.at(edges, first, 1)
        np.add.at(edges, last, -1)
        measured = np.cumsum(edges)[:count] > 0
        return cls(tokens, reasoning, measured)


def response_columns(history: History, table: TokenTable) -> dict[Reading, PromptContents]:
    """Per reading, what every call's prompt holds, the next one's included; empty where no length was reported."""
    responses = Responses.of(history, table)
    if not responses.measured.any():
        return {}
    counted = np.where(responses.measured, 0, table.tokens).astype(np.int64)
    blocks = (history.kind != BlockKind.OTHER).astype(np.int64)
    per_block = np.stack((counted, blocks, responses.tokens, responses.reasoning))
    begins = responses.tokens > 0
    size = history.call_count + 1
    sums = np.zeros((4, size), dtype=np.int64)
    since_user, last = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    for members, calls in history.calls_of_contexts():
        if not len(calls):
            continue
        own = history.blocks_of(members)
        before = np.concatenate((np.zeros((4, 1), dtype=np.int64), np.cumsum(per_block[:, own], axis=1)), axis=1)
        counts = history.message_first_block[members + 1] - history.message_first_block[members]
        ends = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))[history.call_prompt_messages[calls]]
        sums[:, calls] = before[:, ends]
        since_user[calls] = before[3, ends] - before[3, _last_marked(history.kind[own] == BlockKind.USER_TEXT)[ends]]
        last[calls] = before[3, ends] - before[3, _last_marked(begins[own])[ends]]
    texts, count, tokens, reasoning = sums
    kept = {
        Reading.KEPT: reasoning,
        Reading.SINCE_USER: since_user,
        Reading.LAST: last,
        Reading.DROPPED: np.zeros_like(reasoning),
    }
    return {each: PromptContents(texts, count, tokens - reasoning + held) for each, held in kept.items()}


def _last_marked(places: NDArray[np.bool_]) -> Integers:
    """Per number of blocks at the beginning, where the last of the marked ones among them is; 0 for none."""
    marked = np.where(places, np.arange(len(places)), 0)
    return np.concatenate(([0], np.maximum.accumulate(marked, dtype=np.int64)))


def calibrate_session(history: History, table: TokenTable, removed: NDArray[np.int64] | None = None) -> Calibration:
    """Fit the table's counts to the usage the session reports; one row a call, the next one, not yet made, included.

    What was sent is taken as recorded, so the calibration serves every plan. `Calibration.prompt` less
    `Calibration.call_ratio` times the prompt's counted tokens is what every prompt holds beside them.

    Args:
        history: The session's columns.
        table: Its token counts.
        removed: Per call, the next one included, counted tokens the agent itself had blanked by then.
    """
    reported = np.append(recorded_calls(history).usage.prompt, 0)
    return fit_contents(history, prompt_contents(history, table, removed), reported)


def prompt_contents(
    history: History, table: TokenTable, removed: NDArray[np.int64] | None = None
) -> dict[Reading, PromptContents]:
    """On every reading, what prompts hold, the next one's included; arguments as for `calibrate_session`."""
    columns = {
        Reading.SIGNATURES: PromptContents(*signature_columns(history, table)),
        **response_columns(history, table),
    }
    if removed is None:
        return columns
    return {reading: each._replace(counted=each.counted - removed) for reading, each in columns.items()}


def fit_contents(
    history: History, columns: Mapping[Reading, PromptContents], reported: NDArray[np.int64]
) -> Calibration:
    """Fit columns as `prompt_contents` gives them to prompts that were reported, 0 for those to be predicted."""
    models = recorded_calls(history).models.and_again()
    others: dict[Reading, PromptContents] = {
        reading: each for reading, each in columns.items() if reading is not Reading.SIGNATURES
    }
    signatures = columns[Reading.SIGNATURES]
    return calibrate(models, history.call_context, *signatures, reported, others)


def block_columns(history: History, table: TokenTable) -> NDArray[np.int64]:
    """What every block counts for in a prompt: counted tokens, one block, characters of signatures, a row each."""
    signature = history.signature.astype(np.int64)
    # A signature stands for the whole of the reasoning; the text beside it, if any, is what people are shown of it.
    hidden = (history.kind == BlockKind.THINKING) & (signature > 0)
    return np.stack((np.where(hidden, 0, table.tokens), (history.kind != BlockKind.OTHER).astype(np.int64), signature))


def signature_columns(
    history: History, table: TokenTable
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Per call, the next one included, what its prompt holds: counted tokens, blocks, and characters of signatures.

    Thinking that has a signature is left out of the counted tokens: the signature stands for it. Where the call's model
    drops reasoning with the next message of the user, only what came after the last one counts.
    """
    per_block = block_columns(history, table)
    columns = np.zeros((3, history.call_count + 1), dtype=np.int64)
    since_user = np.zeros(history.call_count + 1, dtype=np.int64)
    for members, calls in history.calls_of_contexts():
        if not len(calls):
            continue
        blocks = history.blocks_of(members)
        sums = np.cumsum(per_block[:, blocks], axis=1, dtype=np.int64)
        sums = np.concatenate((np.zeros((3, 1), dtype=np.int64), sums), axis=1)
        counts = history.message_first_block[members + 1] - history.message_first_block[members]
        ends = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))[history.call_prompt_messages[calls]]
        columns[:, calls] = sums[:, ends]
        asked = np.where(history.kind[blocks] == BlockKind.USER_TEXT, np.arange(len(blocks)), 0)
        last_asked = np.concatenate(([0], np.maximum.accumulate(asked)))
        since_user[calls] = sums[2, ends] - sums[2, last_asked[ends]]
    return columns[0], columns[1], np.where(_dropping(history), since_user, columns[2])


def _dropping(history: History) -> NDArray[np.bool_]:
    """Per call, the next one included, whether its model drops reasoning with the next message of the user."""
    models = recorded_calls(history).models.and_again()
    return np.array([drops_reasoning(name) for name in models.names], dtype=np.bool_)[models.code]


@dataclass(frozen=True, eq=False)
class Scale:
    """What our counts measure at the provider, per call, the next one included.

    Attributes:
        ratio: The provider's tokens for one counted token, float64.
        prompt: The recorded prompt as the calibration has it, system prompt and tool definitions included, float64.
        beside: Per block, the provider's tokens it takes beside its counted ones: its envelope and signature, float64.
        known: How prompts on this scale are known.
        calibration: The fit behind it.
    """

    ratio: NDArray[np.float64]
    prompt: NDArray[np.float64]
    beside: NDArray[np.float64]
    known: HowKnown
    calibration: Calibration

    @classmethod
    def of(cls, history: History, table: TokenTable, removed: NDArray[np.int64] | None = None) -> Scale:
        """Fit a session's counts to what it reports, or take what is typical of its models if that is too little.

        Args:
            history: The session's columns.
            table: Its token counts.
            removed: Per call, the next one included, counted tokens the agent itself had blanked by then.
        """
        calibration = calibrate_session(history, table, removed)
        main = np.array(calibration.main)
        columns = _main_block_columns(history, table, calibration)
        fitted = calibration.is_fitted and table.is_complete
        return cls(
            ratio=calibration.call_ratio,
            prompt=calibration.prompt,
            beside=main @ columns - main[0] * table.tokens,
            known=HowKnown.CALIBRATED if fitted else HowKnown.ESTIMATED,
            calibration=calibration,
        )


def _main_block_columns(history: History, table: TokenTable, calibration: Calibration) -> NDArray[np.int64]:
    """What every block counts for in a prompt, as `block_columns` has it, on the reading of the model used most."""
    columns = block_columns(history, table)
    reading = calibration.main_reading
    if reading is Reading.SIGNATURES:
        if calibration.main_model and drops_reasoning(calibration.main_model):
            columns[2] = 0
        return columns
    # Texts are counted, as strategies cut them; what a response measures beside them is its reasoning.
    responses = Responses.of(history, table)
    thinking = (history.kind == BlockKind.THINKING) & responses.measured
    columns[0] = np.where(thinking, 0, table.tokens)
    columns[2] = 0
    if reading is Reading.KEPT:
        begins = np.flatnonzero(responses.reasoning)
        # On the response's first block of reasoning, where it has one, else on its first.
        places = np.flatnonzero(thinking)
        found = np.searchsorted(places, begins)
        near = places[np.minimum(found, len(places) - 1)] if len(places) else begins
        same = len(places) > 0 and (history.message[near] == history.message[begins])
        columns[2, np.where(same, near, begins)] = responses.reasoning[begins]
    return columns
