"""What every figure shares: size, colours that the colour-blind can tell apart, and alt text."""

import base64
import io
from html import escape
from typing import Any

import matplotlib.pyplot as plt
from IPython.display import display
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from PIL import Image

# Okabe and Ito's palette (2008), made for readers with any kind of colour vision; yellow left out.
# The last two are too light for a line on white: they are for areas.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")
LIGHT_BLUE = COLOURS[5]
# Vermilion, dark enough for small letters on a light ground.
RED_INK = "#B34F00"
DPI = 110
_SHADES_OF_A_DRAWING = 4096


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
    """Display `figure` as an image whose alternative text is `alt`, and close it.

    The text also stands as the output's plain form, so it is what a screen reader, a terminal and
    nbval get to see: keep figures of the machine out of it.

    Raises:
        ValueError: `alt` is empty.
    """
    if not alt.strip():
        raise ValueError("a figure needs alt text: say in one sentence what it shows.")
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=DPI)
    plt.close(figure)
    data, metadata = output_of(small_png(drawn.getvalue()), alt)
    display(data, metadata=metadata, raw=True)


def ink_on(colour: str) -> str:
    """Return "black" or "white", whichever reads better on an area filled with `colour`."""
    red, green, blue = to_rgb(colour)
    # Above this luminance black has the higher contrast by WCAG's formula.
    return (
        "black" if 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2 > 0.18 else "white"
    )


def output_of(png: bytes, alt: str) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Return data and metadata of the output that shows an image with its alternative text.

    JupyterLab drops the alternative text that stands in the metadata of a PNG (seen in 4.6), but
    prefers HTML to a PNG where an output has both, as nbconvert does. The PNG is for those that
    show no HTML, PDF above all.
    """
    image = base64.b64encode(png).decode()
    html = (
        f'<img alt="{escape(alt)}" style="max-width:100%;height:auto" '
        f'src="data:image/png;base64,{image}">'
    )
    data = {"text/html": html, "image/png": image, "text/plain": alt}
    return data, {"image/png": {"alt": alt}}


def small_png(png: bytes) -> bytes:
    """Return the opaque image `png` with a palette if it is a drawing: a third of the size.

    A drawing has some hundred shades, nearly all of them from smoothed edges, and 256 of them look
    the same. Photographs keep every colour.
    """
    image = Image.open(io.BytesIO(png)).convert("RGB")
    if image.getcolors(_SHADES_OF_A_DRAWING) is not None:
        image = image.quantize(256, dither=Image.Dither.NONE)
    small = io.BytesIO()
    image.save(small, format="png", optimize=True, dpi=(DPI, DPI))
    return small.getvalue()
