"""The provider's tokens for ours: how local counts are brought to the scale of what the provider reports and charges.

`inspector.tokens.calibration` fits; here is what it fits: what every recorded prompt holds, on each `Reading` of how
later prompts hold responses. Where the provider does not report reasoning apart, it is what the reported length of a
response leaves when its texts are taken away. What was sent is taken as recorded, so one fit serves every plan.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.engine.measured_prompts import measured_prompts
from inspector.replay.engine.recorded_calls import recorded_calls
from inspector.replay.figure import HowKnown
from inspector.session.model import BlockKind, LinkKind
from inspector.tokens.calibration import Calibration, LentFit, PromptContents, Reading, calibrate
from inspector.tokens.media_tokens import block_media_tokens, image_rule
from inspector.tokens.model_fit import LEAST_CALLS
from inspector.tokens.typical_ratios import drops_reasoning, typical_coefficients

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from inspector.strategies.history.history import History
    from inspector.tokens.media_tokens import ImageRule
    from inspector.tokens.token_table import TokenTable

    Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Lender:
    """A session whose fit is lent.

    Attributes:
        kind: What it is to the one that borrows: its parent, or what that goes on from.
        identifier: Its id.
        fits: What was fitted to its calls, the model with most of them first.
    """

    kind: LinkKind
    identifier: str
    fits: tuple[LentFit, ...]

    @property
    def is_parent(self) -> bool:
        """It started the one that borrows, as its subagent."""
        return self.kind is LinkKind.PARENT


@dataclass(frozen=True, eq=False)
class TokenScale:
    """What local counts measure at the provider, per call, the next one included.

    Attributes:
        ratio: The provider's tokens for one counted token, float64.
        prompt: The recorded prompt as the calibration has it, system prompt and tool definitions included, float64.
        beside: Per block, the provider's tokens it takes beside its counted ones: its envelope and signature, float64.
        has_signature: Per block, whether a signature of it counts for something there, bool.
        known: How prompts on this scale are known.
        calibration: The fit behind it.
        lender: The session whose fit is borrowed; None where none was looked for, or none is of use.
    """

    ratio: NDArray[np.float64]
    prompt: NDArray[np.float64]
    beside: NDArray[np.float64]
    has_signature: NDArray[np.bool_]
    known: HowKnown
    calibration: Calibration
    lender: Lender | None = None

    @property
    def borrowed(self) -> str:
        """Whose fit the model with most calls borrows, and by how many calls it was found; empty where none."""
        fit, lender = self.calibration.main_borrowed, self.lender
        if fit is None or lender is None:
            return ""
        whose = "the session that started this one" if lender.is_parent else "the session that this one goes on from"
        return f"fitted to {fit.calls:,} calls of {fit.model} in {whose}, {lender.identifier}"

    @classmethod
    def of(
        cls, history: History, table: TokenTable, removed: Integers | None = None, lender: Lender | None = None
    ) -> TokenScale:
        """Fit a session's counts to what it reports, or take what is typical of its models if that is too little.

        Args:
            history: The session's columns.
            table: Its token counts.
            removed: Per call, the next one included, counted tokens the agent itself had cleared by then.
            lender: A session whose fit is borrowed where this one reports too little for its own.
        """
        calibration = calibrate_session(history, table, removed, () if lender is None else lender.fits)
        main = np.array(calibration.main)
        per_block = _of_main_model(history, table, calibration)
        fitted = calibration.is_fitted and table.is_complete
        return cls(
            ratio=calibration.call_ratio,
            prompt=calibration.prompt,
            beside=main @ per_block - main[0] * table.tokens,
            has_signature=(per_block[2] > 0) & (history.signature > 0),
            known=HowKnown.CALIBRATED if fitted else HowKnown.ESTIMATED,
            calibration=calibration,
            lender=lender,
        )

    def of_calls(self, calls: Integers) -> TokenScale:
        """The scale of the same session without some of its calls, as it was fitted to all.

        Args:
            calls: Those that are left, in order; the next one stays behind them.
        """
        rows = np.append(calls, len(self.ratio) - 1)
        fit, place = self.calibration, {call: at for at, call in enumerate(calls.tolist())}
        shifts = tuple(shift._replace(call=place[shift.call]) for shift in fit.shifts if shift.call in place)
        calibration = replace(
            fit,
            shifts=shifts,
            call_ratio=fit.call_ratio[rows],
            call_overhead=fit.call_overhead[rows],
            prompt=fit.prompt[rows],
        )
        return replace(self, ratio=self.ratio[rows], prompt=self.prompt[rows], calibration=calibration)


def calibrate_session(
    history: History, table: TokenTable, removed: Integers | None = None, lent: Sequence[LentFit] = ()
) -> Calibration:
    """Fit the table's counts to the usage the session reports; one row a call, the next one, not yet made, included.

    `Calibration.prompt` less `Calibration.call_ratio` times the prompt's counted tokens is what every prompt holds
    beside them. Arguments as for `TokenScale.of`, with the fits of another session.
    """
    reported = np.append(measured_prompts(history), 0)
    return fit_contents(history, prompt_contents(history, table, removed), reported, lent)


def fit_contents(
    history: History,
    contents: Mapping[Reading, PromptContents],
    reported: Integers,
    lent: Sequence[LentFit] = (),
) -> Calibration:
    """Fit what prompts hold to prompts that were reported, 0 for those to be predicted."""
    models = recorded_calls(history).models.and_again()
    return calibrate(models, _growing_together(history, reported), contents, reported, lent)


def _growing_together(history: History, reported: Integers) -> Integers:
    """Per call, the next one included, a number for those whose prompts grow from one another: its context's.

    Where nearly every call begins a context, as where a system prompt that the file shows grows with each, nothing
    could be fitted to growth: then its thread's, whose prompts hold the same of what the file does not show.
    """
    contexts: Integers = history.call_context.astype(np.int64)
    told = contexts[reported > 0]
    if len(told) < LEAST_CALLS or len(told) - len(np.unique(told)) >= LEAST_CALLS // 2:
        return contexts
    threads = np.array([context.thread for context in history.session.contexts], dtype=np.int64)
    return threads[contexts]


def prompt_contents(
    history: History, table: TokenTable, removed: Integers | None = None
) -> dict[Reading, PromptContents]:
    """On every reading, what prompts hold, the next one's included; arguments as for `TokenScale.of`."""
    contents = {Reading.SIGNATURES: signature_contents(history, table), **response_contents(history, table)}
    if removed is None:
        return contents
    return {reading: each._replace(counted=each.counted - removed) for reading, each in contents.items()}


