"""A figure's output carries its alternative text wherever it may be shown, and stays small."""

import base64
import io
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
from bs4 import BeautifulSoup
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from matplotlib.colors import to_rgb
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_notebook, new_output
from PIL import Image

from helpers import lesson
from helpers.explain.box import Explanation
from helpers.plots.style import COLOURS, RED_INK, ink_on, new_figure, output_of, show, small_png
from helpers.small_computer import tables


@pytest.fixture
def output():
    """What showing one figure puts into a notebook; its alt text is not free of HTML's letters."""
    InteractiveShell.instance()
    figure, axis = new_figure()
    axis.plot([1, 2], [2, 1])
    with capture_output() as captured:
        show(figure, alt='x < y & "z"')
    InteractiveShell.clear_instance()
    (shown,) = captured.outputs
    return shown


def test_html_png_and_plain_text_all_carry_the_text(output):
    assert 'alt="x &lt; y &amp; &quot;z&quot;"' in output.data["text/html"]
    assert output.metadata["image/png"]["alt"] == 'x < y & "z"'
    assert output.data["text/plain"] == 'x < y & "z"'


def test_the_html_shows_the_same_pixels_as_the_png(output):
    assert f'src="data:image/png;base64,{output.data["image/png"]}"' in output.data["text/html"]


def test_a_page_made_of_the_notebook_has_the_figure_once_with_its_text(output):
    stored = new_output("display_data", output.data, metadata=output.metadata)
    notebook = new_notebook(cells=[new_code_cell("plot()", outputs=[stored])])
    page, _ = HTMLExporter().from_notebook_node(notebook)
    (image,) = BeautifulSoup(page, "html.parser").find_all("img")
    assert image["alt"] == 'x < y & "z"'


def test_a_figure_without_alt_text_is_refused_and_nothing_shown():
    figure, _ = new_figure()
    with pytest.raises(ValueError, match="needs alt text"):
        show(figure, alt=" \n")
    plt.close(figure)


def png_of(pixels) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format="png")
    return file.getvalue()


def pixels_of(png: bytes):
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)


def test_a_photograph_keeps_every_colour():
    noise = np.random.default_rng(0).integers(0, 256, (100, 100, 3), dtype=np.uint8)
    assert (pixels_of(small_png(png_of(noise))) == noise).all()


def test_a_drawing_is_stored_with_a_palette_and_looks_the_same():
    figure, axis = new_figure()
    for height in range(len(COLOURS)):
        axis.plot([0, 1], [0, height])
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=110)
    plt.close(figure)
    small = small_png(drawn.getvalue())
    assert len(small) < 0.6 * len(drawn.getvalue())
    assert np.abs(pixels_of(small) - pixels_of(drawn.getvalue())).mean() < 0.5


def test_an_output_can_be_made_of_an_image_that_is_there():
    data, metadata = output_of(b"abc", "A line.")
    assert base64.b64decode(data["image/png"]) == b"abc"
    assert metadata == {"image/png": {"alt": "A line."}}


def luminance(colour: str) -> float:
    """Relative luminance as the Web Content Accessibility Guidelines 2.1 define it."""
    shares = np.asarray(to_rgb(colour))
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("colour", COLOURS[:5])
def test_a_line_stands_out_from_white(colour):
    assert contrast(colour, "white") >= 3


@pytest.mark.parametrize("colour", [*COLOURS, "#F3F8FC", "#777777", "#757575"])
def test_a_label_on_an_area_can_be_read(colour):
    assert contrast(ink_on(colour), colour) >= 4.5


@pytest.mark.parametrize("ground", ["white", "#FFF4E5", "#F3F8FC"])
def test_red_letters_can_be_read_on_the_grounds_of_the_figures(ground):
    assert contrast(RED_INK, ground) >= 4.5


STYLE = re.compile(r'style="([^"]*)"')
# What JupyterLab 4 puts behind an output, light and dark theme.
THEMES = ("#ffffff", "#111111")


def box_styles() -> list[str]:
    """The outermost styles of the boxes and marked cells that lessons show as HTML."""
    shown = []
    InteractiveShell.instance()
    for warning in (False, True):
        with capture_output() as captured:
            lesson.box("title", "text", warning=warning)
        shown.append(captured.outputs[0].data["text/html"])
    InteractiveShell.clear_instance()
    shown.append(Explanation("kind", "title", "line", "where", (), "why")._repr_html_())
    return [STYLE.search(html)[1] for html in shown] + [tables._MARKED]


@pytest.mark.parametrize("style", box_styles())
def test_a_box_brings_its_own_letters_and_ground_so_no_theme_can_spoil_it(style):
    said = dict(part.split(":", 1) for part in style.split(";") if part)
    assert contrast(said["color"], said["background"]) >= 4.5


@pytest.mark.parametrize("style", box_styles()[:-1])
@pytest.mark.parametrize("theme", THEMES)
def test_a_box_stands_out_in_both_themes_by_its_edge_or_its_ground(style, theme):
    said = dict(part.split(":", 1) for part in style.split(";"))
    edge = said["border"].split()[-1]
    assert max(contrast(edge, theme), contrast(said["background"], theme)) >= 3
