"""Figures for lesson 06: whitening filters, singular values, accuracy against time, comparisons."""

import statistics
from collections.abc import Sequence

from matplotlib.figure import Figure
from torch import Tensor

from helpers.language import translate
from helpers.plots.classification import draw_images
from helpers.plots.style import OTHER_COLORS, annotate, new_figure
from helpers.records import Record


def draw_filters(weights: Tensor, spreads: Sequence[float]) -> Figure:
    """Draw filters `(N, 3, k, k)` as small color images.

    Each has the standard deviation of the patches along its direction as its title.
    """
    pixels = 127.5 + 127.5 * weights / weights.abs().amax((1, 2, 3), keepdim=True)
    ratio = max(spreads) / min(spreads)
    title = f"Patches vary {ratio:.0f} times as much along the first filter as the last"
    figure = draw_images(pixels.byte(), [f"{s:.2g}" for s in spreads], title=title, columns=9)
    figure.supxlabel("standard deviation of the patches along each direction")
    return figure


def plot_singular_values(before: Tensor, after: Tensor) -> Figure:
    """Draw the singular values `(R,)` of a gradient and of Muon's update for it."""
    figure, axis = new_figure()
    numbers = range(1, len(before) + 1)
    scaled, updated = (before / before.max()).cpu(), after.sort(descending=True).values.cpu()
    axis.plot(numbers, scaled, color=OTHER_COLORS[3], label="gradient (largest = 1)")
    axis.plot(numbers, updated, color=OTHER_COLORS[2], label="after three iterations")
    axis.axhline(1, color="0.6", linestyle=":")
    axis.set_ylim(bottom=0)
    axis.legend()
    first, last = ((v > v.max() / 2).double().mean().item() for v in (before, after))
    title = f"Singular values of at least half the largest: {first:.0%} before, {last:.0%} after"
    axis.set(xlabel="index of the singular value, largest first", ylabel="singular value")
    axis.set_title(title)
    return figure


def plot_learning_curve(seconds: Sequence[float], accuracies: Sequence[float]) -> Figure:
    """Draw test accuracy, from 0 to 1, against the seconds spent in training."""
    figure, axis = new_figure()
    axis.plot(seconds, [100 * accuracy for accuracy in accuracies], marker="o")
    axis.set_xlim(left=0)
    accuracy, time = accuracies[-1], seconds[-1]
    title = f"{accuracy:.1%} after {time:.1f} s of training"
    axis.set(xlabel="training time [s]", ylabel="test accuracy, one view [%]", title=title)
    return figure


def plot_ablation(record: Record) -> Figure:
    """Draw the change of test accuracy if a technique is removed, from `benchmarks/ablation.py`.

    The band is the range of the runs with all techniques: a change inside it may be due to chance.
    """
    rows = {row["name"]: row["accuracy"] for row in record.results["rows"]}
    reference = statistics.median(rows[record.results["baseline"]])
    changes = {
        name: [100 * (accuracy - reference) for accuracy in accuracies]
        for name, accuracies in rows.items()
    }
    band = changes.pop(record.results["baseline"])
    medians = {name: statistics.median(values) for name, values in changes.items()}
    techniques = sorted(changes, key=medians.get)
    figure, axis = new_figure(width=8.0, height=0.34 * len(techniques) + 1.6)
    axis.axvspan(min(band), max(band), color="0.88", label="range of the runs with all techniques")
    axis.axvline(0, color="0.4", linestyle=":")
    for row, name in enumerate(techniques):
        values = changes[name]
        outside_band = max(values) < min(band) or min(values) > max(band)
        color = OTHER_COLORS[2] if outside_band else "0.35"
        axis.plot(values, [row] * len(values), ".", color=color, alpha=0.6)
        axis.plot(medians[name], row, "D", color=color)
        annotate(axis, f"{medians[name]:+.1f}", max(values), row, 8)
    names = [translate(f"without {name}") for name in techniques]
    axis.set_yticks(range(len(techniques)), names)
    axis.invert_yaxis()
    # Most changes are small and a few are large: linear up to 3 points, logarithmic beyond.
    axis.set_xscale("symlog", linthresh=3, linscale=2)
    ticks = [tick for tick in (-30, -10, -3, -2, -1, 0, 1, 2, 3, 10) if tick >= min(band) - 60]
    axis.set_xticks(ticks, [f"{tick:+d}" if tick else "0" for tick in ticks])
    axis.minorticks_off()
    axis.set_xlim(1.4 * min(min(v) for v in changes.values()) - 1, 6)
    axis.set_xlabel("change of test accuracy [percentage points]; dot: a run, diamond: median")
    figure.legend(frameon=False, fontsize=8, loc="outside lower center")
    runs, largest = min(map(len, changes.values())), techniques[0]
    loss = -medians[largest]
    title = f"Largest drop: without {largest}, {loss:.1f} points ({runs} runs per technique)"
    axis.set_title(f"{title}\n{record.origin}", fontsize=10)
    return figure
