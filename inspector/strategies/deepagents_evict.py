"""Save large tool results to files when they are inserted, and large messages when they are sent; show both ends.

Source: deepagents 0.7 (`middleware/filesystem.py`, `middleware/_message_eviction.py`). Tokens are taken for four
characters. A result over its limit is replaced before it enters the conversation, a message of the user when it is the
newest of a prompt; neither changes again. Tools that shorten their own output, or whose saved output would have to be
read with themselves, are exempt. A message's file has a random name there; here it is named after its text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from inspector.session.model import BlockKind
from inspector.strategies.base import Decision
from inspector.strategies.estimators import CHARACTERS_PER_TOKEN
from inspector.strategies.numbered_preview import PreviewLines
from inspector.strategies.schedules import ScheduleBuilder
from inspector.strategies.settings import tools, whole, written
from inspector.strategies.tools import meaning_mask
from inspector.strategies.tunable import Tunable

if TYPE_CHECKING:
    from inspector.strategies.base import Schedule
    from inspector.strategies.history import History

EXEMPT = ("ls", "glob", "grep", "read_file", "edit_file", "write_file", "delete")
_MOST = 1_000_000


@dataclass(frozen=True)
class DeepagentsEvict(Tunable):
    """Replace large results and messages by numbered lines from both ends, once, when they are first sent."""

    name: ClassVar[str] = "deepagents-evict"
    title: ClassVar[str] = "Evict large results (deepagents)"
    summary: ClassVar[str] = "Save large results and messages to files when they are first sent, and show both ends."
    source: ClassVar[str] = "deepagents 0.7 FilesystemMiddleware"

    limit: int = whole(
        "limit", 20_000, "Largest result that is sent whole; 0 for no limit.", "tokens", maximum=_MOST, group="result"
    )
    message_limit: int = whole(
        "message-limit",
        50_000,
        "Largest message of the user that is sent whole; 0 for no limit.",
        "tokens",
        maximum=_MOST,
        group="message",
    )
    head: int = whole("head", 5, "Lines shown from the beginning.", "lines", maximum=1_000)
    tail: int = whole("tail", 5, "Lines shown from the end.", "lines", maximum=1_000)
    exempt_tools: tuple[str, ...] = tools(
        "exempt-tools", EXEMPT, "Tools whose results are never saved.", group="result"
    )
    folder: str = written("folder", "/large_tool_results", "Where the agent saves results.", group="result")
    message_folder: str = written(
        "message-folder", "/conversation_history", "Where the agent saves messages.", group="message"
    )

    def schedule(self, history: History) -> Schedule:
        """Everything is decided when it enters."""
        builder = ScheduleBuilder()
        if self.limit:
            results = history.results
            results = results[~meaning_mask(history.tool_names, (), self.exempt_tools)[history.tool[results]]]
            limit = self.limit * CHARACTERS_PER_TOKEN
            preview = PreviewLines(limit, self.head, self.tail, self.folder)
            builder.add(results, history.enters[results], Decision(preview, "large result", "result"))
        if self.message_limit:
            limit = self.message_limit * CHARACTERS_PER_TOKEN
            texts = ((history.kind == BlockKind.USER_TEXT) & (history.characters > limit)).nonzero()[0].astype("int32")
            preview = PreviewLines(limit, self.head, self.tail, self.message_folder, of_result=False)
            builder.add(texts, history.enters[texts], Decision(preview, "large message", "message"))
        return builder.schedule()
