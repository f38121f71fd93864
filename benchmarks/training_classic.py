"""The classic network at batch 4 on the CPU: the course's loop against the classic script.

Baseline: the script as published, from torchvision's data set to `loss.item()` in each step: images
prepared one by one with PIL, a DataLoader with 2 worker processes, and torch's defaults. It is
compared with the course's `train` with its `ResidentLoader`; both include data loading. Runs
alternate, so that a change of the machine's speed affects both; ratios are taken pair by pair.
"""

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

from benchmarks._recording import merged, ratios, record
from helpers import cifar10
from helpers.loaders import ResidentLoader, worker_loader
from helpers.networks import ClassicNet
from helpers.training import train

NAME = "training_classic"
BATCH_SIZE = 4
IMAGES = 2_400  # per run; a multiple of the batch size
ROUNDS = 9


def measure(cifar10_root: Path) -> dict[str, object]:
    """Return median images per second of each way, and its median ratio to the classic script."""
    dataset = cifar10.load(cifar10_root)
    images, labels = dataset.train
    part = images[:IMAGES], labels[:IMAGES]
    published = _as_torchvision_dataset(*part)
    ways: dict[str, Callable[[], None]] = {
        "classic script": lambda: _classic(published),
        "course, resident loader": lambda: _course(ResidentLoader(*part, BATCH_SIZE)),
        "course, resident loader, fused SGD": lambda: _course(
            ResidentLoader(*part, BATCH_SIZE), fused=True
        ),
        "course, DataLoader with 2 workers": lambda: _course(worker_loader(*part, BATCH_SIZE)),
    }
    speeds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS + 1):
        for name, way in ways.items():
            torch.manual_seed(0)
            started = time.perf_counter()
            way()
            speeds[name].append(IMAGES / (time.perf_counter() - started))
    speeds = {name: values[1:] for name, values in speeds.items()}  # the first round is the warm-up
    figures = {
        "data": dataset.provenance,
        "batch_size": BATCH_SIZE,
        "images_per_run": IMAGES,
        "baseline": "classic script",
        "images_per_second": {n: round(statistics.median(v)) for n, v in speeds.items()},
        **ratios(speeds, "classic script"),
        "rounds": ROUNDS,
        "command": f"python -m benchmarks {NAME}",
    }
    what = "training the classic network with batches of 4, including data loading"
    return merged(NAME, what, [record(torch.device("cpu"), figures)])


def _as_torchvision_dataset(images: torch.Tensor, labels: torch.Tensor) -> datasets.CIFAR10:
    # torchvision stores CIFAR-10 as one NumPy array and makes a PIL image of a row on request. Its
    # constructor needs the original files, so it is not called.
    published = datasets.CIFAR10.__new__(datasets.CIFAR10)
    published.data = images.permute(0, 2, 3, 1).contiguous().numpy()
    published.targets = labels.tolist()
    published.target_transform = None
    published.transform = transforms.Compose(
        [transforms.ToTensor(), transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))]
    )
    return published


def _classic(published: datasets.CIFAR10) -> None:
    loader = DataLoader(published, batch_size=BATCH_SIZE, shuffle=True, num_workers=2)
    net = ClassicNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
    running_loss = 0.0
    for i, data in enumerate(loader, 0):
        inputs, targets = data
        optimizer.zero_grad()
        loss = criterion(net(inputs), targets)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
        if i % 2000 == 1999:
            running_loss = 0.0


def _course(loader: object, fused: bool | None = None) -> None:
    net = ClassicNet()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9, fused=fused)
    train(net, loader, optimizer, epochs=1, report=lambda progress: None)
