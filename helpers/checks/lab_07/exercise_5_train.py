"""Lab 07, exercise 5: training within 5.5 MiB, not counting the network and the data."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from helpers.checks.lab_07.shared import PeakMeter
from helpers.checks.plain import first

answers = "train(net, X, y)"
points = 4
success = "It fits, and it learns."
section = "Make it fit"


def build():
    # Always the same: with other data, the same training sometimes does not halve the loss.
    torch.manual_seed(0)
    blocks = [nn.Sequential(nn.Linear(256, 256), nn.GELU()) for _ in range(4)]
    for layer, _ in blocks:
        nn.init.kaiming_normal_(layer.weight)
    X = torch.randn(512, 256, generator=torch.Generator().manual_seed(0))
    return nn.Sequential(*blocks, nn.Linear(256, 10)), X, X[:, :10].argmax(dim=1)


def cases(draw):
    return [{"given": draw.device, "limit": 5.5}]


def collect(call, case, train):
    net, X, y = (value.to(case.given) for value in build())
    meter = PeakMeter(X, y, *net.parameters())
    facts = call(train, net, X, y, within=meter)
    return facts.add(net=net, peak=meter.peak / 2**20)


def not_learned(f):
    net, X, y = build()
    before = F.cross_entropy(net(X), y).item()
    net.load_state_dict({name: tensor.values for name, tensor in f.net.parameters.items()})
    after = F.cross_entropy(net(X), y).item()
    # The loss may be nan.
    return not after <= before / 2 and {"before": f"{before:.2f}", "after": f"{after:.2f}"}


side_effects = {
    "net-moved": lambda f: f.net.devices != [f.case.given] and {"found": f.net.devices[0]},
    "different-type": lambda f: first(
        weight.dtype != torch.float32 and {"found": weight.dtype} for weight in f.net.weights
    ),
    "too-much": lambda f: f.peak > f.case.limit and {"peak": math.ceil(100 * f.peak) / 100},
    "not-learned": not_learned,
}
hints = """
too-much: At its peak, training needs {peak} MiB, but {limit} MiB are available.
    -> What is the largest part: activations, gradients or states? Which technique reduces it?
not-learned: It fits, but the loss went from {before} to {after}. It should be at most half.
    -> Print the loss after each step. Does it stay the same, fall too slowly, or grow because the
    steps are too large?
different-type: After `train`, the parameters are {found}. They should be `float32` again.
    -> What uses lower precision for activations only?
"""
