"""Screen of cache breakpoints: results of each rule, and its breakpoints in one prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual import on

from inspector.replay.analysis.cache_breakpoints import NOWHERE, CacheBreakpoints, cache_marks
from inspector.replay.cache.breakpoint_rules import LOOK_BACK, MAX_BREAKPOINTS, BreakpointRule
from inspector.report.numbers import ON_SCREEN
from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import MARKS, MARKS_PLACES, MARKS_RULES
from inspector.ui.analysis_screen import AnalysisScreen, CloseResult
from inspector.ui.figure_table.table import Table, legend_of
from inspector.ui.figure_table.widget import FigureTable
from inspector.ui.marks.rows import (
    REPLAYED,
    block_of,
    mark_table,
    rule_table,
    told_of_call,
)
from inspector.ui.toolkit.header import SessionHeader
from inspector.ui.toolkit.pane import Pane, Placeholder, PlaceholderText, entitle
from inspector.ui.toolkit.status_bar import StatusBar

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from inspector.replay.analysis.cache_breakpoints import BreakpointUsage
    from inspector.ui.controller.host_protocols import IsCancelled, Post
    from inspector.ui.controller.session import SessionController

NO_CALL: Final = PlaceholderText("no calls yet", ("Calls have cache breakpoints in their prompts.",))
NO_MARKS: Final = PlaceholderText(
    "caches without breakpoints",
    (
        "The providers of these models decide which prefixes to cache, if any.",
        "Requests do not control it, so there are no breakpoints to place.",
    ),
)
"""Shown in place of the rules."""

UNKNOWN_MARKS: Final = PlaceholderText("no recorded breakpoints", ("Select a rule to see its breakpoints.",))
NEXT_ROW: Final = PlaceholderText(
    "see the next row for the recorded breakpoints", ("Move down to see their positions.",)
)
NONE_ASKED: Final = PlaceholderText(
    "requests without breakpoints",
    ("The recorded requests create no cache entry.", "Select a rule to see its breakpoints."),
)
NONE_HERE: Final = PlaceholderText("request without breakpoints", ("The recorded request creates no cache entry.",))
NO_REQUEST: Final = PlaceholderText("request not recorded", ("Other requests of this session are recorded.",))
NO_SAY: Final = PlaceholderText(
    "cache without breakpoints", ("The provider of this call decides which prefixes to cache.",)
)
"""Shown in place of a call's breakpoints."""


