"""Draw charts as SVG, and build the script that redraws them interactively in a page.

vl-convert is an optional dependency. It bundles Vega, Vega-Lite and Vega-Embed and fetches nothing. Without it, charts
are drawn by `plain_drawing`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from inspector.errors import InspectorError
from inspector.process_memory import address_space_limit

if TYPE_CHECKING:
    from types import ModuleType


ANY_FIXED_WIDTH = "font-family: monospace, monospace;"
FIXED_WIDTH = (
    "font-family: 'DejaVu Sans Mono', 'Noto Sans Mono', Menlo, Consolas, 'Cascadia Mono', 'Liberation Mono', monospace;"
)
"""Named fonts with the glyphs of the screen's bars and marks, which the system's `monospace` often lacks."""


ADDRESS_SPACE_NEEDED = 128 << 30
"""Required address space in bytes: V8 reserves 64 GiB at first and kills the process if it cannot."""


class ChartsMissingError(InspectorError):
    """The library that draws charts is not installed; the message says how to install it."""

    advice = "pip install 'session-inspector[html]'"


class AddressSpaceError(ChartsMissingError):
    """Too little address space to draw: the engine would kill the whole process."""

    advice = "raise the limit: ulimit -v unlimited"


def load_drawing() -> ModuleType:
    """Import the drawing library.

    Raises:
        ChartsMissingError: It is not installed, or has too little address space.
    """
    limit = address_space_limit()
    if limit is not None and limit < ADDRESS_SPACE_NEEDED:
        needed, allowed = (f"{size / 2**30:.3g} GB" for size in (ADDRESS_SPACE_NEEDED, limit))
        message = f"charts need {needed} of address space, but the limit is {allowed}"
        raise AddressSpaceError(message)
    try:
        import vl_convert
    except ImportError:
        message = f"PNG pictures need an optional part of the program: {ChartsMissingError.advice}"
        raise ChartsMissingError(message) from None
    return vl_convert


def can_draw() -> bool:
    """Return True if the chart library is usable here."""
    try:
        load_drawing()
    except ChartsMissingError:
        return False
    return True


def svg(specification: dict[str, Any]) -> str:
    """Draw a chart as SVG, by the library or else by `plain_drawing`."""
    if not can_draw():
        from inspector.report.charts.plain_drawing import plain_svg

        return plain_svg(specification)
    # Data may only come from the specification.
    drawn: str = load_drawing().vegalite_to_svg(specification, allowed_base_urls=[])
    return drawn


def png(picture: str, scale: float) -> bytes:
    """Convert an SVG picture to PNG.

    Args:
        picture: The SVG.
        scale: Pixels per pixel of the SVG.

    Raises:
        ChartsMissingError: The library is not usable here.
    """
    drawn: bytes = load_drawing().svg_to_png(picture.replace(ANY_FIXED_WIDTH, FIXED_WIDTH), scale=scale)
    return drawn


def still(specification: dict[str, Any]) -> dict[str, Any]:
    """Remove a chart's hover layers."""
    # Readers' fonts may be wider than the one used for measuring.
    roomy = {**specification, "padding": {"left": 18, "right": 18, "top": 5, "bottom": 5}}
    layers = specification.get("layer")
    return roomy if layers is None else {**roomy, "layer": [layer for layer in layers if "params" not in layer]}


@cache
def script(own: str) -> str:
    """Bundle the drawing library with a script.

    Args:
        own: A script that finds the library as `vegaEmbed`.

    Raises:
        ChartsMissingError: The library is not usable here.
    """
    bundle: str = load_drawing().javascript_bundle(own)
    # In a page, these would end the script or open a comment anywhere.
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")
