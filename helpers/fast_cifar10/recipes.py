"""The recipes of lesson 06, for a GPU and for a CPU, and the techniques that can be removed."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Settings:
    """One recipe; the defaults are for a GPU.

    `bias_lr` and `head_lr` are SGD's learning rates for a mean loss and a network with one channel
    before the head. `make_optimizers` multiplies them by the number of channels, because the
    network divides its logits by it, and divides them by the batch size, because the loss is a sum.
    """

    widths: tuple[int, int, int] = (64, 256, 256)  # channels of the three groups of convolutions
    kernel: int = 2  # side of the whitened patches
    stride: int = 1  # between whitened patches; 2 halves the resolution of all later layers
    directions: int | None = None  # how many directions to keep, strongest first; None: all
    activation: str = "gelu"  # or "relu", which is faster on a CPU
    epochs: float = 8.0
    batch_size: int = 2000
    muon_lr: float = 0.24  # size of a step relative to the norm of the filter
    muon_momentum: float = 0.6
    bias_lr: float = 0.41
    head_lr: float = 5.2
    weight_decay: float = 0.004  # fraction by which the first step shrinks biases and head
    first_biases_until: float = 0.4  # fraction of the run in which the first layer's biases train
    whiten: bool = True
    dirac: bool = True
    muon: bool = True
    fast_biases: bool = True  # otherwise their learning rate is 64 times smaller
    lr_decay: bool = True  # learning rates decay to zero at the end
    flip: str = "alternating"  # or "random", or "none"
    translate: int = 2  # largest shift in pixels
    label_smoothing: float = 0.2
    winograd: bool = False  # compute small convolutions with fewer multiplications, on a CPU
    precision: str = "float32"  # or "float16", "bfloat16"
    compiled: bool = False  # by torch.compile


GPU = Settings(precision="float16", compiled=True)
# A CPU does not need large batches. It is compute-bound, so the first layer has stride 2 and the
# other layers are narrow. benchmarks/accuracy_by_time_limit.py has a recipe for a whole minute, and
# says how it was chosen.
CPU = Settings(
    widths=(32, 64, 128),
    kernel=3,
    stride=2,
    directions=16,
    activation="relu",
    epochs=0.5,
    batch_size=125,
)

ABLATIONS: dict[str, dict[str, object]] = {
    "whitening": {"whiten": False},
    "Dirac initialization": {"dirac": False},
    "Muon": {"muon": False},
    "fast biases": {"fast_biases": False},
    "learning rate decay": {"lr_decay": False},
    "alternating flips": {"flip": "random"},
    "any flips": {"flip": "none"},
    "shifted images": {"translate": 0},
    "label smoothing": {"label_smoothing": 0.0},
}


def active_techniques(settings: Settings) -> list[str]:
    """Return the names of the techniques in `ABLATIONS` that `settings` use."""
    return [technique for technique in ABLATIONS if ablate(settings, technique) != settings]


def ablate(settings: Settings, technique: str) -> Settings:
    """Return `settings` without `technique`; raise ValueError if it is not one of `ABLATIONS`."""
    if technique not in ABLATIONS:
        raise ValueError(f"unknown technique {technique!r}; choose one of {', '.join(ABLATIONS)}.")
    return replace(settings, **ABLATIONS[technique])