class Rules(FigureTable):
    """Table of rules."""

    HELP = """Anthropic's cache stores the beginning of a prompt up to a breakpoint (cache_control), at most four per
    request. The rows show an upper bound for the breakpoints of each rule over all calls, assuming that every entry
    lives for its full lifetime and every read hits. "read" is read from the cache, "written" is written to it,
    "uncached" is after the last breakpoint or too short to be cached. The cost is the cost of the prompts, without
    output. The first row shows the reported usage, or the expected usage under the plan. If the file contains the
    requests as sent, the next row uses their own breakpoints. ~ marks projections."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(MARKS_RULES)


class Places(FigureTable):
    """The table of one rule's breakpoints."""

    TITLE_IN_HELP = "breakpoints of a call"
    HELP = """Breakpoints of the selected rule in the prompt of the selected call, with the tokens before each. A call
    reads the longest entry that an earlier call left at a breakpoint or at one of the 20 positions before it; a run of
    tool calls, or of results, is one position. "held" was already in the cache, "written" is new. A breakpoint with
    fewer tokens before it than the model's minimum creates no entry."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(MARKS_PLACES)


class MarksScreen(AnalysisScreen):
    """Screen with the rules at the top, and the breakpoints of the selected one below."""

    screen_name = "marks"

    DEFAULT_CSS = """
    MarksScreen {
        #rules-pane { height: 10; }
        #places-pane { height: 1fr; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(MARKS)

    def __init__(self, controller: SessionController) -> None:
        super().__init__(controller)
        self.found: CacheBreakpoints | None = None
        """Result on the screen; None before the first one."""
        self._is_wanted = self._is_working = False

    def compose(self) -> ComposeResult:
        yield SessionHeader()
        with Pane("Cache breakpoints", id="rules-pane"):
            yield Rules(id="rules")
            yield Placeholder()
        with Pane("Breakpoints", id="places-pane"):
            yield Places(id="places")
            yield Placeholder()
        yield StatusBar()

    @property
    def rules(self) -> Rules:
        return self.query_one(Rules)

    @property
    def places(self) -> Places:
        return self.query_one(Places)

    @property
    def call(self) -> int:
        """The selected call; the last one if the next prompt is selected."""
        count = 0 if self.found is None else len(self.found.uses_breakpoints)
        return min(self.outcome.state.call, count - 1)

    def on_mount(self) -> None:
        for placeholder in self.query(Placeholder):
            placeholder.display = False
        self.rules.focus()

    def show_outcome(self) -> None:
        """Compute breakpoints for the current replay, now or once the running computation ends."""
        if self.found is not None and self.found.replay is self.outcome.replay:
            self._show_marks()
            return
        self._is_wanted = True
        if not self._is_working:
            self._place()

    def _place(self) -> None:
        self._is_working, self._is_wanted = True, False
        replay = self.outcome.replay
        if self.found is None:
            self.query_one("#rules-pane", Pane).set_subtitle("calculating…")

        def work(post: Post[CacheBreakpoints], is_cancelled: IsCancelled) -> None:  # noqa: ARG001  soon done
            post(cache_marks(replay))

        self.jobs.run(work, self._take, group="marks", description="place cache breakpoints", failed=self._stop)

    def _stop(self) -> None:
        self._is_working = False

    def _take(self, found: CacheBreakpoints) -> None:
        self._is_working = False
        self.found = found
        self._show(found)
        if self._is_wanted:
            self._place()

    def _show(self, found: CacheBreakpoints) -> None:
        pane, places = self.query_one("#rules-pane", Pane), self.query_one("#places-pane", Pane)
        placeholder = pane.query_one(Placeholder)
        has_rules = bool(found.rules)
        placeholder.display, self.rules.display, places.display = not has_rules, has_rules, has_rules
        pane.styles.height = None if has_rules else "1fr"
        if not has_rules:
            placeholder.word = NO_MARKS if len(found.uses_breakpoints) else NO_CALL
            entitle(pane, "Cache breakpoints")
            pane.set_subtitle("")
            return
        marked, count = int(found.uses_breakpoints.sum()), len(found.uses_breakpoints)
        calls = ON_SCREEN.plural(marked, "call")
        of = f" of {ON_SCREEN.whole(count)} (the others use caches without breakpoints)" if marked < count else ""
        entitle(pane, f"Cache breakpoints: simulated over {calls}{of}")
        self.rules.table = rule_table(found)
        self._show_marks()

    @property
    def _rule(self) -> BreakpointUsage | None:
        """The rule under the cursor; the first rule if the cursor is on the replay's row."""
        found, key = self.found, self.rules.cursor_key
        if found is None or not found.rules:
            return None
        return next((each for each in found.rules if each.rule == key), found.rules[0])

    @on(FigureTable.Highlighted, "#rules")
    def _show_marks(self) -> None:
        found, rule, rows = self.found, self._rule, self.controller.rows
        pane = self.query_one("#places-pane", Pane)
        placeholder = pane.query_one(Placeholder)
        if found is None or rule is None or rows is None or not pane.display:
            return
        call, is_replayed = self.call, self.rules.cursor_key == REPLAYED
        # A small screen has no room for this column.
        behind = "" if is_replayed else f"after: {rule.rule.about}"
        self.query_one("#rules-pane", Pane).set_subtitle(legend_of(self.rules.table), behind)
        marks = () if is_replayed else found.breakpoints_at(rule, call)
        placeholder.display, self.places.display = not marks, bool(marks)
        if not marks and self.places.has_focus:
            self.rules.focus()
        if marks:
            entitle(pane, told_of_call(found, rule, call))
            self.places.table = mark_table(found, rule, call, rows)
            pane.set_subtitle(f"at most {MAX_BREAKPOINTS} breakpoints, {LOOK_BACK} positions of look-back (projected)")
            return
        self.places.table = Table()
        at = f"call {ON_SCREEN.whole(call + 1)} of {ON_SCREEN.whole(len(found.uses_breakpoints))}"
        entitle(pane, f"Breakpoints at {at}")
        pane.set_subtitle("")
        placeholder.word = _replayed_word(found) if is_replayed else _word_without_marks(found, rule, call)

    @on(FigureTable.Clicked, "#rules")
    def _rule_clicked(self) -> None:
        self.action_enter()

    @on(FigureTable.Clicked, "#places")
    def _place_clicked(self) -> None:
        self.action_jump()

    def action_other(self) -> None:
        if self.places.has_focus or not self.places.rows:
            self.rules.focus()
        else:
            self.places.focus()

    def action_call(self, step: int) -> None:
        """Select another call, on the main screen too."""
        self.controller.look_further(step)

    def action_enter(self) -> None:
        """Focus the breakpoints of the rule."""
        if self.places.rows:
            self.places.focus()
        else:
            self.tell("no breakpoints here")

    def action_jump(self) -> None:
        """Go to the block before the breakpoint in the timeline."""
        found, rule = self.found, self._rule
        if found is None or rule is None:
            return
        block = block_of(found, rule, self.call, self.places.cursor_key)
        if block == NOWHERE:
            self.tell("the file does not contain the system prompt and the tools")
        else:
            self.dismiss(CloseResult(block=block))


def _replayed_word(found: CacheBreakpoints) -> PlaceholderText:
    """Return the text shown for the replay's row."""
    if any(rule.rule is BreakpointRule.RECORDED for rule in found.rules):
        return NEXT_ROW
    return NONE_ASKED if (found.are_recorded & found.uses_breakpoints).any() else UNKNOWN_MARKS


def _word_without_marks(found: CacheBreakpoints, rule: BreakpointUsage, call: int) -> PlaceholderText:
    """Return the text shown for a call without breakpoints under a rule."""
    if not found.uses_breakpoints[call]:
        return NO_SAY
    return NONE_HERE if rule.covers[call] else NO_REQUEST
