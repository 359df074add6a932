"""Messages and parts as OpenCode stores them, reduced to what a session needs of them.

A message is a small object and a list of parts; a part of type `tool` is a call and its result in one. Texts are not
kept: an update of one part must not cost as much as reading all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inspector.session.formats.opencode.parts import blocks_of_error, blocks_of_part, cleared_at, subagent_of_part
from inspector.session.formats.opencode.usage import usage_of
from inspector.session.model import BlockKind, Origin, Role
from inspector.session.times import seconds_of_any
from inspector.session.values import mapping, string

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.session.links import SessionLink
    from inspector.session.model import Block, Usage

STEP_START, STEP_FINISH, COMPACTION = "step-start", "step-finish", "compaction"

ABORTED = "MessageAbortedError"


@dataclass(frozen=True)
class PartView:
    """One part.

    Attributes:
        identifier: Its id.
        kind: Its type.
        spoken: The blocks it adds to its message.
        results: The tool results it adds behind it.
        cleared: When its result was cleared, None where it was not.
        usage: What was reported at the end of a step.
        kept_from: The id of the first message that a compaction keeps; empty for none.
        is_auto: A compaction that nobody asked for.
        is_synthetic: A text that nobody typed.
        subagent: The session that a call of a tool started.
    """

    identifier: str
    kind: str
    spoken: tuple[Block, ...] = ()
    results: tuple[Block, ...] = ()
    cleared: float | None = None
    usage: Usage | None = None
    kept_from: str = ""
    is_auto: bool = False
    is_synthetic: bool = False
    subagent: SessionLink | None = None

    @property
    def has_content(self) -> bool:
        """Whether a message that was broken off is still sent for the sake of this part."""
        return self.kind not in (STEP_START, "reasoning")


@dataclass(frozen=True)
class MessageView:
    """One message, without its parts.

    Attributes:
        identifier: Its id.
        role: Who it speaks for.
        created: Seconds since the epoch, or None.
        model: The model that answered.
        usage: What was reported for it.
        is_summary: It is the answer to a request for a summary.
        is_finished: The response is complete.
        parent: The message it answers.
        error: The name of what went wrong; empty for nothing.
        notice: What went wrong, as a block.
    """

    identifier: str
    role: Role
    created: float | None = None
    model: str = ""
    usage: Usage | None = None
    is_summary: bool = False
    is_finished: bool = False
    parent: str = ""
    error: str = ""
    notice: tuple[Block, ...] = ()


@dataclass(frozen=True)
class SessionView:
    """What is known of a session besides its messages.

    Attributes:
        identifier: Its id.
        title: What OpenCode calls it.
        directory: Where it worked.
        version: Of the program that began it.
        parent: The session that started it as a subagent; empty for none.
        reverted_message: The first message that was taken back; empty for none.
        reverted_part: The first part of it that was, where not the whole message was.
        modified: Seconds since the epoch.
    """

    identifier: str = ""
    title: str = ""
    directory: str = ""
    version: str = ""
    parent: str = ""
    reverted_message: str = ""
    reverted_part: str = ""
    modified: float = 0.0


def session_view(info: Mapping[str, Any]) -> SessionView:
    """A session as exports and files hold it."""
    revert, time = mapping(info.get("revert")), mapping(info.get("time"))
    return SessionView(
        identifier=string(info.get("id")),
        title=string(info.get("title")),
        directory=string(info.get("directory")),
        version=string(info.get("version")),
        parent=string(info.get("parentID")),
        reverted_message=string(revert.get("messageID")),
        reverted_part=string(revert.get("partID")),
        modified=seconds_of_any(time.get("updated")) or 0.0,
    )


def message_view(info: Mapping[str, Any], identifier: str, created: float | None, origin: Origin) -> MessageView:
    """A message.

    Args:
        info: What is stored of it.
        identifier: Its id.
        created: When it was, where that is stored beside it.
        origin: Where it is stored.
    """
    time, error = mapping(info.get("time")), mapping(info.get("error"))
    model = info.get("modelID") or mapping(info.get("model")).get("modelID")
    return MessageView(
        identifier=identifier or string(info.get("id")),
        role={"user": Role.USER, "assistant": Role.ASSISTANT}.get(string(info.get("role")), Role.OTHER),
        created=created if created is not None else seconds_of_any(time.get("created")),
        model=string(model),
        usage=usage_of(info.get("tokens")),
        # On a user message, `summary` holds what was changed in its turn.
        is_summary=info.get("summary") is True,
        is_finished=bool(info.get("finish")) or bool(time.get("completed")),
        parent=string(info.get("parentID")),
        error=string(error.get("name")) or ("error" if error else ""),
        notice=tuple(block for block, _ in blocks_of_error(info, origin)),
    )


def part_view(value: Mapping[str, Any], identifier: str, role: Role, origin: Origin) -> PartView:
    """A part.

    Args:
        value: What is stored of it.
        identifier: Its id.
        role: Of its message.
        origin: Where it is stored.
    """
    blocks = [block for block, _ in blocks_of_part(value, role, origin)]
    return PartView(
        identifier=identifier or string(value.get("id")),
        kind=string(value.get("type")),
        spoken=tuple(block for block in blocks if block.kind is not BlockKind.TOOL_RESULT),
        results=tuple(block for block in blocks if block.kind is BlockKind.TOOL_RESULT),
        cleared=cleared_at(value),
        usage=usage_of(value.get("tokens")) if value.get("type") == STEP_FINISH else None,
        kept_from=string(value.get("tail_start_id")),
        is_auto=value.get("auto") is True,
        is_synthetic=value.get("synthetic") is True,
        subagent=subagent_of_part(value),
    )
