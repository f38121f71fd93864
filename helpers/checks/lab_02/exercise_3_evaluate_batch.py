"""Lab 02, exercise 3: the loss and the correct predictions of a batch."""

import torch
from torch import nn
from torch.nn import functional as F

from helpers.checks.collecting import Case
from helpers.checks.plain import PlainTensor, describe, is_close, is_equal, is_int

answers = "evaluate_batch(net, loss, images, labels)"
points = 3
success = "Images, labels and class weights all move to the network."
section = "Losses"


def cases(draw):
    classes = draw.randint(3, 4)
    for device in draw.devices:
        other = next(candidate for candidate in reversed(draw.devices) if candidate != device)
        for total in (draw.randint(6, 12), 1):
            case = Case(total=total, classes=classes, seed=draw.randrange(2**31))
            case["images"] = draw.normal(total, 3, 2, 2, device=other)
            case["class_weights"] = draw.normal(classes).values.abs() + 0.2
            labels = build(case)(case.images.values).argmax(dim=1)
            num_wrong = draw.randint(1, total - 1) if total > 1 else 0
            labels[:num_wrong] = (labels[:num_wrong] + 1) % classes
            yield case | {"labels": PlainTensor(labels, other), "given": device, "other": other}


def build(case):
    torch.manual_seed(case.seed)
    return nn.Sequential(nn.Flatten(), nn.Linear(12, case.classes))


def collect(call, case, evaluate_batch):
    net, images, labels = build(case).to(case.given), case.images.make(), case.labels.make()
    loss = nn.CrossEntropyLoss(weight=case.class_weights.to(case.other))
    facts = call(evaluate_batch, net, loss, images, labels, may_fail=True)
    return facts.add(net=net, images_after=images, labels_after=labels)


def right(case):
    """Return the loss, the number of correct predictions, and the loss without class weights."""
    scores, labels = build(case)(case.images.values), case.labels.values
    losses = [F.cross_entropy(scores, labels, weight) for weight in (case.class_weights, None)]
    return losses[0].item(), int((scores.argmax(dim=1) == labels).sum()), losses[1].item()


def is_near(a, b):
    return is_close(a, b, 1e-4, 1e-5)


def mixed(word):
    return lambda f: f"{word} is on {f.case.other}" in f.error.text and {"net": f.case.given}


def types(f):
    return f"{describe(f.value[0])} and {describe(f.value[1])}"


errors = {
    "images-not-moved": mixed("mat1"),
    "labels-not-moved": mixed("target"),
    "weights-not-moved": mixed("weight"),
}
returns = (
    "not-two-numbers",
    lambda value, case: isinstance(value, tuple | list) and len(value) == 2,
)
side_effects = {
    "net-moved": lambda f: f.net.devices != [f.case.given] and {"found": f.net.devices[0]},
    "input-changed": lambda f: (
        not is_equal([f.images_after, f.labels_after], [f.case.images, f.case.labels])
    ),
    "fraction-not-count": lambda f: (
        f.right[1] < f.case.total
        and isinstance(f.value[1], float)
        and is_near(f.value[1], f.right[1] / f.case.total)
        and {"found": f.value[1], "right": f.right[1]}
    ),
    "not-two-numbers": lambda f: (
        not (isinstance(f.value[0], float) and is_int(f.value[1])) and {"found": types(f)}
    ),
    "weights-dropped": lambda f: (
        is_near(f.value[0], f.right[2]) and not is_near(f.right[0], f.right[2])
    ),
    "wrong-loss": lambda f: not is_near(f.value[0], f.right[0]),
    "wrong-count": lambda f: (
        f.value[1] != f.right[1] and {"right": f.right[1], "found": f.value[1]}
    ),
}
hints = """
images-not-moved: `net` is on {net}, but the images are still on {other}: the first layer mixes the
    two devices.
    -> Which tensor in the failing line was never moved, or was moved without keeping the result?
    see: Matrix products and layers
labels-not-moved: `net` is on {net}, but the labels are still on {other}: the loss mixes the two
    devices.
    -> The labels of a batch are a tensor too. On which device are they when you compute the loss?
weights-not-moved: `net` is on {net}, but the class weights in the loss are still on {other}.
    -> A loss with weights is a module that contains a tensor. How do you move the contents of a
    module?
not-two-numbers: `evaluate_batch` returns {found}, but it should return a float and an int.
    -> A tensor with one number in it is not a Python number. And how many values do you return?
    see: NumPy, plots and random numbers
weights-dropped: The loss that `evaluate_batch` returns is the one without class weights.
    -> Which loss do you call: the argument, or one that you created?
wrong-loss: The loss that `evaluate_batch` returns is not the loss of the whole batch.
    -> What do you pass to `loss`? It needs the output of the network and the labels, both
    unchanged.
fraction-not-count: `evaluate_batch` returns a fraction, {found:g}, for {right} correct predictions.
    -> Return the number of correct predictions, an int; the caller divides.
wrong-count: {right} of {total} predictions are correct, but `evaluate_batch` counts {found}.
    -> The network's prediction for an image is the class with the highest score. Which dimension of
    the scores corresponds to the classes?
"""
