"""Lab 02, exercise 3: a program whose error is raised far from its cause."""

import torch
from torch import nn

from helpers.checks.plain import is_tensor

answers = "run(net, batches)"
points = 3
success = "The mean is where the scores are, so nothing has to move."
section = "A program that fails"


def cases(draw):
    for device in draw.devices:
        batches = [draw.normal(draw.randint(2, 6), 5) for _ in range(draw.randint(3, 5))]
        case = {"batches": batches, "device": device, "given": device}
        case["images"] = sum(batch.values.nbytes for batch in batches)
        yield case | {"seed": draw.randrange(2**31)}


def build(case):
    torch.manual_seed(case.seed)
    return nn.Linear(5, 4)


def collect(call, case, run):
    net = build(case).to(case.device)
    return call(run, net, [batch.make() for batch in case.batches]).add(net=net)


def right(case):
    scores = [build(case)(batch.values) for batch in case.batches]
    means = torch.stack([score.mean(0) for score in scores])
    pairs = enumerate(scores, start=1)
    return torch.cat([(score - means[:n].mean(0)).argmax(1) for n, score in pairs])


returns = ("not-a-tensor", lambda value, case: is_tensor(value))
questions = ["result-elsewhere"]
side_effects = {"net-moved": lambda f: (x := f.net.devices) != [f.case.given] and {"found": x[0]}}
mistakes = {"wrong-classes": True}
costs = {
    "moved-at-the-error": lambda f: any(copy.source == f.case.device for copy in f.copies),
    "moves-more": lambda f: (n := sum(c.bytes for c in f.copies)) > f.case.images and {"bytes": n},
}
hints = """
not-a-tensor: `run` returns {what}, but it should return one tensor with the predicted classes.
    -> The given function returns one tensor for all batches. Keep that.
wrong-classes: With your fix, `run` predicts different classes than the given program on the CPU.
    -> Only the devices have to change, not what is computed. Compare with the given lines.
moved-at-the-error: The program runs, but in every batch it copies numbers from {device} to the CPU.
    -> You moved a tensor where the error appears. Which line created it, and where?
moves-more: The images have {images:,} bytes, but your program copies {bytes:,} between devices.
    -> What else moves to {device}? Create it there.
result-elsewhere: The network is on {given}, but the result of `run` is on {found}.
    -> Which of the two tensors in the failing line did you move?
"""
