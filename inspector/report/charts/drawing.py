"""Draw charts as SVG, and build the script that redraws them interactively in a page.

vl-convert is an optional dependency, large as it is. It bundles Vega, Vega-Lite and Vega-Embed and fetches nothing.
Where it is missing or lacks address space, `plain_svg` draws the same specifications, so that a page always has charts.
The terminal's charts are cells with block characters (`inspector.ui.chart`) and share no geometry with either.

`plain_svg` supports the part of Vega-Lite that the charts of this folder use: layers of lines, areas, bars, rectangles,
rules, points and text on two axes, with a legend above. Tooltips are SVG titles, which browsers show without scripts.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from inspector.errors import InspectorError
from inspector.process_memory import address_space_limit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
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
    """Import the drawing library; raise `ChartsMissingError` if it is missing or has too little address space."""
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
    """Draw a chart as SVG, by the library or else by `plain_svg`."""
    if not can_draw():
        return plain_svg(specification)
    # Data may only come from the specification.
    drawn: str = load_drawing().vegalite_to_svg(specification, allowed_base_urls=[])
    return drawn


def png(picture: str, scale: float) -> bytes:
    """Convert an SVG to PNG, `scale` pixels per SVG pixel; raise `ChartsMissingError` without the library."""
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
    """Bundle the drawing library (`vegaEmbed`) with a script; raise `ChartsMissingError` without the library."""
    bundle: str = load_drawing().javascript_bundle(own)
    # In a page, these would end the script or open a comment anywhere.
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")


PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))

MINUS = "\N{MINUS SIGN}"


SMALLEST_SHARE = 1e-9
"""Relative differences below this, and dollars below it, count as zero."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Mapping of values to pixels.

    Attributes:
        least: First value.
        most: Last value; more than `least`.
        begin: Pixel of `least`.
        end: Pixel of `most`.
        ratio: Width of the linear part around zero of a symmetric logarithmic scale; 0 for a linear scale.
    """

    least: float
    most: float
    begin: float
    end: float
    ratio: float = 0.0

    def at(self, value: float) -> float:
        """Return the pixel of a value."""
        low, high = self._bent(self.least), self._bent(self.most)
        return self.begin + (self._bent(value) - low) / (high - low) * (self.end - self.begin)

    def _bent(self, value: float) -> float:
        if not self.ratio:
            return value
        return math.copysign(math.log1p(abs(value) / self.ratio), value)

    def ticks(self, count: int = 10, least_step: float = 0.0) -> list[float]:
        """Return about `count` round values: multiples of a step of 1, 2 or 5 times a power of ten."""
        if self.ratio:
            powers = [10.0**power for power in range(math.floor(math.log10(self.ratio)), 16)]
            return [value for value in (0.0, *powers) if self.least <= value <= self.most]
        step = max(round_step(self.most - self.least, count), least_step)
        first = math.ceil(self.least / step - 1e-9)
        last = math.floor(self.most / step + 1e-9)
        return [place * step for place in range(first, last + 1)]


def round_step(length: float, count: int) -> float:
    """Return a step of 1, 2 or 5 times a power of ten that divides a length into about `count` parts."""
    rough = length / max(count, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    share = rough / power
    factor = 10 if share >= math.sqrt(50) else 5 if share >= math.sqrt(10) else 2 if share >= math.sqrt(2) else 1
    return factor * power


def domain(
    values: Sequence[float], *, with_zero: bool, is_nice: bool, least: float | None, most: float | None
) -> tuple[float, float]:
    """Return the first and the greater last value of a scale, fixed if given; `is_nice` rounds both."""
    drawn = [*values, 0.0] if with_zero or not values else list(values)
    low = min(drawn) if least is None else least
    high = max(drawn) if most is None else most
    if high - low <= SMALLEST_SHARE * max(abs(low), abs(high), SMALLEST_SHARE):
        high = low + (abs(low) if abs(low) > SMALLEST_SHARE else 1.0)
    if is_nice:
        step = round_step(high - low, 10)
        low = low if least is not None else math.floor(low / step + 1e-9) * step
        high = high if most is not None else math.ceil(high / step - 1e-9) * step
    return low, high


def number(value: float, form: str) -> str:
    """Format a number like D3 (`,d`, `~s`, `$~f`, `,.3~r`, and others); raise `ValueError` for other formats."""
    size = abs(value)
    match form.removeprefix("$"):
        case ",d":
            text = f"{round(size):,}"
        case "~s":
            text = _short(size)
        case "~f":
            text = _trimmed(f"{size:.6f}")
        case ",~f" | "":
            text = _trimmed(f"{size:,.6f}")
        case ",.3~r":
            text = _trimmed(f"{float(f'{size:.3g}'):,.6f}")
        case ",.1f" | ",.2f" as grouped:
            text = format(size, grouped)
        case ",.4~f":
            text = _trimmed(f"{size:,.4f}")
        case _:
            raise ValueError(form)
    sign = MINUS if value < 0 and any(digit in text for digit in "123456789") else ""
    return f"{sign}{'$' if form.startswith('$') else ''}{text}"


def _short(size: float) -> str:
    for unit, prefix in PREFIXES:
        if size >= unit:
            return f"{_trimmed(f'{size / unit:.3f}')}{prefix}"
    return _trimmed(f"{size:.6f}")


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


Row = dict[str, Any]
Encoding = dict[str, Any]

CHARACTER = 6.6
"""Approximate width in pixels of a character in the axis font."""

TEXT_SIZE = 12

TICK_ROOM = 40
"""Default distance in pixels between two numbers of an axis."""

LEGEND_ROW = 20
SYMBOL = 26
"""Pixels before the text of a legend entry."""

MARGIN = 8
AXIS_ROOM = 46
"""Pixels below the chart for numbers and the axis title."""

NAMES = 200
"""Pixels at the left for names of bars."""

NUMBERS = 74
"""Pixels at the left for numbers and the axis title."""


@dataclass(frozen=True, slots=True)
class _Layer:
    rows: list[Row]
    mark: dict[str, Any]
    encoding: Encoding
    answers: bool

    def channel(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.encoding.get(name, {})
        return found

    def values(self, name: str) -> list[Any]:
        """Return the values of a channel on its axis."""
        channel = self.channel(name)
        if "datum" in channel:
            return [channel["datum"]]
        return [row[channel["field"]] for row in self.rows if "field" in channel and channel["field"] in row]


@dataclass(frozen=True, slots=True)
class _Bands:
    """Names in vertical bands of equal height."""

    names: tuple[str, ...]
    height: float

    def at(self, name: str) -> float:
        return self.names.index(name) * self.step

    @property
    def step(self) -> float:
        return self.height / max(len(self.names), 1)


@dataclass(frozen=True, slots=True)
class _Frame:
    """The chart's plot area: two axes and the size in pixels."""

    x: Scale
    y: Scale | _Bands
    width: float
    height: float


