"""How responses are found again in later prompts: what is measured of them, and what becomes of their reasoning.

A provider reports how long a response was, reasoning included, and the prompts after it hold it again. What they hold
of its reasoning differs by provider, by model and by how the agent sends it back, and files do not say: all of it, that
since the user's last message, that of the last response, or none. So each is tried on the session's own reports. Where
lengths were not reported, or are placeholders, responses are measured by their texts, and reasoning by its signature.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Reading(StrEnum):
    """What stands for responses in prompts."""

    SIGNATURES = "texts and signatures"
    """Texts by our count, reasoning by the characters of its signature."""
    KEPT = "reported length, reasoning kept"
    """The reported length."""
    SINCE_USER = "reported length, reasoning since the user's last message"
    """The reported length; without its reasoning, once the user has said something more."""
    LAST = "reported length, reasoning of the last response"
    """The reported length; without its reasoning, once there is a later response."""
    DROPPED = "reported length, reasoning dropped"
    """The reported length without its reasoning."""


class PromptColumns(NamedTuple):
    """Per call, what its prompt holds on one reading, int64.

    Attributes:
        counted: Tokens as counted, of what is not measured otherwise.
        blocks: Blocks.
        reasoning: Characters of signatures; on the other readings, reported tokens of responses.
    """

    counted: NDArray[np.int64]
    blocks: NDArray[np.int64]
    reasoning: NDArray[np.int64]
