"""Measure the speed-up of each change to the classic script, alone and on top of the others.

A change that does not help is reported but not carried over to the next measurement.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from helpers.language import translate
from helpers.records import Record
from helpers.steps import StepConfig, TrainingStep, truncate_to_full_batches
from helpers.tables import Table
from helpers.timing import Comparison, compare

LARGE_BATCH = 512

# In the order in which they are tried: first data loading, then computation.
CHANGES: Mapping[str, Mapping[str, Any]] = {
    "resident data": {"resident": True},
    "loss on device": {"losses_on_device": True},
    f"batch of {LARGE_BATCH}": {"batch_size": LARGE_BATCH},
    "channels_last": {"channels_last": True},
    "bf16 autocast": {"bf16": True},
    "fused optimizer": {"fused": True},
    "torch.compile": {"compiled": True},
    "one thread": {"one_thread": True},
}
CLASSIC = StepConfig()


@dataclass(frozen=True)
class Speedup:
    """The speed-up of one change: median `ratio`, quartiles `low` and `high`."""

    name: str
    ratio: float
    low: float
    high: float
    differs: bool  # the difference is larger than the spread
    seconds_per_image: float
    helps: bool = False  # faster by more than the spread
    note: str = ""  # why it was not measured; the ratio is then 1

    @property
    def summary(self) -> str:
        """The result in a few words."""
        if self.note:
            return "not measured"
        return f"{self.ratio:.2f}" if self.differs else f"{self.ratio:.2f}, no difference"


@dataclass
class SpeedupStudy:
    """Measures settings of the classic network's training step on one device.

    Each comparison has `rounds` runs of each of its two settings, of `seconds` in total. `skip` has
    the names of changes not to measure, with the reason for each.
    """

    images: Tensor
    labels: Tensor
    device: torch.device | str
    rounds: int = 7
    seconds: float = 0.5
    skip: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.images, self.labels = truncate_to_full_batches(self.images, self.labels, LARGE_BATCH)

    def measure(self, base: StepConfig, name: str, changes: Mapping[str, Any]) -> Speedup:
        """Return the speed-up of `changes` on top of `base`, per image."""
        config = replace(base, **changes)
        note = self.skip.get(name, "")
        if config.one_thread and torch.device(self.device).type != "cpu":
            note = "the number of threads matters only on a CPU"
        try:
            comparison = None if note else self._compare(base, config)
        except RuntimeError as error:
            # Autocast may not be supported, and torch.compile can fail in many ways; the other
            # changes can still be measured.
            note = f"{name} failed here: {str(error).strip().splitlines()[0]}"
        if note:
            return Speedup(name, 1.0, 1.0, 1.0, False, 0.0, note=note)
        ratio, seconds = comparison.ratio("with", "without"), comparison["with"].median
        helps = ratio.differs and ratio.median > 1
        return Speedup(name, ratio.median, *ratio.quartiles, ratio.differs, seconds, helps)

    def measure_each(self) -> list[Speedup]:
        """Return the speed-up of each change alone, on the classic script."""
        return [self.measure(CLASSIC, name, changes) for name, changes in CHANGES.items()]

    def measure_cumulative(self) -> tuple[list[Speedup], StepConfig]:
        """Return the speed-up of each change on top of those that helped, and the final setting.

        The last two compare the changes that helped, and all changes, with the classic script.
        """
        config, all_changes, speedups = CLASSIC, CLASSIC, []
        for name, changes in CHANGES.items():
            speedup = self.measure(config, name, changes)
            speedups.append(speedup)
            if speedup.helps:
                config = replace(config, **changes)
            if not speedup.note:
                all_changes = replace(all_changes, **changes)
        for name, setting in (("what helped", config), ("everything", all_changes)):
            speedups.append(self.measure(CLASSIC, name, vars(setting)))
        return speedups, config

    def _compare(self, base: StepConfig, config: StepConfig) -> Comparison:
        variants, units, warm_ups = {}, {}, {}
        # While one setting runs, the workers of another loader prefetch four batches. With two
        # steps per call, the two untimed calls use them up. A shared loader has no such batches.
        shared = (base.resident, base.batch_size) == (config.resident, config.batch_size)
        batches = None
        for label, setting in (("without", base), ("with", config)):
            step = TrainingStep(setting, self.images, self.labels, self.device)
            if shared:
                step.batches = batches = batches or step.batches
            count = 1 if setting.resident or shared else 2
            variants[label] = step if count == 1 else lambda step=step: (step(), step())
            units[label] = count * setting.batch_size
            # A large batch does not fit in the caches, so there is nothing to warm up.
            warm_ups[label] = 0 if setting.resident and setting.batch_size >= LARGE_BATCH else 2
        options = {"rounds": self.rounds, "seconds": self.seconds}
        return compare(variants, self.device, **options, units=units, warm_ups=warm_ups)


def time_to_accuracy(accuracies: Record, times: Record) -> Table:
    """Return speed, training time and test accuracy, one row per training setup.

    `accuracies` is the record `large_batches`, `times` the record `speedups` of the same machine.
    """
    seconds = {each["name"]: each["seconds_per_image"] for each in times.results["cumulative"]}
    per_image = {"4": seconds["resident data"], "512": seconds[f"batch of {LARGE_BATCH}"]}
    columns = ("training setup", "images per second", "training time [s]", "test accuracy")
    rows = []
    for name, accuracy in accuracies.results["accuracy"].items():  # "batch 4, rate 0.001, 1 pass"
        batch, _, passes = (part.split() for part in name.split(", "))
        image_seconds = per_image[batch[1]]
        total_seconds = image_seconds * 50_000 * int(passes[0])
        cells = (f"{1 / image_seconds:,.0f}", f"{total_seconds:.1f}", f"{accuracy:.1%}")
        rows.append([translate(text) for text in (name, *cells)])
    return Table([translate(name) for name in columns], rows, caption=translate(accuracies.origin))
