"""Figures of lesson 06: whitening filters, orthogonal steps, accuracy against time, recorded races.

What is drawn from a record says in its title what the record shows; nothing is made up here.
"""

import statistics
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from torch import Tensor

from helpers.plots.style import COLORS, ink_on, new_figure
from helpers.records import Record


def filters(weights: Tensor, spreads: Sequence[float], *, columns: int = 9) -> Figure:
    """Draw filters `(N, 3, k, k)` as small colour images, from the commonest direction on.

    Args:
        spreads: standard deviation of the patches along each filter's direction.
    """
    rows = -(-len(weights) // columns)
    figure, axes = new_figure(rows, columns, width=0.85 * columns, height=1.05 * rows + 0.8)
    for axis in np.ravel(axes):
        axis.set_axis_off()
    for weight, spread, axis in zip(weights, spreads, np.ravel(axes), strict=False):
        picture = weight.permute(1, 2, 0).cpu().numpy()
        axis.imshow(0.5 + 0.5 * picture / abs(picture).max())
        axis.set_title(f"{spread:.2g}", fontsize=8)
    ratio = max(spreads) / min(spreads)
    figure.suptitle(f"Patches vary {ratio:.0f} times as much along the first filter as the last")
    figure.supxlabel("standard deviation of the patches in each direction [of a colour's]")
    return figure


def singular_values(before: Tensor, after: Tensor) -> Figure:
    """Draw the singular values of a step, `(R,)`, as the gradient has them and as Muon takes it."""
    figure, axis = new_figure()
    numbers = range(1, len(before) + 1)
    axis.plot(numbers, (before / before.max()).cpu(), label="the gradient's, largest = 1")
    axis.plot(numbers, after.sort(descending=True).values.cpu(), label="after three iterations")
    axis.axhline(1, color="0.6", linestyle=":")
    axis.set_xlabel("singular value, from the largest on [number]")
    axis.set_ylabel("size [1 = a direction kept as it is]")
    axis.set_ylim(bottom=0)
    axis.legend()
    was = (before > before.max() / 2).double().mean().item()
    now = (after > after.max() / 2).double().mean().item()
    axis.set_title(
        f"Directions at least half as long as the longest: {was:.0%} before, {now:.0%} after"
    )
    return figure


def learning_curve(seconds: Sequence[float], accuracies: Sequence[float]) -> Figure:
    """Draw test accuracy, from 0 to 1, against the seconds spent in training."""
    figure, axis = new_figure()
    shares = [100 * a for a in accuracies]
    axis.plot(seconds, shares, marker="o")
    axis.set_xlabel("time in training [s]")
    axis.set_ylabel("right answers, one view [%]")
    axis.set_xlim(left=0)
    axis.set_title(f"{shares[-1]:.1f} % after {seconds[-1]:.1f} s of training")
    return figure


def ideas_switched_off(record: Record) -> Figure:
    """Draw accuracy beside time for a run with all ideas and for runs without one each.

    Args:
        record: what `benchmarks/tricks_switched_off.py` measured.
    """
    rows = {row["name"]: row for row in record.figures["rows"]}
    everything = rows.pop(record.figures["baseline"])
    reference = statistics.median(everything["accuracy"])
    ordered = sorted(rows.values(), key=lambda row: statistics.median(row["accuracy"]))
    names = [f"without {row['name']}" for row in ordered] + [everything["name"]]
    figure, _ = new_figure(1, 2, width=9.5, height=0.36 * len(names) + 1.4)
    for axis, key, factor in ((figure.axes[0], "accuracy", 100), (figure.axes[1], "seconds", 1)):
        for place, row in enumerate([*ordered, everything]):
            values = [factor * value for value in row[key]]
            colour = COLORS[0] if row is everything else COLORS[1]
            axis.plot(values, [place] * len(values), ".", color=colour, alpha=0.5)
            axis.plot(statistics.median(values), place, "D", color=colour)
        middle = factor * statistics.median(everything[key])
        axis.axvline(middle, color=COLORS[0], linestyle=":")
    figure.axes[0].set_yticks(range(len(names)), names)
    figure.axes[1].set_yticks(range(len(names)), [""] * len(names))
    figure.axes[0].set_xlabel("test accuracy [%]; dot: a run, diamond: median")
    figure.axes[1].set_xlabel("time in training [s]")
    figure.axes[1].set_xlim(left=0)
    worst = ordered[0]
    loss = 100 * (reference - statistics.median(worst["accuracy"]))
    figure.suptitle(f"Missed most: {worst['name']}, worth {loss:.1f} points\n{record.origin}")
    return figure


def within_a_clock(record: Record) -> Figure:
    """Draw the test accuracy that each recipe reaches within each time on the clock.

    Args:
        record: what `benchmarks/accuracy_within_a_clock.py` measured.
    """
    figure, axis = new_figure(height=3.8)
    recipes = list(record.figures["recipes"])
    clocks = sorted(record.figures["clocks"], key=float)
    width = 0.8 / len(recipes)
    tops: dict[str, dict[str, float]] = {}
    for i, recipe in enumerate(recipes):
        places, heights = [], []
        for place, clock in enumerate(clocks):
            runs = [
                r for r in record.figures["runs"] if r["recipe"] == recipe and r["clock"] == clock
            ]
            if runs:
                places.append(place + (i - (len(recipes) - 1) / 2) * width)
                heights.append(100 * statistics.median(r["accuracy_six_views"] for r in runs))
                tops.setdefault(clock, {})[recipe] = heights[-1]
                ends = [100 * r["accuracy_six_views"] for r in runs]
                axis.plot([places[-1]] * len(ends), ends, ".", color="black", zorder=3)
        bars = axis.bar(places, heights, width * 0.9, color=COLORS[i], label=recipe)
        axis.bar_label(bars, fmt="%.1f", label_type="center", color=ink_on(COLORS[i]))
    axis.set_xticks(range(len(clocks)), [f"{float(c):g} s" for c in clocks])
    axis.set_xlabel("time in training")
    axis.set_ylabel("right answers, six views [%]")
    axis.set_ylim(0, 119)
    axis.legend(loc="upper left", ncols=len(recipes), fontsize=8)
    best = max(tops[clocks[-1]], key=lambda recipe: tops[clocks[-1]][recipe])
    axis.set_title(
        f"In {float(clocks[-1]):g} s: {tops[clocks[-1]][best]:.1f} %, by {best}\n{record.origin}"
    )
    return figure


def race(record: Record) -> Figure:
    """Draw accuracy against seconds of every run of two contestants on one GPU.

    Args:
        record: what `benchmarks/against_airbench.py` measured.
    """
    figure, axis = new_figure(height=4.0)
    middles = {}
    for i, (name, runs) in enumerate(record.figures["runs"].items()):
        seconds = [run["seconds"] for run in runs]
        shares = [100 * run["accuracy"] for run in runs]
        axis.plot(seconds, shares, ".", color=COLORS[i], alpha=0.6, label=f"{name}, a run")
        middles[name] = statistics.median(seconds), statistics.mean(shares)
        axis.plot(*middles[name], "D", color=COLORS[i], markersize=9)
    axis.axhline(94, color="0.5", linestyle=":")
    axis.set_xlabel("training and answering, compilation apart [s]; diamond: median, mean")
    axis.set_ylabel("right answers, six views [%]")
    axis.set_xlim(left=0)
    axis.legend()
    seconds, share = middles["course"]
    ratio = seconds / middles["airbench"][0]
    axis.set_title(
        f"{share:.2f} % in {seconds:.2f} s, {ratio:.2f} of airbench's time\n{record.origin}"
    )
    return figure
