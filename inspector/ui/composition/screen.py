"""The composition screen: content of the context window at the selected call and its cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from textual import on
from textual.content import Content

from inspector.replay.analysis.breakdown import ResendCost, resend_cost
from inspector.replay.analysis.context_blocks import fill_at
from inspector.replay.analysis.context_breakdown import (
    ContextBreakdown,
    Grouping,
    Scope,
    consumers_of,
    context_breakdown,
)
from inspector.report.numbers import ON_SCREEN, size_words
from inspector.safe_text import one_line
from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import COMPOSITION, COMPOSITION_BLOCKS, COMPOSITION_PARTS, DIVISION_LETTERS
from inspector.ui.analysis_screen import AnalysisScreen, CloseResult
from inspector.ui.composition.rows import (
    MOST_BLOCKS,
    NO_BLOCK,
    about_no_block,
    block_table,
    default_sorting,
    part_of,
    part_table,
)
from inspector.ui.figure_table.table import Sorting, legend_of
from inspector.ui.figure_table.widget import FigureTable
from inspector.ui.part_names import CHART, TIMELINE, TOKEN_CALLS
from inspector.ui.session_screen import scale_words
from inspector.ui.toolkit.choice_strip import Choices, ChoiceStrip
from inspector.ui.toolkit.header import SessionHeader
from inspector.ui.toolkit.pane import Pane, Placeholder, PlaceholderText
from inspector.ui.toolkit.status_bar import StatusBar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from inspector.replay.engine.replay import Replay
    from inspector.ui.controller.host import IsCancelled, Post
    from inspector.ui.controller.session import SessionController
    from inspector.ui.explain import Explained

GROUPINGS = tuple(Grouping)

DIVIDES = "g, then"


class Parts(FigureTable):
    """The table of parts."""

    HELP = """Composition of the selected call's prompt. Tokens are on the provider's scale; the parts, including those
    that are not in the file (system prompt, tool definitions), add up to the prompt. Cut: left out by the plan.
    Token-calls: tokens counted once per call that sent them; their cost uses the rate of each call, cached or uncached.
    Token-calls of the system prompt, tools and framing include all prompts so far, also before a compaction. Repeats:
    results that something later in the prompt supersedes, such as the same text, another read of the file, or an edit
    of it. ~ marks estimates."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(COMPOSITION_PARTS)


