"""Lab 06, exercise 3: the mean of the logits for images and for their mirror images."""

import torch
from torch import nn

from helpers.checks.exercise import STANDARD
from helpers.checks.plain import is_tensor, plain

answers = "predict(net, images)"
points = 2
success = "The mean of two views, in evaluation mode and without gradients."
section = "Train"
tolerance = 1e-3


def cases(draw):
    for device in (draw.device, "cpu"):
        images = draw.normal(draw.randint(5, 9), 3, 6, 6, device=device)
        case = {"images": images, "shape": (len(images.values), 5), "device": device}
        yield {**case, "seed": draw.randrange(2**31)}


def build(case):
    torch.manual_seed(case.seed)
    layers = nn.Flatten(), nn.Dropout(0.3), nn.Linear(108, 8), nn.Tanh(), nn.Linear(8, 5)
    return nn.Sequential(*layers).eval()


def collect(call, case, predict):
    net, images, modes, tracked = build(case).to(case.device), case.images.make(), set(), set()
    net.train(case.device != "cpu")
    net.register_forward_pre_hook(lambda net, _: modes.add(net.training))
    net.register_forward_pre_hook(lambda *_: tracked.add(torch.is_grad_enabled()))
    facts = call(predict, net, images)
    facts.arguments = {"images": plain(images)}
    return facts.add(modes=modes, tracked=tracked)


def right(case):
    net, images = build(case), case.images.values
    with torch.no_grad():
        return (net(images) + net(images.flip(3))) / 2


returns = ("not-logits", lambda value, case: is_tensor(value) and value.shape == case.shape)
side_effects = {
    "input-changed": STANDARD["input-changed"],
    "training-mode": lambda f: True in f.modes,
    "tracks-gradients": lambda f: True in f.tracked,
    "gradients-left-off": lambda f: f.gradients_left_off,
}
mistakes = {"different-logits": True}
hints = """
not-logits: `predict` returns {found}, but it should return the logits, of shape {shape}.
    -> Return the output of the network, averaged; do not choose a class yet.
training-mode: The network was called in training mode.
    -> Predictions are made in evaluation mode. Which method switches to it?
tracks-gradients: Gradients were tracked during the prediction.
    -> Prediction needs no gradients. Which block turns gradient tracking off?
gradients-left-off: After the call, torch no longer tracks gradients: nothing can be trained.
    -> A setting stays until it is changed back. Which block turns gradients off only for its lines?
different-logits: The logits are not the mean of those for the images and their mirror images.
    -> Compute both by hand for a batch of one image, and compare.
"""
