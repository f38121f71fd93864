"""Every setting of a training step works, and an unsupported setting is reported with a reason."""

import contextlib
import platform
import shutil
import warnings

import pytest
import torch

from helpers.loaders import normalize
from helpers.networks import ClassicNet, ScaledClassicNet
from helpers.steps import (
    TRANSFORM,
    StepConfig,
    TrainingStep,
    classic_loader,
    cycle,
    scaled_lr,
    truncate_to_full_batches,
    unsupported_reason,
)
from helpers.torchvision_cifar10 import InMemoryCIFAR10


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def data():
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (32, 3, 32, 32), dtype=torch.uint8, generator=generator)
    return images, torch.arange(32) % 10


def test_torchvision_transforms_and_normalize_give_equal_values(data):
    dataset = InMemoryCIFAR10(*data, TRANSFORM)
    one_by_one = torch.stack([dataset[i][0] for i in range(len(dataset))])
    assert torch.allclose(one_by_one, normalize(data[0]), atol=1e-6)
    assert [dataset[i][1] for i in range(len(dataset))] == data[1].tolist()


def test_cycle_continues_with_the_next_epoch(data):
    batches = cycle(classic_loader(*data, 16, workers=0))
    assert [len(next(batches)[1]) for _ in range(5)] == [16] * 5


def test_truncate_to_full_batches_drops_the_remainder(data):
    images, labels = truncate_to_full_batches(*data, 12)
    assert len(images) == len(labels) == 24


def test_too_few_images_for_a_batch_are_refused(data):
    with pytest.raises(ValueError, match="32 images do not fill one batch of 64"):
        truncate_to_full_batches(*data, 64)


def test_learning_rate_grows_with_batch_size_up_to_a_limit():
    assert [scaled_lr(size) for size in (4, 64, 4096)] == pytest.approx([0.001, 0.016, 0.1])


@pytest.mark.parametrize(
    "change",
    [{}, {"channels_last": True}, {"bf16": True}, {"fused": True}, {"one_thread": True}],
    ids=str,
)
def test_a_step_learns_in_every_setting(data, change):
    torch.manual_seed(0)
    step = TrainingStep(StepConfig(batch_size=32, resident=True, **change), *data)
    step.optimizer.param_groups[0]["lr"] = 0.05
    step()
    before = step.loss.item()
    for _ in range(20):
        step()
    assert step.loss.item() < before


def test_phases_of_a_step_run_in_order(data):
    names = []

    class Phase:
        def __init__(self, name):
            names.append(name)

        def __enter__(self):
            pass

        def __exit__(self, *error):
            pass

    TrainingStep(StepConfig(resident=True), *data)(Phase)
    assert names == ["data", "forward", "backward", "optimizer"]


def test_number_of_threads_is_restored(data):
    torch.set_num_threads(2)
    TrainingStep(StepConfig(resident=True, one_thread=True), *data)()
    assert torch.get_num_threads() == 2


def test_missing_compiler_is_reported_before_compiling(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    assert "g++" in unsupported_reason(StepConfig(compiled=True), "cpu")
    assert not unsupported_reason(StepConfig(), "cpu")


def test_compiling_on_windows_is_reported_as_unsupported(monkeypatch):
    monkeypatch.setattr(platform, "system", lambda: "Windows")
    assert "Windows" in unsupported_reason(StepConfig(compiled=True), "cpu")


def test_bf16_is_supported_on_the_cpu():
    assert unsupported_reason(StepConfig(bf16=True), "cpu") == ""


@pytest.mark.skipif(torch.backends.mps.is_available(), reason="this machine has an MPS device")
def test_device_without_bf16_is_reported():
    assert (
        unsupported_reason(StepConfig(bf16=True), "mps")
        == "autocast to bfloat16 is not supported on mps on this machine"
    )


def test_autocast_that_disables_itself_with_a_warning_is_reported(monkeypatch, recwarn):
    class UnsupportedAutocast(contextlib.nullcontext):
        def __init__(self, kind, dtype):
            super().__init__()
            warnings.warn(f"{dtype} is not supported on {kind}. Disabling autocast.", stacklevel=2)

    monkeypatch.setattr(torch, "autocast", UnsupportedAutocast)
    assert "is not supported" in unsupported_reason(StepConfig(bf16=True), "cpu")
    assert not recwarn.list  # the warning would repeat the reason


def test_one_thread_is_not_supported_on_gpus():
    assert "CPU" in unsupported_reason(StepConfig(one_thread=True), "cuda:0")


def test_network_of_width_and_depth_one_has_the_classic_parameters():
    classic = [tuple(p.shape) for p in ClassicNet().parameters()]
    assert [tuple(p.shape) for p in ScaledClassicNet().parameters()] == classic


def test_scaled_network_with_the_classic_weights_gives_the_same_outputs():
    classic, scaled = ClassicNet(), ScaledClassicNet()
    weights = dict(zip(scaled.state_dict(), classic.state_dict().values(), strict=True))
    scaled.load_state_dict(weights)
    images = torch.randn(3, 3, 32, 32)
    assert torch.allclose(scaled(images), classic(images), atol=1e-6)


@pytest.mark.parametrize(("width", "depth"), [(3, 1), (1, 4), (2, 2)])
def test_wider_or_deeper_network_has_ten_outputs(width, depth):
    assert ScaledClassicNet(width, depth)(torch.zeros(2, 3, 32, 32)).shape == (2, 10)


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "2"])
def test_invalid_width_is_refused(size):
    with pytest.raises(ValueError, match="width must be an integer"):
        ScaledClassicNet(width=size)
