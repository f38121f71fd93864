"""The figures about hardware: what a computer is made of, CPU and GPU, and measured speed."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, Rectangle
from matplotlib.ticker import LogLocator

from helpers.plots.style import COLORS, LIGHT_BLUE, RED_INK, new_figure, show

_CONTROL, _ALU, _MEMORY = "#F5C77E", "#9CC9E8", "#D9D9D9"
_MARKERS = ("o", "s", "D")


def _box(
    axis: Axes, x: float, y: float, w: float, h: float, text: str = "", **style: object
) -> None:
    """Draw a rectangle from its lower left corner, with `text` in its middle."""
    options = {"facecolor": "white", "edgecolor": "#333333", "linewidth": 1.2} | style
    axis.add_patch(Rectangle((x, y), w, h, **options))
    axis.text(x + w / 2, y + h / 2, text, ha="center", va="center", fontsize=9)


def _arrow(
    axis: Axes, start: tuple[float, float], end: tuple[float, float], **style: object
) -> None:
    """Draw an arrow from `start` to `end`."""
    options = {"arrowstyle": "-|>", "mutation_scale": 14, "linewidth": 1.5} | style
    axis.add_patch(FancyArrowPatch(start, end, shrinkA=0, shrinkB=0, **options))


def draw_computer() -> None:
    """Show the parts of a von Neumann computer and what goes between them."""
    figure, axis = new_figure(width=7.5, height=3.6)
    axis.set(xlim=(0, 10), ylim=(0.1, 4.8))
    axis.axis("off")
    _box(axis, 0.1, 0.2, 5.6, 4.5, facecolor="#F3F8FC")
    axis.text(2.9, 4.42, "processor", ha="center", va="center", fontsize=10, weight="bold")
    _box(
        axis, 0.4, 2.7, 5.0, 1.4, "control unit\nprogram counter: the cell of the next instruction"
    )
    _box(axis, 0.4, 0.5, 2.2, 1.4, "ALU\ncomputes\nflags N and Z")
    _box(axis, 3.2, 0.5, 2.2, 1.4, "registers\nA B C D\nE I J K")
    _box(axis, 7.9, 0.2, 2.0, 4.5, facecolor="#FFF4E5")
    axis.text(8.9, 4.42, "memory", ha="center", va="center", fontsize=10, weight="bold")
    _box(axis, 8.1, 2.5, 1.6, 1.6, "program\ncells 0, 1, 2, …")
    _box(axis, 8.1, 0.5, 1.6, 1.6, "data\nx, y")
    _arrow(axis, (7.9, 3.4), (5.4, 3.4), color=COLORS[1])
    axis.text(6.75, 3.6, "instructions", ha="center", color=RED_INK, fontsize=9)
    _arrow(axis, (7.9, 1.2), (5.4, 1.2), color=COLORS[0], arrowstyle="<|-|>")
    axis.text(6.75, 1.4, "LOAD, STORE", ha="center", color=COLORS[0], fontsize=9)
    _arrow(axis, (2.6, 1.2), (3.2, 1.2), color=COLORS[0], arrowstyle="<|-|>")
    _arrow(axis, (1.1, 2.7), (1.1, 1.9), color="#333333")
    _arrow(axis, (4.3, 2.7), (4.3, 1.9), color="#333333")
    axis.text(1.2, 2.3, "what to do", va="center", fontsize=9)
    _arrow(axis, (2.4, 1.9), (2.4, 2.7), color="#333333")
    axis.text(2.5, 2.3, "flags", va="center", fontsize=9)
    figure.suptitle("One memory holds the program and its data", fontsize=12)
    show(
        figure,
        "Diagram. The processor holds a control unit with the program counter, an ALU with the "
        "flags N and Z, and registers. Beside it stands one memory with the program in its first "
        "cells and the data behind. Instructions go from memory to the control unit, which tells "
        "ALU and registers what to do; flags go back to it; numbers go both ways between memory, "
        "registers and ALU.",
    )


def draw_processors() -> None:
    """Show a CPU's few large cores beside a GPU's many small ones; not to scale."""
    figure, ((cpu, gpu),) = new_figure(1, 2, width=7.5, height=3.7)
    for axis, title in (
        (cpu, "CPU: 4 control units for 4 ALUs"),
        (gpu, "GPU: 5 control units for 80 ALUs"),
    ):
        axis.set(xlim=(0, 8), ylim=(0, 6.4))
        axis.axis("off")
        axis.set_title(title, fontsize=10)
    for column in (0, 4):
        for row in (3.9, 1.4):
            _box(cpu, column + 0.1, row + 1.2, 3.8, 1.1, "control", facecolor=_CONTROL)
            _box(cpu, column + 0.1, row, 1.8, 1.1, "ALU", facecolor=_ALU)
            _box(cpu, column + 2.1, row, 1.8, 1.1, "cache", facecolor=_MEMORY)
    for row in range(5):
        y = 5.3 - row * 0.97
        _box(gpu, 0.1, y, 0.7, 0.85, facecolor=_CONTROL)
        for lane in range(16):
            _box(gpu, 1.0 + lane * 0.44, y + 0.15, 0.36, 0.7, facecolor=_ALU, linewidth=0.6)
        _box(gpu, 1.0, y, 6.96, 0.12, facecolor=_MEMORY, linewidth=0.4)
    for axis in (cpu, gpu):
        _box(axis, 0.1, 0.1, 7.86, 0.9, "memory", facecolor=_MEMORY)
    figure.suptitle("A CPU spends its chip on control, a GPU on arithmetic", fontsize=12)
    show(
        figure,
        "Two sketches, not to scale. The CPU has four large cores, each with a large control unit, "
        "an ALU and a cache. The GPU has five rows; in each, one small control unit and a thin "
        "strip of cache serve sixteen small ALUs. Both stand on memory.",
    )


def draw_matrix_product(rows: int = 4, inner: int = 3, columns: int = 5) -> None:
    """Show which numbers of `x` (rows, inner) and `w` (inner, columns) a cell of `x @ w` needs."""
    row, column = min(1, rows - 1), min(3, columns - 1)
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
                needed = (name == "x" and i == row) or (name == "w" and j == column)
                made = name == "x @ w" and (i, j) == (row, column)
                colour = COLORS[1] if made else LIGHT_BLUE if needed else "white"
                _box(axis, x + j, y + height - 1 - i, 1, 1, facecolor=colour, linewidth=0.8)
        axis.text(x + width / 2, y + height + 0.25, name, ha="center", family="monospace")
    y = rows - 1 - row + 0.5
    _arrow(axis, (inner + 0.1, y), (left + column - 0.1, y), color="#333333")
    x = left + column + 0.5
    _arrow(axis, (x, top - 0.1), (x, rows - row + 0.1), color="#333333")
    axis.set(xlim=(-0.2, left + columns + 0.2), ylim=(-0.2, top + inner + 0.9))
    figure.suptitle("A cell of the product needs one row, one column and no other cell")
    show(
        figure,
        f"Three grids: x with {rows} rows and {inner} columns, w with {inner} rows and {columns} "
        f"columns, and their product with {rows} rows and {columns} columns. One cell of the "
        f"product is filled; so are the row of x at its left and the column of w above it.",
    )


def plot_times(seconds: Mapping[str, float], *, title: str) -> None:
    """Show measured times as dots on a log scale; `seconds` by what was measured."""
    figure, axis = new_figure(height=1.1 + 0.45 * len(seconds))
    for number, (name, value) in enumerate(seconds.items()):
        axis.plot(1e3 * value, name, "o", markersize=9, color=COLORS[number % len(COLORS)])
        axis.annotate(
            f"{1e3 * value:,.3g} ms",
            (1e3 * value, name),
            (9, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )
    axis.set_xscale("log")
    axis.set_xlim(1e3 * min(seconds.values()) / 3, 1e3 * max(seconds.values()) * 8)
    axis.set_ylim(len(seconds) - 0.5, -0.5)
    axis.xaxis.set_major_formatter("{x:,g}")
    axis.set(xlabel="milliseconds (log scale; less is better)", title=title)
    show(figure, "Dot chart of the measured times, one dot for each way, on a log scale.")


def plot_speeds(sizes: Sequence[int], speeds: Mapping[str, Sequence[float]], *, title: str) -> None:
    """Show measured speeds in GFLOP/s against the size of a matrix; `speeds` by device."""
    figure, axis = new_figure(height=3.6)
    for number, (name, values) in enumerate(speeds.items()):
        axis.plot(sizes, values, marker=_MARKERS[number % 3], label=name, color=COLORS[number])
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_xticks(sizes, [str(size) for size in sizes])
    axis.minorticks_off()
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter("{x:,g}")
    axis.set(xlabel="rows and columns of each matrix", ylabel="GFLOP/s (log scale)", title=title)
    axis.legend(frameon=False)
    show(figure, "Line chart of the measured speed of a matrix product against its size.")
