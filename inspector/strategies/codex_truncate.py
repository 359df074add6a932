"""Cut the middle out of large tool results when they enter the conversation, as Codex does.

Source: `truncate_text` and `formatted_truncate_text` of Codex (openai/codex `codex-rs/utils/output-truncation`). Every
result is cut to the model's budget, in tokens of four bytes or in bytes, with a fifth more allowed for what is around
it. Output of commands was cut to the budget itself before, with a line that says so. Each model has a policy of its
own; 10,000 is the usual one, of either unit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from inspector.strategies.base import Decision
from inspector.strategies.cut_middle import CutMiddle
from inspector.strategies.schedules import ScheduleBuilder
from inspector.strategies.settings import choice, number, tools, whole
from inspector.strategies.tools import Meaning, meaning_mask
from inspector.strategies.tunable import Tunable

if TYPE_CHECKING:
    from inspector.strategies.base import Schedule
    from inspector.strategies.history import History


@dataclass(frozen=True)
class CodexTruncate(Tunable):
    """Keep both ends of large results, once, when they are inserted."""

    name: ClassVar[str] = "codex-truncate"
    title: ClassVar[str] = "Truncate at insertion (Codex)"
    summary: ClassVar[str] = "Insert large results without their middle, cut to a budget of tokens or bytes."
    source: ClassVar[str] = "openai/codex codex-rs/utils/output-truncation"

    budget: int = whole("budget", 10_000, "What a result may have.", "tokens or bytes", maximum=10_000_000)
    unit: str = choice("unit", ("tokens", "bytes"), "What the budget is in; a token is four bytes.")
    allowance: float = number(
        "allowance", 1.2, "What the budget is multiplied by where a result is not announced.", minimum=1.0, maximum=10.0
    )
    announced: str = choice(
        "announced", ("commands", "all", "none"), "Whose results say, before the text, that they were cut."
    )
    command_tools: tuple[str, ...] = tools("command-tools", (), "Tools that run commands, besides those known to.")

    def schedule(self, history: History) -> Schedule:
        """Every result is decided when it enters."""
        builder = ScheduleBuilder()
        in_tokens = self.unit == "tokens"
        announced = CutMiddle(self.budget, in_tokens, announced=True)
        plain = CutMiddle(math.ceil(self.budget * self.allowance), in_tokens, announced=False)
        results = history.results
        commands = meaning_mask(history.tool_names, (Meaning.SHELL,), self.command_tools)[history.tool[results]]
        says = {"commands": commands, "all": commands | True, "none": commands & False}[self.announced]
        for chosen, operation in ((results[says], announced), (results[~says], plain)):
            builder.add(chosen, history.enters[chosen], Decision(operation, "large at insertion"))
        return builder.schedule()
