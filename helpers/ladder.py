"""What each change to the classic script brings, alone and on top of the others.

A change that does not help is reported and left out of what follows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from helpers.steps import Setting, TrainingStep, whole_batches, why_not
from helpers.timing import Comparison, compare

LARGE_BATCH = 512

# In the order in which the ladder is climbed: first what feeds the network, then its arithmetic.
CHANGES: Mapping[str, Mapping[str, Any]] = {
    "resident data": {"resident": True},
    f"batch of {LARGE_BATCH}": {"batch_size": LARGE_BATCH},
    "channels_last": {"channels_last": True},
    "bf16 autocast": {"bf16": True},
    "fused optimizer": {"fused": True},
    "torch.compile": {"compiled": True},
    "one thread": {"one_thread": True},
}
CLASSIC = Setting()


@dataclass(frozen=True)
class Rung:
    """What one change brought: `ratio` times as fast as without it, quartiles `low` to `high`."""

    name: str
    ratio: float
    low: float
    high: float
    differs: bool  # the difference lies outside the spread
    seconds_per_image: float
    kept: bool = False
    note: str = ""  # why it was not measured; then the ratio is 1

    @property
    def finding(self) -> str:
        """The outcome in a few words."""
        if self.note:
            return "not measured"
        return f"{self.ratio:.2f}" if self.differs else f"{self.ratio:.2f}, no difference"


class Ladder:
    """Measures settings of the classic network's training step on one device.

    Args:
        images: uint8 `(N, 3, 32, 32)`, N at least 512.
        labels: int64 `(N,)`.
        device: where to train.
        rounds: runs of each way, in turns.
        seconds: timed seconds for each way of a comparison.
        skip: names of changes not to measure, each with the reason.
    """

    def __init__(
        self,
        images: Tensor,
        labels: Tensor,
        device: torch.device | str,
        *,
        rounds: int = 7,
        seconds: float = 0.5,
        skip: Mapping[str, str] | None = None,
    ) -> None:
        self.images, self.labels = whole_batches(images, labels, LARGE_BATCH)
        self.device, self.rounds, self.seconds = device, rounds, seconds
        self.skip = skip or {}

    def add(self, base: Setting, name: str, changes: Mapping[str, Any]) -> Rung:
        """Return what `changes` bring on top of `base`, for the same number of images."""
        setting = replace(base, **changes)
        note = self.skip.get(name) or why_not(setting, self.device)
        if not note:
            try:
                found = self._compare(base, setting)
            except RuntimeError as error:
                if not setting.compiled:
                    raise
                # What a compiler can stumble over has no end; the other rungs still count.
                note = f"torch.compile failed here: {str(error).strip().splitlines()[0]}"
        if note:
            return Rung(name, 1.0, 1.0, 1.0, False, 0.0, note=note)
        ratio = found.ratio("with", "without")
        return Rung(
            name,
            ratio.median,
            *ratio.quartiles,
            ratio.differs,
            found["with"].median,
            kept=ratio.differs and ratio.median > 1,
        )

    def alone(self, base: Setting = CLASSIC) -> list[Rung]:
        """Return what each change brings alone, on `base`."""
        return [self.add(base, name, changes) for name, changes in CHANGES.items()]

    def climb(self) -> tuple[list[Rung], Setting]:
        """Return what each change brings on top of those that helped, and the setting at the top.

        Two more rungs end the list, both against the classic script: what helped together, and all
        changes together.
        """
        setting, everything, rungs = CLASSIC, CLASSIC, []
        for name, changes in CHANGES.items():
            rung = self.add(setting, name, changes)
            rungs.append(rung)
            if rung.kept:
                setting = replace(setting, **changes)
            if not rung.note:
                everything = replace(everything, **changes)
        for name, top in (("what helped", setting), ("everything", everything)):
            rungs.append(self.add(CLASSIC, name, vars(top)))
        return rungs, setting

    def _compare(self, base: Setting, setting: Setting) -> Comparison:
        ways, units = {}, {}
        for label, each in (("without", base), ("with", setting)):
            step = TrainingStep(each, self.images, self.labels, self.device)
            # While one way runs, the workers of the other get ahead by four batches. Calls of two
            # steps leave that to the two calls before the clock starts.
            steps = 1 if each.resident else 2
            ways[label] = _Repeated(step, steps)
            units[label] = steps * each.batch_size
        return compare(ways, self.device, rounds=self.rounds, seconds=self.seconds, units=units)


@dataclass(frozen=True)
class _Repeated:
    step: TrainingStep
    steps: int

    def __call__(self) -> None:
        for _ in range(self.steps):
            self.step()
