"""Saved screen state of sessions, with plans, cursor and views, in the platform's state folder."""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.atomic_files import APPLICATION

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from inspector.strategies.plan import Plan

LETTERS = ("A", "B")

LOOKS = ("filter", "order", "view", "pane")
"""Text fields with display options."""

MOST_KEPT = 500
"""Maximum number of saved states; those unused for the longest time are deleted."""


class SessionState(NamedTuple):
    """Saved state of a session.

    Attributes:
        plans: Its plans by letter, at least the current one.
        letter: Letter of the current plan.
        block: Block under the cursor; -1 for none.
        call: Selected call; None for the next prompt.
        plan_open: The plan drawer was open.
        filter: Filter query; empty for none.
        order: Name of the `Order`; empty for as recorded.
        view: `Shown` view of the detail; empty for the default.
        pane: Pane with the focus; empty for the rows.
    """

    plans: Mapping[str, Plan] = MappingProxyType({})
    letter: str = "A"
    block: int = -1
    call: int | None = None
    plan_open: bool = False
    filter: str = ""
    order: str = ""
    view: str = ""
    pane: str = ""

    @property
    def plan(self) -> Plan | None:
        return self.plans.get(self.letter)

    @property
    def other(self) -> Plan | None:
        return next((plan for letter, plan in self.plans.items() if letter != self.letter), None)


def state_path(session: Path, folder: Path | None = None) -> Path:
    """Return the path of a session's state, by default in the platform's state folder and never next to the session."""
    import hashlib

    if folder is None:
        from platformdirs import user_state_path

        folder = user_state_path(APPLICATION) / "sessions"
    digest = hashlib.blake2b(_real_name(session).encode(errors="surrogateescape"), digest_size=16).hexdigest()
    return folder / f"{digest}.toml"


@cache
def _real_name(session: Path) -> str:
    """Resolve a session's path, cached because its file system may be slow."""
    return str(session.resolve())


def load_state(session: Path, folder: Path | None = None) -> SessionState:
    """Load the state of a session; empty if there is none or this version cannot read it."""
    import tomllib

    try:
        table = tomllib.loads(state_path(session, folder).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
        return SessionState()
    return _from_table(table)


def _from_table(table: Mapping[str, Any]) -> SessionState:
    """Convert a table, replacing invalid values by defaults."""
    kept = table.get("plans")
    found = {letter: _plan(kept.get(letter)) for letter in LETTERS} if isinstance(kept, dict) else {}
    plans = {letter: plan for letter, plan in found.items() if plan is not None}
    letter = table.get("letter")
    return SessionState(
        plans=plans,
        letter=letter if isinstance(letter, str) and letter in plans else next(iter(plans), LETTERS[0]),
        block=-1 if (block := _index(table.get("block"))) is None else block,
        call=_index(table.get("call")),
        plan_open=table.get("plan_open") is True,
        **{name: table[name] for name in LOOKS if isinstance(table.get(name), str)},
    )


def _index(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _plan(table: object) -> Plan | None:
    import tomli_w

    from inspector.strategies.plan import Plan, PlanError

    if not isinstance(table, dict):
        return None
    try:
        return Plan.from_toml(tomli_w.dumps(table))
    except (PlanError, TypeError, ValueError):
        return None


def save_state(session: Path, state: SessionState, folder: Path | None = None) -> None:
    """Save the state of a session.

    Raises:
        OSError: It cannot be written.
    """
    import tomllib

    import tomli_w

    from inspector.atomic_files import evict, replacing

    table: dict[str, Any] = {"letter": state.letter, "plan_open": state.plan_open}
    if state.block >= 0:
        table["block"] = state.block
    table |= {name: look for name in LOOKS if (look := getattr(state, name))}
    if state.call is not None:
        table["call"] = state.call
    table["plans"] = {letter: tomllib.loads(plan.to_toml()) for letter, plan in state.plans.items()}
    path = state_path(session, folder)
    with replacing(path) as file:
        tomli_w.dump(table, file)
    evict(path.parent, most_files=MOST_KEPT)
