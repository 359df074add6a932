"""Truncate old tool results once the conversation has grown past a budget of tokens.

Source: "Design: Token Budget Tool Result Compaction" (micro-x agent loop). After every response the prompt that was
sent is held against the budget; only when it is larger are results cut, all but those of the newest batch the model has
just answered. A cut stays. As this happens before the tools the response asks for have run, the next prompt holds two
batches whole.

The document has the marker follow the text at once; the program puts a blank line before it (variant `shipped`,
StephenDenisEdwards/micro-x-agent-loop-python `agent.py`, `_compact_old_tool_results`). Both compare strictly, leave
results that are lists of parts alone, and take a text that ends with the marker as done.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from inspector.session.model import TextUnavailableError
from inspector.strategies.base import Choice, Decision
from inspector.strategies.batching import Batching
from inspector.strategies.operations import cut_in
from inspector.strategies.parameters import TOKENS, Parameter, ParameterKind
from inspector.strategies.prompt_ends import result_runs
from inspector.strategies.settings import limit_unit
from inspector.strategies.thread_runs import Reader
from inspector.strategies.tunable import setting

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inspector.strategies.base import Moment
    from inspector.strategies.history import History

MARKER = "[truncated for context management]"
NOTICE = "Note: Compacted {count} old tool result(s) — input tokens ({tokens:,}) exceeded budget ({budget:,})"
"""What the program prints to its standard error whenever it has cut any."""

_REMEMBERED = 200_000
_marked: dict[bytes, bool] = {}


@dataclass(frozen=True)
class TokenBudget(Batching):
    """Cut old results when the last prompt was over the budget."""

    name: ClassVar[str] = "token-budget"
    title: ClassVar[str] = "Token budget"
    summary: ClassVar[str] = (
        "When a prompt has passed the budget, cut all results but the newest batch to their beginning."
    )
    source: ClassVar[str] = "Token Budget Tool Result Compaction, micro-x-agent-loop-python agent.py"

    budget: int = setting(
        Parameter(
            "budget",
            ParameterKind.WHOLE_NUMBER,
            40_000,
            "Prompt tokens above which old results are cut; 0 for never.",
            unit="tokens",
            minimum=0,
            maximum=2_000_000,
            logarithmic=True,
        )
    )
    keep: int = setting(
        Parameter(
            "keep",
            ParameterKind.WHOLE_NUMBER,
            500,
            "Characters kept of each old result.",
            unit="characters",
            minimum=0,
            maximum=100_000,
            logarithmic=True,
        )
    )
    unit: str = limit_unit("what is kept")
    variant: str = setting(
        Parameter(
            "variant",
            ParameterKind.CHOICE,
            "document",
            "The marker follows the text at once (document) or after a blank line (shipped).",
            choices=("document", "shipped"),
        )
    )

    def start(self, history: History) -> TokenBudgetRun:
        """A fresh run over one session."""
        return TokenBudgetRun(self, history, Reader(history), result_runs(history)[history.message].tolist())


@dataclass
class _Thread:
    """The results of one conversation that may still be cut, by batch, oldest first."""

    batches: list[tuple[int, list[int]]] = field(default_factory=list)

    def add(self, results: list[int], runs: list[int]) -> None:
        for block in results:
            if not self.batches or self.batches[-1][0] != runs[block]:
                self.batches.append((runs[block], []))
            self.batches[-1][1].append(block)


@dataclass
class TokenBudgetRun:
    """A token budget at work on one session.

    Attributes:
        strategy: The values.
        history: What was recorded.
        reader: Reads what arrives.
        runs: Per block, its batch.
    """

    strategy: TokenBudget
    history: History
    reader: Reader
    runs: list[int]
    _threads: dict[int, _Thread] = field(default_factory=dict)
    _done: set[int] = field(default_factory=set)

    def step(self, moment: Moment) -> Iterable[Choice]:
        """Cut what is old if the previous prompt was over the budget, then take in what arrived."""
        number = self.reader.thread(moment)
        is_new = number not in self._threads
        thread = self._threads.setdefault(number, _Thread())
        arrived = self.reader.results(self.reader.arrived(moment))
        if is_new and moment.previous_prompt_tokens:
            # A conversation that begins with a history: what it holds is what the last prompt was measured with.
            thread.add(arrived, self.runs)
        if moment.starts_context:
            held = set(arrived)
            thread.batches = [(run, [block for block in batch if block in held]) for run, batch in thread.batches]
        choices = list(self._cut(thread, moment))
        if choices:
            tokens, budget = moment.previous_prompt_tokens, self.strategy.budget
            moment.note_printed(NOTICE.format(count=len(choices), tokens=tokens, budget=budget))
        if moment.starts_context:
            thread.batches.clear()
            arrived = [block for block in arrived if block not in self._done]
        thread.add(arrived, self.runs)
        return choices

    def _cut(self, thread: _Thread, moment: Moment) -> Iterable[Choice]:
        tokens, budget = moment.previous_prompt_tokens, self.strategy.budget
        if not budget or tokens <= budget or len(thread.batches) < 2:
            return
        separator = "\n\n" if self.strategy.variant == "shipped" else ""
        keep = self.strategy.keep
        operation = cut_in(self.strategy.unit, keep, keep, 0, separator + MARKER)
        decision = Decision(operation, f"old when a prompt of {tokens:,} tokens passed the budget of {budget:,}")
        old, thread.batches = thread.batches[:-1], thread.batches[-1:]
        for _, batch in old:
            for block in batch:
                self._done.add(block)
                if self._is_to_be_cut(moment, block):
                    yield Choice(block, decision)

    def _is_to_be_cut(self, moment: Moment, block: int) -> bool:
        if not self.history.plain_text[block]:
            return False
        return self._is_long(moment, block) and not ends_with_marker(moment, block)

    def _is_long(self, moment: Moment, block: int) -> bool:
        if self.strategy.unit == TOKENS:
            return moment.tokens(block) > self.strategy.keep
        return moment.length(block) > self.strategy.keep


def ends_with_marker(moment: Moment, block: int) -> bool:
    """Whether what would be sent of a block ends with the marker.

    Only the end of the recorded text has to be read for that, once: the answer is remembered by the text's digest.
    """
    pieces = moment.rendition(block).pieces
    last = pieces[-1] if pieces else ""
    if isinstance(last, str):
        return last.endswith(MARKER)
    recorded = moment.history.session.blocks[block]
    if last.stop != recorded.characters or last.stop - last.start < len(MARKER):
        return moment.text(block).endswith(MARKER)
    known = _marked.get(recorded.digest)
    if known is None:
        if len(_marked) >= _REMEMBERED:
            _marked.clear()
        try:
            known = moment.history.session.text(recorded).endswith(MARKER)
        except TextUnavailableError:
            known = False
        _marked[recorded.digest] = known
    return known
