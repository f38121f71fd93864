"""A network to evaluate that records how it is called, and batches for it."""

import torch
from torch import nn

from helpers.checks.plain import PlainTensor


class ObservedNet(nn.Module):
    """A network that records its mode, gradient tracking and device at each call."""

    def __init__(self, seed):
        super().__init__()
        torch.manual_seed(seed)
        self.drop, self.linear = nn.Dropout(0.5), nn.Linear(12, 10)
        self.modes, self.gradients, self.devices = set(), set(), set()

    def forward(self, images):
        self.modes.add(self.training)
        self.gradients.add(torch.is_grad_enabled())
        self.devices.add(str(images.device))
        return self.linear(self.drop(images.flatten(1)))


def draw_batches(draw, seed, sizes):
    """Return batches of which the network classifies about 60%, and all of the last two."""
    net, batches = ObservedNet(seed).eval(), []
    for i, size in enumerate(sizes):
        images = 3 * draw.normal(size, 3, 2, 2).values
        wrong = torch.rand(size, generator=draw.generator) < (0.4 if i < len(sizes) - 2 else 0)
        batches.append((PlainTensor(images), PlainTensor((net(images).argmax(1) + wrong) % 10)))
    return batches


def evaluate(call, case, function):
    net = ObservedNet(case.seed).to(case.device).train(case.training)
    batches = [(images.make(), labels.make()) for images, labels in case.pairs]
    facts = call(function, net, batches, may_fail=True)
    facts.add(modes=net.modes, gradients=net.gradients, devices=net.devices, net=net)
    counts = {"batches": len(batches), "fetched": facts.waits}
    return facts.add(before=case.training, after=net.training, **counts)


def count_confusion(case):
    """Return the table of true classes (rows) against predictions."""
    net, table = ObservedNet(case.seed).eval(), torch.zeros(10, 10, dtype=torch.float64)
    for images, labels in case.pairs:
        for label, prediction in zip(labels.values, net(images.values).argmax(1), strict=True):
            table[label, prediction] += 1
    return table
