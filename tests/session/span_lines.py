"""Spans and log records as exporters of OpenTelemetry write them."""

import json
from typing import Any

Record = dict[str, Any]

BEGAN = 1_770_000_000


def conversation(turns: int) -> list[list[Record]]:
    """The messages of every request of a session by the GenAI conventions, its answer last."""
    sent: list[Record] = [{"role": "user", "parts": [{"type": "text", "content": "go"}]}]
    made = []
    for turn in range(turns):
        call = {"type": "tool_call", "id": f"c{turn}", "name": "ls", "arguments": {"path": "."}}
        answer = {"role": "assistant", "parts": [{"type": "text", "content": f"turn {turn}"}, call]}
        made.append([*sent, answer])
        result = {"type": "tool_call_response", "id": f"c{turn}", "response": f"result {turn}"}
        sent += [answer, {"role": "tool", "parts": [result]}]
    return made


def usage(turn: int) -> Record:
    return {
        "gen_ai.usage.input_tokens": 1_000 + turn,
        "gen_ai.usage.cache_read.input_tokens": 600,
        "gen_ai.usage.cache_write.input_tokens": 50,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.reasoning.output_tokens": 5,
    }


def attributes(turn: int, messages: list[Record], **rest: Any) -> Record:
    """The attributes of a request's span."""
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-5",
        "gen_ai.response.id": f"r{turn}",
        "gen_ai.conversation.id": "s1",
        "gen_ai.system_instructions": json.dumps([{"type": "text", "content": "You help."}]),
        "gen_ai.input.messages": json.dumps(messages[:-1]),
        "gen_ai.output.messages": json.dumps(messages[-1:]),
        **usage(turn),
        **rest,
    }


def flat(turn: int, about: Record, **rest: Any) -> Record:
    """A span as JavaScript's SDK writes it."""
    return {
        "type": "span",
        "name": "chat gpt-5",
        "traceId": f"t{turn}",
        "spanId": f"p{turn}",
        "startTime": [BEGAN + turn, 500_000_000],
        "attributes": about,
        **rest,
    }


def flat_lines(turns: int) -> list[Record]:
    return [flat(turn, attributes(turn, messages)) for turn, messages in enumerate(conversation(turns))]


def typed(value: Any) -> Record:
    """A value as OTLP's JSON has it."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [typed(one) for one in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": typed(one)} for key, one in value.items()]}}
    return {"stringValue": value}


def export(spans: list[Record]) -> Record:
    """Flat spans as one export of OTLP."""
    made = [
        {
            "traceId": span["traceId"],
            "spanId": span["spanId"],
            "name": span["name"],
            "startTimeUnixNano": str(span["startTime"][0] * 10**9 + span["startTime"][1]),
            "attributes": [{"key": key, "value": typed(value)} for key, value in span["attributes"].items()],
        }
        for span in spans
    ]
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {}, "spans": made}]}]}


def export_lines(turns: int) -> list[Record]:
    """An export a line, as the collector's file exporter writes them."""
    return [export([span]) for span in flat_lines(turns)]


def export_document(turns: int) -> Record:
    return export(flat_lines(turns))
