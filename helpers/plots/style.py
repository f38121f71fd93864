"""The shared style of all figures: size, colors for color-blind readers, bars, and alt text."""

import base64
import io
import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from IPython.display import display
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager, get_font
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter, FixedLocator
from PIL import Image

from helpers.language import ENGLISH, current_language, list_marks, translate

# The palette of Okabe and Ito (2008), made for readers with any kind of color vision, without its
# yellow. The last two are too light for lines on white: use them for areas.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")

# One color per device in every figure of the course: for lines and bars, and for areas such as the
# memory in a diagram.
CPU_COLOR, GPU_COLOR = COLORS[0], COLORS[1]
CPU_AREA, GPU_AREA = "#E9F4FC", "#FFF0E0"
# For everything that is not a device.
OTHER_COLORS = (COLORS[2], COLORS[6], COLORS[3], COLORS[4], COLORS[5])
WAITING_AREA = "#D9D9D9"

DPI = 110
_MAX_DRAWING_COLORS = 4096


def device_color(name: str) -> str:
    """Return the color of the device that `name` mentions: "2 CPU threads" or "cuda:0 (T4)"."""
    return GPU_COLOR if re.search("cuda|gpu|mps|xpu", name.lower()) else CPU_COLOR


def new_figure(rows: int = 1, columns: int = 1, *, width: float = 7.0, height: float = 3.5) -> Any:
    """Return `(figure, axes)` as `plt.subplots` does, in the course's style.

    `axes` is a 2-D array if there is more than one. `width` and `height` are in inches. Lines and
    bars without a color of their own get `OTHER_COLORS`, never a device's color.
    """
    plt.rcParams["font.family"] = ["sans-serif", *_fonts(current_language())]
    with plt.rc_context({"axes.prop_cycle": plt.cycler(color=OTHER_COLORS)}):
        size = {"figsize": (width, height), "layout": "constrained"}
        figure, axes = plt.subplots(rows, columns, squeeze=rows * columns == 1, **size)
    for axis in figure.axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.3)
    return figure, axes


def scale_to_sizes(axis: Axes, sizes: Sequence[int], labels: Sequence[str] | None = None) -> None:
    """Make the x axis logarithmic to base 2, with a tick at each of `sizes`."""
    axis.set_xscale("log", base=2)
    axis.set_xticks(sizes, labels or [str(size) for size in sizes])
    axis.minorticks_off()


def stack_bars(
    axis: Axes,
    rows: Mapping[str, Mapping[str, float]],
    colors: Mapping[str, str],
    text: Callable[[str, float], str] | None = None,
    **options: Any,
) -> list[float]:
    """Draw one horizontal bar per row, from the top, divided into parts; return their ends.

    Args:
        rows: the size of each part, by row.
        colors: the color of each part, in the order of the parts.
        text: returns the text in the middle of a part from its name and its size.
        options: passed to `barh`; also `fontsize` for the texts.
    """
    fontsize = options.pop("fontsize", 8)
    ends = [0.0] * len(rows)
    for part, color in colors.items():
        sizes = [sizes.get(part, 0) for sizes in rows.values()]
        bars = axis.barh(list(rows), sizes, left=ends, color=color, label=part, **options)
        if text:
            texts = [text(part, size) if size else "" for size in sizes]
            color = text_color_on(color)
            axis.bar_label(bars, texts, label_type="center", color=color, fontsize=fontsize)
        ends = [end + size for end, size in zip(ends, sizes, strict=True)]
    axis.invert_yaxis()
    axis.grid(visible=False, axis="y")
    return ends


def annotate(
    axis: Axes, text: str, x: float, y: float | str, right: float, up: float = 0, **options: Any
) -> None:
    """Write `text` to the right of and above the point (x, y), at a distance given in points."""
    options = {"textcoords": "offset points", "va": "center", "fontsize": 8} | options
    outline = [withStroke(linewidth=2, foreground="white")]  # where a line crosses the text
    axis.annotate(text, (x, y), (right, up), path_effects=outline, **options)


