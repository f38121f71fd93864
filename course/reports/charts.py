"""Small charts of a batch as SVG inside the page: a result over a varied parameter."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape

# Okabe and Ito's colours, told apart by the colour-blind, and a shape each.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_SHAPES = ("circle", "square", "triangle", "diamond", "circle", "square")
_WIDTH, _HEIGHT = 460, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 74, 14, 14, 46


@dataclass(frozen=True)
class Point:
    """One run: the parameter's value, the result, and the series that it belongs to."""

    x: object
    y: float
    series: str = ""


@dataclass(frozen=True)
class Axis:
    """Where values lie between 0 and 1, and which are written at the axis."""

    ticks: tuple[tuple[float, str], ...]
    low: float
    high: float
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """The place of a value: 0 at the beginning of the axis, 1 at its end."""
        low, high = self.low, self.high
        if self.logarithmic:
            value, low, high = math.log10(value), math.log10(low), math.log10(high)
        return 0.5 if high == low else (value - low) / (high - low)


def chart(points: Sequence[Point], x_name: str, y_name: str, series_name: str = "") -> str:
    """An SVG of the points, with a line through the medians of each series.

    Its caption says the range of the medians. Values of x that are not all numbers are set side by
    side in the order of their first appearance.
    """
    if len({point.series for point in points}) > len(_COLOURS):
        # More series than can be told apart are drawn as one.
        points = [replace(point, series="") for point in points]
    kinds = list(dict.fromkeys(point.x for point in points))
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in kinds)
    if numbers:
        horizontal = number_axis([float(x) for x in kinds], at=sorted(float(x) for x in kinds))
        where = {x: horizontal.place(float(x)) for x in kinds}
    else:
        where = {x: (number + 0.5) / len(kinds) for number, x in enumerate(kinds)}
        ticks = tuple((where[x], _short(str(x))) for x in kinds)
        horizontal = Axis(ticks, 0, 1)
    vertical = number_axis([point.y for point in points])
    names = list(dict.fromkeys(point.series for point in points))
    parts = [_frame(horizontal, vertical, numbers, x_name, y_name)]
    medians: list[tuple[str, float]] = []
    for number, name in enumerate(names):
        own = [point for point in points if point.series == name]
        xs = sorted({point.x for point in own}, key=lambda x: where[x])
        line = [(x, statistics.median(p.y for p in own if p.x == x)) for x in xs]
        among = f", {series_name} = {name}" if name else ""
        medians += [(f"{x_name} = {_value(x)}{among}", y) for x, y in line]
        parts.append(_series(number, own, line, where, vertical, joined=numbers))
    title = _title(medians, y_name) or f"{y_name} is {_number(line[0][1])} whatever {x_name} is"
    picture = (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )
    legend = "".join(
        f'<li><svg viewBox="0 0 14 14" aria-hidden="true">{_marker(n, 7, 7)}</svg>'
        f"{escape(f'{series_name} = {name}')}</li>"
        for n, name in enumerate(names)
        if name
    )
    caption = f"<figcaption>{escape(title)}</figcaption>"
    return f"{picture}{f'<ul>{legend}</ul>' if legend else ''}{caption}"


def number_axis(values: Sequence[float], at: Sequence[float] | None = None) -> Axis:
    """An axis that holds the values; logarithmic where they are positive and far apart.

    `at` are values to write at the axis, if there is room for all of them.
    """
    low, high = min(values), max(values)
    logarithmic = low > 0 and high / low >= 50
    ticks = list(at) if at and len(at) <= 6 else []
    if logarithmic:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        if not ticks:
            step = max(1, (last - first) // 4)
            ticks = [10.0**power for power in range(first, last + 1, step)]
            low, high = 10.0**first, 10.0**last
        margin = (high / low) ** 0.04
        low, high = low / margin, high * margin
    else:
        span = (high - low) or abs(high) or 1.0
        if not ticks:
            step = _round_step(span / 4)
            first = math.floor(low / step)
            ticks = [step * n for n in range(first, math.ceil(high / step) + 1)]
            low, high = min(low, ticks[0]), max(high, ticks[-1])
        low, high = low - 0.04 * span, high + 0.04 * span
    axis = Axis((), low, high, logarithmic)
    return Axis(tuple((axis.place(t), _number(t)) for t in ticks), low, high, logarithmic)


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)


def _frame(horizontal: Axis, vertical: Axis, numbers: bool, x_name: str, y_name: str) -> str:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    parts = []
    for place, text in vertical.ticks:
        y = _y(place)
        parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{right}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    for place, text in horizontal.ticks:
        x = _x(place)
        parts.append(
            f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{escape(text)}</text>'
        )
        if numbers:
            parts.append(f'<path class="axis" d="M{x:.1f} {bottom}v4"/>')
    parts.append(f'<path class="axis" d="M{_LEFT} {_TOP}V{bottom}H{right}"/>')
    middle = (_LEFT + right) / 2
    parts.append(
        f'<text class="name" x="{middle}" y="{_HEIGHT - 8}" text-anchor="middle">'
        f"{escape(x_name)}</text>"
    )
    height = (_TOP + bottom) / 2
    parts.append(
        f'<text class="name" transform="translate(14 {height}) rotate(-90)" '
        f'text-anchor="middle">{escape(y_name)}</text>'
    )
    return "".join(parts)


def _series(
    number: int,
    points: Sequence[Point],
    line: Sequence[tuple[object, float]],
    where: dict[object, float],
    vertical: Axis,
    *,
    joined: bool,
) -> str:
    colour = _COLOURS[number]
    corners = [f"{_x(where[x]):.1f} {_y(vertical.place(y)):.1f}" for x, y in line]
    drawn = f'<path d="M{"L".join(corners)}" fill="none" stroke="{colour}"/>' if joined else ""
    marks = [_marker(number, _x(where[p.x]), _y(vertical.place(p.y))) for p in points]
    return drawn + "".join(marks)


def _marker(number: int, x: float, y: float) -> str:
    style = f'fill="{_COLOURS[number]}" fill-opacity="0.75"'
    shape = _SHAPES[number]
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" {style}/>'
    if shape == "square":
        return f'<rect x="{x - 3.5:.1f}" y="{y - 3.5:.1f}" width="7" height="7" {style}/>'
    if shape == "triangle":
        return f'<path d="M{x:.1f} {y - 5:.1f}l5 8.5h-10z" {style}/>'
    return f'<path d="M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5-5z" {style}/>'


def _title(medians: Sequence[tuple[str, float]], y_name: str) -> str:
    """Where the least and the most lie; "" if there is but one value."""
    least = min(medians, key=lambda pair: pair[1])
    most = max(medians, key=lambda pair: pair[1])
    if least[1] == most[1]:
        return ""
    return (
        f"{y_name} lies between {_number(least[1])} ({least[0]}) and {_number(most[1])} ({most[0]})"
    )


def _x(place: float) -> float:
    return _LEFT + place * (_WIDTH - _LEFT - _RIGHT)


def _y(place: float) -> float:
    return _HEIGHT - _BOTTOM - place * (_HEIGHT - _TOP - _BOTTOM)


def _value(x: object) -> str:
    """A value of x as the axis has it."""
    return _number(x) if isinstance(x, int | float) and not isinstance(x, bool) else str(x)


def _number(value: float) -> str:
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"


def _short(text: str) -> str:
    return text if len(text) <= 14 else text[:13] + "…"
