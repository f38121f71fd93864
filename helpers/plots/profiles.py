"""Figures for lesson 08 about profiling: a trace, and the parts of a step."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from helpers.plots import style
from helpers.plots.shapes import label
from helpers.traces import Span, busy_fraction, outermost

_PARTS = ("data", "forward", "backward", "optimizer", "log")
PART_COLORS = dict(zip(_PARTS, style.OTHER_COLORS, strict=True))


def draw_timeline(spans: Sequence[Span]) -> Figure:
    """Draw a trace: the named parts, the outermost operations on the CPU, the GPU's kernels."""
    parts = [span for span in spans if span.row == "part" and span.name in PART_COLORS]
    operations = outermost(span for span in spans if span.row == "operation")
    kernels = [span for span in spans if span.row == "kernel"]
    rows = ["part of the step", "CPU: operations", "GPU: kernels"][: 3 if kernels else 2]
    figure, axis = style.new_figure(width=8, height=0.6 * len(rows) + 1.4)
    end = max(span.end for span in [*parts, *kernels])  # kernels may run after the last launch
    for span in parts:
        left, width = span.start / 1000, (span.end - span.start) / 1000
        look = {"color": PART_COLORS[span.name], "edgecolor": "white"}
        if 1000 * width > 0.1 * end:
            font = {"fontsize": 7, "color": style.text_color_on(look["color"]), "clip_on": True}
            label(axis, left + width / 2, 0, span.name, **font)
        else:
            look["label"] = span.name
        axis.barh(0, width, 0.7, left=left, **look)
    for row, spans, color in ((1, operations, style.CPU_COLOR), (2, kernels, style.GPU_COLOR)):
        bars = [(span.start / 1000, (span.end - span.start) / 1000) for span in spans]
        look = {"edgecolor": "white", "linewidth": min(1, 40 / (len(bars) + 1))}
        axis.broken_barh(bars, (row - 0.35, 0.7), facecolor=color, **look)
    axis.set_yticks(range(len(rows)), rows)
    axis.invert_yaxis()
    axis.grid(axis="y", visible=False)
    axis.set_xlabel("time since the start of the step [ms]")
    if axis.get_legend_handles_labels()[1]:  # parts that are too short for a label
        figure.legend(fontsize=8, loc="outside lower right", frameon=False)
    busy = busy_fraction(kernels or operations, min(span.start for span in parts), end)
    count = len(kernels or operations)
    title = f"One step, {count} operations: operations keep the CPU busy for {busy:.0%} of the time"
    if kernels:
        title = f"One step, {count} kernels: the GPU is busy for {busy:.0%} of the time"
    axis.set_title(title, fontsize=11)
    return figure


def plot_loop_parts(milliseconds: Mapping[str, Mapping[str, float]]) -> Figure:
    """Draw the parts of one step of each loop, in milliseconds, as a stacked bar."""
    figure, axis = style.new_figure(height=0.5 * len(milliseconds) + 1.7)
    style.stack_bars(axis, milliseconds, PART_COLORS, edgecolor="white")
    axis.set_xlabel("time per step [ms]")
    figure.legend(fontsize=8, ncols=5, loc="outside lower center", frameon=False)
    totals = {name: sum(parts.values()) for name, parts in milliseconds.items()}
    slowest, fastest = max(totals, key=totals.get), min(totals, key=totals.get)
    ratio = totals[slowest] / totals[fastest]
    axis.set_title(f"A step of {slowest} takes {ratio:.1f} times as long as {fastest}")
    return figure
