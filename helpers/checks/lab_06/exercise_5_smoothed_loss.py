"""Lab 06, exercise 5: cross-entropy with smoothed labels."""

import math

from torch.nn import functional as F

from helpers.checks.exercise import otherwise
from helpers.checks.plain import PlainTensor, first, is_close, is_tensor
from helpers.language import translate

answers = "smoothed_loss(logits, labels, smoothing)"
points = 3
success = "The loss no longer rewards a confidence of 100%."
section = "The rest of the recipe"
tolerance = 1e-4


def cases(draw):
    gpu, r = draw.device, draw.randint
    rows = [
        (10, 0.2, gpu, 1),
        (r(4, 7), 0.3, "cpu", 1),
        (10, 0.0, gpu, 1),
        (r(12, 19), 0.1, gpu, 400),
    ]
    for classes, smoothing, device, scale in rows:
        count = r(20, 30)
        logits = PlainTensor(scale * draw.normal(count, classes).values, device, True)
        labels = draw.integers(0, classes, (count,), device)
        case = {"logits": logits, "labels": labels, "smoothing": smoothing}
        yield {**case, "classes": classes, "count": count}


def losses(case):
    """Return the plain loss, and the mean over the images of the sum over all classes."""
    logits = case.logits.values.double()
    all_classes = -logits.log_softmax(1).sum(1).mean().item()
    return F.cross_entropy(logits, case.labels.values).item(), all_classes


def right(case):
    hard, all_classes = losses(case)
    return (1 - case.smoothing) * hard + case.smoothing / case.classes * all_classes


def others_only(case):
    hard, all_classes = losses(case)
    return (1 - case.smoothing) * hard + case.smoothing * (all_classes - hard) / (case.classes - 1)


def ten_classes(f):
    hard, all_classes = losses(f.case)
    mistake = (1 - f.case.smoothing) * hard + f.case.smoothing * all_classes / 10
    is_it = f.case.classes != 10 and is_close(f.outcome, mistake, tolerance, 0)
    return is_it and {"what": translate("spreads over ten")}


def outcome(f):
    return f.value.values.double().item()


def is_shape_error(f):
    types = {"RuntimeError", "IndexError"} & {*f.error.types}
    return f.case.classes != 10 and types and "device" not in f.error.text


errors = {"ten-classes": lambda f: is_shape_error(f) and {"what": translate("raises an error")}}
returns = ("not-one-loss", lambda value, case: is_tensor(value) and value.values.numel() == 1)
side_effects = {"no-gradient": lambda f: not f.value.requires_grad}
wrong_outcomes = {"not-smoothed": lambda case: losses(case)[0], "others-only": others_only}
mistakes = {
    "overflows": lambda f: not math.isfinite(f.outcome),
    "wrong-reduction": lambda f: first(
        is_close(f.outcome, times * f.right, tolerance, 0) and {"times": times}
        for times in (f.case.count, 1 / f.case.classes, 1 / f.case.count, f.case.classes)
    ),
    "ten-classes": ten_classes,
    "different-loss": otherwise,
}
hints = """
not-one-loss: `smoothed_loss` returns {found}, but it should return a tensor with one number.
    -> Return one loss for the whole batch, still as a tensor, so that you can call `backward` on
    it.
no-gradient: No gradient flows from your loss to the logits.
    -> `.item()`, `.detach()` and a new tensor made from numbers all cut the graph.
not-smoothed: For a smoothing of {smoothing:g}, your loss is the plain cross-entropy.
    -> What is the target for the right class now, and what for the others?
others-only: You spread the {smoothing:g} over the wrong classes only. Spread it over all classes,
    including the right one.
    -> How many classes share it, and what is the target for the right class in the end?
wrong-reduction: Your loss is {times:.3g} times as large as the mean over the images.
    -> What do you divide by, and along which of the two dimensions?
ten-classes: For {classes} classes, `smoothed_loss` {what}.
    -> The shape of the logits tells you how many classes there are.
overflows: For logits of several hundred, your loss is {found}.
    -> A probability too small for its dtype becomes 0, and its logarithm is infinite. Which
    function of torch does both steps at once?
different-loss: For a smoothing of {smoothing:g} and {classes} classes, your loss is {found:.4f}.
    -> Write down the target of one image by hand, with three classes. Does it sum to 1?
"""
