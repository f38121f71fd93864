"""Loading CIFAR-10 as tensors: the course's `cifar10.load` compared with ImageFolder.

Baseline: the same files, unpacked beforehand, decoded one by one through
`torchvision.datasets.ImageFolder` and stacked into one uint8 tensor. It is compared with two
calls of `load` on the archive: the first one unpacks, decodes and fills the cache, and the second
one reads the cache. The benchmark checks that all three return the same pixels. The files are in
the system's page cache from the previous round, so disk speed is not measured.
"""

import datetime
import os
import platform
import shutil
import statistics
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import PIL
import torch
from torchvision.datasets import ImageFolder
from torchvision.transforms import PILToTensor

from benchmarks._recording import ratios
from helpers import cifar10
from helpers.cifar10 import Images

BASELINE = "ImageFolder, one by one"
ROUNDS = 5


def measure(cifar10_root: Path) -> dict[str, object]:
    """Return the seconds of each variant, and its speedup over ImageFolder.

    Raises:
        ValueError: `cifar10_root` has no image folders for ImageFolder to read.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folders = _image_folders(cifar10_root, Path(scratch) / "unpacked")
        cache = Path(scratch) / "cache"
        variants: dict[str, Callable[[], tuple[Images, Images]]] = {
            BASELINE: lambda: _load_with_image_folder(folders),
            "load, first time": lambda: _load(cifar10_root, cache),
            "load, from the cache": lambda: _load(cifar10_root, cache),
        }
        seconds: dict[str, list[float]] = {name: [] for name in variants}
        cpu_seconds: dict[str, list[float]] = {name: [] for name in variants}
        for _ in range(ROUNDS + 1):
            expected = None
            shutil.rmtree(cache, ignore_errors=True)
            for name, variant in variants.items():
                start, cpu_start = time.perf_counter(), time.process_time()
                splits = variant()
                seconds[name].append(time.perf_counter() - start)
                cpu_seconds[name].append(time.process_time() - cpu_start)
                expected = expected or splits
                _assert_equal(splits, expected)
        provenance = cifar10.load(cifar10_root, cache=cache).provenance
    # The first round is the warm-up. Processor time excludes other programs on the machine.
    times = {n: v[1:] for n, v in seconds.items()}
    cpu_times = {n: v[1:] for n, v in cpu_seconds.items()}
    return {
        "what": "loading all of CIFAR-10 as uint8 tensors",
        "data": provenance,
        "baseline": BASELINE,
        "seconds": {n: round(statistics.median(v), 2) for n, v in times.items()},
        **ratios(_speeds(times), BASELINE),
        "cpu_seconds": {n: round(statistics.median(v), 2) for n, v in cpu_times.items()},
        **{f"cpu_{key}": v for key, v in ratios(_speeds(cpu_times), BASELINE).items()},
        "same_pixels": True,
        "rounds": ROUNDS,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "torch": torch.__version__,
        "pillow": PIL.__version__,
        "date": datetime.date.today().isoformat(),
    }


def _speeds(seconds: dict[str, list[float]]) -> dict[str, list[float]]:
    return {name: [1 / value for value in values] for name, values in seconds.items()}


def _image_folders(root: Path, unpacked: Path) -> Path:
    """Return the folder that contains `train` and `test`; unpack `root` if it is an archive."""
    if root.is_dir():
        unpacked = root
    elif tarfile.is_tarfile(root):
        with tarfile.open(root) as archive:
            archive.extractall(unpacked, filter="data")
    elif zipfile.is_zipfile(root):
        with zipfile.ZipFile(root) as archive:
            archive.extractall(unpacked)
    for folder in (unpacked, *sorted(unpacked.glob("*"))):
        if (folder / "train").is_dir() and (folder / "test").is_dir():
            return folder
    raise ValueError(f"{root} has no image folders train and test; ImageFolder needs them.")


def _load_with_image_folder(folders: Path) -> tuple[Images, Images]:
    splits = []
    for split in ("train", "test"):
        images, labels = zip(*ImageFolder(folders / split, PILToTensor()), strict=True)
        splits.append(Images(torch.stack(images), torch.tensor(labels)))
    return splits[0], splits[1]


def _load(root: Path, cache: Path) -> tuple[Images, Images]:
    dataset = cifar10.load(root, cache=cache)
    return dataset.train, dataset.test


def _assert_equal(splits: tuple[Images, Images], expected: tuple[Images, Images]) -> None:
    for split, other in zip(splits, expected, strict=True):
        assert torch.equal(split.images, other.images), "the pixels differ"
        assert torch.equal(split.labels, other.labels), "the labels differ"
