"""Figures about kernels: which program touches which elements, and the roofline."""

from collections.abc import Sequence

import numpy as np

from helpers.kernels import Launch
from helpers.plots import style
from helpers.plots.style import show

SHARED = "several"


def plot_accesses(
    launch: Launch, tensors: Sequence[str], *, title: str, columns: int = 32, program: int = -1
) -> None:
    """Show the elements of `tensors` as squares with the number and color of their program.

    A gray square is touched by several programs. With `program`, show only that program's elements.
    A 1-D tensor is drawn in rows of `columns` elements.
    """
    shapes = [launch.shapes[name] for name in tensors]
    grids = [n if len(n) == 2 else (-(-n[0] // columns), min(n[0], columns)) for n in shapes]
    widths = [max(grid[1], 8) for grid in grids]
    unit = min(7.5 / sum(widths), 0.3)  # inches per element
    size = {"width": max(5, unit * sum(widths)), "height": 0.9 + unit * max(n for n, _ in grids)}
    figure, axes = style.new_figure(1, len(tensors), **size)
    axes = np.atleast_1d(axes).ravel()
    axes[0].get_gridspec().set_width_ratios(widths)
    for axis, name, shape, (rows, width) in zip(axes, tensors, shapes, grids, strict=True):
        owners = [set() for _ in range(rows * width)]
        for number, elements in launch.elements(name).items():
            for element in elements if program in (-1, number) else []:
                owners[element].add(number)
        for place, found in enumerate(owners[: int(np.prod(shape))]):
            owner = SHARED if len(found) > 1 else min(found, default=None)
            color = {SHARED: style.WAITING_AREA, None: "white"}.get(owner)
            color = color or style.OTHER_COLORS[owner % len(style.OTHER_COLORS)]
            x, y = place % width, place // width
            options = {"facecolor": color, "edgecolor": "#777777", "linewidth": 0.4}
            axis.add_patch(style.plt.Rectangle((x, y), 1, 1, **options))
            if isinstance(owner, int) and max(widths) <= 40:
                ink = style.text_color_on(color)
                axis.text(x + 0.5, y + 0.5, owner, color=ink, fontsize=6, ha="center", va="center")
        axis.set(xlim=(0, width), ylim=(rows, 0), aspect="equal", xticks=[], yticks=[])
        axis.set_title(f"{name} {shape}", fontsize=9)
        axis.spines[:].set_visible(False)
        axis.grid(visible=False)
    figure.suptitle(title, fontsize=11)
    values = {"tensors": ", ".join(tensors), "programs": launch.programs, "program": program}
    if program >= 0:
        show(
            figure,
            "Grids of squares, one per element of {tensors}. Program {program} touches those "
            "that are filled.",
            **values,
        )
        return
    show(
        figure,
        "Grids of squares, one per element of {tensors}, for {programs} programs. A square has the "
        "color and number of the program that touches it; gray squares are touched by several.",
        **values,
    )
