"""Lab 06, exercise 3: the mean of the logits for images and for their mirror images."""

import torch
from torch import nn

from helpers.checks.exercise import otherwise
from helpers.checks.plain import first, is_close, is_equal, is_tensor
from helpers.language import translate

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
    net, images, calls = build(case).to(case.device), case.images.make(), set()
    net.train(case.device != "cpu")
    net.register_forward_pre_hook(
        lambda net, inputs: calls.add((net.training, torch.is_grad_enabled()))
    )
    facts = call(predict, net, images)
    return facts.add(after=images, modes={m for m, _ in calls}, tracked={t for _, t in calls})


def views(case, *flips):
    """Return the logits of the images after each of these flips; () is the images as they are."""
    net, images = build(case), case.images.values
    with torch.no_grad():
        return [net(images.flip(*flip) if flip else images) for flip in flips]


def right(case):
    return sum(views(case, (), (3,))) / 2


def averaged_images(case):
    images = case.images.values
    with torch.no_grad():
        return build(case)((images + images.flip(3)) / 2)


def choose(f, key, **logits):
    """Return the description of the logits that are those of the answer, as a value of a hint."""
    return first(is_close(f.value, x, 1e-3, 1e-5) and {key: text} for text, x in logits.items())


def one_view(f):
    plain, mirror = views(f.case, (), (3,))
    texts = {translate("the images as they are"): plain, translate("the mirror images"): mirror}
    return choose(f, "which", **texts)


def wrong_view(f):
    plain, down, rotated, other = views(f.case, (), (2,), (2, 3), (0,))
    texts = {translate("upside down"): down, translate("rotated by 180 degrees"): rotated}
    texts[translate("replaced by another image of the batch")] = other
    return choose(f, "how", **{text: (plain + x) / 2 for text, x in texts.items()})


def not_averaged(f):
    plain, mirror = views(f.case, (), (3,))
    probabilities = (plain.softmax(1) + mirror.softmax(1)) / 2
    texts = {translate("the sum"): plain + mirror, translate("the larger"): plain.maximum(mirror)}
    return choose(f, "what", **texts, **{translate("the mean of the probabilities"): probabilities})


def is_logits(value, case):
    return is_tensor(value) and value.shape == case.shape and value.dtype.is_floating_point


returns = ("not-logits", is_logits)
side_effects = {
    "input-changed": lambda f: not is_equal(f.after, f.case.images),
    "training-mode": lambda f: True in f.modes,
    "tracks-gradients": lambda f: True in f.tracked,
    "gradients-left-off": lambda f: f.gradients_left_off,
}
wrong_outcomes = {"averaged-images": averaged_images}
mistakes = {
    "one-view": one_view,
    "wrong-view": wrong_view,
    "not-averaged": not_averaged,
    "different-logits": otherwise,
}
hints = """
not-logits: `predict` returns {found}, but it should return the logits, of shape {shape}.
    -> Return the output of the network, averaged; do not choose a class yet.
training-mode: The network was called in training mode.
    -> Predictions are made in evaluation mode. Which method switches to it?
tracks-gradients: Gradients were tracked during the prediction.
    -> Prediction needs no gradients. Which block turns gradient tracking off?
gradients-left-off: After the call, torch no longer tracks gradients: the caller cannot train
    anymore.
    -> A setting stays until somebody changes it back. Which block turns gradients off only for the
    lines inside it?
one-view: Your logits are those of {which} alone.
    -> Average two views. What happens to the output for the first of them?
wrong-view: One of the two views is the image {how}.
    -> Which dimension holds the columns? Try an image with a single white pixel.
    see: Images that never leave the device
not-averaged: Your logits are {what} of the two views, but you should return their mean.
    -> Work it out by hand for two logits, 2 and 4.
averaged-images: You average the two images and call the network once. The network has never seen an
    image on top of its mirror image.
    -> What should you average: the inputs or the outputs?
different-logits: The logits are not the mean of those for the images and those for their mirror
    images.
    -> Compute both by hand for a batch of one image, and compare.
"""
