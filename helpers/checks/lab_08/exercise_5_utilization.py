"""Lab 08, exercise 5: `utilization`."""

from helpers.checks.descriptions import describe, is_number
from helpers.checks.lab_08.shared import lab
from helpers.checks.trial import Answer, Trial

Kernels = list[tuple[int, int]]


@lab.exercise(5, points=3, success_message="You can tell how busy a GPU was.")
def exercise_5(trial: Trial, utilization: Answer) -> None:
    """`utilization(kernels)`: the fraction of time in which at least one kernel runs."""
    for _ in range(3):
        _check_simple(trial, utilization, _sequential_kernels(trial))
        for hint, kernels in _difficult_cases(trial):
            result = _result(trial, utilization, kernels)
            trial.expect(_close(result, _busy_fraction(kernels)), hint, found=f"{result:.2f}")
    result = trial.try_call(utilization, [])
    trial.expect(result.error is None and result.value == 0, "empty")


def _sequential_kernels(trial: Trial) -> Kernels:
    kernels, start = [], trial.random.randint(20, 40)
    for _ in range(6):
        length = trial.random.randint(3, 9)
        kernels.append((start, length))
        start += length + trial.random.randint(5, 20)
    return kernels


def _difficult_cases(trial: Trial) -> list[tuple[str, Kernels]]:
    """Return lists of kernels, each with the hint for an answer that fails on it."""
    kernels = _sequential_kernels(trial)
    (first, length), *others = kernels
    last = kernels[-1][0] + kernels[-1][1]
    shuffled = [*kernels[3:], *kernels[:3]]
    return [
        ("order", shuffled),
        ("overlap", [(first, length), (first + length - 2, 6), *others[2:]]),
        ("nested", [(first, last - first), *others, (last + 10, 5)]),
        # The kernel that starts last is not the one that ends last.
        ("nested", [*kernels[:2], (others[1][0], last + 10 - others[1][0]), *others[2:]]),
    ]


def _busy_fraction(kernels: Kernels) -> float:
    busy = {t for start, length in kernels for t in range(start, start + length)}
    return len(busy) / (max(busy) + 1 - min(busy))


def _result(trial: Trial, utilization: Answer, kernels: Kernels) -> float:
    copy = list(kernels)
    result = trial.result_of(utilization, copy)
    trial.expect(is_number(result), "not-a-number", what=describe(result))
    trial.expect(copy == kernels, "input-changed")
    return result


def _close(a: float, b: float) -> bool:
    return abs(a - b) < 1e-6 * max(1, abs(b))


def _check_simple(trial: Trial, utilization: Answer, kernels: Kernels) -> None:
    result, fraction = _result(trial, utilization, kernels), _busy_fraction(kernels)
    busy = sum(length for _, length in kernels)
    end = sum(kernels[-1])
    # Check this first: if a kernel runs half of the time, the right answer is also `1 - fraction`.
    if _close(result, fraction):
        return
    details = {"found": f"{result:.4g}"}
    trial.expect(not _close(result, 100 * fraction), "percent", **details)
    trial.expect(not _close(result, 1 - fraction), "idle", **details)
    trial.expect(not _close(result, busy), "not-a-fraction", **details)
    trial.expect(not _close(result, busy / end), "from-zero", start=kernels[0][0], **details)
    without_last_kernel = busy / (kernels[-1][0] - kernels[0][0])
    trial.expect(not _close(result, without_last_kernel), "last-kernel", **details)
    raise trial.wrong("wrong-fraction", **details)
