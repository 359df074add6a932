"""Read trajectories of SWE-agent and mini-swe-agent: one JSON document per run, rewritten at every step.

SWE-agent's format is defined by `sweagent/agent/agents.py` (`get_trajectory_data`), mini-swe-agent's by its
`docs/usage/output_files.md`; its first versions stored only the message list.

Trajectories include the configured model (`replay_config`), except with `RetryAgent`, which does not pass the
configuration to the separate agents of its attempts. There it is in a file next to the trajectory (one folder up for an
attempt's own file), as JSON in a YAML scalar. Attempts cycle through the configured agents. A single quoted scalar is
the only YAML supported, so that no YAML package is required.

Source: SWE-agent/SWE-agent@3ea751c0 `sweagent/agent/agents.py` (`RetryAgent`), `sweagent/run/run_single.py` and
`run_batch.py`; PyYAML's `emitter.py` for quoting and folding of scalars.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import structs

from inspector.errors import SessionError
from inspector.session.billing_terms import SERVICE_TIER, first_tier, parse_billing_terms, requested_tier
from inspector.session.files import SEPARATOR, Locator
from inspector.session.format import ContainedSession, Format
from inspector.session.formats.chat import ChatMessage, ChatThread, blocks_of_chat, lifetime_of, usage_of
from inspector.session.json import (
    amount,
    clean_string,
    count_or_none,
    json_in,
    lenient_json,
    mapping,
    object_nodes,
    objects,
    seconds_of_any,
    sequence,
    string,
)
from inspector.session.json_reader import JsonReader, SidecarFile
from inspector.session.model import Compaction, Origin, RecordedBreakpoint, RecordedTotals, Role
from inspector.session.reader import DocumentInterpreter, Reader
from inspector.session.sniff import Sample

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from inspector.session.blocks import TextBlock
    from inspector.session.builder import SessionBuilder
    from inspector.session.json import Node


MINI_KEYS = frozenset({"mini_version", "exit_status", "submission"})

OBSERVATION = "<returncode>"
"""Start of command output in mini-swe-agent's template."""


def _is_early(messages: list[Any]) -> bool:
    """Return True for a bare message list of an early version."""
    entries = objects(messages)
    observed = any(
        entry.get("role") == "user" and string(entry.get("content")).lstrip().startswith(OBSERVATION)
        for entry in entries
    )
    return observed and all(isinstance(entry.get("role"), str) and "content" in entry for entry in entries)


def _is_run(document: Mapping[str, Any]) -> bool:
    """Return True for a run, or an attempt in it, with SWE-agent's steps."""
    steps = objects(document.get("trajectory"))
    has_steps = bool(steps) and all("action" in step and "observation" in step for step in steps[:20])
    is_empty = document.get("trajectory") == [] and "replay_config" in document
    return (has_steps or is_empty) and (isinstance(document.get("history"), list) or "info" in document)


class SweAgentFormat(Format):
    """SWE-agent trajectories."""

    name = "swe-agent"
    title = "SWE-agent (.traj)"
    exact = "nothing: only run totals are recorded"

    def recognize(self, sample: Sample) -> str:
        document = mapping(sample.only_value)
        attempts = objects(document.get("attempts"))
        if attempts and any(map(_is_run, attempts)):
            return f"a JSON document with {len(attempts)} SWE-agent attempts"
        if not _is_run(document):
            return ""
        return f"a JSON document with a trajectory of {len(sequence(document['trajectory']))} SWE-agent steps"

    def reader(self, path: Path) -> Reader:
        configurations = configuration_files(path)
        return JsonReader(path, self.name, lambda: SweInterpreter(path, configurations), configurations)

    def contained_sessions(self, path: Path) -> Sequence[ContainedSession]:
        attempts = sequence(mapping(Sample(path).only_value).get("attempts"))
        names = [(name_of_attempt(number), mapping(one).get("environment")) for number, one in enumerate(attempts)]
        return [
            ContainedSession(Locator(path, name).path, name, title_of(environment, number))
            for number, (name, environment) in enumerate(names if len(names) > 1 else ())
        ]

    def is_copy(self, path: Path) -> bool:
        """Return True for an attempt's own file if the run's file exists, which includes it."""
        folder = path.absolute().parent
        return attempt_of_folder(folder) is not None and (folder.parent / path.name).is_file()

    def is_bookkeeping(self, count_name: str) -> bool:
        return count_name == "demonstration"


