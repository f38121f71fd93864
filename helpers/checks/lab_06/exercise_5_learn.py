"""Lab 06, exercise 5: 80% of new images correct after six passes."""

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook

from helpers.checks.plain import PlainTensor, plain

answers = "learn(net, images, labels, epochs)"
points = 4
success = "At least 80% in six epochs."
section = "Train"


def make_net():
    # Always the same images and initial weights, so that the result does not depend on chance.
    torch.manual_seed(6)
    return nn.Sequential(
        nn.Conv2d(3, 12, 3), nn.ReLU(), nn.Conv2d(12, 16, 3), nn.ReLU(),
        nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(16, 3),
    )  # fmt: skip


def draw_stripes(seed):
    """Return 360 images `(3, 10, 10)` of horizontal, vertical and diagonal stripes, and labels."""
    generator = torch.Generator().manual_seed(seed)
    y, x = torch.meshgrid(torch.arange(10), torch.arange(10), indexing="ij")
    labels = torch.arange(3).repeat_interleave(120)
    position = torch.stack([y, x, x + y])[labels].float()
    phase = 6.3 * torch.rand(len(labels), 1, 1, generator=generator)
    waves = (position * 1.6 + phase).sin()[:, None]
    colors = 0.5 + torch.rand(len(labels), 3, 1, 1, generator=generator)
    noise = torch.randn(len(labels), 3, 10, 10, generator=generator)
    return waves * colors + 0.4 * noise, labels


def cases(draw):
    images, labels = (PlainTensor(tensor, draw.device) for tensor in draw_stripes(6))
    case = {"images": images, "labels": labels, "device": draw.device, "wanted": 0.8}
    yield {**case, "epochs": 6, "count": 360, "allowed": 6 * 360}


def collect(call, case, learn):
    net, images, labels = make_net().to(case.device), case.images.make(), case.labels.make()
    class_of = dict(zip(images[:, 0, 0, 0].tolist(), labels.tolist(), strict=True))
    batches, stale, stepped, parameter = [], [], [], net[0].weight
    weights = [parameter.detach().clone()]

    def record_images(net, inputs):
        batches.append([class_of.get(pixel) for pixel in inputs[0][:, 0, 0, 0].tolist()])

    def record_gradient(gradient):  # before it is added to the existing one
        has_gradient = parameter.grad is not None and bool(parameter.grad.any())
        stale.append(has_gradient and not torch.equal(parameter, weights[-1]))
        weights.append(parameter.detach().clone())
        stepped.clear()

    def record_step(optimizer, *_):
        stale.append(parameter.grad is not None and id(optimizer) in stepped)
        stepped.append(id(optimizer))

    net.register_forward_pre_hook(record_images)
    parameter.register_hook(record_gradient)
    with register_optimizer_step_post_hook(record_step):
        facts = call(learn, net, images, labels, case.epochs)
    facts.arguments = {"images": plain(images), "labels": plain(labels)}
    return facts.add(net=net, batches=batches, stale=any(stale))


def too_low(f):
    net, (images, labels) = make_net(), draw_stripes(7)
    net.load_state_dict({name: tensor.values for name, tensor in f.net.parameters.items()})
    accuracy = (net(images).argmax(1) == labels).double().mean().item()
    return accuracy < f.case.wanted and {"accuracy": accuracy}


def is_sorted(f):
    known = [{*batch} for batch in f.batches if None not in batch and len(batch) > 1]
    return known and sum(len(classes) > 1 for classes in known) <= len(known) / 3


questions = ["input-changed"]
side_effects = {
    "too-many-passes": lambda f: sum(map(len, f.batches)) > f.case.allowed,
    "old-gradients": lambda f: f.stale,
    "sorted": is_sorted,
    "too-low": too_low,
}
hints = """
too-many-passes: You used more than {allowed} images: {epochs} passes over {count} are allowed.
    -> More passes are not the solution here. How could each step learn more?
old-gradients: Your steps also use gradients that earlier steps have already used.
    -> `backward` adds to the existing gradients. When do you have to clear them?
sorted: The images are sorted by class, and nearly all of your batches have only one class.
    -> A step with one class unlearns the others. In which order should an epoch visit the images?
too-low: {accuracy:.0%} of the new images are classified correctly; {wanted:.0%} are required.
    -> Print the mean loss after each pass. Does it fall, fluctuate, or stay the same?
"""
