"""Figures have alternative text in every output format, are small, and are readable."""

import io
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from PIL import Image

from helpers import lesson
from helpers.explain import Explanation
from helpers.plots.style import (
    COLORS,
    CPU_COLOR,
    GPU_COLOR,
    device_color,
    new_figure,
    show,
    small_png,
    text_color_on,
)
from helpers.tables import MARKED_STYLE
from tests.course.reports.test_pages import contrast


@pytest.fixture
def output(output_of):
    """The output of one figure whose alt text contains HTML's special characters."""
    figure, axis = new_figure()
    axis.plot([1, 2], [2, 1])
    return output_of(show, figure, alt='x < y & "z"')


def test_html_png_and_plain_text_have_the_alt_text(output):
    assert 'alt="x &lt; y &amp; &quot;z&quot;"' in output.data["text/html"]
    assert f'src="data:image/png;base64,{output.data["image/png"]}"' in output.data["text/html"]
    assert output.metadata["image/png"]["alt"] == 'x < y & "z"'
    assert output.data["text/plain"] == 'x < y & "z"'
    assert not plt.get_fignums()


def test_rejects_figure_without_alt_text():
    figure, _ = new_figure()
    with pytest.raises(ValueError, match="needs alt text"):
        show(figure, alt=" \n")
    plt.close(figure)


def test_drawing_gets_a_palette_and_looks_the_same_and_photograph_keeps_its_colors():
    for shape, tolerance in (((1, 100, 3), 0.5), ((100, 100, 3), 0)):
        noise = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
        pixels = noise.repeat(len(noise[0]) // len(noise), axis=0)
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, format="png")
        small = Image.open(io.BytesIO(small_png(file.getvalue())))
        assert small.mode == ("P" if tolerance else "RGB")
        assert np.abs(np.asarray(small.convert("RGB")).astype(int) - pixels).mean() <= tolerance


def test_frames_of_an_animation_keep_their_colors():
    pngs = []
    for color in ("#FFFFFF", "#E69F00"):
        file = io.BytesIO()
        Image.new("RGB", (9, 9), color).save(file, format="png")
        pngs.append(file.getvalue())
    animation = Image.open(io.BytesIO(small_png(*pngs)))
    assert animation.n_frames == 2
    assert animation.convert("RGB").getpixel((0, 0)) == (255, 255, 255)
    animation.seek(1)
    assert animation.convert("RGB").getpixel((0, 0)) == (230, 159, 0)


STYLE = re.compile(r'style="([^"]*)"')
# The background of outputs in JupyterLab 4's light and dark themes.
THEMES = ("#ffffff", "#111111")


def test_boxes_are_readable_and_stand_out_in_both_themes(output_of):
    boxes = [output_of(lesson.box, "title", "text", warning=warning) for warning in (False, True)]
    html = [box.data["text/html"] for box in boxes]
    html.append(Explanation("title", "line", "where", (), "why")._repr_html_())
    for style in [STYLE.search(text)[1] for text in html] + [MARKED_STYLE]:
        values = dict(part.split(":", 1) for part in style.split(";") if part)
        assert contrast(values["color"], values["background"]) >= 4.5
        for theme in THEMES if "border" in values else ():
            border_color = values["border"].split()[-1]
            assert max(contrast(border_color, theme), contrast(values["background"], theme)) >= 3


def test_colors_contrast_with_their_background():
    assert all(contrast(color, "white") >= 3 for color in COLORS[:5])
    for color in (*COLORS, "#F3F8FC", "#777777", "#757575"):
        assert contrast(text_color_on(color), color) >= 4.5


def test_devices_have_colors_that_lines_and_bars_do_not_get_by_default():
    assert device_color("cpu (x86_64, 2 cores)") == device_color("1 CPU thread") == CPU_COLOR
    assert device_color("cuda:0 (Tesla T4)") == GPU_COLOR != CPU_COLOR
    _, axis = new_figure()
    for _ in COLORS:
        (line,), (bar,) = axis.plot([0, 1]), axis.bar([0], [1])
        colors = {to_hex(line.get_color()).upper(), to_hex(bar.get_facecolor()).upper()}
        assert not colors & {CPU_COLOR, GPU_COLOR}
