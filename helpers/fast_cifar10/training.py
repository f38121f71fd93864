"""Train and evaluate lesson 06's network, and measure the training time."""

import math
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional as F

from helpers.devices import synchronize
from helpers.fast_cifar10.augmentation import augment, augmented_views, batches, on_device
from helpers.fast_cifar10.network import FastNet, whitening_filters
from helpers.fast_cifar10.optimizers import make_optimizers, orthogonalize, set_learning_rates
from helpers.fast_cifar10.recipes import Settings


@dataclass
class Run:
    """Measurements of a training run; `seconds` excludes compilation and evaluation."""

    seconds: float = 0.0
    steps: int = 0
    images: int = 0
    loss: float = math.nan  # mean of the last batch


class Trainer:
    """Trains one network repeatedly from new weights, so that it is compiled only once.

    Keeps images, uint8 `(N, 3, 32, 32)`, and labels, int64 `(N,)`, on `device`.
    """

    def __init__(
        self, settings: Settings, images: Tensor, labels: Tensor, device: torch.device | str
    ) -> None:
        self.settings, self.device = settings, torch.device(device)
        self.images, self.labels = on_device(images, labels, self.device)
        self.batch_size = min(settings.batch_size, len(labels))
        self.net = FastNet(settings).to(self.device, memory_format=torch.channels_last)

        self._compiled_loss, self._predict_batch = self._loss, self.net
        self._augment, self._orthogonalize = augment, orthogonalize
        if settings.compiled:
            self._compiled_loss = torch.compile(self._loss, mode="max-autotune", dynamic=False)
            self._predict_batch = torch.compile(self.net, mode="max-autotune", dynamic=False)
            self._augment = torch.compile(augment, dynamic=False)
            self._orthogonalize = torch.compile(orthogonalize, dynamic=False)

    def warm_up(self) -> float:
        """Compile and warm up with a few steps and predictions; return the time in seconds."""
        started = time.perf_counter()
        self.run(steps=10 if self.settings.compiled else 3)
        for views in (False, True):
            self.predict(self.images[: self.batch_size], views=views)
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
        """Train from new weights, for the epochs of the settings, `steps`, or `seconds`.

        The learning rates decay linearly to zero at the end of the run, even if its length is given
        in seconds. `seed` determines the weights, the order, and the augmentation. `observe` is
        called `observations` times at equal intervals, last at the end; its time is not counted.

        Raises:
            FloatingPointError: the loss is not a number.
        """
        torch.manual_seed(seed)
        settings, run = self.settings, Run()
        per_epoch = max(1, len(self.labels) // settings.batch_size)
        steps = steps or max(1, round(settings.epochs * per_epoch))
        self.net.reset()
        self.net.train()
        optimizers = make_optimizers(self.net, settings, self.batch_size, self._orthogonalize)
        synchronize(self.device)
        started = time.perf_counter()
        if settings.whiten:
            self._whiten()
        done, observed = 0.0, 0
        for x, y in batches(self.images, self.labels, settings, self._augment):
            loss = self._backward(x, y, done)
            for optimizer in optimizers:
                set_learning_rates(optimizer, done, lr_decay=settings.lr_decay)
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
        raise AssertionError("batches are endless")

    @torch.no_grad()
    def predict(self, images: Tensor, *, views: bool = True) -> Tensor:
        """Return logits `(N, 10)` for uint8 `images`, `(N, 32, 32, 3)` on the trainer's device.

        With `views`, they are averaged over six views of each image (test-time augmentation).
        """
        self.net.eval()
        parts = []
        for batch in images.split(self.settings.batch_size):
            logits = torch.zeros(len(batch), 10, device=self.device)
            with self._autocast():
                for weight, x in augmented_views(batch, views=views, augment=self._augment):
                    logits += weight * self._predict_batch(x).float()
            parts.append(logits)
        return torch.cat(parts)

    def accuracy(self, images: Tensor, labels: Tensor, *, views: bool = True) -> float:
        """Return the accuracy, from 0 to 1; images and labels are in the format of `on_device`."""
        correct = self.predict(images, views=views).argmax(1) == labels
        return correct.double().mean().item()

    def _loss(self, x: Tensor, y: Tensor, first_biases: bool) -> Tensor:
        # reduction="sum": the gradients of a mean over thousands of images underflow in float16.
        smoothing = self.settings.label_smoothing
        logits = self.net(x, first_biases).float()
        return F.cross_entropy(logits, y, label_smoothing=smoothing, reduction="sum")

    def _backward(self, x: Tensor, y: Tensor, done: float) -> Tensor:
        with self._autocast():
            loss = self._compiled_loss(x, y, done < self.settings.first_biases_until)
        loss.backward()
        return loss.detach()

    def _whiten(self) -> None:
        sample = self.images[:: max(1, len(self.images) // 2000)]
        _, x = next(augmented_views(sample, views=False))
        filters = whitening_filters(x, self.settings.kernel)[: self.settings.directions]
        self.net.whiten.weight.data.copy_(torch.cat((filters, -filters)))

    def _autocast(self) -> torch.autocast | nullcontext[None]:
        if self.settings.precision == "float32":
            return nullcontext()
        return torch.autocast(self.device.type, getattr(torch, self.settings.precision))


def _finite(loss: float, steps: int, settings: Settings) -> float:
    if not math.isfinite(loss):
        raise FloatingPointError(
            f"the loss is {loss} after {steps} steps: training diverged. "
            f"Choose a muon_lr below {settings.muon_lr:g}, or precision='float32'."
        )
    return loss
