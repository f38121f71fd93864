"""Train any network: the loop, its history, and checkpoints to resume from.

The steps themselves are a few lines of `train`. The rest handles what happens in long runs:
progress reports, interrupts, a loss that becomes NaN, and machines that are shut down.
"""

import contextlib
import math
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from helpers.devices import device_of, synchronize

CHECKPOINT_SECONDS = 30.0  # between checkpoints within an epoch
REPORT_SECONDS = 0.5  # between progress reports
LOSSES_PER_EPOCH = 50


class TrainingInterrupted(KeyboardInterrupt):
    """Training was stopped on request, so a notebook shows no traceback."""

    def _render_traceback_(self) -> list[str]:
        return [f"KeyboardInterrupt: {self}"]


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


def train(
    net: nn.Module,
    loader: Iterable[tuple[Tensor, Tensor]],
    optimizer: torch.optim.Optimizer,
    *,
    epochs: int,
    checkpoint: Path | str | None = None,
    resume: bool = False,
    report: Callable[[Progress], None] | None = None,
) -> History:
    """Train `net` on its device for `epochs` passes over `loader`, with the cross-entropy loss.

    Args:
        net: maps a batch of images to logits `(N, C)`.
        loader: has a length and yields (images, labels). A `helpers.loaders.ResidentLoader` can
            resume within an epoch, others only at the start of one.
        epochs: total number of epochs, including those of a resumed checkpoint.
        checkpoint: file to write after every epoch, every 30 seconds, and when interrupted. If
            None, nothing is written.
        resume: continue from `checkpoint`. On a CPU, the result is bitwise identical to that of an
            uninterrupted run.
        report: called about every half second with a `Progress`.

    Returns the `History`, including the part before the checkpoint.
    Raises `TrainingInterrupted` if it is stopped, when the checkpoint holds the last complete step;
    and FloatingPointError if the loss is infinite or NaN.
    """
    if resume and checkpoint is None:
        raise ValueError("resume=True needs a checkpoint to resume from: pass checkpoint=...")
    path = Path(checkpoint) if checkpoint else None
    device = device_of(net)
    sampler = getattr(loader, "sampler", None)
    can_skip = hasattr(sampler, "start_at")  # needed to resume within an epoch
    history = History(steps_per_epoch=len(loader))
    epoch, step = 0, 0  # completed epochs, and steps of the current one
    loss_sum, loss_count = torch.zeros((), device=device), 0
    fingerprint = _fingerprint(net, optimizer, loader)
    if resume:
        state = _load(path, device, fingerprint)
        net.load_state_dict(state["net"])
        optimizer.load_state_dict(state["optimizer"])
        epoch, step = state["epoch"], state["step"]
        loss_sum, loss_count = state["loss_sum"], state["loss_count"]
        history = History(**state["history"])
        torch.set_rng_state(state["random"]["cpu"].cpu())
        if device.type == "cuda" and "cuda" in state["random"]:
            torch.cuda.set_rng_state(state["random"]["cuda"].cpu(), device)

    def save_checkpoint() -> None:
        if path is None:
            return
        state = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
        state |= {"step": step, "loss_sum": loss_sum, "loss_count": loss_count}
        state |= {"history": vars(history), "random": {"cpu": torch.get_rng_state()}}
        if device.type == "cuda":
            state["random"]["cuda"] = torch.cuda.get_rng_state(device)
        try:
            _save(path, state | {"fingerprint": fingerprint})
        except OSError as error:
            # A full disk must not stop the training run.
            warnings.warn(
                f"no checkpoint was written: {error}. Training continues. To save one, free some "
                "disk space or choose another output folder.",
                stacklevel=3,
            )

    def report_progress(note: str = "") -> None:
        nonlocal since
        now = time.perf_counter()
        history.seconds += now - since
        since = now
        if report:
            loss = history.losses[-1] if history.losses else math.nan
            counts = (epoch + 1, epochs, step, history.steps_per_epoch)
            report(Progress(*counts, loss, history.images_per_second, history.seconds, note))

    def stop() -> None:
        note = f"stopped; saved in {path.name}" if path else "stopped"
        report_progress(note)
        raise TrainingInterrupted(f"training {note}")

    steps_per_loss = max(1, history.steps_per_epoch // LOSSES_PER_EPOCH)
    net.train()
    with defer_interrupt() as interrupted, fast_small_batches(device, loader):
        while epoch < epochs:
            if can_skip:
                sampler.start_at(epoch, step * loader.batch_size)
            since = last_save = last_report = time.perf_counter()
            for images, labels in loader:
                images = images.to(device, non_blocking=True)
                labels = labels.to(device, non_blocking=True)
                optimizer.zero_grad()
                loss = F.cross_entropy(net(images), labels)
                loss.backward()
                optimizer.step()
                # Summed on the device: .item() here would make every step wait for the GPU.
                loss_sum += loss.detach()
                loss_count += 1
                step += 1
                history.images += len(labels)
                is_last = step == history.steps_per_epoch
                if step % steps_per_loss == 0 or is_last:
                    history.steps.append(epoch * history.steps_per_epoch + step)
                    history.losses.append(loss_sum.item() / loss_count)
                    if not math.isfinite(history.losses[-1]):
                        rates = ", ".join(f"{group['lr']:g}" for group in optimizer.param_groups)
                        raise FloatingPointError(
                            f"the loss is {history.losses[-1]} after {history.steps[-1]} steps: "
                            "training diverged. Create the network again and choose a learning "
                            f"rate below {rates}."
                        )
                    loss_sum.zero_()
                    loss_count = 0
                now = time.perf_counter()
                if now - last_report > REPORT_SECONDS:
                    last_report = now
                    report_progress()
                if is_last:
                    break  # the loader may be endless; the epoch is complete
                if can_skip and (now - last_save > CHECKPOINT_SECONDS or interrupted.is_set()):
                    save_checkpoint()
                    last_save = time.perf_counter()
                if interrupted.is_set():
                    stop()
            synchronize(device)
            report_progress()
            epoch, step = epoch + 1, 0
            save_checkpoint()
            if interrupted.is_set() and epoch < epochs:
                stop()
    return history


@contextlib.contextmanager
def defer_interrupt() -> Iterator[threading.Event]:
    """Defer Ctrl-C or the stop button until the end of the step. A second one is immediate.

    An interrupt in the middle of `optimizer.step()` would leave only part of the weights updated.
    """
    event = threading.Event()
    previous = signal.getsignal(signal.SIGINT)

    def handle(signum: int, frame: Any) -> None:
        if event.is_set() and callable(previous):
            previous(signum, frame)
        event.set()

    signal.signal(signal.SIGINT, handle)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, previous)


