"""Lab 02, exercise 2: the check of `culprit`, and its hints."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional as F

from helpers.checks.core import Hint, Trial
from helpers.checks.lab_02.shared import LAYERS, TABLE, WORD_BY_WORD, lab

NOT_A_PAIR = Hint(
    "not-a-pair",
    "For a message that names an argument, `culprit` returns {found}; two strings are asked for.",
    "First what has to move, then where it is now, as in `return what, place`.",
    WORD_BY_WORD,
)

BELIEVES = Hint(
    "blames-the-named",
    "The device to work on is {device}. The message says that `{named}` is on {place}, and so it "
    "is in the right place; your function has it moved all the same.",
    "The message names an argument that differs, which need not be the wrong one. What do you know "
    "that torch does not?",
    LAYERS,
)

DOUBTS = Hint(
    "spares-the-named",
    "The device to work on is {device}, the message says that `{named}` is on {place}, and your "
    "function's answer is {found}.",
    "Compare the place of the named argument with the device to work on. Are they the same?",
    LAYERS,
)

OTHER_NAME = Hint(
    "other-name",
    "The message names `{named}`; your function's answer is {found}.",
    "Which word of the message is the argument's name? Between which two words does it stand?",
    WORD_BY_WORD,
)

OTHER_DEVICE = Hint(
    "other-place",
    "What has to move is on {place}; your function says that it is on {found}.",
    "The message names two devices. Which of them is that of the thing that has to move? Look out "
    "for the comma, too.",
    WORD_BY_WORD,
)

NAMES_NOBODY = Hint(
    "names-nobody",
    "For a message that names no argument, `culprit` {found}; None is asked for.",
    "Some messages name two devices and no argument. How can you tell them from the others?",
    TABLE,
)


@lab.exercise(2, points=3, right="You read who has to move, whomever the message names.")
def exercise_2(trial: Trial, culprit: Callable[..., Any]) -> None:
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


def _check_culprit(
    trial: Trial, culprit: Callable[..., Any], message: str, device: torch.device
) -> None:
    named, place, other = _NAMED.search(message).groups()
    result = trial.call(culprit, message, device)
    trial.expect_result(result)
    shown = repr(result)
    pair = isinstance(result, tuple | list) and len(result) == 2
    whole = pair and all(isinstance(each, str | torch.device) for each in result)
    trial.expect(whole, NOT_A_PAIR, found=shown)
    told, found = map(str, result)
    right = str(device) == place
    if right:
        hint = BELIEVES if told == named else DOUBTS
        trial.expect(told == "others", hint, named=named, device=device, place=place, found=shown)
    elif told == "others":
        raise DOUBTS.of(named=named, device=device, place=place, found=shown)
    else:
        trial.expect(told == named, OTHER_NAME, named=named, found=shown)
    expected = other if right else place
    trial.expect(found == expected, OTHER_DEVICE, place=expected, found=found)


def _check_unnamed(trial: Trial, culprit: Callable[..., Any]) -> None:
    one, two = trial.random.sample(trial.devices, 2)
    message = _message_of(lambda a, b: torch.ones(2, device=a) + torch.ones(2, device=b), one, two)
    outcome = trial.outcome(culprit, message, one)
    if outcome.error is not None:
        if isinstance(outcome.error, NotImplementedError):
            raise trial.why(outcome.error)
        raise NAMES_NOBODY.of(found=f"stops with a {type(outcome.error).__name__}")
    trial.expect(outcome.value is None, NAMES_NOBODY, found=f"returns {outcome.value!r}")


_NAMED = re.compile(r"got (\S+) is on (\S+), different from other tensors on (\S+)")
