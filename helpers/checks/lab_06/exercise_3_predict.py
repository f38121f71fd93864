"""Lab 06, exercise 3: `predict`."""

import copy

import torch
from torch import nn

from helpers.checks.descriptions import describe
from helpers.checks.lab_06.shared import lab
from helpers.checks.trial import Answer, Trial
from helpers.language import translate


class _ObservedNet(nn.Module):
    """A small network that records its mode and gradient tracking at each call."""

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


@lab.exercise(
    3, points=2, success_message="The mean of two views, in evaluation mode and without gradients."
)
def exercise_3(trial: Trial, predict: Answer) -> None:
    """`predict(net, images)`: the mean of the logits for images and for their mirror images."""
    for device in (trial.device, torch.device("cpu")):
        torch.manual_seed(trial.seed)
        net = _ObservedNet(6).to(device).train(device.type == "cuda")
        images = trial.normal(trial.random.randint(5, 9), 3, 6, 6).to(device)
        # Copy the network too: the answer may modify it, and the expected result must not change.
        before, twin = images.clone(), copy.deepcopy(net).eval()
        result = trial.result_of(predict, net, images)
        shape = (len(images), 5)
        is_logits = isinstance(result, torch.Tensor) and result.shape == shape
        is_logits = is_logits and result.is_floating_point()
        trial.expect(is_logits, "not-logits", found=describe(result), shape=shape)
        trial.expect(torch.equal(images, before), "input-changed")
        trial.expect(not any(net.modes), "training-mode")
        trial.expect(not any(net.gradients), "tracks-gradients")
        trial.expect(not trial.gradients_disabled, "gradients-left-off")
        with torch.no_grad():
            views = _views(twin, before)
        hint, details = next(
            (view[:2] for view in views if _near(result, view[2])),
            ("different-logits", dict[str, str]()),
        )
        if hint is not None:
            raise trial.wrong(hint, **details)


def _views(
    net: nn.Module, images: torch.Tensor
) -> list[tuple[str | None, dict[str, str], torch.Tensor]]:
    """Return the correct logits, and the logits of known mistakes with the hint for each."""
    plain, mirror = net(images), net(images.flip(3))
    upside_down, rotated = net(images.flip(2)), net(images.flip(2, 3))
    softmax = (plain.softmax(1) + mirror.softmax(1)) / 2
    reordered = net(images.flip(0))
    other_image = translate("replaced by another image of the batch")
    return [
        (None, {}, (plain + mirror) / 2),
        ("one-view", {"which": translate("the images as they are")}, plain),
        ("one-view", {"which": translate("the mirror images")}, mirror),
        ("wrong-view", {"how": translate("upside down")}, (plain + upside_down) / 2),
        ("wrong-view", {"how": translate("rotated by 180 degrees")}, (plain + rotated) / 2),
        (
            "wrong-view",
            {"how": other_image},
            (plain + reordered) / 2,
        ),
        ("not-averaged", {"what": translate("the sum")}, plain + mirror),
        ("not-averaged", {"what": translate("the mean of the probabilities")}, softmax),
        ("not-averaged", {"what": translate("the larger")}, torch.maximum(plain, mirror)),
        ("averaged-images", {}, net((images + images.flip(3)) / 2)),
    ]


def _near(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.allclose(a.float().cpu(), b.cpu(), rtol=1e-3, atol=1e-5)
