"""Figures about device errors: two memories, and the parts of a message."""

from helpers.plots.shapes import load_drawing
from helpers.plots.style import show


def draw_two_memories() -> None:
    """Draw `x + y` with `x` on the GPU and `y` on the CPU: the error, and the fix with a copy."""
    show(
        load_drawing("two_memories"),
        "Two diagrams of CPU memory, which holds y, next to cuda:0 memory, which holds x. In the "
        "first, a plus sign on the GPU is connected to x, and its line to y is crossed out. In the "
        "second, an arrow copies y to the GPU, where x, the copy and their sum are.",
    )


def draw_message() -> None:
    """Draw the message of a matrix product in four parts, each with its meaning."""
    show(
        load_drawing("message"),
        "The message of a matrix product in four boxes, each with its meaning: the rule; torch's "
        "name for an argument, and its device; the device of the arguments before it; the "
        "operation. A last line lists what is not in the message: your variable, your line, and "
        "which of the two tensors to move.",
    )
