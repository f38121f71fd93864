"""Figures about hardware: the parts of a computer, CPU and GPU, 3D points, times and speeds."""

from collections.abc import Mapping, Sequence
from itertools import combinations, cycle

import torch

from helpers.language import translate
from helpers.plots import style
from helpers.plots.shapes import LINE_COLOR, label, load_drawing
from helpers.plots.style import show


def draw_cubes(
    cubes: Mapping[str, torch.Tensor], brightness: Sequence[float], *, title: str
) -> None:
    """Show cubes side by side, each given by its corners, `(8, 3)`, and light the last one.

    Two corners are connected if their row numbers differ in one bit. `brightness` is from 0 to 1,
    for the faces in the direction of each axis and then for their opposites.
    """
    figure, _ = style.new_figure(1, len(cubes), width=3.4 * len(cubes), height=3.2)
    edges = [(i, j) for i, j in combinations(range(8), 2) if (i ^ j).bit_count() == 1]
    for axis, (name, corners) in zip(figure.axes, cubes.items(), strict=True):
        # Perspective, seen from above: farther points are drawn closer together.
        x, y, z = corners.T
        size = 1 / (1 + 0.12 * (z + 1))
        across, up = (x * size).tolist(), ((y + 0.35 * z) * size).tolist()
        for i, j in edges:
            axis.plot((across[i], across[j]), (up[i], up[j]), color=LINE_COLOR, linewidth=1.3)
        axis.plot(across, up, "o", color=style.OTHER_COLORS[0], markersize=7)
        depth = z - 0.35 * y
        for number, light in enumerate(brightness if axis is figure.axes[-1] else ()):
            first, second = (bit for bit in (1, 2, 4) if bit != 4 >> number % 3)
            start = 7 - first - second if number < 3 else 0
            face = [start, start + first, start + first + second, start + second]
            if depth[face].mean() < depth.mean():  # in sight
                middle = [sum(values[n] for n in face) / 4 for values in (across, up)]
                gray = str(0.2 + 0.8 * light)
                axis.fill([across[n] for n in face], [up[n] for n in face], gray, zorder=3)
                label(axis, *middle, f"{light:.2f}", color=style.text_color_on(gray), zorder=4)
        axis.set(xlim=(-1.8, 1.8), ylim=(-1.8, 1.8), title=name)
        axis.title.set_family("monospace")
        axis.set_aspect("equal")
        axis.axis("off")
    figure.suptitle(title)
    listed = ", ".join(map(translate, cubes))
    show(figure, "Drawings of a cube in perspective, side by side: {listed}.", listed=listed)


def draw_matrix_product() -> None:
    """Animate which numbers of `x` (rows, inner) and `w` (inner, columns) a cell needs."""
    frames, alts = zip(*(load_drawing("matrix_product") for _ in range(5)), strict=True)
    for term, frame in enumerate(frames[1:4]):
        boxes = frame.axes[0].patches  # those of x, row after row, and then those of w
        for number in (3 + term, 15 + 5 * term):
            boxes[number].set_facecolor(style.OTHER_COLORS[1])
    show(frames, alts[0], rows=4, inner=3, columns=5)


def plot_times(values: Mapping[str, float], *, title: str, unit: str = "ms") -> None:
    """Show times as dots on a log scale, in the color of the device in their name."""
    figure, axis = style.new_figure(height=1.4 + 0.45 * len(values))
    texts = {n: f"{float(f'{v:.3g}'):,.10g} {translate(unit)}" for n, v in values.items()}
    for name, value in values.items():
        axis.plot(value, name, "o", markersize=9, color=style.device_color(name))
        style.annotate(axis, texts[name], value, name, 9, fontsize=9)
    axis.set_xscale("log")
    axis.set_xlim(min(values.values()) / 3, max(values.values()) * 8)
    axis.set(xlabel=f"time in {unit} (log scale)", ylim=(len(values) - 0.5, -0.5))
    figure.suptitle(title, fontsize=11)
    listed = "; ".join(f"{translate(n)}: \N{ALMOST EQUAL TO} {text}" for n, text in texts.items())
    show(figure, "Dot chart of times on a log scale. {listed}.", listed=listed)


def plot_speeds(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    title: str,
    xlabel: str,
    points: Mapping[str, tuple[float, float]] | None = None,
) -> None:
    """Show curves of GFLOP/s, by sizes, and single points; their names mention the device."""
    figure, axis = style.new_figure(height=4.8)
    looks = cycle(("-", "--") if points else ("o-", "s--", "D--", "^-"))
    for (name, (sizes, speeds)), look in zip(curves.items(), looks, strict=False):
        axis.plot(sizes, speeds, look, markersize=5, label=name, color=style.device_color(name))
    for name, (size, speed) in (points or {}).items():
        axis.plot(size, speed, "o", color=style.device_color(name))
        # Below the point, or above it if another name is to its left.
        up = 8 if any(size / 3 < other < size for other, _ in points.values()) else -10
        style.annotate(axis, name.split(",")[0], size, speed, 5, up)
    axis.set(xscale="log", yscale="log", xlabel=f"{xlabel} (log scale)")
    axis.margins(y=0.1)
    axis.yaxis.set_major_formatter("{x:,g}")
    axis.set(ylabel="GFLOP/s (log scale)", title=title)
    figure.legend(frameon=False, fontsize=8, loc="outside lower center", ncols=1 if points else 2)
    best = {name: max(speeds) for name, (_, speeds) in curves.items()}
    best |= {name: speed for name, (_, speed) in (points or {}).items()}
    listed = "; ".join(f"{translate(n)}: \N{ALMOST EQUAL TO} {v:,.4g}" for n, v in best.items())
    show(figure, "Chart on log scales with the highest GFLOP/s of {listed}.", listed=listed)
