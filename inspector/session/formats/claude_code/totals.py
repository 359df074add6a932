"""Read the totals that Claude Code records: of a printed run in `result`, of a session in `cost-state`.

Both have the cost and, in `modelUsage`, the tokens per model, including subagents and requests without a message. A
process writes several, each with everything since it began. `result` also has the `usage` of the conversation alone.
Requests that are in a total and nowhere else become side requests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from inspector.session.json.codec import decode_json
from inspector.session.json.values import clean_string, count, mapping, seconds_of_any
from inspector.session.model import NO_MESSAGE, LinkKind, RecordedTotals, SideCall, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from inspector.session.builder import SessionBuilder
    from inspector.session.formats.claude_code.records import ClaudeCodeRecord
    from inspector.session.model import Call

RESULT: Final = "result"

COST_STATE: Final = "cost-state"

LONG_CONTEXT: Final = "[1m]"
"""Suffix of a model's name in `modelUsage`, not in responses, if its long context window is on."""

SLACK_SECONDS: Final = 600
"""Maximum time from the start of a process to its first record; beyond it, its totals include an earlier session."""


@dataclass(frozen=True)
class _Stretch:
    """Totals of the calls from `first` to before `end`.

    Attributes:
        source: Type of the record.
        first, end: Call indices.
        models: Usage by model.
        conversation: Usage of the conversation alone, None if not recorded.
        cost: Recorded dollars, or None.
        started: Start of the process in seconds since the epoch, or None.
    """

    source: str
    first: int
    end: int
    models: dict[str, Usage]
    conversation: Usage | None
    cost: float | None
    started: float | None = None


class TotalsReader:
    """Adds a session's recorded totals, and the requests that only they report, to a builder."""

    def __init__(self, builder: SessionBuilder) -> None:
        self._builder = builder
        self._stretches: list[_Stretch] = []
        self._added: list[str] = []
        self._is_changed = False

    def note(self, record: ClaudeCodeRecord) -> None:
        if record.type not in (RESULT, COST_STATE):
            return
        end = len(self._builder.calls)
        models = dict(_models_in(decode_json(record.model_usage)[0]))
        if record.type == COST_STATE:
            started = seconds_of_any(decode_json(record.start_time)[0])
            made = _Stretch(COST_STATE, 0, end, models, None, record.session_cost, started)
            kept = [each for each in self._stretches if each.source != COST_STATE or each.started != started]
        else:
            conversation = _conversation_usage(decode_json(record.usage)[0])
            kept, first = self._before(models, conversation)
            if not models and conversation is not None:
                models = self._of_one_model(first, end, conversation)
            made = _Stretch(RESULT, first, end, models, conversation, record.run_cost)
        self._stretches = [*kept, made]
        self._is_changed = True

    def settle(self) -> None:
        """Update the builder if a total was added."""
        if not self._is_changed:
            return
        self._is_changed = False
        for key in self._added:
            self._builder.side_calls.pop(key, None)
        self._added.clear()
        self._builder.recorded_totals = [self._recorded(each) for each in self._stretches]

    def _before(self, models: dict[str, Usage], conversation: Usage | None) -> tuple[list[_Stretch], int]:
        """Return the totals that a new one does not include, and its first call.

        Totals are of the whole process: they are at least as large as the prompts since it began.
        """
        if not self._stretches:
            return [], 0
        last = self._stretches[-1]
        total = sum(usage.prompt for usage in models.values()) or (conversation.prompt if conversation else 0)
        if total >= _sum(self._builder.calls[last.first :]).prompt:
            return self._stretches[:-1], last.first
        return self._stretches, last.end

    def _of_one_model(self, first: int, end: int, conversation: Usage) -> dict[str, Usage]:
        """Return the conversation's usage by model if it includes all calls of a range and they name the same model."""
        calls = self._builder.calls[first:end]
        names = {call.model for call in calls}
        return {names.pop(): conversation} if len(names) == 1 and _is_prompt_of(conversation, calls) else {}

    def _recorded(self, stretch: _Stretch) -> RecordedTotals:
        calls = self._builder.calls[stretch.first : stretch.end]
        usages = []
        side_usages = []
        for model, total in stretch.models.items() if self._is_of_this_file(stretch) else ():
            mine = [call for call in calls if call.model == model]
            sides = [usage for name, usage in self._side_usages(mine) if name == model]
            known = _add([_sum(mine), *sides])
            rest = _subtract_prompt(total, known)
            if rest is None:
                continue
            if rest.prompt:
                rest = _with_output(rest, self._output_outside(stretch, calls, mine, total))
                sides.append(rest)
                self._add_side_call(stretch, model, rest)
            side_usages += [(model, usage) for usage in sides]
            usages.append((model, _add([_sum(mine), *sides], total.output)))
        return RecordedTotals(
            stretch.source,
            tuple(usages),
            stretch.cost,
            None,
            stretch.first,
            stretch.end,
            stretch.source == COST_STATE,
            tuple(side_usages),
        )

    def _is_of_this_file(self, stretch: _Stretch) -> bool:
        """Return True unless totals may include requests of other files: subagents, earlier sessions, copied calls."""
        if stretch.source == RESULT:
            return True
        messages = self._builder.messages
        first = next((message.time for message in messages if message.time is not None), None)
        is_begun_here = stretch.started is None or first is None or stretch.started >= first - SLACK_SECONDS
        has_subagents = any(link.kind is LinkKind.SUBAGENT for link in self._builder.links.values())
        is_only = sum(each.source == COST_STATE for each in self._stretches) == 1
        return is_begun_here and is_only and not has_subagents and not any(each.is_inherited for each in messages)

    def _side_usages(self, calls: Iterable[Call]) -> Iterator[tuple[str, Usage]]:
        """Yield models and usage of known side requests: those that these calls report, and those of other files."""
        responses = {-1, *(call.response for call in calls)}
        for key, each in self._builder.side_calls.items():
            if each.usage is not None and each.response in responses and key not in self._added:
                yield each.model, each.usage

    def _output_outside(self, stretch: _Stretch, calls: list[Call], mine: list[Call], total: Usage) -> int:
        """Return the response tokens of requests without a message; 0 if not known apart from those of the calls."""
        if all(call.usage is not None and not call.usage.output_is_placeholder for call in mine):
            return max(total.output - _sum(mine).output, 0)
        conversation = stretch.conversation
        is_alone = len(mine) == len(calls) and conversation is not None and _is_prompt_of(conversation, calls)
        return max(total.output - conversation.output, 0) if is_alone and conversation is not None else 0

    def _add_side_call(self, stretch: _Stretch, model: str, usage: Usage) -> None:
        times = [call.time for call in self._builder.calls[: stretch.end] if call.time is not None]
        key = f"{stretch.source} {stretch.first} {model}"
        self._added.append(key)
        identifier = f"{self._builder.identifier} {key}"
        made = SideCall(NO_MESSAGE, model, times[-1] if times else None, usage, identifier, requests=0)
        self._builder.side_calls[key] = made


