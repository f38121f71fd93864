"""A network to evaluate, how it is called, and batches for it."""

import torch
from torch import nn

from helpers.checks.plain import PlainTensor


def build(case):
    torch.manual_seed(case.seed)
    return nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(12, 10)).eval()


def draw_pairs(draw, case, sizes):
    """Yield batches of which the network classifies about 60%, and all of the last two."""
    for i, size in enumerate(sizes):
        images = 3 * draw.normal(size, 3, 2, 2).values
        wrong = torch.rand(size, generator=draw.generator) < (0.4 if i < len(sizes) - 2 else 0)
        labels = (build(case)(images).argmax(1) + wrong) % 10
        yield PlainTensor(images), PlainTensor(labels)


def evaluate(call, case, function):
    net = build(case).to(case.device).train(case.training)
    net.modes, net.gradients, net.devices = set(), set(), set()

    def observe(layer, args):
        net.modes.add(layer.training)
        net.gradients.add(torch.is_grad_enabled())
        net.devices.add(str(args[0].device))

    net[1].register_forward_pre_hook(observe)
    batches = [(images.make(), labels.make()) for images, labels in case.pairs]
    facts = call(function, net, batches)
    net.devices |= {str(parameter.device) for parameter in net.parameters()}
    facts.add(elsewhere=sorted(net.devices - {case.device}), gradients=net.gradients, net=net)
    return facts.add(modes=net.modes, after=net.training, batches=len(batches), fetched=facts.waits)


def count_confusion(case):
    """Return the table of true classes (rows) against predictions."""
    images, labels = (torch.cat([x.values for x in each]) for each in zip(*case.pairs, strict=True))
    pairs = 10 * labels + build(case)(images).argmax(1)
    return torch.bincount(pairs, minlength=100).reshape(10, 10).double()


SIDE_EFFECTS = {
    "net-moved": lambda f: f.elsewhere and {"given": f.case.device, "found": f.elsewhere[0]},
    "training-mode": lambda f: True in f.modes,
    "mode-not-restored": lambda f: f.after != f.case.training and {"before": f.case.training},
    "gradients-left-off": lambda f: f.gradients_left_off or f.net.is_frozen,
}
COSTS = {"tracks-gradients": lambda f: True in f.gradients, "many-fetches": lambda f: f.fetched > 2}