@contextlib.contextmanager
def fast_small_batches(device: torch.device, loader: Any) -> Iterator[None]:
    """On a CPU, train batches of up to 4 images on one thread and without oneDNN.

    Waking a second thread and preparing a oneDNN convolution cost more than they save there.
    """
    if device.type != "cpu" or (getattr(loader, "batch_size", None) or 5) > 4:
        yield
        return
    onednn, threads = torch.backends.mkldnn.enabled, torch.get_num_threads()
    torch.backends.mkldnn.enabled = False
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.backends.mkldnn.enabled = onednn
        torch.set_num_threads(threads)


def _save(path: Path, state: dict[str, Any]) -> None:
    # Atomically: the file is the old checkpoint or the new one.
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _load(path: Path, device: torch.device, expected: dict[str, Any]) -> dict[str, Any]:
    if not path.exists():
        raise FileNotFoundError(f"there is no checkpoint {path.name} to resume from.")
    try:
        # weights_only: a pickle could run code, and a checkpoint may be untrusted.
        state = torch.load(path, map_location=device, weights_only=True)
        saved = state["fingerprint"]
    except Exception as error:  # torch.load raises many types of errors for a damaged file
        raise ValueError(
            f"{path.name} cannot be read as a checkpoint of a training run "
            f"({type(error).__name__}): it is damaged, or perhaps holds only a network's weights. "
            "Pass another file, or start without resume."
        ) from error
    differences = [
        f"{key} was {saved.get(key)!r} and is now {value!r}"
        if key != "network"
        else "the network has different parameters"
        for key, value in expected.items()
        if saved.get(key) != value
    ]
    if differences:
        raise ValueError(
            f"{path.name} belongs to another training run: {'; '.join(differences)}. "
            "Use the same settings, or start without resume."
        )
    return state


def _fingerprint(net: nn.Module, optimizer: torch.optim.Optimizer, loader: Any) -> dict[str, Any]:
    ignored = ("params", "fused", "foreach")
    sampler = getattr(loader, "sampler", None)
    return {
        "network": {name: tuple(value.shape) for name, value in net.state_dict().items()},
        "optimizer": type(optimizer).__name__,
        "settings": [
            {key: v for key, v in group.items() if key not in ignored and not callable(v)}
            for group in optimizer.param_groups
        ],
        "batch_size": getattr(loader, "batch_size", None),
        "images": getattr(sampler, "count", None),
        "seed": getattr(sampler, "seed", None),
    }
