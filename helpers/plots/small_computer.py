"""Figures about the small computer: the cycles of its runs and the activity of its lanes."""

from collections.abc import Mapping, Sequence

import numpy as np

from helpers.language import translate
from helpers.plots.style import OTHER_COLORS, new_figure, scale_to_sizes, show
from helpers.small_computer import Trace


def plot_cycles(
    counts: Sequence[int], cycles: Mapping[str, Sequence[int]], *, title: str, xlabel: str = "lanes"
) -> None:
    """Show the cycles of programs, by name, against the number of lanes or of warps."""
    figure, axis = new_figure(height=4.0)
    for (name, values), color, marker in zip(cycles.items(), OTHER_COLORS, "osD^v", strict=False):
        axis.plot(counts, values, marker=marker, markersize=5, label=name, color=color)
    axis.set_yscale("log")
    scale_to_sizes(axis, counts)
    axis.yaxis.set_major_formatter("{x:,g}")
    axis.set(xlabel=f"{xlabel} (log scale)", ylabel="cycles (log scale)", title=title)
    axis.legend(frameon=False)
    lines = [
        translate(
            "{name}: from {first:,} to {last:,} cycles",
            name=translate(name),
            first=y[0],
            last=y[-1],
        )
        for name, y in cycles.items()
    ]
    show(figure, "Line chart of cycles on log scales. {summary}.", summary="; ".join(lines))


def plot_lanes(trace: Trace, *, title: str) -> None:
    """Show which lanes are active in each step of `trace`."""
    active = np.array([step.active for step in trace.steps]).T
    lanes, steps = active.shape
    figure, axis = new_figure(width=7.5, height=1.5 + 0.2 * lanes)
    across, down = np.arange(steps + 1) + 0.5, np.arange(lanes + 1) - 0.5
    look = {"cmap": "Greens", "vmin": 0, "vmax": 1, "edgecolors": "white", "linewidth": 0.5}
    axis.pcolormesh(across, down, np.where(active, 0.75, 0.05), **look)
    axis.grid(visible=False)
    axis.invert_yaxis()
    axis.set_yticks(range(lanes))
    axis.set(xlabel="step (dark: the lane is active; light: it waits)", ylabel="lane", title=title)
    busy = [
        translate("lane {lane}: {steps}", lane=lane, steps=row.sum())
        for lane, row in enumerate(active)
    ]
    show(
        figure,
        "Grid of {lanes} lanes by {steps} steps, filled where a lane is active. "
        "Active steps: {busy}.",
        lanes=lanes,
        steps=steps,
        busy=", ".join(busy),
    )
