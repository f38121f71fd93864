"""Train a network: the loop, its history, and checkpoints to resume from. It knows no network.

The loop is a few lines; what stands around it is for the long run: progress, a stop at a step's
end when it is interrupted, a loss that is no number any more, a lost machine.
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
from helpers.conditions import interrupt_deferred, quick_small_batches
from helpers.devices import device_of
from helpers.history import History, Progress

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
    """Train `net` on the device where it lies, for `epochs` passes over `loader`.

    Args:
        net: maps a batch of images to logits `(N, C)`.
        loader: sized, gives (images, labels); `helpers.loaders` resumes inside an epoch, another
            one only at an epoch's start.
        optimizer: made for the parameters of `net`.
        epochs: in all, those of a resumed checkpoint counted in.
        loss_function: of logits and labels, returns a 0-d tensor.
        checkpoint: file to write after every epoch, every `checkpoint_seconds`, and when
            interrupted. Without one, nothing is written.
        resume: go on from `checkpoint`; on a CPU this gives bit for bit the weights of a run that
            was never interrupted.
        report: called about every `report_seconds` with a `Progress`.
        loss_steps: steps over which a loss of the history is averaged; a fiftieth of an epoch if
            None.

    Returns:
        the `History`, that of the resumed part included.

    Raises:
        ValueError: `epochs` is no positive whole number, or the checkpoint is damaged or belongs to
            another run.
        FileNotFoundError: `resume` without a checkpoint.
        FloatingPointError: the loss is infinite or not a number.
        KeyboardInterrupt: interrupted; the checkpoint holds the last whole step.
    """
    if not isinstance(epochs, int) or isinstance(epochs, bool) or epochs < 1:
        raise ValueError(f"epochs must be a whole number of at least 1, not {epochs!r}.")
    if resume and checkpoint is None:
        raise ValueError("resume=True needs the checkpoint to resume from: checkpoint=...")
    path = Path(checkpoint) if checkpoint else None
    run = _Run(net, loader, optimizer, loss_function, epochs, path, report)
    run.checkpoint_seconds, run.report_seconds = checkpoint_seconds, report_seconds
    run.loss_steps = loss_steps or max(1, run.history.steps_per_epoch // 50)
    if resume:
        run.restore()
    net.train()
    with interrupt_deferred() as interrupted, quick_small_batches(run.device, loader):
        while run.epoch < epochs:
            run.train_epoch(interrupted)
    return run.history


class _Run:
    """The state of one call of `train`: what a checkpoint holds, and how to go on from there."""

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
        self.epoch = 0  # epochs that are done
        self.step = 0  # steps of the next epoch that are done
        self.loss_sum = torch.zeros((), device=self.device)
        self.loss_count = 0
        self.fingerprint = checkpoints.fingerprint(net, optimizer, loader)
        # Only a sampler that can start anywhere lets a checkpoint stand inside an epoch.
        self.sampler = getattr(loader, "sampler", None)
        self.can_skip = hasattr(self.sampler, "start_at")

    def train_epoch(self, interrupted: threading.Event) -> None:
        """Train to the end of the epoch that has begun."""
        if self.can_skip:
            self.sampler.start_at(self.epoch, self.step * self.loader.batch_size)
        self.since = saved = reported = time.perf_counter()
        for images, labels in self.loader:
            self._train_step(images, labels)
            now = time.perf_counter()
            if now - reported > self.report_seconds:
                reported = now
                self._tell()
            if self.step == self.history.steps_per_epoch:
                break  # what follows belongs to the next epoch
            if self.can_skip and now - saved > self.checkpoint_seconds:
                self._save()
                saved = time.perf_counter()
            if interrupted.is_set():
                if self.can_skip:
                    self._save()
                self._stop()
        if self.device.type != "cpu":
            torch.accelerator.synchronize(self.device)
        self._tell()
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
            self._note_loss()

    def _note_loss(self) -> None:
        loss = self.loss_sum.item() / self.loss_count
        steps = self.epoch * self.history.steps_per_epoch + self.step
        if not math.isfinite(loss):
            rates = ", ".join(f"{group['lr']:g}" for group in self.optimizer.param_groups)
            raise FloatingPointError(
                f"the loss is {loss} after {steps} steps: training has diverged. "
                f"Make the network anew and choose a learning rate below {rates}."
            )
        self.history.steps.append(steps)
        self.history.losses.append(loss)
        self.loss_sum.zero_()
        self.loss_count = 0

    def _tell(self, note: str = "") -> None:
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
        note = f"stopped; {self.path.name} keeps the work" if self.path else "stopped"
        self._tell(note)
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
            # A disk that is full costs the checkpoint, not the training.
            warnings.warn(
                f"no checkpoint was written: {error}. Training goes on; to keep it, free some "
                "space or name another output folder.",
                stacklevel=2,
            )

    def restore(self) -> None:
        """Take up training where the checkpoint stands."""
        state = checkpoints.load(self.path, self.device)
        checkpoints.check_fingerprint(state["fingerprint"], self.fingerprint, self.path)
        self.net.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.epoch, self.step = state["epoch"], state["step"]
        self.loss_sum, self.loss_count = state["loss_sum"], state["loss_count"]
        self.history = History(**state["history"])
        checkpoints.set_random_state(state["random"], self.device)