class MiniSweAgentFormat(Format):
    """mini-swe-agent trajectories."""

    name = "mini-swe-agent"
    title = "mini-swe-agent (.traj.json)"
    exact = "tokens of calls recorded with their response, which the first versions omit"

    def recognize(self, sample: Sample) -> str:
        document = sample.only_value
        if isinstance(document, list):
            return "a list of chat messages with mini-swe-agent observations" if _is_early(document) else ""
        about = mapping(document)
        if not isinstance(about.get("messages"), list):
            return ""
        if string(about.get("trajectory_format")).startswith("mini-swe-agent"):
            return f"a JSON document in the format {about['trajectory_format']}"
        info = mapping(about.get("info"))
        if MINI_KEYS & info.keys() and ("mini_version" in info or _is_early(about["messages"])):
            return "a JSON document with chat messages and mini-swe-agent's info"
        return ""

    def reader(self, path: Path) -> Reader:
        return JsonReader(path, self.name, MiniInterpreter)


ATTEMPT = re.compile(r"attempt_(\d{1,6})")
"""Folder name of an attempt's own trajectory."""


def attempt_of_folder(folder: Path) -> int | None:
    """Return the 0-based attempt number of a folder; None for other folders."""
    found = ATTEMPT.fullmatch(folder.name)
    return int(found[1]) if found else None


def models_in(configuration: Any) -> tuple[str, ...]:
    """Return the models of a configuration (an object or JSON text), one per configured agent."""
    value = json_in(configuration) if isinstance(configuration, str) else configuration
    agent = mapping(mapping(value).get("agent"))
    names = tuple(_name(one) for one in objects(agent.get("agent_configs")) or [dict(agent)])
    return names if any(names) else ()


def _name(agent: Any) -> str:
    return clean_string(mapping(mapping(agent).get("model")).get("name"))


def model_of_attempt(models: tuple[str, ...], attempt: int) -> str:
    """Return the model of a 0-based attempt; empty if unknown."""
    return models[attempt % len(models)] if models else ""


def configuration_files(path: Path) -> tuple[SidecarFile, ...]:
    """Return possible configuration files of a trajectory, most likely first; their values are the models."""
    file = Locator.of(path).file
    folder = file.absolute().parent
    folders = [folder] if attempt_of_folder(folder) is None else [folder, folder.parent]
    names = (f"{file.stem}.config.yaml", "config.yaml")
    return tuple(SidecarFile(place / name, models_in, text_of_scalar) for place in folders for name in names)


def text_of_scalar(data: bytes) -> str | None:
    """Return the text of a YAML document with a single quoted scalar; None for other documents."""
    text = data.decode(errors="replace").strip()
    quote = text[:1]
    if len(text) < len("''") or quote not in ("'", '"') or text[-1] != quote:
        return None
    inner = text[1:-1]
    if quote == "'":
        return _FOLDED.sub(" ", inner).replace("''", "'")
    return _ESCAPED.sub(_unescaped, inner)


_FOLDED = re.compile(r"[ \t]*\r?\n[ \t]*")
"""A line break in a quoted scalar is a space; JSON text contains no others."""

_ESCAPED = re.compile(
    r"\\(?:x(?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8})|\r?\n[ \t]*|(?P<one>.))"
    r"|[ \t]*\r?\n[ \t]*"
)

_NAMED = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}


def _unescaped(found: re.Match[str]) -> str:
    code = found["x"] or found["u"] or found["U"]
    if code:
        number = int(code, 16)
        return chr(number) if number <= 0x10FFFF else "\ufffd"
    if found["one"]:
        return _NAMED.get(found["one"], found["one"])
    return "" if found[0].startswith("\\") else " "


FENCE = re.compile(r"```(?:\w+)?[ \t]*\n(?P<command>.*?)\n?```", re.DOTALL)

TOOL = "bash"
"""Tool name used for fenced commands."""


def parts_of_answer(text: str, command: str | None = None, identifier: str = "") -> list[dict[str, Any]]:
    """Split a response into text before its command, the call, text after it. A recorded command decides."""
    fences = list(FENCE.finditer(text))
    if command is None:
        found = fences[0] if len(fences) == 1 else None
    else:
        found = next((one for one in reversed(fences) if one["command"].strip() == command.strip()), None)
    if found is None:
        return [{"type": "text", "text": text}] if text else []
    call = {"type": "tool_use", "id": identifier, "name": TOOL, "input": {"command": found["command"]}}
    before, after = text[: found.start()].strip(), text[found.end() :].strip()
    parts = [{"type": "text", "text": before}] if before else []
    return [*parts, call, *([{"type": "text", "text": after}] if after else [])]


def has_call(parts: Sequence[object]) -> bool:
    """Return True if there is a call among content parts; in a damaged file they can have any type."""
    return any(isinstance(part, dict) and part.get("type") == "tool_use" for part in parts)


