"""The types of a loaded dataset, and checks whether its images could be CIFAR-10."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from helpers.language import translate

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
IMAGE_SHAPE = (3, 32, 32)

OFFICIAL_ARCHIVE = "cifar-10-python.tar.gz"
# The files in the official archive with their MD5, as in torchvision.datasets.CIFAR10.
OFFICIAL_BATCHES = {
    "data_batch_1": "c99cafc152244af753f735de768cd75f",
    "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "data_batch_4": "634d18415352ddfa80567beed471001a",
    "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    "test_batch": "40351d587109b95175f43aff81a1287e",
    "batches.meta": "5ff9c542aee3614f3951f8cda6e48888",
}


class DataError(ValueError):
    """The requested images are not available; the message gives the reason and a fix."""


class Images(NamedTuple):
    """`images`, uint8 `(N, 3, 32, 32)`, and their `labels`, int64 `(N,)`."""

    images: Tensor
    labels: Tensor


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Training images, test images, and where they came from."""

    name: str  # "CIFAR-10" or "synthetic images"
    classes: tuple[str, ...]  # the name of each label, ordered by label
    train: Images
    test: Images
    provenance: str  # where the images came from, as one sentence
    synthetic: bool  # whether the images are synthetic, not CIFAR-10

    def __repr__(self) -> str:  # the tensors would fill the page
        train, test = len(self.train.labels), len(self.test.labels)
        return f"<{self.name}: {train:,} training and {test:,} test images>"


class Contents(NamedTuple):
    """The images in one file or folder, and the name of its layout."""

    train: Images
    test: Images
    layout: str

    @property
    def counts(self) -> str:
        """The number of images, and whether they are a subset of CIFAR-10."""
        train, test = len(self.train.labels), len(self.test.labels)
        if (train, test) == (50_000, 10_000):
            return translate("60,000 images")
        return translate(
            "a subset of {train:,} training and {test:,} test images", train=train, test=test
        )


def check_labels(split: str, labels: Tensor) -> None:
    """Raise DataError unless all classes have the same number of images, and at least one.

    An intentional subset of CIFAR-10 keeps the classes balanced; an incomplete copy does not.
    """
    if len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < len(CLASSES):
        raise DataError(f"the {split} labels are not all between 0 and {len(CLASSES) - 1}.")
    counts = dict(zip(CLASSES, torch.bincount(labels, minlength=10).tolist(), strict=True))
    if missing := ", ".join(name for name, count in counts.items() if count == 0):
        advice = "All ten classes are needed; the copy may be incomplete."
        raise DataError(f"there are no {split} images of: {missing}. {advice}")
    if len(set(counts.values())) > 1:
        text = ", ".join(f"{name} {count:,}" for name, count in counts.items())
        advice = "All classes need the same number; the copy may be incomplete."
        raise DataError(f"the classes have different numbers of {split} images ({text}). {advice}")
