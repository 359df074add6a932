"""Save large tool results to files when they are inserted, and large messages when they are sent; show both ends.

Source: deepagents 0.7 (`middleware/filesystem.py`, `middleware/_message_eviction.py`). Tokens are taken for four
characters. A result over its limit is replaced before it enters the conversation, a message of the user when it is the
newest of a prompt; neither changes again. Tools that shorten their own output, or whose saved output would have to be
read with themselves, are exempt. A message's file has a random name there; here it is named after its text.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.session.model import BlockKind
from inspector.strategies.core.measures import CHARACTERS_PER_TOKEN
from inspector.strategies.core.operations import sent_text
from inspector.strategies.core.parameters import ToolList
from inspector.strategies.core.parametrized import Parametrized, tools, whole, written
from inspector.strategies.core.schedule_builder import ScheduleBuilder
from inspector.strategies.core.stored_previews import numbered_ends
from inspector.strategies.core.strategy import Counterpart, Decision
from inspector.strategies.history.tools import meaning_mask

if TYPE_CHECKING:
    from inspector.strategies.core.operations import BlockSource
    from inspector.strategies.core.rendition import Rendition
    from inspector.strategies.core.strategy import Schedule
    from inspector.strategies.history.history import History


_LONGEST_NAME = 128


@dataclass(frozen=True, slots=True)
class PreviewLines:
    """Send the first and last lines of a text over a limit, numbered, with a note on where all of it is.

    The texts are those of deepagents 0.7 (`middleware/_message_eviction.py`, `backends/utils.py`).

    Attributes:
        limit: Longest text, in characters, that stays as it is.
        head: Lines shown from the beginning.
        tail: Lines shown from the end.
        folder: Where the agent saves texts.
        of_result: Whether the text is a tool's result; a message's otherwise.
    """

    limit: int
    head: int
    tail: int
    folder: str
    of_result: bool = True

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Preview what is sent so far, if it is longer than the limit."""
        text = sent_text(rendition, source) if rendition.length > self.limit else None
        if text is None:
            return rendition
        if self.of_result:
            identifier = source.block.tool_call_id
            path = f"{self.folder}/{file_name(identifier)}"
            return rendition.cut_to(numbered_ends(text, self.head, self.tail, path, identifier))
        path = f"{self.folder}/{source.block.digest.hex()}.md"
        return rendition.cut_to(numbered_ends(text, self.head, self.tail, path, None))


def file_name(identifier: str) -> str:
    """What the result of a call is saved as."""
    name = identifier.replace(".", "_").replace("/", "_").replace("\\", "_")
    if len(name.encode("utf-8", "surrogatepass")) > _LONGEST_NAME:
        return f"call-{hashlib.sha256(identifier.encode('utf-8', 'surrogatepass')).hexdigest()}"
    return name or "unknown"


EXEMPT = ("ls", "glob", "grep", "read_file", "edit_file", "write_file", "delete")
_MOST = 1_000_000


@dataclass(frozen=True)
class DeepagentsEvict(Parametrized):
    """Replace large results and messages by numbered lines from both ends, once, when they are first sent."""

    name = "deepagents-evict"
    title = "Evict large results (deepagents)"
    summary = "Save large results and messages to files when they are first sent, and show both ends."
    source = "deepagents 0.7 FilesystemMiddleware"
    counterpart = Counterpart(
        {"limit": "tool_token_limit_before_evict", "message-limit": "human_message_token_limit_before_evict"},
        constants=("head", "tail", "exempt-tools", "folder", "message-folder"),
    )

    limit: int = whole(
        20_000, "Largest result that is sent whole; 0 for no limit.", "tokens", maximum=_MOST, group="result"
    )
    message_limit: int = whole(
        50_000,
        "Largest message of the user that is sent whole; 0 for no limit.",
        "tokens",
        maximum=_MOST,
        group="message",
    )
    head: int = whole(5, "Lines shown from the beginning.", "lines", maximum=1_000)
    tail: int = whole(5, "Lines shown from the end.", "lines", maximum=1_000)
    exempt_tools: tuple[str, ...] = tools(
        EXEMPT, "Tools whose results are never saved.", group="result", about=ToolList.LEFT_ALONE
    )
    folder: str = written("/large_tool_results", "Where the agent saves results.", group="result")
    message_folder: str = written("/conversation_history", "Where the agent saves messages.", group="message")

    def schedule(self, history: History) -> Schedule:
        """Everything is decided when it enters."""
        builder = ScheduleBuilder(history)
        if self.limit:
            results = history.results_of(~meaning_mask(history.tool_names, (), self.exempt_tools))
            limit = self.limit * CHARACTERS_PER_TOKEN
            preview = PreviewLines(limit, self.head, self.tail, self.folder)
            builder.add_at_insertion(results, Decision(preview, "large result", "result"))
        if self.message_limit:
            limit = self.message_limit * CHARACTERS_PER_TOKEN
            texts = ((history.kind == BlockKind.USER_TEXT) & (history.characters > limit)).nonzero()[0].astype("int32")
            preview = PreviewLines(limit, self.head, self.tail, self.message_folder, of_result=False)
            builder.add_at_insertion(texts, Decision(preview, "large message", "message"))
        return builder.schedule()
