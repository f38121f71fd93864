"""The box is short, accessible, and has the same content in text and HTML."""

import re
from html import unescape

import pytest

CODES = [
    "x = torch.ones(3, device=device)\ny = torch.ones(3)\nx + y",
    "x = torch.ones(3, device=device)\nx < torch.ones(\n    3,\n)",
    "x = torch.ones(3, device=device)\nx.numpy()",
    "x = torch.ones(3, device=device)\nx + (lambda: torch.ones(3))()",
    "a, b = torch.ones(3), torch.ones(3)\ntorch.cat([a, b, torch.ones(3, device=device)])",
    "def f(x):\n    y = torch.ones(3)\n    return x + y\n\nf(torch.ones(3, device=device))",
    "torch.ones(3).to('gpu')",
]


def words(text):
    """Return a text without whitespace, list markers and backticks."""
    return re.sub(r"[`\s]", "", re.sub(r"^ *- ", "", text, flags=re.MULTILINE))


@pytest.mark.parametrize("code", CODES)
def test_text_and_html_have_the_same_content(student, code):
    explanation = student.explain(code)
    html = re.sub(r"<[^<>]*>", "", explanation._repr_html_())
    assert words(unescape(html)) == words(repr(explanation))


@pytest.mark.parametrize("code", CODES)
def test_the_box_has_at_most_nine_lines(student, code):
    assert len(repr(student.explain(code)).split("\n")) <= 9


def test_the_box_has_the_aria_role_note(student):
    assert student.explain(CODES[0])._repr_html_().startswith('<div role="note"')


def test_the_students_code_is_escaped_in_html(student):
    html = student.explain(CODES[1])._repr_html_()
    assert "x &lt; torch.ones(3, device=device)" in html


def test_a_long_line_is_shortened(student):
    code = f"x = torch.ones(3, device=device)\nz = x + torch.ones(3){' + 1' * 60}"
    assert max(len(line) for line in repr(student.explain(code)).split("\n")[:2]) < 130


def test_the_title_names_the_kind_of_error(student):
    assert repr(student.explain(CODES[2])).startswith("NumPy can access only CPU memory\n")


def test_code_and_text_have_explicit_colors(student):
    # JupyterLab removes `inherit` from stored outputs, and then its theme colors the code.
    html = student.explain(CODES[0])._repr_html_()
    tags = re.findall(r"<(?:code|pre|div role)[^>]*>", html)
    assert len(tags) >= 4
    assert all("color:#1a1a1a;background:#F3F8FC" in tag for tag in tags)
