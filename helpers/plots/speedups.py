"""The figure of the speed-up of each change to the classic script."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from helpers.plots.style import OTHER_COLORS, new_figure
from helpers.speedups import Speedup

NO_GAIN_COLOR = "#B0B0B0"


def plot_speedups(
    cumulative: Sequence[Speedup], alone: Sequence[Speedup] = (), *, where: str = ""
) -> Figure:
    """Draw the speed-up of each change on top of those that helped, and alone if measured.

    Args:
        cumulative: result of `SpeedupStudy.measure_cumulative`; the last two are relative to the
            classic script.
        alone: result of `SpeedupStudy.measure_each`.
        where: device and date, for the title's second line.
    """
    panels = 2 if alone else 1
    height = 0.36 * len(cumulative) + 1.6
    figure, axes = new_figure(1, panels, width=9.5 if alone else 7.0, height=height)
    cumulative_axis = axes.flat[-1] if alone else axes
    if alone:
        _draw_panel(axes.flat[0], alone, "each change alone, on the classic script")
    _draw_panel(cumulative_axis, cumulative, "each change on top of those that helped")
    helpful = sum(speedup.helps for speedup in cumulative[:-2])
    total = sum(not speedup.note for speedup in cumulative[:-2])
    top = cumulative[-2].ratio
    title = (
        f"Changes that help: {helpful} of {total}; training with them is {top:.1f} times as fast"
    )
    figure.suptitle(title + (f"\n{where}" if where else ""), fontsize=11)
    return figure


def _draw_panel(axis: Axes, speedups: Sequence[Speedup], label: str) -> None:
    for row, speedup in enumerate(speedups):
        is_total = speedup.name in ("what helped", "everything")
        color = OTHER_COLORS[0] if is_total else OTHER_COLORS[1]
        if not (speedup.differs and speedup.ratio > 1):
            color = NO_GAIN_COLOR
        axis.barh(row, speedup.ratio - 1, left=1, color=color, height=0.65)
        if not speedup.note:
            error = [[speedup.ratio - speedup.low], [speedup.high - speedup.ratio]]
            axis.errorbar(speedup.ratio, row, xerr=error, color="black", capsize=2, linewidth=1)
        place = max(speedup.ratio, speedup.high, 1.0)
        axis.annotate(
            speedup.summary,
            (place, row),
            (5, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    names = [
        f"{speedup.name}, against classic"
        if speedup.name in ("what helped", "everything")
        else speedup.name
        for speedup in speedups
    ]
    axis.set_yticks(range(len(speedups)), names, fontsize=8)
    axis.invert_yaxis()
    axis.axvline(1, color="black", linewidth=0.8)
    axis.set_xscale("log")
    low = min([speedup.low for speedup in speedups] + [0.8])
    high = max(speedup.high for speedup in speedups)
    axis.set_xlim(low * 0.9, high * (high / low) ** 0.45)
    ticks = [
        t
        for t in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)
        if low * 0.9 <= t <= high * 1.2
    ]
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    axis.grid(axis="y", visible=False)
    axis.set_xlabel("speed-up (gray: no gain)", fontsize=8)
    axis.set_title(label, fontsize=9)
