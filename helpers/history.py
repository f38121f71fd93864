"""What training leaves behind, and what it says of itself on the way."""

from dataclasses import dataclass, field


@dataclass
class History:
    """What training left behind; `losses[i]` is the mean loss of the steps up to `steps[i]`."""

    steps: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    steps_per_epoch: int = 0
    seconds: float = 0.0  # spent in training, checkpoints included, over all resumed parts
    images: int = 0  # seen in these seconds

    @property
    def images_per_second(self) -> float:
        """The mean speed of training, data loading included."""
        return self.images / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Progress:
    """Where training stands; what a progress display is called with."""

    epoch: int  # from 1
    epochs: int
    step: int  # within the epoch, from 1
    steps: int
    loss: float
    images_per_second: float
    seconds: float
    note: str = ""
