"""The figures of lesson 02 match its text, and all their labels fit."""

import pytest

from helpers.plots import mismatch


@pytest.fixture
def shown_figures(monkeypatch):
    """Collect figures and their alt texts instead of displaying them."""
    figures = []
    monkeypatch.setattr(mismatch, "show", lambda figure, alt: figures.append((figure, alt)))
    return figures


def texts_of(figure):
    return [text.get_text() for axis in figure.axes for text in axis.texts]


def test_the_sum_is_shown_only_where_y_was_copied(shown_figures):
    mismatch.draw_two_memories()
    ((figure, _),) = shown_figures
    refused, fixed = ([text.get_text() for text in axis.texts] for axis in figure.axes)
    assert "33" in fixed
    assert "33" not in refused
    assert fixed.count("30") == 2
    assert refused.count("30") == 1


def test_the_parts_of_the_message_form_the_whole_message(shown_figures):
    mismatch.draw_message()
    ((figure, _),) = shown_figures
    parts = [text for text in texts_of(figure) if not text.startswith("Not in the message")]
    message = " ".join(text for text in parts if "tensors" in text or "(when" in text)
    assert message.startswith("Expected all tensors to be on the same device,")
    assert message.endswith("(when checking argument in method wrapper_CUDA_mm)")


@pytest.mark.parametrize("draw", [mismatch.draw_two_memories, mismatch.draw_message])
def test_all_text_is_inside_the_figure(shown_figures, draw):
    draw()
    ((figure, _),) = shown_figures
    figure.canvas.draw()
    bounds = figure.bbox
    texts = [text for axis in figure.axes for text in axis.texts]
    assert texts
    for text in texts:
        box = text.get_window_extent()
        assert bounds.x0 <= box.x0, text.get_text()
        assert box.x1 <= bounds.x1, text.get_text()
