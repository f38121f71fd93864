"""Every setting of a training step works, and an unsupported setting is reported with a reason."""

import contextlib

import pytest
import torch

from helpers.networks import ClassicNet, ScaledClassicNet
from helpers.steps import (
    StepConfig,
    TrainingStep,
    classic_loader,
    cycle,
    scaled_lr,
    truncate_to_full_batches,
)

CLASSIC = {"resident": False, "losses_on_device": False}


@pytest.fixture
def data():
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (32, 3, 32, 32), dtype=torch.uint8, generator=generator)
    return images, torch.arange(32) % 10


def test_scaled_network_with_the_classic_weights_gives_the_same_outputs():
    classic, scaled = ClassicNet(), ScaledClassicNet()
    weights = dict(zip(scaled.state_dict(), classic.state_dict().values(), strict=True))
    scaled.load_state_dict(weights)
    images = torch.randn(3, 3, 32, 32)
    assert torch.allclose(scaled(images), classic(images), atol=1e-6)
    assert ScaledClassicNet(2, 2)(images).shape == (3, 10)


def test_only_full_batches_are_used_and_epochs_repeat(data):
    images, labels = truncate_to_full_batches(*data, 12)
    assert len(images) == len(labels) == 24
    batches = cycle(classic_loader(images, labels, 12, workers=0))
    assert [len(next(batches)[1]) for _ in range(5)] == [12] * 5
    with pytest.raises(ValueError, match="32 images do not fill one batch of 64"):
        truncate_to_full_batches(*data, 64)


def test_learning_rate_grows_with_batch_size_up_to_a_limit():
    assert [scaled_lr(size) for size in (4, 64, 4096)] == pytest.approx([0.001, 0.016, 0.1])


@pytest.mark.parametrize(
    "change",
    [{}, {"channels_last": True}, {"bf16": True}, {"fused": True}, {"one_thread": True}, CLASSIC],
    ids=str,
)
def test_a_step_learns_in_every_setting(data, change):
    torch.manual_seed(0)
    torch.set_num_threads(2)
    config = {"batch_size": 32, "resident": True, "losses_on_device": True} | change
    step = TrainingStep(StepConfig(**config), *data)
    step.optimizer.param_groups[0]["lr"] = 0.05
    phases = []
    step(lambda name: contextlib.nullcontext(phases.append(name)))
    assert phases == ["data", "forward", "backward", "optimizer"]
    assert torch.is_tensor(step.running_loss) == config["losses_on_device"]
    before = float(step.loss)
    for _ in range(20):
        step()
    assert float(step.loss) < before
    assert torch.get_num_threads() == 2
