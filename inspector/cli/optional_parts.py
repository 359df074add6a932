"""Optional parts of an installation: purpose and availability."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple


class OptionalPart(NamedTuple):
    """One extra of the package.

    Attributes:
        name: Name in `pip install 'session-inspector[NAME]'`.
        text: Purpose.
        library: The distribution that provides it.
    """

    name: str
    text: str
    library: str

    @property
    def installed(self) -> str:
        """Installed version; empty if it is not installed."""
        return version_of(self.library)


OPTIONAL_PARTS = (
    OptionalPart("html", "interactive charts, PNG pictures", "vl-convert-python"),
    OptionalPart("speed", "several times faster token counting", "splintr-rs"),
    OptionalPart("serve", "the screen in a browser", "textual-serve"),
    OptionalPart("texts", "detection of secrets in reported texts", "bc-detect-secrets"),
    OptionalPart("fleet", "many sessions on a cluster", "distributed"),
    OptionalPart("mcp", "a server for an agent's queries on its own session", "mcp"),
    OptionalPart("langchain", "plans in LangChain agents", "langchain"),
    OptionalPart("openai-agents", "plans in the OpenAI Agents SDK", "openai-agents"),
    OptionalPart("litellm", "plans in LiteLLM's proxy", "litellm"),
    OptionalPart("pydantic-ai", "plans in pydantic-ai", "pydantic-ai-slim"),
)


def version_of(library: str) -> str:
    """Return the version of an installed distribution; empty if it is not installed."""
    try:
        return version(library)
    except PackageNotFoundError:
        return ""


def version_text() -> str:
    """Return the program's version with its optional parts below."""
    from inspector import __version__

    lines = [f"inspector {__version__}"]
    width = max(len(part.name) for part in OPTIONAL_PARTS)
    for part in OPTIONAL_PARTS:
        said = f"{part.library} {part.installed}" if part.installed else "not installed"
        lines.append(f"  [{part.name}]{'':<{width + 1 - len(part.name)}}{said:<30}{part.text}".rstrip())
    missing = ",".join(part.name for part in OPTIONAL_PARTS if not part.installed)
    if missing:
        lines.append(f"install missing parts: pip install 'session-inspector[{missing}]'")
    return "".join(f"{line}\n" for line in lines)
