"""What trains lesson 06's network in seconds: settings, augmentation, Muon, the loop, the views.

Everything stays on the device from the first step to the last: no worker, no copy, no waiting.
"""

import functools
import math
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional as F

from helpers.fast_cifar10.muon import Muon, orthogonalize, straight
from helpers.fast_cifar10.network import FastNet, whitening_filters

MEAN, SPREAD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)  # of CIFAR-10, by colour
THREADS = torch.get_num_threads()  # as many as torch takes if nobody says otherwise
VIEWS = [  # (mirrored, shift in pixels, weight): what the network's answers are averaged over
    (mirrored, shift, 0.25 if shift == 0 else 0.125)
    for mirrored in (False, True)
    for shift in (0, -1, 1)
]


@dataclass(frozen=True)
class Settings:
    """One recipe; the defaults are for a GPU. `SWITCHES` names the ideas that can be switched off.

    `bias_lr` and `head_lr` are SGD's, for the mean loss and one channel before the head: since the
    network divides its logits by the number of these channels, the trainer multiplies by it.
    """

    widths: tuple[int, int, int] = (64, 256, 256)
    kernel: int = 2  # side of the whitened patches
    stride: int = 1  # between whitened patches
    directions: int | None = None  # of a patch that are kept; None is all
    activation: str = "gelu"
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
    small_size: int = 32  # side of the images at first
    small_until: float = 0.0  # the share of the run on small images
    precision: str = "float32"  # of the arithmetic; or "float16", "bfloat16"
    compiled: bool = False  # by torch.compile


GPU = Settings(precision="float16", compiled=True)
# A CPU has no use for large batches; its time goes into arithmetic, of which narrow layers on a
# quarter of the pixels need little, and into memory, which a batch of 125 does not outgrow.
CPU = Settings(
    widths=(32, 64, 128),
    kernel=3,
    stride=2,
    directions=16,
    activation="relu",
    epochs=0.4,
    batch_size=125,
)
# With minutes instead of seconds, a wider network is worth its arithmetic.
CPU_MINUTES = replace(CPU, widths=(64, 128, 256))

SWITCHES: dict[str, dict[str, object]] = {
    "whitening": {"whiten": False},
    "start as a copy": {"dirac": False},
    "Muon": {"muon": False},
    "fast biases": {"fast_biases": False},
    "falling learning rates": {"falling": False},
    "alternating mirrors": {"flip": "random"},
    "any mirrors": {"flip": "none"},
    "moved images": {"translate": 0},
    "label smoothing": {"label_smoothing": 0.0},
}


def switched_off(settings: Settings, idea: str) -> Settings:
    """Return `settings` without `idea`, one of `SWITCHES`.

    Raises:
        ValueError: there is no such idea; the message lists those there are.
    """
    if idea not in SWITCHES:
        raise ValueError(f"no idea is called {idea!r}; there are {', '.join(SWITCHES)}.")
    return replace(settings, **SWITCHES[idea])


def augment(images: Tensor, chosen: Tensor, mirrored: Tensor, shifts: Tensor) -> Tensor:
    """Return images moved and mirrored: one gather, in which no pixel is copied twice.

    Args:
        images: uint8 `(N, 32, 32, 3)`, channels last.
        chosen: int64 `(B,)`, which images.
        mirrored: bool `(B,)`, which of them left to right, before they are moved.
        shifts: int64 `(B, 2)`, by how many pixels down and right; the border is a mirror, too.

    Returns:
        float32 `(B, 3, 32, 32)`, normalized, channels last in memory.
    """
    size = images.shape[1]
    places = torch.arange(size, device=images.device) + shifts[:, :, None]
    places = (size - 1) - ((size - 1) - places.abs()).abs()  # -1 is 1, and 32 is 30
    rows, columns = places.unbind(1)
    columns = torch.where(mirrored[:, None], size - 1 - columns, columns)
    pixels = images[chosen[:, None, None], rows[:, :, None], columns[:, None, :]]
    mean, spread = _colours(images.device)
    return ((pixels.float() - mean) / spread).permute(0, 3, 1, 2)


@functools.cache  # made at every step, they would be copied to the device, and the CPU would wait
def _colours(device: torch.device) -> tuple[Tensor, Tensor]:
    return 255 * torch.tensor(MEAN, device=device), 255 * torch.tensor(SPREAD, device=device)


