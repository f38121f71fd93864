"""The result of a training run, and the progress that it reports."""

from dataclasses import dataclass, field


@dataclass
class History:
    """Losses and speed of a training run.

    `losses[i]` is the mean loss over the steps after `steps[i - 1]` up to `steps[i]`.
    """

    steps: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    steps_per_epoch: int = 0
    seconds: float = 0.0  # training time with checkpoints, including resumed runs
    images: int = 0  # number processed in this time

    @property
    def images_per_second(self) -> float:
        """Mean training speed, including data loading."""
        return self.images / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Progress:
    """The current state of a training run, as passed to a progress callback."""

    epoch: int  # from 1
    epochs: int
    step: int  # within the epoch, from 1
    steps: int
    loss: float
    images_per_second: float
    seconds: float
    note: str = ""
