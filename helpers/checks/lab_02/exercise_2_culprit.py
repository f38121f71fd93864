"""Lab 02, exercise 2: `culprit`."""

import re
from collections.abc import Callable

import torch
from torch.nn import functional as F

from helpers.checks.lab_02.shared import lab
from helpers.checks.trial import Answer, Trial


@lab.exercise(2, points=3, right="You read who has to move, whomever the message names.")
def exercise_2(trial: Trial, culprit: Answer) -> None:
    """`culprit(message, device)`: what has to move and where it is, or None."""
    gpu, cpu = trial.device, torch.device("cpu")
    pairs = [(gpu, cpu), (cpu, gpu)]
    pairs += [(one, two) for one in trial.devices for two in trial.devices if one != two]
    for first, second in pairs:
        for mix in trial.random.sample(_MIXES, 4):
            message = _message_of(mix, first, second)
            for device in (first, second):
                _check_culprit(trial, culprit, message, device)
        _check_unnamed(trial, culprit)


# Each takes the device of its first tensor and that of another, and names the other one.
_MIXES: list[Callable[[torch.device, torch.device], object]] = [
    lambda a, b: torch.ones(2, 3, device=a) @ torch.ones(3, 4, device=b),
    lambda a, b: F.linear(
        torch.ones(2, 3, device=b), torch.ones(4, 3, device=a), torch.ones(4, device=a)
    ),
    lambda a, b: F.embedding(torch.tensor([1, 0], device=b), torch.ones(4, 3, device=a)),
    lambda a, b: torch.cat([torch.ones(2, device=a), torch.ones(3, device=b)]),
    lambda a, b: F.cross_entropy(torch.ones(2, 3, device=a), torch.tensor([1, 0], device=b)),
    lambda a, b: torch.bmm(torch.ones(1, 2, 3, device=a), torch.ones(1, 3, 4, device=b)),
]


def _message_of(mix: Callable[..., object], first: torch.device, second: torch.device) -> str:
    try:
        mix(first, second)
    except RuntimeError as error:
        return str(error)
    raise AssertionError("torch did not refuse a mix of devices")


def _check_culprit(trial: Trial, culprit: Answer, message: str, device: torch.device) -> None:
    named, place, other = _NAMED.search(message).groups()
    result = trial.result_of(culprit, message, device)
    shown = repr(result)
    pair = isinstance(result, tuple | list) and len(result) == 2
    whole = pair and all(isinstance(each, str | torch.device) for each in result)
    trial.expect(whole, "not-a-pair", found=shown)
    told, found = map(str, result)
    right = str(device) == place
    if right:
        hint = "blames-the-named" if told == named else "spares-the-named"
        trial.expect(told == "others", hint, named=named, device=device, place=place, found=shown)
    elif told == "others":
        raise trial.wrong("spares-the-named", named=named, device=device, place=place, found=shown)
    else:
        trial.expect(told == named, "other-name", named=named, found=shown)
    expected = other if right else place
    trial.expect(found == expected, "other-place", place=expected, found=found)


def _check_unnamed(trial: Trial, culprit: Answer) -> None:
    one, two = trial.random.sample(trial.devices, 2)
    message = _message_of(lambda a, b: torch.ones(2, device=a) + torch.ones(2, device=b), one, two)
    called = trial.try_call(culprit, message, one)
    if called.error is not None:
        if isinstance(called.error, NotImplementedError):
            raise trial.why(called.error)
        raise trial.wrong("names-nobody", found=f"stops with a {type(called.error).__name__}")
    trial.expect(called.value is None, "names-nobody", found=f"returns {called.value!r}")


_NAMED = re.compile(r"got (\S+) is on (\S+), different from other tensors on (\S+)")
