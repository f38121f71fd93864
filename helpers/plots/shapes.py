"""Boxes and arrows for the drawings of the course."""

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, Rectangle

LINE_COLOR = "#333333"


def box(
    axis: Axes, x: float, y: float, width: float, height: float, text: str = "", **style: object
) -> None:
    """Draw a rectangle from its lower left corner, with `text` in its middle."""
    options = {"facecolor": "white", "edgecolor": LINE_COLOR, "linewidth": 1.0} | style
    axis.add_patch(Rectangle((x, y), width, height, **options))
    axis.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=9)


def arrow(
    axis: Axes, start: tuple[float, float], end: tuple[float, float], **style: object
) -> None:
    """Draw an arrow from `start` to `end`."""
    options = {"arrowstyle": "-|>", "mutation_scale": 14, "linewidth": 1.5, "color": LINE_COLOR}
    axis.add_patch(FancyArrowPatch(start, end, shrinkA=0, shrinkB=0, **(options | style)))