def plain_svg(specification: dict[str, Any]) -> str:
    """Draw a chart as SVG; raise `KeyError` or `ValueError` for an unsupported feature."""
    layers = _layers(specification)
    width, height = float(specification["width"]), float(specification["height"])
    config = specification["config"]
    ink, rule, font = config["axis"]["labelColor"], config["axis"]["gridColor"], config["font"]
    frame = _Frame(_scale(layers, "x", 0.0, width), _y_scale(layers, height), width, height)
    parts = [*_grid(layers, frame, rule)]
    for layer in layers:
        parts += _MARKS[layer.mark["type"]](layer, frame)
    parts += [*_x_axis(layers, frame, ink, rule), *_y_axis(layers, frame, ink)]
    entries = _legend(layers)
    rows = _legend_rows(entries, width)
    left, top = NAMES if isinstance(frame.y, _Bands) else NUMBERS, MARGIN + LEGEND_ROW * len(rows)
    across, down = _px(left + width + 3 * MARGIN), _px(top + MARGIN + height + AXIS_ROOM)
    paper = config.get("background")
    back = f'<rect width="{across}" height="{down}" fill="{escape(paper)}"/>' if paper else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="marks" width="{across}" height="{down}" '
        f'viewBox="0 0 {across} {down}" font-family="{escape(font)}" font-size="{TEXT_SIZE}">'
        f"{back}{''.join(_legend_drawn(rows, left, ink))}"
        f'<g transform="translate({_px(left)},{_px(top + MARGIN)})" fill="none">{"".join(parts)}</g></svg>'
    )


def _layers(specification: dict[str, Any]) -> list[_Layer]:
    shared = specification["data"]["values"]
    found = []
    for layer in specification.get("layer", [specification]):
        rows = layer["data"]["values"] if "data" in layer else shared
        for transform in layer.get("transform", ()):
            if transform != {"filter": "datum.cut != ''"}:
                raise ValueError(transform)
            rows = [row for row in rows if row["cut"]]
        encoding = layer["encoding"]
        if "bin" in encoding.get("x", {}):
            rows, encoding = _binned(rows, encoding)
        mark = {"type": layer["mark"]} if isinstance(layer["mark"], str) else layer["mark"]
        found.append(_Layer(rows, mark, encoding, "params" in layer))
    return found


