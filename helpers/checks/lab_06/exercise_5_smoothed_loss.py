"""Lab 06, exercise 5: cross-entropy with smoothed labels."""

import math

from torch.nn import functional as F

from helpers.checks.exercise import otherwise
from helpers.checks.plain import PlainTensor, first, is_close, is_tensor

answers = "smoothed_loss(logits, labels, smoothing)"
points = 3
success = "The loss no longer rewards a confidence of 100%."
section = "The rest of the recipe"
tolerance = 1e-4


def cases(draw):
    gpu, r = draw.device, draw.randint
    rows = [(10, 0.2, gpu, 1), (r(4, 7), 0.3, "cpu", 1), (10, 0.0, gpu, 1)]
    for classes, smoothing, device, scale in [*rows, (r(12, 19), 0.1, gpu, 400)]:
        count = r(20, 30)
        logits = PlainTensor(scale * draw.normal(count, classes).values, device, True)
        labels = draw.integers(0, classes, (count,), device)
        case = {"logits": logits, "labels": labels, "smoothing": smoothing}
        yield {**case, "classes": classes, "count": count}


def right(case):
    logits, labels = case.logits.values.double(), case.labels.values
    return F.cross_entropy(logits, labels, label_smoothing=case.smoothing).item()


def outcome(f):
    return f.value.values.double().item()


returns = ("not-one-loss", lambda value, case: is_tensor(value) and value.values.numel() == 1)
side_effects = {"no-gradient": lambda f: not f.value.requires_grad}
mistakes = {
    "overflows": lambda f: not math.isfinite(f.outcome),
    "wrong-reduction": lambda f: first(
        is_close(f.outcome, times * f.right, tolerance, 0) and {"times": times}
        for times in (f.case.count, 1 / f.case.classes, 1 / f.case.count, f.case.classes)
    ),
    "different-loss": otherwise,
}
hints = """
not-one-loss: `smoothed_loss` returns {found}, but it should return a tensor with one number.
    -> Return one loss for the whole batch, still as a tensor, so that you can call `backward` on
    it.
no-gradient: No gradient flows from your loss to the logits.
    -> `.item()`, `.detach()` and a new tensor made from numbers all cut the graph.
wrong-reduction: Your loss is {times:.3g} times as large as the mean over the images.
    -> What do you divide by, and along which of the two dimensions?
overflows: For logits of several hundred, your loss is {found}.
    -> A probability too small for its dtype becomes 0, and its logarithm is infinite. Which
    function of torch does both steps at once?
different-loss: For a smoothing of {smoothing:g} and {classes} classes, your loss is {found:.4f}.
    -> Write down the target of one image by hand, with three classes. Does it sum to 1?
"""
