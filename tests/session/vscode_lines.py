"""Chats as VS Code writes them: a log of operations, or the current chat."""

import copy
from typing import Any

Record = dict[str, Any]

START = 1_772_359_200_000
"""When the first request was made, in milliseconds: 10:00 on the first of March 2026."""


def result(*texts: str) -> Record:
    return {"$mid": 20, "content": [{"$mid": 21, "value": text} for text in texts]}


def rendered(*lines: str) -> Record:
    texts = [
        {"type": 2, "priority": 1, "text": line, "lineBreakBefore": number > 0} for number, line in enumerate(lines)
    ]
    piece = {"type": 1, "ctor": 2, "ctorName": "ToolResult", "children": texts, "props": {}, "references": []}
    return {"$mid": 20, "content": [{"$mid": 23, "value": {"node": piece}}]}


def call(identifier: str, name: str = "read_file", arguments: str = '{"filePath":"/work/a.py"}') -> Record:
    return {"id": identifier, "name": name, "arguments": arguments}


def answer(identifier: str, text: str, *calls: Record, **rest: Any) -> Record:
    """A round: a response and its calls."""
    about = {"toolInputRetry": 0, "id": identifier, "modelId": "claude-sonnet-4-5"}
    return {"response": text, "toolCalls": list(calls), **about, **rest}


def invocation(identifier: str, message: str = "Read a.py") -> Record:
    """A call as the chat shows it."""
    return {
        "kind": "toolInvocationSerialized",
        "toolId": "copilot_readFile",
        "toolCallId": identifier,
        "invocationMessage": {"value": f"{message} ..."},
        "pastTenseMessage": {"value": message},
        "isConfirmed": {"type": 1},
        "isComplete": True,
    }


class ChatScript:
    def __init__(self) -> None:
        self.chat: Record = {
            "version": 3,
            "creationDate": START,
            "initialLocation": "panel",
            "responderUsername": "GitHub Copilot",
            "sessionId": "chat-1",
            "hasPendingEdits": False,
            "requests": [],
            "pendingRequests": [],
            "inputState": {"inputText": "", "attachments": []},
        }
        self.lines: list[Record] = [{"kind": 0, "v": copy.deepcopy(self.chat)}]
        self.asked = 0

    def ask(self, text: str, at: int | None = None, **rest: Any) -> int:
        """A new request, at a place where those from there on are taken back; its place."""
        request: Record = {
            "requestId": f"request_{self.asked}",
            "timestamp": START + self.asked * 60_000,
            "agent": {"id": "github.copilot.editsAgent"},
            "modelId": "copilot/claude-sonnet-4-5",
            "message": {"text": text, "parts": [{"text": text, "kind": "text"}]},
            "variableData": {"variables": []},
            "response": [],
        }
        self.asked += 1
        self.push(["requests"], [{**request, **rest}], at)
        return len(self.chat["requests"]) - 1

    def show(self, place: int, *parts: Record, at: int | None = None) -> None:
        """Parts of a response as the chat shows them."""
        self.push(["requests", place, "response"], list(parts), at)

    def finish(self, place: int, *rounds: Record, tokens: tuple[int, int] | None = (1_000, 20), **rest: Any) -> None:
        """The end of a turn: all rounds, their results by id in `results`, tokens of the last one."""
        metadata: Record = {
            "responseId": "response",
            "sessionId": "chat-1",
            "agentId": "github.copilot.editsAgent",
            "renderedUserMessage": [{"type": 1, "text": f"<userRequest>\n{self.text(place)}\n</userRequest>\n"}],
            "toolCallRounds": list(rounds),
            "toolCallResults": rest.pop("results", {}),
            "resolvedModel": "claude-sonnet-4-5",
        }
        if tokens is not None:
            metadata |= {"promptTokens": tokens[0], "outputTokens": tokens[1]}
        self.set(["requests", place, "result"], {"timings": {"totalElapsed": 9}, "metadata": {**metadata, **rest}})
        self.set(["requests", place, "modelState"], {"value": 1, "completedAt": START})

    def text(self, place: int) -> str:
        return str(self.chat["requests"][place]["message"]["text"])

    def set(self, path: list[str | int], value: Any) -> None:
        self.lines.append({"kind": 1, "k": path, "v": copy.deepcopy(value)})
        at = self.chat
        for key in path[:-1]:
            at = at[key]  # type: ignore[index]  # of an array by its index
        at[path[-1]] = copy.deepcopy(value)  # type: ignore[index]

    def delete(self, path: list[str | int]) -> None:
        self.lines.append({"kind": 3, "k": path})
        at: Any = self.chat
        for key in path[:-1]:
            at = at[key]
        del at[path[-1]]

    def push(self, path: list[str | int], values: list[Any], start: int | None = None) -> None:
        line: Record = {"kind": 2, "k": path, "v": copy.deepcopy(values)}
        self.lines.append(line if start is None else {**line, "i": start})
        at: Any = self.chat
        for key in path:
            at = at[key]
        del at[len(at) if start is None else start :]
        at.extend(copy.deepcopy(values))


def chat(turns: int) -> ChatScript:
    script = ChatScript()
    for number in range(0, turns, 2):
        place = script.ask(f"question {number}")
        rounds = [answer(f"r{n}", f"turn {n}", call(f"c{n}")) for n in range(number, min(number + 2, turns))]
        for each in rounds:
            shown = each["toolCalls"][0]["id"]
            script.show(place, {"value": each["response"]}, {"kind": "progressMessage"}, invocation(shown))
        if len(rounds) == 2:
            found = {f"c{n}": result(f"result {n}") for n in (number, number + 1)}
            script.finish(place, *rounds, results=found, tokens=(1_000 + number, 30))
        script.set(["inputState", "inputText"], f"draft {number}")
    return script
