"""Recognize logged HTTP exchanges."""

from __future__ import annotations

from typing import Any

from inspector.session.json.codec import json_in
from inspector.session.json.values import mapping, string

ADDRESSES = ("/v1/messages", "/chat/completions", "api.anthropic.com", "bedrock-runtime", "aiplatform.googleapis.com")


def is_exchange(record: Any) -> bool:
    """Return True for an HTTP request with or without a response."""
    request = mapping(mapping(record).get("request"))
    address = string(request.get("url"))
    is_http = bool(address) and ("headers" in request or "method" in request or "body" in request)
    return is_http and ("response" in record or any(known in address for known in ADDRESSES))


def request_body(record: Any) -> Any:
    """Return the request body, decoded if it is a JSON string; empty if it is not JSON."""
    body = mapping(mapping(record).get("request")).get("body")
    return mapping(json_in(body) if isinstance(body, str) else body)
