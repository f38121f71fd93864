"""Lab 01, exercise 2: `try_gpu` and `try_all_gpus`."""

import torch

from helpers.checks.hints import WrongAnswer
from helpers.checks.lab_01.shared import lab
from helpers.checks.trial import Answer, Trial, describe, format_gpu_count
from helpers.language import translate


@lab.exercise(2, points=3, right="Your functions find the devices of every machine.")
def exercise_2(trial: Trial, try_gpu: Answer, try_all_gpus: Answer) -> None:
    """`try_gpu(i=0)` and `try_all_gpus()`, on machines with different numbers of GPUs."""
    for gpus in [*trial.random.sample([2, 3, 5], 2), 1, 0]:
        with trial.machine_with(gpus):
            _check_try_gpu(trial, try_gpu, gpus)
            _check_try_all_gpus(trial, try_all_gpus, gpus)


def _check_try_gpu(trial: Trial, try_gpu: Answer, gpus: int) -> None:
    details = format_gpu_count(gpus)
    for i in range(gpus + 2):
        found = trial.result_of(try_gpu, i)
        _check_device(trial, found, "try_gpu")
        expected = torch.device("cuda", i) if i < gpus else torch.device("cpu")
        hint = "wrong-gpu" if i < gpus else "no-fallback"
        trial.expect(found == expected, hint, gpus=details, i=i, found=found)
    try:
        called = trial.try_call(try_gpu)
    except WrongAnswer:
        raise trial.wrong("no-default") from None
    expected = torch.device("cuda:0") if gpus else torch.device("cpu")
    trial.expect(called.value == expected, "wrong-gpu", gpus=details, i="", found=called.value)


def _check_try_all_gpus(trial: Trial, try_all_gpus: Answer, gpus: int) -> None:
    details = format_gpu_count(gpus)
    found = trial.result_of(try_all_gpus)
    trial.expect(isinstance(found, list), "not-a-list", what=describe(found))
    for device in found:
        _check_device(trial, device, "try_all_gpus")
    trial.expect(found or gpus, "empty-list")
    expected = [torch.device("cuda", i) for i in range(gpus)] or [torch.device("cpu")]
    shown = ", ".join(map(str, found)) or translate("an empty list")
    trial.expect(found == expected, "wrong-list", gpus=details, found=shown)


def _check_device(trial: Trial, device: object, name: str) -> None:
    good = isinstance(device, torch.device)
    trial.expect(good, "not-a-device", name=name, what=describe(device))
    numbered = device.type != "cuda" or device.index is not None
    trial.expect(numbered, "no-number", name=name)