ELIDED = re.compile(r"\s*Old environment output: \(\d+ lines? omitted\)")
"""Matches an observation shortened by history processors (`sweagent/agent/history_processors.py`, LastNObservations).
"""

QUERY = "query"

PROMPTS = (QUERY, "messages")
"""Fields of a step with its prompt; early versions also included the response."""


def swe_chat_messages(entry: Mapping[str, Any], *, is_result: bool = False, call: str = "") -> list[ChatMessage]:
    """Convert a history entry or step; `call`: the call in its fence, or the one that it answers."""
    if "observation" in entry and "role" not in entry:
        answer = {"role": "assistant", "content": entry.get("response"), "action": entry.get("action")}
        result = {"role": "tool", "tool_call_id": call, "content": string(entry.get("observation"))}
        return [*swe_chat_messages(answer, call=call), ChatMessage(result)]
    role = string(entry.get("role"))
    value: dict[str, Any] = {"role": role, "content": entry.get("content")}
    if role == "assistant":
        thought = [part for part in objects(entry.get("thinking_blocks")) if part.get("type")]
        value["tool_calls"] = objects(entry.get("tool_calls"))
        value["reasoning_content"] = string(entry.get("reasoning_content")) or None if not thought else None
        content = value["content"]
        if isinstance(content, str) and not value["tool_calls"]:
            content = parts_of_answer(content, string(entry.get("action")) or "\0", call)
        elif isinstance(content, str):
            content = [{"type": "text", "text": content}] if content else []
        value["content"] = [*thought, *sequence(content)]
        return [ChatMessage(value, is_call=True)]
    content = value["content"] = _plain(value["content"])
    if role == "tool" or (is_result and isinstance(content, str)):
        named = [name for name in sequence(entry.get("tool_call_ids")) if isinstance(name, str)]
        identifier = string(entry.get("tool_call_id")) or (named[0] if named else call)
        return [ChatMessage({"role": "tool", "tool_call_id": identifier, "content": content})]
    return [ChatMessage(value)]


def _plain(content: Any) -> Any:
    """Return a message's content, unwrapping a single text part, which remains after a cache breakpoint was set."""
    parts = objects(content)
    if isinstance(content, list) and len(content) == len(parts) == 1 and parts[0].get("type") == "text":
        return string(parts[0].get("text"))
    return "" if content is None else content


class SweInterpreter(DocumentInterpreter):
    """Builds a session from a SWE-agent run, or from one attempt of a run with several."""

    def __init__(self, path: Path, configurations: Sequence[SidecarFile] = ()) -> None:
        """Initialize with a trajectory's path or attempt, and the files that may hold its models."""
        super().__init__()
        self._locator = Locator.of(path)
        self._configurations = configurations

    def take_document(self, document: Node) -> None:
        """Read the run. Raises `SessionError` if the attempt does not exist."""
        fields = document.fields()
        attempt = attempt_of_folder(self._locator.file.absolute().parent) or 0
        attempts = fields.items_of("attempts")
        if attempts or self._locator.session:
            best = mapping(fields.value_of("info")).get("best_attempt_idx")
            attempt = self._chosen(len(attempts), best)
            fields = attempts[attempt].fields()
            self.builder.record_counts["attempt"] = len(attempts)
        self.builder.agent = "SWE-agent"
        self.builder.title = title_of(fields.value_of("environment"), attempt if len(attempts) > 1 else None)
        if len(attempts) > 1:
            self.builder.identifier = f"{self._locator.file.stem}{SEPARATOR}{name_of_attempt(attempt)}"
        configured = next((models for one in self._configurations if (models := one.value())), ())
        models = models_in(fields.value_of("replay_config")) or configured
        run = _Run(self.builder, model_of_attempt(models, attempt))
        steps = fields.items_of("trajectory")
        history = fields.items_of("history")
        for item in history or steps:
            run.add(item)
        if history:
            run.note_prompts(steps)
        _add_cost(self.builder, fields.value_of("info"))

    def _chosen(self, count: int, best: object) -> int:
        """Return the requested attempt; by default the best one, or the newest if none was chosen."""
        name = self._locator.session
        if not name:
            is_chosen = isinstance(best, int) and not isinstance(best, bool) and 0 <= best < count
            return best if is_chosen and isinstance(best, int) else count - 1
        found = ATTEMPT.fullmatch(name)
        if found is None or int(found[1]) >= count:
            raise SessionError(
                f"{self._locator.path}: the run has no such attempt. It has {count}, numbered from attempt_0."
            )
        return int(found[1])

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        return blocks_of_chat(swe_chat_messages(mapping(lenient_json(record)[0])), origin)


