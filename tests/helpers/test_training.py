"""Training learns, resumes bit for bit, stops between steps, and reports bad input."""

import os
import signal
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from helpers import training
from helpers.evaluation import evaluate
from helpers.loaders import ResidentLoader, normalize
from helpers.training import train

IMAGE_COUNT, BATCH_SIZE = 48, 4


def small_net():
    """A small network that also uses random numbers (dropout) and buffers (BatchNorm)."""
    layers = (nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(2))
    return nn.Sequential(*layers, nn.Flatten(), nn.Dropout(0.5), nn.Linear(16, 10))


def make_images() -> tuple[torch.Tensor, torch.Tensor]:
    """Return images with a bright region whose position depends on the class, and their labels."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(IMAGE_COUNT) % 10
    shape = (IMAGE_COUNT, 3, 32, 32)
    images = torch.randint(0, 60, shape, dtype=torch.uint8, generator=generator)
    for image, label in zip(images, labels.tolist(), strict=True):
        image[label % 3, 16 * (label % 2) :, 3 * label :] += 180
    return images, labels


def sgd(parameters, lr=0.05, **options):
    return torch.optim.SGD(parameters, lr, momentum=0.9, **options)


def seeded_run(
    epochs, make_loader=ResidentLoader, make_optimizer=sgd, make_net=small_net, **options
):
    torch.manual_seed(0)
    net = make_net()
    loader = make_loader(*make_images(), BATCH_SIZE)
    history = train(net, loader, make_optimizer(net.parameters()), epochs=epochs, **options)
    return net, history


def same_weights(a: nn.Module, b: nn.Module) -> bool:
    pairs = zip(a.state_dict().values(), b.state_dict().values(), strict=True)
    return all(torch.equal(x, y) for x, y in pairs)


def stop_at(step: int):
    """Return a `report` function that sends SIGINT once, at `step` of the first epoch."""
    steps = [step]

    def report(progress):
        if progress.step in steps:
            steps.clear()
            os.kill(os.getpid(), signal.SIGINT)

    return report


def adam(parameters):
    return torch.optim.Adam(parameters, lr=0.01)


def test_training_learns():
    net, history = seeded_run(40, make_optimizer=adam)
    assert history.losses[-1] < history.losses[0] / 2
    assert evaluate(net, ResidentLoader(*make_images(), 10)).accuracy > 0.5


def test_a_checkpoint_from_another_run_is_refused_with_the_difference(tmp_path):
    file = tmp_path / "checkpoint.pt"
    seeded_run(1, checkpoint=file)
    before = file.read_bytes()
    for message, changed in (
        (r"'lr': 0.05.*'lr': 0.1", {"make_optimizer": lambda p: sgd(p, lr=0.1)}),
        ("optimizer was 'SGD' and is now 'Adam'", {"make_optimizer": adam}),
        (
            "the network has different parameters",
            {"make_net": lambda: nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 10))},
        ),
    ):
        with pytest.raises(ValueError, match=message):
            seeded_run(2, **changed, checkpoint=file, resume=True)
    assert file.read_bytes() == before


def test_history_holds_mean_losses_and_their_steps(monkeypatch):
    monkeypatch.setattr(training, "LOSSES_PER_EPOCH", 2)
    _, history = seeded_run(2)
    assert history.steps == [6, 12, 18, 24]
    assert history.steps_per_epoch == 12
    assert history.images == 2 * IMAGE_COUNT
    assert history.seconds > 0


def plain_loader(images, labels, batch_size):
    return DataLoader(TensorDataset(normalize(images), labels), batch_size, shuffle=True)


@pytest.mark.parametrize(
    ("make_loader", "optimizer"),
    [(ResidentLoader, sgd), (ResidentLoader, partial(sgd, fused=True)), (plain_loader, adam)],
)
def test_run_resumed_after_an_epoch_gives_the_same_weights(tmp_path, make_loader, optimizer):
    options = {"make_loader": make_loader, "make_optimizer": optimizer}
    uninterrupted, history = seeded_run(3, **options)
    options["checkpoint"] = tmp_path / "checkpoint.pt"
    seeded_run(1, **options)
    torch.rand(100)  # changes the random state, which the checkpoint must restore
    resumed_net, resumed_history = seeded_run(3, **options, resume=True)
    assert same_weights(uninterrupted, resumed_net)
    assert resumed_history.losses == history.losses
    assert resumed_history.steps == history.steps


@pytest.mark.parametrize("step", [1, 5, 12])
def test_run_stopped_after_any_step_resumes_with_the_same_weights(tmp_path, monkeypatch, step):
    monkeypatch.setattr(training, "REPORT_SECONDS", 0)
    uninterrupted, history = seeded_run(2)
    handler = signal.getsignal(signal.SIGINT)
    options = {"checkpoint": tmp_path / "checkpoint.pt"}
    with pytest.raises(KeyboardInterrupt, match="stopped; saved in") as raised:
        seeded_run(2, **options, report=stop_at(step))
    # IPython shows this instead of a traceback.
    assert raised.value._render_traceback_() == [f"KeyboardInterrupt: {raised.value}"]
    assert signal.getsignal(signal.SIGINT) is handler
    resumed_net, resumed_history = seeded_run(2, **options, resume=True)
    assert same_weights(uninterrupted, resumed_net)
    assert resumed_history.losses == history.losses


def test_run_resumed_from_a_timed_checkpoint_gives_the_same_weights(tmp_path, monkeypatch):
    uninterrupted, _ = seeded_run(1)
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", 0)
    saved_steps = []
    real_save = training._save

    def fail_after_the_third_save(path, state):
        real_save(path, state)
        saved_steps.append(state["step"])
        if len(saved_steps) == 3:
            raise RuntimeError("simulated crash")

    options = {"checkpoint": tmp_path / "checkpoint.pt"}
    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="simulated crash"):
        patch.setattr(training, "_save", fail_after_the_third_save)
        seeded_run(1, **options)
    assert saved_steps == [1, 2, 3]
    assert same_weights(uninterrupted, seeded_run(1, **options, resume=True)[0])


def test_loss_of_nan_or_infinity_stops_training_with_a_reason():
    with pytest.raises(FloatingPointError, match=r"diverged.*learning rate below 1e\+30"):
        seeded_run(5, make_optimizer=partial(sgd, lr=1e30))


def test_missing_or_damaged_checkpoint_or_one_with_only_weights_is_refused(tmp_path):
    with pytest.raises(ValueError, match="needs a checkpoint"):
        seeded_run(1, resume=True)
    file = tmp_path / "checkpoint.pt"
    with pytest.raises(FileNotFoundError, match=r"no checkpoint checkpoint\.pt"):
        seeded_run(2, checkpoint=file, resume=True)
    torch.save(small_net().state_dict(), file)
    with pytest.raises(ValueError, match="perhaps holds only a network's weights"):
        seeded_run(2, checkpoint=file, resume=True)
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(ValueError, match="cannot be read as a checkpoint"):
        seeded_run(2, checkpoint=file, resume=True)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_training_continues_if_the_disk_is_full(tmp_path, monkeypatch):
    file = tmp_path / "checkpoint.pt"
    net, _ = seeded_run(1, checkpoint=file)
    before = file.read_bytes()
    real_open = Path.open
    with monkeypatch.context() as patch:
        patch.setattr(type(file), "open", lambda _, mode: real_open(Path("/dev/full"), mode))
        with pytest.warns(UserWarning, match="no checkpoint was written: .*No space left"):
            assert same_weights(net, seeded_run(1, checkpoint=file)[0])
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]
