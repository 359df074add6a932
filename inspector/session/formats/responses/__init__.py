"""Read OpenAI's Responses API: item lists, requests and responses, and logs of them.

They are stored as one JSON document or as JSONL with an item or exchange per line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import Struct, field

from inspector.session.billing_terms import SERVICE_TIER
from inspector.session.format import Format
from inspector.session.formats.streamed_responses import decoded, events_of
from inspector.session.json import Node, json_in, mapping, objects, string

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample


BEGUN = frozenset({"response.created", "response.in_progress", "response.queued"})

ENDED = frozenset({"response.completed", "response.done", "response.failed", "response.incomplete"})

ITEM_DONE = "response.output_item.done"

OWN_FIELDS = frozenset({"delta", "item", "item_id", "output_index", "response", "response_id", "sequence_number"})


class Streamed(NamedTuple):
    """The result of a stream. `response`: the response from the last event that contains it."""

    response: Node | None
    items: list[Node]


def is_event(value: object) -> bool:
    """Return True for a stream event of a response."""
    return string(mapping(value).get("type")).startswith("response.") and bool(OWN_FIELDS & mapping(value).keys())


def streamed(events: Iterable[Node]) -> Streamed:
    """Collect the response and items of a stream's events."""
    response, items = None, []
    for event in events:
        fields = event.fields()
        kind = string(fields.value_of("type"))
        if kind in BEGUN | ENDED and "response" in fields:
            response = fields["response"]
        elif kind == ITEM_DONE and "item" in fields:
            items.append(fields["item"])
    return Streamed(response, items)


SUMMARIES = frozenset({"compaction", "compaction_summary", "context_compaction"})
"""Encrypted items that replace a conversation compacted by the server."""

CALL, OUTPUT = "_call", "_output"

CALLS = frozenset(
    {"apply_patch_call", "code_interpreter_call", "computer_call", "custom_tool_call", "file_search_call"}
    | {"function_call", "image_generation_call", "local_shell_call", "mcp_call", "shell_call", "tool_search_call"}
    | {"web_search_call"}
)

OUTPUTS = frozenset({name + OUTPUT for name in CALLS} | {"tool_search_output"})

PARTS = frozenset({"input_text", "output_text", "input_image", "input_file"})
"""Content part types specific to this API."""

LISTS = ("input", "items", "input_items")
"""Fields with items, in requests and in files of programs that store them."""

WRAPPERS = ("request", "response", "body", "body_raw")
"""Fields with a request or response: an object, its JSON string, or stream text."""

ABOUT = (
    "model",
    "created_at",
    "created",
    "timestamp",
    "time",
    "usage",
    "id",
    "previous_response_id",
    "prompt_cache_diagnostics",
    "prompt_cache_options",
    "reasoning",
    SERVICE_TIER,
)


class Exchange(Struct):
    """A request with its response, either of which may be missing.

    Attributes:
        about: Fields that describe the call: model, time, usage, ids.
        is_answered: True if there was a response, even without items.
        is_request: True if the request is recorded, so that the preceding items are available.
        is_billed: False if a gateway answered from its own cache, so that no request was made.
    """

    input: list[Node] = field(default_factory=list)
    output: list[Node] = field(default_factory=list)
    instructions: Node | None = None
    tools: Node | None = None
    about: dict[str, Any] = field(default_factory=dict)
    is_answered: bool = False
    is_request: bool = True
    is_billed: bool = True


def is_item(value: object) -> bool:
    """Return True for an item: a message, or a type specific to the API."""
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    if not isinstance(kind, str):
        return False
    if kind == "message":
        return "role" in value and "content" in value
    if kind == "reasoning":
        return "summary" in value or "encrypted_content" in value
    if kind in OUTPUTS:
        return "call_id" in value
    return kind in SUMMARIES or (kind in CALLS and any(name in value for name in ("call_id", "id", "action")))


def is_own_item(value: object) -> bool:
    """Return True for an item that cannot belong to another API."""
    if not is_item(value) or not isinstance(value, dict):
        return False
    if value["type"] != "message":
        return True
    content = value["content"]
    return any(str(part.get("type")) in PARTS for part in objects(content))


def is_exchange(value: object, depth: int = 0) -> bool:
    """Return True for a request or response of this API, or a value that contains one."""
    if depth > 3 or not isinstance(value, dict):
        return False
    if any(is_list_of_items(value.get(name)) for name in (*LISTS, "output")):
        return True
    if isinstance(value.get("input"), str) and is_list_of_items(value.get("output"), least=0):
        return True
    return any(_holds_exchange(value.get(name), depth + 1) for name in WRAPPERS)


