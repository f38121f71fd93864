"""Lab 06, exercise 6: `learn`."""

import copy
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor, nn

from helpers.checks.comparing import equal_values
from helpers.checks.hints import WrongAnswer
from helpers.checks.lab_06.shared import lab
from helpers.checks.trial import Answer, Trial

TARGET_ACCURACY, EPOCHS = 0.8, 6
# Every attempt uses the same images and initial weights, so that the result does not depend on
# chance.
_SEED = 6


@lab.exercise(6, points=4, success_message="At least 80% in six epochs.", seconds=30)
def exercise_6(trial: Trial, learn: Answer) -> None:
    """`learn(net, images, labels, epochs)`: 80% of new images correct after six passes."""
    torch.manual_seed(_SEED)
    generator = torch.Generator().manual_seed(_SEED)
    images, labels = (tensor.to(trial.device) for tensor in _stripes(generator, 120))
    net = nn.Sequential(
        nn.Conv2d(3, 12, 3), nn.ReLU(), nn.Conv2d(12, 16, 3), nn.ReLU(),
        nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(16, 3),
    ).to(trial.device)  # fmt: skip
    before, inputs = copy.deepcopy(net), (images.clone(), labels.clone())
    count, allowed = len(images), EPOCHS * len(images)
    details = {"epochs": EPOCHS, "count": count, "allowed": allowed}
    too_many = trial.wrong("too-many-passes", **details)
    batches, old_gradients = trial.observe(_train, learn, net, images, labels, too_many)
    # The student's code may have caught the exception and continued.
    trial.expect(sum(map(len, batches)) <= allowed, "too-many-passes", **details)
    for what, after, original in zip(("images", "labels"), (images, labels), inputs, strict=True):
        trial.expect(equal_values(after, original), "images-changed", what=what)
    pairs = list(zip(before.parameters(), net.parameters(), strict=True))
    trial.expect(not all(torch.equal(a, b) for a, b in pairs), "not-trained")
    trial.expect(not any(old_gradients), "old-gradients")
    trial.expect(all(b.isfinite().all() for _, b in pairs), "diverged")
    accuracy = _accuracy(net, generator, trial.device)
    details = {"accuracy": accuracy, "wanted": TARGET_ACCURACY, "steps": len(batches)}
    trial.expect(accuracy >= TARGET_ACCURACY or len(batches) >= 30, "few-steps", **details)
    classes = inputs[1].cpu()
    known_batches = [batch for batch in batches if (batch >= 0).all() and len(batch) > 1]
    mixed = sum(len(set(classes[batch].tolist())) > 1 for batch in known_batches)
    trial.expect(not known_batches or mixed > len(known_batches) / 3, "sorted")
    if accuracy >= TARGET_ACCURACY:
        return
    change = max(((a - b).norm() / a.norm()).item() for a, b in pairs)
    raise trial.wrong("too-low" if change > 0.25 else "small-steps", **details)


def _train(
    trial: Trial,
    learn: Answer,
    net: nn.Module,
    images: Tensor,
    labels: Tensor,
    too_many: WrongAnswer,
) -> tuple[list[Tensor], list[bool]]:
    with _observe_training(net, images, too_many) as (batches, old_gradients):
        trial.call(learn, net, images, labels, EPOCHS)
    return batches, old_gradients


def _accuracy(net: nn.Module, generator: torch.Generator, device: torch.device) -> float:
    images, labels = _stripes(generator, 100)
    with torch.no_grad():
        predicted = net.eval()(images.to(device)).argmax(1).cpu()
    return (predicted == labels).double().mean().item()


def _stripes(generator: torch.Generator, count: int) -> tuple[Tensor, Tensor]:
    """Return images sorted by class: horizontal, vertical and diagonal stripes, and their labels.

    The images have shape `(3 * count, 3, 10, 10)`.
    """
    size = 10
    y, x = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    labels = torch.arange(3).repeat_interleave(count)
    position = torch.stack([y, x, x + y])[labels].float()
    phase = 6.3 * torch.rand(len(labels), 1, 1, generator=generator)
    waves = (position * 1.6 + phase).sin()[:, None]
    colors = 0.5 + torch.rand(len(labels), 3, 1, 1, generator=generator)
    noise = torch.randn(len(labels), 3, size, size, generator=generator)
    return waves * colors + 0.4 * noise, labels


@contextmanager
def _observe_training(
    net: nn.Module, images: Tensor, too_many: WrongAnswer
) -> Iterator[tuple[list[Tensor], list[bool]]]:
    """Yield two lists that grow as `net` is trained.

    The first has the indices of the images of each call, -1 for changed images. Passing too many
    images raises `too_many`. The second has one bool for each backward pass: whether it added to
    gradients that a step had already used.
    """
    batches: list[Tensor] = []
    old_gradients: list[bool] = []
    index_of_pixel = {pixel: index for index, pixel in enumerate(images[:, 0, 0, 0].tolist())}
    parameter = next(net.parameters())
    last_norm: list[float] = [0.0]
    version = parameter._version
    count = 0

    def record_images(net: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        nonlocal count
        pixels = inputs[0][:, 0, 0, 0].tolist()
        batches.append(torch.tensor([index_of_pixel.get(pixel, -1) for pixel in pixels]))
        count += len(pixels)
        if count > too_many.values["allowed"]:
            raise too_many

    def record_norm(gradient: Tensor) -> None:
        last_norm[0] = gradient.detach().norm().item()

    def record_sum(parameter: Tensor) -> None:
        nonlocal version
        added = abs(parameter.grad.norm().item() - last_norm[0]) > 1e-4 * (last_norm[0] + 1e-6)
        old_gradients.append(added and parameter._version != version)
        version = parameter._version

    with ExitStack() as stack:
        stack.enter_context(net.register_forward_pre_hook(record_images))
        stack.enter_context(parameter.register_hook(record_norm))
        stack.enter_context(parameter.register_post_accumulate_grad_hook(record_sum))
        yield batches, old_gradients
