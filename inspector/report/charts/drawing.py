"""Charts drawn: as SVG, and as the script a page draws them with again where a reader's pointer asks for more.

vl-convert is an optional part of the installation. It carries Vega, Vega-Lite and Vega-Embed and fetches nothing. Where
it is not there, charts are drawn plainly, see `plain_drawing`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from inspector.errors import InspectorError
from inspector.tokens.address_space import address_space_limit

if TYPE_CHECKING:
    from types import ModuleType


ANY_FIXED_WIDTH = "font-family: monospace, monospace;"
FIXED_WIDTH = (
    "font-family: 'DejaVu Sans Mono', 'Noto Sans Mono', Menlo, Consolas, 'Cascadia Mono', 'Liberation Mono', monospace;"
)
"""Named fonts that have the bars and marks of the screen: what `monospace` stands for often has not."""


ADDRESS_SPACE_NEEDED = 128 << 30
"""Bytes a process must be allowed: V8, which draws, reserves 64 GiB at first and ends the process where it may not."""


class ChartsMissingError(InspectorError):
    """The library that draws charts is not installed; the message says how to install it."""

    advice = "pip install 'session-inspector[html]'"


class AddressSpaceError(ChartsMissingError):
    """What draws charts would end the whole program, as its engine does where it may not reserve what it wants."""

    advice = "raise the limit: ulimit -v unlimited"


def load_drawing() -> ModuleType:
    """The library that draws.

    Raises:
        ChartsMissingError: It is not installed, or has too little address space.
    """
    limit = address_space_limit()
    if limit is not None and limit < ADDRESS_SPACE_NEEDED:
        needed, allowed = (f"{size / 2**30:.3g} GB" for size in (ADDRESS_SPACE_NEEDED, limit))
        message = f"charts need {needed} of address space, and the limit is {allowed}"
        raise AddressSpaceError(message)
    try:
        import vl_convert
    except ImportError:
        message = f"PNG pictures need an optional part of the program: {ChartsMissingError.advice}"
        raise ChartsMissingError(message) from None
    return vl_convert


def can_draw() -> bool:
    """Whether the library that draws charts can do so here."""
    try:
        load_drawing()
    except ChartsMissingError:
        return False
    return True


def svg(specification: dict[str, Any]) -> str:
    """A chart as an SVG picture: by the library, or plainly where it cannot draw here."""
    if not can_draw():
        from inspector.report.charts.plain_drawing import plain_svg

        return plain_svg(specification)
    # No data may come from anywhere but the specification itself.
    drawn: str = load_drawing().vegalite_to_svg(specification, allowed_base_urls=[])
    return drawn


def png(picture: str, scale: float) -> bytes:
    """An SVG picture as a PNG.

    Args:
        picture: The SVG.
        scale: Pixels for one of its own.

    Raises:
        ChartsMissingError: Nothing can draw it here.
    """
    drawn: bytes = load_drawing().svg_to_png(picture.replace(ANY_FIXED_WIDTH, FIXED_WIDTH), scale=scale)
    return drawn


def still(specification: dict[str, Any]) -> dict[str, Any]:
    """A chart without the layers that only answer the pointer."""
    # Readers' fonts may be wider than the one the drawing was measured with.
    roomy = {**specification, "padding": {"left": 18, "right": 18, "top": 5, "bottom": 5}}
    layers = specification.get("layer")
    return roomy if layers is None else {**roomy, "layer": [layer for layer in layers if "params" not in layer]}


@cache
def script(own: str) -> str:
    """A script that holds the drawing library and, behind it, `own`, which finds it as `vegaEmbed`.

    Raises:
        ChartsMissingError: Nothing can draw here.
    """
    bundle: str = load_drawing().javascript_bundle(own)
    # Within a page, these would end the script or open a comment, wherever they stand.
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")
