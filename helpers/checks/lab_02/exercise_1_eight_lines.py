"""Lab 02, exercise 1: eight lines that mix devices."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks import hints
from helpers.checks.comparing import close, copy_to, device_of, equal_values
from helpers.checks.descriptions import describe, is_number
from helpers.checks.hints import WrongAnswer
from helpers.checks.lab_02.shared import lab
from helpers.checks.trial import Answer, Trial

_ELSEWHERE = ("device-error", "result-elsewhere", "result-dropped")


@lab.exercise(1, points=4, success_message="All eight lines work on any device.")
def exercise_1(
    trial: Trial,
    add: Answer,
    multiply: Answer,
    score: Answer,
    embed: Answer,
    hide: Answer,
    divide: Answer,
    noise: Answer,
    count_correct: Answer,
) -> None:
    """Eight one-line functions that compute on the device of their first argument."""
    rows, columns = trial.random.sample(range(2, 9), 2)
    X, Y = trial.normal(rows, columns), trial.normal(rows, columns)
    words = trial.integers(0, rows, (5,))
    labels = trial.integers(0, 3, (9,))
    # Small and not near an integer, so that a rounded total gives a different result.
    total = torch.tensor(1.3 + 0.4 * trial.random.random())
    embedding = nn.Embedding.from_pretrained(X.clone())
    net = nn.Linear(columns, 3)
    guesses = labels.clone()
    guesses[trial.random.randint(2, 7) :] = 3
    num_correct = int((guesses == labels).sum())
    checks: list[Callable[[], None]] = [
        lambda: _try_line(trial, add, (X, Y), X + Y),
        lambda: _try_line(trial, multiply, (X, Y.t()), X @ Y.t()),
        lambda: _try_line(trial, score, (net, X), net(X).detach()),
        lambda: _try_line(trial, embed, (embedding, words), X[words]),
        lambda: _try_line(trial, hide, (X, Y > 0), X.masked_fill(Y > 0, -torch.inf)),
        # The CPU first: torch accepts a 0-d CPU tensor together with GPU tensors.
        lambda: _try_line(trial, divide, (X, total), X / total, cpu_first=True),
        lambda: _try_noise(trial, noise, X),
        lambda: _try_line(trial, count_correct, (guesses, labels), num_correct),
    ]
    for done, check in enumerate(checks):
        try:
            check()
        except WrongAnswer as wrong:
            if wrong.hint == hints.DEVICE_ERROR:
                raise trial.wrong("still-mixes", done=done, **wrong.values) from None
            raise


def _try_line(
    trial: Trial,
    line: Answer,
    arguments: tuple[Any, Any],
    expected: Tensor | int,
    *,
    cpu_first: bool = False,
) -> None:
    """Call `line` with its first argument on each device and its second on another one."""
    devices = trial.devices[::-1] if cpu_first else trial.devices
    for device in devices:
        others = [candidate for candidate in trial.devices if candidate != device]
        first, second = copy_to(arguments[0], device), copy_to(arguments[1], others[-1])
        with trial.watch() as watch:
            outcome = trial.try_call(line, first, second)
        try:
            if outcome.error is not None:
                wrong = trial.hint_for(outcome.error)
                dropped = any(move.target == device for move in watch.moves)
                if wrong.hint == hints.DEVICE_ERROR and dropped:
                    raise trial.wrong("result-dropped", name=trial.name, device=device)
                raise wrong
            device_after = device_of(first)
            trial.expect(
                device_after == device,
                "first-moved",
                name=trial.name,
                given=device,
                found=device_after,
            )
            trial.expect_result(outcome.value)
            _compare_line(trial, outcome.value, expected, device)
            # Reading a number copies at most eight bytes.
            targets = {m.target for m in watch.moves if m.source == device and m.bytes > 8}
            if targets and isinstance(expected, Tensor):
                details = {"name": trial.name, "given": device, "found": targets.pop()}
                raise trial.wrong("computed-elsewhere", **details)
        except WrongAnswer as wrong:
            if wrong.hint.id in _ELSEWHERE and device != devices[0]:
                details = {"name": trial.name, "works": devices[0], "fails": device}
                raise trial.wrong("one-device-only", **details) from None
            raise
        unchanged = all(map(equal_values, (first, second), arguments))
        trial.expect(unchanged, "input-changed", name=trial.name)


def _compare_line(trial: Trial, result: Any, expected: Tensor | int, device: torch.device) -> None:
    what = describe(result)
    if isinstance(expected, int):
        trial.expect(is_number(result), "not-a-count", what=what)
        trial.expect(result == expected, "different-result", name=trial.name)
        return
    shape = tuple(expected.shape)
    trial.expect(
        isinstance(result, Tensor), "not-a-tensor", name=trial.name, what=what, shape=shape
    )
    result_device = result.device
    trial.expect(
        result_device == device,
        "result-elsewhere",
        name=trial.name,
        given=device,
        found=result_device,
    )
    same = result.shape == expected.shape and result.dtype == expected.dtype
    trial.expect(same and close(result, expected), "different-result", name=trial.name)


def _try_noise(trial: Trial, noise: Answer, X: Tensor) -> None:
    for device in trial.devices:
        generator = torch.Generator().manual_seed(trial.random.randrange(2**31))
        # Another generator with the same seed must not give the same numbers.
        torch.rand(3, generator=generator)
        twin = torch.Generator()
        twin.set_state(generator.get_state())
        x = X.to(device)
        try:
            result = trial.result_of(noise, x, generator)
            details = {"name": "noise", "what": describe(result), "shape": tuple(x.shape)}
            trial.expect(isinstance(result, Tensor), "not-a-tensor", **details)
            details = {"name": "noise", "given": device, "found": result.device}
            trial.expect(result.device == device, "result-elsewhere", **details)
        except WrongAnswer as wrong:
            if wrong.hint.id in _ELSEWHERE and device != trial.device:
                details = {"name": "noise", "works": trial.device, "fails": device}
                raise trial.wrong("one-device-only", **details) from None
            raise
        trial.expect(result.shape == x.shape, "different-result", name="noise")
        trial.expect(close(result, torch.rand(x.shape, generator=twin)), "generator-unused")
