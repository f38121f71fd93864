"""Lab 06, exercise 3: the mean of the logits for images and for their mirror images."""

import torch
from torch import nn

from helpers.checks.plain import is_tensor, plain

answers = "predict(net, images)"
points = 2
success = "The mean of two views, in evaluation mode and without gradients."
section = "Train"
tolerance = 1e-3


def cases(draw):
    for device in 5 * [draw.device, "cpu"]:  # so often that random views are noticed
        images = draw.normal(draw.randint(5, 9), 3, 6, 6, device=device)
        case = {"images": images, "shape": (len(images.values), 5), "given": device}
        yield {**case, "seed": draw.randrange(2**31)}


def build(case):
    torch.manual_seed(case.seed)
    layers = nn.Flatten(), nn.Dropout(0.3), nn.Linear(108, 8), nn.Tanh(), nn.Linear(8, 5)
    return nn.Sequential(*layers).eval()


def collect(call, case, predict):
    net, images, calls = build(case).to(case.given), case.images.make(), []
    net.train(case.given != "cpu")
    net.register_forward_pre_hook(lambda x, _: calls.append((x.training, torch.is_grad_enabled())))
    facts = call(predict, net, images)
    facts.arguments = {"images": plain(images)}
    return facts.add(calls_of_net=calls, net=net)


def right(case):
    net, images = build(case), case.images.values
    with torch.no_grad():
        return (net(images) + net(images.flip(3))) / 2


questions = ["input-changed"]
returns = ("not-logits", lambda value, case: is_tensor(value) and value.shape == case.shape)
side_effects = {
    "training-mode": lambda f: any(training for training, _ in f.calls_of_net),
    "tracks-gradients": lambda f: any(tracked for _, tracked in f.calls_of_net),
    "gradients-left-off": lambda f: f.gradients_left_off or f.net.is_frozen,
    "net-moved": lambda f: f.net.devices != [f.case.given] and {"found": f.net.devices[0]},
}
mistakes = {"different-logits": True}
hints = """
not-logits: `predict` returns {found}, but it should return the logits, of shape {shape}.
    -> Return the output of the network, averaged; do not choose a class yet.
different-logits: The logits are not the mean of those for the images and their mirror images.
    -> Compute both by hand for a batch of one image, and compare.
"""
