"""Local server for the Anthropic Messages API that answers from a script and records its requests."""

from __future__ import annotations

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Step = tuple[str, dict[str, Any]] | str


class ScriptedModel:
    """Answers one step after the other to an agent's requests.

    Requests without tools (names of sessions, checks of quota) are answered with a word and take no step.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = list(steps)
        self.requests: list[dict[str, Any]] = []
        """Bodies of the requests that were answered with a step."""

    def answer(self, body: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
        """Content and stop reason for a request."""
        if not body.get("tools"):
            return [{"type": "text", "text": "Title"}], "end_turn"
        number = len(self.requests)
        self.requests.append(body)
        step = self.steps[number] if number < len(self.steps) else "Done."
        if isinstance(step, str):
            return [{"type": "text", "text": step}], "end_turn"
        name, given = step
        return [{"type": "tool_use", "id": identifier_of(number), "name": name, "input": given}], "tool_use"

    def results(self) -> dict[str, str]:
        seen = {}
        for message in self.requests[-1]["messages"]:
            for part in message["content"] if isinstance(message["content"], list) else ():
                if part["type"] == "tool_result":
                    content = part.get("content", "")
                    if not isinstance(content, str):
                        content = "".join(each.get("text", "") for each in content)
                    seen[part["tool_use_id"]] = content
        return seen


def identifier_of(step: int) -> str:
    """The id of the tool call of a step."""
    return f"toolu_01Scripted{step:04}"


@contextmanager
def serving(model: ScriptedModel) -> Iterator[str]:
    """The address a scripted model answers at."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send(b"{}", "application/json")

        def do_HEAD(self) -> None:
            self._send(b"", "application/json")

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
            path = self.path.partition("?")[0]
            if path.endswith("/count_tokens"):
                self._send(b'{"input_tokens": 1000}', "application/json")
            elif path.endswith("/messages"):
                content, reason = model.answer(body)
                message = _message(body, content, reason)
                if body.get("stream"):
                    self._send(b"".join(_events(message)), "text/event-stream")
                else:
                    self._send(json.dumps(message).encode(), "application/json")
            else:
                self._send(b"{}", "application/json")

        def _send(self, data: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _message(body: dict[str, Any], content: list[dict[str, Any]], reason: str) -> dict[str, Any]:
    tokens = len(json.dumps(body)) // 4
    usage = {
        "input_tokens": tokens,
        "output_tokens": 20,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    }
    number = len(body.get("messages", ()))
    return {
        "id": f"msg_01Scripted{number:04}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", ""),
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": usage,
    }


def _events(message: dict[str, Any]) -> Iterator[bytes]:
    start = {**message, "content": [], "stop_reason": None}
    yield _event("message_start", message=start)
    for index, part in enumerate(message["content"]):
        if part["type"] == "text":
            begun, delta = {**part, "text": ""}, {"type": "text_delta", "text": part["text"]}
        else:
            begun, delta = (
                {**part, "input": {}},
                {"type": "input_json_delta", "partial_json": json.dumps(part["input"])},
            )
        yield _event("content_block_start", index=index, content_block=begun)
        yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    stopped = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield _event("message_delta", delta=stopped, usage={"output_tokens": message["usage"]["output_tokens"]})
    yield _event("message_stop")


def _event(kind: str, **more: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()
