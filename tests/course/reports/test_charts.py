"""Charts are well-formed SVG and readable in light and dark themes."""

import xml.etree.ElementTree as ElementTree

import pytest

from course.reports.charts import COLORS, chart
from tests.course.reports.contrast import contrast

BACKGROUNDS = ("#ffffff", "#14181c")  # --page in style.css.j2


@pytest.mark.parametrize("xs", [[0.001, 0.1, 10.0], ["a", "b & c", "d"], [True, False, True]])
@pytest.mark.parametrize("ys", [[1e-6, 1.0, 1e6], [0.0, 0.0, 0.0], [-5.0, 3, 0]])
def test_chart_is_well_formed_with_its_caption_as_alternative_text(xs, ys):
    points = list(zip(xs, ys, strict=True))
    picture = chart({"a = 1": points, "a = <s>": points}, "x < 1", "y & z")
    figure = ElementTree.fromstring(f"<f>{picture}</f>")
    svg = figure.find("{http://www.w3.org/2000/svg}svg")
    assert svg.get("role") == "img"
    assert svg.get("aria-label") == figure.find("figcaption").text
    texts = {"".join(e.itertext()).strip() for e in svg.iter() if e.tag.endswith("text")}
    assert {"x < 1", "y & z", "a = <s>"} <= texts


def lines_in(picture):
    """Return the number of lines that connect points: matplotlib draws each as a path."""
    svg = ElementTree.fromstring(f"<f>{picture}</f>")
    return sum("fill: none" in (e.get("style") or "") for e in svg.iter() if is_series(e))


def is_series(element):
    return any(color in (element.get("style") or "").lower() for color in COLORS)


def test_line_connects_numbers_but_not_categories_or_seeds():
    def count_lines(name, xs):
        return lines_in(chart({"": [(x, float(n)) for n, x in enumerate(xs)]}, name, "loss"))

    assert count_lines("lr", [0.1, 0.2, 0.3]) == 1
    assert count_lines("data", ["a", "b", "c"]) == 0
    assert count_lines("seed", [0, 1, 2]) == 0


def test_more_series_than_colors_are_drawn_as_one():
    series = {f"s = {number}": [(1, 1.0), (2, 2.0)] for number in range(len(COLORS) + 1)}
    picture = chart(series, "x", "y")
    assert "s = " not in picture
    assert COLORS[1] not in picture


def test_same_data_gives_same_svg_in_the_pages_color():
    picture, again = (chart({"": [(1, 2.0), (2, 3.0)]}, "x", "y") for _ in range(2))
    assert picture == again
    assert "currentColor" in picture
    assert "#000000" not in picture
    assert "#ffffff" not in picture


@pytest.mark.parametrize("background", BACKGROUNDS)
@pytest.mark.parametrize("color", COLORS)
def test_colors_have_a_contrast_of_3_in_both_themes(color, background):
    assert contrast(color, background) >= 3
