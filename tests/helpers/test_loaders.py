"""The loader yields torchvision's values in a reproducible order and resumes from any image."""

import pytest
import torch
from PIL import Image
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


@pytest.mark.parametrize("batch_size", [1, 7, CHUNK_ON_CPU, CHUNK_ON_CPU + 1])
def test_resident_loader_visits_every_image_once(batch_size):
    images, _ = make_images(2 * CHUNK_ON_CPU + 10)
    labels = torch.arange(len(images))
    batches = list(ResidentLoader(images[:, :, :1, :1], labels, batch_size))
    assert len(batches) == len(ResidentLoader(images, labels, batch_size))
    assert all(len(y) == batch_size for _, y in batches[:-1])
    assert torch.equal(torch.cat([y for _, y in batches]).sort().values, labels)


def test_batches_are_the_images_in_the_order_of_the_epoch():
    images, labels = make_images(30)
    order = EpochOrder(30, seed=5).indices()
    batches = list(ResidentLoader(images, labels, 4, seed=5))
    assert torch.equal(torch.cat([x for x, _ in batches]), normalize(images[order]))
    assert torch.equal(torch.cat([y for _, y in batches]), labels[order])


def test_order_depends_only_on_the_seed_and_the_epoch():
    orders = {}
    for seed, epoch in ((0, 0), (0, 1), (1, 0), (1, 1), (0, 0)):
        order = EpochOrder(100, seed=seed)
        order.start_at(epoch)
        torch.rand(1)
        found = tuple(order.indices().tolist())
        assert orders.setdefault((seed, epoch), found) == found
    assert len(set(orders.values())) == 4


@pytest.mark.parametrize("skip", [12, 40])
def test_epoch_resumed_in_the_middle_continues_with_the_same_batches(skip):
    loader = ResidentLoader(*make_images(40), 4)
    whole = [y for _, y in loader]
    loader.sampler.start_at(0, skip=skip)
    rest = [y for _, y in loader]
    assert len(rest) == 10 - skip // 4
    assert all(torch.equal(a, b) for a, b in zip(whole[skip // 4 :], rest, strict=True))


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (make_images(4)[0], torch.arange(3), "4 images and 3 labels"),
        (make_images(4)[0].float(), torch.arange(4), r"must be uint8.*torch\.float32"),
    ],
)
def test_invalid_input_is_refused(images, labels, message):
    with pytest.raises(ValueError, match=message):
        ResidentLoader(images, labels, 2)
