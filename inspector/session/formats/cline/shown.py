"""What the messages for the person tell of those for the model: usage, what was left out, and compactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.session.json.codec import lenient_json
from inspector.session.json.values import count, count_or_none, mapping, objects, sequence, string
from inspector.session.model import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REQUEST = "api_req_started"

ANSWER_BEHIND = 2
"""`conversationHistoryIndex` is that of the newest message as the request begins: the answer stands two behind it."""


class Request(NamedTuple):
    """One request to the model.

    Attributes:
        usage: What was reported, None for one that failed.
        left_out: First and last index of the messages that were not sent, None where all were.
        time: When it began, in milliseconds since the epoch; 0 where unknown.
    """

    usage: Usage | None
    left_out: tuple[int, int] | None
    time: int = 0


class Condensed(NamedTuple):
    """What was noted of one compaction: tokens before and after it, None where unknown."""

    before: int | None
    after: int | None


def requests_of_answers(shown: Any, answers: Sequence[int]) -> dict[int, Request]:
    """The request of each answer, as far as it is known.

    Args:
        shown: The messages for the person.
        answers: The indices of the answers among the messages for the model.
    """
    by_place: dict[int, Request] = {}
    in_order: list[Request] = []
    place = None
    for message in objects(shown):
        left_out = _range(message.get("conversationHistoryDeletedRange"))
        if message.get("say") == REQUEST:
            place = None
            request = Request(_usage(mapping(_json(message.get("text")))), left_out, count(message.get("ts")))
            index = message.get("conversationHistoryIndex")
            if isinstance(index, int) and not isinstance(index, bool):
                place = index + ANSWER_BEHIND
                by_place[place] = request  # the last of several attempts is the one that was answered
            if request.usage is not None:
                in_order.append(request)
        elif place is not None and left_out is not None:
            by_place[place] = by_place[place]._replace(left_out=left_out)
    if by_place:
        return {index: by_place[index] for index in answers if index in by_place}
    return dict(zip(answers, in_order, strict=True)) if len(answers) == len(in_order) else {}


def left_out_in(tasks: Any, task: str) -> tuple[int, int] | None:
    """The messages that a task's next request leaves out by the index of all tasks; None where it tells of none."""
    found = next((one for one in objects(tasks) if one.get("id") == task), {})
    return _range(found.get("conversationHistoryDeletedRange"))


def condensations(shown: Any) -> list[Condensed]:
    """What was noted of each compaction, in order."""
    found = []
    for message in objects(shown):
        if message.get("say") == "condense_context" and message.get("partial") is not True:
            about = mapping(message.get("contextCondense"))
            if about:
                found.append(Condensed(count_or_none(about.get("prevContextTokens")), _after(about)))
        elif message.get("say") == "compaction":
            about = mapping(_json(message.get("text")))
            if about.get("status") == "completed":
                found.append(
                    Condensed(count_or_none(about.get("tokensBefore")), count_or_none(about.get("tokensAfter")))
                )
    return found


def _after(about: Mapping[str, Any]) -> int | None:
    return count_or_none(about.get("newContextTokens"))


def _usage(about: Mapping[str, Any]) -> Usage | None:
    """What a request used.

    Cline's `tokensIn` leaves out what was read from a cache or written to one (`getApiMetrics.ts` in cline/cline).
    Roo's, told by `apiProtocol`, holds the whole prompt (`calculateApiCostAnthropic` in RooCodeInc/Roo-Code); where it
    is less than the cached part, it was written before that was so.
    """
    prompt, read, written = (count(about.get(name)) for name in ("tokensIn", "cacheReads", "cacheWrites"))
    is_whole = "apiProtocol" in about and prompt >= read + written
    usage = Usage(
        uncached=prompt - read - written if is_whole else prompt,
        cache_read=read,
        cache_write_5m=written,
        output=count(about.get("tokensOut")),
    )
    return usage if usage.prompt or usage.output else None


def _json(text: Any) -> Any:
    return lenient_json(string(text).encode(errors="replace"))[0]


def _range(value: Any) -> tuple[int, int] | None:
    ends = [end for end in sequence(value) if isinstance(end, int) and not isinstance(end, bool)]
    return (ends[0], ends[1]) if len(ends) == 2 and 0 <= ends[0] <= ends[1] else None
