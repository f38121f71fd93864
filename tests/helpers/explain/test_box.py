"""The box is short, says the same as text and as HTML, and can be read by a screen reader."""

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
    """The words of a text, without the marks that stand for bold, lists and code."""
    return re.sub(r"[`\s]", "", re.sub(r"^ *- ", "", text, flags=re.MULTILINE))


@pytest.mark.parametrize("code", CODES)
def test_the_text_and_the_html_say_the_same(student, code):
    explanation = student.explain(code)
    html = re.sub(r"<[^<>]*>", "", explanation._repr_html_())
    assert words(unescape(html)) == words(repr(explanation))


@pytest.mark.parametrize("code", CODES)
def test_it_is_short(student, code):
    assert len(repr(student.explain(code)).split("\n")) <= 9


def test_a_student_with_a_screen_reader_is_told_that_it_is_a_note(student):
    assert student.explain(CODES[0])._repr_html_().startswith('<div role="note"')


def test_the_students_code_is_shown_as_text_in_the_html(student):
    html = student.explain(CODES[1])._repr_html_()
    assert "x &lt; torch.ones(3, device=device)" in html


def test_a_very_long_line_is_cut(student):
    code = f"x = torch.ones(3, device=device)\nz = x + torch.ones(3){' + 1' * 60}"
    assert max(len(line) for line in repr(student.explain(code)).split("\n")[:2]) < 130


def test_the_title_names_the_kind_of_error(student):
    assert repr(student.explain(CODES[2])).startswith("NumPy reads the CPU's memory only\n")
