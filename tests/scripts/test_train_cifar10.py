"""`scripts/train_cifar10.py` on synthetic images: training, resuming, torchrun, messages."""

import os
import re
from pathlib import Path

import pytest
import torch
from PIL import Image

from helpers import synthetic_images
from helpers.cifar10 import CLASSES
from scripts import train_cifar10 as script
from tests.conftest import run_python

SCRIPT = Path(script.__file__)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Image folders with 12 training and 4 test images of each class."""
    root = tmp_path_factory.mktemp("cifar10")
    for split, (images, labels), count in zip(
        ("train", "test"), synthetic_images.generate(400, 200), (12, 4), strict=True
    ):
        for label, name in enumerate(CLASSES):
            (root / split / name).mkdir(parents=True)
            for i, image in enumerate(images[labels == label][:count]):
                picture = Image.fromarray(image.permute(1, 2, 0).numpy())
                picture.save(root / split / name / f"{i:02d}.png")
    return root


@pytest.fixture
def run(folder, tmp_path, monkeypatch):
    """A function that runs the script in this process and returns its checkpoint."""
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    threads = torch.get_num_threads()

    def call(*options, output="out"):
        common = ["--data", str(folder), "--device", "cpu", "--workers", "0"]
        script.main([*common, "--output", str(tmp_path / output), *map(str, options)])
        return torch.load(tmp_path / output / "train_cifar10.pt", weights_only=True)

    yield call
    torch.set_num_threads(threads)


def same_weights(first, second, **tolerance):
    tolerance = tolerance or {"rtol": 0, "atol": 0}
    return all(torch.allclose(w, second["net"][k], **tolerance) for k, w in first["net"].items())


def test_trains_on_some_images_and_prints_loss_and_accuracy_overall_and_per_class(run, capsys):
    assert run("--epochs", 1, "--images", 20)["step"] == 5
    text = capsys.readouterr().out
    assert "epoch 1 of 1, batch 5 of 5: loss" in text
    assert re.search(r"accuracy on 40 test images: \d+\.\d\d%", text)
    assert all(re.search(rf"{name}: \d+\.\d%", text) for name in CLASSES)


def test_same_seed_gives_same_weights(run):
    assert same_weights(run(), run(output="again"))
    assert not same_weights(run(), run("--seed", 1, output="other"))


@pytest.mark.parametrize(
    ("resume", "precision"),
    [("--resume", "fp32"), ("--resume", "fp16"), ("--resume-if-present", "fp32")],
)
def test_resumed_run_equals_uninterrupted_run(run, resume, precision):
    uninterrupted = run("--epochs", 3, "--precision", precision)
    first = ("--epochs", 1, "--resume-if-present")  # there is no checkpoint yet
    run(*first, "--precision", precision, output="parts")
    resumed = run("--epochs", 3, resume, "--precision", precision, output="parts")
    assert same_weights(uninterrupted, resumed)
    assert (resumed["epoch"], resumed["step"]) == (3, 90)


def test_accumulating_two_batches_equals_one_batch_of_twice_the_size(run):
    large = run("--batch-size", 16, "--lr", 0.1)
    small = run("--batch-size", 8, "--lr", 0.1, "--accumulate", 2, output="small")
    assert same_weights(large, small, rtol=1e-4, atol=1e-5)
    assert large["step"] == small["step"] == 16


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_lower_precision_trains_slightly_different_float32_weights(run, precision):
    exact, lower = run("--lr", 0.01), run("--lr", 0.01, "--precision", precision, output="lower")
    assert not same_weights(exact, lower)
    assert same_weights(exact, lower, rtol=0.1, atol=0.05)
    assert all(tensor.dtype == torch.float32 for tensor in lower["net"].values())


def test_schedule_warms_up_and_falls_to_zero(run, monkeypatch):
    rates = []
    step = torch.optim.SGD.step

    def record_rate(self, *args, **kwargs):
        rates.append(self.param_groups[0]["lr"])
        return step(self, *args, **kwargs)

    monkeypatch.setattr(torch.optim.SGD, "step", record_rate)
    run("--batch-size", 12, "--lr", 0.1, "--schedule", "cosine", "--warmup", 4)
    assert len(rates) == 20
    assert rates[:4] == pytest.approx([0.025, 0.05, 0.075, 0.1])
    assert rates[4:] == sorted(rates[4:], reverse=True)
    assert rates[4] == pytest.approx(0.1)
    assert 0 < rates[-1] < 0.002


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (["--lr", 1e6], FloatingPointError, r"learning rate below 1e\+06"),
        (["--lr", 0.01, "--resume"], ValueError, r"was trained with lr 0\.001, not 0\.01"),
        (["--resume", "--output", "nowhere"], ValueError, "there is no checkpoint"),
    ],
)
def test_run_that_cannot_continue_is_an_error(run, options, error, message):
    run("--epochs", 1)
    with pytest.raises(error, match=message):
        run(*options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--batch-size", "0"], "must be an integer of at least 1, not '0'"),
        (["--lr", "nan"], "--lr must be 0 or more"),
        (["--precision", "fp8"], "invalid choice: 'fp8'"),
    ],
)
def test_invalid_option_is_reported(capsys, options, message):
    with pytest.raises(SystemExit) as exit_info:
        script.main(options)
    assert exit_info.value.code == 2
    assert message in capsys.readouterr().err


def run_process(cache, *command):
    environment = os.environ | {"OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(cache)}
    return run_python(*command, env=environment, timeout=300)


def test_missing_images_are_an_error_without_traceback(tmp_path):
    result = run_process(tmp_path, SCRIPT, "--data", tmp_path / "nowhere", "--device", "cpu")
    assert result.returncode == 1
    assert result.stderr.startswith("train_cifar10.py: error: ")
    assert "no such file or folder" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.fixture
def single_torchrun_process(monkeypatch):
    """Set the environment as torchrun does for a single process."""
    values = {"RANK": 0, "LOCAL_RANK": 0, "WORLD_SIZE": 1, "MASTER_ADDR": "localhost"}
    for name, value in (values | {"MASTER_PORT": 0}).items():  # any free port
        monkeypatch.setenv(name, str(value))
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.slow
def test_two_processes_train_like_one_with_batches_of_twice_the_size(
    run, single_torchrun_process, folder, tmp_path
):
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 2]
    options = ["--data", folder, "--device", "cpu", "--workers", 0, "--output", tmp_path]
    result = run_process(tmp_path, *torchrun, SCRIPT, *options, "--accumulate", 2, "--lr", 0.01)
    assert result.returncode == 0, result.stderr
    assert "training on 2 x cpu" in result.stdout
    assert result.stdout.count("accuracy on 40 test images") == 1  # each image is counted once
    double = torch.load(tmp_path / "train_cifar10.pt", weights_only=True)
    # 60 images per process in batches of 4, two batches per step: 8 steps in each of 2 epochs.
    assert double["step"] == 16
    single = run("--batch-size", 8, "--accumulate", 2, "--lr", 0.01)
    assert same_weights(single, double, rtol=1e-4, atol=1e-5)
