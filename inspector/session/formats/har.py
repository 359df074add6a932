"""Read HAR files: HTTP archives exported by browsers and proxies, with requests to model APIs.

Follows the HAR 1.2 specification (http://www.softwareishard.com/blog/har-12-spec/): `log.entries`, each with a request
body in `postData.text` and a decompressed response body in `content.text`, possibly in base64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from inspector.session.format import Format
from inspector.session.formats.bedrock_converse import is_event_stream, problem_of
from inspector.session.formats.claude_trace import (
    CONVERSE_ENDINGS,
    CONVERSE_STREAM,
    GOOGLE_ENDINGS,
    OTHER,
    ExchangeLog,
    HttpExchange,
    blocks_of_record,
    is_from_cache,
    is_generate_request,
)
from inspector.session.formats.plain import BETA_HEADER
from inspector.session.formats.streamed_responses import data_of
from inspector.session.json import Node, json_in, mapping, object_nodes, objects, seconds, string
from inspector.session.json_reader import JsonReader
from inspector.session.reader import DocumentInterpreter, Reader

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.sniff import Sample


class HarFormat(Format):
    """HTTP archives with requests to models."""

    name = "har"
    title = "HAR (HTTP archives of requests to models)"
    exact = "tokens of every answered call"

    def recognize(self, sample: Sample) -> str:
        entries = objects(mapping(mapping(sample.only_value).get("log")).get("entries"))
        found = sum(is_model_request(entry) for entry in entries)
        if not found:
            return ""
        return f"an HTTP archive: {found:,} of {len(entries):,} requests go to a model"

    def reader(self, path: Path) -> Reader:
        return JsonReader(path, self.name, HarInterpreter)

    def is_bookkeeping(self, count_name: str) -> bool:
        return count_name.startswith("other")


STREAMED = "/invoke-with-response-stream"
"""URL suffix of Bedrock requests with a framed response."""

ENDINGS = ("/messages", "/chat/completions", "/responses", "/invoke", STREAMED)
"""URL suffixes of model requests to Anthropic (also on Bedrock) and OpenAI APIs."""

ADDRESSES = (*ENDINGS, *GOOGLE_ENDINGS, *CONVERSE_ENDINGS)
"""URL suffixes of all model requests."""

FIELDS = ("messages", "input")

NAMED_BY = ("model", "anthropic_version")
"""Body fields that name the model, or imply that the URL does."""


def is_model_request(entry: Any) -> bool:
    """Return True if an entry requests a response from a model."""
    request = mapping(mapping(entry).get("request"))
    path = path_of(string(request.get("url")))
    text = mapping(request.get("postData")).get("text")
    if not path.endswith(ADDRESSES) or not isinstance(text, str):
        return False
    body = mapping(json_in(text))
    if path.endswith(GOOGLE_ENDINGS):
        return is_generate_request(body)
    if path.endswith(CONVERSE_ENDINGS):
        return isinstance(body.get("messages"), list)
    return any(name in body for name in NAMED_BY) and any(isinstance(body.get(name), (list, str)) for name in FIELDS)


def is_cut_off(entry: Any) -> bool:
    """Return True if an entry is a model request with truncated or too deeply nested JSON."""
    request = mapping(mapping(entry).get("request"))
    text = string(mapping(request.get("postData")).get("text")).lstrip()
    goes_to_a_model = path_of(string(request.get("url"))).endswith(ADDRESSES)
    return goes_to_a_model and text.startswith("{") and not isinstance(json_in(text), dict)


def path_of(url: str) -> str:
    """Return the path of a URL without its secret parts; empty if it is invalid."""
    try:
        return urlsplit(url).path.rstrip("/")
    except ValueError:
        return ""


def _headers(headers: object) -> list[tuple[str, str]]:
    return [(string(header.get("name")), string(header.get("value"))) for header in objects(headers)]


class HarInterpreter(DocumentInterpreter):
    """Builds a session from the entries of an archive."""

    def take_document(self, document: Node) -> None:
        entries = document.fields().fields_of("log").items_of("entries")
        found = list(object_nodes(entries, "an entry", self.builder))
        times = [seconds(string(value.get("startedDateTime"))) for _, value in found]
        order = sorted(range(len(found)), key=lambda place: times[place] or 0.0) if all(times) else range(len(found))
        log = ExchangeLog(self.builder)
        for place in order:
            item, value = found[place]
            try:
                self._take(log, item, value)
            except RecursionError:
                self.builder.diagnose("JSON nested too deeply", 0, item.offset, skipped=True)

    def _take(self, log: ExchangeLog, item: Node, value: dict[str, Any]) -> None:
        address = path_of(string(mapping(value.get("request")).get("url")))
        if not is_model_request(value):
            self.builder.record_counts[OTHER] += 1
            if is_cut_off(value):
                self.builder.diagnose("a model request with an incomplete JSON body", 0, item.offset, skipped=True)
            return
        fields = item.fields()
        request, response = fields.fields_of("request"), fields.fields_of("response")
        content = response.fields_of("content")
        betas = [value for name, value in _headers(request.value_of("headers")) if name.lower() == BETA_HEADER]
        answer = data_of(string(content.value_of("text"))) if address.endswith((STREAMED, CONVERSE_STREAM)) else None
        if answer is not None and is_event_stream(answer) and (problem := problem_of(answer)):
            self.builder.diagnose(problem, 0, item.offset, skipped=False)
        log.add(
            HttpExchange(
                address,
                request.fields_of("postData").get("text"),
                content.get("text"),
                {BETA_HEADER: ",".join(betas)},
                fields.value_of("startedDateTime"),
                is_billed=not is_from_cache(_headers(response.value_of("headers"))),
            )
        )

    blocks_of_record = staticmethod(blocks_of_record)


FORMATS = (HarFormat(),)
