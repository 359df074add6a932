"""Cost of switching to another model at some call: candidate models, and a line about them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from inspector.replay.analysis.model_switch import main_calls, model_switch, other_models
from inspector.replay.figure import Figure
from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import one_line
from inspector.ui.miss_glyphs import dollars

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.replay.analysis.cache_misses import CacheMisses
    from inspector.replay.analysis.model_switch import ModelSwitch

HELP: Final = "Model to continue with from a call on: NAME at CALL, for example {example}."

_ASKED: Final = re.compile(r"\s*(?P<model>\S.*?)(?:\s+at\s+(?:call\s+)?(?P<call>[\d,]+))?\s*")


class RequestedModel(NamedTuple):
    """Another model and the first call it takes over, counted from 0."""

    model: str
    call: int


def call_to_switch_at(found: CacheMisses, wanted: int | None) -> int | None:
    """Return the main conversation's first call at or after `wanted`, or its last one; None if it has no calls."""
    calls = main_calls(found.replay)
    if not len(calls):
        return None
    later = calls[calls >= wanted] if wanted is not None else calls
    return int(later[0]) if len(later) else int(calls[-1])


def parse_model_switch(text: str, found: CacheMisses, call: int) -> RequestedModel | str:
    """Parse the user's input, or return an error line with advice.

    Args:
        text: `claude-sonnet-4-6 at 40`, or only a name.
        found: The misses of the session.
        call: Default call.
    """
    typed = _ASKED.fullmatch(text)
    if typed is None:
        return "enter the name of a model"
    model, replay = typed["model"], found.replay
    if typed["call"]:
        number = int(typed["call"].replace(",", "") or 0)
        calls = main_calls(replay)
        if number - 1 not in calls:
            return f"no call {number:,} in the main conversation; enter {int(calls[0]) + 1:,} to {int(calls[-1]) + 1:,}"
        call = number - 1
    if replay.inputs.pricing.rates(model, replay.history.session.calls[call].time) is None:
        known = ", ".join(other_models(replay))
        return f"no price for {model}" + (f"; known models: {known}" if known else "")
    return RequestedModel(model, call)


def switches_at(found: CacheMisses, call: int, asked: RequestedModel | None) -> tuple[ModelSwitch, ...]:
    """Price the session with other models: the requested one first, then the known ones, the cheapest first.

    Models with a window that is too small come last.
    """
    mine = found.replay.history.session.calls[call].model
    names = [name for name in other_models(found.replay) if name != mine]
    offered = [each for name in names if (each := model_switch(found, call, name)) is not None]
    offered.sort(key=lambda each: (each.beyond_window > 0, each.usd.value or 0.0))
    first = None if asked is None else model_switch(found, asked.call, asked.model)
    return tuple(offered) if first is None else (first, *(each for each in offered if each != first))


def told_of_switch(switch: ModelSwitch) -> str:
    """Describe a switch in a few words: `claude-sonnet-4-6 saves ~$7.12`."""
    saved = switch.saved_usd
    if saved.value is None:
        return f"{one_line(switch.model)} {dollars(switch.usd)}"
    size = dollars(Figure(abs(saved.value), saved.known))
    beyond = ", but some prompts are too long" if switch.beyond_window else ""
    return f"{one_line(switch.model)} {f'saves {size}' if saved.value >= 0 else f'costs {size} more'}{beyond}"


def switch_detail(switch: ModelSwitch) -> str:
    """Describe a switch in one line, including the lost cache."""
    said = told_of_switch(switch)
    if not switch.recache_tokens:
        return said
    tokens = ON_SCREEN.short(switch.recache_tokens)
    pays = "" if switch.pays_after is None else f", pays off after {ON_SCREEN.plural(switch.pays_after, 'call')}"
    return f"{said}; {tokens} tokens rewritten for {dollars(switch.recache_usd)}{pays}"


def switch_lines(switches: Sequence[ModelSwitch], width: int) -> tuple[str, ...]:
    """Build a line about as many other models as fit `width` cells; empty without any."""
    if not switches:
        return ()
    first = switches[0]
    together = [each for each in switches if each.call == first.call]
    since = f" from call {ON_SCREEN.whole(first.call + 1)} on" if first.call else ""
    long, short = (
        f"another model{since or ' throughout'}, same answers: ",
        f"another model{since}, same answers: ",
    )
    said = told_of_switch(first)
    ways = [long + (switch_detail(first) if len(together) == 1 else said), long + said, short + said]
    line = next((way for way in ways if len(way) <= width), ways[-1])
    for each in together[1:]:
        longer = f"{line} · {told_of_switch(each)}"
        if len(longer) > width:
            break
        line = longer
    return (line,)
