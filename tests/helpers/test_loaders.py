"""The loader yields torchvision's values in a reproducible order and resumes from any image."""

import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, TensorDataset
from torchvision import transforms

from helpers.loaders import CHUNK_ON_CPU, EpochOrder, ResidentLoader, normalize


def make_images(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (count, 3, 32, 32), dtype=torch.uint8, generator=generator)
    return images, torch.arange(count) % 10


def test_normalize_matches_torchvisions_transforms():
    images, _ = make_images(5)
    transform = transforms.Compose(
        [transforms.ToTensor(), transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))]
    )
    expected = [transform(Image.fromarray(image.permute(1, 2, 0).numpy())) for image in images]
    assert torch.equal(normalize(images), torch.stack(expected))


@pytest.mark.parametrize("batch_size", [1, 4, 7, CHUNK_ON_CPU - 1, CHUNK_ON_CPU, CHUNK_ON_CPU + 1])
def test_resident_loader_visits_every_image_once(batch_size):
    images, _ = make_images(2 * CHUNK_ON_CPU + 10)
    labels = torch.arange(len(images))
    batches = list(ResidentLoader(images[:, :, :1, :1], labels, batch_size))
    assert len(batches) == len(ResidentLoader(images, labels, batch_size))
    assert all(len(y) == batch_size for _, y in batches[:-1])
    assert torch.equal(torch.cat([y for _, y in batches]).sort().values, labels)


def test_images_stay_with_their_labels():
    images, _ = make_images(50)
    for x, y in ResidentLoader(images, torch.arange(50), 8, seed=3):
        assert torch.equal(x, normalize(images[y]))


@pytest.mark.parametrize("workers", [0, 2])
def test_gives_the_batches_of_a_data_loader_with_the_same_order(workers):
    images, labels = make_images(30)
    resident = ResidentLoader(images, labels, 4, seed=5)
    dataset = TensorDataset(normalize(images), labels)
    loader = DataLoader(dataset, 4, sampler=EpochOrder(30, seed=5), num_workers=workers)
    for (x1, y1), (x2, y2) in zip(resident, loader, strict=True):
        assert torch.equal(x1, x2)
        assert torch.equal(y1, y2)


def test_order_differs_between_epochs_and_seeds():
    orders = {}
    for seed in (0, 1):
        order = EpochOrder(100, seed=seed)
        for epoch in (0, 1):
            order.start_at(epoch)
            orders[seed, epoch] = tuple(order)
    assert len(set(orders.values())) == 4


def test_order_does_not_depend_on_torchs_global_generator():
    torch.manual_seed(1)
    first = list(EpochOrder(100))
    torch.manual_seed(2)
    assert list(EpochOrder(100)) == first


def test_epoch_resumed_in_the_middle_continues_with_the_same_batches():
    loader = ResidentLoader(*make_images(40), 4)
    whole = [y for _, y in loader]
    loader.sampler.start_at(0, skip=12)
    rest = [y for _, y in loader]
    assert len(rest) == 7
    assert all(torch.equal(a, b) for a, b in zip(whole[3:], rest, strict=True))


def test_epoch_resumed_at_its_end_has_no_batch():
    loader = ResidentLoader(*make_images(8), 4)
    loader.sampler.start_at(0, skip=8)
    assert list(loader) == []


@pytest.mark.parametrize("batch_size", [0, -4, 2.5, "4", True])
def test_invalid_batch_size_is_refused(batch_size):
    with pytest.raises(ValueError, match="batch_size must be an integer of at least 1"):
        ResidentLoader(*make_images(4), batch_size)


def test_labels_that_do_not_match_the_images_are_refused():
    images, labels = make_images(4)
    with pytest.raises(ValueError, match="differ in number: 4 and 3"):
        ResidentLoader(images, labels[:3], 2)


def test_images_that_are_already_converted_are_refused():
    images, labels = make_images(4)
    with pytest.raises(ValueError, match=r"must be uint8.*torch\.float32"):
        ResidentLoader(images.float(), labels, 2)
