"""Lab 02, exercise 3: the loss and the correct predictions of a batch."""

import torch
from torch import nn

from helpers.checks.collecting import Case
from helpers.checks.exercise import otherwise
from helpers.checks.plain import PlainTensor, is_equal, is_int, is_number

answers = "evaluate_batch(net, loss, images, labels)"
points = 3
success = "Images, labels and class weights all move to the network."
section = "Losses"
tolerance = 1e-4


def cases(draw):
    for i, device in enumerate(draw.devices):
        for total in (draw.randint(6, 12), 1):
            case = Case(total=total, given=device, net=device, other=draw.devices[i - 1])
            case["seed"] = draw.randrange(2**31)
            case["images"] = draw.normal(total, 3, 2, 2, device=case.other)
            labels = build(case)[0](case.images.values).argmax(dim=1)
            labels[: total // 3] = (labels[: total // 3] + 1) % 3
            yield case | {"labels": PlainTensor(labels, case.other)}


def build(case):
    torch.manual_seed(case.seed)
    return nn.Sequential(nn.Flatten(), nn.Linear(12, 3)), nn.CrossEntropyLoss(torch.rand(3) + 0.2)


def collect(call, case, evaluate_batch):
    net, loss = build(case)
    images, labels = case.images.make(), case.labels.make()
    facts = call(evaluate_batch, net.to(case.given), loss.to(case.other), images, labels)
    return facts.add(place=next(net.parameters()), after=[images, labels])


def right(case, loss=None):
    net, weighted_loss = build(case)
    scores, labels = net(case.images.values), case.labels.values
    mean = (loss or weighted_loss)(scores, labels).item()
    return [mean, int((scores.argmax(dim=1) == labels).sum())]


def is_loss_and_count(value, case):
    is_pair = isinstance(value, tuple | list) and len(value) == 2 and all(map(is_number, value))
    # A fraction instead of a count has its own hint.
    return is_pair and isinstance(value[0], float) and (is_int(value[1]) or value[1] % 1 > 0)


def counts(f):
    return {"right": f.right[1], "found": f.value[1]}


errors = {"weights-not-moved": lambda f: f"weight is on {f.case.other}" in f.error.text}
returns = ("not-two-numbers", is_loss_and_count)
side_effects = {
    "net-moved": lambda f: f.place.device != f.case.given and {"found": f.place.device},
    "input-changed": lambda f: not is_equal(f.after, [f.case.images, f.case.labels]),
}
wrong_outcomes = {"weights-dropped": lambda case: right(case, nn.CrossEntropyLoss())}
mistakes = {
    "fraction-not-count": lambda f: not is_int(f.value[1]) and counts(f),
    "wrong-count": lambda f: f.value[1] != f.right[1] and counts(f),
    "wrong-loss": otherwise,
}
hints = """
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