class Blocks(FigureTable):
    """The table of blocks."""

    HELP = """The blocks of the part above that take most of the prompt or, over the whole session, cost most. Calls:
    number of calls that sent a block. Token-calls: its tokens, counted once per call."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(COMPOSITION_BLOCKS)


DIVIDING: Final = "dividing the prompt…"


class PromptDivision(NamedTuple):
    """A divided prompt.

    Attributes:
        replay: The replay it belongs to.
        carriage: Resend cost of each block.
        composition: The division.
    """

    replay: Replay
    carriage: ResendCost
    composition: ContextBreakdown


class CompositionScreen(AnalysisScreen):
    """Parts above, blocks of the selected part below."""

    screen_name = "composition"
    MENU_TITLES: ClassVar[Mapping[str, str]] = {**AnalysisScreen.MENU_TITLES, "g": "Divide the prompt"}

    DEFAULT_CSS = """
    CompositionScreen {
        #parts-pane { height: 1fr; }
        #blocks-pane { height: 1fr; }
        &.-tall #parts-pane { height: 22; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(COMPOSITION)

    def __init__(self, controller: SessionController) -> None:
        super().__init__(controller)
        self.grouping = Grouping.ROLE
        """Grouping of the parts."""
        self.scope = Scope.WINDOW
        """Scope of the blocks."""
        self.divided: PromptDivision | None = None
        """The latest division; None before the first one."""
        self._is_wanted = self._is_dividing = False
        self._sorted_for: tuple[Grouping, Scope] | None = None
        self._listed: tuple[Grouping, Scope, Hashable] | None = None

    def compose(self) -> ComposeResult:
        yield SessionHeader()
        with Pane("Window", id="parts-pane"):
            yield ChoiceStrip()
            yield Parts(id="parts")
        with Pane("Blocks", id="blocks-pane"):
            yield Blocks(id="blocks")
            yield Placeholder()
        yield StatusBar()

    @property
    def parts(self) -> Parts:
        return self.query_one(Parts)

    @property
    def blocks(self) -> Blocks:
        return self.query_one(Blocks)

    def on_mount(self) -> None:
        self.parts.focus()

    def show_outcome(self) -> None:
        """Divide the selected call's prompt, now or after the running division."""
        names = tuple(
            (DIVIDES, f"{letter} {grouping.value}")
            for letter, grouping in zip(DIVISION_LETTERS, GROUPINGS, strict=True)
        )
        self.query_one(ChoiceStrip).choices = Choices(names, GROUPINGS.index(self.grouping))
        if self.divided is None:
            self.query_one("#parts-pane", Pane).set_subtitle(DIVIDING)
        self._is_wanted = True
        if not self._is_dividing:
            self._divide()

    def _divide(self) -> None:
        self._is_dividing, self._is_wanted = True, False
        known, outcome, grouping, scope = self.divided, self.outcome, self.grouping, self.scope

        def work(post: Post[PromptDivision], is_cancelled: IsCancelled) -> None:  # noqa: ARG001  short
            is_known = known is not None and known.replay is outcome.replay
            carriage = known.carriage if known is not None and is_known else resend_cost(outcome.replay)
            composition = context_breakdown(outcome.replay, outcome.state, carriage, grouping, scope)
            post(PromptDivision(outcome.replay, carriage, composition))

        self.jobs.run(
            work, self._take_divided, group="divide", description="divide the prompt", failed=self._stop_dividing
        )

    def _stop_dividing(self) -> None:
        self._is_dividing = False

    def _take_divided(self, divided: PromptDivision) -> None:
        self._is_dividing = False
        self.divided = divided
        self._show(divided)
        if self._is_wanted:
            self._divide()

    def _show(self, divided: PromptDivision) -> None:
        # Use the divided replay throughout: the session may have become shorter since.
        composition, replay = divided.composition, divided.replay
        context, window = composition.context, replay.inputs.window
        count = replay.history.call_count
        when = (
            "at the next prompt"
            if context.call >= count
            else f"at call {ON_SCREEN.whole(context.call + 1)} of {ON_SCREEN.whole(count)}"
        )
        size = f"{ON_SCREEN.whole(context.prompt.value or 0)} tokens"
        prompt = ON_SCREEN.qualified(size, context.prompt.known.value)
        pane = self.query_one("#parts-pane", Pane)
        if composition.scope is Scope.WINDOW:
            over = round((context.prompt.value or 0) - window.size) if window.size else 0
            fill = fill_at(replay, context.call)
            of = size_words(fill.size, is_window=fill.is_window) if fill.size.value else ""
            if over > 0:
                of = f"{size_words(window.tokens, is_window=True)}, {ON_SCREEN.whole(over)} beyond it"
            pane.border_title = Content(", ".join(filter(None, (f"Window {when}: {prompt}", of))))
        else:
            sent = f"Everything sent in {ON_SCREEN.plural(count, 'call')}"
            pane.border_title = Content(f"{sent} · {TOKEN_CALLS}")
        parts = self.parts
        if self._sorted_for != (composition.grouping, composition.scope):
            self._sorted_for = (composition.grouping, composition.scope)
            parts.set_reactive(FigureTable.sorting, default_sorting(composition))
            self.blocks.set_reactive(FigureTable.sorting, Sorting())
        parts.table = part_table(composition)
        scale = scale_words(replay.inputs.scale)
        pane.set_subtitle(legend_of(parts.table), self._largest(composition), scale)
        self._show_blocks()

    def _largest(self, composition: ContextBreakdown) -> str:
        """Return the call of the session's largest prompt, unless it is selected."""
        call = self.outcome.largest_call
        if composition.scope is not Scope.WINDOW or call is None or call == composition.context.call:
            return ""
        tokens = self.outcome.replay.ledger.prompt_tokens[call]
        return f"largest sent: {ON_SCREEN.whole(tokens)} at call {ON_SCREEN.whole(call + 1)} (P)"

    @on(FigureTable.Highlighted, "#parts")
    def _show_blocks(self) -> None:
        divided, rows = self.divided, self.controller.rows
        if divided is None or rows is None:
            return
        part = part_of(divided.composition, self.parts.cursor_key)
        blocks = part.blocks[part.blocks < len(rows.history.kind)]
        consumers = consumers_of(divided.composition, blocks, divided.carriage, MOST_BLOCKS)
        table = block_table(divided.composition, consumers, rows)
        listed = (divided.composition.grouping, divided.composition.scope, self.parts.cursor_key)
        if listed == self._listed:
            self.blocks.table = table
        else:
            # After a change to the blocks or their order, start at the first row.
            self._listed = listed
            self.blocks.show_from_top(table)
        more = f", the first {MOST_BLOCKS}" if len(part.blocks) > MOST_BLOCKS else ""
        count = f": {ON_SCREEN.plural(len(part.blocks), 'block')}{more}" if len(part.blocks) else ""
        self.query_one("#blocks-pane", Pane).border_title = Content(one_line(f"{part.name}{count}"))
        # For the whole session, the frame above shows it.
        is_met = bool(consumers) and divided.composition.scope is Scope.WINDOW and self.blocks.shows("carried")
        self.query_one("#blocks-pane", Pane).set_subtitle(TOKEN_CALLS if is_met else "")
        placeholder = self.query_one(Placeholder)
        placeholder.display = not consumers
        if not consumers and self.blocks.has_focus:
            self.parts.focus()
        self.blocks.display = bool(consumers)
        placeholder.word = PlaceholderText(NO_BLOCK, (about_no_block(part),))

    @on(ChoiceStrip.Chosen)
    def _chosen(self, event: ChoiceStrip.Chosen) -> None:
        self.action_divide(GROUPINGS[event.place].value)

    @on(FigureTable.Clicked, "#parts")
    def _part_clicked(self) -> None:
        self.action_enter()

    @on(FigureTable.Clicked, "#blocks")
    def _block_clicked(self) -> None:
        self.action_jump()

    def action_divide(self, grouping: str) -> None:
        self.grouping = Grouping(grouping)
        self.show_outcome()

    def action_scope(self) -> None:
        """Switch the scope between this window and all prompts."""
        self.scope = Scope.SESSION if self.scope is Scope.WINDOW else Scope.WINDOW
        self.show_outcome()

    def action_other(self) -> None:
        (self.parts if self.blocks.has_focus else self.blocks).focus()

    def action_call(self, step: int) -> None:
        """Move to another call, also on the main screen."""
        self.controller.look_further(step)

    def action_largest(self) -> None:
        """Move to the call with the largest prompt, or from there to the next prompt, also on the main screen."""
        if (call := self.outcome.largest_call) is not None:
            self.controller.look_at(None if self.is_at_largest else call)
            self.refresh_bindings()

    @property
    def is_at_largest(self) -> bool:
        return self.controller.call is not None and self.controller.call == self.outcome.largest_call

    def action_enter(self) -> None:
        """Focus the part's blocks, if the file has any."""
        if self.blocks.rows:
            self.blocks.focus()
        elif self.divided is not None:
            self.show_notice(NO_BLOCK)

    def explains(self) -> Callable[[], tuple[Explained, ...]]:
        """Return the explanations of the block under the cursor, or of the prompt."""
        from inspector.ui.explain import explained_focus

        block = self.blocks.cursor_key
        focus = (TIMELINE, block) if self.blocks.has_focus and isinstance(block, int) else (CHART, -1)
        outcome, terms, runs = self.outcome, self.controller.terms, self.controller.runs_per_day
        search = self.controller.search_for_uses(outcome.replay.history)
        return lambda: explained_focus(outcome, focus, terms, runs, search)[0]

    def action_jump(self) -> None:
        block = self.blocks.cursor_key
        if isinstance(block, int):
            self.dismiss(CloseResult(block=block))