def batches(
    images: Tensor,
    labels: Tensor,
    settings: Settings,
    augment: Callable[..., Tensor] = augment,
) -> Iterator[tuple[Tensor, Tensor]]:
    """Give augmented batches without end, epoch after epoch, each in a new random order."""
    count, device = len(labels), labels.device
    size = min(settings.batch_size, count)
    first = torch.rand(count, device=device) < 0.5
    epoch = 0
    while True:
        if settings.flip == "alternating":  # what was mirrored is not in the next epoch
            mirrored = first ^ bool(epoch % 2)
        else:
            mirrored = (torch.rand(count, device=device) < 0.5) & (settings.flip == "random")
        reach = settings.translate
        shifts = torch.randint(-reach, reach + 1, (count, 2), device=device)
        order = torch.randperm(count, device=device)
        for chosen in order[: count // size * size].split(size):
            yield augment(images, chosen, mirrored[chosen], shifts[chosen]), labels[chosen]
        epoch += 1


@dataclass
class Run:
    """What a training run measured; neither compiling nor judging is in `seconds`."""

    seconds: float = 0.0
    steps: int = 0
    images: int = 0
    loss: float = math.nan  # mean of the last batch


class Trainer:
    """Trains one network again and again from new weights, so that it is compiled only once.

    Args:
        images: uint8 `(N, 3, 32, 32)`, labels: int64 `(N,)`; copied to `device` and kept there.
    """

    def __init__(
        self, settings: Settings, images: Tensor, labels: Tensor, device: torch.device | str
    ) -> None:
        self.settings, self.device = settings, torch.device(device)
        self.images, self.labels = on_device(images, labels, self.device)
        self.net = FastNet(
            settings.widths,
            kernel=settings.kernel,
            stride=settings.stride,
            directions=settings.directions,
            activation=settings.activation,
            dirac=settings.dirac,
        ).to(self.device, memory_format=torch.channels_last)
        self.net.whiten.weight.requires_grad_(not settings.whiten)

        def prepared(function: Callable[..., Tensor], mode: str) -> Callable[..., Tensor]:
            if not settings.compiled:
                return function
            return torch.compile(function, mode=mode, dynamic=False)

        self._loss_of = prepared(self._loss, "max-autotune")
        self._answer = prepared(self.net, "max-autotune")
        self._augment = prepared(augment, "default")
        self._orthogonalize = prepared(orthogonalize, "default")

    def warm_up(self) -> float:
        """Compile, and make the device ready, by a few steps and answers; return the seconds.

        On a CPU this also tries one thread against all and leaves torch with the quicker number:
        where other programs want the cores, threads that wait for each other are slower than one.
        """
        started = time.perf_counter()
        if self.device.type == "cpu" and self.settings.batch_size <= 250:
            torch.set_num_threads(min((1, THREADS), key=self._seconds_with))
        self.run(steps=10 if self.settings.compiled else 3)
        some = self.images[: self.settings.batch_size]
        for views in (False, True):
            self.predict(some, views=views)
        synchronize(self.device)
        return time.perf_counter() - started

    def run(
        self,
        seed: int = 0,
        *,
        steps: int | None = None,
        seconds: float | None = None,
        observe: Callable[[Run], None] | None = None,
        observations: int = 1,
    ) -> Run:
        """Train from new weights: for the epochs of the settings, `steps`, or `seconds`.

        The learning rates fall in a straight line to nothing at the end, which is known however
        the length is given: by a clock, too.

        Args:
            observe: called `observations` times, evenly spread, at last at the end; its time does
                not count.

        Raises:
            FloatingPointError: the loss is not a number.
        """
        torch.manual_seed(seed)
        settings, run = self.settings, Run()
        per_epoch = max(1, len(self.labels) // settings.batch_size)
        steps = steps or max(1, round(settings.epochs * per_epoch))
        self.net.reset()
        self.net.train()
        optimizers = self._optimizers()
        synchronize(self.device)
        started = time.perf_counter()
        if settings.whiten:
            self._whiten()
        done, observed = 0.0, 0
        for x, y in batches(self.images, self.labels, settings, self._augment):
            loss = self._backward(x, y, done)
            for optimizer in optimizers:
                for group in optimizer.param_groups:
                    left = 1 - done / group["until"] if settings.falling else done < group["until"]
                    group["lr"] = group["full_lr"] * max(0.0, left)
                optimizer.step()
                optimizer.zero_grad()
            run.steps += 1
            run.images += len(y)
            if seconds:
                synchronize(self.device)
            run.seconds = time.perf_counter() - started
            done = min(1.0, run.seconds / seconds if seconds else run.steps / steps)
            if int(done * observations) > observed:
                observed = int(done * observations)
                synchronize(self.device)
                run.seconds = time.perf_counter() - started
                run.loss = _finite(loss.item() / len(y), run.steps, settings)
                if observe:
                    observe(replace(run))
                    self.net.train()
                started = time.perf_counter() - run.seconds
            if done == 1:
                return run
        raise AssertionError("batches have no end")

    @torch.no_grad()
    def predict(self, images: Tensor, *, views: bool = True) -> Tensor:
        """Return logits `(N, 10)` for uint8 `images`, `(N, 32, 32, 3)` on the trainer's device.

        Args:
            views: average over `VIEWS`, six of each image (test-time augmentation).
        """
        self.net.eval()
        parts = []
        for chosen in torch.arange(len(images), device=self.device).split(self.settings.batch_size):
            logits = torch.zeros(len(chosen), 10, device=self.device)
            for mirrored, shift, weight in VIEWS if views else [(False, 0, 1.0)]:
                flips = torch.full_like(chosen, mirrored, dtype=torch.bool)
                shifts = torch.full((len(chosen), 2), shift, device=self.device)
                with self._arithmetic():
                    x = self._augment(images, chosen, flips, shifts)
                    logits += weight * self._answer(x).float()
            parts.append(logits)
        return torch.cat(parts)

    def accuracy(self, images: Tensor, labels: Tensor, *, views: bool = True) -> float:
        """Return the share of right answers, from 0 to 1; images and labels as `on_device` has."""
        right = self.predict(images, views=views).argmax(1) == labels
        return right.double().mean().item()

    def _seconds_with(self, threads: int) -> float:
        torch.set_num_threads(threads)
        self.run(steps=1)
        return self.run(steps=8).seconds

    def _loss(self, x: Tensor, y: Tensor, first_biases: bool) -> Tensor:
        # Summed: the gradients of a mean over thousands of images are too small for float16.
        smoothing = self.settings.label_smoothing
        logits = self.net(x, first_biases).float()
        return F.cross_entropy(logits, y, label_smoothing=smoothing, reduction="sum")

    def _backward(self, x: Tensor, y: Tensor, done: float) -> Tensor:
        settings = self.settings
        if done < settings.small_until:
            x = F.interpolate(x, size=(settings.small_size, settings.small_size), mode="area")
        with self._arithmetic():
            loss = self._loss_of(x, y, done < settings.first_biases_until)
        loss.backward()
        return loss.detach()

    def _whiten(self) -> None:
        some = torch.arange(0, len(self.labels), max(1, len(self.labels) // 2000)).to(self.device)
        still = torch.zeros(len(some), 2, dtype=torch.int64, device=self.device)
        x = augment(self.images, some, still[:, 0] > 0, still)
        filters = whitening_filters(x, self.settings.kernel)[: self.settings.directions]
        self.net.whiten.weight.data.copy_(torch.cat((filters, -filters)))

    def _optimizers(self) -> list[torch.optim.Optimizer]:
        settings, net = self.settings, self.net
        filters = [p for p in net.parameters() if p.ndim == 4 and p.requires_grad]
        biases = [p for p in net.groups.parameters() if p.ndim == 1 and p.requires_grad]
        scale = net.head.in_features / min(settings.batch_size, len(self.labels))
        bias_lr = settings.bias_lr * scale / (1 if settings.fast_biases else 64)
        head_lr = settings.head_lr * scale
        groups = [
            {"params": [net.whiten.bias], "lr": bias_lr, "until": settings.first_biases_until},
            {"params": biases, "lr": bias_lr, "until": 1.0},
            {"params": [net.head.weight], "lr": head_lr, "until": 1.0},
        ]
        for group in groups:  # torch multiplies the decay by the learning rate; this undoes it
            group["weight_decay"] = settings.weight_decay / group["lr"]
        plain = torch.optim.SGD(groups, momentum=0.85, nesterov=True, fused=True)
        direction = self._orthogonalize if settings.muon else straight
        muon = Muon(filters, settings.muon_lr, settings.muon_momentum, direction)
        muon.param_groups[0]["until"] = 1.0
        for group in (*plain.param_groups, *muon.param_groups):
            group["full_lr"] = group["lr"]
        return [plain, muon]

    def _arithmetic(self) -> torch.autocast | nullcontext[None]:
        if self.settings.precision == "float32":
            return nullcontext()
        return torch.autocast(self.device.type, getattr(torch, self.settings.precision))


def on_device(images: Tensor, labels: Tensor, device: torch.device | str) -> tuple[Tensor, Tensor]:
    """Return images `(N, 3, 32, 32)` as `(N, 32, 32, 3)`, and labels, on `device`."""
    return images.to(device).permute(0, 2, 3, 1).contiguous(), labels.to(device)


def synchronize(device: torch.device) -> None:
    """Wait until `device` has done all it was asked to: before that, a clock shows too little."""
    if device.type != "cpu":
        torch.accelerator.synchronize(device)


def _finite(loss: float, steps: int, settings: Settings) -> float:
    if not math.isfinite(loss):
        raise FloatingPointError(
            f"the loss is {loss} after {steps} steps: training has diverged. "
            f"Choose a muon_lr below {settings.muon_lr:g}, or precision='float32'."
        )
    return loss
