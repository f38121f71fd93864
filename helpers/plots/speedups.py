"""The figure of the speed-up of each change to the classic script."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from helpers.plots.speed import use_plain_log_scale
from helpers.plots.style import OTHER_COLORS, annotate, new_figure
from helpers.speedups import Speedup

NO_GAIN_COLOR = "#B0B0B0"
_TOTALS = ("what helped", "everything")


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
            color = NO_GAIN_COLOR
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
