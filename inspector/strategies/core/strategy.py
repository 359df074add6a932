"""Protocols of strategies, rules with parameters that return only the changes for every call, and their parameters.

A strategy has exactly one of two forms, so that no rule is written twice:

- `ScheduledStrategy`: every decision follows from the record alone (at insertion, or by age, order and kind). It
  returns all decisions for all calls at once, as columns, and so can be replayed within a frame.
- `SequentialStrategy`: a decision depends on the prompts the plan itself has sent (a token budget, a gate, a sticky
  flag). It runs call by call, in order, and keeps its own state in between.

Both forms work on a `History` and have no access to prices or screens. A decision is an operation on a block, in force
from one call on, until the same strategy decides otherwise for that block.

A strategy is a frozen dataclass with one field per parameter, described once for controls, command-line help,
documentation and validation. A field gives its kind, default, help sentence and range. The parameter's name is the
attribute's name with hyphens:

    keep: int = integer(3, "How many of the newest results stay.", "results", maximum=1_000)
"""

from __future__ import annotations

from dataclasses import Field, dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, runtime_checkable

from inspector.strategies.core.parameters import UNITS, Parameter, ParameterKind, ParameterValue, ToolList

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from inspector.session.model import Session
    from inspector.strategies.core.operations import Operation, Rendition
    from inspector.strategies.history.history import History


@dataclass(frozen=True, slots=True)
class Decision:
    """A strategy's operation on a block, with the reason.

    Attributes:
        operation: Operation on the text; None takes back the strategy's own earlier operation.
        reason: A few words for display: `stale, tier search`. Contains no session text.
        group: The part of the strategy that decided, if it has parts a user tunes separately (a tier); otherwise empty.
        points_to: `earlier` or `later` if the replacement points the model to such a result of the same file or the
            same arguments; otherwise empty.
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
    """All decisions of a scheduled strategy over a whole session, as columns of equal length.

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


class CallContext(Protocol):
    """A call about to be made, as a sequential strategy may see it.

    Lengths, tokens and renditions include the changes of earlier strategies in the plan and the strategy's own earlier
    decisions.
    """

    @property
    def history(self) -> History:
        """The recorded history. Do not look beyond this call's prompt."""
        ...

    @property
    def call(self) -> int:
        """Index of the call; the number of recorded calls denotes the next one, not yet made."""
        ...

    @property
    def arrived(self) -> NDArray[np.int32]:
        """Block indices that are in this prompt and in no earlier one, in the order they are sent."""
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
        """Prompt tokens of this call before this strategy decides."""
        ...

    @property
    def idle_seconds(self) -> float | None:
        """Time since the previous call of this thread, or None if the record has no times."""
        ...

    def prompt(self) -> NDArray[np.int32]:
        """Return all block indices of this call's prompt, in the order they are sent, without removed ones."""
        ...

    def rendition(self, block: int) -> Rendition: ...

    def is_whole(self, block: int) -> bool:
        """Return True if the block would be sent unchanged, so values computed from its recorded text hold."""
        ...

    def are_whole(self, blocks: Sequence[int]) -> bool: ...

    def length(self, block: int) -> int:
        """Count the characters of the block as it would be sent now."""
        ...

    def tokens(self, block: int) -> int:
        """Count the tokens of the block as it would be sent now."""
        ...

    def total_tokens(self, blocks: Sequence[int]) -> int: ...

    def note_estimate(self, tokens: float) -> None:
        """Record this strategy's own estimate of the prompt's tokens, if it waits for such an estimate."""
        ...

    def note_model_call(self, prompt_tokens: int, output_tokens: int) -> None:
        """Record a model request this strategy makes before this call, in counted tokens; it is charged."""
        ...

    def note_printed(self, text: str) -> None:
        """Record the text the described program prints when it acts at this call."""
        ...

    def tokens_under(self, choice: Choice) -> int:
        """Count the tokens of the choice's block if this strategy made it."""
        ...

    def text(self, block: int) -> str:
        """Return the block's text as it would be sent now; reads the file."""
        ...


class Run(Protocol):
    """State of a sequential strategy on one session, between calls.

    A run that never reads prompt tokens may set an attribute `measures_prompts` to False; prompt token counts are then
    not computed for every call.
    """

    def step(self, context: CallContext) -> Iterable[Choice]:
        """Return the changes at this call. Called once for every call, in order."""
        ...


class Strategy(Protocol):
    """A rule, with parameters, that decides how old blocks are sent. Frozen: another limit is another strategy.

    Class attributes:
        name: Name in plans: `tiered-stale`.
        title: Display name.
        summary: One sentence of description.
        source: Source of the rule: a document, a project's file, a provider's documentation.
        parameters: Every parameter once: name, unit, default, range and help.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    source: ClassVar[str]
    parameters: ClassVar[tuple[Parameter, ...]]


@runtime_checkable
class ScheduledStrategy(Strategy, Protocol):
    """A strategy with decisions that follow from the record alone."""

    def schedule(self, history: History) -> Schedule:
        """Return all decisions for all calls, including the next one (not yet made)."""
        ...


@runtime_checkable
class SequentialStrategy(Strategy, Protocol):
    """A strategy with decisions that depend on the prompts the plan has sent."""

    def start(self, history: History) -> Run:
        """Start a run over one session."""
        ...


@runtime_checkable
class AdaptingStrategy(Strategy, Protocol):
    """A strategy that is scheduled for some of its values and sequential for others."""

    def in_use(self) -> ScheduledStrategy | SequentialStrategy: ...


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """Names of a strategy's parameters in the configuration of its system (listed in `registry.SYSTEMS`).

    Attributes:
        names: Names there, by parameter. Dots lead into sections; empty for a parameter expressed by another one or in
            another way.
        always: Settings written there for all values, by name.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    always: Mapping[str, object] = field(default_factory=dict)
    constants: tuple[str, ...] = ()


