"""Figures about hardware: the parts of a computer, CPU and GPU, 3D points, and measured speed."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import torch
from matplotlib.ticker import LogLocator

from helpers.language import translate
from helpers.plots.shapes import LINE_COLOR, arrow, box
from helpers.plots.style import (
    CPU_AREA,
    CPU_COLOR,
    GPU_AREA,
    OTHER_COLORS,
    device_color,
    new_figure,
    scale_to_sizes,
    show,
)

_CONTROL, _ALU, _MEMORY = "#F5C77E", "#A6DCCB", "#D9D9D9"
_ROW_OR_COLUMN, _RESULT = "#A6DCCB", "#F5C77E"
_MARKERS = ("o", "s", "D")


def draw_computer() -> None:
    """Show the parts of a von Neumann computer and what moves between them."""
    figure, axis = new_figure(width=7.5, height=3.6)
    axis.set(xlim=(0, 10), ylim=(0.1, 4.8))
    axis.axis("off")
    box(axis, 0.1, 0.2, 5.6, 4.5, facecolor=CPU_AREA)
    axis.text(2.9, 4.42, "processor (CPU)", ha="center", va="center", fontsize=10, weight="bold")
    counter = "control unit\nprogram counter: the cell of the next instruction"
    box(axis, 0.4, 2.7, 5.0, 1.4, counter, facecolor=_CONTROL)
    box(axis, 0.4, 0.5, 2.2, 1.4, "ALU\ncomputes, sets\nflags N and Z", facecolor=_ALU)
    box(axis, 3.2, 0.5, 2.2, 1.4, "registers\nA B C D\nE I J K")
    box(axis, 7.9, 1.6, 2.0, 3.1, facecolor=_MEMORY)
    axis.text(8.9, 4.42, "memory", ha="center", va="center", fontsize=10, weight="bold")
    box(axis, 8.1, 3.0, 1.6, 1.1, "program\ncells 0, 1, 2, …")
    box(axis, 8.1, 1.75, 1.6, 1.1, "data\nx, y")
    box(axis, 7.9, 0.2, 2.0, 1.1, "input and output\nscreen, disk, …")
    arrow(axis, (7.9, 3.5), (5.4, 3.5))
    axis.text(6.65, 3.62, "instructions", ha="center", fontsize=9)
    arrow(axis, (7.9, 1.75), (5.4, 1.75), arrowstyle="<|-|>")
    axis.text(6.65, 1.87, "LOAD, STORE", ha="center", fontsize=9)
    arrow(axis, (5.4, 0.75), (7.9, 0.75))
    axis.text(6.65, 0.87, "OUT", ha="center", fontsize=9)
    arrow(axis, (2.6, 1.2), (3.2, 1.2), arrowstyle="<|-|>")
    arrow(axis, (1.1, 2.7), (1.1, 1.9))
    arrow(axis, (4.3, 2.7), (4.3, 1.9))
    axis.text(1.2, 2.3, "what to do", va="center", fontsize=9)
    arrow(axis, (2.4, 1.9), (2.4, 2.7))
    axis.text(2.5, 2.3, "flags", va="center", fontsize=9)
    figure.suptitle("Von Neumann: one memory holds the program and its data", fontsize=12)
    show(
        figure,
        "Diagram. The processor contains a control unit with the program counter, an ALU that sets "
        "the flags N and Z, and registers. Next to it are one memory, with the program in its "
        "first cells and the data after it, and input and output devices. Instructions go from "
        "memory to the control unit, which tells ALU and registers what to do; flags go back to "
        "it; numbers go both ways between memory, registers and ALU, and from "
        "the registers to the output.",
    )


def draw_processors() -> None:
    """Show a CPU's few large cores next to a GPU's many small ones; not to scale."""
    figure, ((cpu, gpu),) = new_figure(1, 2, width=7.5, height=3.7)
    for axis, title, color in (
        (cpu, "CPU: 4 cores, a control unit in each", CPU_AREA),
        (gpu, "GPU: 80 lanes, a control unit per 16", GPU_AREA),
    ):
        axis.set(xlim=(-0.1, 8.1), ylim=(-0.1, 6.5))
        axis.axis("off")
        axis.set_title(title, fontsize=10)
        box(axis, -0.05, -0.05, 8.1, 6.5, facecolor=color)
        box(axis, 0.1, 0.1, 7.86, 0.9, "memory", facecolor=_MEMORY)
    for column in (0, 4):
        for row in (3.9, 1.4):
            box(cpu, column + 0.1, row + 1.2, 3.8, 1.1, "control", facecolor=_CONTROL)
            box(cpu, column + 2.1, row, 1.8, 1.1, "cache", facecolor=_MEMORY)
            for lane in range(4):
                box(cpu, column + 0.1 + 0.46 * lane, row, 0.42, 1.1, facecolor=_ALU)
            box(cpu, column + 0.5, row + 0.35, 1.0, 0.4, "lanes", facecolor=_ALU, edgecolor=_ALU)
    for row in range(5):
        y = 5.3 - row * 0.97
        box(gpu, 0.1, y, 0.7, 0.85, facecolor=_CONTROL)
        for lane in range(16):
            box(gpu, 1.0 + lane * 0.44, y + 0.15, 0.36, 0.7, facecolor=_ALU, linewidth=0.6)
        box(gpu, 1.0, y, 6.96, 0.12, facecolor=_MEMORY, linewidth=0.4)
    figure.suptitle("A CPU spends its area on control and cache, a GPU on lanes", fontsize=12)
    show(
        figure,
        "Two sketches, not to scale. The CPU has four large cores, each with a large control unit, "
        "a few lanes and a large cache. The GPU has five rows; in each, one small control unit and "
        "a thin strip of cache serve sixteen small lanes. Both are connected to memory.",
    )


def draw_cubes(cubes: Mapping[str, torch.Tensor], *, title: str) -> None:
    """Show cubes side by side.

    Args:
        cubes: the corners of each cube, `(8, 3)`, by name; two corners are connected if they differ
            in one bit of their row number.
        title: the finding.
    """
    figure, _ = new_figure(1, len(cubes), width=3.4 * len(cubes), height=3.2)
    edges = [(i, j) for i, j in combinations(range(8), 2) if (i ^ j).bit_count() == 1]
    for axis, (name, corners) in zip(figure.axes, cubes.items(), strict=True):
        # Perspective, seen from above: farther points are drawn closer together.
        x, y, z = corners.T
        size = 1 / (1 + 0.12 * (z + 1))
        across, up = (x * size).tolist(), ((y + 0.35 * z) * size).tolist()
        for i, j in edges:
            axis.plot((across[i], across[j]), (up[i], up[j]), color=LINE_COLOR, linewidth=1.3)
        axis.plot(across, up, "o", color=OTHER_COLORS[0], markersize=7)
        axis.set(xlim=(-1.8, 1.8), ylim=(-1.8, 1.8), title=name)
        axis.title.set_family("monospace")
        axis.set_aspect("equal")
        axis.axis("off")
    figure.suptitle(title)
    names = ", ".join(cubes)
    alt = translate("Drawings of a cube in perspective, side by side: {listed}.", listed=names)
    show(figure, alt)


def draw_matrix_product() -> None:
    """Show which numbers of `x` (rows, inner) and `w` (inner, columns) a cell of `x @ w` needs."""
    rows, inner, columns = 4, 3, 5
    row, column = 1, 3
    figure, axis = new_figure(width=7.0, height=3.9)
    axis.axis("off")
    axis.set_aspect("equal")
    left, top = inner + 1.5, rows + 1.5
    for name, x, y, height, width in (
        ("x", 0.0, 0.0, rows, inner),
        ("w", left, top, inner, columns),
        ("x @ w", left, 0.0, rows, columns),
    ):
        for i in range(height):
            for j in range(width):
                is_needed = (name == "x" and i == row) or (name == "w" and j == column)
                is_result = name == "x @ w" and (i, j) == (row, column)
                color = _RESULT if is_result else _ROW_OR_COLUMN if is_needed else "white"
                box(axis, x + j, y + height - 1 - i, 1, 1, facecolor=color, linewidth=0.8)
        axis.text(x + width / 2, y + height + 0.25, name, ha="center", family="monospace")
    y = rows - 1 - row + 0.5
    arrow(axis, (inner + 0.1, y), (left + column - 0.1, y))
    x = left + column + 0.5
    arrow(axis, (x, top - 0.1), (x, rows - row + 0.1))
    axis.set(xlim=(-0.2, left + columns + 0.2), ylim=(-0.2, top + inner + 0.9))
    figure.suptitle("A cell of the product needs one row, one column, and no other cell")
    show(
        figure,
        translate(
            "Three grids: x with {rows} rows and {inner} columns, w with {inner} rows and "
            "{columns} columns, and their product with {rows} rows and {columns} columns. One cell "
            "of the product is highlighted; so are the row of x to its left and the column of w "
            "above it.",
            rows=rows,
            inner=inner,
            columns=columns,
        ),
    )


def plot_times(seconds: Mapping[str, float], *, title: str) -> None:
    """Show measured times as dots on a log scale, in the colors of their devices.

    Args:
        seconds: the time of each measurement, by name; the name mentions the device.
        title: the finding.
    """
    figure, axis = new_figure(height=1.3 + 0.45 * len(seconds))
    for name, value in seconds.items():
        milliseconds = 1e3 * value
        axis.plot(milliseconds, name, "o", markersize=9, color=device_color(name))
        axis.annotate(
            f"{milliseconds:,.3g} ms",
            (milliseconds, name),
            (9, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )
    axis.set_xscale("log")
    axis.set_xlim(1e3 * min(seconds.values()) / 3, 1e3 * max(seconds.values()) * 8)
    axis.set_ylim(len(seconds) - 0.5, -0.5)
    axis.xaxis.set_major_formatter("{x:,g}")
    axis.set(xlabel="time in milliseconds (log scale; lower is better)")
    figure.suptitle(title, fontsize=11)
    slowest = max(seconds, key=lambda name: seconds[name])
    show(
        figure,
        "Dot chart of measured times on a log scale, one dot per measurement. Slowest: "
        f"{slowest}, \N{ALMOST EQUAL TO} {1e3 * seconds[slowest]:,.3g} ms. Fastest: "
        f"\N{ALMOST EQUAL TO} {1e3 * min(seconds.values()):,.3g} ms.",
    )


def plot_relu(lengths: Sequence[int], speeds: Sequence[float], *, title: str) -> None:
    """Show the measured speed of ReLU on the CPU against the size of a float32 tensor.

    Args:
        lengths: the numbers of elements.
        speeds: billions of elements per second for each length.
        title: the finding.
    """
    figure, axis = new_figure(height=3.2)
    axis.plot(lengths, speeds, marker="o", color=CPU_COLOR)
    ticks = lengths[::2]
    scale_to_sizes(axis, ticks, [_bytes(4 * length) for length in ticks])
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


def _bytes(count: int) -> str:
    return f"{count >> 20} MiB" if count >= 2**20 else f"{count >> 10} KiB"


def plot_speeds(sizes: Sequence[int], speeds: Mapping[str, Sequence[float]], *, title: str) -> None:
    """Show the measured speed of matrix products against the size of a matrix.

    Args:
        sizes: rows and columns of the matrices.
        speeds: GFLOP/s for each size, by name; the name mentions the device.
        title: the finding.
    """
    figure, axis = new_figure(height=3.6)
    for number, (name, values) in enumerate(speeds.items()):
        linestyle = "--" if number else "-"
        color = device_color(name)
        axis.plot(sizes, values, linestyle, marker=_MARKERS[number % 3], label=name, color=color)
    axis.set_yscale("log")
    scale_to_sizes(axis, sizes)
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter("{x:,g}")
    axis.set(xlabel="rows and columns of each matrix", ylabel="GFLOP/s (log scale)", title=title)
    axis.legend(frameon=False)
    best = max(speeds.values(), key=max)
    show(
        figure,
        "Line chart of the measured speed of a matrix product against its size. The fastest line "
        f"has \N{ALMOST EQUAL TO} {best[0]:,.0f} GFLOP/s for the smallest matrices, and at most "
        f"\N{ALMOST EQUAL TO} {max(best):,.0f}.",
    )
