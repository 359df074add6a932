"""What a reader should know before believing a report's figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.report.numbers import plural
from inspector.report.private_paths import shown_path

if TYPE_CHECKING:
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.session.model import Session

LISTED_DIAGNOSTICS = 100
"""How many diagnostics a session lists; there may be more."""


def caveats(inputs: ReplayInputs) -> list[str]:
    """One sentence for everything that makes figures less than they seem, the gravest first."""
    session = inputs.history.session
    found = [
        _no_calls(session),
        _inherited(session),
        _skipped(session),
        _usage(inputs),
        _output(inputs),
        inputs.table.counter.advice,
        inputs.pricing.advice(call.model for call in session.calls),
    ]
    return [sentence for sentence in found if sentence]


def _no_calls(session: Session) -> str:
    if session.calls:
        return ""
    return "the session holds no call to a model: there is nothing to replay"


def _inherited(session: Session) -> str:
    inherited = sum(session.messages[call.response].is_inherited for call in session.calls)
    if not inherited:
        return ""
    total = plural(len(session.calls), "call")
    return f"{inherited:,} of {total} were copied from an earlier session, which was billed for them"


def _skipped(session: Session) -> str:
    read_in_part = sum(not diagnostic.skipped for diagnostic in session.diagnostics)
    parts = [f"{plural(session.skipped_records, 'record')} could not be read"] if session.skipped_records else []
    some = " or more" if len(session.diagnostics) >= LISTED_DIAGNOSTICS else ""
    parts += [f"{plural(read_in_part, 'record')}{some} could be read only in part"] if read_in_part else []
    return f"{' and '.join(parts)}; where: inspector formats {shown_path(session.path)}" if parts else ""


def _usage(inputs: ReplayInputs) -> str:
    missing = int((~inputs.reported).sum())
    if not missing:
        return ""
    if missing == len(inputs.reported):
        return (
            "the file reports no usage: prompts are our count of what it shows, without tools and hidden system "
            "prompts, and the prompt cache is simulated"
        )
    total = plural(len(inputs.reported), "call")
    return f"nothing was reported for {missing:,} of {total}: their prompts are our count, their cache is simulated"


def _output(inputs: ReplayInputs) -> str:
    placeholders = sum(
        call.usage is not None and call.usage.output_is_placeholder for call in inputs.history.session.calls
    )
    if not placeholders:
        return ""
    return (
        f"a placeholder stands for the output tokens of {plural(placeholders, 'call')}: output and its cost are too low"
    )
