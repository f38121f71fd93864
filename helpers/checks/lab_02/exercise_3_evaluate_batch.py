"""Lab 02, exercise 3: `evaluate_batch`."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from helpers.checks.comparing import copy_to, device_of, equal_values
from helpers.checks.descriptions import describe, is_int
from helpers.checks.lab_02.shared import lab
from helpers.checks.trial import Answer, Trial


@lab.exercise(
    3, points=3, success_message="Images, labels and class weights all move to the network."
)
def exercise_3(trial: Trial, evaluate_batch: Answer) -> None:
    """`evaluate_batch(net, loss, images, labels)`: the loss and the correct predictions."""
    classes = trial.random.randint(3, 4)
    for device in trial.devices:
        other = next(candidate for candidate in reversed(trial.devices) if candidate != device)
        for count in (trial.random.randint(6, 12), 1):
            net = nn.Sequential(nn.Flatten(), nn.Linear(12, classes))
            loss = nn.CrossEntropyLoss(weight=trial.normal(classes).abs() + 0.2)
            images = trial.normal(count, 3, 2, 2)
            with torch.no_grad():
                scores = net(images)
            labels = scores.argmax(dim=1)
            num_wrong = trial.random.randint(1, count - 1) if count > 1 else 0
            labels[:num_wrong] = (labels[:num_wrong] + 1) % classes
            _check_evaluation(trial, evaluate_batch, (net, loss, images, labels), device, other)


def _check_evaluation(
    trial: Trial,
    evaluate_batch: Answer,
    arguments: tuple[nn.Module, nn.Module, Tensor, Tensor],
    device: torch.device,
    other: torch.device,
) -> None:
    net, loss, images, labels = arguments
    with torch.no_grad():
        # On the same device, because a GPU may round the inputs of a product (TF32).
        scores = copy_to(net, device)(images.to(device)).cpu()
        expected = loss(scores, labels).item()
        unweighted = F.cross_entropy(scores, labels).item()
    num_correct = int((scores.argmax(dim=1) == labels).sum())
    copies = [copy_to(net, device), *(copy_to(argument, other) for argument in arguments[1:])]
    outcome = trial.try_call(evaluate_batch, *copies)
    net_device = device_of(copies[0])
    trial.expect(net_device == device, "net-moved", name=trial.name, found=net_device, given=device)
    if outcome.error is not None:
        for word, hint in _HINTS.items():
            if f"{word} is on {other}" in str(outcome.error):
                raise trial.wrong(hint, net=device, other=other)
        raise trial.hint_for(outcome.error)
    result = outcome.value
    trial.expect_result(result)
    unchanged = all(map(equal_values, copies[2:], arguments[2:]))
    trial.expect(unchanged, "input-changed", name="evaluate_batch")
    is_pair = isinstance(result, tuple | list) and len(result) == 2
    trial.expect(is_pair, "not-two-numbers", found=describe(result))
    mean_loss, count = result
    accuracy = num_correct / len(labels)
    if isinstance(count, float) and abs(count - accuracy) < 1e-6 and accuracy < 1:
        raise trial.wrong("fraction-not-count", found=count, right=num_correct)
    types = f"{describe(mean_loss)} and {describe(count)}"
    right_types = isinstance(mean_loss, float) and is_int(count)
    trial.expect(right_types, "not-two-numbers", found=types)
    weights_dropped = (
        len(labels) > 1 and _near(mean_loss, unweighted) and not _near(expected, unweighted)
    )
    trial.expect(not weights_dropped, "weights-dropped")
    if not _near(mean_loss, expected):
        rounded = any(_near(mean_loss, round(expected, digits)) for digits in (1, 2, 3))
        details = {"found": f"{mean_loss:g}", "wanted": f"{expected:.6f}"}
        trial.expect(not rounded, "rounded-loss", **details)
        raise trial.wrong("wrong-loss")
    trial.expect(
        count == num_correct, "wrong-count", right=num_correct, total=len(labels), found=count
    )


_HINTS = {"mat1": "images-not-moved", "target": "labels-not-moved", "weight": "weights-not-moved"}


def _near(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-4 * max(1.0, abs(b))
