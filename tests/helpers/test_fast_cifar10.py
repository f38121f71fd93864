"""Lesson 06's network, augmentation, Muon and trainer work as the lesson describes."""

from dataclasses import replace

import pytest
import torch

import simulated_cuda
from helpers.cifar10 import synthetic_images
from helpers.fast_cifar10 import augmentation, training
from helpers.fast_cifar10.augmentation import augment, augmented_views, batches, on_device
from helpers.fast_cifar10.network import FastNet, whitening_filters
from helpers.fast_cifar10.optimizers import Muon, orthogonalize
from helpers.fast_cifar10.recipes import ABLATIONS, CPU, GPU, ablate, active_techniques
from helpers.fast_cifar10.training import Trainer
from helpers.fast_cifar10.winograd import SIZES, conv3x3

TINY = replace(CPU, widths=(8, 8, 8), directions=None, batch_size=50, epochs=2, muon_lr=0.1)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.fixture(scope="module")
def synthetic_data():
    return synthetic_images.generate(train=400, test=200)


@pytest.fixture
def numbered_image():
    """One image whose pixel at (row, column) is 7 * row + column, in all channels."""
    rows, columns = torch.meshgrid(torch.arange(32), torch.arange(32), indexing="ij")
    return (7 * rows + columns).to(torch.uint8)[None, :, :, None].expand(1, 32, 32, 3).contiguous()


@pytest.mark.parametrize(("size", "settings"), [(32, GPU), (32, CPU), (24, CPU)])
def test_images_of_any_size_become_ten_logits(size, settings):
    net = FastNet(replace(settings, widths=(8, 8, 8)))
    assert net(torch.zeros(2, 3, size, size)).shape == (2, 10)


@pytest.mark.parametrize("size", SIZES)
def test_fewer_multiplications_give_the_same_convolution_and_gradients(size):
    x, weight = torch.randn(3, 5, size, size), torch.randn(7, 5, 3, 3)
    leaves = [x.requires_grad_(), weight.requires_grad_()]
    results = [
        (y, *torch.autograd.grad(y.sin().sum(), leaves))
        for y in (torch.nn.functional.conv2d(x, weight, padding=1), conv3x3(x, weight))
    ]
    for expected, found in zip(*results, strict=True):
        assert torch.allclose(found, expected, atol=1e-3)


def test_whitened_patches_are_uncorrelated_with_equal_variance():
    images, _ = on_device(*synthetic_images.generate(train=300, test=0)[0], "cpu")
    ((_, x),) = augmented_views(images, views=False)
    filters = whitening_filters(x, 3, floor=0.0)
    outputs = torch.nn.functional.conv2d(x, filters).permute(0, 2, 3, 1).reshape(-1, 27)
    second_moments = outputs.T @ outputs / len(outputs)
    assert torch.allclose(second_moments, torch.eye(27), atol=0.02)


@pytest.mark.parametrize("shift", [(0, 0), (-1, 2)])
@pytest.mark.parametrize("mirrored", [False, True])
def test_shifted_image_is_a_crop_of_the_padded_image(numbered_image, shift, mirrored):
    image = numbered_image[:, :, :, 0].float()
    image = image.flip(2) if mirrored else image
    padded = torch.nn.functional.pad(image[None], (2,) * 4, "reflect")[0, 0]
    top, left = 2 + shift[0], 2 + shift[1]
    crop = padded[top : top + 32, left : left + 32]
    flags = torch.tensor([mirrored])
    x = augment(numbered_image, torch.tensor([0]), flags, torch.tensor([shift]))
    pixels = 255 * (x[0, 0] * augmentation.STD[0] + augmentation.MEAN[0])
    assert torch.equal(pixels.round(), crop)


@pytest.mark.parametrize("shape", [(16, 40), (40, 16)])
def test_orthogonalize_brings_singular_values_near_one(shape):
    matrices = 1e6 * torch.randn(1, *shape)  # beyond the range of float16
    values = torch.linalg.svdvals(orthogonalize(matrices, steps=5)[0])
    assert 0.5 < values.min() < values.max() < 1.5
    with simulated_cuda.simulated():
        result = orthogonalize(matrices.to("cuda"), steps=5).cpu()
    assert result.dtype == torch.float16
    assert torch.allclose(result.float(), orthogonalize(matrices, steps=5), atol=0.02)