@runtime_checkable
class TriggeredStrategy(Strategy, Protocol):
    """A strategy that begins to act once a prompt reaches a size, drawn as a line in charts."""

    def triggers(self, window: int) -> tuple[float, ...]:
        """Return the prompt sizes in tokens at which it begins to act; 0 for a disabled one.

        Every strategy measures in its own way (the provider's count of the previous prompt, an estimate of the messages
        alone), so a size marks only roughly where it begins, not the exact call.

        Args:
            window: The model's context window in tokens, used if the strategy does not set one.
        """
        ...


@runtime_checkable
class TieredStrategy(Strategy, Protocol):
    """A strategy with limits by tool: every tier has a parameter of its name, and one for its tools, `tier-tools`.

    Class attributes:
        tiers: The tiers; the last one is for all tools in no other tier.
    """

    tiers: ClassVar[tuple[str, ...]]

    def tier_of(self, tool: str) -> str: ...


@runtime_checkable
class FittedStrategy(Strategy, Protocol):
    """A strategy with defaults that can be fitted to a session."""

    @classmethod
    def for_session(cls, session: Session) -> Strategy: ...


def in_use(strategy: Strategy) -> Strategy:
    """Return the strategy in the form that its values require."""
    # Few strategies adapt, and checking a whole protocol is slow.
    return strategy.in_use() if hasattr(strategy, "in_use") and isinstance(strategy, AdaptingStrategy) else strategy


_LOGARITHMIC_FROM = 1_000


class Parametrized:
    """Base of the strategies here: collects the parameters of its fields and validates every value on construction.

    An invalid value raises `ParameterError` from the constructor, so an existing strategy is valid. The class
    attributes are described in `Strategy`. A strategy that another system's configuration can express also has a
    `agent_settings`. `note` holds details of variants, and whether an API can refuse the messages.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    source: ClassVar[str]
    note: ClassVar[str] = ""
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    agent_settings: ClassVar[AgentSettings | None] = None

    def __init_subclass__(cls) -> None:
        own = tuple(
            replace(value.metadata["parameter"], name=name.replace("_", "-"))
            for name, value in vars(cls).items()
            if isinstance(value, Field) and "parameter" in value.metadata
        )
        # Shared parameters come after the strategy's own.
        cls.parameters = (*own, *cls.parameters)

    def __post_init__(self) -> None:
        for parameter in self.parameters:
            value = parameter.checked(getattr(self, parameter.field))
            object.__setattr__(self, parameter.field, value)


def integer(
    default: int,
    text: str,
    unit: str,
    *,
    maximum: int,
    minimum: int = 0,
    group: str = "",
    logarithmic: bool | None = None,
    is_assumed: bool = False,
) -> Any:
    """Declare a whole number; controls of large ranges move in ratios unless `logarithmic` is given."""
    ratios = maximum > _LOGARITHMIC_FROM if logarithmic is None else logarithmic
    described = (text, unit, minimum, maximum)
    kind = ParameterKind.WHOLE_NUMBER
    return _field(kind, default, *described, group=group, logarithmic=ratios, is_assumed=is_assumed)


def number(default: float, text: str, unit: str = "", *, minimum: float, maximum: float, group: str = "") -> Any:
    return _field(ParameterKind.NUMBER, default, text, unit, minimum, maximum, group=group)


def switch(default: bool, text: str, *, group: str = "") -> Any:
    return _field(ParameterKind.SWITCH, default, text, group=group)


def choice(choices: tuple[str, ...], text: str, *, default: str = "", group: str = "") -> Any:
    """Declare a choice of several values; the first is the default if none is given."""
    return _field(ParameterKind.CHOICE, default or choices[0], text, choices=choices, group=group)


def limit_unit(what: str = "the limits", *, group: str = "") -> Any:
    return choice(UNITS, f"Unit of {what}.", group=group)


def tools(default: tuple[str, ...], text: str, *, about: ToolList = ToolList.OTHER, group: str = "") -> Any:
    return _field(ParameterKind.TOOLS, default, text, group=group, about=about)


def string(default: str, text: str, *, group: str = "") -> Any:
    return _field(ParameterKind.TEXT, default, text, group=group)


def model_window(*, group: str = "") -> Any:
    """Declare the context window that fractions refer to."""
    text = "The model's context window; 0 for the size shown in chart and report."
    return integer(0, text, "tokens", maximum=10_000_000, group=group, is_assumed=True)


DEFAULT_WINDOW = 200_000
"""Context window in tokens if both the plan and the session leave it open."""


def window_of(history: History, given: int) -> int:
    """Return the window in tokens: the plan's value, otherwise the session model's, otherwise the usual one."""
    return given or history.window or history.session.window or DEFAULT_WINDOW


def summary_length() -> Any:
    """Declare the length of a summary, which no plan can know."""
    text = "Assumed summary length; defaults to that of recorded summaries, if any."
    return integer(1_500, text, "tokens", minimum=50, maximum=50_000, is_assumed=True)


def _field(kind: ParameterKind, default: ParameterValue, text: str, *described: Any, **named: Any) -> Any:
    """Build the dataclass field for a parameter; the parameter is named after the attribute later."""
    parameter = Parameter("", kind, default, text, *described, **named)
    return field(default=default, metadata={"parameter": parameter})
