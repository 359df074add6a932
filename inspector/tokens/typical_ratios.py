"""Typical ratios of provider tokens to counted tokens by model family, used until a session is calibrated.

Measured on 1,540 public coding sessions of 2026: recorded prompt totals against `o200k_base` counts. Claude models up
to 4.6 count 10 to 20 % more than `o200k_base` on code and tool output, from 4.7 on about 50 % more; OpenAI models from
GPT-4o on use it. Single texts vary by ±20 %, so a session's own fit takes precedence.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from inspector.tokens.model_names import is_openai, model_version, parse_model_name


class Coefficients(NamedTuple):
    """Conversion of counted tokens to provider tokens.

    Attributes:
        ratio: Provider tokens per counted token.
        per_block: Tokens around every block: roles, ids, the envelope of calls and results.
        per_signature_character: Tokens per character of a thinking block's signature or encrypted content, which
            represents hidden reasoning in the context.
        per_media_token: Provider tokens per token of images and documents according to the published rule.
    """

    ratio: float
    per_block: float
    per_signature_character: float
    per_media_token: float = 1.0


_CLAUDE_RATIOS = {
    ("opus", (4, 7)): 1.60,
    ("opus", (4, 8)): 1.55,
    ("opus", (5, 0)): 1.50,
    ("sonnet", (5, 0)): 1.55,
    ("fable", (5, 0)): 1.57,
}
_CLAUDE_UNTIL_4_6 = 1.15
_CLAUDE_SINCE_4_7 = 1.55
_CLAUDE_BLOCK, _CLAUDE_SIGNATURE = 25.0, 0.22
_OPENAI = Coefficients(1.0, 6.0, 0.2)
_OTHERS = Coefficients(1.1, 8.0, 0.2)


def typical_coefficients(model: str) -> Coefficients:
    """Return the typical coefficients of a model's family; a guess for models that were not measured."""
    name = parse_model_name(model).name
    if "claude" in name:
        return Coefficients(_claude_ratio(name), _CLAUDE_BLOCK, _CLAUDE_SIGNATURE)
    if is_openai(name):
        return _OPENAI
    return _OTHERS


def tokenizer_family(model: str) -> str:
    """Return the family of models with the same token counts; empty for a model without a name."""
    name = parse_model_name(model).name
    if "claude" in name:
        return "claude since 4.7" if _claude_ratio(name) > _CLAUDE_UNTIL_4_6 else "claude until 4.6"
    if is_openai(name):
        return "openai"
    return re.split(r"[^a-z]", name, maxsplit=1)[0]


def drops_reasoning(model: str) -> bool:
    """Return True if reasoning leaves the prompt with the next user message, as OpenAI documents.

    Claude models keep it; recorded sessions of both confirm that.
    """
    return is_openai(parse_model_name(model).name)


def _claude_ratio(name: str) -> float:
    for family in ("opus", "sonnet", "haiku", "fable", "mythos"):
        if version := model_version(name, family):
            newer = version >= (4, 7)
            return _CLAUDE_RATIOS.get((family, version), _CLAUDE_SINCE_4_7 if newer else _CLAUDE_UNTIL_4_6)
    return _CLAUDE_UNTIL_4_6
