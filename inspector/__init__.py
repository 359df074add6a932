"""Show the context of an AI agent, and the effect of each way to shrink it: the rest, the cost, the losses.

The public interface, small on purpose:

- `open_session(path)` reads a recorded session; `follow(path)` keeps reading it while it grows.
- `Plan` is an ordered list of strategies; `strategy(name, limit=…)` creates one, `STRATEGIES` lists all.
- `replay_session(session, plan)` replays every call of a session under a plan.
- `compact(messages, plan)` applies a plan to a plain Anthropic or OpenAI message list, replaying every earlier call;
  `apply_once(messages, plan)` applies it a single time, to the list as it is; an agent uses `Conversation(plan)` while
  it runs, adding one message at a time.
- `InspectorError` is the base class of all errors raised on purpose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "1.0.0"

__all__ = [
    "STRATEGIES",
    "Conversation",
    "InspectorError",
    "Plan",
    "apply_once",
    "compact",
    "follow",
    "open_session",
    "replay_session",
    "strategy",
]

if TYPE_CHECKING:
    from inspector.errors import InspectorError
    from inspector.replay.message_lists import Conversation, apply_once, compact
    from inspector.replay.sessions import replay_session
    from inspector.session.follow import follow
    from inspector.session.open import open_session
    from inspector.strategies.plan import Plan
    from inspector.strategies.registry import STRATEGIES, strategy

_HOMES = {
    "STRATEGIES": "inspector.strategies.registry",
    "Conversation": "inspector.replay.message_lists",
    "InspectorError": "inspector.errors",
    "Plan": "inspector.strategies.plan",
    "apply_once": "inspector.replay.message_lists",
    "compact": "inspector.replay.message_lists",
    "follow": "inspector.session.follow",
    "open_session": "inspector.session.open",
    "replay_session": "inspector.replay.sessions",
    "strategy": "inspector.strategies.registry",
}


def __getattr__(name: str) -> object:
    """Import a public name on first use: importing the package alone must cost nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
