"""Convert local token counts to the provider's scale, as reported and billed.

`inspector.tokens.calibration` does the fit; this module builds its input: the contents of every recorded prompt, for
each `Reading` of how later prompts include responses. Unreported reasoning is the reported length of a response minus
its texts. Prompts are taken as recorded, so one fit serves every plan.

Response lengths: as reported, otherwise (including placeholders) measured from their texts.

A streamed response begins with a count of one or a few tokens. Some versions of Claude Code recorded that count and
never corrected it. The length is then measured from the recorded texts and thinking of the response, in the same way as
these blocks in later prompts, on the scale fitted to reported usage. If the file holds nothing measurable, that length
is a lower bound.

Apportion recorded totals to calls without reported prompts, or with placeholders for their output.

Some agents record the usage of a range of calls, not of each call: Copilot CLI writes one record per process. The sums
are exact. A call's share is an estimate: its counted prompt, plus an equal part of everything that the file does not
record (system prompt and tools, sent with every call). Cache reads go to prefixes shared with the previous prompt
first, cache writes to the rest of the prompts.

Printed runs of Claude Code report every prompt, but the size of responses only as they begin. The rest of the total
output is divided in proportion to the measured lengths of the responses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.cache.prompt_usage import PromptUsage
from inspector.replay.engine.recorded_calls import RecordedCalls, deduplicated_prompts, recorded_calls
from inspector.replay.figure import HowKnown
from inspector.session.model import BlockKind, LinkKind, RecordedTotals, Session, Usage
from inspector.tokens.block_tokens import ImageRule, block_media_tokens, image_rule
from inspector.tokens.calibration import (
    LEAST_CALLS,
    BorrowedCalibration,
    Calibration,
    PromptContents,
    ResponseModel,
    calibrate,
)
from inspector.tokens.model_names import drops_reasoning, typical_coefficients

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from inspector.replay.engine.prompt_layout import PromptLayout
    from inspector.strategies.history.history import History
    from inspector.tokens.token_table import TokenTable

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ResponseTokens:
    """Response lengths per call, in call order.

    Attributes:
        tokens: Tokens of the response, int64.
        is_reported: True if the provider reported them, bool.
        is_lower_bound: True if `tokens` is a lower bound, because part of the response has no known size, bool.
    """

    tokens: NDArray[np.int64]
    is_reported: NDArray[np.bool_]
    is_lower_bound: NDArray[np.bool_]

    @classmethod
    def of(cls, history: History, calls: RecordedCalls, table: TokenTable, scale: TokenScale) -> ResponseTokens:
        """Take reported lengths and measure the rest."""
        reported, silent, placeholder = calls.output, calls.output < 0, calls.is_placeholder
        tokens, is_lower_bound = reported, np.zeros_like(placeholder)
        if silent.any():
            counted = _within(calls.response, history, table.tokens.astype(np.float64))
            tokens = np.where(silent, np.rint(scale.ratio[:-1] * counted).astype(np.int64), tokens)
        if placeholder.any():
            thinks = history.kind == BlockKind.THINKING
            # Thinking is at least as long as its displayed text, even if its signature measures less.
            uncounted = np.where(thinks, np.maximum(scale.uncounted, 0), scale.uncounted)
            measured = scale.ratio[:-1] * _within(calls.response, history, table.tokens.astype(np.float64))
            measured += _within(calls.response, history, uncounted)
            # The reported count had already been streamed.
            lengths = np.maximum(np.rint(measured).astype(np.int64), reported)
            tokens = np.where(placeholder, lengths, tokens)
            hidden = thinks & (table.tokens == 0) & ~scale.has_signature
            first = history.message_first_block
            is_empty = first[calls.response] == first[calls.response + 1]
            hides = _within(calls.response, history, hidden.astype(np.float64)) > 0
            is_lower_bound = placeholder & (is_empty | hides)
        return cls(tokens, ~silent & ~placeholder, is_lower_bound)


def _within(response: NDArray[np.int64], history: History, column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum a column over the blocks of each response."""
    before = np.concatenate(([0.0], np.cumsum(column)))
    first = history.message_first_block
    found: NDArray[np.float64] = before[first[response + 1]] - before[first[response]]
    return found


@dataclass(frozen=True, eq=False)
class ApportionedUsage:
    """Reported usage of a session's calls, completed from recorded totals.

    Attributes:
        usage: Per call, reported prompt tokens or its share of a total; zeros where neither exists.
        output: Per call, response tokens, int64.
        calls: Per call, True if its prompt is a share of a total, bool.
        outputs: Per call, True if its output is a share of a total, bool.
    """

    usage: PromptUsage
    output: Integers
    calls: NDArray[np.bool_]
    outputs: NDArray[np.bool_]


