"""The figures of the small computer: what its runs cost and which of its lanes work."""

from collections.abc import Mapping, Sequence

import numpy as np

from helpers.plots.style import COLORS, ink_on, new_figure, show
from helpers.small_computer import Cost, Trace
from helpers.small_computer.instruction_set import CATEGORIES

_MARKERS = "osD^v"


def plot_categories(costs: Mapping[str, Cost], *, title: str) -> None:
    """Show the instructions of each run as a bar, divided by category; `costs` by name."""
    figure, axis = new_figure(height=0.9 + 0.55 * len(costs))
    left = np.zeros(len(costs))
    for number, category in enumerate(CATEGORIES):
        counts = np.array([cost.by_category.get(category, 0) for cost in costs.values()])
        if counts.any():
            colour = COLORS[number]
            bars = axis.barh(
                list(costs), counts, left=left, color=colour, label=category, height=0.6
            )
            labels = [f"{count:,}" if count else "" for count in counts]
            axis.bar_label(bars, labels, label_type="center", color=ink_on(colour), fontsize=9)
            left += counts
    axis.invert_yaxis()
    axis.grid(visible=False, axis="y")
    axis.set(xlabel="instructions", title=title)
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    told = "; ".join(
        f"{name}: " + ", ".join(f"{count:,} {kind}" for kind, count in cost.by_category.items())
        for name, cost in costs.items()
    )
    show(figure, f"Bar chart of instructions by category. {told}.")


def plot_cycles(lanes: Sequence[int], cycles: Mapping[str, Sequence[int]], *, title: str) -> None:
    """Show how cycles fall as lanes are added.

    Args:
        lanes: the numbers of lanes, along the horizontal axis.
        cycles: for each line its name and its cycles, one for each number of lanes.
        title: the finding.
    """
    figure, axis = new_figure(height=4.0)
    for number, (name, values) in enumerate(cycles.items()):
        axis.plot(
            lanes, values, marker=_MARKERS[number % 5], markersize=5, label=name, linewidth=1.6
        )
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_xticks(lanes, [str(count) for count in lanes])
    axis.minorticks_off()
    axis.yaxis.set_major_formatter("{x:,g}")
    axis.set(xlabel="lanes (log scale)", ylabel="cycles (log scale)", title=title)
    axis.legend(frameon=False)
    told = "; ".join(
        f"{name}: from {values[0]:,} cycles with {lanes[0]} lane to {min(values):,} at the lowest"
        for name, values in cycles.items()
    )
    show(figure, f"Line chart of cycles against lanes, both on log scales. {told}.")


def plot_lanes(trace: Trace, *, title: str) -> None:
    """Show which lanes take part in each step of `trace`: filled where a lane works."""
    active = np.array([step.active for step in trace.steps]).T
    figure, axis = new_figure(width=7.5, height=1.5 + 0.2 * len(active))
    axis.pcolormesh(
        np.arange(active.shape[1] + 1) + 0.5,
        np.arange(active.shape[0] + 1) - 0.5,
        np.where(active, 0.75, 0.05),
        cmap="Blues",
        vmin=0,
        vmax=1,
        edgecolors="white",
        linewidth=0.5,
    )
    axis.grid(visible=False)
    axis.invert_yaxis()
    axis.set_yticks(range(len(active)))
    axis.set(xlabel="step", ylabel="lane", title=title)
    busy = ", ".join(f"lane {lane}: {row.sum()}" for lane, row in enumerate(active))
    show(
        figure,
        f"Grid of {len(active)} lanes by {active.shape[1]} steps, filled where a lane takes part. "
        f"Steps taken part in: {busy}.",
    )