def show(figure: Figure | Sequence[Figure], alt: str, **values: Any) -> None:
    """Display `figure` as an image whose alternative text is `alt`, and close it.

    Several figures are the frames of an animation of at most five seconds, which plays once. The
    first frame is also shown where images do not move.

    `alt`, an English text, is shown in the student's language, with `{name}` replaced by the
    values; raises ValueError if it is empty. It is also the plain text of the output, which screen
    readers, terminals, and nbval use: do not put measured numbers in it.
    """
    if not alt.strip():
        raise ValueError("a figure needs alt text: describe in one sentence what it shows.")
    values = {n: list_marks(v) if isinstance(v, str) else v for n, v in values.items()}
    alt = translate(alt, **values)
    pngs = []
    for frame in [figure] if isinstance(figure, Figure) else figure:
        if current_language() != ENGLISH:
            _translate(frame)
        buffer = io.BytesIO()
        frame.savefig(buffer, format="png", dpi=DPI)
        plt.close(frame)
        pngs.append(buffer.getvalue())
    data, metadata = output_of(small_png(*pngs), alt)
    display(data, metadata=metadata, raw=True)


def _fonts(language: str) -> list[str]:
    """Return the fonts of the characters of a language that matplotlib's own font lacks.

    `fonts/` has those of Chinese, Japanese and Korean, with the characters of the translations.
    """
    file = Path(__file__).parent / "fonts" / f"{language}.otf"
    if not file.is_file():
        return []
    name = get_font(file).family_name
    if name not in fontManager.get_font_names():
        fontManager.addfont(file)
    return [name]


def _translate(figure: Figure) -> None:
    """Translate all texts of a figure; those that are then too long for it become smaller."""
    fonts = _fonts(current_language())  # of one weight and upright
    for text in figure.findobj(Text) if fonts else ():
        family = "monospace" if "monospace" in text.get_family() else "sans-serif"
        text.set(family=[family, *fonts], weight="normal", style="normal")
    figure.draw_without_rendering()  # computes the labels of ticks
    for axis in (line for axes in figure.axes for line in (axes.xaxis, axes.yaxis)):
        labels = [label.get_text() for label in axis.get_ticklabels()]
        if (translated := [_translate_lines(label) for label in labels]) != labels:
            axis.set_major_locator(FixedLocator(axis.get_majorticklocs()))
            axis.set_major_formatter(FixedFormatter(translated))
    texts = figure.findobj(lambda artist: isinstance(artist, Text) and artist.get_text())
    for text in texts:
        if "monospace" not in text.get_family():  # otherwise it is code
            text.set_text(_translate_lines(text.get_text()))
    figure.draw_without_rendering()
    for text in texts:
        extent = text.get_window_extent()
        middle = (extent.x0 + extent.x1) / 2
        room = 2 * min(middle, figure.bbox.x1 - middle) / max(extent.width, 1)
        if 0 < room < 1:
            text.set_fontsize(0.98 * room * text.get_fontsize())


def _translate_lines(text: str) -> str:
    translated = translate(text)
    return translated if translated != text else "\n".join(map(translate, text.split("\n")))


def text_color_on(color: str) -> str:
    """Return "black" or "white", whichever is easier to read on an area filled with `color`."""
    red, green, blue = to_rgb(color)
    luminance = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2
    return "black" if luminance > 0.18 else "white"  # the threshold of WCAG's contrast formula


def output_of(png: bytes, alt: str) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Return the data and the metadata of an output that shows an image with alternative text.

    JupyterLab 4.6 ignores alternative text in a PNG's metadata, but shows the HTML of an output
    that has both, as nbconvert does. The PNG is for formats without HTML, such as PDF.
    """
    image = base64.b64encode(png).decode()
    html = (
        f'<img alt="{escape(alt)}" lang="{current_language()}" style="max-width:100%;height:auto" '
        f'src="data:image/png;base64,{image}">'
    )
    data = {"text/html": html, "image/png": image, "text/plain": alt}
    return data, {"image/png": {"alt": alt}}


def small_png(*pngs: bytes) -> bytes:
    """Return opaque images as one PNG, with a palette if they are drawings: a third of the size.

    A drawing has a few hundred colors, most of them from antialiasing. Reducing them to 256 makes
    no visible difference. Photographs keep all their colors.
    """
    images = [Image.open(io.BytesIO(png)) for png in pngs]
    width, height = images[0].size
    sheet = Image.new("RGB", (width, height * len(images)))  # one palette for all frames
    for number, image in enumerate(images):
        sheet.paste(image.convert("RGB"), (0, height * number))
    if sheet.getcolors(_MAX_DRAWING_COLORS) is not None:
        sheet = sheet.quantize(256, dither=Image.Dither.NONE)
    tops = range(0, sheet.height, height)
    image, *others = [sheet.crop((0, top, width, top + height)) for top in tops]
    movie = {"save_all": True, "append_images": others, "duration": 1000, "loop": 1}
    buffer = io.BytesIO()
    image.save(buffer, "png", optimize=True, dpi=(DPI, DPI), **(movie if others else {}))
    return buffer.getvalue()