def _holds_exchange(value: object, depth: int) -> bool:
    if not isinstance(value, str):
        return is_exchange(value, depth)
    if value.lstrip().startswith("{"):
        return is_exchange(json_in(value), depth)
    return any(is_event(event) for event in events_of(value))


def is_list_of_items(value: object, least: int = 1) -> bool:
    """Return True for a list of items with enough of them specific to this API."""
    if not isinstance(value, list) or len(value) < least:
        return False
    own = sum(is_own_item(item) for item in value)
    plain = sum(isinstance(item, dict) and "role" in item and "content" in item for item in value)
    return own >= least and (own + plain) * 2 >= len(value)


def response_alone(node: Node) -> Exchange:
    """Build an exchange for a response without its request."""
    exchange = Exchange(is_request=False)
    _collect(node, exchange, 0)
    return exchange


def exchanges_of(node: Node, depth: int = 0) -> Iterator[Exchange]:
    """Yield every conversation or exchange inside a value, in order."""
    if depth > 3:
        return
    items = node.items()
    if items:
        if is_list_of_items([item.value() for item in items]):
            yield Exchange(items)
            return
        for item in items:
            yield from exchanges_of(item, depth + 1)
        return
    if is_exchange(node.value()):
        yield response_alone(node)


def exchange_of(request: Node, response: Node | None, events: Sequence[Node] = ()) -> Exchange:
    """Build an exchange from a body or `events`; items of a base64 body have the place of the response."""
    exchange = Exchange(is_request=False)
    _collect(request, exchange, 3)
    text = response.value() if response is not None else None
    if response is not None and isinstance(text, str) and (plain := decoded(text)) != text:
        response, exchange.output = packed(plain, response)
    elif events:
        response, exchange.output = streamed(events)
    items = exchange.output
    if response is not None:
        _collect_body(response, exchange, 2)
    if items:
        exchange.output, exchange.is_answered = items, True
    exchange.is_request = True
    return exchange


def packed(text: str, at: Node) -> tuple[Node, list[Node]]:
    """Return the response in a decoded base64 string and its items, each with the string's place."""
    from inspector.session.json import EmbeddedNode, FileNode, events_inside, parse_inner_json

    quoted = FileNode(msgspec.json.encode(text), 0)
    came = streamed(events_inside(quoted))
    response = came.response or parse_inner_json(quoted) or quoted
    items = came.items or response.fields().items_of("output")
    return response, [EmbeddedNode(item, at, number) for number, item in enumerate(items)]


def _collect(node: Node, exchange: Exchange, depth: int) -> None:
    fields = node.fields()
    for name in LISTS:
        if name in fields and not exchange.is_request:
            given = fields[name]
            exchange.input = given.items() if given.raw().startswith(b"[") else [given]
            exchange.is_request = True
    if "output" in fields:
        exchange.output, exchange.is_answered = fields["output"].items(), True
    instructions, tools = fields.get("instructions"), fields.get("tools")
    # A response repeats both.
    exchange.instructions = exchange.instructions or instructions
    exchange.tools = exchange.tools or tools
    exchange.about |= {name: value for name in ABOUT if name in fields and (value := fields[name].value()) is not None}
    if depth < 3:
        for name in WRAPPERS:
            if name in fields:
                _collect_body(fields[name], exchange, depth + 1)


def _collect_body(node: Node, exchange: Exchange, depth: int) -> None:
    """Collect the fields of a body: an object, its JSON string, or stream text."""
    from inspector.session.json import events_inside, parse_inner_json

    came = streamed(events_inside(node))
    _collect(came.response or parse_inner_json(node) or node, exchange, depth)
    if came.items and not exchange.output:
        exchange.output, exchange.is_answered = came.items, True


def _reason(document: Any) -> str:
    if is_list_of_items(document):
        return "a JSON list of Responses API items"
    if is_exchange(document):
        return "a JSON document with a Responses API request or response"
    if isinstance(document, list) and document and sum(map(is_exchange, document)) * 2 > len(document):
        return "a JSON list of Responses API requests and responses"
    return ""


class ResponsesFormat(Format):
    """Items and exchanges of the Responses API."""

    name = "openai-responses"
    title = "OpenAI Responses"
    exact = "tokens of calls recorded with their usage"

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory:
            return ""
        if sample.is_lines:
            records = sample.records
            found = [record for record in records if is_event(record) or is_item(record) or is_exchange(record)]
            is_recognized = is_list_of_items(found) or any(is_event(record) or is_exchange(record) for record in found)
            if len(found) * 2 < len(records) or not is_recognized:
                return ""
            return f"{len(found)} of the first {len(records)} lines are Responses API items or exchanges"
        return _reason(sample.document)

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.responses.reader import responses_reader

        return responses_reader(path, self.name)


FORMATS = (ResponsesFormat(),)
