"""Convert the rows of an Antigravity conversation to plain records.

Every row holds a protobuf message without a published schema. The field numbers are those of `contextrot` 2.1.0 (MIT,
`contextrot/adapters/antigravity.py`) and of the message descriptors inside the `agy` program, as public readers list
them. `output_tokens` includes thinking: it is the sum of `thinking_output_tokens` and `response_output_tokens`.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from inspector.session.billing_terms import parse_billing_terms
from inspector.session.formats.antigravity.protobuf import ProtobufMessage
from inspector.session.json.values import count, seconds_of_any
from inspector.session.model import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

USER_INPUT, RESPONSE, ERROR, COMMAND, CHECKPOINT = 14, 15, 17, 21, 23
EPHEMERAL, HISTORY, SYSTEM_MESSAGE, SUBAGENT = 90, 98, 101, 127
"""Types of steps (`CortexStepType`)."""

STEP_NAMES = {
    2: "finish",
    5: "code_action",
    7: "grep_search",
    8: "view_file",
    9: "list_directory",
    USER_INPUT: "user_input",
    RESPONSE: "response",
    ERROR: "error",
    COMMAND: "run_command",
    CHECKPOINT: "checkpoint",
    25: "find",
    28: "command_status",
    29: "memory",
    31: "read_url",
    33: "search_web",
    38: "mcp_tool",
    81: "task_boundary",
    82: "notify_user",
    85: "browser",
    86: "file_change",
    EPHEMERAL: "ephemeral",
    HISTORY: "history",
    100: "command_input",
    SYSTEM_MESSAGE: "system_message",
    112: "shell",
    SUBAGENT: "subagent",
    132: "tool",
}

RUNNING = frozenset({1, 2, 8, 9, 11})
"""States of steps that are not finished: pending, running, generating, waiting, queued."""

FAILED = 7

RESULT_PATHS: tuple[tuple[int, ...], ...] = (
    (140, 2, 1),  # generic: result
    *((28, 21, 1), (28, 21, 2), (28, 19, 1), (28, 4), (28, 5)),  # run_command: combined output, whole or cut; streams
    *((37, 9), (37, 3), (37, 4)),  # command_status
    *((127, 3), (127, 4)),  # shell: output, error
    *((13, 3), (13, 5)),  # grep_search: raw output, error
    *((34, 11), (34, 8)),  # find
    *((14, 4), (14, 9)),  # view_file: content
    (47, 3),  # mcp_tool
    (42, 5),  # search_web: summary
    *((12, 2), (94, 2), (30, 5)),  # finish, notify_user
)
"""Paths to the text of a tool's result, by the field of the step's kind, best first."""

LIST_DIRECTORY = (15, 2)
"""Field of the kind and its repeated field with names."""

EXIT_CODES = ((28, 6), (37, 5), (127, 2))

ERROR_TEXTS = (3, 2, 1)
"""Fields of error details: the whole error, a short one, one for display."""

NOTE_PATHS = {SYSTEM_MESSAGE: (114, 1), HISTORY: (111, 1), EPHEMERAL: (103, 1)}

FORKED = frozenset({2, 6})
"""Kinds of references that record a fork of another conversation."""

MODELS = {"MODEL_PLACEHOLDER_M16": "gemini-pro-default", "MODEL_PLACEHOLDER_M26": "claude-opus-4-6-thinking"}
"""Model names by placeholder, for calls without a name."""

KNOWN_COUNTS = frozenset({1, 2, 3, 4, 5, 6, 9, 10})
"""Numeric fields of a usage: the model, the provider and counts."""


class Generation(NamedTuple):
    """One request to a model.

    Attributes:
        number: Its row number.
        steps: Numbers of the steps it produced.
        model: Name of the model; empty if not recorded.
        model_code: Internal number of the model, 0 if not recorded.
        time: Time of the request in seconds since the epoch, or None.
        usage: Reported usage, or None.
        identifier: The provider's response id; may be empty.
        terms: Billing terms.
        checkpoint: Number of the checkpoint that replaced earlier steps in its prompt; -1 for none.
        covered: Numbers of the replaced steps.
    """

    number: int
    steps: tuple[int, ...]
    model: str
    model_code: int
    time: float | None
    usage: Usage | None
    identifier: str
    terms: str
    checkpoint: int
    covered: frozenset[int]


def generation_of(number: int, data: bytes) -> Generation:
    """Convert a row of `gen_metadata`.

    Raises:
        ProtobufError: It is not a message.
    """
    row = ProtobufMessage(data)
    chat = row.message(1)
    usage, start = chat.message(4), chat.message(9)
    return Generation(
        number,
        tuple(row.numbers(2)),
        _model(chat),
        usage.number(1),
        time_of(start.message(4)),
        usage_of(usage),
        usage.text(11) or usage.text(7),
        parse_billing_terms({}, usage.text(13)).code if usage.text(13) else "",
        start.number(2) if 2 in start else -1,
        frozenset(start.numbers(3)),
    )


def usage_of(usage: ProtobufMessage) -> Usage | None:
    """Convert reported usage; None if it has no counts. Input excludes cached tokens."""
    thinking = count(usage.number(9))
    output = max(count(usage.number(3)), thinking + count(usage.number(10)))
    return Usage(
        uncached=count(usage.number(2)),
        cache_read=count(usage.number(5)),
        cache_write_5m=count(usage.number(4)),
        output=output,
        reasoning=thinking,
        ignored=tuple(f"field {number}" for number in sorted(usage.numeric_fields() - KNOWN_COUNTS)),
    ).unless_zero()


def _model(chat: ProtobufMessage) -> str:
    named = chat.text(19)
    if named:
        return named
    settings = {pair.text(1): pair.text(2) for pair in chat.messages(20)}
    return MODELS.get(settings.get("model_enum", ""), "") or chat.text(21)


def time_of(timestamp: ProtobufMessage) -> float | None:
    """Return seconds since the epoch, or None."""
    seconds = count(timestamp.number(1))
    return seconds_of_any(seconds + count(timestamp.number(2)) / 1e9)


def step_record(row: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a row of `steps` to a JSON object, without empty values.

    Raises:
        ProtobufError: It is not a message.
    """
    payload = ProtobufMessage(_bytes(row.get("step_payload")))
    column = _bytes(row.get("metadata"))
    about = ProtobufMessage(column) if column else payload.message(5)
    kind, status = _number(row.get("step_type")) or payload.number(1), _number(row.get("status")) or payload.number(4)
    details = _bytes(row.get("error_details"))
    error = _error(ProtobufMessage(details) if details else payload.message(31))
    found: dict[str, Any] = {
        "number": _number(row.get("idx")),
        "type": kind,
        "status": status,
        "time": time_of(about.message(1)),
        "completed": time_of(about.message(8)),
        "error": error or (_error(payload.message(24, 3)) if kind == ERROR else ""),
    }
    usage = about.message(9)
    if (reported := usage_of(usage)) is not None:
        found["usage"] = {name: getattr(reported, name) for name in reported.__struct_fields__}
        found["model_code"], found["response_id"] = usage.number(1), usage.text(11)
    if kind == USER_INPUT:
        found |= _user_input(payload.message(19)) | {"is_implicit": about.number(3) == 3}
    elif kind == RESPONSE:
        found |= _response(payload.message(20))
    elif kind == CHECKPOINT:
        found |= _checkpoint(payload.message(30))
    elif call := _tool_call(about.message(4)):
        found |= {"call": call, "result": _result(payload), "exit_code": _exit_code(payload)}
        found["subagents"] = _subagents(payload.message(143))
    elif kind in NOTE_PATHS:
        found["text"] = payload.text(*NOTE_PATHS[kind])
    return {name: value for name, value in found.items() if value not in (None, "", [], {}, False)}


