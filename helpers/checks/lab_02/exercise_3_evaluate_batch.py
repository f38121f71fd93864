"""Lab 02, exercise 3: `evaluate_batch`."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from helpers.checks.comparing import copied_to, device_of, equal_values
from helpers.checks.lab_02.shared import lab
from helpers.checks.trial import Answer, Trial, describe, is_int


@lab.exercise(3, points=3, right="Images, labels and class weights all move to the network.")
def exercise_3(trial: Trial, evaluate_batch: Answer) -> None:
    """`evaluate_batch(net, loss, images, labels)`: the loss and the correct predictions."""
    classes = trial.random.randint(3, 4)
    for place in trial.devices:
        other = next(device for device in reversed(trial.devices) if device != place)
        for count in (trial.random.randint(6, 12), 1):
            net = nn.Sequential(nn.Flatten(), nn.Linear(12, classes))
            loss = nn.CrossEntropyLoss(weight=trial.normal(classes).abs() + 0.2)
            images = trial.normal(count, 3, 2, 2)
            with torch.no_grad():
                scores = net(images)
            labels = scores.argmax(dim=1)
            wrong = trial.random.randint(1, count - 1) if count > 1 else 0
            labels[:wrong] = (labels[:wrong] + 1) % classes
            _check_evaluation(trial, evaluate_batch, (net, loss, images, labels), place, other)


def _check_evaluation(
    trial: Trial,
    evaluate_batch: Answer,
    given: tuple[nn.Module, nn.Module, Tensor, Tensor],
    place: torch.device,
    other: torch.device,
) -> None:
    net, loss, images, labels = given
    with torch.no_grad():
        scores = net(images)
        expected = loss(scores, labels).item()
        unweighted = F.cross_entropy(scores, labels).item()
    right = int((scores.argmax(dim=1) == labels).sum())
    moved = [copied_to(net, place), *(copied_to(each, other) for each in given[1:])]
    called = trial.try_call(evaluate_batch, *moved)
    found = device_of(moved[0])
    trial.expect(found == place, "net-moved", name=trial.name, found=found, given=place)
    if called.error is not None:
        for word, hint in _BEHIND.items():
            if f"{word} is on {other}" in str(called.error):
                raise trial.wrong(hint, net=place, other=other)
        raise trial.why(called.error)
    result = called.value
    trial.expect_result(result)
    kept = all(map(equal_values, moved[2:], given[2:]))
    trial.expect(kept, "input-changed", name="evaluate_batch")
    pair = isinstance(result, tuple | list) and len(result) == 2
    trial.expect(pair, "not-two-numbers", found=describe(result))
    mean, counted = result
    share = right / len(labels)
    if isinstance(counted, float) and abs(counted - share) < 1e-6 and share < 1:
        raise trial.wrong("fraction-not-count", found=counted, right=right)
    kinds = f"{describe(mean)} and {describe(counted)}"
    good = isinstance(mean, float) and is_int(counted)
    trial.expect(good, "not-two-numbers", found=kinds)
    dropped = len(labels) > 1 and _near(mean, unweighted) and not _near(expected, unweighted)
    trial.expect(not dropped, "weights-dropped")
    trial.expect(_near(mean, expected), "wrong-loss")
    trial.expect(counted == right, "wrong-count", right=right, total=len(labels), found=counted)


_BEHIND = {"mat1": "images-behind", "target": "labels-behind", "weight": "weights-behind"}


def _near(one: float, other: float) -> bool:
    # A GPU may round the inputs of a product (TF32).
    return abs(one - other) <= 5e-3 * max(1.0, abs(other))
