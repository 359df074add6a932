"""Model names as sessions record them: what stands before the name, what is appended to it, and the name itself.

One model is written in many ways: `claude-opus-4-8[1m]`, `anthropic/claude-opus-4.8`,
`us.anthropic.claude-opus-4-8-v1:0`, `claude-opus-4-8@20260401`, `openrouter/anthropic/claude-opus-4.8:thinking`.
Prices, cache rules and tokenizer ratios all need to know which model is meant. A session names one with every call, and
few different ones: a `Categorical` column.
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
_DATE = re.compile(r"(?:[-@](?:20\d{6}|20\d\d-\d\d-\d\d)|-latest|@latest)$")
_BEDROCK = re.compile(
    r"^(?:(?:us|us-gov|eu|apac|jp|au|ca|sa|global)\.)?(?:anthropic|amazon|meta|mistral|deepseek|openai|qwen|zai)\."
)
_BEDROCK_VERSION = re.compile(r"-v\d+(?::\d+)?(?::\d+k)?$")


class ModelName(NamedTuple):
    """A recorded model name taken apart.

    Attributes:
        route: What was written before the name, outermost first: `("openrouter", "anthropic")`. Empty for none.
        name: The name in lower case, without route, context-window suffix, region, effort or date.
        as_served: The name without route and context-window suffix only: what the serving provider calls it.
        on_bedrock: It is written the way Amazon Bedrock names models.
    """

    route: tuple[str, ...]
    name: str
    as_served: str
    on_bedrock: bool


@lru_cache(maxsize=1024)  # asked for every call of a session, which knows a few names
def parse_model_name(model: str) -> ModelName:
    """The parts of a recorded model name; every part is empty for an empty name."""
    *route, served = _BRACKETS.sub("", model.strip().lower()).split("/")
    on_bedrock = bool(_BEDROCK.match(served))
    name = _BEDROCK_VERSION.sub("", _BEDROCK.sub("", served)) if on_bedrock else served
    # A date may follow an effort and the other way round.
    for _ in range(2):
        name = _DATE.sub("", _EFFORT.sub("", name))
    return ModelName(tuple(part for part in route if part), name, served, on_bedrock)


def is_openai(name: str) -> bool:
    """Whether a model is OpenAI's, by its name as `ModelName.name` has it."""
    return name.startswith(("gpt-", "codex", "o1", "o3", "o4", "chatgpt"))


def model_version(name: str, family: str) -> tuple[int, int] | None:
    """Major and minor version of a model of a family, in either order of words and with dots or dashes.

    `claude-opus-4-8`, `claude-opus-4.8`, `claude-4-8-opus` are all (4, 8) of `opus`; `gpt-5.6-sol` is (5, 6) of `gpt`.

    Args:
        name: A name as `ModelName.name` has it.
        family: The word that names the family.

    Returns:
        None where the name has no such word or no version.
    """
    number = r"(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)"
    found = re.search(rf"\b{family}[-.]?{number}", name) or re.search(rf"\b{number}-{family}\b", name)
    return (int(found[1]), int(found[2] or 0)) if found else None


class Categorical(NamedTuple):
    """A column of words of which few are different, as numbers.

    Attributes:
        names: The different words in order of first use.
        code: Per word, index into `names`, intp.
    """

    names: tuple[str, ...]
    code: NDArray[np.intp]

    @classmethod
    def of(cls, words: Sequence[str] | Categorical) -> Categorical:
        """The words as numbers, unless they are already."""
        if isinstance(words, Categorical):
            return words
        codes: dict[str, int] = {}
        code = np.array([codes.setdefault(word, len(codes)) for word in words], dtype=np.intp)
        return cls(tuple(codes), code)

    @classmethod
    def renumbered(cls, names: Sequence[str], code: NDArray[np.integer]) -> Categorical:
        """Words numbered in any order, renumbered in the order of first use; `names` may hold others."""
        used = {number: int(np.argmax(code == number)) for number in np.flatnonzero(np.bincount(code)).tolist()}
        order = sorted(used, key=used.__getitem__)
        numbers = np.zeros(len(names), dtype=np.intp)
        numbers[order] = np.arange(len(order))
        return cls(tuple(names[number] for number in order), numbers[code])

    def and_again(self) -> Categorical:
        """The words and the last of them once more; a single empty word where there is none."""
        if not len(self.code):
            return Categorical(("",), np.zeros(1, dtype=np.intp))
        return Categorical(self.names, np.append(self.code, self.code[-1]))
