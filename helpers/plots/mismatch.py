"""Figures about device errors: the parts of a message."""

from helpers.plots.shapes import load_drawing
from helpers.plots.style import show


def draw_message() -> None:
    """Draw the message of a matrix product in four parts, each with its meaning."""
    show(
        load_drawing("message"),
        "The message of a matrix product in four boxes, each with its meaning: the rule; torch's "
        "name for an argument, and its device; the device of the arguments before it; the "
        "operation. A last line lists what is not in the message: your variable, your line, and "
        "which of the two tensors to move.",
    )
