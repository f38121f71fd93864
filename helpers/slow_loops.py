"""Three training loops with one performance mistake each, to find by profiling (lesson 08)."""

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional as F
from torch.profiler import record_function as part

from helpers.loaders import normalize
from helpers.networks import ClassicNet


def loop_a(images: Tensor, labels: Tensor, device: torch.device, steps: int) -> None:
    """Train the classic network on a batch of uint8 images `(64, 3, 32, 32)`."""
    images, labels = images.to(device), labels.to(device)
    net = ClassicNet().to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    total_loss, total_correct = 0.0, 0
    for _ in range(steps):
        with part("data"):
            inputs, targets = normalize(images), labels
        with part("forward"):
            scores = net(inputs)
            loss = F.cross_entropy(scores, targets)
        _update(loss, optimizer)
        with part("log"):
            total_loss += loss.item()
            total_correct += (scores.argmax(1) == targets).sum().item()


def loop_b(images: Tensor, labels: Tensor, device: torch.device, steps: int) -> None:
    """Train as `loop_a` does, on images that are randomly rotated and flipped."""
    net = ClassicNet().to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    total_loss = torch.zeros((), device=device)
    random = np.random.default_rng(0)
    for _ in range(steps):
        with part("data"):
            augmented = []
            for pixels in images.numpy():
                image = Image.fromarray(pixels.transpose(1, 2, 0))
                image = image.rotate(random.uniform(-15, 15), Image.Resampling.BICUBIC)
                if random.random() < 0.5:
                    image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
                augmented.append(np.asarray(image).transpose(2, 0, 1))
            batch = torch.from_numpy(np.stack(augmented))
            inputs, targets = normalize(batch.to(device)), labels.to(device)
        with part("forward"):
            loss = F.cross_entropy(net(inputs), targets)
        _update(loss, optimizer)
        with part("log"):
            total_loss += loss.detach()


def loop_c(images: Tensor, labels: Tensor, device: torch.device, steps: int) -> None:
    """Train as `loop_a` does, with a loss that weights each image."""
    images, labels = images.to(device), labels.to(device)
    net = ClassicNet().to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    total_loss = torch.zeros((), device=device)
    weights = torch.ones(len(labels), device=device)
    for _ in range(steps):
        with part("data"):
            inputs, targets = normalize(images), labels
        with part("forward"):
            scores = net(inputs)
            loss = torch.zeros((), device=device)
            for i in range(len(targets)):
                loss = loss + weights[i] * F.cross_entropy(scores[i : i + 1], targets[i : i + 1])
            loss = loss / len(targets)
        _update(loss, optimizer)
        with part("log"):
            total_loss += loss.detach()


def _update(loss: Tensor, optimizer: torch.optim.Optimizer) -> None:
    with part("backward"):
        loss.backward()
    with part("optimizer"):
        optimizer.step()
        optimizer.zero_grad()
