"""Lab 04, exercise 3: `per_class`."""

import math
from typing import Any

import torch

from helpers.checks.descriptions import describe, is_number, one_line
from helpers.checks.lab_04.shared import confusion, lab, observed_network
from helpers.checks.trial import Answer, Trial
from helpers.language import translate


@lab.exercise(3, points=3, success_message="Every image counts, in batches of any size.")
def exercise_3(trial: Trial, per_class: Answer) -> None:
    """`per_class(net, batches)`: for each of ten classes, its accuracy."""
    draw = trial.random.randint
    # Without the last class, `bincount` needs to know how many classes there are.
    for device, sizes, missing in (
        (trial.device, [draw(20, 30)] * 4 + [1, draw(5, 9)], draw(0, 8)),
        (torch.device("cpu"), [draw(6, 9)] * 5 + [draw(2, 3), 1], 9),
    ):
        net, batches = observed_network(trial, sizes)
        for _, labels in batches:
            labels[labels == missing] = (missing + 1) % 10
        counts = confusion(net, batches)
        first_four = confusion(net, [(images[:4], labels[:4]) for images, labels in batches])
        net.to(device)
        with trial.watch() as watch:
            outcome = trial.try_call(per_class, net, batches)
        if outcome.error is not None:
            if isinstance(outcome.error, ZeroDivisionError):
                raise trial.wrong("empty-class", label=missing, what=translate("divides by zero"))
            fixed_size = isinstance(outcome.error, IndexError)
            fixed_size = fixed_size or "0-d tensor" in str(outcome.error)
            trial.expect(
                not fixed_size, "fixed-batch", size=min(sizes), error=one_line(outcome.error)
            )
            raise trial.hint_for(outcome.error)
        result = outcome.value
        trial.expect_result(result)
        _check_classes(trial, result, counts, first_four, missing)
        trial.expect(not any(net.gradients), "keeps-gradients")
        if device.type != "cpu":
            details = {"batches": len(batches), "fetched": watch.fetches}
            details["enough"] = translate("two tables of counts need at most two reads")
            trial.expect(watch.fetches <= 2, "many-fetches", **details)


def _check_classes(
    trial: Trial, result: Any, counts: torch.Tensor, first_four: torch.Tensor, missing: int
) -> None:
    what = describe(result)
    if isinstance(result, list):
        type_names = {type(value).__name__ for value in result}
        types = ", ".join(sorted(type_names))
        what = translate("a list of {count} ({types})", count=len(result), types=types)
    is_list = isinstance(result, list) and len(result) == 10
    all_numbers = is_list and all(is_number(v) for v in result)
    trial.expect(all_numbers, "not-ten-numbers", what=what)
    correct_counts = counts.diagonal().double()
    if _is_same_accuracy(result, correct_counts / counts.sum(1)):
        return
    trial.expect(
        not _is_same_accuracy(result, first_four.diagonal() / first_four.sum(1)), "first-four"
    )
    trial.expect(
        not _is_same_accuracy(result, correct_counts / counts.sum(0)), "divided-by-predictions"
    )
    trial.expect(not _is_same_accuracy(result, correct_counts / counts.sum()), "fraction-of-all")
    for label in (*range(10), missing):
        correct, images = int(correct_counts[label]), int(counts[label].sum())
        if images and not math.isclose(result[label], correct / images, rel_tol=1e-4):
            details = {"label": label, "found": result[label], "correct": correct, "images": images}
            raise trial.wrong("wrong-fraction", **details)
    value_text = translate("returns {value}", value=result[missing])
    raise trial.wrong("empty-class", label=missing, what=value_text)


def _is_same_accuracy(result: list[float], exact: torch.Tensor) -> bool:
    # nan for a class that is never predicted, or missing among the first four images of a batch.
    pairs = list(zip(result, exact.tolist(), strict=True))
    return all(
        (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-6)
        for a, b in pairs
    )
