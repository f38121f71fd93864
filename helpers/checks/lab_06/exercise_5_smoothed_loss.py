"""Lab 06, exercise 5: `smoothed_loss`."""

import math

import torch
from torch.nn import functional as F

from helpers.checks.descriptions import describe
from helpers.checks.lab_06.shared import lab
from helpers.checks.trial import Answer, Trial
from helpers.language import translate


@lab.exercise(5, points=3, success_message="The loss no longer rewards a confidence of 100%.")
def exercise_5(trial: Trial, smoothed_loss: Answer) -> None:
    """`smoothed_loss(logits, labels, smoothing)`: cross-entropy with smoothed labels."""
    draw = trial.random.randint
    cases = [(10, 0.2, trial.device, 1), (draw(4, 7), 0.3, torch.device("cpu"), 1)]
    cases += [(10, 0.0, trial.device, 1), (draw(12, 19), 0.1, trial.device, 400)]
    for classes, smoothing, device, scale in cases:
        count = draw(20, 30)
        logits = (scale * trial.normal(count, classes)).to(device).requires_grad_()
        labels = trial.integers(0, classes, (count,), device)
        inputs = logits.detach().cpu().double(), labels.cpu().clone()
        outcome = trial.try_call(smoothed_loss, logits, labels, smoothing)
        if outcome.error is not None:
            shape_error = classes != 10 and isinstance(outcome.error, RuntimeError | IndexError)
            shape_error = shape_error and "device" not in str(outcome.error)
            trial.expect(
                not shape_error,
                "ten-classes",
                classes=classes,
                what=translate("raises an error"),
            )
            raise trial.hint_for(outcome.error)
        loss = outcome.value
        trial.expect_result(loss)
        is_tensor = isinstance(loss, torch.Tensor)
        description = describe(loss)
        description = (
            translate("a tensor of shape {shape}", shape=tuple(loss.shape))
            if is_tensor
            else description
        )
        trial.expect(is_tensor and loss.numel() == 1, "not-one-loss", found=description)
        trial.expect(loss.requires_grad, "no-gradient")
        _check_loss(trial, loss.item(), *inputs, smoothing)


def _check_loss(
    trial: Trial, loss: float, logits: torch.Tensor, labels: torch.Tensor, smoothing: float
) -> None:
    count, classes = logits.shape
    exact = F.cross_entropy(logits, labels, label_smoothing=smoothing).item()
    if math.isclose(loss, exact, rel_tol=1e-4):
        return
    trial.expect(math.isfinite(loss), "overflows", found=loss)
    hard = F.cross_entropy(logits, labels).item()
    details = {"smoothing": smoothing, "classes": classes}
    trial.expect(not math.isclose(loss, hard, rel_tol=1e-4), "not-smoothed", **details)
    sum_over_classes = -logits.log_softmax(1).sum(1).mean().item()
    others_only = (1 - smoothing) * hard + smoothing * (sum_over_classes - hard) / (classes - 1)
    trial.expect(not math.isclose(loss, others_only, rel_tol=1e-4), "others-only", **details)
    for factor in (count, 1 / classes, 1 / count, classes):
        matches = math.isclose(loss, factor * exact, rel_tol=1e-4)
        trial.expect(not matches, "wrong-reduction", times=factor)
    ten_classes = (1 - smoothing) * hard + smoothing * sum_over_classes / 10
    matches = classes != 10 and math.isclose(loss, ten_classes, rel_tol=1e-4)
    trial.expect(not matches, "ten-classes", classes=classes, what=translate("spreads over ten"))
    raise trial.wrong("different-loss", found=loss, **details)
