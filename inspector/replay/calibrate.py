"""A session's calibration: the columns its fit needs, taken from the history and the token counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.recorded_calls import recorded_calls
from inspector.replay.response_columns import response_columns
from inspector.session.model import BlockKind
from inspector.tokens.calibration import Calibration, calibrate
from inspector.tokens.ratios import drops_reasoning
from inspector.tokens.readings import PromptColumns, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from inspector.strategies.history.history import History
    from inspector.tokens.table import TokenTable


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
    return calibrate_columns(history, columns_of_prompts(history, table, removed), reported)


def columns_of_prompts(
    history: History, table: TokenTable, removed: NDArray[np.int64] | None = None
) -> dict[Reading, PromptColumns]:
    """On every reading, what prompts hold, the next one's included; arguments as for `calibrate_session`."""
    columns = {Reading.SIGNATURES: PromptColumns(*prompt_columns(history, table)), **response_columns(history, table)}
    if removed is None:
        return columns
    return {reading: each._replace(counted=each.counted - removed) for reading, each in columns.items()}


def calibrate_columns(
    history: History, columns: Mapping[Reading, PromptColumns], reported: NDArray[np.int64]
) -> Calibration:
    """Fit columns as `columns_of_prompts` gives them to prompts that were reported, 0 for those to be predicted."""
    models = recorded_calls(history).models.and_again()
    others: dict[Reading, PromptColumns] = {
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


def prompt_columns(
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
