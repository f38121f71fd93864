"""Lab 01, exercise 2: the check of `try_gpu` and `try_all_gpus`, and its hints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from helpers.checks.core import Hint, NotRight, Trial
from helpers.checks.lab_01.shared import lab

_DEVICES = "Which devices are there?"

NOT_A_DEVICE = Hint(
    "not-a-device",
    "`{name}` returns {what}; a `torch.device` is asked for.",
    "A device's name in quotes is a string. Which function makes a device of it?",
    "The name of a device",
)

NO_NUMBER = Hint(
    "no-number",
    "`{name}` returns `cuda` without a number.",
    "Without a number it means whichever GPU is current. Where does the number come from here?",
    "The name of a device",
)

WRONG_GPU = Hint(
    "wrong-gpu",
    "On a machine with {gpus}, `try_gpu({i})` returns {found}.",
    "The first GPU is number 0. With {gpus}, which numbers are there?",
    _DEVICES,
)

NO_FALLBACK = Hint(
    "no-fallback",
    "On a machine with {gpus}, `try_gpu({i})` returns {found}, and there is no such GPU.",
    "What does `torch.cuda.device_count()` say there, and how does {i} compare with it?",
    _DEVICES,
)

NO_DEFAULT = Hint(
    "no-default",
    "`try_gpu()` without a number does not work.",
    "The function was given with a default for its argument. Keep it.",
    _DEVICES,
)

EMPTY_LIST = Hint(
    "empty-list",
    "On a machine without a GPU, `try_all_gpus` returns an empty list.",
    "A program that goes through the list should still have one device to work on there.",
    _DEVICES,
)

WRONG_LIST = Hint(
    "wrong-list",
    "On a machine with {gpus}, `try_all_gpus` returns {found}.",
    "Write down by hand which devices there are on such a machine, and count again from 0.",
    _DEVICES,
)

NOT_A_LIST = Hint(
    "not-a-list",
    "`try_all_gpus` returns {what}; a list is asked for.",
    "A program that uses it wants to know the length and to go through it more than once.",
    _DEVICES,
)


@lab.exercise(2, points=3, right="Your program finds its devices on every machine.")
def exercise_2(trial: Trial, try_gpu: Callable[..., Any], try_all_gpus: Callable[..., Any]) -> None:
    """`try_gpu(i=0)` and `try_all_gpus()`, on machines with several numbers of GPUs."""
    for gpus in [*trial.random.sample([2, 3, 5], 2), 1, 0]:
        with trial.machine_with(gpus):
            _check_try_gpu(trial, try_gpu, gpus)
            _check_try_all_gpus(trial, try_all_gpus, gpus)


def _check_try_gpu(trial: Trial, try_gpu: Callable[..., Any], gpus: int) -> None:
    told = {0: "no GPU", 1: "one GPU"}.get(gpus, f"{gpus} GPUs")
    for i in range(gpus + 2):
        found = trial.call(try_gpu, i)
        trial.expect_result(found)
        _check_device(trial, found, "try_gpu")
        expected = torch.device("cuda", i) if i < gpus else torch.device("cpu")
        hint = WRONG_GPU if i < gpus else NO_FALLBACK
        trial.expect(found == expected, hint, gpus=told, i=i, found=found)
    try:
        outcome = trial.outcome(try_gpu)
    except NotRight:
        raise NO_DEFAULT.of() from None
    expected = torch.device("cuda:0") if gpus else torch.device("cpu")
    trial.expect(outcome.value == expected, WRONG_GPU, gpus=told, i="", found=outcome.value)


def _check_try_all_gpus(trial: Trial, try_all_gpus: Callable[..., Any], gpus: int) -> None:
    told = {0: "no GPU", 1: "one GPU"}.get(gpus, f"{gpus} GPUs")
    found = trial.call(try_all_gpus)
    trial.expect_result(found)
    trial.expect(isinstance(found, list), NOT_A_LIST, what=f"a {type(found).__name__}")
    for device in found:
        _check_device(trial, device, "try_all_gpus")
    trial.expect(found or gpus, EMPTY_LIST)
    expected = [torch.device("cuda", i) for i in range(gpus)] or [torch.device("cpu")]
    shown = ", ".join(map(str, found)) or "an empty list"
    trial.expect(found == expected, WRONG_LIST, gpus=told, found=shown)


def _check_device(trial: Trial, device: object, name: str) -> None:
    good = isinstance(device, torch.device)
    trial.expect(good, NOT_A_DEVICE, name=name, what=f"a {type(device).__name__}")
    numbered = device.type != "cuda" or device.index is not None
    trial.expect(numbered, NO_NUMBER, name=name)
