"""What a strategy is: a rule with parameters that says, for every call, only what changes.

A strategy comes in one of two forms and never in both, so that no rule is written twice:

- `ScheduledStrategy`, where every decision follows from what was recorded (decided at insertion, or by age, order and
  kind). It gives all its decisions for all calls at once, as columns, and so can be replayed in a frame.
- `SequentialStrategy`, where a decision depends on what the plan itself has sent (a token budget, a gate, a flag that
  sticks). It is asked call by call, in order, and keeps its own state between.

Either form works on a `History`; neither sees prices or screens. A decision is an operation on a block, in force from
one call on, until the same strategy decides otherwise for that block.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from inspector.session.model import Session
    from inspector.strategies.core.operations import Operation
    from inspector.strategies.core.parameters import Parameter
    from inspector.strategies.core.rendition import Rendition
    from inspector.strategies.history.history import History


@dataclass(frozen=True, slots=True)
class Decision:
    """What a strategy does with a block, and why.

    Attributes:
        operation: What to do to the text; None takes the strategy's own earlier operation back.
        reason: Why, in a few words for people: `stale, tier search`. Names no session text.
        group: The part of the strategy that decided, where it has parts a user tunes apart (a tier); empty otherwise.
        points_to: What is sent instead tells the model to look at an `earlier` or a `later` result of the same file or
            the same arguments; empty where it does not.
    """

    operation: Operation | None
    reason: str
    group: str = ""
    points_to: str = ""


class Choice(NamedTuple):
    """A decision about one block."""

    block: int
    decision: Decision


@dataclass(frozen=True, slots=True)
class Schedule:
    """All decisions of a scheduled strategy over a whole session, as columns of one length.

    A block may appear several times with different calls; from `calls[i]` on, the decision for `blocks[i]` is
    `table[decisions[i]]`.

    Attributes:
        blocks: Block indices, int32.
        calls: The call each decision takes effect at, int32.
        decisions: Index into `table`, int32.
        table: The distinct decisions.
    """

    blocks: NDArray[np.int32]
    calls: NDArray[np.int32]
    decisions: NDArray[np.int32]
    table: tuple[Decision, ...]


class Moment(Protocol):
    """A call about to be made, as a sequential strategy may see it.

    Lengths, tokens and renditions are those the strategies before it in the plan left, with its own earlier decisions
    applied.
    """

    @property
    def history(self) -> History:
        """What was recorded. Look no further than this call's prompt."""
        ...

    @property
    def call(self) -> int:
        """Index of the call; the number of recorded calls stands for the next one, not yet made."""
        ...

    @property
    def arrived(self) -> NDArray[np.int32]:
        """Block indices that are in this prompt and were in no earlier one, in the order they are sent."""
        ...

    @property
    def starts_context(self) -> bool:
        """True at the first call after the start, a recorded compaction or a rewind."""
        ...

    @property
    def previous_prompt_tokens(self) -> int:
        """Prompt tokens of the previous call of this thread as this plan sent it; 0 before the first."""
        ...

    @property
    def prompt_tokens(self) -> int:
        """Prompt tokens of this call as it stands, before this strategy decides."""
        ...

    @property
    def idle_seconds(self) -> float | None:
        """Time since the previous call of this thread, or None where the record has no times."""
        ...

    def prompt(self) -> NDArray[np.int32]:
        """All block indices of this call's prompt, in the order they are sent, removed ones left out."""
        ...

    def rendition(self, block: int) -> Rendition:
        """How the block would be sent now."""
        ...

    def is_whole(self, block: int) -> bool:
        """Whether the block would be sent whole now: what was worked out from its recorded text holds."""
        ...

    def are_whole(self, blocks: Sequence[int]) -> bool:
        """Whether all of the blocks would."""
        ...

    def length(self, block: int) -> int:
        """Characters of the block as it would be sent now."""
        ...

    def tokens(self, block: int) -> int:
        """Tokens of the block as it would be sent now."""
        ...

    def total_tokens(self, blocks: Sequence[int]) -> int:
        """Tokens of all of the blocks."""
        ...

    def note_estimate(self, tokens: float) -> None:
        """Say what this strategy takes the prompt to measure, where it waits for a number it works out itself."""
        ...

    def note_model_call(self, prompt_tokens: int, output_tokens: int) -> None:
        """Say that this strategy asks a model for something before this call, in counted tokens; it is paid for."""
        ...

    def note_printed(self, text: str) -> None:
        """Say what the described program prints when it acts at this call, in its own words."""
        ...

    def tokens_under(self, choice: Choice) -> int:
        """Tokens of the choice's block if this strategy made it."""
        ...

    def text(self, block: int) -> str:
        """The block's text as it would be sent now; reads the file."""
        ...


