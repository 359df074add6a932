"""A page as one self-contained HTML file that fetches nothing and runs no script but its own.

The template escapes foreign text. As a second line of defense, the page's content security policy allows only the
script and the style with the listed digests, and no network access.
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
"""Tables with this many rows or more are folded."""

FEW_ROWS = 14
"""Tables that repeat the figures of a chart are folded from this many rows."""


def html(
    content: PageContent,
    charts: Mapping[str, dict[str, Any]],
    *,
    is_interactive: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,  # noqa: ARG005  no-op default
) -> str:
    """Write the page. Without the chart library, charts are drawn by `plain_drawing`, and the page notes it.

    Args:
        charts: Vega-Lite specifications by name; charts that are missing here are left out.
        is_interactive: Include the script that redraws charts: most of the page's size, useless if scripts are off.
        progress: Called with the number of drawn charts and their total, which is most of the work.
    """
    parts = [content.chart, *(part for section in content.sections for part in section.parts)]
    named = {part.name for part in parts if isinstance(part, Chart)}
    specified = {name: specification for name, specification in charts.items() if name in named}
    is_plain = not can_draw()
    pictures = {}
    for done, (name, specification) in enumerate(specified.items()):
        progress(done, len(specified))
        picture = svg(specification if is_plain and is_interactive else still(specification))
        pictures[name] = Markup(picture)  # noqa: S704  generated here with foreign text escaped
    style = _asset("page.css")
    code = script(_asset("charts.js")) if specified and is_interactive and not is_plain else ""
    environment = Environment(autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    template = environment.from_string(_asset("page.html.jinja"))
    # Pictures, style and script are generated here; foreign text in pictures is escaped already.
    return template.render(
        content=content,
        most_rows=MOST_ROWS,
        few_rows=FEW_ROWS,
        version=inspector.__version__,
        policy=_policy(style, code),
        is_plain=is_plain and bool(specified),
        style=Markup(style),  # noqa: S704  generated here
        script=Markup(code),  # noqa: S704  generated here
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