def _binned(rows: list[Row], encoding: Encoding) -> tuple[list[Row], Encoding]:
    """Bin the rows of a histogram as Vega-Lite does."""
    x = encoding["x"]
    values = [row[x["field"]] for row in rows]
    low, high = domain(values, with_zero=False, is_nice=False, least=None, most=None)
    step = round_step(high - low, x["bin"]["maxbins"])
    while (high - low) / step > x["bin"]["maxbins"]:
        step *= 2
    counts = Counter(int(value // step) for value in values)
    name = f"bin_maxbins_{x['bin']['maxbins']}_{x['field']}"
    binned = [{name: at * step, "end": (at + 1) * step, "count": counts[at]} for at in sorted(counts)]
    title = x.get("title", "")
    return binned, {
        **encoding,
        "x": {"field": name, "type": "quantitative", "title": title, "scale": {"zero": False}},
        "x2": {"field": "end"},
        "y": {**encoding["y"], "field": "count", "type": "quantitative"},
        "tooltip": [
            {"field": name, "title": "from", "format": ",~f"},
            {"field": "end", "title": "to", "format": ",~f"},
            {"field": "count", "title": "sessions", "format": ",d"},
        ],
    }


def _described(layers: Sequence[_Layer], name: str) -> dict[str, Any]:
    """Return a channel from the first layer that gives it an axis."""
    every = [layer.channel(name) for layer in layers if layer.channel(name).get("type")]
    return next((channel for channel in every if channel.get("title") or channel.get("axis")), every[0])


def _scale(layers: Sequence[_Layer], name: str, begin: float, end: float) -> Scale:
    channels = [layer.channel(name) for layer in layers]
    scales = [channel["scale"] for channel in channels if "scale" in channel]
    values = [float(value) for layer in layers for each in (name, f"{name}2") for value in layer.values(each)]
    ratio = next((scale["constant"] for scale in scales if scale.get("type") == "symlog"), 0.0)
    least = next((scale["domainMin"] for scale in scales if "domainMin" in scale), None)
    most = next((scale["domainMax"] for scale in scales if "domainMax" in scale), None)
    is_nice = all(scale.get("nice", True) for scale in scales) and not ratio
    with_zero = all(scale.get("zero", True) for scale in scales)
    low, high = domain(values, with_zero=with_zero, is_nice=is_nice, least=least, most=most)
    return Scale(low, high, begin, end, ratio)


def _y_scale(layers: Sequence[_Layer], height: float) -> Scale | _Bands:
    described = _described(layers, "y")
    if described["type"] == "quantitative":
        return _scale(layers, "y", height, 0.0)
    return _Bands(tuple(described["sort"]), height)


def _grid(layers: Sequence[_Layer], frame: _Frame, rule: str) -> Iterator[str]:
    x, y = frame.x, frame.y
    if isinstance(y, _Bands):
        for value in _ticks(_described(layers, "x"), x):
            yield _line(x.at(value), 0, x.at(value), frame.height, rule)
        yield _line(x.at(0), 0, x.at(0), frame.height, rule, 2)
    else:
        for value in _ticks(_described(layers, "y"), y):
            yield _line(0, y.at(value), frame.width, y.at(value), rule)


def _ticks(channel: dict[str, Any], scale: Scale) -> list[float]:
    axis = channel.get("axis", {})
    is_whole = "labelExpr" in axis
    usual = 5 if is_whole else round(abs(scale.end - scale.begin) / TICK_ROOM)
    return scale.ticks(axis.get("tickCount", usual), 1.0 if is_whole else axis.get("tickMinStep", 0.0))


def _x_axis(layers: Sequence[_Layer], frame: _Frame, ink: str, rule: str) -> Iterator[str]:
    x, width, height = frame.x, frame.width, frame.height
    channel = _described(layers, "x")
    form = channel.get("axis", {}).get("format", "")
    yield _line(0, height, width, height, rule)
    free = -1000.0
    for value in _ticks(channel, x):
        text, at = number(value, form), x.at(value)
        half = len(text) * CHARACTER / 2
        if at - half < free:
            continue
        free = at + half + MARGIN
        yield _line(at, height, at, height + 5, rule)
        yield _words(at, height + 18, text, ink, "middle")
    if channel.get("title"):
        yield _words(width, height + 38, channel["title"], ink, "end")


def _y_axis(layers: Sequence[_Layer], frame: _Frame, ink: str) -> Iterator[str]:
    y = frame.y
    if isinstance(y, _Bands):
        for name in y.names:
            most = int((NAMES - 2 * MARGIN) / CHARACTER)
            shown = name if len(name) <= most else f"{name[: most - 1]}…"
            yield _words(-MARGIN, y.at(name) + y.step / 2 + 4, shown, ink, "end")
        return
    channel = _described(layers, "y")
    form = channel.get("axis", {}).get("format", "")
    for value in _ticks(channel, y):
        yield _words(-MARGIN, y.at(value) + 4, number(value, form), ink, "end")
    if channel.get("title"):
        turned = f"translate({_px(16 - NUMBERS)},{_px(frame.height / 2)}) rotate(-90)"
        yield f'<text transform="{turned}" fill="{escape(ink)}" text-anchor="middle">{escape(channel["title"])}</text>'


def _color(layer: _Layer, row: Row) -> str:
    channel = layer.channel("color")
    if "condition" in channel:
        conditions = channel["condition"]
        for condition in conditions if isinstance(conditions, list) else [conditions]:
            if _holds(condition["test"], row):
                return str(condition["value"])
        return str(channel["value"])
    if "scale" in channel:
        named = channel["datum"] if "datum" in channel else row[channel["field"]]
        return str(channel["scale"]["range"][channel["scale"]["domain"].index(named)])
    return str(layer.mark.get("color", "currentColor"))


def _holds(test: str, row: Row) -> bool:
    """Evaluate one of the tests that charts use: a field alone, or one below zero."""
    field, _, below = test.removeprefix("datum.").partition(" < ")
    if below not in ("", "0"):
        raise ValueError(test)
    return bool(row[field] < 0 if below else row[field])


def _dash(layer: _Layer, row: Row) -> str:
    """Return the dash attribute of a row's line; empty for none."""
    channel = layer.channel("strokeDash")
    dashes: Sequence[float] = layer.mark.get("strokeDash", ())
    if "scale" in channel:
        named = channel["datum"] if "datum" in channel else row[channel["field"]]
        dashes = channel["scale"]["range"][channel["scale"]["domain"].index(named)]
    is_whole = not dashes or dashes[-1] == 0
    return "" if is_whole else f' stroke-dasharray="{" ".join(map(_px, dashes))}"'


def _text_of(layer: _Layer, row: Row) -> str:
    """Return the tooltip of a shape, as its title."""
    tooltip = layer.encoding.get("tooltip")
    if not tooltip:
        return ""
    lines = []
    for each in tooltip:
        value = row.get(each["field"])
        if value is not None:
            text = number(value, each["format"]) if "format" in each else str(value)
            lines.append(f"{each.get('title', each['field'])}: {text}")
    return f"<title>{escape(chr(10).join(lines))}</title>"


def _place(channel: dict[str, Any], row: Row, scale: Scale | _Bands, missing: float) -> float:
    """Return the pixel of a channel for a row."""
    if "value" in channel:
        return float(channel["value"])
    if not channel:
        return missing
    return scale.at(channel["datum"] if "datum" in channel else row[channel["field"]])


def _series(layer: _Layer) -> dict[Any, list[Row]]:
    """Return the rows of each line of a layer, in color order."""
    field = layer.channel("color").get("field", "")
    if not field or "scale" not in layer.channel("color"):
        return {None: layer.rows}
    names = layer.channel("color")["scale"]["domain"]
    return {name: [row for row in layer.rows if row[field] == name] for name in names}


def _path(layer: _Layer, rows: Sequence[Row], frame: _Frame) -> list[tuple[float, float]]:
    across, down = layer.channel("x"), layer.channel("y")
    points = [(_place(across, row, frame.x, 0), _place(down, row, frame.y, 0)) for row in rows]
    if layer.mark.get("interpolate") != "step-after" or not points:
        return points
    steps = [corner for before, after in pairwise(points) for corner in (before, (after[0], before[1]))]
    return [*steps, points[-1]]


def _drawn(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{_px(across)},{_px(down)}" for across, down in points)


def _area(layer: _Layer, frame: _Frame) -> Iterator[str]:
    points = _path(layer, layer.rows, frame)
    if points:
        closed = [(points[0][0], frame.height), *points, (points[-1][0], frame.height)]
        opacity = layer.mark.get("opacity", 1)
        yield f'<path d="{_drawn(closed)}Z" fill="{escape(layer.mark["color"])}" opacity="{opacity}"/>'


def _lines(layer: _Layer, frame: _Frame) -> Iterator[str]:
    for rows in _series(layer).values():
        if not rows:
            continue
        look = f'stroke="{escape(_color(layer, rows[0]))}" stroke-width="{layer.mark.get("strokeWidth", 2)}"'
        yield f'<path d="{_drawn(_path(layer, rows, frame))}" {look}{_dash(layer, rows[0])}/>'
        if layer.mark.get("point"):
            for row in rows:
                yield _dot(layer, row, frame, 30)


def _points(layer: _Layer, frame: _Frame) -> Iterator[str]:
    for row in layer.rows:
        channel = layer.channel("size")
        size = layer.mark.get("size", 30)
        if "condition" in channel:
            size = channel["condition"]["value"] if _holds(channel["condition"]["test"], row) else channel["value"]
        if layer.mark.get("shape") == "triangle-up":
            across, down = (
                _place(layer.channel("x"), row, frame.x, 0),
                _place(layer.channel("y"), row, frame.y, frame.height),
            )
            corners = [(across - 4.5, down + 3), (across + 4.5, down + 3), (across, down - 5)]
            title = f"<title>the agent compacted before call {row['call']:,}</title>"
            yield f'<path d="{_drawn(corners)}Z" fill="{escape(_color(layer, row))}">{title}</path>'
        else:
            yield _dot(layer, row, frame, size)


def _dot(layer: _Layer, row: Row, frame: _Frame, size: float) -> str:
    across, down = _place(layer.channel("x"), row, frame.x, 0), _place(layer.channel("y"), row, frame.y, 0)
    radius = (size / 3.1416) ** 0.5
    look = f'r="{_px(radius)}" fill="{escape(_color(layer, row))}"'
    return f'<circle cx="{_px(across)}" cy="{_px(down)}" {look}>{_text_of(layer, row)}</circle>'


def _rules(layer: _Layer, frame: _Frame) -> Iterator[str]:
    if layer.answers:
        yield from _columns(layer, frame)
        return
    for row in layer.rows:
        across = _place(layer.channel("x"), row, frame.x, 0) if layer.channel("x") else None
        down = _place(layer.channel("y"), row, frame.y, 0) if layer.channel("y") else None
        ends = (0 if across is None else across, 0 if down is None else down)
        other = (frame.width if across is None else across, frame.height if down is None else down)
        if "y2" in layer.encoding:
            other = (other[0], _place(layer.channel("y2"), row, frame.y, frame.height))
        yield _line(*ends, *other, str(layer.mark.get("color")), 1, _dash(layer, row))


def _columns(layer: _Layer, frame: _Frame) -> Iterator[str]:
    """Draw invisible columns that show the figures of the nearest call."""
    middles = [frame.x.at(row[layer.channel("x")["field"]]) for row in layer.rows]
    edges = [0.0, *((before + after) / 2 for before, after in pairwise(middles)), frame.width]
    for row, (left, right) in zip(layer.rows, pairwise(edges), strict=True):
        box = f'x="{_px(left)}" y="0" width="{_px(max(right - left, 0))}" height="{_px(frame.height)}"'
        yield f'<rect {box} pointer-events="all">{_text_of(layer, row)}</rect>'


def _words_of(layer: _Layer, frame: _Frame) -> Iterator[str]:
    anchor = {"left": "start", "right": "end"}.get(layer.mark.get("align", ""), "middle")
    for row in layer.rows:
        channel = layer.channel("text")
        text = str(row[channel["field"]]) if channel else layer.mark["text"]
        across = _place(layer.channel("x"), row, frame.x, 0) + layer.mark.get("dx", 0)
        down = _place(layer.channel("y"), row, frame.y, frame.height) + layer.mark.get("dy", 0) + 4
        if isinstance(frame.y, _Bands):
            down += frame.y.step / 2
        yield _words(across, down, text, _color(layer, row), anchor)


def _rectangles(layer: _Layer, frame: _Frame) -> Iterator[str]:
    for row in layer.rows:
        left, right = frame.x.at(row[layer.channel("x")["field"]]), frame.x.at(row[layer.channel("x2")["field"]])
        low = _place(layer.channel("y"), row, frame.y, frame.height)
        high = _place(layer.channel("y2"), row, frame.y, frame.height)
        yield _box(layer, row, left, min(low, high), right - left, abs(high - low))


def _bars(layer: _Layer, frame: _Frame) -> Iterator[str]:
    if isinstance(frame.y, Scale):
        for row in layer.rows:
            left, right = frame.x.at(row[layer.channel("x")["field"]]), frame.x.at(row[layer.channel("x2")["field"]])
            top = frame.y.at(row[layer.channel("y")["field"]])
            yield _box(layer, row, left + 0.5, top, max(right - left - 1, 0.5), frame.y.at(0) - top)
        return
    offset = layer.channel("yOffset")
    grouped = offset.get("sort", [None])
    room = frame.y.step * 0.8
    thick = room / len(grouped)
    for row in layer.rows:
        down = frame.y.at(row[layer.channel("y")["field"]]) + (frame.y.step - room) / 2
        down += thick * (grouped.index(row[offset["field"]]) if offset else 0)
        zero, end = frame.x.at(0), frame.x.at(row[layer.channel("x")["field"]])
        yield _box(layer, row, min(zero, end), down + thick * 0.05, abs(end - zero), thick * 0.9)


def _box(layer: _Layer, row: Row, left: float, top: float, width: float, height: float) -> str:
    place = f'x="{_px(left)}" y="{_px(top)}" width="{_px(width)}" height="{_px(height)}"'
    return f'<rect {place} fill="{escape(_color(layer, row))}">{_text_of(layer, row)}</rect>'


_MARKS = {
    "area": _area,
    "line": _lines,
    "point": _points,
    "rule": _rules,
    "text": _words_of,
    "rect": _rectangles,
    "bar": _bars,
}


def _legend(layers: Sequence[_Layer]) -> list[tuple[str, str, str, bool]]:
    """Return name, color, dashes and is-line for everything distinguished by color."""
    found: dict[str, tuple[str, str, str, bool]] = {}
    for layer in layers:
        channel = layer.channel("color")
        if "scale" not in channel or channel.get("legend", {}) is None:
            continue
        names = [channel["datum"]] if "datum" in channel else channel["scale"]["domain"]
        for name in names:
            row = {channel.get("field", ""): name, layer.channel("strokeDash").get("field", ""): name}
            is_line = layer.mark["type"] == "line"
            found.setdefault(name, (str(name), _color(layer, row), _dash(layer, row), is_line))
    return list(found.values())


def _legend_rows(entries: Sequence[tuple[str, str, str, bool]], width: float) -> list[list[tuple[str, str, str, bool]]]:
    """Break the legend entries into rows no wider than the chart."""
    rows: list[list[tuple[str, str, str, bool]]] = []
    free = 0.0
    for entry in entries:
        needed = _entry_width(entry[0])
        if needed > free:
            rows.append([])
            free = width
        rows[-1].append(entry)
        free -= needed
    return rows


def _entry_width(name: str) -> float:
    return SYMBOL + len(name) * CHARACTER + 3 * MARGIN


def _legend_drawn(rows: Sequence[Sequence[tuple[str, str, str, bool]]], left: float, ink: str) -> Iterator[str]:
    for place, row in enumerate(rows):
        across, middle = left, MARGIN + LEGEND_ROW * (place + 0.5)
        for name, color, dash, is_line in row:
            if is_line:
                yield _line(across, middle, across + SYMBOL - 6, middle, color, 3, dash)
            else:
                yield f'<rect x="{_px(across)}" y="{_px(middle - 7)}" width="14" height="14" fill="{escape(color)}"/>'
            yield _words(across + SYMBOL, middle + 4, name, ink, "start")
            across += _entry_width(name)


def _line(left: float, top: float, right: float, bottom: float, color: str, width: float = 1, dash: str = "") -> str:
    ends = f'x1="{_px(left)}" y1="{_px(top)}" x2="{_px(right)}" y2="{_px(bottom)}"'
    return f'<line {ends} stroke="{escape(color)}" stroke-width="{width}"{dash}/>'


def _words(across: float, down: float, text: str, color: str, anchor: str) -> str:
    place = f'x="{_px(across)}" y="{_px(down)}" fill="{escape(color)}" text-anchor="{anchor}"'
    return f"<text {place}>{escape(text)}</text>"


def _px(value: float) -> str:
    """Format pixels to a tenth."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text
