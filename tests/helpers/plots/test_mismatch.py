"""The figures of lesson 02 say what they found, and their alt text says it without the picture."""

import matplotlib.pyplot as plt
import pytest

from helpers.plots import mismatch


@pytest.fixture
def shown(monkeypatch):
    """The figures that were shown, each with its alt text, in place of displaying them."""
    plt.switch_backend("agg")
    figures = []
    monkeypatch.setattr(mismatch, "show", lambda figure, alt: figures.append((figure, alt)))
    yield figures
    plt.close("all")


def written(figure):
    return [text.get_text() for axis in figure.axes for text in axis.texts]


def test_the_sum_lies_beside_the_copy_only_where_y_was_moved(shown):
    mismatch.draw_two_memories()
    ((figure, _),) = shown
    refused, mended = ([text.get_text() for text in axis.texts] for axis in figure.axes)
    assert "33" in mended
    assert "33" not in refused
    assert mended.count("30") == 2
    assert refused.count("30") == 1


def test_the_pieces_of_the_message_make_up_what_torch_says(shown):
    mismatch.draw_message()
    ((figure, _),) = shown
    message = " ".join(text for text in written(figure) if "tensors" in text or "(when" in text)
    assert message.startswith("Expected all tensors to be on the same device,")
    assert message.endswith("(when checking argument in method wrapper_CUDA_mm)")


def test_wordings_stand_in_the_order_of_their_counts_with_the_most_on_top(shown):
    mismatch.plot_wordings({"one": 1, "five": 5, "two": 2})
    ((figure, _),) = shown
    (axis,) = figure.axes
    assert [label.get_text() for label in axis.get_yticklabels()] == [
        "… one …",
        "… two …",
        "… five …",
    ]
    assert [bar.get_width() for bar in axis.patches] == [1, 2, 5]


def test_the_title_counts_ways_and_wordings(shown):
    mismatch.plot_wordings({"one": 1, "five": 5})
    ((figure, _),) = shown
    assert figure.axes[0].get_title() == "6 ways, 2 wordings, one cause"


def test_the_alt_text_gives_every_count(shown):
    mismatch.plot_wordings({"one": 1, "five": 5})
    ((_, alt),) = shown
    assert "“five” 5; “one” 1" in alt


def test_no_wordings_are_refused(shown):
    with pytest.raises(ValueError, match="give at least one wording"):
        mismatch.plot_wordings({})


@pytest.mark.parametrize("draw", [mismatch.draw_two_memories, mismatch.draw_message])
def test_a_drawing_keeps_its_text_inside_the_figure(shown, draw):
    draw()
    ((figure, _),) = shown
    figure.canvas.draw()
    whole = figure.bbox
    texts = [text for axis in figure.axes for text in axis.texts]
    assert texts
    for text in texts:
        box = text.get_window_extent()
        assert whole.x0 <= box.x0, text.get_text()
        assert box.x1 <= whole.x1, text.get_text()
