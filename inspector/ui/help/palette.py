"""Command palette: one line per command, with its key first. Search covers titles and synonyms."""

from __future__ import annotations

from functools import partial
from inspect import unwrap
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, runtime_checkable

from rich.text import Text
from textual import on, work
from textual.command import CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.events import Click, Mount

from inspector.ui.actions.action import ACTIONS_BY_NAME, UserAction
from inspector.ui.help.key_listing import GROUPS, LAST_GROUP, group_of, key_of
from inspector.ui.toolkit.single_result_screen import SingleResultScreen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from textual.app import App
    from textual.dom import DOMNode
    from textual.screen import Screen

    AnyApp = App[Any]


SECTIONS: Final = ("Plan", "Analysis", *(title for title in GROUPS if title not in ("Plan", "Analysis")), LAST_GROUP)
"""Sections of the list, in order."""
IN_EXPLANATION: Final = 2
"""Score of a word from which it matches more than an explanation."""


class PaletteCommand(NamedTuple):
    """Command in the palette.

    Attributes:
        title: Starts with a verb: `Turn tiered-stale on`.
        text: More details; empty if the title is enough.
        run: Runs the command.
        keys: Equivalent keys as displayed; empty for none.
        also: Search terms in addition to the title, the most fitting first.
        section: Section of the list.
    """

    title: str
    text: str
    run: Callable[[], Any]
    keys: str = ""
    also: str = ""
    section: str = LAST_GROUP

    def score(self, query: str) -> float:
        """Rate how well the command matches a query; 0 for no match.

        Every word of the query must be the prefix of one of its words. Words in the title weigh most, then the search
        terms in their order; whole words weigh more than their beginnings.

        Args:
            query: The typed text.
        """
        scores = [self._score_of(word) for word in query.lower().split()]
        return sum(scores) if scores and all(scores) else 0

    def _score_of(self, word: str) -> float:
        for weight, words in ((7, _words(self.title)), (4, _words(self.also)), (1, _words(self.text))):
            matching = [place for place, each in enumerate(words) if each.startswith(word)]
            if matching:
                return weight + (word in words) - 0.01 * matching[0]
        return 3 if len(word) > 1 and word in self.title.lower() else 0


def _words(text: str) -> list[str]:
    return [part for each in text.lower().split() for part in (each, *each.split("-")[1:])]


def found(commands: Iterable[PaletteCommand], query: str) -> list[PaletteCommand]:
    """Return the matching commands, the best first. An empty query returns all by section.

    Commands that only match in their explanation are left out if another one matches better.

    Args:
        commands: All commands.
        query: The typed text.
    """
    titled = sorted(commands, key=lambda command: command.title.lower())
    if not query.split():
        return sorted(titled, key=lambda each: (SECTIONS.index(each.section), not each.text))
    scored = [(command.score(query), command) for command in titled]
    least = min(max((score for score, _ in scored), default=0), len(query.split()) * IN_EXPLANATION)
    ordered = sorted(scored, key=lambda each: (-each[0], not each[1].text))
    return [command for score, command in ordered if score and score >= least]


def key_commands(screen: Screen[Any]) -> Iterator[PaletteCommand]:
    """Yield the commands of a screen: the actions of the focused widget and of the screen that apply now.

    Args:
        screen: The screen below the palette.
    """
    keys: dict[str, str] = {}
    unnamed: dict[str, tuple[UserAction[Any], DOMNode]] = {}
    for active in screen.active_bindings.values():
        action = ACTIONS_BY_NAME.get(active.binding.id or "")
        if action is None or not active.enabled or action.name in keys:
            continue
        keys[action.name] = key_of(screen.app, active.binding)
        if action.named is None and action.is_looked_up:
            unnamed[action.name] = action, active.node
    for action in getattr(screen, "ACTIONS", ()):
        if action.named is not None and not action.is_of_app and action.named.is_offered(screen):
            yield named_command(screen, action, keys.get(action.name, ""))
    for action, node in unnamed.values():
        run = partial(_run, screen.app, action, node)
        also, section = f"{action.label} {action.also}", group_of(action.name)
        yield PaletteCommand(action.text, "", run, keys[action.name], also, section)


