"""Figures about hardware: the parts of a computer, CPU and GPU, 3D points, and measured speed."""

from collections.abc import Mapping, Sequence
from itertools import combinations, cycle

import torch

from helpers.plots import style
from helpers.plots.shapes import LINE_COLOR, load_drawing
from helpers.plots.style import show


def draw_computer() -> None:
    """Show the parts of a von Neumann computer and what moves between them."""
    show(
        load_drawing("computer"),
        "Diagram. The processor contains a control unit with the program counter, an ALU that sets "
        "the flags N and Z, and registers. Next to it are one memory, with the program in its "
        "first cells and the data after it, and input and output devices. Instructions go from "
        "memory to the control unit, which tells ALU and registers what to do; flags go back to "
        "it; numbers go both ways between memory, registers and ALU, and from "
        "the registers to the output.",
    )


def draw_processors() -> None:
    """Show a CPU's few large cores next to a GPU's many small ones; not to scale."""
    show(
        load_drawing("processors"),
        "Two sketches, not to scale. The CPU has four large cores, each with a large control unit, "
        "a few lanes and a large cache. The GPU has five rows; in each, one small control unit and "
        "a thin strip of cache serve sixteen small lanes. Both are connected to memory.",
    )


def draw_cubes(cubes: Mapping[str, torch.Tensor], *, title: str) -> None:
    """Show cubes side by side, each given by its corners, `(8, 3)`.

    Two corners are connected if their row numbers differ in one bit.
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
        axis.set(xlim=(-1.8, 1.8), ylim=(-1.8, 1.8), title=name)
        axis.title.set_family("monospace")
        axis.set_aspect("equal")
        axis.axis("off")
    figure.suptitle(title)
    listed = ", ".join(cubes)
    show(figure, "Drawings of a cube in perspective, side by side: {listed}.", listed=listed)


def draw_matrix_product() -> None:
    """Show which numbers of `x` (rows, inner) and `w` (inner, columns) a cell of `x @ w` needs."""
    show(
        load_drawing("matrix_product"),
        "Three grids: x with {rows} rows and {inner} columns, w with {inner} rows and "
        "{columns} columns, and their product with {rows} rows and {columns} columns. One cell "
        "of the product is highlighted; so are the row of x to its left and the column of w "
        "above it.",
        rows=4,
        inner=3,
        columns=5,
    )


def plot_times(seconds: Mapping[str, float], *, title: str) -> None:
    """Show measured times as dots on a log scale, in the color of the device in their name."""
    figure, axis = style.new_figure(height=1.3 + 0.45 * len(seconds))
    for name, value in seconds.items():
        milliseconds = 1e3 * value
        axis.plot(milliseconds, name, "o", markersize=9, color=style.device_color(name))
        style.annotate(axis, f"{milliseconds:,.3g} ms", milliseconds, name, 9, fontsize=9)
    axis.set_xscale("log")
    axis.set_xlim(1e3 * min(seconds.values()) / 3, 1e3 * max(seconds.values()) * 8)
    axis.set_ylim(len(seconds) - 0.5, -0.5)
    axis.xaxis.set_major_formatter("{x:,g}")
    axis.set(xlabel="time in milliseconds (log scale; lower is better)")
    figure.suptitle(title, fontsize=11)
    slowest = max(seconds, key=seconds.get)
    show(
        figure,
        "Dot chart of measured times on a log scale, one dot per measurement. Slowest: "
        f"{slowest}, \N{ALMOST EQUAL TO} {1e3 * seconds[slowest]:,.3g} ms. Fastest: "
        f"\N{ALMOST EQUAL TO} {1e3 * min(seconds.values()):,.3g} ms.",
    )


def plot_relu(lengths: Sequence[int], speeds: Sequence[float], *, title: str) -> None:
    """Show the speed of ReLU on the CPU against the size of a float32 tensor.

    `lengths` are numbers of elements, `speeds` are billions of elements per second.
    """
    figure, axis = style.new_figure(height=3.2)
    axis.plot(lengths, speeds, marker="o", color=style.CPU_COLOR)
    ticks = lengths[::2]
    sizes = [4 * length for length in ticks]
    texts = [f"{n >> 20} MiB" if n >= 2**20 else f"{n >> 10} KiB" for n in sizes]
    style.scale_to_sizes(axis, ticks, texts)
    axis.set_ylim(0, 1.1 * max(speeds))
    axis.set(xlabel="size of the tensor (log scale)", ylabel="billion numbers/s")
    axis.set_title(title, fontsize=11)
    show(
        figure,
        "Line chart of the measured speed of ReLU against the size of the tensor, in billion "
        f"numbers/s: \N{ALMOST EQUAL TO} {speeds[0]:.1f} for the smallest tensor, at most "
        f"\N{ALMOST EQUAL TO} {max(speeds):.1f}, and \N{ALMOST EQUAL TO} {speeds[-1]:.1f} for the "
        "largest.",
    )


def plot_speeds(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]], *, title: str, xlabel: str
) -> None:
    """Show curves, each with its sizes and its speeds in GFLOP/s.

    The names of the curves mention the device.
    """
    figure, axis = style.new_figure(height=3.6)
    looks = cycle(("o-", "s--", "D--", "o--"))
    for (name, (sizes, speeds)), look in zip(curves.items(), looks, strict=False):
        axis.plot(sizes, speeds, look, label=name, color=style.device_color(name))
    axis.set(xscale="log", yscale="log", xlabel=f"{xlabel} (log scale)")
    if sizes[-1] < 10_000:  # rows of a matrix: one tick each
        style.scale_to_sizes(axis, sizes)
    axis.yaxis.set_major_formatter("{x:,g}")
    axis.set(ylabel="GFLOP/s (log scale)", title=title)
    axis.legend(frameon=False)
    best = max((speeds for _, speeds in curves.values()), key=max)
    show(
        figure,
        "Line chart of speed against size, both on log scales. The fastest line has "
        f"\N{ALMOST EQUAL TO} {best[0]:,.0f} GFLOP/s on the left, and at most "
        f"\N{ALMOST EQUAL TO} {max(best):,.0f}.",
    )
