"""Lab 02, exercise 1: the check of eight lines that mix devices, and its hints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks import hints
from helpers.checks.core import Hint, NotRight, Trial
from helpers.checks.lab_02.shared import (
    INPUT_CHANGED,
    LAYERS,
    LEAVING,
    LOSSES,
    MOVES_NOTHING,
    TABLE,
    WORD_BY_WORD,
    close,
    lab,
    moved_to,
    place_of,
    same_numbers,
)

STILL_MIXES = Hint(
    "still-mixes",
    "`{name}` stops with a device error. {explained} ({done} of the eight lines are mended.)",
    "Which of the two is in the wrong place is for you to say: the work goes on where the first "
    "argument is. Ask both where they are.",
    TABLE,
)

RESULT_DROPPED = Hint(
    "result-dropped",
    "`{name}` makes a copy on {device} and then goes on with the tensor that it was copied from.",
    "`.to` leaves the tensor it is called on where it is. What does it give you, and who keeps it?",
    MOVES_NOTHING,
)

ONE_DEVICE_ONLY = Hint(
    "one-device-only",
    "`{name}` works with a first argument on {works}, and not with one on {fails}.",
    "Is a device named in your line? The place to work in differs from call to call. Which of the "
    "arguments knows it?",
    WORD_BY_WORD,
)

WRONG_PLACE = Hint(
    "result-elsewhere",
    "The first argument of `{name}` is on {given}, and the result is on {found}.",
    "The work goes on where the first argument is. Which of the two did you move?",
    WORD_BY_WORD,
)

NO_TENSOR = Hint(
    "no-tensor",
    "`{name}` returns a {what}; a tensor of shape {shape} is asked for.",
    "Mend the line that was given, and let it give the same result as before.",
    WORD_BY_WORD,
)

OTHER_RESULT = Hint(
    "other-result",
    "`{name}` returns something else than the line that was given would, were all in one place.",
    "Only places have to change. Compare your line with the one that was given, piece by piece.",
    TABLE,
)

FIRST_MOVED = Hint(
    "first-moved",
    "After `{name}`, its first argument is on {found}. It was on {given}.",
    "A module moves in place, for everybody who uses it. The other argument could have moved.",
    LAYERS,
)

OTHER_NUMBERS = Hint(
    "generator-unused",
    "The numbers that `noise` returns do not come from the generator that was handed in.",
    "A generator draws on its own device, and its caller counts on its numbers. Where can they be "
    "drawn, and where do they have to be afterwards?",
    LEAVING,
)

NOT_A_COUNT = Hint(
    "not-a-count",
    "`count_right` returns a {what}; a Python number is asked for, as from the given line.",
    "The end of the line that was given makes a number of a tensor. Is it still there?",
    LOSSES,
)


@lab.exercise(1, points=4, right="Eight lines, eight culprits, and each of them found.")
def exercise_1(
    trial: Trial,
    add: Callable[..., Any],
    multiply: Callable[..., Any],
    score: Callable[..., Any],
    embed: Callable[..., Any],
    hide: Callable[..., Any],
    divide: Callable[..., Any],
    noise: Callable[..., Any],
    count_right: Callable[..., Any],
) -> None:
    """Eight functions of one line; the work goes on where the first argument is."""
    rows, columns = trial.random.sample(range(2, 9), 2)
    X, Y = trial.normal(rows, columns), trial.normal(rows, columns)
    words = trial.integers(0, rows, (5,))
    labels = trial.integers(0, 3, (9,))
    total = trial.normal() + 10
    embedding = nn.Embedding.from_pretrained(X.clone())
    net = nn.Linear(columns, 3)
    guesses = labels.clone()
    guesses[trial.random.randint(2, 7) :] = 3
    right = int((guesses == labels).sum())
    tries: list[Callable[[], None]] = [
        lambda: _try_line(trial, add, (X, Y), X + Y),
        lambda: _try_line(trial, multiply, (X, Y.t()), X @ Y.t()),
        lambda: _try_line(trial, score, (net, X), net(X).detach()),
        lambda: _try_line(trial, embed, (embedding, words), X[words]),
        lambda: _try_line(trial, hide, (X, Y > 0), X.masked_fill(Y > 0, -torch.inf)),
        # The CPU first: a single number of the CPU may be mixed with a GPU's tensors as it is.
        lambda: _try_line(trial, divide, (X, total), X / total, cpu_first=True),
        lambda: _try_noise(trial, noise, X),
        lambda: _try_line(trial, count_right, (guesses, labels), right),
    ]
    for done, try_it in enumerate(tries):
        try:
            try_it()
        except NotRight as wrong:
            if wrong.hint is hints.DEVICE_ERROR:
                raise STILL_MIXES.of(done=done, **wrong.values) from None
            raise


def _try_line(
    trial: Trial,
    line: Callable[..., Any],
    given: tuple[Any, Any],
    expected: Tensor | int,
    *,
    cpu_first: bool = False,
) -> None:
    """Call `line` with its first argument on each device and its second on another one."""
    places = trial.devices[::-1] if cpu_first else trial.devices
    for place in places:
        others = [device for device in trial.devices if device != place]
        first, second = moved_to(given[0], place), moved_to(given[1], others[-1])
        with trial.watch() as watch:
            outcome = trial.outcome(line, first, second)
        try:
            if outcome.error is not None:
                wrong = trial.why(outcome.error)
                dropped = any(move.target == place for move in watch.moves)
                if wrong.hint is hints.DEVICE_ERROR and dropped:
                    raise RESULT_DROPPED.of(name=trial.name, device=place)
                raise wrong
            found = place_of(first)
            trial.expect(found == place, FIRST_MOVED, name=trial.name, given=place, found=found)
            trial.expect_result(outcome.value)
            _compare_line(trial, outcome.value, expected, place)
        except NotRight as wrong:
            somewhere = wrong.hint in (hints.DEVICE_ERROR, WRONG_PLACE, RESULT_DROPPED)
            if somewhere and place != places[0]:
                told = {"name": trial.name, "works": places[0], "fails": place}
                raise ONE_DEVICE_ONLY.of(**told) from None
            raise
        kept = all(map(same_numbers, (first, second), given))
        trial.expect(kept, INPUT_CHANGED, name=trial.name)


def _compare_line(trial: Trial, result: Any, expected: Tensor | int, place: torch.device) -> None:
    what = type(result).__name__
    if isinstance(expected, int):
        number = isinstance(result, int | float) and not isinstance(result, bool)
        trial.expect(number, NOT_A_COUNT, what=what)
        trial.expect(result == expected, OTHER_RESULT, name=trial.name)
        return
    shape = tuple(expected.shape)
    trial.expect(isinstance(result, Tensor), NO_TENSOR, name=trial.name, what=what, shape=shape)
    found = result.device
    trial.expect(found == place, WRONG_PLACE, name=trial.name, given=place, found=found)
    same = result.shape == expected.shape and result.dtype == expected.dtype
    trial.expect(same and close(result, expected), OTHER_RESULT, name=trial.name)


def _try_noise(trial: Trial, noise: Callable[..., Any], X: Tensor) -> None:
    for place in trial.devices:
        generator = torch.Generator().manual_seed(trial.random.randrange(2**31))
        # Not to be had by making another generator with the same seed.
        torch.rand(3, generator=generator)
        twin = torch.Generator()
        twin.set_state(generator.get_state())
        x = X.to(place)
        try:
            result = trial.call(noise, x, generator)
            trial.expect_result(result)
            what, shape = type(result).__name__, tuple(x.shape)
            trial.expect(
                isinstance(result, Tensor), NO_TENSOR, name="noise", what=what, shape=shape
            )
            told = {"name": "noise", "given": place, "found": result.device}
            trial.expect(result.device == place, WRONG_PLACE, **told)
        except NotRight as wrong:
            if wrong.hint in (hints.DEVICE_ERROR, WRONG_PLACE) and place != trial.device:
                told = {"name": "noise", "works": trial.device, "fails": place}
                raise ONE_DEVICE_ONLY.of(**told) from None
            raise
        trial.expect(result.shape == x.shape, OTHER_RESULT, name="noise")
        trial.expect(close(result, torch.rand(x.shape, generator=twin)), OTHER_NUMBERS)
