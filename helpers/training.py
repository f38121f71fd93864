"""Train any network: the loop, its history, and checkpoints to resume from.

The loop itself is a few lines. The rest handles what happens in long runs: progress reports,
interrupts, a loss that becomes NaN, and machines that are shut down.
"""

import math
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from helpers import checkpoints
from helpers.devices import device_of
from helpers.history import History, Progress
from helpers.training_contexts import defer_interrupt, fast_small_batches

Batch = tuple[Tensor, Tensor]


def train(
    net: nn.Module,
    loader: Iterable[Batch],
    optimizer: torch.optim.Optimizer,
    *,
    epochs: int,
    loss_function: Callable[[Tensor, Tensor], Tensor] = F.cross_entropy,
    checkpoint: Path | str | None = None,
    resume: bool = False,
    checkpoint_seconds: float = 30.0,
    report: Callable[[Progress], None] | None = None,
    report_seconds: float = 0.5,
    loss_steps: int | None = None,
) -> History:
    """Train `net` on its device for `epochs` passes over `loader`.

    Args:
        net: maps a batch of images to logits `(N, C)`.
        loader: has a length and yields (images, labels). The loaders of `helpers.loaders` can
            resume within an epoch, others only at the start of one.
        optimizer: an optimizer for the parameters of `net`.
        epochs: total number of epochs, including those of a resumed checkpoint.
        loss_function: maps logits and labels to a 0-d tensor.
        checkpoint: file to write after every epoch, every `checkpoint_seconds`, and when
            interrupted. If None, nothing is written.
        resume: continue from `checkpoint`. On a CPU, the result is bitwise identical to that of an
            uninterrupted run.
        checkpoint_seconds: time between checkpoints within an epoch.
        report: called about every `report_seconds` with a `Progress`.
        report_seconds: time between reports.
        loss_steps: number of steps over which each loss in the history is averaged; 1/50 of an
            epoch if None.

    Returns:
        The `History`, including the part before the checkpoint.

    Raises:
        ValueError: `epochs` is not a positive integer, or the checkpoint is damaged or belongs to
            another run.
        FileNotFoundError: `resume` is set and there is no checkpoint.
        FloatingPointError: the loss is infinite or NaN.
        KeyboardInterrupt: training was interrupted; the checkpoint holds the last complete step.
    """
    if not isinstance(epochs, int) or isinstance(epochs, bool) or epochs < 1:
        raise ValueError(f"epochs must be an integer of at least 1, not {epochs!r}.")
    if resume and checkpoint is None:
        raise ValueError("resume=True needs a checkpoint to resume from: pass checkpoint=...")
    path = Path(checkpoint) if checkpoint else None
    run = _Run(net, loader, optimizer, loss_function, epochs, path, report)
    run.checkpoint_seconds, run.report_seconds = checkpoint_seconds, report_seconds
    run.loss_steps = loss_steps or max(1, run.history.steps_per_epoch // 50)
    if resume:
        run.restore()
    net.train()
    with defer_interrupt() as interrupted, fast_small_batches(run.device, loader):
        while run.epoch < epochs:
            run.train_epoch(interrupted)
    return run.history


class _Run:
    """The state of one call to `train`, which a checkpoint stores and restores."""

    checkpoint_seconds: float
    report_seconds: float
    loss_steps: int

    def __init__(
        self,
        net: nn.Module,
        loader: Any,
        optimizer: torch.optim.Optimizer,
        loss_function: Callable[[Tensor, Tensor], Tensor],
        epochs: int,
        path: Path | None,
        report: Callable[[Progress], None] | None,
    ) -> None:
        self.net, self.loader, self.optimizer = net, loader, optimizer
        self.loss_function, self.epochs, self.path, self.report = (
            loss_function,
            epochs,
            path,
            report,
        )
        self.device = device_of(net)
        self.history = History(steps_per_epoch=len(loader))
        self.epoch = 0  # completed epochs
        self.step = 0  # completed steps of the current epoch
        self.loss_sum = torch.zeros((), device=self.device)
        self.loss_count = 0
        self.fingerprint = checkpoints.fingerprint(net, optimizer, loader)
        # Resuming within an epoch needs a sampler that can start at any image.
        self.sampler = getattr(loader, "sampler", None)
        self.can_skip = hasattr(self.sampler, "start_at")

    def train_epoch(self, interrupted: threading.Event) -> None:
        """Train to the end of the current epoch."""
        if self.can_skip:
            self.sampler.start_at(self.epoch, self.step * self.loader.batch_size)
        self.since = last_save = last_report = time.perf_counter()
        for images, labels in self.loader:
            self._train_step(images, labels)
            now = time.perf_counter()
            if now - last_report > self.report_seconds:
                last_report = now
                self._report()
            if self.step == self.history.steps_per_epoch:
                break  # the loader may be endless; the epoch is complete
            if self.can_skip and now - last_save > self.checkpoint_seconds:
                self._save()
                last_save = time.perf_counter()
            if interrupted.is_set():
                if self.can_skip:
                    self._save()
                self._stop()
        if self.device.type != "cpu":
            torch.accelerator.synchronize(self.device)
        self._report()
        self.epoch, self.step = self.epoch + 1, 0
        self._save()
        if interrupted.is_set() and self.epoch < self.epochs:
            self._stop()

    def _train_step(self, images: Tensor, labels: Tensor) -> None:
        images = images.to(self.device, non_blocking=True)
        labels = labels.to(self.device, non_blocking=True)
        self.optimizer.zero_grad()
        loss = self.loss_function(self.net(images), labels)
        loss.backward()
        self.optimizer.step()
        # Summed on the device: .item() here would make every step wait for the GPU.
        self.loss_sum += loss.detach()
        self.loss_count += 1
        self.step += 1
        self.history.images += len(labels)
        if self.step % self.loss_steps == 0 or self.step == self.history.steps_per_epoch:
            self._append_loss()

    def _append_loss(self) -> None:
        loss = self.loss_sum.item() / self.loss_count
        steps = self.epoch * self.history.steps_per_epoch + self.step
        if not math.isfinite(loss):
            rates = ", ".join(f"{group['lr']:g}" for group in self.optimizer.param_groups)
            raise FloatingPointError(
                f"the loss is {loss} after {steps} steps: training diverged. "
                f"Create the network again and choose a learning rate below {rates}."
            )
        self.history.steps.append(steps)
        self.history.losses.append(loss)
        self.loss_sum.zero_()
        self.loss_count = 0

    def _report(self, note: str = "") -> None:
        now = time.perf_counter()
        self.history.seconds += now - self.since
        self.since = now
        if self.report:
            loss = self.history.losses[-1] if self.history.losses else math.nan
            self.report(
                Progress(
                    epoch=self.epoch + 1,
                    epochs=self.epochs,
                    step=self.step,
                    steps=self.history.steps_per_epoch,
                    loss=loss,
                    images_per_second=self.history.images_per_second,
                    seconds=self.history.seconds,
                    note=note,
                )
            )

    def _stop(self) -> None:
        note = f"stopped; saved in {self.path.name}" if self.path else "stopped"
        self._report(note)
        raise KeyboardInterrupt(f"training {note}")

    def _save(self) -> None:
        if self.path is None:
            return
        state = {
            "fingerprint": self.fingerprint,
            "net": self.net.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "epoch": self.epoch,
            "step": self.step,
            "loss_sum": self.loss_sum,
            "loss_count": self.loss_count,
            "history": vars(self.history),
            "random": checkpoints.random_state(self.device),
        }
        try:
            checkpoints.save(self.path, state)
        except OSError as error:
            # A full disk must not stop the training run.
            warnings.warn(
                f"no checkpoint was written: {error}. Training continues. To save one, free some "
                "disk space or choose another output folder.",
                stacklevel=2,
            )

    def restore(self) -> None:
        """Restore the state of the checkpoint."""
        state = checkpoints.load(self.path, self.device)
        checkpoints.check_fingerprint(state["fingerprint"], self.fingerprint, self.path)
        self.net.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.epoch, self.step = state["epoch"], state["step"]
        self.loss_sum, self.loss_count = state["loss_sum"], state["loss_count"]
        self.history = History(**state["history"])
        checkpoints.set_random_state(state["random"], self.device)
