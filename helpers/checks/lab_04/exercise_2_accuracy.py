"""Lab 04, exercise 2: the accuracy, counted on the network's device."""

from statistics import mean

import torch
from torch import nn

from helpers.checks.exercise import Case
from helpers.checks.plain import PlainTensor, is_number

answers = "accuracy(net, batches)"
points = 3
success = "The accuracy is right, and the CPU waits for the GPU once."
section = "How good is it?"
tolerance = 1e-5


def cases(draw):
    for device in (draw.device, "cpu"):
        sizes = [draw.randint(50, 90)] * draw.randint(4, 6) + [1, 3]
        case = Case(seed=draw.randrange(2**31), device=device, training=device != "cpu")
        yield {**case, "pairs": [*draw_pairs(draw, case, sizes)], "images": sum(sizes)}


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


def collect(call, case, accuracy):
    net = build(case).to(case.device).train(case.training)
    net.modes, net.gradients, net.devices = set(), set(), set()

    def observe(layer, args):
        net.modes.add(layer.training)
        net.gradients.add(torch.is_grad_enabled())
        net.devices.add(str(args[0].device))

    net[1].register_forward_pre_hook(observe)
    batches = [(images.make(), labels.make()) for images, labels in case.pairs]
    facts = call(accuracy, net, batches)
    net.devices |= {str(parameter.device) for parameter in net.parameters()}
    facts.add(elsewhere=sorted(net.devices - {case.device}), gradients=net.gradients, net=net)
    return facts.add(modes=net.modes, after=net.training, batches=len(batches), fetched=facts.waits)


def right(case):
    images, labels = (torch.cat([x.values for x in each]) for each in zip(*case.pairs, strict=True))
    return (build(case)(images).argmax(1) == labels).double().mean().item()


returns = ("not-a-number", lambda value, case: is_number(value))
side_effects = {
    "net-moved": lambda f: f.elsewhere and {"given": f.case.device, "found": f.elsewhere[0]},
    "training-mode": lambda f: True in f.modes,
    "mode-not-restored": lambda f: f.after != f.case.training and {"before": f.case.training},
    "gradients-left-off": lambda f: f.gradients_left_off or f.net.is_frozen,
}
wrong_outcomes = {"mean-of-means": lambda c: mean(right(Case(c, pairs=[x])) for x in c.pairs)}
mistakes = {"wrong-fraction": lambda f: {"correct": round(f.right * f.case.images)}}
costs = {
    "tracks-gradients": lambda f: True in f.gradients,
    "many-fetches": lambda f: f.fetched > 2,
    # A mask of all images has more than 200 bytes, and two counts per batch have fewer.
    "counted-elsewhere": lambda f: any(x.bytes > 200 and x.target == "cpu" for x in f.copies),
}
hints = """
mean-of-means: Your result is the mean of the batches' accuracies: a smaller batch counts too much.
    -> Which two counts do you need for the accuracy over all images?
counted-elsewhere: The right predictions are counted on the CPU, not on the GPU.
    -> What can you add up on the device of the network, so that one number is copied?
wrong-fraction: {correct} of {images} images are correct, but `accuracy` returns {found:.4g}.
    -> Try it by hand on a batch of two images: what are the predictions, and which are correct?
"""