def name_of_attempt(attempt: int) -> str:
    return f"attempt_{attempt}"


def title_of(environment: object, attempt: int | None) -> str:
    """Return the title of a run or attempt: its environment, usually named after the task."""
    name = clean_string(environment)
    parts = ["" if name == "main" else name, "" if attempt is None else name_of_attempt(attempt)]
    return ", ".join(filter(None, parts))


def _add_cost(builder: SessionBuilder, info: Any) -> None:
    """Add the cost of a run, which includes requests that were tried again; its tokens are local counts."""
    stats = mapping(mapping(info).get("model_stats"))
    if cost := amount(stats.get("instance_cost")):
        requests = count_or_none(stats.get("api_calls"))
        builder.recorded_totals.append(
            RecordedTotals("model_stats", cost_usd=cost, requests=requests, end_call=len(builder.calls))
        )


class _Run:
    """Adds the entries of a history to a session in order."""

    def __init__(self, builder: SessionBuilder, model: str) -> None:
        self._builder = builder
        self._model = model
        self._chat = ChatThread(builder)
        self._calls = 0
        self._awaits = ""
        self._call_at: list[str] = []
        self._message_at: list[int | None] = []
        self._responses: list[int] = []

    def add(self, item: Node) -> None:
        """Add an entry. Demonstrations are counted but not added."""
        entry = item.value()
        self._call_at.append("")
        self._message_at.append(None)
        if not isinstance(entry, dict):
            self._builder.diagnose("not a message", 0, max(item.offset, 0), skipped=True)
            return
        if entry.get("is_demo"):
            self._builder.record_counts["demonstration"] += 1
            return
        role = string(entry.get("role")) or ("step" if "observation" in entry else "(no role)")
        self._builder.record_counts[role] += 1
        is_result = role == "user" and bool(self._awaits) and entry.get("message_type", "observation") == "observation"
        if role in ("assistant", "step"):
            self._calls += 1
        call = self._awaits if is_result or role == "tool" else f"action-{self._calls}"
        parts = swe_chat_messages(entry, is_result=is_result, call=call)
        parts = [structs.replace(one, model=self._model) if one.is_call else one for one in parts]
        added = self._chat.add_record(parts, Origin(item.offset, item.length))
        self._awaits = ""
        self._message_at[-1] = added[0] if added else None
        for one, index in zip(parts, added, strict=True):
            if one.is_call:
                self._responses.append(index)
                content = one.value["content"]
                self._awaits = call if has_call(content) or entry.get("action") else ""
            elif one.role is Role.TOOL:
                self._call_at[-1] = string(one.value.get("tool_call_id"))

    def note_prompts(self, steps: list[Node]) -> None:
        """Detect observations elided by history processors in each step's prompt, and its cache breakpoints."""
        gone: set[str] = set()
        places = {index: place for place, index in enumerate(self._message_at) if index is not None}
        calls = {call.response: number for number, call in enumerate(self._builder.calls)}
        for item, response in zip(steps, self._responses, strict=False):
            fields = item.fields()
            prompt = sequence(next((fields[name].value() for name in PROMPTS if name in fields), None))
            cut = {
                self._call_at[place]
                for place, entry in enumerate(prompt)
                if place < len(self._call_at) and _is_elided(mapping(entry).get("content"))
            } - {""}
            if new := sorted(cut - gone):
                gone |= cut
                self._builder.compactions.append(
                    Compaction(response, trigger="history processor", cleared_tool_call_ids=tuple(new))
                )
            # Early versions wrote `messages` after the response, with breakpoints for the next request.
            if QUERY in fields and response in calls and len(prompt) == places.get(response):
                call = self._builder.calls[calls[response]]
                self._builder.calls[calls[response]] = structs.replace(call, marks=self._breakpoints_of(prompt))

    def _breakpoints_of(self, prompt: Sequence[Any]) -> tuple[RecordedBreakpoint, ...]:
        """Return a prompt's cache breakpoints. A breakpoint on a demonstration moves to the last shown block."""
        found: dict[int, str] = {}
        before = 0
        for place, entry in enumerate(prompt):
            index = self._message_at[place]
            count = len(self._builder.messages[index].blocks) if index is not None else 0
            for part, lifetime in _breakpoints_in(mapping(entry)):
                found[before + (min(part + 1, count) if part is not None else count)] = lifetime
            before += count
        return tuple(RecordedBreakpoint(blocks, lifetime) for blocks, lifetime in sorted(found.items()) if blocks)


