"""A page as one HTML file: everything in it, nothing fetched, nothing in it that could run but its own script.

Foreign text is escaped by the template. Were any to slip through, the page's policy still lets no script run and no
style apply but the two whose digests it names, and lets nothing be fetched at all.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

import inspector
from inspector.report.charts.drawing import can_draw, script, still, svg
from inspector.report.pages.model import Chart

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from inspector.report.pages.model import PageContent

MOST_ROWS = 25
"""A longer table is folded away."""

FEW_ROWS = 14
"""The same behind a chart that says the same."""


def html(
    content: PageContent,
    charts: Mapping[str, dict[str, Any]],
    *,
    answers_pointer: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,  # noqa: ARG005  nobody looks
) -> str:
    """The whole page. Where the library that draws charts is not at hand they are drawn plainly, and so is said.

    Args:
        content: What it says.
        charts: Vega-Lite specifications by name; a chart that is missing here is left out.
        answers_pointer: Hold the script that draws the charts again so that they answer the pointer: most of the
            page's size, and no help where scripts do not run.
        progress: Told how many of all charts are drawn: most of the work.
    """
    named = {part.name for section in content.sections for part in section.parts if isinstance(part, Chart)}
    specified = {name: specification for name, specification in charts.items() if name in named}
    is_plain = not can_draw()
    pictures = {}
    for done, (name, specification) in enumerate(specified.items()):
        progress(done, len(specified))
        picture = svg(specification if is_plain and answers_pointer else still(specification))
        pictures[name] = Markup(picture)  # noqa: S704  our own, foreign text in it escaped
    style = _asset("page.css")
    code = script(_asset("charts.js")) if specified and answers_pointer and not is_plain else ""
    environment = Environment(autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    template = environment.from_string(_asset("page.html.jinja"))
    # The pictures, the style and the script are this program's own; foreign text in pictures was escaped with them.
    return template.render(
        content=content,
        most_rows=MOST_ROWS,
        few_rows=FEW_ROWS,
        version=inspector.__version__,
        policy=_policy(style, code),
        is_plain=is_plain and bool(specified),
        style=Markup(style),  # noqa: S704  our own
        script=Markup(code),  # noqa: S704  our own
        pictures=pictures,
        specifications=specified,
    )


def _asset(name: str) -> str:
    return (files("inspector.report.pages") / "assets" / name).read_text(encoding="utf-8")


def _policy(style: str, code: str) -> str:
    scripts = f"'{_digest(code)}'" if code else "'none'"
    return (
        f"default-src 'none'; script-src {scripts}; style-src '{_digest(style)}'; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