def _models_in(value: object) -> Iterator[tuple[str, Usage]]:
    found: dict[str, list[Usage]] = {}
    for name, reported in mapping(value).items():
        fields = mapping(reported)
        names = ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "outputTokens")
        uncached, read, written, output = (count(fields.get(each)) for each in names)
        found.setdefault(clean_string(name).removesuffix(LONG_CONTEXT), []).append(
            Usage(uncached, read, written, output=output)
        )
    for name, usages in found.items():
        yield name, _add(usages)


def _conversation_usage(value: object) -> Usage | None:
    fields = mapping(value)
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    uncached, read, written, output = (count(fields.get(each)) for each in names)
    return Usage(uncached, read, written, output=output).unless_zero()


def _sum(calls: Iterable[Call]) -> Usage:
    return _add([call.usage for call in calls if call.usage is not None])


def _add(usages: Sequence[Usage], output: int | None = None) -> Usage:
    """Add up usages, optionally with another output."""
    names = ("uncached", "cache_read", "cache_write_5m", "cache_write_1h", "output")
    totals = {name: sum(getattr(each, name) for each in usages) for name in names}
    return Usage(**(totals if output is None else {**totals, "output": output}))


def _is_prompt_of(total: Usage, calls: Iterable[Call]) -> bool:
    rest = _subtract_prompt(total, _sum(calls))
    return rest is not None and not rest.prompt


def _subtract_prompt(total: Usage, known: Usage) -> Usage | None:
    """Return the part of a total's prompt tokens that is not known; None if more is known than the total has.

    Totals do not separate cache lifetimes.
    """
    uncached, read = total.uncached - known.uncached, total.cache_read - known.cache_read
    written = total.cache_write_5m - known.cache_write_5m - known.cache_write_1h
    return Usage(uncached, read, written) if min(uncached, read, written) >= 0 else None


def _with_output(usage: Usage, output: int) -> Usage:
    return _add([usage], output)
