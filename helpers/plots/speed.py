"""Figures about speed: repeated timings, curves that cross, parts of a step, loaders, copies."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from helpers.history import History
from helpers.plots.profiles import PART_COLORS
from helpers.plots.style import CPU_COLOR, GPU_COLOR, OTHER_COLORS, new_figure, text_color_on
from helpers.records import Record
from helpers.timing import Measurement, format_duration


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
    """Return the size from which `other` takes less time; None if it is slower at the last size.

    Interpolates linearly on logarithmic scales between the sizes that both curves have. Returns 0
    if `other` takes less time at every size.
    """
    first = dict(zip(baseline.sizes, baseline.seconds, strict=True))
    second = dict(zip(other.sizes, other.seconds, strict=True))
    shared = sorted(first.keys() & second.keys())
    if not shared or second[shared[-1]] >= first[shared[-1]]:
        return None
    gaps = [math.log(second[size] / first[size]) for size in shared]
    for (low, high), (above, below) in zip(
        reversed(list(pairwise(shared))), reversed(list(pairwise(gaps))), strict=True
    ):
        if above >= 0 > below:
            fraction = above / (above - below)
            return low * (high / low) ** fraction
    return 0.0


def plot_curves(curves: Sequence[Curve], size_label: str, *, unit: str = "") -> Figure:
    """Draw seconds per image against a size for each curve, and mark where the GPU becomes faster.

    Args:
        curves: curves of the CPU and of GPUs, if any; the first of each kind are compared.
        size_label: axis label of the size.
        unit: the word before a size in the title: "batch", "width".
    """
    figure, axis = new_figure(height=3.8)
    for curve in curves:
        microseconds = [1e6 * value for value in curve.seconds]
        color, mark = (CPU_COLOR, "o") if curve.kind == "cpu" else (GPU_COLOR, "s")
        axis.plot(curve.sizes, microseconds, marker=mark, color=color, label=curve.origin)
    axis.set_xscale("log", base=2)
    _use_plain_log_scale(axis.yaxis)
    ticks = sorted({size for curve in curves for size in curve.sizes})
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_xlabel(size_label)
    axis.set_ylabel("training time per image [µs]")
    axis.legend(fontsize=8)
    axis.set_title(_curves_title(curves, unit))
    cpu, gpu = _first_curve(curves, cpu=True), _first_curve(curves, cpu=False)
    where = crossing(cpu, gpu) if cpu and gpu else None
    if where:
        axis.axvline(where, color="0.4", linestyle=":")
    return figure


def _use_plain_log_scale(axis: Axis, marks: tuple[int, ...] = (1, 2, 5)) -> None:
    """Make an axis logarithmic with ticks at `marks` times powers of ten, as plain numbers."""
    name = axis.axis_name
    getattr(axis.axes, f"set_{name}scale")("log")
    axis.set_major_locator(LogLocator(subs=marks))
    axis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}")
    axis.set_minor_locator(NullLocator())


def _first_curve(curves: Sequence[Curve], *, cpu: bool) -> Curve | None:
    return next((curve for curve in curves if (curve.kind == "cpu") == cpu), None)


def _curves_title(curves: Sequence[Curve], unit: str) -> str:
    cpu, gpu = _first_curve(curves, cpu=True), _first_curve(curves, cpu=False)
    if cpu and gpu:
        size = crossing(cpu, gpu)
        if size is None:
            return "The GPU is not faster at the largest size"
        if size == 0:
            return f"The GPU is faster at every {unit}"
        return f"The GPU is faster from a {unit} of about {size:.0f}"
    only = curves[0]
    lowest = min(only.seconds)
    if lowest < only.seconds[0]:
        best = only.sizes[only.seconds.index(lowest)]
        factor = only.seconds[0] / lowest
        return (
            f"Fastest per image: {unit} {best:g}, {factor:.1f} times as fast as {only.sizes[0]:g}"
        )
    factor = only.seconds[-1] / only.seconds[0]
    sizes = f"{unit} {only.sizes[0]:g} to {only.sizes[-1]:g}"
    return f"From {sizes}, the time per image grows by a factor of {factor:.1f}"


def plot_timings(single: float, naive: Sequence[float], proper: Measurement) -> Figure:
    """Draw single timings of a call next to a proper measurement.

    Args:
        single: seconds of the first call, without warm-up.
        naive: seconds of the following calls, measured without synchronizing the device.
        proper: result of `helpers.timing.measure`.
    """
    figure, axis = new_figure(height=3.2)
    milliseconds = [1e3 * value for value in naive]
    green, _, pink, black, _ = OTHER_COLORS
    axis.plot([1], [1e3 * single], "X", markersize=10, color=pink, label="the first call")
    axis.plot(
        range(2, len(milliseconds) + 2),
        milliseconds,
        "o",
        color=black,
        label="later calls, one each",
    )
    low, high = proper.quartiles
    axis.axhspan(1e3 * low, 1e3 * high, color=green, alpha=0.35)
    axis.axhline(1e3 * proper.median, color=green, label="timing.measure: median, quartiles")
    all_times = [single, *naive, proper.median]
    if max(all_times) > 8 * min(all_times):
        _use_plain_log_scale(axis.yaxis)
    else:
        axis.set_ylim(0, 1.08 * max(all_times) * 1e3)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_xlabel("call")
    axis.set_ylabel("measured time [ms]")
    axis.legend(fontsize=8)
    factor = single / proper.median
    median = format_duration(proper.median)
    if single > max(naive):
        title = f"First call: {format_duration(single)}, {factor:.1f} times the median of {median}"
    else:
        fastest, slowest = (
            format_duration(min(all_times[:-1])),
            format_duration(max(all_times[:-1])),
        )
        title = f"Calls of the same function: {fastest} to {slowest}; median {median}"
    axis.set_title(title)
    return figure


def plot_step_parts(parts: Mapping[str, Mapping[str, float]]) -> Figure:
    """Draw the parts of a training step, in time per image, as one stacked bar per setting.

    Args:
        parts: seconds per image, by setting and part; parts in the order in which they run.
    """
    figure, axis = new_figure(height=0.7 * len(parts) + 1.5)
    names = list(parts)
    left = [0.0] * len(names)
    for part in next(iter(parts.values())):
        color = PART_COLORS[part]
        widths = [1e6 * parts[name][part] for name in names]
        bars = axis.barh(names, widths, left=left, color=color, label=part, edgecolor="white")
        is_wide = [
            width > 0.07 * max(sum(p.values()) * 1e6 for p in parts.values()) for width in widths
        ]
        texts = [
            f"{width:.0f}" if fits else "" for width, fits in zip(widths, is_wide, strict=True)
        ]
        axis.bar_label(bars, texts, label_type="center", color=text_color_on(color), fontsize=8)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axis.invert_yaxis()
    axis.grid(axis="y", visible=False)
    axis.set_xlabel("time per image [µs]")
    axis.legend(ncols=4, fontsize=8, loc="lower right")
    first, last = (1e6 * sum(parts[name].values()) for name in (names[0], names[-1]))
    axis.set_title(f"Time per image: {first:,.0f} µs in the first bar, {last:,.0f} µs in the last")
    return figure


def plot_loss_against_time(histories: Mapping[str, History]) -> Figure:
    """Draw the training loss against the time spent, one curve per training run.

    A final loss is the mean of the last tenth of a curve.
    """
    figure, axis = new_figure(height=3.8)

    def final_loss(history: History) -> float:
        last = history.losses[-max(1, len(history.losses) // 10) :]
        return sum(last) / len(last)

    for (label, history), color in zip(histories.items(), OTHER_COLORS[2:], strict=False):
        per_step = history.seconds / history.steps[-1]
        seconds = [step * per_step for step in history.steps]
        axis.plot(seconds, history.losses, ".-", color=color, markersize=3)
        axis.lines[-1].set_label(f"{label}: final loss {final_loss(history):.2f}")
    axis.set_xlabel("training time [s]")
    axis.set_ylabel("training loss")
    axis.set_xlim(left=0)
    axis.legend(fontsize=8)
    final = [final_loss(history) for history in histories.values()]
    axis.set_title(f"The same images: a final loss from {min(final):.2f} to {max(final):.2f}")
    return figure


def plot_pipelines(speeds: Mapping[str, Mapping[int, float]]) -> Figure:
    """Draw images per second of each input pipeline, grouped by batch size.

    Args:
        speeds: images per second, by pipeline and batch size.
    """
    figure, axis = new_figure(height=3.8)
    batches = list(next(iter(speeds.values())))
    width = 0.8 / len(speeds)
    for row, (pipeline, speed_by_batch) in enumerate(speeds.items()):
        places = [i + (row - (len(speeds) - 1) / 2) * width for i in range(len(batches))]
        heights = [speed_by_batch[batch] for batch in batches]
        bars = axis.bar(places, heights, width, label=pipeline, color=OTHER_COLORS[row])
        axis.bar_label(bars, [_format_rate(height) for height in heights], fontsize=7)
    axis.set_xticks(range(len(batches)), [f"{batch}" for batch in batches])
    axis.set_yscale("log")
    axis.yaxis.set_major_formatter(lambda value, _: _format_rate(value))
    axis.margins(y=0.15)
    axis.set_xlabel("images per batch")
    axis.set_ylabel("images prepared per second")
    axis.legend(fontsize=8, loc="upper left", bbox_to_anchor=(0, -0.2), ncols=2, frameon=False)
    ranked = sorted(speeds, key=lambda pipeline: speeds[pipeline][batches[-1]], reverse=True)
    ratio = speeds[ranked[0]][batches[-1]] / speeds[ranked[1]][batches[-1]]
    axis.set_title(
        f'Batch {batches[-1]}: "{ranked[0]}" is {ratio:.1f} times as fast as "{ranked[1]}"',
        fontsize=11,
    )
    return figure


def _format_rate(value: float) -> str:
    return (
        f"{value / 1e6:.1f}M"
        if value >= 1e6
        else f"{value / 1e3:.3g}k"
        if value >= 1e3
        else f"{value:.0f}"
    )


def plot_transfers(
    sizes: Sequence[int], rates: Mapping[str, Sequence[float]], where: str
) -> Figure:
    """Draw GB/s from host to device against the size of a copy, one curve per kind of memory.

    Args:
        sizes: bytes of a copy.
        rates: maps the kind of memory to GB/s, one value for each size.
        where: device and date, for the title's second line.
    """
    figure, axis = new_figure()
    for (kind, values), mark in zip(rates.items(), "osDv", strict=False):
        axis.plot([size / 1e6 for size in sizes], values, marker=mark, label=kind)
    _use_plain_log_scale(axis.xaxis, (1,))
    _use_plain_log_scale(axis.yaxis)
    axis.set_xlabel("size of a copy [MB]")
    axis.set_ylabel("host to device [GB/s]")
    axis.legend(fontsize=8)
    slowest, fastest = sorted(rates, key=lambda kind: rates[kind][-1])[:: len(rates) - 1 or 1]
    ratio = rates[fastest][-1] / rates[slowest][-1]
    title = f"Large copies: {fastest} memory is {ratio:.1f} times as fast as {slowest}"
    axis.set_title(f"{title}\n{where}")
    return figure
