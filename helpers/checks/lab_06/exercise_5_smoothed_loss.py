"""Lab 06, exercise 5: `smoothed_loss`."""

import math

import torch
from torch.nn import functional as F

from helpers.checks.lab_06.shared import lab
from helpers.checks.trial import Answer, Trial, describe
from helpers.language import translate


@lab.exercise(5, points=3, right="The loss no longer rewards a confidence of 100%.")
def exercise_5(trial: Trial, smoothed_loss: Answer) -> None:
    """`smoothed_loss(logits, labels, smoothing)`: cross-entropy with smoothed labels."""
    draw = trial.random
    cases = [(10, 0.2, trial.device, 1), (draw.randint(4, 7), 0.3, torch.device("cpu"), 1)]
    cases += [(10, 0.0, trial.device, 1), (draw.randint(12, 19), 0.1, trial.device, 400)]
    for classes, smoothing, device, scale in cases:
        count = draw.randint(20, 30)
        logits = (scale * trial.normal(count, classes)).to(device).requires_grad_()
        labels = trial.integers(0, classes, (count,), device)
        given = logits.detach().cpu().double(), labels.cpu().clone()
        called = trial.try_call(smoothed_loss, logits, labels, smoothing)
        if called.error is not None:
            shapes = classes != 10 and isinstance(called.error, RuntimeError | IndexError)
            shapes = shapes and "device" not in str(called.error)
            trial.expect(
                not shapes, "ten-classes", classes=classes, what=translate("stops with an error")
            )
            raise trial.why(called.error)
        loss = called.value
        trial.expect_result(loss)
        tensor = isinstance(loss, torch.Tensor)
        found = describe(loss)
        found = translate("a tensor of shape {shape}", shape=tuple(loss.shape)) if tensor else found
        trial.expect(tensor and loss.numel() == 1, "not-one-loss", found=found)
        trial.expect(loss.requires_grad, "no-gradient")
        _judge_loss(trial, loss.item(), *given, smoothing)


def _judge_loss(
    trial: Trial, found: float, logits: torch.Tensor, labels: torch.Tensor, smoothing: float
) -> None:
    count, classes = logits.shape
    exact = F.cross_entropy(logits, labels, label_smoothing=smoothing).item()
    if math.isclose(found, exact, rel_tol=1e-4):
        return
    trial.expect(math.isfinite(found), "overflows", found=found)
    hard = F.cross_entropy(logits, labels).item()
    details = {"smoothing": smoothing, "classes": classes}
    trial.expect(not math.isclose(found, hard, rel_tol=1e-4), "not-smoothed", **details)
    every = -logits.log_softmax(1).sum(1).mean().item()
    others = (1 - smoothing) * hard + smoothing * (every - hard) / (classes - 1)
    trial.expect(not math.isclose(found, others, rel_tol=1e-4), "others-only", **details)
    for times in (count, 1 / classes, 1 / count, classes):
        same = math.isclose(found, times * exact, rel_tol=1e-4)
        trial.expect(not same, "summed", times=times)
    ten = (1 - smoothing) * hard + smoothing * every / 10
    same = classes != 10 and math.isclose(found, ten, rel_tol=1e-4)
    trial.expect(not same, "ten-classes", classes=classes, what=translate("spreads over ten"))
    raise trial.wrong("other-loss", found=found, **details)
