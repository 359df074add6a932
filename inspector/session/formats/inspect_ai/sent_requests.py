"""Read the cache breakpoints of requests that Inspect records as sent, in addition to the original messages.

The messages of a request (`call.request` of an event) have the form of the provider's API: results are in user
messages, which are merged, and the system prompt may be separate (`inspect_ai/model/_providers/anthropic.py`). They are
aligned with the prompt's blocks by kind, from the end, where breakpoints usually are, or otherwise from the start.
Newer logs store them once and reference them by index (`inspect_ai/event/_pool.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.session.formats.cache_control import CACHE_CONTROL, lifetime_of
from inspector.session.formats.chat import (
    DOCUMENT_PARTS,
    IMAGE_PARTS,
    SYSTEM,
    TEXT_KIND,
    TEXT_PARTS,
    TOOLS,
    role_of,
)
from inspector.session.json.values import mapping, objects, sequence, string
from inspector.session.model import BlockKind, RecordedBreakpoint, Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from inspector.session.json.nodes import Fields, Node
    from inspector.session.model import Block

NO_CONTENT = "(no content)"
"""Placeholder for an empty response in requests (`inspect_ai/_util/constants.py`)."""

MESSAGES = ("messages", "contents", "input", "inputs")
"""Request fields with the messages, by provider (`_CALL_MESSAGE_KEYS`)."""

NOT_HELD = (BlockKind.THINKING, BlockKind.OTHER)
"""Ignored block kinds: not every provider receives reasoning again."""


class _Part(NamedTuple):
    """A part of a request, with the lifetime of its cache breakpoint; None without one."""

    kind: BlockKind
    lifetime: str | None


class CallPool:
    """The messages of all requests of a sample, each parsed once."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        """Initialize with the shared messages, empty in logs that store them with every request."""
        self._nodes = nodes
        self._parts: dict[int, list[_Part]] = {}

    def parts(self, references: Any) -> list[_Part] | None:
        """Return the parts of the messages in the index ranges; None if some are missing."""
        found: list[_Part] = []
        for ends in sequence(references):
            is_pair = isinstance(ends, list) and len(ends) == 2 and all(isinstance(end, int) for end in ends)
            if not is_pair or not 0 <= ends[0] <= ends[1] <= len(self._nodes):
                return None
            for place in range(*ends):
                if place not in self._parts:
                    self._parts[place] = list(_parts_of_message(mapping(self._nodes[place].value())))
                found += self._parts[place]
        return found


def breakpoints_of_request(
    call: Fields, pool: CallPool, prompt: Sequence[Block]
) -> tuple[RecordedBreakpoint, ...] | None:
    """Return a request's cache breakpoints in order; None if it was not recorded or does not match the prompt."""
    references = call.value_of("call_refs")
    referred = pool.parts(references)
    if "request" not in call or referred is None:
        return None
    if not references and CACHE_CONTROL.encode() not in call["request"].raw():
        return ()
    request = mapping(call["request"].value())
    # Requests to Google and to the Responses API have no breakpoints.
    messages = next((request[name] for name in MESSAGES if isinstance(request.get(name), list)), ())
    parts = list(_parts_of_system(request.get(SYSTEM)))
    parts += (part for message in objects(messages) for part in _parts_of_message(message))
    parts += referred
    tools = [lifetime for tool in sequence(request.get(TOOLS)) if (lifetime := lifetime_of(tool)) is not None]
    whole = lifetime_of(request)
    if not tools and whole is None and all(part.lifetime is None for part in parts):
        return ()
    return _placed(parts, tools, whole, prompt)


def _placed(
    parts: Sequence[_Part], tools: Sequence[str], whole: str | None, prompt: Sequence[Block]
) -> tuple[RecordedBreakpoint, ...] | None:
    has_tools = bool(prompt) and prompt[0].origin.locator == TOOLS
    places = [at for at, block in enumerate(prompt) if block.kind not in NOT_HELD and (at or not has_tools)]
    theirs = [part.kind for part in parts]
    ours = [prompt[at].kind for at in places]
    found: dict[int, str] = {}
    if tools and has_tools:
        found[1] = tools[-1]
    for at, part in enumerate(parts):
        if part.lifetime is None:
            continue
        behind = len(theirs) - at - 1
        if behind < len(ours) and theirs[at:] == ours[len(ours) - behind - 1 :]:
            found[places[len(ours) - behind - 1] + 1] = part.lifetime
        elif theirs[: at + 1] == ours[: at + 1]:
            found[places[at] + 1] = part.lifetime
        else:
            return None
    if whole is not None and prompt:
        found.setdefault(len(prompt), whole)
    return tuple(RecordedBreakpoint(blocks, lifetime) for blocks, lifetime in sorted(found.items()))


def _parts_of_system(system: Any) -> Iterator[_Part]:
    if isinstance(system, str) and system:
        yield _Part(BlockKind.SYSTEM_TEXT, None)
    for part in objects(system):
        yield _Part(BlockKind.SYSTEM_TEXT, lifetime_of(part))


def _parts_of_message(message: Mapping[str, Any]) -> Iterator[_Part]:
    """Yield a message's relevant parts. A breakpoint on the message belongs to its last part."""
    parts = [part for part in _parts_inside(message) if part.kind not in NOT_HELD]
    lifetime = lifetime_of(message)
    if parts and lifetime is not None:
        parts[-1] = parts[-1]._replace(lifetime=lifetime)
    yield from parts


def _parts_inside(message: Mapping[str, Any]) -> Iterator[_Part]:
    role, content = role_of(message), message.get("content")
    if role is Role.TOOL:
        yield _Part(BlockKind.TOOL_RESULT, _last_lifetime(objects(content)))
        return
    if isinstance(content, str) and content and content != NO_CONTENT:
        yield _Part(TEXT_KIND[role], None)
    for part in objects(content):
        if part.get("type") in TEXT_PARTS and part.get("text") == NO_CONTENT:
            continue
        yield _Part(_kind_of(part, role), _last_lifetime([*objects(part.get("content")), part]))
    for _ in objects(message.get("tool_calls")):
        yield _Part(BlockKind.TOOL_CALL, None)


def _kind_of(part: Mapping[str, Any], role: Role) -> BlockKind:
    kind = string(part.get("type"))
    if kind in TEXT_PARTS:
        return TEXT_KIND[role]
    if kind.endswith("thinking"):
        return BlockKind.THINKING
    if kind.endswith("tool_use"):
        return BlockKind.TOOL_CALL
    if kind.endswith("tool_result"):
        return BlockKind.TOOL_RESULT
    if kind in IMAGE_PARTS:
        return BlockKind.IMAGE
    return BlockKind.DOCUMENT if kind in DOCUMENT_PARTS else BlockKind.OTHER


def _last_lifetime(parts: Iterable[Mapping[str, Any]]) -> str | None:
    lifetimes = [lifetime for part in parts if (lifetime := lifetime_of(part)) is not None]
    return lifetimes[-1] if lifetimes else None