def _user_input(message: ProtobufMessage) -> dict[str, Any]:
    texts = [item.text(1) for item in message.messages(3)]
    text = "".join(texts) or message.text(2) or message.text(1)
    images = [(image.text(2), image.text(1)) for image in message.messages(5)]
    images += [(media.text(1), b64encode(media.data(2)).decode()) for media in message.messages(9)]
    return {"text": text, "media": [{"type": kind, "data": data} for kind, data in images if data]}


def _response(message: ProtobufMessage) -> dict[str, Any]:
    return {
        "thinking": message.text(3),
        "signature": len(message.data(14)) or len(message.data(4)),
        "text": message.text(8) or message.text(1),
        "calls": [call for each in message.messages(7) if (call := _tool_call(each))],
    }


def _checkpoint(message: ProtobufMessage) -> dict[str, Any]:
    summary = [message.text(number) for number in (4, 5, 6, 8)]
    return {
        "checkpoint": message.number(1),
        "title": message.text(10),
        "text": "" if message.number(9) else "\n\n".join(filter(None, summary)),
    }


def _tool_call(message: ProtobufMessage) -> dict[str, str]:
    name = message.text(2) or message.text(9)
    return {"id": message.text(1), "name": name, "arguments": message.text(3)} if name else {}


def _subagents(message: ProtobufMessage) -> list[str]:
    """Return the ids of the conversations that a step started."""
    return [each for each in (*(result.text(1) for result in message.messages(10)), message.text(5)) if each]


def _result(payload: ProtobufMessage) -> str:
    found = next((text for path in RESULT_PATHS if path[0] in payload and (text := payload.text(*path))), "")
    field, names = LIST_DIRECTORY
    return found or ("\n".join(payload.message(field).texts(names)) if field in payload else "")


def _exit_code(payload: ProtobufMessage) -> int:
    return next((payload.number(*path) for path in EXIT_CODES if path[0] in payload), 0)


def _error(message: ProtobufMessage) -> str:
    return next((text for number in ERROR_TEXTS if (text := message.text(number))), "")


class Trajectory(NamedTuple):
    """Data about a conversation.

    Attributes:
        folder: The working directory; empty if not recorded.
        parent: Id of the conversation that started it as a subagent; empty if the user started it.
    """

    folder: str = ""
    parent: str = ""


def trajectory_of(data: bytes) -> Trajectory:
    """Convert a row of `trajectory_metadata_blob`.

    Raises:
        ProtobufError: It is not a message.
    """
    about = ProtobufMessage(data)
    folders = [each.text(1) for each in about.messages(1)] + about.texts(7)
    return Trajectory(next((path for each in folders if (path := path_of(each))), ""), about.text(5))


class Fork(NamedTuple):
    """A reference to the conversation that this one was copied from.

    Attributes:
        conversation: Its id.
        last_step: Number of the last copied step.
    """

    conversation: str
    last_step: int


def fork_of(data: bytes) -> Fork | None:
    """Convert a row of `parent_references`; None if it is not a fork.

    Raises:
        ProtobufError: It is not a message.
    """
    reference = ProtobufMessage(data)
    conversation = reference.text(6)
    return Fork(conversation, reference.number(2)) if conversation and reference.number(5) in FORKED else None


def path_of(uri: str) -> str:
    """Return the path of a `file:` URI, or a plain path unchanged; empty for other schemes."""
    if "://" not in uri:
        return uri
    parts = urlsplit(uri)
    path = unquote(parts.path)
    is_windows = len(path) > 2 and path[2] == ":"
    return (path[1:] if is_windows else path) if parts.scheme == "file" else ""


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else b""
