"""Lab 06, exercise 4: cross-entropy with smoothed labels."""

import torch
from torch.nn import functional as F

from helpers.checks.plain import PlainTensor, are_close, is_equal, is_tensor, plain

answers = "smoothed_loss(logits, labels, smoothing)"
points = 3
success = "The loss no longer rewards a confidence of 100%."
section = "The rest of the recipe"
tolerance = 1e-4


def cases(draw):
    gpu, r = draw.device, draw.randint
    rows = [(10, 0.2, gpu, 1), (r(4, 7), 0.3, "cpu", 1), (10, 0.0, gpu, 1)]
    for classes, smoothing, device, scale in [*rows, (r(12, 19), 0.1, gpu, 400)]:
        logits = PlainTensor(scale * draw.normal(25, classes).values, device, True)
        labels = draw.integers(0, classes - 1, (25,), device)  # no image of the last class
        yield {"logits": logits, "labels": labels, "smoothing": smoothing, "classes": classes}


def collect(call, case, smoothed_loss):
    logits = case.logits.make()
    facts = call(smoothed_loss, logits, case.labels.make(), case.smoothing)
    if getattr(plain(facts.result), "requires_grad", False):
        facts.result.sum().backward()
    return facts.add(gradient=logits.grad)


def right(case, gradient=False):
    logits = case.logits.values.double().requires_grad_()
    loss = F.cross_entropy(logits, case.labels.values, label_smoothing=case.smoothing)
    return torch.autograd.grad(loss, logits)[0].float() if gradient else loss.item()


def outcome(f):
    return f.value.values.double().item()


returns = ("not-one-loss", lambda value, case: is_tensor(value) and value.values.numel() == 1)
mistakes = {"overflows": lambda f: not abs(f.outcome) < float("inf"), "different-loss": True}
costs = {"no-gradient": lambda f: not is_equal(f.gradient, right(f.case, gradient=True), are_close)}
hints = """
not-one-loss: `smoothed_loss` returns {found}, but it should return a tensor with one number.
    -> Return one loss for the whole batch, as a tensor, so that you can call `backward`.
no-gradient: Your loss is right, but the logits get no gradient, or a wrong one.
    -> `.item()`, `.detach()` and a new tensor made from numbers all cut the graph.
overflows: For logits of several hundred, your loss is {found}.
    -> A tiny probability becomes 0, its logarithm infinite. Which function does both steps at once?
different-loss: For a smoothing of {smoothing:g} and {classes} classes, your loss is {found:.4f}.
    -> Write down the target of one image by hand, with three classes. Does it sum to 1?
"""