def app_commands(screen: Screen[Any]) -> Iterator[PaletteCommand]:
    """Yield the commands of the app itself.

    Args:
        screen: The screen below the palette.
    """
    app = screen.app
    keys = {active.binding.id: key_of(app, active.binding) for active in screen.active_bindings.values()}
    for action in ACTIONS_BY_NAME.values():
        if action.named is not None and action.is_of_app and action.named.is_offered(app):
            yield named_command(app, action, keys.get(action.name, ""))


def named_command(node: AnyApp | Screen[Any], action: UserAction[Any], keys: str) -> PaletteCommand:
    """Build the command of an action that has its own palette name."""
    named = action.named
    if named is None:
        raise AssertionError(f"{action.name} has no palette name")
    title = named.title if isinstance(named.title, str) else named.title(node)
    return PaletteCommand(
        title,
        named.text,
        partial(_run, node.app, action, node),
        keys,
        f"{action.label} {action.also}",
        group_of(action.name),
    )


async def _run(app: AnyApp, action: UserAction[Any], node: DOMNode) -> None:
    await app.run_action(action.binding.action, node)


KEY_CELLS: Final = 10
"""Width of the key column in cells."""
EDGE_CELLS: Final = 6
"""Cells of a line outside its content."""
SECTION_CELLS: Final = 15
WIDE: Final = 90
"""Columns from which a line shows its section."""

GATHERING: Final = "--textual-command-palette-gather-commands"
"""Worker group that fills the list. Textual cancels it by this name."""


@runtime_checkable
class OffersCommands(Protocol):
    """App that offers commands."""

    def palette_commands(self, screen: Screen[object]) -> Iterable[PaletteCommand]:
        """Yield every command that applies now."""


class CommandProvider(Provider):
    """Provides the commands of the screen below the palette and of its focused widget."""

    async def discover(self) -> Hits:
        """Yield all commands by section."""
        for command in found(self._commands(), ""):
            yield DiscoveryHit(self._line(command), command.run, text=command.title)

    async def search(self, query: str) -> Hits:
        """Yield the matching commands, the best first.

        Args:
            query: The typed text.
        """
        answers = found(self._commands(), query)
        for place, command in enumerate(answers):
            yield Hit(1 - place / (len(answers) + 1), self._line(command), command.run, text=command.title)

    def _commands(self) -> list[PaletteCommand]:
        return list(self.app.palette_commands(self.screen)) if isinstance(self.app, OffersCommands) else []

    def _line(self, command: PaletteCommand) -> Text:
        section = f"{command.section:{SECTION_CELLS}}" if self.app.size.width >= WIDE else ""
        line = Text.assemble((f"{command.keys:{KEY_CELLS}}", "bold"), (section, "dim"), command.title, no_wrap=True)
        if command.text:
            line.append(f"  {command.text}", "dim")
        line.truncate(max(self.app.size.width - EDGE_CELLS, KEY_CELLS), overflow="ellipsis")
        return line


class CommandFinder(CommandPalette, SingleResultScreen[None]):
    """Palette that runs one command and closes."""

    def _on_mount(self, event: Mount) -> None:
        # The app is exiting, and the screen that owns the commands is already gone.
        if len(self.app.screen_stack) < 2:
            event.prevent_default()

    @work(exclusive=True, group=GATHERING)
    async def _gather_commands(self, search_value: str) -> None:
        # Workers start with a delay, so the palette may be closed by now.
        if self.query(CommandList):
            await unwrap(CommandPalette._gather_commands)(self, search_value)  # noqa: SLF001  the worker itself

    @on(Click)
    def _drop_outside(self, event: Click) -> None:
        # The terminal has shrunk since, and Textual fails on a click outside of it.
        if not self.region.contains(int(event.screen_x), int(event.screen_y)):
            event.prevent_default()

    def _action_command_list(self, action: str) -> None:
        # A list without room has no lines, and Textual fails when it looks one up.
        if self.query_one(CommandList).scrollable_content_region:
            super()._action_command_list(action)
