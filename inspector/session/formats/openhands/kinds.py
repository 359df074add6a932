"""The kinds of events of OpenHands, and those among them that are counted and not shown."""

from __future__ import annotations

QUIET = frozenset(
    {"ConversationStateUpdateEvent", "CondensationRequest", "LLMCompletionLogEvent", "PauseEvent", "TokenEvent"}
    | {"StreamingDeltaEvent"}
)
"""Kinds that are counted and not shown."""

RESULTS = frozenset({"ObservationEvent", "AgentErrorEvent", "UserRejectObservation"})

KINDS = (
    QUIET
    | RESULTS
    | {"ActionEvent", "MessageEvent", "SystemPromptEvent", "Condensation", "CondensationSummaryEvent"}
    | {"ConversationErrorEvent", "HookExecutionEvent", "InterruptEvent"}
)

QUIET_ACTIONS = frozenset(
    {
        "change_agent_state",
        "condensation_request",
        "loop_recovery",
        "null",
        "pause",
        "recall",
        "resume",
        "start",
        "stop",
    }
)
QUIET_OBSERVATIONS = frozenset({"agent_state_changed", "null"})
"""Actions and observations of version 0 that are counted and not shown."""