def apportioned_usage(
    session: Session, calls: RecordedCalls, prompts: Floats, output: Integers, previous: Integers
) -> ApportionedUsage:
    """Complete a session's reported usage from its totals, by the estimated prompts and measured outputs.

    `previous` is the previous call of each call's thread, -1 for the first.
    """
    columns = np.stack(
        (calls.usage.cache_read, calls.usage.cache_write_5m, calls.usage.cache_write_1h, calls.usage.uncached)
    )
    output, shared = output.copy(), np.zeros(len(previous), dtype=np.bool_)
    shared_output = shared.copy()
    unsized = (calls.output < 0) | calls.is_placeholder
    for mine, total, whole_output in _stretches(session, calls, columns):
        silent = mine[columns[:, mine].sum(axis=0) == 0]
        if len(silent) and total.any():
            columns[:, silent] = _shares(total, prompts[silent], continues=np.isin(previous[silent], silent))
            shared[silent] = True
        receivers = mine[unsized[mine]]
        rest = whole_output - int(calls.output[mine[~unsized[mine]]].sum())
        if rest > 0 and len(receivers):
            # The count in a placeholder was streamed before the response ended.
            known = np.maximum(calls.output[receivers], 0)
            known = known if int(known.sum()) <= rest else np.zeros_like(known)
            lengths = np.maximum(output[receivers] - known, 1).astype(np.float64)
            output[receivers] = known + apportion(rest - int(known.sum()), lengths)
            shared_output[receivers] = True
        elif rest > 0 and len(silent):
            # Reasoning may be included only in the total.
            output[silent] += apportion(rest, np.maximum(output[silent], 1).astype(np.float64))
            shared_output[silent] = True
    read, written, written_1h, uncached = columns
    return ApportionedUsage(PromptUsage(uncached, read, written, written_1h), output, shared, shared | shared_output)


def _stretches(session: Session, calls: RecordedCalls, columns: Integers) -> Iterator[tuple[Integers, Integers, int]]:
    """Yield the calls of one model in a range, with the part of the total prompt they do not report, and all output.

    The prompt is in the order of `columns`. Totals that are smaller than the reported usage are skipped, as are those
    that include requests of other files.
    """
    numbers = {name: code for code, name in enumerate(calls.models.names)}
    for totals in session.recorded_totals:
        stretch = np.arange(totals.first_call, min(totals.end_call, len(session.calls)))
        for model, usage in totals.usages if not totals.includes_subagents else ():
            mine = stretch[calls.models.code[stretch] == numbers.get(model, -1)]
            outside = _outside(totals, model)
            total = _columns(usage) - outside[:-1] - columns[:, mine].sum(axis=1)
            if len(mine) and int(total.min()) >= 0:
                yield mine, total, usage.output - int(outside[-1])


def _columns(usage: Usage) -> Integers:
    return np.array((usage.cache_read, usage.cache_write_5m, usage.cache_write_1h, usage.uncached), dtype=np.int64)


def _outside(totals: RecordedTotals, model: str) -> Integers:
    """Return the usage of requests outside the conversation in a total: prompt columns, then output."""
    found = [(*_columns(usage).tolist(), usage.output) for name, usage in totals.side_usages if name == model]
    summed: Integers = np.array(found, dtype=np.int64).reshape(-1, 5).sum(axis=0)
    return summed


def _shares(total: Integers, prompts: Floats, continues: NDArray[np.bool_]) -> Integers:
    """Split a total among calls.

    Args:
        total: Prompt tokens: cache reads, both kinds of writes, uncached.
        prompts: Per call, estimated tokens of its prompt.
        continues: Per call, True if its prompt extends the prompt of another of these calls.

    Returns:
        The same rows, one column per call.
    """
    whole = int(total.sum())
    unrecorded = max(whole - float(prompts.sum()), 0.0) / len(prompts)
    sizes = apportion(whole, np.maximum(prompts, 0) + unrecorded)
    before = np.concatenate(([0], sizes[:-1]))
    shared = np.where(continues, np.minimum(before, sizes), 0)
    read, *written = (int(each) for each in total[:3])
    first = apportion(min(read, int(shared.sum())), shared.astype(np.float64), shared)
    rows = [first + apportion(read - int(first.sum()), (sizes - first).astype(np.float64), sizes - first)]
    for each in written:
        room = sizes - np.sum(rows, axis=0)
        rows.append(apportion(each, room.astype(np.float64), room))
    return np.stack([*rows, sizes - np.sum(rows, axis=0)])


