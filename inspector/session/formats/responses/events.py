"""Events of a response that came as a stream, as the API's reference names them.

The last one repeats the whole response; where a stream was cut off, the items that were finished are what there is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from inspector.session.values import mapping, string

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inspector.session.nodes import Node

BEGUN = frozenset({"response.created", "response.in_progress", "response.queued"})

ENDED = frozenset({"response.completed", "response.done", "response.failed", "response.incomplete"})

ITEM_DONE = "response.output_item.done"

OWN_FIELDS = frozenset({"delta", "item", "item_id", "output_index", "response", "response_id", "sequence_number"})


class Streamed(NamedTuple):
    """What a stream brought.

    Attributes:
        response: The response as the last event has it that holds it.
        items: Its items that were finished.
    """

    response: Node | None
    items: list[Node]


def is_event(value: object) -> bool:
    """Whether a value is an event of a response."""
    return string(mapping(value).get("type")).startswith("response.") and bool(OWN_FIELDS & mapping(value).keys())


def streamed(events: Iterable[Node]) -> Streamed:
    """What the events of one stream brought."""
    response, items = None, []
    for event in events:
        fields = event.fields()
        kind = fields["type"].value() if "type" in fields else ""
        if kind in BEGUN | ENDED and "response" in fields:
            response = fields["response"]
        elif kind == ITEM_DONE and "item" in fields:
            items.append(fields["item"])
    return Streamed(response, items)