class Run(Protocol):
    """A sequential strategy at work on one session: its state between calls.

    A run that never asks a moment for prompt tokens may say so with an attribute `measures_prompts` that is False: what
    prompts come to is then not worked out call by call.
    """

    def step(self, moment: Moment) -> Iterable[Choice]:
        """What changes at this call. Called once for every call, in order."""
        ...


class Strategy(Protocol):
    """A rule, with parameters, that decides how old blocks are sent. Frozen: another limit is another strategy.

    Class attributes:
        name: How plans name it: `tiered-stale`.
        title: A few words for people.
        summary: What it does, in a sentence.
        source: Where the rule comes from: a document, a project's file, a provider's documentation.
        parameters: Every parameter once: name, unit, default, range and help.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    source: ClassVar[str]
    parameters: ClassVar[tuple[Parameter, ...]]


@runtime_checkable
class ScheduledStrategy(Strategy, Protocol):
    """A strategy whose decisions follow from the record alone."""

    def schedule(self, history: History) -> Schedule:
        """All decisions for all calls, the next one (not yet made) included."""
        ...


@runtime_checkable
class SequentialStrategy(Strategy, Protocol):
    """A strategy whose decisions depend on what the plan has sent."""

    def start(self, history: History) -> Run:
        """A fresh run over one session."""
        ...


@runtime_checkable
class AdaptingStrategy(Strategy, Protocol):
    """A strategy that is of one form for some of its values and of the other for the rest."""

    def in_use(self) -> ScheduledStrategy | SequentialStrategy:
        """The form its values ask for."""
        ...


@dataclass(frozen=True, slots=True)
class Counterpart:
    """What a strategy is in the configuration of the system that has it; `registry.SYSTEMS` says which that is.

    Attributes:
        names: Per parameter that can be said there, what it is called. Dots lead into sections; empty for one that has
            no name of its own, because it is said by another's or in another way.
        always: What is written there whatever the values are, by name.
        constants: Parameters that are constants of that system.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    always: Mapping[str, object] = field(default_factory=dict)
    constants: tuple[str, ...] = ()


@runtime_checkable
class WaitingStrategy(Strategy, Protocol):
    """A strategy that begins to act when a prompt has reached a size: what a chart draws as a line."""

    def triggers(self, window: int) -> tuple[float, ...]:
        """The prompt sizes at which it begins to act, in tokens; 0 for one that is switched off.

        Every strategy measures in its own way (the provider's count of the prompt before, an estimate of the messages
        alone), so that on a chart of prompts a size says where about it begins, not at which call.

        Args:
            window: Size of the model's window, in tokens, where the strategy names none itself.
        """
        ...


@runtime_checkable
class TieredStrategy(Strategy, Protocol):
    """A strategy whose limits are by tool: every tier has a parameter of its name, and one for its tools, `tier-tools`.

    Class attributes:
        tiers: The tiers, the one for all tools that are in no other last.
    """

    tiers: ClassVar[tuple[str, ...]]

    def tier_of(self, tool: str) -> str:
        """The tier a tool is in."""
        ...


@runtime_checkable
class FittedStrategy(Strategy, Protocol):
    """A strategy whose defaults can be made to fit a session."""

    @classmethod
    def for_session(cls, session: Session) -> Strategy:
        """The strategy with the defaults that fit a session."""
        ...


def in_use(strategy: Strategy) -> Strategy:
    """The strategy in the form its values ask for."""
    return strategy.in_use() if isinstance(strategy, AdaptingStrategy) else strategy