def apportion(total: int, weights: Floats, most: Integers | None = None) -> Integers:
    """Split a total into whole parts in proportion to weights.

    Args:
        total: Sum of the parts; at most the sum of `most`.
        weights: Weight of each part; equal if all are zero.
        most: Maximum of each part; no maximum by default.

    Returns:
        The parts, int64.
    """
    parts = np.zeros(len(weights), dtype=np.int64)
    room = np.full(len(weights), total, dtype=np.int64) if most is None else most.copy()
    rest = total
    while rest > 0 and room.any():
        share = np.where(room > 0, weights, 0.0)
        share = share if share.sum() > 0 else (room > 0).astype(np.float64)
        ends = np.rint(np.cumsum(share) / share.sum() * rest).astype(np.int64)
        more = np.minimum(np.diff(ends, prepend=0), room)
        parts, room, rest = parts + more, room - more, rest - int(more.sum())
    return parts


@dataclass(frozen=True)
class CalibrationSource:
    """A session, the parent or the continued one, that lends its fits, the model with most calls first."""

    kind: LinkKind
    identifier: str
    fits: tuple[BorrowedCalibration, ...]

    @property
    def is_parent(self) -> bool:
        """True if it started the borrower as a subagent."""
        return self.kind is LinkKind.PARENT


