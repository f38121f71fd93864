"""Small charts of a batch as SVG: a result against a parameter that varies."""

from __future__ import annotations

import io
import math
import re
import statistics
import zlib
from collections.abc import Sequence
from html import escape

from matplotlib import rc_context
from matplotlib.figure import Figure

from course.execution.jobs import Status
from course.reports.entries import Entry, format_value, is_number, result_names

# Colors with a contrast of at least 3:1 on the page's light and dark backgrounds.
COLORS = ("#1b7fc4", "#cf5c0a", "#0f8f69", "#b8659a")
# A placeholder for the page's text color, so that charts are readable in both themes.
_INK = "#010203"
_STYLE = {
    "axes.edgecolor": _INK, "axes.grid": True, "axes.labelcolor": _INK, "axes.spines.right": False,
    "axes.spines.top": False, "grid.alpha": 0.15, "grid.color": _INK, "legend.frameon": False,
    "legend.labelcolor": _INK, "xtick.color": _INK, "ytick.color": _INK,
    # Keep text as text, in the page's font, and make the ids reproducible.
    "svg.fonttype": "none", "svg.hashsalt": "course",
}  # fmt: skip
_MAX_CHARTS = 12
# Results whose names contain one of these strings measure warm-up time and get no chart.
_WARM_UP = re.compile("making_ready|warm_up|warmup")


def make_charts(entries: Sequence[Entry], varied: Sequence[str]) -> list[str]:
    """Return an SVG chart of each numeric result against each parameter that varies."""
    passed = [entry for entry in entries if entry["status"] == Status.PASSED]
    varying = [
        name for name in varied if len({repr(e["parameters"].get(name)) for e in passed}) > 1
    ]
    # Plot results against the seed only if no other parameter varies.
    axes = [name for name in varying if name != "seed"] or varying
    charts = []
    for result in (name for name in result_names(passed) if not _WARM_UP.search(name)):
        label = re.sub(r" (seconds|milliseconds|bytes)$", r" (\1)", result.replace("_", " "))
        for axis in axes:
            series = next((name for name in axes if name != axis), "")
            points: dict[str, list[tuple[object, float]]] = {}
            for entry in passed:
                parameters, y = entry["parameters"], entry["reported"].get(result)
                if parameters.get(axis) is not None and is_number(y) and math.isfinite(y):
                    name = f"{series} = {format_value(parameters.get(series))}" if series else ""
                    points.setdefault(name, []).append((parameters[axis], float(y)))
            if len({repr(x) for shown in points.values() for x, _ in shown}) > 1:
                charts.append(chart(points, axis, label))
    return charts[:_MAX_CHARTS]


def chart(series: dict[str, list[tuple[object, float]]], x_name: str, y_name: str) -> str:
    """Return an SVG of the points (x, y) of each series, and a caption: the range of the medians.

    If x is numeric, a line connects the medians of each series. Otherwise, the values of x are
    categories in order of appearance, and there is no line.
    """
    points = [point for shown in series.values() for point in shown]
    if len(series) > len(COLORS):
        series = {"": points}
    # A seed is a category, not a quantity.
    is_numeric = x_name != "seed" and all(is_number(x) for x, _ in points)
    series = {
        name: [(x if is_numeric else format_value(x), y) for x, y in shown]
        for name, shown in series.items()
    }
    medians: dict[str, float] = {}
    with rc_context(_STYLE):
        figure = Figure(figsize=(5, 3.1), layout="constrained")
        axes = figure.subplots()
        for (name, shown), color, marker in zip(series.items(), COLORS, "os^D", strict=False):
            axes.plot(*zip(*shown, strict=True), marker, color=color, alpha=0.8, label=name)
            xs = dict.fromkeys(x for x, _ in shown)
            line = {x: statistics.median(y for x_, y in shown if x_ == x) for x in xs}
            if is_numeric:
                axes.plot(*zip(*sorted(line.items()), strict=True), color=color)
            for x, y in line.items():
                medians[", ".join(filter(None, [f"{x_name} = {_text(x)}", name]))] = y
        for values, set_scale in (
            ([x for x, _ in points if is_numeric], axes.set_xscale),
            ([y for _, y in points], axes.set_yscale),
        ):
            if min(values, default=0) > 0 and max(values) / min(values) >= 50:
                set_scale("log")
        axes.set_xlabel(x_name)
        axes.set_ylabel(y_name)
        if any(series):
            axes.legend(fontsize=9)
        low, high = min(medians, key=medians.get), max(medians, key=medians.get)
        bottom, top = _text(medians[low]), _text(medians[high])
        title = f"{y_name}: from {bottom} ({low}) to {top} ({high})"
        if medians[low] == medians[high]:
            title = f"{y_name}: the median is {bottom} for every {x_name}"
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    svg = re.sub(
        r"<metadata>.*?</metadata>", "", buffer.getvalue().partition("<svg")[2], flags=re.S
    )
    # Make ids unique, because a page has several charts.
    prefix = f"c{zlib.crc32(title.encode()):x}-"
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}", svg.replace(_INK, "currentColor"))
    title = escape(title)
    return f'<svg role="img" aria-label="{title}"{svg.rstrip()}<figcaption>{title}</figcaption>'


def _text(value: object) -> str:
    if not is_number(value):
        return str(value)
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"
