"""Synthetic images are the same everywhere, and none is drawn twice."""

import hashlib

import torch

from helpers.cifar10.synthetic_images import CLASSES, generate


def test_the_images_are_the_same_on_every_machine():
    """Update the checksum only after changing the drawings on purpose."""
    digest = hashlib.sha256()
    for split in generate(300, 100, seed=3):
        digest.update(split.images.numpy())
        digest.update(split.labels.numpy())
    assert digest.hexdigest()[:16] == "34c07514b1df0af7"


def test_splits_have_the_types_of_cifar10_and_equally_frequent_classes():
    assert len(CLASSES) == 10
    splits = generate(4000, 1000)
    train, test = ({image.numpy().tobytes() for image in split.images} for split in splits)
    assert len(train) == 4000
    assert not train & test
    for split, count in zip(splits, (4000, 1000), strict=True):
        assert split.images.shape == (count, 3, 32, 32)
        assert (split.images.dtype, split.labels.dtype) == (torch.uint8, torch.int64)
        assert torch.bincount(split.labels).tolist() == [count // 10] * 10


def test_draws_any_number_of_images_without_torchs_generator():
    state = torch.get_rng_state()
    train, test = generate(0, 3)
    assert (len(train.images), len(test.labels)) == (0, 3)
    assert not torch.equal(test.images, generate(0, 3, seed=2)[1].images)
    assert torch.equal(torch.get_rng_state(), state)
