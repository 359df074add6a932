"""Parse recorded model names: prefixes, suffixes and the name itself.

One model has many names: `claude-opus-4-8[1m]`, `anthropic/claude-opus-4.8`, `us.anthropic.claude-opus-4-8-v1:0`,
`claude-opus-4-8@20260401`, `openrouter/anthropic/claude-opus-4.8:thinking`. Prices, cache rules and tokenizer ratios
need to identify the model. A session names a model with every call but uses few different ones, so they are stored in a
`Categorical` column.
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
    """A column of words with few distinct values, stored as codes.

    Attributes:
        names: The distinct words in order of first use.
        code: Per word, index into `names`, intp.
    """

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
