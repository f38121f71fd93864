"""Lab 06, exercise 3: the check of `predict`, and its hints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from helpers.checks.core import Hint, Trial
from helpers.checks.lab_06.shared import IMAGES, INPUT_CHANGED, TRAIN, lab

NOT_LOGITS = Hint(
    "not-logits",
    "`predict` returns {found}; the logits, {shape}, are asked for.",
    "Averaging comes before any decision: return what the network gives, averaged.",
    TRAIN,
)

TRAINING_MODE = Hint(
    "training-mode",
    "The network was asked in training mode.",
    "A network that is being judged is in its other mode. Which method switches to it?",
    TRAIN,
)

TRACKS_GRADIENTS = Hint(
    "tracks-gradients",
    "Gradients were being tracked while the network answered.",
    "Nothing is learnt here. Which block tells torch so?",
    TRAIN,
)

ONE_VIEW = Hint(
    "one-view",
    "Your logits are those of {which} alone.",
    "Two views are asked for. What happens to the answer to the first of them?",
    TRAIN,
)

WRONG_VIEW = Hint(
    "wrong-view",
    "One of the two views is the image turned {how}.",
    "Which axis holds the columns? Try one image with one white pixel.",
    IMAGES,
)

NOT_AVERAGED = Hint(
    "not-averaged",
    "Your logits are {what} of the two views; their mean is asked for.",
    "Work it out for two logits that you write down by hand: 2 and 4.",
    TRAIN,
)

AVERAGED_IMAGES = Hint(
    "averaged-images",
    "You average the two images and ask the network once. A picture laid over its mirror image is "
    "none that the network knows.",
    "What is to be averaged: the questions, or the answers?",
    TRAIN,
)

OTHER_LOGITS = Hint(
    "other-logits",
    "The logits are not the mean of those for the images and those for their mirror images.",
    "Compute both by hand for a batch of one image, and compare.",
    TRAIN,
)


class _Answering(nn.Module):
    """A small network that notes in which mode it is called, and whether gradients are tracked."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Flatten(), nn.Dropout(0.3), nn.Linear(3 * size * size, 8), nn.Tanh(), nn.Linear(8, 5)
        )
        self.modes: list[bool] = []
        self.gradients: list[bool] = []

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        self.modes.append(self.training)
        self.gradients.append(torch.is_grad_enabled())
        return self.net(images)


@lab.exercise(3, points=2, right="Two views, one answer, and nothing to train.")
def exercise_3(trial: Trial, predict: Callable[..., Any]) -> None:
    """`predict(net, images)`: the mean of the logits for images and for their mirror images."""
    for device in (trial.device, torch.device("cpu")):
        torch.manual_seed(trial.seed)
        net = _Answering(6).to(device).train(device.type == "cuda")
        images = trial.normal(trial.random.randint(5, 9), 3, 6, 6).to(device)
        before = images.clone()
        found = trial.call(predict, net, images)
        trial.expect_result(found)
        shape = (len(images), 5)
        tensor = isinstance(found, torch.Tensor)
        shown = f"a {type(found).__name__}"
        shown = f"{found.dtype} of shape {tuple(found.shape)}" if tensor else shown
        good = tensor and found.shape == shape and found.is_floating_point()
        trial.expect(good, NOT_LOGITS, found=shown, shape=shape)
        trial.expect(torch.equal(images, before), INPUT_CHANGED)
        trial.expect(not any(net.modes), TRAINING_MODE)
        trial.expect(not any(net.gradients), TRACKS_GRADIENTS)
        net.eval()
        with torch.no_grad():
            ways = _views(net, images)
        hint, told = next(
            (way[:2] for way in ways if _near(found, way[2])), (OTHER_LOGITS, dict[str, str]())
        )
        if hint is not None:
            raise hint.of(**told)


def _views(
    net: nn.Module, images: torch.Tensor
) -> list[tuple[Hint | None, dict[str, str], torch.Tensor]]:
    """The right logits and those of the mistakes that are known."""
    plain, mirror = net(images), net(images.flip(3))
    upside_down, turned = net(images.flip(2)), net(images.flip(2, 3))
    softmax = (plain.softmax(1) + mirror.softmax(1)) / 2
    order = net(images.flip(0))
    return [
        (None, {}, (plain + mirror) / 2),
        (ONE_VIEW, {"which": "the images as they are"}, plain),
        (ONE_VIEW, {"which": "the mirror images"}, mirror),
        (WRONG_VIEW, {"how": "upside down"}, (plain + upside_down) / 2),
        (WRONG_VIEW, {"how": "by half a turn"}, (plain + turned) / 2),
        (WRONG_VIEW, {"how": "into another image of the batch"}, (plain + order) / 2),
        (NOT_AVERAGED, {"what": "the sum"}, plain + mirror),
        (NOT_AVERAGED, {"what": "the mean of the probabilities"}, softmax),
        (NOT_AVERAGED, {"what": "the larger"}, torch.maximum(plain, mirror)),
        (AVERAGED_IMAGES, {}, net((images + images.flip(3)) / 2)),
    ]


def _near(one: torch.Tensor, other: torch.Tensor) -> bool:
    return torch.allclose(one.float().cpu(), other.cpu(), rtol=1e-3, atol=1e-5)
