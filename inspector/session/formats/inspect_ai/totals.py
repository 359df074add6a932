"""Totals of a sample: usage by model, for logs whose events were not kept.

Answers from Inspect's cache are not part of it (`inspect_ai/model/_model.py`: `record_and_check_model_usage`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.json.values import clean_string, mapping
from inspector.session.model import NO_MESSAGE, RecordedTotals, SideCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.session.builder import SessionBuilder
    from inspector.session.model import Usage

MODEL_USAGE = "model_usage"


def add_model_usage(builder: SessionBuilder, recorded: Any, usage_of: Callable[[Any], Usage | None]) -> None:
    """Add the recorded totals of a sample whose calls report no usage; models without messages are side requests.

    Args:
        builder: The session; its calls are complete.
        recorded: The sample's `model_usage`.
        usage_of: Converts the usage of one model.
    """
    found = {
        clean_string(name): (usage, mapping(value).get("total_cost"))
        for name, value in mapping(recorded).items()
        if (usage := usage_of(value)) is not None
    }
    if not found or not builder.calls:
        return
    costs = [cost for _, cost in found.values() if isinstance(cost, int | float) and not isinstance(cost, bool)]
    called, sides = {call.model for call in builder.calls}, []
    for name, (usage, _) in found.items():
        if name not in called:
            identifier = f"{MODEL_USAGE} {name}"
            made = SideCall(NO_MESSAGE, name, builder.calls[-1].time, usage, identifier, requests=0)
            builder.side_calls[identifier] = made
            sides.append((name, usage))
    builder.recorded_totals.append(
        RecordedTotals(
            MODEL_USAGE,
            tuple((name, usage) for name, (usage, _) in found.items()),
            cost_usd=sum(costs) if len(costs) == len(found) and sum(costs) > 0 else None,
            end_call=len(builder.calls),
            side_usages=tuple(sides),
        )
    )
