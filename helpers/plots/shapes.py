"""Boxes, arrows and labels, and the drawings in `drawings/` that consist of them."""

import json
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle

from helpers.plots import style

LINE_COLOR = "#333333"


def label(axis: Axes, x: float, y: float, text: object, **options: object) -> None:
    """Write `text` around the point (x, y)."""
    axis.text(x, y, text, **({"ha": "center", "va": "center"} | options))


def box(
    axis: Axes, x: float, y: float, width: float, height: float, text: str = "", **options: object
) -> None:
    """Draw a rectangle from its lower left corner, with `text` in its middle."""
    options = {"facecolor": "white", "edgecolor": LINE_COLOR, "linewidth": 1.0} | options
    axis.add_patch(Rectangle((x, y), width, height, **options))
    label(axis, x + width / 2, y + height / 2, text, fontsize=9)


def arrow(
    axis: Axes, start: tuple[float, float], end: tuple[float, float], **options: object
) -> None:
    """Draw an arrow from `start` to `end`."""
    defaults = {"arrowstyle": "-|>", "mutation_scale": 14, "linewidth": 1.5, "color": LINE_COLOR}
    axis.add_patch(FancyArrowPatch(start, end, shrinkA=0, shrinkB=0, **(defaults | options)))


_SHAPES = {"box": box, "arrow": arrow, "label": label, "text": Axes.text, "line": Axes.plot}


def show_drawing(name: str) -> None:
    """Show the drawing `drawings/NAME.json`."""
    style.show(*load_drawing(name))


def load_drawing(name: str) -> tuple[Figure, str]:
    """Draw `drawings/NAME.json`; return the figure and its alternative text.

    A drawing has panels with shapes, each `[kind, arguments, options]`. An option may be the name
    of a color in `style.py`.
    """
    path = Path(__file__).parent / "drawings" / f"{name}.json"
    drawing = json.loads(path.read_text(encoding="utf-8"))
    size = {"width": drawing["width"], "height": drawing["height"]}
    figure, _ = style.new_figure(drawing["rows"], drawing["columns"], **size)
    figure.suptitle(drawing["title"])
    for axis, panel in zip(figure.axes, drawing["panels"], strict=True):
        if "yticks" not in panel["axes"]:
            axis.axis("off")
        axis.grid(visible=False)
        for kind, arguments, *options in panel["shapes"]:
            named = {key: getattr(style, str(v), v) for key, v in dict(*options).items()}
            _SHAPES[kind](axis, *arguments, **named)
        axis.set(**panel["axes"])
        axis.title.set_fontsize(10)
    return figure, drawing["alt"]
