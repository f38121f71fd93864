"""The figure of the ladder: the speed-up of each change to the classic script."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from helpers.ladder import Rung
from helpers.plots.style import COLORS, new_figure

LEFT_OUT = "#B0B0B0"


def ladder(climb: Sequence[Rung], alone: Sequence[Rung] = (), *, where: str = "") -> Figure:
    """Draw the speed-up of each change on top of those that helped, and alone if measured.

    Args:
        climb: result of `Ladder.climb`; the last two are relative to the classic script.
        alone: result of `Ladder.alone`.
        where: device and date, for the title's second line.
    """
    panels = 2 if alone else 1
    height = 0.36 * len(climb) + 1.6
    figure, axes = new_figure(1, panels, width=9.5 if alone else 7.0, height=height)
    climb_axis = axes.flat[-1] if alone else axes
    if alone:
        _rungs(axes.flat[0], alone, "each change alone, on the classic script")
    _rungs(climb_axis, climb, "each change on top of those that helped")
    helped = sum(rung.kept for rung in climb[:-2])
    measured = sum(not rung.note for rung in climb[:-2])
    top = climb[-2].ratio
    title = (
        f"Changes that help: {helped} of {measured}; training with them is {top:.1f} times as fast"
    )
    figure.suptitle(title + (f"\n{where}" if where else ""), fontsize=11)
    return figure


def _rungs(axis: Axes, rungs: Sequence[Rung], label: str) -> None:
    for row, rung in enumerate(rungs):
        summary = rung.name in ("what helped", "everything")
        color = COLORS[2] if summary else COLORS[0]
        if not (rung.differs and rung.ratio > 1):
            color = LEFT_OUT
        axis.barh(row, rung.ratio - 1, left=1, color=color, height=0.65)
        if not rung.note:
            error = [[rung.ratio - rung.low], [rung.high - rung.ratio]]
            axis.errorbar(rung.ratio, row, xerr=error, color="black", capsize=2, linewidth=1)
        place = max(rung.ratio, rung.high, 1.0)
        axis.annotate(
            rung.finding, (place, row), (5, 0), textcoords="offset points", va="center", fontsize=8
        )
    names = [
        f"{rung.name}, against classic" if rung.name in ("what helped", "everything") else rung.name
        for rung in rungs
    ]
    axis.set_yticks(range(len(rungs)), names, fontsize=8)
    axis.invert_yaxis()
    axis.axvline(1, color="black", linewidth=0.8)
    axis.set_xscale("log")
    low = min([rung.low for rung in rungs] + [0.8])
    high = max(rung.high for rung in rungs)
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