@dataclass(frozen=True, eq=False)
class TokenScale:
    """Conversion of local counts to provider tokens, per call including the next one.

    Attributes:
        ratio: Provider tokens per counted token, float64.
        prompt: Calibrated size of the recorded prompt, including system prompt and tool definitions, float64.
        uncounted: Per block, provider tokens beyond its counted ones (envelope and signature), float64.
        has_signature: Per block, True if it has a signature that counts toward the prompt, bool.
        known: Confidence of prompt sizes on this scale.
        calibration_source: The session the fit is borrowed from; None if there is no suitable one.
    """

    ratio: NDArray[np.float64]
    prompt: NDArray[np.float64]
    uncounted: NDArray[np.float64]
    has_signature: NDArray[np.bool_]
    known: HowKnown
    calibration: Calibration
    calibration_source: CalibrationSource | None = None

    @property
    def borrowed(self) -> str:
        """Source and size of the fit that the most-used model borrows; empty if it borrows none."""
        fit, source = self.calibration.main_borrowed, self.calibration_source
        if fit is None or source is None:
            return ""
        which = "the session that started this one" if source.is_parent else "the session that this one continues"
        return f"fitted to {fit.calls:,} calls of {fit.model} in {which}, {source.identifier}"

    def whole_prompts(
        self,
        layout: PromptLayout,
        recorded: PromptUsage,
        reported: NDArray[np.bool_],
        counted: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Return every prompt's size with nothing cut: as reported, otherwise the local estimate in provider tokens."""
        whole = self.prompt.copy()
        whole[:-1] = np.where(reported, recorded.prompt, whole[:-1])
        previous = int(layout.previous_call[-1])
        if previous >= 0 and reported[previous]:
            # The next prompt extends the previous one, so the last report is the better baseline.
            shown = self.ratio[-1] * counted + layout.uncounted_in_prompts
            whole[-1] = whole[previous] + shown[-1] - shown[previous]
        return whole

    def ratio_within(
        self,
        layout: PromptLayout,
        whole: NDArray[np.float64],
        reported: NDArray[np.bool_],
        removed: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Return provider tokens per counted token for each call, reduced where blocks would exceed their prompt.

        Agents omit parts of prompts without recording it, and no plan can remove more than was sent. The system prompt
        and the tools are sent with every call: if the blocks would leave less than half of their size, an error larger
        than that of any fit, the blocks are scaled down. A prompt without a report has the size of its blocks; their
        envelopes are rounded to whole counted tokens, so the sum may be slightly larger.
        """
        counted = np.maximum(layout.with_envelopes - removed, 1)
        overhead = np.maximum(np.rint(self.calibration.call_overhead), 0)
        is_squeezed = (whole - self.ratio * counted < overhead / 2) & (whole > overhead)
        room = np.where(is_squeezed, whole - overhead, np.maximum(whole, 0))
        previous = int(layout.previous_call[-1])
        is_known = np.append(reported, previous >= 0 and bool(reported[previous]))
        return np.where(is_known, np.minimum(self.ratio, room / counted), self.ratio)

    @classmethod
    def of(
        cls,
        history: History,
        table: TokenTable,
        removed: Integers | None = None,
        calibration_source: CalibrationSource | None = None,
    ) -> TokenScale:
        """Fit a session's counts to its reported usage, or that of a source, otherwise use typical values.

        `removed` has, per call including the next one, counted tokens the agent itself had cleared by then.
        """
        fits = () if calibration_source is None else calibration_source.fits
        return cls._of(history, table, calibrate_session(history, table, removed, fits), calibration_source)

    @classmethod
    def typical(cls, history: History, table: TokenTable) -> TokenScale:
        """Return the typical scale of the session's models: enough if no token count changes a figure."""
        contents = {ResponseModel.SIGNATURES: signature_contents(history, table)}
        return cls._of(history, table, fit_contents(history, contents, np.zeros(history.call_count + 1, np.int64)))

    @classmethod
    def _of(
        cls,
        history: History,
        table: TokenTable,
        calibration: Calibration,
        calibration_source: CalibrationSource | None = None,
    ) -> TokenScale:
        main = np.array(calibration.main)
        per_block = _of_main_model(history, table, calibration)
        fitted = calibration.is_fitted and table.is_complete
        return cls(
            ratio=calibration.call_ratio,
            prompt=calibration.prompt,
            uncounted=main @ per_block - main[0] * table.tokens,
            has_signature=(per_block[2] > 0) & (history.signature > 0),
            known=HowKnown.CALIBRATED if fitted else HowKnown.ESTIMATED,
            calibration=calibration,
            calibration_source=calibration_source,
        )

    def of_calls(self, calls: Integers) -> TokenScale:
        """Return the scale for some calls, without the next one, which always remains; keep the fit to all."""
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
    history: History, table: TokenTable, removed: Integers | None = None, borrowed: Sequence[BorrowedCalibration] = ()
) -> Calibration:
    """Fit the table's counts to the session's reported usage; one row per call, including the next one.

    `Calibration.prompt` less `Calibration.call_ratio` times the prompt's counted tokens is the uncounted part of each
    prompt. Arguments are as for `TokenScale.of`, with the fits of another session.
    """
    reported = np.append(deduplicated_prompts(history), 0)
    return fit_contents(history, prompt_contents(history, table, removed), reported, borrowed)


def fit_contents(
    history: History,
    contents: Mapping[ResponseModel, PromptContents],
    reported: Integers,
    borrowed: Sequence[BorrowedCalibration] = (),
) -> Calibration:
    """Fit prompt contents to reported prompt sizes; a size of 0 is predicted."""
    models = recorded_calls(history).models.and_again()
    return calibrate(models, _growing_together(history, reported), contents, reported, borrowed)


def _growing_together(history: History, reported: Integers) -> Integers:
    """Group the calls by prompts that grow from one another: return the context of each call.

    If almost every call begins a context, for example because a recorded system prompt grows with each call, growth
    cannot be fitted. The thread is used instead, because its prompts share the same unrecorded part.
    """
    contexts: Integers = history.call_context.astype(np.int64)
    result = contexts[reported > 0]
    if len(result) < LEAST_CALLS or len(result) - len(np.unique(result)) >= LEAST_CALLS // 2:
        return contexts
    threads = np.array([context.thread for context in history.session.contexts], dtype=np.int64)
    return threads[contexts]


def prompt_contents(
    history: History, table: TokenTable, removed: Integers | None = None
) -> dict[ResponseModel, PromptContents]:
    """Return prompt contents for each reading, including the next prompt; arguments are as for `TokenScale.of`."""
    contents = {ResponseModel.SIGNATURES: signature_contents(history, table), **response_contents(history, table)}
    if removed is None:
        return contents
    return {reading: each._replace(counted=each.counted - removed) for reading, each in contents.items()}


def signature_contents(history: History, table: TokenTable) -> PromptContents:
    """Count each prompt's contents, with reasoning measured by the characters of its signatures.

    Thinking with a signature is excluded from the counted tokens, because the signature represents it. If the call's
    model drops reasoning at the next user message, only reasoning after the last one counts.
    """
    per_block = _of_blocks(history, table)
    (counted, blocks, signatures), (since_user,) = _over_prompts(history, per_block, [_is_user_text(history)])
    media = media_of_prompts(history, table)
    models = recorded_calls(history).models.and_again()
    drops = np.array([drops_reasoning(name) for name in models.names], dtype=np.bool_)[models.code]
    return PromptContents(counted, blocks, np.where(drops, since_user, signatures), media)


def response_contents(history: History, table: TokenTable) -> dict[ResponseModel, PromptContents]:
    """Return prompt contents for the readings with reported response lengths; empty if no length was reported."""
    responses = _MeasuredResponses.of(history, table)
    if not responses.measured.any():
        return {}
    counted = np.where(responses.measured, 0, table.tokens - table.media).astype(np.int64)
    media = media_of_prompts(history, table)
    is_sent = (history.kind != BlockKind.OTHER).astype(np.int64)
    (texts, blocks, tokens, reasoning), (since_user, of_last) = _over_prompts(
        history,
        np.stack((counted, is_sent, responses.tokens, responses.reasoning)),
        [_is_user_text(history), responses.tokens > 0],
    )
    held = {
        ResponseModel.KEPT: reasoning,
        ResponseModel.SINCE_USER: since_user,
        ResponseModel.LAST: of_last,
        ResponseModel.DROPPED: np.zeros_like(reasoning),
    }
    return {reading: PromptContents(texts, blocks, tokens - reasoning + each, media) for reading, each in held.items()}


def media_of_prompts(history: History, table: TokenTable) -> Integers:
    """Return the media tokens of each prompt by its model's rule, including the next prompt. int64."""
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
    tokens = np.zeros(len(history.kind), dtype=np.int64)
    blocks = history.session.blocks
    for block in np.flatnonzero(table.media).tolist():
        tokens[block] = block_media_tokens(blocks[block], rule)
    return tokens


@dataclass(frozen=True, eq=False)
class _MeasuredResponses:
    """The responses of a session with a reported length, by their first block.

    Attributes:
        tokens: Per block, the reported tokens of the response it begins, 0 elsewhere, int64.
        reasoning: The reasoning part of these, int64.
        measured: Per block, True if it is part of such a response, bool.
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
    """Return the features of every block, a row each: counted tokens, block count, characters of signatures.

    Images and documents are excluded from the counted tokens, because their size in provider tokens is given.
    """
    signature = history.signature.astype(np.int64)
    # A signature represents the whole reasoning; any text next to it is only a displayed summary.
    hidden = (history.kind == BlockKind.THINKING) & (signature > 0)
    counted = np.where(hidden, 0, table.tokens - table.media)
    return np.stack((counted, (history.kind != BlockKind.OTHER).astype(np.int64), signature))


def _of_main_model(history: History, table: TokenTable, calibration: Calibration) -> Integers:
    """Return the features of every block for the reading of the most-used model, a row per coefficient."""
    rule = image_rule(calibration.main_model)
    per_block = np.vstack((_of_blocks(history, table), _media_of_blocks(history, table, rule)))
    reading = calibration.main_reading
    if reading is ResponseModel.SIGNATURES:
        if calibration.main_model and drops_reasoning(calibration.main_model):
            per_block[2] = 0
        return per_block
    # Texts are counted, because strategies cut them; the remainder of a response is its reasoning.
    responses = _MeasuredResponses.of(history, table)
    thinking = (history.kind == BlockKind.THINKING) & responses.measured
    per_block[0] = np.where(thinking, 0, table.tokens - table.media)
    per_block[2] = 0
    if reading is ResponseModel.KEPT:
        begins = np.flatnonzero(responses.reasoning)
        # Assign it to the response's first block of reasoning if there is one, otherwise to its first block.
        places = np.flatnonzero(thinking)
        found = np.searchsorted(places, begins)
        near = places[np.minimum(found, len(places) - 1)] if len(places) else begins
        same = len(places) > 0 and (history.message[near] == history.message[begins])
        per_block[2, np.where(same, near, begins)] = responses.reasoning[begins]
    return per_block


def _is_user_text(history: History) -> NDArray[np.bool_]:
    reported: NDArray[np.bool_] = history.kind == BlockKind.USER_TEXT
    return reported


def _over_prompts(history: History, per_block: Integers, marks: list[NDArray[np.bool_]]) -> tuple[Integers, Integers]:
    """Sum block features over every call's prompt, including the next one.

    Args:
        per_block: Features of every block, a row each.
        marks: Boolean columns over the blocks.

    Returns:
        A row for each row of `per_block`, and a row for each of `marks`: the sum of the last feature from the last
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
    """Return, per number of leading blocks, the index of the last marked one among them; 0 for none."""
    places = np.where(marked, np.arange(len(marked)), 0)
    return np.concatenate(([0], np.maximum.accumulate(places, dtype=np.int64)))
