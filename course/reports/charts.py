"""Small charts of a batch as SVG: a result against a parameter that varies."""

from __future__ import annotations

import io
import re
import statistics
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape

from matplotlib import rc_context
from matplotlib.figure import Figure

# Colors with a contrast of at least 3:1 on the page's light and dark backgrounds.
COLORS = ("#1b7fc4", "#cf5c0a", "#0f8f69", "#b8659a")
_MARKERS = "os^D"
# A placeholder for the page's text color, so that charts are readable in both themes.
_INK = "#010203"


@dataclass(frozen=True)
class Point:
    """One run: the parameter value, the result and the series."""

    x: object
    y: float
    series: str = ""


def chart(points: Sequence[Point], x_name: str, y_name: str, series_name: str = "") -> str:
    """Return an SVG of the points, with a caption that states the range of the medians.

    If x is numeric, a line connects the medians of each series. Otherwise, the values of x are
    categories in order of appearance, and there is no line.
    """
    if len({point.series for point in points}) > len(COLORS):
        # There are too few colors, so merge all series.
        points = [replace(point, series="") for point in points]
    xs = list(dict.fromkeys(point.x for point in points))
    # A seed is a category, not a quantity.
    is_numeric = x_name != "seed" and all(_is_number(x) for x in xs)
    positions = {x: float(x) if is_numeric else index for index, x in enumerate(xs)}
    figure = Figure(figsize=(5, 3.1), layout="constrained")
    axes = figure.subplots()
    medians: list[tuple[str, float]] = []
    for index, series in enumerate(dict.fromkeys(point.series for point in points)):
        series_points = [point for point in points if point.series == series]
        medians_by_x = {
            x: statistics.median(point.y for point in series_points if point.x == x)
            for x in sorted({point.x for point in series_points}, key=positions.get)
        }
        style = {"color": COLORS[index], "marker": _MARKERS[index], "linestyle": ""}
        label = f"{series_name} = {series}" if series else None
        axes.plot(
            [positions[p.x] for p in series_points],
            [p.y for p in series_points],
            alpha=0.8,
            label=label,
            **style,
        )
        if is_numeric:
            axes.plot(
                [positions[x] for x in medians_by_x],
                list(medians_by_x.values()),
                color=COLORS[index],
            )
        suffix = f", {series_name} = {series}" if series else ""
        medians += [(f"{x_name} = {_number_text(x)}{suffix}", y) for x, y in medians_by_x.items()]
    if (
        is_numeric
        and min(positions.values()) > 0
        and max(positions.values()) / min(positions.values()) >= 50
    ):
        axes.set_xscale("log")
    if is_numeric and len(xs) <= 6:
        axes.set_xticks(list(positions.values()), [_number_text(x) for x in xs])
        axes.minorticks_off()
    elif not is_numeric:
        axes.set_xticks(list(positions.values()), [_shorten(str(x)) for x in xs])
        axes.set_xlim(-0.5, len(xs) - 0.5)
    ys = [point.y for point in points]
    if min(ys) > 0 and max(ys) / min(ys) >= 50:
        axes.set_yscale("log")
    axes.set_xlabel(x_name)
    axes.set_ylabel(y_name)
    if any(point.series for point in points):
        axes.legend(frameon=False, fontsize=9)
    title = _title(medians, x_name, y_name)
    return f"{_svg(figure, title)}<figcaption>{escape(title)}</figcaption>"


def _svg(figure: Figure, title: str) -> str:
    """Return the figure as an SVG element that uses the page's text color."""
    for axes in figure.axes:
        axes.grid(color=_INK, alpha=0.15)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(_INK)
        axes.tick_params(colors=_INK, which="both")
        for text in (axes.xaxis.label, axes.yaxis.label):
            text.set_color(_INK)
        for text in axes.get_legend().get_texts() if axes.get_legend() else ():
            text.set_color(_INK)
    buffer = io.StringIO()
    # Keep text as text, in the page's font, and make the ids reproducible.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": title}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    svg = buffer.getvalue().partition("<svg")[2]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = svg.replace(_INK, "currentColor")
    # Make ids unique, because a page has several charts.
    prefix = f"c{zlib.crc32(title.encode()):x}-"
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}", svg)
    return f'<svg role="img" aria-label="{escape(title)}"{svg}'.strip()


def _title(medians: Sequence[tuple[str, float]], x_name: str, y_name: str) -> str:
    """Return the chart's finding: the lowest and the highest median."""
    low = min(medians, key=lambda pair: pair[1])
    high = max(medians, key=lambda pair: pair[1])
    if low[1] == high[1]:
        return f"{y_name}: the median is {_number_text(low[1])} for every {x_name}"
    return (
        f"{y_name}: from {_number_text(low[1])} ({low[0]}) to {_number_text(high[1])} ({high[0]})"
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number_text(value: object) -> str:
    if not _is_number(value):
        return str(value)
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"


def _shorten(text: str) -> str:
    return text if len(text) <= 14 else text[:13] + "…"
