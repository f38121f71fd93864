"""Measure how long tensor code takes: warm up, wait for the device, repeat, report the spread.

Follows `torch.utils.benchmark`. A comparison runs its variants alternately, so that a
slowdown of the machine affects all of them, and reports a difference only if it is larger than the
spread. Nothing is timed on a simulated GPU.
"""

import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from helpers.devices import synchronize
from helpers.language import translate


class _Spread:
    """The median and the quartiles of `values`."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median of the values."""
        return statistics.median(self.values)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The first and the third quartile of the values."""
        low, _, high = statistics.quantiles(self.values, n=4, method="inclusive")
        return low, high


@dataclass(frozen=True)
class Measurement(_Spread):
    """The seconds of a call, one value per run: the mean over the calls of that run.

    If `compare` was called with `units`, these are seconds per unit.
    """

    label: str
    values: tuple[float, ...]
    device: str

    def __str__(self) -> str:
        low, high = self.quartiles
        return translate(
            f"{self.label or 'a call'}: {format_duration(self.median)} "
            f"(IQR {format_duration(high - low)}, {len(self.values)} runs)"
        )


@dataclass(frozen=True)
class Ratio(_Spread):
    """Speed relative to a baseline, one value per round; 2.0 is twice as fast as the baseline."""

    label: str
    baseline: str
    values: tuple[float, ...]

    @property
    def differs(self) -> bool:
        """Whether the median is farther from 1 than the spread, on a logarithmic scale.

        The spread is the IQR; with 3 or 4 rounds, it is 1.5 times the range. With fewer than 8
        rounds, all ratios must also be on the same side of 1. For two identical variants, the
        false positive rate of this rule is below 1 in 20 with 3 or more rounds.
        """
        # In logarithms, twice as fast and half as fast are equally far from 1.
        logs = [math.log(value) for value in self.values]
        low, median, high = statistics.quantiles(logs, n=4, method="inclusive")
        spread = high - low if len(logs) >= 5 else 1.5 * (max(logs) - min(logs))
        agree = len(logs) >= 8 or min(logs) > 0 or max(logs) < 0
        return agree and abs(median) > spread

    def __str__(self) -> str:
        low, high = self.quartiles
        verdict = f"{self.median:.2f} times as fast" if self.differs else "no difference"
        return translate(
            f"{self.label}: {verdict} (relative to {self.baseline}; median {self.median:.2f}, "
            f"quartiles {low:.2f} to {high:.2f}, {len(self.values)} rounds)"
        )


class Comparison(dict[str, Measurement]):
    """Variants measured alternately: a `Measurement` of each, and the `Ratio` of any two."""

    def ratio(self, label: str, baseline: str | None = None) -> Ratio:
        """Return the speed of `label` relative to `baseline` (by default the first), by round."""
        baseline = next(iter(self)) if baseline is None else baseline
        pairs = zip(self[label].values, self[baseline].values, strict=True)
        return Ratio(label, baseline, tuple(base / seconds for seconds, base in pairs))

    def __str__(self) -> str:
        first, *others = self
        return "\n".join([str(self[first]), *(str(self.ratio(label)) for label in others)])


def measure(
    call: Callable[[], object],
    device: torch.device | str = "cpu",
    *,
    label: str = "",
    runs: int = 7,
    seconds: float = 0.5,
) -> Measurement:
    """Measure the time of `call` on `device`; arguments and errors are those of `compare`."""
    return compare({label: call}, device, rounds=runs, seconds=seconds)[label]


def compare(
    variants: Mapping[str, Callable[[], object]],
    device: torch.device | str = "cpu",
    *,
    rounds: int = 7,
    seconds: float = 0.5,
    units: Mapping[str, float] | None = None,
    warm_ups: Mapping[str, int] | None = None,
) -> Comparison:
    """Measure the functions in `variants` alternately, in `rounds` rounds.

    A run calls one function one or more times, so that all its runs together take about `seconds`.
    Each function is called twice before the first round, and before each run if another one has run
    since. The clock is read after `device` has finished its work.

    Args:
        variants: maps labels to functions; each runs on `device` or on the CPU.
        rounds: number of runs of each function; below 3, ValueError is raised.
        units: maps labels to the amount of work of one call, such as a number of images, if the
            functions differ in it. Times are then per unit.
        warm_ups: maps labels to the number of untimed calls before each run; 2 by default.

    A simulated device raises RuntimeError.
    """
    device = torch.device(device)
    raise_if_simulated(device)
    if not isinstance(rounds, int) or rounds < 3:
        raise ValueError(f"rounds must be an integer of at least 3, not {rounds!r}.")

    def mean_seconds(call: Callable[[], object], count: int) -> float:
        synchronize(device)
        start = time.perf_counter()
        for _ in range(count):
            call()
        synchronize(device)
        return (time.perf_counter() - start) / count

    calls = {}
    for label, call in variants.items():
        call()  # the first call includes one-time setup
        calls[label] = max(1, round(seconds / rounds / max(mean_seconds(call, 1), 1e-9)))
    units, warm_ups = units or {}, warm_ups or {}
    results: dict[str, list[float]] = {label: [] for label in variants}
    for _ in range(rounds):
        for label, call in variants.items():
            for _ in range(warm_ups.get(label, 2) if len(variants) > 1 else 0):
                call()  # another function has just run
            results[label].append(mean_seconds(call, calls[label]) / units.get(label, 1))
    return Comparison({n: Measurement(n, tuple(v), str(device)) for n, v in results.items()})


def raise_if_simulated(device: torch.device | str) -> None:
    """Raise RuntimeError if `device` is a simulated GPU: its times would be CPU times."""
    if torch.device(device).type != "cuda":
        return
    import simulated_cuda  # imported only here: it hooks into torch

    if simulated_cuda.is_enabled():
        raise RuntimeError(
            f"{device} is simulated: it computes on the CPU, so its times are not those of a GPU. "
            "Measure on 'cpu', or use a machine with a GPU."
        )


def format_duration(seconds: float) -> str:
    """Format a time with a suitable unit: "1.25 s", "3.40 ms", "17.0 us"."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size or unit == "us":
            break
    value = seconds / size
    return f"{value:.{max(0, 2 - len(str(int(value))) + 1)}f} {unit}"
