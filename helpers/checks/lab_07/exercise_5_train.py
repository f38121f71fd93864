"""Lab 07, exercise 5: training within 5.5 MiB, not counting the network and the data."""

import torch
from torch import nn
from torch.nn import functional as F

from helpers.checks.lab_07.shared import PeakMeter

answers = "train(net, X, y)"
points = 4
success = "It fits, and it learns."
section = "Make it fit"
seconds = 30

MIB = 2**20
LIMIT = 11 * MIB // 2
TEXTS = 512
WIDTH = 256


def make_net():
    """Return the network of the exercise: 1 MiB of weights, four blocks."""
    blocks = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU()) for _ in range(4)]
    for layer, _ in blocks:
        nn.init.kaiming_normal_(layer.weight)
    return nn.Sequential(*blocks, nn.Linear(WIDTH, 10))


def build():
    # Always the same network and data. With others, the same training run sometimes reaches half of
    # the loss and sometimes does not.
    torch.manual_seed(0)
    net, X = make_net(), torch.randn(TEXTS, WIDTH, generator=torch.Generator().manual_seed(0))
    return net, X, X[:, :10].argmax(dim=1)


def cases(draw):
    return [{"given": draw.device, "limit": f"{LIMIT / MIB:g}"}]


def collect(call, case, train):
    net, X, y = (value.to(case.given) for value in build())
    meter = PeakMeter(X, y, *net.parameters())
    facts = call(train, net, X, y, watch=False, within=meter)
    return facts.add(net=net, peak=meter.peak)


def loss(weights=None):
    net, X, y = build()
    if weights is not None:
        for parameter, values in zip(net.parameters(), weights, strict=True):
            parameter.data = values
    with torch.no_grad():
        return F.cross_entropy(net(X), y).item()


def dtypes(f):
    return sorted({str(weight.dtype) for weight in f.net.weights})


side_effects = {
    "net-moved": lambda f: f.net.devices != [f.case.given] and {"found": f.net.devices[0]},
    "different-type": lambda f: (
        dtypes(f) != ["torch.float32"] and {"found": " and ".join(dtypes(f))}
    ),
    "not-finite": lambda f: not all(weight.isfinite().all() for weight in f.net.weights),
    "too-much": lambda f: f.peak > LIMIT and {"peak": f"{f.peak / MIB:.1f}"},
    "not-learned": lambda f: (
        (after := loss(f.net.weights)) > 0.5 * loss()
        and {"before": f"{loss():.2f}", "after": f"{after:.2f}"}
    ),
}
hints = """
too-much: At its peak, training needs {peak} MiB, but {limit} MiB are available.
    -> What is the largest part of the peak: activations, gradients or states? Which technique
    reduces it?
not-learned: It fits, but the loss went from {before} to {after}. It should be at most half.
    -> Does every step end with `optimizer.step()`? Are there enough steps, and is the learning rate
    large enough?
net-moved: After `train`, the network is on {found}. It was on {given} and should stay there.
    -> CPU memory counts too, so moving the network does not help.
different-type: After `train`, the parameters are {found}. They should be `float32` again.
    -> What uses lower precision for activations only?
not-finite: After `train`, some of the network's parameters are infinite or NaN.
    -> Is the learning rate too large, or the precision too low?
"""
