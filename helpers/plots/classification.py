"""Figures about a classifier: images with titles, loss, confusion matrix."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from torch import Tensor

from helpers.evaluation import Evaluation
from helpers.plots.shapes import label
from helpers.plots.style import new_figure
from helpers.training import History


def draw_images(
    images: Tensor, titles: Sequence[str], *, title: str = "", columns: int = 8
) -> Figure:
    """Draw uint8 images `(N, 3, H, W)` in rows, each under its title."""
    rows = -(-len(images) // columns)
    figure, _ = new_figure(rows, columns, width=1.1 * columns, height=1.35 * rows + 0.4)
    for axis in figure.axes:
        axis.set_axis_off()
    for image, text, axis in zip(images, titles, figure.axes, strict=False):
        axis.imshow(image.permute(1, 2, 0).cpu().numpy())
        axis.set_title(text, fontsize=9)
    figure.suptitle(title)
    return figure


def plot_loss_curve(history: History) -> Figure:
    """Draw the loss against the step, with a line at the end of each epoch."""
    figure, axis = new_figure()
    axis.plot(history.steps, history.losses, marker=".")
    for epoch in range(1, history.steps[-1] // history.steps_per_epoch + 1):
        axis.axvline(epoch * history.steps_per_epoch, color="0.6", linestyle=":")
    axis.set_xlabel("training step (dotted: the end of an epoch)")
    axis.set_ylabel("mean cross-entropy loss")
    first, last = f"{history.losses[0]:.2f}", f"{history.losses[-1]:.2f}"
    title = f"The loss does not fall: from {first} to {last}"
    if history.losses[-1] < history.losses[0]:
        title = f"The loss falls from {first} to {last}"
    axis.set_title(title)
    return figure


def plot_confusion_matrix(evaluation: Evaluation, classes: Sequence[str]) -> Figure:
    """Draw the percentage of each true class (row) that was predicted as each class (column).

    Correct predictions, on the diagonal, are blue and mistakes are orange.
    """
    counts = evaluation.confusion.double().numpy()
    percentages = 100 * counts / counts.sum(1, keepdims=True).clip(1)
    diagonal = np.eye(len(percentages), dtype=bool)
    figure, axis = new_figure(width=6.5, height=5.8)
    axis.grid(False)
    mistakes = percentages * ~diagonal
    top = max(mistakes.max(), 1)
    image = axis.imshow(mistakes, cmap="Oranges", vmin=0, vmax=top)
    correct = np.ma.masked_where(~diagonal, percentages)
    axis.imshow(correct, cmap="Blues", vmin=0, vmax=100)
    for (row, column), percentage in np.ndenumerate(percentages):
        color = "white" if percentage > (65 if row == column else 0.65 * top) else "black"
        label(axis, column, row, f"{percentage:.0f}", color=color, fontsize=8)
    axis.set_xticks(range(len(classes)), classes, rotation=45, ha="right")
    axis.set_yticks(range(len(classes)), classes)
    axis.set(xlabel="predicted class", ylabel="true class")
    figure.colorbar(image, label="mistakes [% of the true class]", shrink=0.8)
    row, column = np.unravel_index(mistakes.argmax(), percentages.shape)
    axis.set_title(f"Most common mistake: {classes[row]} predicted as {classes[column]}")
    return figure
