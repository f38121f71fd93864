"""What every figure shares: size, colours that the colour-blind can tell apart, and alt text."""

import base64
import io
from typing import Any

import matplotlib.pyplot as plt
from IPython.display import display
from matplotlib.figure import Figure

# Okabe and Ito's palette (2008), made for readers with any kind of colour vision; yellow left out.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")


def new_figure(rows: int = 1, columns: int = 1, *, width: float = 7.0, height: float = 3.5) -> Any:
    """Return `(figure, axes)` as `plt.subplots` does; the whole is `width` by `height` inches."""
    with plt.rc_context({"axes.prop_cycle": plt.cycler(color=COLOURS)}):
        figure, axes = plt.subplots(
            rows,
            columns,
            figsize=(width, height),
            layout="constrained",
            squeeze=rows * columns == 1,
        )
    for axis in figure.axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.3)
    return figure, axes


def show(figure: Figure, alt: str) -> None:
    """Display `figure` as a PNG whose alternative text is `alt`, and close it.

    The text also stands as the output's plain form, so it is what a screen reader, a terminal and
    nbval get to see: keep figures of the machine out of it.

    Raises:
        ValueError: `alt` is empty.
    """
    if not alt.strip():
        raise ValueError("a figure needs alt text: say in one sentence what it shows.")
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=110)
    plt.close(figure)
    bundle = {"image/png": base64.b64encode(png.getvalue()).decode(), "text/plain": alt}
    display(bundle, metadata={"image/png": {"alt": alt}}, raw=True)