def signature_contents(history: History, table: TokenTable) -> PromptContents:
    """Per call, the next one included, what its prompt holds as counted, reasoning by its signatures' characters.

    Thinking that has a signature is left out of the counted tokens: the signature stands for it. Where the call's model
    drops reasoning with the next message of the user, only what came after the last one counts.
    """
    per_block = _of_blocks(history, table)
    (counted, blocks, signatures), (since_user,) = _over_prompts(history, per_block, [_said_by_user(history)])
    media = media_of_prompts(history, table)
    models = recorded_calls(history).models.and_again()
    drops = np.array([drops_reasoning(name) for name in models.names], dtype=np.bool_)[models.code]
    return PromptContents(counted, blocks, np.where(drops, since_user, signatures), media)


def response_contents(history: History, table: TokenTable) -> dict[Reading, PromptContents]:
    """On the readings that take responses as reported, what prompts hold; empty where no length was reported."""
    responses = _MeasuredResponses.of(history, table)
    if not responses.measured.any():
        return {}
    counted = np.where(responses.measured, 0, table.tokens - table.media).astype(np.int64)
    media = media_of_prompts(history, table)
    is_sent = (history.kind != BlockKind.OTHER).astype(np.int64)
    (texts, blocks, tokens, reasoning), (since_user, of_last) = _over_prompts(
        history,
        np.stack((counted, is_sent, responses.tokens, responses.reasoning)),
        [_said_by_user(history), responses.tokens > 0],
    )
    held = {
        Reading.KEPT: reasoning,
        Reading.SINCE_USER: since_user,
        Reading.LAST: of_last,
        Reading.DROPPED: np.zeros_like(reasoning),
    }
    return {reading: PromptContents(texts, blocks, tokens - reasoning + each, media) for reading, each in held.items()}


def media_of_prompts(history: History, table: TokenTable) -> Integers:
    """Per call, the next one included, what its model takes the images and documents of its prompt for. int64."""
    if not table.media.any():
        return np.zeros(history.call_count + 1, dtype=np.int64)
    models = recorded_calls(history).models.and_again()
    rules = [image_rule(name) for name in models.names]
    different = list(dict.fromkeys(rules))
    sums, _ = _over_prompts(history, np.stack([_media_of_blocks(history, table, rule) for rule in different]), [])
    row = np.array([different.index(rule) for rule in rules])
    found: Integers = sums[row[models.code], np.arange(history.call_count + 1)]
    return found


def _media_of_blocks(history: History, table: TokenTable, rule: ImageRule) -> Integers:
    """Per block, the provider's tokens of its images and documents."""
    tokens = np.zeros(len(history.kind), dtype=np.int64)
    blocks = history.session.blocks
    for block in np.flatnonzero(table.media).tolist():
        tokens[block] = block_media_tokens(blocks[block], rule)
    return tokens


