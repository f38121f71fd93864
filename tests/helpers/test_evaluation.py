"""Evaluation counts every image once, for any batch size, and leaves the network as it was."""

import math

import pytest
import torch
from torch import nn

from helpers.evaluation import evaluate
from helpers.loaders import ResidentLoader


class PredictionsFromPixels(nn.Linear):
    """Predicts the class whose number is in the first pixel, so that the right counts are known."""

    def forward(self, images):
        self.modes = [*getattr(self, "modes", []), self.training]
        pixels = ((images[:, 0, 0, 0] * 0.5 + 0.5) * 255).round().long()
        return nn.functional.one_hot(pixels, 10).float()


def loader_for(predictions: list[int], truth: list[int], batch_size: int = 4) -> ResidentLoader:
    images = torch.zeros(len(predictions), 3, 32, 32, dtype=torch.uint8)
    images[:, 0, 0, 0] = torch.tensor(predictions, dtype=torch.uint8)
    return ResidentLoader(images, torch.tensor(truth), batch_size)


@pytest.mark.parametrize("training", [True, False])
def test_mode_of_the_network_is_restored(training):
    net = PredictionsFromPixels(1, 1).train(training)
    evaluate(net, loader_for([0], [0]))
    assert net.modes == [False]
    assert net.training is training


def test_empty_loader_is_an_error():
    with pytest.raises(ValueError, match="no images to evaluate on"):
        evaluate(PredictionsFromPixels(1, 1), [])


@pytest.mark.parametrize("batch_size", [1, 3, 100])
def test_every_image_is_counted_for_any_batch_size(batch_size):
    loader = loader_for([0, 1, 2, 3, 3, 3, 9], [0, 1, 1, 3, 3, 4, 0], batch_size)
    evaluation = evaluate(PredictionsFromPixels(1, 1), loader)
    assert evaluation.confusion.sum() == 7
    assert evaluation.accuracy == 4 / 7
    assert evaluation.confusion[1, 2] == 1  # row: true class, column: predicted class
    per_class = evaluation.per_class(list("abcdefghij"))
    assert per_class["b"] == 0.5
    assert math.isnan(per_class["c"])  # no images