def _breakpoints_in(entry: Mapping[str, Any]) -> Iterator[tuple[int | None, str]]:
    """Yield an entry's breakpoints: the part index, None for the whole entry, and the lifetime."""
    for part, content in enumerate(sequence(entry.get("content"))):
        if (lifetime := lifetime_of(content)) is not None:
            yield part, lifetime
    if (lifetime := lifetime_of(entry)) is not None:
        yield None, lifetime


def _is_elided(content: Any) -> bool:
    texts = [content] if isinstance(content, str) else [part.get("text") for part in objects(content)]
    return any(isinstance(text, str) and ELIDED.match(text) is not None for text in texts)


def mini_chat_message(
    entry: Mapping[str, Any], *, call: str = "", is_result: bool = False, tier: object = None
) -> ChatMessage:
    """Convert a Chat Completions message or a Responses API item; `call`: of its fence, or the one it answers."""
    extra = mapping(entry.get("extra"))
    response = mapping(extra.get("response")) or (entry if isinstance(entry.get("output"), list) else {})
    time = seconds_of_any(extra.get("timestamp"))
    if entry.get("type") == "function_call_output":
        value = {"role": "tool", "tool_call_id": string(entry.get("call_id")), "content": entry.get("output")}
        return ChatMessage(value, time)
    role = string(entry.get("role")) or ("assistant" if isinstance(entry.get("output"), list) else "")
    if role == "assistant":
        return ChatMessage(
            _answer(entry, call),
            time,
            is_call=True,
            identifier=string(response.get("id")),
            model=string(response.get("model")),
            usage=usage_of(response.get("usage")),
            terms=parse_billing_terms(response.get("usage"), first_tier(response.get(SERVICE_TIER), tier)).code,
        )
    if is_result and isinstance(entry.get("content"), str):
        return ChatMessage({"role": "tool", "tool_call_id": call, "content": entry["content"]}, time)
    return ChatMessage({name: entry[name] for name in ("role", "content", "tool_call_id") if name in entry}, time)


def _answer(entry: Mapping[str, Any], call: str) -> dict[str, Any]:
    if isinstance(entry.get("output"), list):
        return _items(objects(entry["output"]))
    value = {name: entry[name] for name in ("role", "content", "tool_calls", "reasoning_content") if name in entry}
    content = value.get("content")
    if isinstance(content, str) and not value.get("tool_calls"):
        value["content"] = parts_of_answer(content, identifier=call)
    return value


def _items(items: list[dict[str, Any]]) -> dict[str, Any]:
    parts: list[Any] = []
    calls = []
    for item in items:
        if item.get("type") == "function_call":
            function = {"name": item.get("name"), "arguments": item.get("arguments")}
            calls.append({"id": item.get("call_id"), "function": function})
        elif item.get("type") == "reasoning":
            parts += [{"type": "thinking", "thinking": string(one.get("text"))} for one in objects(item.get("summary"))]
        else:
            parts += objects(item.get("content"))
    return {"role": "assistant", "content": parts, "tool_calls": calls}


class MiniInterpreter(DocumentInterpreter):
    """Builds a session from a mini-swe-agent run."""

    def take_document(self, document: Node) -> None:
        fields = document.fields()
        info = mapping(fields.value_of("info"))
        self.builder.agent = " ".join(filter(None, ("mini-swe-agent", string(info.get("mini_version")))))
        self.builder.identifier = string(fields.value_of("instance_id"))
        configured = mapping(mapping(info.get("config")).get("model"))
        model, tier = string(configured.get("model_name")), requested_tier(configured.get("model_kwargs"))
        chat = ChatThread(self.builder)
        calls, awaits = 0, ""
        items = fields["messages"].items() if "messages" in fields else document.items()
        for item, entry in object_nodes(items, "a message", self.builder):
            role = string(entry.get("role")) or string(entry.get("type")) or string(entry.get("object")) or "(no role)"
            self.builder.record_counts[role] += 1
            is_result = role == "user" and bool(awaits)
            calls += not is_result
            call = awaits if is_result else f"action-{calls}"
            reported = mini_chat_message(entry, call=call, is_result=is_result, tier=tier)
            if reported.is_call and not reported.model:
                reported = structs.replace(reported, model=model)
            chat.add_record([reported], Origin(item.offset, item.length))
            content = reported.value.get("content")
            awaits = call if reported.is_call and isinstance(content, list) and has_call(content) else ""
        _add_cost(self.builder, info)

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        return blocks_of_chat([mini_chat_message(mapping(lenient_json(record)[0]))], origin)


FORMATS = (
    SweAgentFormat(),
    MiniSweAgentFormat(),
)
