"""Figures about speed: timings, curves that cross, parts of a step, loaders, speed-ups."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from helpers.plots.profiles import PART_COLORS
from helpers.plots.style import (
    CPU_COLOR,
    GPU_COLOR,
    OTHER_COLORS,
    annotate,
    new_figure,
    scale_to_sizes,
    stack_bars,
)
from helpers.records import Record
from helpers.speedups import Speedup
from helpers.timing import Measurement, format_duration
from helpers.training import History

_TOTALS = ("what helped", "everything")


@dataclass(frozen=True)
class Curve:
    """Seconds per image against a size, on one device; `origin` is its text in the legend."""

    origin: str
    kind: str  # "cpu", "cuda", ...
    sizes: Sequence[float]
    seconds: Sequence[float]


def recorded_curve(record: Record, name: str) -> Curve:
    """Return one curve ("batch", "width" or "depth") of a record of batch_and_width."""
    results = record.results[name]
    medians = [median for median, *_ in results["seconds"]]
    return Curve(record.origin, record.kind, results["sizes"], medians)


def crossing(baseline: Curve, other: Curve) -> float | None:
    """Return the smallest size from which on `other` takes less time; None if there is none."""
    first = dict(zip(baseline.sizes, baseline.seconds, strict=True))
    second = dict(zip(other.sizes, other.seconds, strict=True))
    shared = sorted(first.keys() & second.keys(), reverse=True)
    return min(takewhile(lambda size: second[size] < first[size], shared), default=None)


def plot_curves(curves: Sequence[Curve], size_label: str, *, unit: str = "") -> Figure:
    """Draw seconds per image against a size for each curve, and mark where the GPU becomes faster.

    `unit` is the word before a size in the title: "batch", "width".
    """
    figure, axis = new_figure(height=3.8)
    for curve in curves:
        microseconds = [1e6 * value for value in curve.seconds]
        color, mark = (CPU_COLOR, "o") if curve.kind == "cpu" else (GPU_COLOR, "s")
        axis.plot(curve.sizes, microseconds, marker=mark, color=color, label=curve.origin)
    axis.set_xscale("log", base=2)
    use_plain_log_scale(axis.yaxis)
    ticks = sorted({size for curve in curves for size in curve.sizes})
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.xaxis.set_minor_locator(NullLocator())
    cpu, gpu = (
        next((curve for curve in curves if (curve.kind == "cpu") == is_cpu), None)
        for is_cpu in (True, False)
    )
    if cpu and gpu:
        title = "The GPU is not faster at the largest size"
        if where := crossing(cpu, gpu):
            axis.axvline(where, color="0.4", linestyle=":")
            title = f"The GPU is faster from a {unit} of about {where:.0f}"
    else:
        sizes, seconds = curves[0].sizes, curves[0].seconds
        index = min(range(len(sizes)), key=seconds.__getitem__)
        first, last, best = sizes[0], sizes[-1], sizes[index]
        ratio = seconds[0] / seconds[index]
        title = f"Fastest per image: {unit} {best:g}, {ratio:.1f} times as fast as {first:g}"
        if index == 0:
            ratio = seconds[-1] / seconds[0]
            ends = f"From {unit} {first:g} to {last:g}"
            title = f"{ends}, the time per image grows by a factor of {ratio:.1f}"
    axis.set(xlabel=size_label, ylabel="training time per image [µs]", title=title)
    axis.legend(fontsize=8)
    return figure


def use_plain_log_scale(axis: Axis, marks: tuple[int, ...] = (1, 2, 5)) -> None:
    """Make an axis logarithmic with ticks at `marks` times powers of ten, as plain numbers."""
    getattr(axis.axes, f"set_{axis.axis_name}scale")("log")
    low, high = sorted(axis.get_view_interval())
    if marks == (1, 2, 5) and not 5 < high / low < 200:  # one label is too few, ten overlap
        marks = (1,) if high > 5 * low else (1, 1.5, 2, 3, 4, 5, 7)
    axis.set_major_locator(LogLocator(subs=marks))
    axis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 10 else f"{value:g}")
    axis.set_minor_locator(NullLocator())


def plot_timings(single: float, naive: Sequence[float], proper: Measurement) -> Figure:
    """Draw single timings of a call next to the `proper` result of `helpers.timing.measure`.

    `single` are the seconds of the first call, `naive` those of later ones, without synchronizing.
    """
    figure, axis = new_figure(height=3.2)
    green, _, pink, black, _ = OTHER_COLORS
    axis.plot([1], [1e3 * single], "X", markersize=10, color=pink, label="the first call")
    milliseconds = [1e3 * value for value in naive]
    calls = range(2, len(milliseconds) + 2)
    axis.plot(calls, milliseconds, "o", color=black, label="later calls, one each")
    low, high = proper.quartiles
    axis.axhspan(1e3 * low, 1e3 * high, color=green, alpha=0.35)
    axis.axhline(1e3 * proper.median, color=green, label="timing.measure: median, quartiles")
    all_times = [single, *naive, proper.median]
    if max(all_times) > 8 * min(all_times):
        use_plain_log_scale(axis.yaxis)
    else:
        axis.set_ylim(0, 1.08 * max(all_times) * 1e3)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.legend(fontsize=8)
    median = format_duration(proper.median)
    if single > max(naive):
        factor = single / proper.median
        first = format_duration(single)
        title = f"First call: {first}, {factor:.1f} times the median of {median}"
    else:
        fastest, slowest = (format_duration(end([single, *naive])) for end in (min, max))
        title = f"Calls of the same function: {fastest} to {slowest}; median {median}"
    axis.set(xlabel="call", ylabel="measured time [ms]", title=title)
    return figure


def plot_step_parts(parts: Mapping[str, Mapping[str, float]]) -> Figure:
    """Draw the parts of a training step, in seconds per image, as one stacked bar per setting."""
    figure, axis = new_figure(height=0.7 * len(parts) + 1.5)
    rows = {name: {p: 1e6 * value for p, value in row.items()} for name, row in parts.items()}
    totals = [sum(row.values()) for row in rows.values()]
    colors = {part: PART_COLORS[part] for part in next(iter(parts.values()))}

    def text(part: str, width: float) -> str:
        return f"{width:.0f}" if width > 0.07 * max(totals) else ""

    stack_bars(axis, rows, colors, text, edgecolor="white")
    axis.legend(ncols=4, fontsize=8, loc="lower right")
    first, last = totals[0], totals[-1]
    title = f"Time per image: {first:,.0f} µs in the first bar, {last:,.0f} µs in the last"
    axis.set(xlabel="time per image [µs]", title=title)
    return figure


def plot_loss_against_time(histories: Mapping[str, History]) -> Figure:
    """Draw the training loss against the time; a final loss is the mean of a curve's last tenth."""
    figure, axis = new_figure(height=3.8)
    final_losses = []
    for (name, history), color in zip(histories.items(), OTHER_COLORS[2:], strict=False):
        last = history.losses[-max(1, len(history.losses) // 10) :]
        final_losses.append(sum(last) / len(last))
        seconds = [step * history.seconds / history.steps[-1] for step in history.steps]
        final = final_losses[-1]
        label = f"{name}: final loss {final:.2f}"
        axis.plot(seconds, history.losses, ".-", color=color, markersize=3, label=label)
    axis.set_xlim(left=0)
    axis.legend(fontsize=8)
    low, high = min(final_losses), max(final_losses)
    title = f"The same images: a final loss from {low:.2f} to {high:.2f}"
    axis.set(xlabel="training time [s]", ylabel="training loss", title=title)
    return figure


def plot_pipelines(speeds: Mapping[str, Mapping[int, float]]) -> Figure:
    """Draw images per second of each input pipeline, grouped by batch size."""
    batch = list(next(iter(speeds.values())))[-1]
    last = {pipeline: speed_by_batch[batch] for pipeline, speed_by_batch in speeds.items()}
    first, second, *_ = sorted(last, key=last.get, reverse=True)
    ratio = last[first] / last[second]
    title = f'Batches of {batch}: "{first}" is {ratio:.1f} times as fast as "{second}"'
    figure = plot_groups(speeds, "images prepared per second", title=title, text=_format_rate)
    (axis,) = figure.axes
    axis.set_yscale("log")
    axis.yaxis.set_major_formatter(lambda value, _: _format_rate(value))
    axis.set_xlabel("images per batch", fontsize="medium")
    return figure


def plot_groups(
    values: Mapping[str, Mapping[Any, float]],
    label: str,
    *,
    title: str,
    source: str = "",
    text: Callable[[float], str] = "{:.3g}".format,
) -> Figure:
    """Draw one bar per series and group: `values[series][group]`. `source` says who measured it."""
    figure, axis = new_figure(height=3.8)
    groups = list(next(iter(values.values())))
    width = 0.8 / len(values)
    for row, (series, heights) in enumerate(values.items()):
        places = [i + (row - (len(values) - 1) / 2) * width for i in range(len(groups))]
        bars = axis.bar(places, heights.values(), width, label=series, color=OTHER_COLORS[row])
        axis.bar_label(bars, [text(height) for height in heights.values()], fontsize=7)
    axis.set_xticks(range(len(groups)), groups)
    axis.margins(y=0.15)
    axis.set_xlabel(source, fontsize=8)
    axis.set_ylabel(label)
    axis.set_title(title, fontsize=11)
    if len(values) > 1:
        figure.legend(fontsize=8, loc="outside lower center", ncols=3, frameon=False)
    return figure


def plot_panels(
    panels: Mapping[str, Mapping[str, Mapping[str, float]]],
    labels: tuple[str, str],
    *,
    title: str,
    source: str,
    ticks: tuple[int, ...] = (1, 2, 5),
) -> Figure:
    """Draw lines on logarithmic scales, one panel per key: `panels[panel][line][x]` is y."""
    figure, _ = new_figure(1, len(panels), width=8, height=3.8)
    for axis, (name, lines) in zip(figure.axes, panels.items(), strict=True):
        for (line, values), mark in zip(lines.items(), "osD", strict=False):
            axis.plot([int(x) for x in values], values.values(), marker=mark, label=line)
        scale_to_sizes(axis, [int(x) for x in values])
        axis.sharey(figure.axes[0])
        axis.set_title(name, fontsize=10)
        axis.set_xlabel(labels[0])
        axis.legend(fontsize=8)
    use_plain_log_scale(figure.axes[0].yaxis, ticks)
    figure.axes[0].set_ylabel(labels[1])
    figure.suptitle(title, fontsize=11)
    figure.supxlabel(source, fontsize=8)
    return figure


def plot_speedups(
    cumulative: Sequence[Speedup], alone: Sequence[Speedup] = (), *, where: str = ""
) -> Figure:
    """Draw the speed-up of each change on top of those that helped, and alone if measured.

    `cumulative` is the result of `SpeedupStudy.measure_cumulative`, whose last two are relative to
    the classic script, and `alone` that of `measure_each`. `where` is the title's second line.
    """
    panels = {"each change on top of those that helped": cumulative}
    if alone:
        panels = {"each change alone, on the classic script": alone} | panels
    height = 0.36 * len(cumulative) + 1.6
    figure, _ = new_figure(1, len(panels), width=9.5 if alone else 7.0, height=height)
    for axis, (title, speedups) in zip(figure.axes, panels.items(), strict=True):
        _draw_panel(axis, speedups, title)
    helpful = sum(speedup.helps for speedup in cumulative[:-2])
    total = sum(not speedup.note for speedup in cumulative[:-2])
    top = cumulative[-2].ratio
    title = (
        f"Changes that help: {helpful} of {total}; training with them is {top:.1f} times as fast"
    )
    figure.suptitle(title + (f"\n{where}" if where else ""), fontsize=11)
    return figure


def _draw_panel(axis: Axes, speedups: Sequence[Speedup], title: str) -> None:
    for row, speedup in enumerate(speedups):
        ratio, low, high = speedup.ratio, speedup.low, speedup.high
        color = OTHER_COLORS[0 if speedup.name in _TOTALS else 1]
        if not (speedup.differs and ratio > 1):
            color = "#B0B0B0"
        axis.barh(row, ratio - 1, left=1, color=color, height=0.65)
        if not speedup.note:
            error = [[ratio - low], [high - ratio]]
            axis.errorbar(ratio, row, xerr=error, color="black", capsize=2, linewidth=1)
        annotate(axis, speedup.summary, max(ratio, high, 1.0), row, 5)
    names = [f"{s.name}, against classic" if s.name in _TOTALS else s.name for s in speedups]
    axis.set_yticks(range(len(speedups)), names, fontsize=8)
    axis.invert_yaxis()
    axis.axvline(1, color="black", linewidth=0.8)
    use_plain_log_scale(axis.xaxis)
    low = min(0.8, *(speedup.low for speedup in speedups))
    high = max(speedup.high for speedup in speedups)
    axis.set_xlim(low * 0.9, high * (high / low) ** 0.45)
    axis.grid(axis="y", visible=False)
    axis.set_xlabel("speed-up (gray: no gain)", fontsize=8)
    axis.set_title(title, fontsize=9)


def _format_rate(value: float) -> str:
    if value >= 1e6:
        return f"{value / 1e6:.1f}M"
    return f"{value / 1e3:.3g}k" if value >= 1e3 else f"{value:.0f}"
