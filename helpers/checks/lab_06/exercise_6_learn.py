"""Lab 06, exercise 6: 80% of new images correct after six passes."""

import torch
from torch import nn

from helpers.checks.plain import first, is_equal

answers = "learn(net, images, labels, epochs)"
points = 4
success = "At least 80% in six epochs."
section = "Train"
seconds = 30

WANTED, EPOCHS, COUNT = 0.8, 6, 360
# Every attempt uses the same images and initial weights, so that the result does not depend on
# chance.
SEED = 6


def make_net():
    torch.manual_seed(SEED)
    return nn.Sequential(
        nn.Conv2d(3, 12, 3), nn.ReLU(), nn.Conv2d(12, 16, 3), nn.ReLU(),
        nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(16, 3),
    )  # fmt: skip


def draw_stripes():
    """Return images of horizontal, vertical and diagonal stripes with labels, and new ones.

    The images have shape `(N, 3, 10, 10)` and are sorted by class.
    """
    generator = torch.Generator().manual_seed(SEED)
    sets = []
    for count in (120, 100):
        y, x = torch.meshgrid(torch.arange(10), torch.arange(10), indexing="ij")
        labels = torch.arange(3).repeat_interleave(count)
        position = torch.stack([y, x, x + y])[labels].float()
        phase = 6.3 * torch.rand(len(labels), 1, 1, generator=generator)
        waves = (position * 1.6 + phase).sin()[:, None]
        colors = 0.5 + torch.rand(len(labels), 3, 1, 1, generator=generator)
        noise = torch.randn(len(labels), 3, 10, 10, generator=generator)
        sets += [waves * colors + 0.4 * noise, labels]
    return sets


def cases(draw):
    limits = {"epochs": EPOCHS, "count": COUNT, "allowed": EPOCHS * COUNT, "wanted": WANTED}
    yield {"device": draw.device, **limits}


def collect(call, case, learn):
    net = make_net().to(case.device)
    images, labels = (tensor.to(case.device) for tensor in draw_stripes()[:2])
    known = {pixel: index for index, pixel in enumerate(images[:, 0, 0, 0].tolist())}
    batches, old_gradients, seen = [], [], {"norm": 0.0}
    parameter = next(net.parameters())
    seen["version"] = parameter._version

    def record_images(net, inputs):
        batches.append([known.get(pixel, -1) for pixel in inputs[0][:, 0, 0, 0].tolist()])
        if sum(map(len, batches)) > case.allowed:
            raise RuntimeError("too many images")

    def record_norm(gradient):
        seen["norm"] = gradient.detach().norm().item()

    def record_sum(parameter):
        difference = abs(parameter.grad.norm().item() - seen["norm"])
        added = difference > 1e-4 * (seen["norm"] + 1e-6)
        old_gradients.append(added and parameter._version != seen["version"])
        seen["version"] = parameter._version

    net.register_forward_pre_hook(record_images)
    parameter.register_hook(record_norm)
    parameter.register_post_accumulate_grad_hook(record_sum)
    facts = call(learn, net, images, labels, EPOCHS, may_fail=True)
    facts.add(net=net, images=images, labels=labels, old_gradients=any(old_gradients))
    return facts.add(batches=batches, steps=len(batches))


def accuracy(f):
    net, (images, labels) = make_net(), draw_stripes()[2:]
    for parameter, values in zip(net.parameters(), f.net.weights, strict=True):
        parameter.data = values
    with torch.no_grad():
        return (net(images).argmax(1) == labels).double().mean().item()


def too_many(f):
    return sum(map(len, f.batches)) > f.case.allowed


def is_sorted(f):
    labels = draw_stripes()[1].tolist()
    known = [batch for batch in f.batches if -1 not in batch and len(batch) > 1]
    mixed = sum(len({labels[i] for i in batch}) > 1 for batch in known)
    return known and mixed <= len(known) / 3


def change(f):
    pairs = zip(make_net().parameters(), f.net.weights, strict=True)
    return max(((a - b).norm() / a.norm()).item() for a, b in pairs)


def low(f, *, if_also):
    """Return the values of the hint if the accuracy is too low and the condition is true."""
    return accuracy(f) < WANTED and if_also and {"accuracy": accuracy(f)}


errors = {"too-many-passes": too_many}
side_effects = {
    "too-many-passes": too_many,
    "images-changed": lambda f: first(
        not is_equal(after.values, before) and {"what": what}
        for what, after, before in zip(
            ("images", "labels"), (f.images, f.labels), draw_stripes(), strict=False
        )
    ),
    "not-trained": lambda f: change(f) == 0,
    "old-gradients": lambda f: f.old_gradients,
    "diverged": lambda f: not all(weight.isfinite().all() for weight in f.net.weights),
    "few-steps": lambda f: low(f, if_also=f.steps < 30),
    "sorted": is_sorted,
    "small-steps": lambda f: low(f, if_also=change(f) <= 0.25),
    "too-low": lambda f: low(f, if_also=True),
}
hints = """
too-many-passes: Your training used more than {allowed} images: {epochs} passes over {count} images
    are allowed.
    -> More passes are not the solution here. How could each step learn more?
images-changed: After the call, the caller's `{what}` have changed.
    -> Training should leave its data as they are. Which line writes to them?
not-trained: After the call, the network that was passed in has the weights it had before.
    -> The network is trained in place. Which parameters does your optimizer have, and do you call
    its `step`?
old-gradients: Your steps also use the gradients of earlier batches, which earlier steps have
    already used.
    -> `backward` adds to the existing gradients. When do you have to clear them?
diverged: Some of the network's weights are nan or infinite.
    -> Steps that are too large overshoot the minimum, and each one is larger than the one before.
    Which setting controls their size?
few-steps: {accuracy:.0%} of the new images are classified correctly; {wanted:.0%} are required.
    Your training takes {steps} steps in total.
    -> With so few images, what do you gain from large batches, and what do they cost?
sorted: The images are sorted by class, and nearly all of your batches have images of one class
    only.
    -> A step that sees one class unlearns the others. In which order should an epoch visit the
    images?
small-steps: {accuracy:.0%} of the new images are classified correctly; {wanted:.0%} are required.
    The weights have hardly changed.
    -> The network learns in the right direction, but too slowly for six passes. Which setting
    controls the size of a step?
    see: The rest of the recipe
too-low: {accuracy:.0%} of the new images are classified correctly; {wanted:.0%} are required.
    -> Print the mean loss after each pass. Does it fall, fluctuate, or stay the same?
"""
