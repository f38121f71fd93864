"""Lab 01, exercise 2: `try_gpu` and `try_all_gpus`."""

import torch

from helpers.checks.descriptions import describe, format_gpu_count
from helpers.checks.hints import WrongAnswer
from helpers.checks.lab_01.shared import lab
from helpers.checks.trial import Answer, Trial
from helpers.language import translate


@lab.exercise(2, points=3, success_message="Your functions find the devices of every machine.")
def exercise_2(trial: Trial, try_gpu: Answer, try_all_gpus: Answer) -> None:
    """`try_gpu(i=0)` and `try_all_gpus()`, on machines with different numbers of GPUs."""
    for gpus in [*trial.random.sample([2, 3, 5], 2), 1, 0]:
        with trial.machine_with(gpus):
            _check_try_gpu(trial, try_gpu, gpus)
            _check_try_all_gpus(trial, try_all_gpus, gpus)


def _check_try_gpu(trial: Trial, try_gpu: Answer, gpus: int) -> None:
    count_text = format_gpu_count(gpus)
    for i in range(gpus + 2):
        result = trial.result_of(try_gpu, i)
        _check_device(trial, result, "try_gpu")
        expected = torch.device("cuda", i) if i < gpus else torch.device("cpu")
        hint = "wrong-gpu" if i < gpus else "no-fallback"
        trial.expect(result == expected, hint, gpus=count_text, i=i, found=result)
    try:
        outcome = trial.try_call(try_gpu)
    except WrongAnswer:
        raise trial.wrong("no-default") from None
    expected = torch.device("cuda:0") if gpus else torch.device("cpu")
    trial.expect(outcome.value == expected, "wrong-gpu", gpus=count_text, i="", found=outcome.value)


def _check_try_all_gpus(trial: Trial, try_all_gpus: Answer, gpus: int) -> None:
    count_text = format_gpu_count(gpus)
    result = trial.result_of(try_all_gpus)
    trial.expect(isinstance(result, list), "not-a-list", what=describe(result))
    for device in result:
        _check_device(trial, device, "try_all_gpus")
    trial.expect(result or gpus, "empty-list")
    expected = [torch.device("cuda", i) for i in range(gpus)] or [torch.device("cpu")]
    result_text = ", ".join(map(str, result)) or translate("an empty list")
    trial.expect(result == expected, "wrong-list", gpus=count_text, found=result_text)


def _check_device(trial: Trial, device: object, name: str) -> None:
    is_device = isinstance(device, torch.device)
    trial.expect(is_device, "not-a-device", name=name, what=describe(device))
    has_index = device.type != "cuda" or device.index is not None
    trial.expect(has_index, "no-index", name=name)
