"""Synthetic images are the same everywhere; the classic network learns them in two epochs."""

import hashlib

import pytest
import torch
from torch.nn import functional as F

from helpers.evaluation import evaluate
from helpers.loaders import ResidentLoader
from helpers.networks import ClassicNet
from helpers.synthetic_images import CLASSES, generate


@pytest.fixture(autouse=True)
def one_thread():
    """Use one thread: with such small tensors, several threads mostly wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def synthetic_data():
    return generate(4000, 1000)


def test_the_images_are_the_same_on_every_machine():
    """Update the checksum only after changing the drawings on purpose."""
    digest = hashlib.sha256()
    for split in generate(300, 100, seed=3):
        digest.update(split.images.numpy())
        digest.update(split.labels.numpy())
    assert digest.hexdigest()[:16] == "34c07514b1df0af7"


def test_the_classic_settings_learn_within_two_epochs(synthetic_data):
    """The settings of lesson 04: the loss falls well below that of guessing, 2.303."""
    train, test = synthetic_data
    torch.manual_seed(0)
    net = ClassicNet()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
    loader = ResidentLoader(*train, 4)
    for epoch in range(2):
        loader.sampler.start_at(epoch)
        losses = []
        for images, labels in loader:
            loss = F.cross_entropy(net(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert sum(losses[-500:]) / 500 < 1.8
    assert evaluate(net, ResidentLoader(*test, 500, shuffle=False)).accuracy > 0.35


def test_splits_have_the_types_of_cifar10_and_equally_frequent_classes(synthetic_data):
    assert len(CLASSES) == 10
    train, test = ({image.numpy().tobytes() for image in split.images} for split in synthetic_data)
    assert len(train) == 4000
    assert not train & test
    for split, count in zip(synthetic_data, (4000, 1000), strict=True):
        assert split.images.shape == (count, 3, 32, 32)
        assert (split.images.dtype, split.labels.dtype) == (torch.uint8, torch.int64)
        assert torch.bincount(split.labels).tolist() == [count // 10] * 10


def test_draws_any_number_of_images_without_torchs_generator():
    state = torch.get_rng_state()
    train, test = generate(0, 3)
    assert (len(train.images), len(test.labels)) == (0, 3)
    assert not torch.equal(test.images, generate(0, 3, seed=2)[1].images)
    assert torch.equal(torch.get_rng_state(), state)
