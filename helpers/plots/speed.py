"""Figures of speed: a stopwatch's runs, curves that cross, where time goes, copies."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from helpers.plots.style import COLORS, CPU_COLOR, GPU_COLOR, ink_on, new_figure
from helpers.records import Record
from helpers.timing import Measurement, duration


@dataclass(frozen=True)
class Curve:
    """Seconds an image against a size, on one device; `origin` is what the legend says."""

    origin: str
    kind: str  # "cpu", "cuda", ...
    sizes: Sequence[float]
    seconds: Sequence[float]


def recorded_curve(record: Record, which: str) -> Curve:
    """Return the curve `which` ("batch", "width", "depth") of a record of batch_and_width."""
    found = record.figures[which]
    medians = [median for median, *_ in found["seconds"]]
    return Curve(record.origin, record.kind, found["sizes"], medians)


def crossing(slow_start: Curve, winner: Curve) -> float | None:
    """Return the size from which on `winner` takes less time; None if it does not at the end.

    Between two sizes that both curves have, a straight line on logarithmic scales is assumed. 0 if
    it takes less time at every size.
    """
    first = dict(zip(slow_start.sizes, slow_start.seconds, strict=True))
    second = dict(zip(winner.sizes, winner.seconds, strict=True))
    shared = sorted(first.keys() & second.keys())
    if not shared or second[shared[-1]] >= first[shared[-1]]:
        return None
    gaps = [math.log(second[size] / first[size]) for size in shared]
    for (left, right), (above, below) in zip(
        reversed(list(pairwise(shared))), reversed(list(pairwise(gaps))), strict=True
    ):
        if above >= 0 > below:
            share = above / (above - below)
            return left * (right / left) ** share
    return 0.0


def curves(found: Sequence[Curve], size_label: str, *, unit: str = "") -> Figure:
    """Draw seconds an image against a size for each curve, and mark where the GPU begins to win.

    Args:
        found: curves of the CPU, and of GPUs if there are any; the first of each kind are compared.
        size_label: what the size is, for the axis.
        unit: the word before a size in the title: "batch", "width".
    """
    figure, axis = new_figure(height=3.8)
    for curve in found:
        micro = [1e6 * value for value in curve.seconds]
        colour, mark = (CPU_COLOR, "o") if curve.kind == "cpu" else (GPU_COLOR, "s")
        axis.plot(curve.sizes, micro, marker=mark, color=colour, label=curve.origin)
    axis.set_xscale("log", base=2)
    _plain_logarithmic(axis.yaxis)
    ticks = sorted({size for curve in found for size in curve.sizes})
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_xlabel(size_label)
    axis.set_ylabel("training time an image [µs]")
    axis.legend(fontsize=8)
    axis.set_title(_curves_title(found, unit))
    cpu, gpu = _first(found, cpu=True), _first(found, cpu=False)
    where = crossing(cpu, gpu) if cpu and gpu else None
    if where:
        axis.axvline(where, color="0.4", linestyle=":")
    return figure


def _plain_logarithmic(axis: Axis, marks: tuple[int, ...] = (1, 2, 5)) -> None:
    """Make an axis logarithmic with ticks at `marks` times a power of ten, written in full."""
    which = axis.axis_name
    getattr(axis.axes, f"set_{which}scale")("log")
    axis.set_major_locator(LogLocator(subs=marks))
    axis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}")
    axis.set_minor_locator(NullLocator())


def _first(found: Sequence[Curve], *, cpu: bool) -> Curve | None:
    return next((curve for curve in found if (curve.kind == "cpu") == cpu), None)


def _curves_title(found: Sequence[Curve], unit: str) -> str:
    cpu, gpu = _first(found, cpu=True), _first(found, cpu=False)
    if cpu and gpu:
        where = crossing(cpu, gpu)
        if where is None:
            return "The GPU does not win at any end of this range"
        if where == 0:
            return f"The GPU wins from the smallest {unit} on"
        return f"The GPU wins from a {unit} of about {where:.0f} on"
    only = found[0]
    factor = only.seconds[-1] / only.seconds[0]
    sizes = f"{unit} {only.sizes[0]:g} to {only.sizes[-1]:g}"
    if factor < 1:
        return f"From {sizes}, an image's time falls to 1/{1 / factor:.1f}"
    return f"From {sizes}, an image's time grows {factor:.1f} times"


def stopwatch(single: float, naive: Sequence[float], proper: Measurement) -> Figure:
    """Draw what two stopwatches say of one call.

    Args:
        single: seconds that one unprepared call took.
        naive: seconds of one call after the other, by a clock that does not wait for the device.
        proper: what `helpers.timing` found.
    """
    figure, axis = new_figure(height=3.2)
    milli = [1e3 * value for value in naive]
    axis.plot([1], [1e3 * single], "X", markersize=10, color=COLORS[1], label="the first call")
    axis.plot(range(2, len(milli) + 2), milli, "o", color=COLORS[0], label="later calls, one each")
    low, high = proper.quartiles
    axis.axhspan(1e3 * low, 1e3 * high, color=COLORS[2], alpha=0.35)
    axis.axhline(1e3 * proper.median, color=COLORS[2], label="measured: median and quartiles")
    everything = [single, *naive, proper.median]
    if max(everything) > 8 * min(everything):
        _plain_logarithmic(axis.yaxis)
    else:
        axis.set_ylim(0, 1.08 * max(everything) * 1e3)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_xlabel("call")
    axis.set_ylabel("time the clock shows [ms]")
    axis.legend(fontsize=8)
    axis.set_title(
        f"The first call shows {duration(single)}, the measurement {duration(proper.median)}"
    )
    return figure


def step_parts(parts: Mapping[str, Mapping[str, float]]) -> Figure:
    """Draw the parts of a training step, in seconds an image, as one stacked bar a setting.

    Args:
        parts: setting to part to seconds; parts in the order in which they happen.
    """
    figure, axis = new_figure(height=0.7 * len(parts) + 1.5)
    names = list(parts)
    left = [0.0] * len(names)
    for colour, part in zip(COLORS, next(iter(parts.values())), strict=False):
        widths = [1e6 * parts[name][part] for name in names]
        bars = axis.barh(names, widths, left=left, color=colour, label=part, edgecolor="white")
        wide = [
            width > 0.07 * max(sum(p.values()) * 1e6 for p in parts.values()) for width in widths
        ]
        texts = [f"{width:.0f}" if shown else "" for width, shown in zip(widths, wide, strict=True)]
        axis.bar_label(bars, texts, label_type="center", color=ink_on(colour), fontsize=8)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axis.invert_yaxis()
    axis.grid(axis="y", visible=False)
    axis.set_xlabel("time an image [µs]")
    axis.legend(ncols=4, fontsize=8, loc="lower right")
    first, last = (1e6 * sum(parts[name].values()) for name in (names[0], names[-1]))
    axis.set_title(f"An image takes {first:,.0f} µs at the top, {last:,.0f} µs at the bottom")
    return figure


def pipelines(speeds: Mapping[str, Mapping[int, float]], baseline: str) -> Figure:
    """Draw images a second of each way to feed a network, grouped by the size of the batch.

    Args:
        speeds: way to batch size to images a second.
        baseline: the way that the title compares with the fastest.
    """
    figure, axis = new_figure(height=3.8)
    batches = list(next(iter(speeds.values())))
    width = 0.8 / len(speeds)
    for row, (way, found) in enumerate(speeds.items()):
        places = [i + (row - (len(speeds) - 1) / 2) * width for i in range(len(batches))]
        heights = [found[batch] for batch in batches]
        bars = axis.bar(places, heights, width, label=way, color=COLORS[row])
        axis.bar_label(bars, [_short(height) for height in heights], fontsize=7)
    axis.set_xticks(range(len(batches)), [f"{batch}" for batch in batches])
    axis.set_yscale("log")
    axis.yaxis.set_major_formatter(lambda value, _: _short(value))
    axis.margins(y=0.15)
    axis.set_xlabel("images a batch")
    axis.set_ylabel("images prepared a second")
    axis.legend(fontsize=8, loc="upper left", bbox_to_anchor=(0, -0.2), ncols=2, frameon=False)
    fastest = max(speeds, key=lambda way: speeds[way][batches[0]])
    ratio = speeds[fastest][batches[0]] / speeds[baseline][batches[0]]
    axis.set_title(
        f"At batch {batches[0]}: {ratio:.0f} times as many images a second from {fastest}"
    )
    return figure


def _short(value: float) -> str:
    return (
        f"{value / 1e6:.1f}M"
        if value >= 1e6
        else f"{value / 1e3:.3g}k"
        if value >= 1e3
        else f"{value:.0f}"
    )


def transfers(sizes: Sequence[int], rates: Mapping[str, Sequence[float]], where: str) -> Figure:
    """Draw GB/s from host to device against the size of a copy, one curve a kind of memory.

    Args:
        sizes: bytes of a copy.
        rates: kind of memory to GB/s, one for each size.
        where: device and date, for the title's second line.
    """
    figure, axis = new_figure()
    for (kind, values), mark in zip(rates.items(), "osDv", strict=False):
        axis.plot([size / 1e6 for size in sizes], values, marker=mark, label=kind)
    _plain_logarithmic(axis.xaxis, (1,))
    _plain_logarithmic(axis.yaxis)
    axis.set_xlabel("size of a copy [MB]")
    axis.set_ylabel("host to device [GB/s]")
    axis.legend(fontsize=8)
    slowest, fastest = sorted(rates, key=lambda kind: rates[kind][-1])[:: len(rates) - 1 or 1]
    ratio = rates[fastest][-1] / rates[slowest][-1]
    title = f"A large copy from {fastest} memory runs {ratio:.1f} times as fast"
    axis.set_title(f"{title}\n{where}")
    return figure
