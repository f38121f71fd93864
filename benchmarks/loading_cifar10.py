"""Loading CIFAR-10 as tensors: the course's `cifar10.load` compared with ImageFolder.

Baseline: the same files, unpacked beforehand, decoded one by one through
`torchvision.datasets.ImageFolder` and stacked into one uint8 tensor. It is compared with two
calls of `load` on the archive: the first one unpacks, decodes and fills the cache, and the second
one reads the cache. The benchmark checks that all three return the same pixels. The files are in
the system's page cache from the previous round, so disk speed is not measured.
"""

import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import PIL
import torch
from torchvision.datasets import ImageFolder
from torchvision.transforms import PILToTensor

from benchmarks._recording import Results
from helpers import cifar10
from helpers.cifar10 import Images

DESCRIPTION = "loading all of CIFAR-10 as uint8 tensors"
BASELINE = "ImageFolder, one by one"
ROUNDS = 5


def measure(cifar10_root: Path | str) -> Results:
    """Return the seconds of each variant, and its speedup over ImageFolder.

    Raises:
        ValueError: `cifar10_root` has no image folders for ImageFolder to read.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folders = _image_folders(Path(cifar10_root), Path(scratch, "unpacked"))
        cache = Path(scratch, "cache")

        def load() -> tuple[Images, Images]:
            dataset = cifar10.load(cifar10_root, cache=cache)
            return dataset.train, dataset.test

        variants = {
            BASELINE: lambda: _load_with_image_folder(folders),
            "load, first time": load,
            "load, from the cache": load,
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
                for split, other in zip(splits, expected, strict=True):
                    assert all(map(torch.equal, split, other)), "pixels or labels differ"
        provenance = cifar10.load(cifar10_root, cache=cache).provenance
    results = {
        "data": provenance,
        "baseline": BASELINE,
        **_summary("", seconds),
        **_summary("cpu_", cpu_seconds),  # excludes other programs on the machine
        "same_pixels": True,
        "rounds": ROUNDS,
        "pillow": PIL.__version__,
    }
    return {torch.device("cpu"): results}


def _summary(prefix: str, seconds: dict[str, list[float]]) -> dict[str, Any]:
    """Return the median seconds, and the speedups over the baseline."""
    times = {name: values[1:] for name, values in seconds.items()}  # the first round is the warm-up
    ratios = {
        name: [base / value for base, value in zip(times[BASELINE], values, strict=True)]
        for name, values in times.items()
    }
    return {
        f"{prefix}seconds": {n: round(statistics.median(v), 2) for n, v in times.items()},
        f"{prefix}ratio_median": {n: round(statistics.median(v), 2) for n, v in ratios.items()},
        f"{prefix}ratio_range": {
            n: [round(min(v), 2), round(max(v), 2)] for n, v in ratios.items()
        },
    }


def _image_folders(root: Path, unpacked: Path) -> Path:
    """Return the folder that contains `train` and `test`; unpack `root` if it is an archive."""
    if root.is_dir():
        unpacked = root
    else:
        shutil.unpack_archive(root, unpacked)
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
