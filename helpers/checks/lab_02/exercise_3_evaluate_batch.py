"""Lab 02, exercise 3: the loss and the correct predictions of a batch."""

import torch
from torch import nn

from helpers.checks.plain import PlainTensor, is_equal

answers = "evaluate_batch(net, loss, images, labels)"
points = 3
success = "Images, labels and class weights all move to the network."
section = "Losses"
tolerance = 1e-4


def cases(draw):
    for i, device in enumerate(draw.devices):
        for total in (draw.randint(6, 12), 1):
            other, seed = draw.devices[i - 1], draw.randrange(2**31)
            images = draw.normal(total, 3, 2, 2, device=other)
            labels = build(seed)[0](images.values).argmax(dim=1)
            labels[: total // 3] = (labels[: total // 3] + 1) % 3
            case = {"images": images, "labels": PlainTensor(labels, other), "total": total}
            yield case | {"given": device, "other": other, "seed": seed}


def build(seed):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Flatten(), nn.Linear(12, 3)), nn.CrossEntropyLoss(torch.rand(3) + 0.2)


def collect(call, case, evaluate_batch):
    net, loss = build(case.seed)
    images, labels = case.images.make(), case.labels.make()
    facts = call(evaluate_batch, net.to(case.given), loss.to(case.other), images, labels)
    return facts.add(place=next(net.parameters()), after=[images, labels])


def right(case, loss=None):
    net, weighted = build(case.seed)
    scores, labels = net(case.images.values), case.labels.values
    return [(loss or weighted)(scores, labels).item(), int((scores.argmax(1) == labels).sum())]


returns = ("not-two-numbers", lambda value, case: [*map(type, value)] == [float, int])
side_effects = {
    "net-moved": lambda f: f.place.device != f.case.given and {"found": f.place.device},
    "input-changed": lambda f: not is_equal(f.after, [f.case.images, f.case.labels]),
}
wrong_outcomes = {"weights-dropped": lambda case: right(case, nn.CrossEntropyLoss())}
mistakes = {
    "wrong-count": lambda f: (n := f.value[1]) != f.right[1] and {"right": f.right[1], "found": n},
    "wrong-loss": True,
}
hints = """
not-two-numbers: `evaluate_batch` returns {found}, but it should return a float and an int.
    -> A tensor with one number in it is not a Python number. And how many values do you return?
weights-dropped: The loss that `evaluate_batch` returns is the one without class weights.
    -> Which loss do you call: the argument, or one that you created?
wrong-loss: The loss that `evaluate_batch` returns is not the loss of the whole batch.
    -> What do you pass to `loss`? It needs the network's output and the labels, both unchanged.
wrong-count: {right} of {total} predictions are correct, but `evaluate_batch` counts {found}.
    -> The prediction is the class with the highest score. Which dimension has the classes?
"""
