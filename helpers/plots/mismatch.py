"""The figures about device errors: two memories, a message taken apart, wordings counted."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, Rectangle

from helpers.plots.style import COLORS, CPU_AREA, GPU_AREA, RED_INK, new_figure, show

_BLUE, _RED, _GREEN = COLORS[0], COLORS[1], COLORS[2]


def _tensor(axis: Axes, x: float, y: float, name: str, values: Sequence[int], colour: str) -> None:
    """Draw a tensor from its lower left corner: a name and one square a number."""
    axis.text(x - 0.12, y + 0.35, name, ha="right", va="center", fontsize=9, family="monospace")
    for i, value in enumerate(values):
        square = Rectangle((x + 0.8 * i, y), 0.8, 0.7, facecolor="white", edgecolor=colour)
        axis.add_patch(square)
        axis.text(x + 0.8 * i + 0.4, y + 0.35, str(value), ha="center", va="center", fontsize=9)


def _arrow(axis: Axes, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
    """Draw an arrow from `start` to `end`."""
    axis.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>",
            mutation_scale=14,
            linewidth=1.6,
            color=colour,
            shrinkA=0,
            shrinkB=0,
        )
    )


def draw_two_memories() -> None:
    """Show `x + y` with `x` on the GPU and `y` on the CPU: refused, and mended by a copy."""
    figure, ((refused,), (mended,)) = new_figure(2, 1, width=7.5, height=5.0)
    for axis in (refused, mended):
        axis.set(xlim=(0, 14), ylim=(0, 4.7))
        axis.axis("off")
        for left, width, name, colour in (
            (0.1, 4.9, "memory of the CPU", CPU_AREA),
            (8.0, 5.9, "memory of cuda:0", GPU_AREA),
        ):
            axis.add_patch(
                Rectangle((left, 0.1), width, 3.4, facecolor=colour, edgecolor="#333333")
            )
            axis.text(left + width / 2, 3.68, name, ha="center", fontsize=9, weight="bold")
        _tensor(axis, 1.9, 1.4, "y", (10, 20, 30), _BLUE)
        _tensor(axis, 11.2, 2.55, "x", (1, 2, 3), _RED)
    refused.text(0.1, 4.25, "x + y", fontsize=11, family="monospace")
    refused.text(9.6, 0.75, "+", ha="center", va="center", fontsize=14)
    refused.plot([9.95, 11.0], [0.95, 2.5], color="#333333", linewidth=1.2)
    refused.plot([4.5, 9.3], [1.6, 0.8], color="#333333", linewidth=1.2, linestyle=":")
    refused.text(6.5, 1.27, "✗", ha="center", va="center", fontsize=20, color=_RED)
    refused.text(6.5, 2.0, "out of reach", ha="center", fontsize=9, color=RED_INK)
    mended.text(0.1, 4.25, "x + y.to(device)", fontsize=11, family="monospace")
    _tensor(mended, 11.2, 1.4, "copy of y", (10, 20, 30), _BLUE)
    _tensor(mended, 11.2, 0.25, "sum", (11, 22, 33), _GREEN)
    _arrow(mended, (4.5, 1.75), (9.0, 1.75), _BLUE)
    mended.text(6.5, 2.0, "a copy", ha="center", fontsize=9, color=_BLUE)
    figure.suptitle("An operation reads one memory; .to brings the other tensor over", fontsize=12)
    show(
        figure,
        "Two diagrams of the CPU's memory, which holds y, beside the memory of cuda:0, which holds "
        "x. In the first, a plus sign on the GPU reaches x, and its line to y is crossed out. In "
        "the second, an arrow copies y to the GPU; x, the copy and their sum lie there together.",
    )


_PIECES = (
    ("Expected all tensors to be on the same device,", "the rule, always the same", "#EEEEEE"),
    ("but got mat2 is on cpu,", "torch's name of an argument, and its device", "#FCE3D4"),
    ("different from other tensors on cuda:0", "the device of the arguments before it", "#D6E9F5"),
    (
        "(when checking argument in method wrapper_CUDA_mm)",
        "the operation: mm, a matrix product",
        "#D5EFE6",
    ),
)


def draw_message() -> None:
    """Show the message of a matrix product in its four parts, each beside what it says."""
    figure, axis = new_figure(width=8.6, height=2.9)
    axis.set(xlim=(0, 17.2), ylim=(-0.2, 5))
    axis.axis("off")
    for row, (piece, meaning, colour) in enumerate(_PIECES):
        y = 4.1 - row
        axis.add_patch(Rectangle((0.1, y), 9.9, 0.8, facecolor=colour, edgecolor="#666666"))
        axis.text(0.25, y + 0.4, piece, va="center", fontsize=8.5, family="monospace")
        axis.text(10.3, y + 0.4, meaning, va="center", fontsize=9.5)
    axis.text(
        0.1,
        0.35,
        "Not in it: your name for the tensor, your line, which of the two is in the wrong place.",
        va="center",
        fontsize=9.5,
        style="italic",
    )
    figure.suptitle("A message names an argument, two devices and an operation", fontsize=12)
    show(
        figure,
        "The message of a matrix product in four boxes, each with its meaning: the rule; the name "
        "that torch has for an argument, and its device; the device of the arguments before it; "
        "the operation. A last line says what the message leaves out: your name for the tensor, "
        "your line, and which of the two is in the wrong place.",
    )


def plot_wordings(counts: Mapping[str, int]) -> None:
    """Show how many ways of mixing devices lead to each wording; `counts` by wording.

    Raises:
        ValueError: `counts` is empty.
    """
    if not counts:
        raise ValueError("counts is empty: give at least one wording and its number of ways.")
    ordered = sorted(counts.items(), key=lambda item: item[1])
    figure, axis = new_figure(width=8.0, height=1.1 + 0.38 * len(ordered))
    bars = axis.barh([f"… {wording} …" for wording, _ in ordered], [n for _, n in ordered])
    axis.bar_label(bars, padding=4, fontsize=9)
    axis.grid(axis="y", visible=False)
    axis.tick_params(axis="y", length=0, labelsize=8.5)
    for label in axis.get_yticklabels():
        label.set_family("monospace")
    axis.set_xlim(0, 1.15 * ordered[-1][1])
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.set(
        xlabel="ways to mix two devices that say so",
        title=f"{sum(counts.values())} ways, {len(counts)} wordings, one cause",
    )
    parts = "; ".join(f"“{wording}” {count}" for wording, count in reversed(ordered))
    show(figure, f"Bar chart of how many ways lead to each wording: {parts}.")
