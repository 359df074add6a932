"""Parse recorded model names: prefixes, suffixes and the name itself.

One model has many names: `claude-opus-4-8[1m]`, `anthropic/claude-opus-4.8`, `us.anthropic.claude-opus-4-8-v1:0`,
`claude-opus-4-8@20260401`, `openrouter/anthropic/claude-opus-4.8:thinking`. Prices, cache rules and tokenizer ratios
need to identify the model. A session names a model with every call but uses few different ones, so they are stored in a
`Categorical` column.

The typical ratio of provider tokens to counted tokens of a model's family is used until a session is calibrated. The
ratios were measured on 1,540 public coding sessions of 2026: recorded prompt totals against `o200k_base` counts. Claude
models up to 4.6 count 10 to 20 % more than `o200k_base` on code and tool output, from 4.7 on about 50 % more; OpenAI
models from GPT-4o on use it. Single texts vary by ±20 %, so a session's own fit takes precedence.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


_BRACKETS = re.compile(r"\s*\[[^\]]*\]\s*$")
_EFFORT = re.compile(r"[-:](thinking|minimal|low|medium|high|xhigh)$")
_VARIANT = re.compile(r":(free|batch|nitro|floor|exacto|online|extended|beta|reasoning-exclude|none|max)$")
"""Endings of OpenRouter and like gateways, which select a route, a price or an effort for the same model."""

_DATE = re.compile(r"(?:[-@](?:20\d{6}|20\d\d-\d\d-\d\d)|-latest|@latest)$")
_BEDROCK = re.compile(
    r"^(?:(?:us|us-gov|eu|apac|jp|au|ca|sa|global)\.)?(?:anthropic|amazon|meta|mistral|deepseek|openai|qwen|zai)\."
)
_BEDROCK_VERSION = re.compile(r"-v\d+(?::\d+)?(?::\d+k)?$")


class ModelName(NamedTuple):
    """A parsed model name.

    Attributes:
        route: Prefixes, outermost first: `("openrouter", "anthropic")`. May be empty.
        name: The name in lower case, without route, context-window suffix, region, variant, effort or date.
        as_served: The name without route and context-window suffix: the serving provider's name for the model.
        on_bedrock: True if the name has the form of Amazon Bedrock.
    """

    route: tuple[str, ...]
    name: str
    as_served: str
    on_bedrock: bool


@lru_cache(maxsize=1024)  # called for every call of a session, with few different names
def parse_model_name(model: str) -> ModelName:
    """Parse a recorded model name; all parts of an empty name are empty."""
    *route, served = _BRACKETS.sub("", model.strip().lower()).split("/")
    on_bedrock = bool(_BEDROCK.match(served))
    name = _BEDROCK_VERSION.sub("", _BEDROCK.sub("", served)) if on_bedrock else served
    # A date may follow an effort and vice versa.
    for _ in range(2):
        name = _DATE.sub("", _EFFORT.sub("", _VARIANT.sub("", name)))
    return ModelName(tuple(part for part in route if part), name, served, on_bedrock)


def is_openai(name: str) -> bool:
    """Return True if a model is OpenAI's, given its `ModelName.name`."""
    return name.startswith(("gpt-", "codex", "o1", "o3", "o4", "chatgpt"))


def model_version(name: str, family: str) -> tuple[int, int] | None:
    """Return major and minor version of a model of a family, for any word order and with dots or dashes.

    `claude-opus-4-8`, `claude-opus-4.8`, `claude-4-8-opus` are all (4, 8) of `opus`; `gpt-5.6-sol` is (5, 6) of `gpt`.

    Args:
        name: A `ModelName.name`.
        family: The word that names the family.

    Returns:
        The version, or None if the name does not contain the word or a version.
    """
    number = r"(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)"
    found = re.search(rf"\b{family}[-.]?{number}", name) or re.search(rf"\b{number}-{family}\b", name)
    return (int(found[1]), int(found[2] or 0)) if found else None


class Categorical(NamedTuple):
    """A column of words with few distinct values: `names` in order of first use, `code` per word, intp."""

    names: tuple[str, ...]
    code: NDArray[np.intp]

    @classmethod
    def of(cls, words: Sequence[str] | Categorical) -> Categorical:
        """Encode words; a `Categorical` is returned unchanged."""
        if isinstance(words, Categorical):
            return words
        codes: dict[str, int] = {}
        code = np.array([codes.setdefault(word, len(codes)) for word in words], dtype=np.intp)
        return cls(tuple(codes), code)

    @classmethod
    def renumbered(cls, names: Sequence[str], code: NDArray[np.integer]) -> Categorical:
        """Renumber codes in order of first use; unused `names` are dropped."""
        used = {number: int(np.argmax(code == number)) for number in np.flatnonzero(np.bincount(code)).tolist()}
        order = sorted(used, key=used.__getitem__)
        numbers = np.zeros(len(names), dtype=np.intp)
        numbers[order] = np.arange(len(order))
        return cls(tuple(names[number] for number in order), numbers[code])

    def and_again(self) -> Categorical:
        """Repeat the last word; without words, return a single empty one."""
        if not len(self.code):
            return Categorical(("",), np.zeros(1, dtype=np.intp))
        return Categorical(self.names, np.append(self.code, self.code[-1]))


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
    """Return True if the next user message removes reasoning, as OpenAI documents; Claude models keep it."""
    return is_openai(parse_model_name(model).name)


def _claude_ratio(name: str) -> float:
    for family in ("opus", "sonnet", "haiku", "fable", "mythos"):
        if version := model_version(name, family):
            newer = version >= (4, 7)
            return _CLAUDE_RATIOS.get((family, version), _CLAUDE_SINCE_4_7 if newer else _CLAUDE_UNTIL_4_6)
    return _CLAUDE_UNTIL_4_6
