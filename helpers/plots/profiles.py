"""Figures for lesson 08 about profiling: a trace, a queue of kernels, the parts of a step."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from helpers.plots.style import CPU_COLOR, GPU_COLOR, OTHER_COLORS, new_figure, text_color_on
from helpers.traces import Span, busy_fraction, outermost

_PARTS = ("data", "forward", "backward", "optimizer", "log")
PART_COLORS = dict(zip(_PARTS, OTHER_COLORS, strict=True))


def draw_timeline(spans: Sequence[Span]) -> Figure:
    """Draw a trace: the named parts, the outermost operations on the CPU, the GPU's kernels."""
    parts = [span for span in spans if span.row == "part" and span.name in _PARTS]
    operations = outermost(span for span in spans if span.row == "operation")
    kernels = [span for span in spans if span.row == "kernel"]
    rows = {"part of the step": parts, "CPU: operations": operations}
    if kernels:
        rows["GPU: kernels"] = kernels
    figure, axis = new_figure(width=8, height=0.6 * len(rows) + 1.4)
    end = max(span.end for span in [*parts, *kernels])  # kernels may run after the last launch
    for row, row_spans in enumerate(rows.values()):
        for span in row_spans:
            color = PART_COLORS.get(span.name, GPU_COLOR if row == 2 else CPU_COLOR)
            width = (span.end - span.start) / 1000
            is_wide = span.end - span.start > 0.1 * end
            label = span.name if row == 0 and not is_wide else None
            left = span.start / 1000
            axis.barh(row, width, 0.7, left=left, color=color, edgecolor="white", label=label)
            if row == 0 and is_wide:
                middle = (span.start + span.end) / 2000
                axis.text(
                    middle, row, span.name, ha="center", va="center", fontsize=7, rotation=0,
                    color=text_color_on(color), clip_on=True,
                )  # fmt: skip
    axis.set_yticks(range(len(rows)), rows)
    axis.invert_yaxis()
    axis.grid(axis="y", visible=False)
    axis.set_xlabel("time since the start of the step [ms]")
    if axis.get_legend_handles_labels()[1]:  # parts that are too short for a label
        figure.legend(fontsize=8, loc="outside lower right", frameon=False)
    start = min(span.start for span in parts)
    busy = busy_fraction(kernels or operations, start, end)
    what = f"{len(kernels)} kernels" if kernels else f"{len(operations)} operations"
    where = "the GPU is" if kernels else "operations keep the CPU"
    axis.set_title(f"One step, {what}: {where} busy for {busy:.0%} of the time", fontsize=11)
    return figure


def draw_queue(rows: Mapping[str, Sequence[tuple[float, float, float, float]]]) -> Figure:
    """Draw launches on the CPU and kernels on the GPU, one panel per program.

    Args:
        rows: maps the name of a program to `(launch start, launch end, kernel start, kernel end)`
            of each kernel, in microseconds.
    """
    figure, axes = new_figure(len(rows), 1, width=8, height=1.5 * len(rows) + 0.6)
    last = max(times[-1][3] for times in rows.values())
    for axis, (name, times) in zip(axes.flat, rows.items(), strict=True):
        for launch_start, launch_end, start, end in times:
            axis.barh(
                0,
                launch_end - launch_start,
                0.7,
                left=launch_start,
                color=CPU_COLOR,
                edgecolor="white",
            )
            axis.barh(1, end - start, 0.7, left=start, color=GPU_COLOR, edgecolor="white")
        busy = sum(end - start for *_, start, end in times) / times[-1][3]
        axis.set_yticks([0, 1], ["CPU: launches", "GPU: kernels"])
        axis.invert_yaxis()
        axis.grid(axis="y", visible=False)
        axis.set_xlim(0, last * 1.02)
        axis.set_title(f"{name}: the GPU is busy for {busy:.0%} of the time", fontsize=10)
    axes.flat[-1].set_xlabel("time [µs], calculated")
    return figure


def plot_loop_parts(milliseconds: Mapping[str, Mapping[str, float]]) -> Figure:
    """Draw the parts of one step of each loop as a stacked bar.

    Args:
        milliseconds: milliseconds per step, by loop and part.
    """
    figure, axis = new_figure(height=0.5 * len(milliseconds) + 1.7)
    names = list(milliseconds)
    left = [0.0] * len(names)
    for part in _PARTS:
        widths = [milliseconds[name].get(part, 0.0) for name in names]
        axis.barh(names, widths, left=left, color=PART_COLORS[part], edgecolor="white", label=part)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axis.invert_yaxis()
    axis.grid(axis="y", visible=False)
    axis.set_xlabel("time per step [ms]")
    figure.legend(fontsize=8, ncols=5, loc="outside lower center", frameon=False)
    slowest = max(names, key=lambda name: sum(milliseconds[name].values()))
    fastest = min(names, key=lambda name: sum(milliseconds[name].values()))
    ratio = sum(milliseconds[slowest].values()) / sum(milliseconds[fastest].values())
    axis.set_title(f"A step of {slowest} takes {ratio:.1f} times as long as {fastest}")
    return figure
