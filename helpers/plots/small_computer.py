"""Figures about the small computer: the cost of its runs and the activity of its lanes."""

from collections.abc import Mapping, Sequence

import numpy as np

from helpers.language import translate
from helpers.plots.style import OTHER_COLORS, new_figure, scale_to_sizes, show, text_color_on
from helpers.small_computer import Cost, Trace
from helpers.small_computer.instruction_set import CATEGORIES

_MARKERS = "osD^v"
_CATEGORY_COLORS = dict(zip(CATEGORIES, ("#B0B0B0", *OTHER_COLORS), strict=True))


def plot_categories(costs: Mapping[str, Cost], *, title: str) -> None:
    """Show the instructions of each run as a bar, divided by category.

    Args:
        costs: the cost of each run, by its name.
        title: the finding.
    """
    figure, axis = new_figure(height=0.9 + 0.55 * len(costs))
    left = np.zeros(len(costs))
    for category, color in _CATEGORY_COLORS.items():
        counts = np.array([cost.by_category.get(category, 0) for cost in costs.values()])
        if counts.any():
            bars = axis.barh(
                list(costs), counts, left=left, color=color, label=category, height=0.6
            )
            labels = [f"{count:,}" if count else "" for count in counts]
            axis.bar_label(
                bars, labels, label_type="center", color=text_color_on(color), fontsize=9
            )
            left += counts
    axis.invert_yaxis()
    axis.grid(visible=False, axis="y")
    axis.set(xlabel="instructions", title=title)
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    summary = "; ".join(
        f"{name}: "
        + ", ".join(f"{count:,} {translate(kind)}" for kind, count in cost.by_category.items())
        for name, cost in costs.items()
    )
    show(figure, translate("Bar chart of instructions by category. {summary}.", summary=summary))


def plot_cycles(lanes: Sequence[int], cycles: Mapping[str, Sequence[int]], *, title: str) -> None:
    """Show the cycles of programs against the number of lanes.

    Args:
        lanes: the numbers of lanes.
        cycles: maps the name of each line to its cycles, one for each number of lanes.
        title: the finding.
    """
    figure, axis = new_figure(height=4.0)
    lines = zip(cycles.items(), OTHER_COLORS, _MARKERS, strict=False)
    for (name, values), color, marker in lines:
        axis.plot(lanes, values, marker=marker, markersize=5, label=name, color=color)
    axis.set_yscale("log")
    scale_to_sizes(axis, lanes)
    axis.yaxis.set_major_formatter("{x:,g}")
    axis.set(xlabel="lanes (log scale)", ylabel="cycles (log scale)", title=title)
    axis.legend(frameon=False)
    summary = "; ".join(
        translate(
            "{name}: from {first:,} cycles with {lanes} lane to {lowest:,} at the lowest",
            name=name,
            first=values[0],
            lanes=lanes[0],
            lowest=min(values),
        )
        for name, values in cycles.items()
    )
    alt = translate(
        "Line chart of cycles against lanes, both on log scales. {summary}.", summary=summary
    )
    show(figure, alt)


def plot_lanes(trace: Trace, *, title: str) -> None:
    """Show which lanes are active in each step of `trace`."""
    active = np.array([step.active for step in trace.steps]).T
    figure, axis = new_figure(width=7.5, height=1.5 + 0.2 * len(active))
    axis.pcolormesh(
        np.arange(active.shape[1] + 1) + 0.5,
        np.arange(active.shape[0] + 1) - 0.5,
        np.where(active, 0.75, 0.05),
        cmap="Greens",
        vmin=0,
        vmax=1,
        edgecolors="white",
        linewidth=0.5,
    )
    axis.grid(visible=False)
    axis.invert_yaxis()
    axis.set_yticks(range(len(active)))
    axis.set(xlabel="step (dark: the lane is active; light: it waits)", ylabel="lane", title=title)
    busy = ", ".join(
        translate("lane {lane}: {steps}", lane=lane, steps=row.sum())
        for lane, row in enumerate(active)
    )
    show(
        figure,
        translate(
            "Grid of {lanes} lanes by {steps} steps, filled where a lane is active. "
            "Active steps: {busy}.",
            lanes=len(active),
            steps=active.shape[1],
            busy=busy,
        ),
    )