def test_compiled_augmentation_creates_no_tensor_from_python_numbers(numbered_image):
    targets = []

    def backend(graph, inputs):
        targets.extend(node.target for node in graph.graph.nodes)
        return graph.forward

    still = torch.zeros(1, 2, dtype=torch.int64)
    options = {"backend": backend, "dynamic": False, "fullgraph": True}
    torch.compile(augment, **options)(numbered_image, still[:, 0], still[:, 0] > 0, still)
    assert torch.stack in targets  # of the normalized channels
    assert torch.tensor not in targets


def test_learning_rate_of_muon_is_the_relative_size_of_a_step():
    weight = torch.nn.Parameter(torch.randn(6, 4, 3, 3))
    weight.grad = torch.randn(6, 4, 3, 3)
    before = weight.detach() * (6**0.5 / weight.detach().norm())
    Muon([weight], lr=0.1, momentum=0.5).step()
    assert (weight - before).norm().item() == pytest.approx(0.1 * 6**0.5, rel=0.4)


@pytest.mark.parametrize("technique", ABLATIONS)
def test_every_technique_can_be_removed_and_training_still_runs(technique, synthetic_data):
    settings = ablate(replace(TINY, epochs=0.25), technique)
    assert technique in active_techniques(TINY)
    assert technique not in active_techniques(settings)
    assert Trainer(settings, *synthetic_data[0], "cpu").run().steps == 2


def test_network_learns_synthetic_images(synthetic_data):
    settings = replace(TINY, widths=(16, 16, 32), muon_lr=0.24, epochs=5)
    trainer = Trainer(settings, *synthetic_images.generate(train=1000, test=0)[0], "cpu")
    trainer.run(seed=1)
    first = trainer.net.head.weight.clone()
    assert trainer.accuracy(*on_device(*synthetic_data[1], "cpu")) > 0.4
    trainer.run(seed=1)  # a used trainer starts from new weights
    assert torch.equal(trainer.net.head.weight, first)


def test_loss_of_nan_or_infinity_raises_an_error_that_says_what_to_change(synthetic_data):
    trainer = Trainer(replace(TINY, head_lr=float("inf")), *synthetic_data[0], "cpu")
    with pytest.raises(FloatingPointError, match=r"diverged\. Choose a muon_lr below 0\.1"):
        trainer.run(steps=4)


def test_predictions_from_six_views_are_the_same_for_a_mirrored_image(synthetic_data):
    trainer = Trainer(TINY, *synthetic_data[0], "cpu")
    trainer.run(steps=3)
    images, _ = on_device(*synthetic_data[1], "cpu")
    original, mirrored = trainer.predict(images), trainer.predict(images.flip(2))
    assert torch.allclose(original, mirrored, atol=1e-4)
    assert not torch.allclose(
        trainer.predict(images, views=False), trainer.predict(images.flip(2), views=False)
    )


@pytest.mark.parametrize(("flip", "same"), [("alternating", [0]), ("random", range(1, 40))])
def test_flips_of_two_epochs(flip, same):
    """`same`: how many of 40 images, dark on the left, may look the same in both epochs."""
    images = torch.zeros(40, 32, 32, 3, dtype=torch.uint8)
    images[:, :, 16:] = 255
    settings = replace(TINY, flip=flip, translate=0, batch_size=40)
    stream = batches(images, torch.arange(40), settings)
    (x, numbers), (x2, numbers2) = next(stream), next(stream)
    assert sorted(numbers.tolist()) == sorted(numbers2.tolist()) == list(range(40))
    first = (x[:, 0, 0, 0] > 0)[numbers.argsort()]
    second = (x2[:, 0, 0, 0] > 0)[numbers2.argsort()]
    assert 0 < first.sum() < 40
    assert (first == second).sum() in same


def test_time_limited_run_ends_in_time_without_counting_observations(synthetic_data, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(training.time, "perf_counter", lambda: clock[0])
    trainer = Trainer(TINY, *synthetic_data[0], "cpu")
    seconds, step = [], trainer._backward

    def slow_step(*arguments):
        clock[0] += 1.0
        return step(*arguments)

    def observe(run):
        clock[0] += 1000.0
        seconds.append(run.seconds)

    monkeypatch.setattr(trainer, "_backward", slow_step)
    run = trainer.run(seconds=8.0, observe=observe, observations=4)
    assert seconds == [2.0, 4.0, 6.0, 8.0]
    assert run.steps == 8
