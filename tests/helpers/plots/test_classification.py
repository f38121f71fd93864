"""The titles of lesson 04's figures state the finding."""

import pytest
import torch
from matplotlib.colors import to_hex

from helpers.evaluation import Evaluation
from helpers.training import History
from helpers.plots import classification as plots
from helpers.plots.style import CPU_COLOR, GPU_COLOR

CLASSES = ("ant", "bee", "cow")


@pytest.mark.parametrize(
    ("losses", "title"),
    [([2.3, 1.28], "falls from 2.30 to 1.28"), ([1.0, 1.5], "does not fall: from 1.00 to 1.50")],
)
def test_loss_curve_title_says_whether_the_loss_falls(losses, title):
    figure = plots.plot_loss_curve(History([10, 20], losses, 10))
    assert title in figure.axes[0].get_title()
    assert figure.axes[0].get_xlabel()
    assert figure.axes[0].get_ylabel()


def test_bars_title_names_the_best_and_the_worst_class():
    figure = plots.plot_accuracy_by_class({"ant": 0.5, "bee": 0.9, "cow": 0.1}, 0.5)
    assert figure.axes[0].get_title() == "Recognized best: bee; worst: cow"


def test_bars_and_overall_line_do_not_use_device_colors():
    axis = plots.plot_accuracy_by_class({"ant": 0.5, "bee": 0.9}, 0.7).axes[0]
    colors = {to_hex(artist.get_facecolor()).upper() for artist in axis.patches}
    colors |= {to_hex(line.get_color()).upper() for line in axis.lines}
    assert colors
    assert not colors & {CPU_COLOR, GPU_COLOR}


def test_confusion_matrix_names_most_common_mistake_by_rate():
    counts = torch.tensor([[90, 10, 0], [1, 99, 0], [0, 8, 12]])
    figure = plots.plot_confusion_matrix(Evaluation(counts), CLASSES)
    assert figure.axes[0].get_title() == "Most common mistake: cow predicted as bee"


def test_confusion_matrix_handles_class_without_images():
    counts = torch.tensor([[5, 0, 0], [0, 0, 0], [1, 0, 4]])
    figure = plots.plot_confusion_matrix(Evaluation(counts), CLASSES)
    assert "nan" not in [text.get_text() for text in figure.axes[0].texts]
