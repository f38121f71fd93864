"""Figures about device errors: two memories, and the parts of a message."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from helpers.plots.shapes import arrow, box
from helpers.plots.style import (
    CPU_AREA,
    CPU_COLOR,
    DARK_RED,
    GPU_AREA,
    GPU_COLOR,
    new_figure,
    show,
)


def _tensor(axis: Axes, x: float, y: float, name: str, values: Sequence[int], color: str) -> None:
    """Draw a tensor at its lower left corner: its name and one square per number."""
    axis.text(x - 0.12, y + 0.35, name, ha="right", va="center", fontsize=9, family="monospace")
    for i, value in enumerate(values):
        box(axis, x + 0.8 * i, y, 0.8, 0.7, str(value), edgecolor=color)


def draw_two_memories() -> None:
    """Draw `x + y` with `x` on the GPU and `y` on the CPU: the error, and the fix with a copy."""
    figure, ((failing,), (fixed,)) = new_figure(2, 1, width=7.5, height=5.0)
    for axis in (failing, fixed):
        axis.set(xlim=(0, 14), ylim=(0, 4.7))
        axis.axis("off")
        for left, width, name, color in (
            (0.1, 4.9, "CPU memory", CPU_AREA),
            (8.0, 5.9, "cuda:0 memory", GPU_AREA),
        ):
            box(axis, left, 0.1, width, 3.4, facecolor=color)
            axis.text(left + width / 2, 3.68, name, ha="center", fontsize=9, weight="bold")
        _tensor(axis, 1.9, 1.4, "y", (10, 20, 30), CPU_COLOR)
        _tensor(axis, 11.2, 2.55, "x", (1, 2, 3), GPU_COLOR)
    failing.text(0.1, 4.25, "x + y", fontsize=11, family="monospace")
    failing.text(9.6, 0.75, "+", ha="center", va="center", fontsize=14)
    failing.plot([9.95, 11.0], [0.95, 2.5], color="#333333", linewidth=1.2)
    failing.plot([4.5, 9.3], [1.6, 0.8], color="#333333", linewidth=1.2, linestyle=":")
    failing.text(6.5, 1.27, "✗", ha="center", va="center", fontsize=20, color=DARK_RED)
    failing.text(6.5, 2.0, "no access", ha="center", fontsize=9, color=DARK_RED)
    fixed.text(0.1, 4.25, "x + y.to(device)", fontsize=11, family="monospace")
    _tensor(fixed, 11.2, 1.4, "copy of y", (10, 20, 30), GPU_COLOR)
    _tensor(fixed, 11.2, 0.25, "sum", (11, 22, 33), GPU_COLOR)
    arrow(fixed, (4.5, 1.75), (9.0, 1.75), color=CPU_COLOR)
    fixed.text(6.5, 2.0, "a copy", ha="center", fontsize=9, color=CPU_COLOR)
    figure.suptitle(
        "An operation reads one memory; .to(device) copies the other tensor to it", fontsize=12
    )
    show(
        figure,
        "Two diagrams of CPU memory, which holds y, next to cuda:0 memory, which holds x. In the "
        "first, a plus sign on the GPU is connected to x, and its line to y is crossed out. In the "
        "second, an arrow copies y to the GPU, where x, the copy and their sum are.",
    )


_PIECES = (
    ("Expected all tensors to be on the same device,", "the rule", "#EEEEEE"),
    ("but got mat2 is on cpu,", "torch's name for an argument, and its device", CPU_AREA),
    ("different from other tensors on cuda:0", "the device of the arguments before it", GPU_AREA),
    (
        "(when checking argument in method wrapper_CUDA_mm)",
        "the operation: mm, a matrix product",
        "#D5EFE6",
    ),
)


def draw_message() -> None:
    """Draw the message of a matrix product in four parts, each with its meaning."""
    figure, axis = new_figure(width=8.6, height=2.9)
    axis.set(xlim=(0, 17.2), ylim=(-0.2, 5))
    axis.axis("off")
    for row, (piece, meaning, color) in enumerate(_PIECES):
        y = 4.1 - row
        box(axis, 0.1, y, 9.9, 0.8, facecolor=color, edgecolor="#666666")
        axis.text(0.25, y + 0.4, piece, va="center", fontsize=8.5, family="monospace")
        axis.text(10.3, y + 0.4, meaning, va="center", fontsize=9.5)
    axis.text(
        0.1,
        0.35,
        "Not in the message: your variable, your line, and which of the two tensors to move.",
        va="center",
        fontsize=9.5,
        style="italic",
    )
    figure.suptitle("A message names an argument, two devices and an operation", fontsize=12)
    show(
        figure,
        "The message of a matrix product in four boxes, each with its meaning: the rule; torch's "
        "name for an argument, and its device; the device of the arguments before it; the "
        "operation. A last line lists what is not in the message: your variable, your line, and "
        "which of the two tensors to move.",
    )