@dataclass(frozen=True, eq=False)
class _MeasuredResponses:
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
    def of(cls, history: History, table: TokenTable) -> _MeasuredResponses:
        count = len(history.kind)
        tokens, reasoning = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        calls = recorded_calls(history)
        first, last = history.message_first_block[calls.response], history.message_first_block[calls.response + 1]
        reported = (calls.output > 0) & ~calls.is_placeholder & (first < last)
        if not reported.any():
            return cls(tokens, reasoning, np.zeros(count, dtype=bool))
        first, last, output = first[reported], last[reported], calls.output[reported]
        reported_reasoning = calls.reasoning[reported]
        ratios = np.array([typical_coefficients(model).ratio for model in calls.models.names])
        ratio = ratios[calls.models.code[reported]]
        thinking = history.kind == BlockKind.THINKING
        texts = np.concatenate(([0], np.cumsum(np.where(thinking, 0, table.tokens), dtype=np.int64)))
        thoughts = np.concatenate(([0], np.cumsum(thinking, dtype=np.int64)))
        left = np.maximum(output - np.rint(ratio * (texts[last] - texts[first])).astype(np.int64), 0)
        hidden = np.where(thoughts[last] > thoughts[first], left, 0)
        tokens[first] = output
        reasoning[first] = np.where(reported_reasoning > 0, np.minimum(reported_reasoning, output), hidden)
        edges = np.zeros(count + 1, dtype=np.int64)
        np.add.at(edges, first, 1)
        np.add.at(edges, last, -1)
        measured = np.cumsum(edges)[:count] > 0
        return cls(tokens, reasoning, measured)


def _of_blocks(history: History, table: TokenTable) -> Integers:
    """What every block counts for in a prompt: counted tokens, one block, characters of signatures, a row each.

    Images and documents are left out of the counted tokens: what they take is known in the provider's.
    """
    signature = history.signature.astype(np.int64)
    # A signature stands for the whole of the reasoning; the text beside it, if any, is what people are shown of it.
    hidden = (history.kind == BlockKind.THINKING) & (signature > 0)
    counted = np.where(hidden, 0, table.tokens - table.media)
    return np.stack((counted, (history.kind != BlockKind.OTHER).astype(np.int64), signature))


def _of_main_model(history: History, table: TokenTable, calibration: Calibration) -> Integers:
    """What every block counts for in a prompt, on the reading of the model used most: a row for each coefficient."""
    rule = image_rule(calibration.main_model)
    per_block = np.vstack((_of_blocks(history, table), _media_of_blocks(history, table, rule)))
    reading = calibration.main_reading
    if reading is Reading.SIGNATURES:
        if calibration.main_model and drops_reasoning(calibration.main_model):
            per_block[2] = 0
        return per_block
    # Texts are counted, as strategies cut them; what a response measures beside them is its reasoning.
    responses = _MeasuredResponses.of(history, table)
    thinking = (history.kind == BlockKind.THINKING) & responses.measured
    per_block[0] = np.where(thinking, 0, table.tokens - table.media)
    per_block[2] = 0
    if reading is Reading.KEPT:
        begins = np.flatnonzero(responses.reasoning)
        # On the response's first block of reasoning, where it has one, else on its first.
        places = np.flatnonzero(thinking)
        found = np.searchsorted(places, begins)
        near = places[np.minimum(found, len(places) - 1)] if len(places) else begins
        same = len(places) > 0 and (history.message[near] == history.message[begins])
        per_block[2, np.where(same, near, begins)] = responses.reasoning[begins]
    return per_block


def _said_by_user(history: History) -> NDArray[np.bool_]:
    said: NDArray[np.bool_] = history.kind == BlockKind.USER_TEXT
    return said


def _over_prompts(history: History, per_block: Integers, marks: list[NDArray[np.bool_]]) -> tuple[Integers, Integers]:
    """What blocks count for, added up over every call's prompt, the next one's included.

    Args:
        history: The session's columns.
        per_block: What every block counts for, a row for each kind of figure.
        marks: Per block, whether it is marked; several such columns.

    Returns:
        A row for each row of `per_block`; and a row for each of `marks`: the last of these figures, from the last
        marked block of the prompt on.
    """
    size = history.call_count + 1
    sums = np.zeros((len(per_block), size), dtype=np.int64)
    since = np.zeros((len(marks), size), dtype=np.int64)
    for members, calls in history.calls_of_contexts():
        if not len(calls):
            continue
        blocks = history.blocks_of(members)
        before = np.zeros((len(per_block), len(blocks) + 1), dtype=np.int64)
        np.cumsum(per_block[:, blocks], axis=1, out=before[:, 1:])
        counts = history.message_first_block[members + 1] - history.message_first_block[members]
        ends = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))[history.call_prompt_messages[calls]]
        sums[:, calls] = before[:, ends]
        for row, marked in zip(since, marks, strict=True):
            row[calls] = before[-1, ends] - before[-1, _last_marked(marked[blocks])[ends]]
    return sums, since


def _last_marked(marked: NDArray[np.bool_]) -> Integers:
    """Per number of blocks at the beginning, where the last marked one among them is; 0 for none."""
    places = np.where(marked, np.arange(len(marked)), 0)
    return np.concatenate(([0], np.maximum.accumulate(places, dtype=np.int64)))
