"""The box is short, accessible, and has the same content in text and HTML."""

import re
from html import unescape

import pytest
import torch

from helpers.explain import explain

CODES = [
    "x = torch.ones(3, device=device)\ny = torch.ones(3)\nx + y",
    "x = torch.ones(3, device=device)\nx < torch.ones(\n    3,\n)",
    "x = torch.ones(3, device=device)\nx.numpy()",
    "a, b = torch.ones(3), torch.ones(3)\ntorch.cat([a, b, torch.ones(3, device=device)])",
    "def f(x):\n    y = torch.ones(3)\n    return x + y\n\nf(torch.ones(3, device=device))",
    "torch.ones(3).to('gpu')",
]


def words(text):
    """Return a text without whitespace, list markers and backticks."""
    return re.sub(r"[`\s]", "", re.sub(r"^ *- ", "", text, flags=re.MULTILINE))


@pytest.mark.parametrize("code", CODES)
def test_text_and_html_have_the_same_short_content(student, code):
    explanation = student.explain(code)
    html = re.sub(r"<[^<>]*>", "", explanation._repr_html_())
    assert words(unescape(html)) == words(repr(explanation))
    assert len(repr(explanation).split("\n")) <= 9


def test_html_is_accessible_and_readable_in_every_theme(student):
    # JupyterLab removes `inherit` from stored outputs, and then its theme colors the code.
    html = student.explain(CODES[1])._repr_html_()
    assert html.startswith('<div role="note"')
    assert "x &lt; torch.ones(3, device=device)" in html
    tags = re.findall(r"<(?:code|pre|div role)[^>]*>", html)
    assert len(tags) >= 4
    assert all("color:#1a1a1a;background:#F3F8FC" in tag for tag in tags)


def test_a_long_line_is_shortened(student):
    code = f"x = torch.ones(3, device=device)\nz = x + torch.ones(3){' + 1' * 60}"
    assert max(len(line) for line in repr(student.explain(code)).split("\n")[:2]) < 130


def mix_devices():
    return torch.ones(3, device="meta") + torch.ones(3)


def test_an_error_caused_by_a_device_error_is_explained():
    with pytest.raises(ValueError, match="training failed") as caught:
        try:
            mix_devices()
        except RuntimeError as error:
            raise ValueError("training failed") from error
    assert explain(caught.value).places[0][0] == "torch.ones(3)"


def test_an_argument_that_is_not_an_error_raises_type_error():
    with pytest.raises(TypeError, match="not a str"):
        explain("Expected all tensors to be on the same device")


def test_the_block_shows_the_box_and_raises_the_error(capsys):
    with pytest.raises(RuntimeError, match="expected device"), explain():
        mix_devices()
    assert "Two devices in one operation" in capsys.readouterr().err


def test_the_block_continues_with_suppress(capsys):
    with explain(suppress=True):
        mix_devices()
    captured = capsys.readouterr()
    assert captured.out.startswith("RuntimeError: Tensor on device cpu")
    assert "Two devices in one operation" in captured.err
    assert "`torch.ones(3)`" in captured.err


def test_the_block_never_suppresses_other_errors():
    with pytest.raises(ZeroDivisionError), explain(suppress=True):
        _ = 1 / 0
