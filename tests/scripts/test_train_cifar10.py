"""`scripts/train_cifar10.py` on synthetic images: training, resuming, torchrun, messages."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from scripts import train_cifar10 as script

pytestmark = pytest.mark.slow
SCRIPT = Path(script.__file__)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A function that trains on 120 images in this process and returns the checkpoint."""
    monkeypatch.delenv("RANK", raising=False)
    threads, handler = torch.get_num_threads(), signal.getsignal(signal.SIGTERM)

    def call(*options, output="out"):
        common = ["--data", "fake", "--images", "120", "--device", "cpu", "--workers", "0"]
        script.main([*common, "--output", str(tmp_path / output), *map(str, options)])
        return torch.load(tmp_path / output / "train_cifar10.pt", weights_only=True)

    yield call
    torch.set_num_threads(threads)
    signal.signal(signal.SIGTERM, handler)


def same_weights(first, second, **tolerance):
    tolerance = tolerance or {"rtol": 0, "atol": 0}
    return all(torch.allclose(w, second["net"][k], **tolerance) for k, w in first["net"].items())


def test_trains_on_some_images_and_prints_loss_and_accuracy_overall_and_per_class(run, capsys):
    assert run("--epochs", 1, "--images", 20)["step"] == 5
    text = capsys.readouterr().out
    assert "epoch 1 of 1, batch 5 of 5: loss" in text
    assert re.search(r"accuracy on 200 test images: \d+\.\d\d%", text)
    assert all(re.search(rf"{name}: \d+\.\d%", text) for name in script.CLASSES)


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


def start(folder, *command):
    return subprocess.Popen(
        [sys.executable, *map(str, command)],
        cwd=folder,
        env={
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": "",
            "PYTHONUNBUFFERED": "1",
            "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a signal to the group does not reach pytest
    )


def finish(process):
    """Return exit status, output and errors."""
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def test_missing_images_are_an_error_without_traceback(tmp_path):
    (tmp_path / "file").touch()
    process = start(tmp_path, SCRIPT, "--data", "file", "--device", "cpu")
    status, _, err = finish(process)
    assert status == 1
    assert err.startswith("train_cifar10.py: error: ")
    assert "Traceback" not in err


FAKE = ("--data", "fake", "--device", "cpu", "--output", ".")
QUICK = (*FAKE, "--images", 120, "--workers", 0)


def test_copied_file_trains_in_an_empty_folder(tmp_path):
    shutil.copy(SCRIPT, tmp_path)
    program = "import sys; sys.modules['helpers'] = None; sys.argv = sys.argv[1:]; import runpy; "
    program += "runpy.run_path(sys.argv[0], run_name='__main__')"
    options = (*QUICK, "--clip", 1, "--weight-decay", 0.01, "--channels-last", "--peak-tflops", 1)
    status, out, err = finish(start(tmp_path, "-c", program, SCRIPT.name, *options))
    assert status == 0, err
    assert re.search(r"images/s, 0\.\d+ TFLOP/s each \(MFU \d+\.\d%\)", out)


def test_clipping_and_weight_decay_change_the_weights(run):
    plain, clipped = run("--lr", 0.1), run("--lr", 0.1, "--clip", 0.1, output="clipped")
    decayed = run("--lr", 0.1, "--weight-decay", 0.5, output="decayed")
    assert not same_weights(plain, clipped)
    norms = [checkpoint["net"]["fc1.weight"].norm() for checkpoint in (plain, decayed)]
    assert norms[1] < 0.5 * norms[0]


def wait_for_line(process, text):
    for line in process.stdout:
        if text in line:
            return
    raise AssertionError(process.stderr.read())


TORCHRUN = ("-m", "torch.distributed.run")
TWO = (*TORCHRUN, "--standalone", "--nproc-per-node", 2)


def stop_after_first_line(folder, launcher, options, send):
    """Train until the first line of progress, call `send(process id)`; return the checkpoint."""
    process = start(folder, *launcher, SCRIPT, *options)
    wait_for_line(process, "epoch 1 of")
    send(process.pid, signal.SIGTERM)
    status, out, err = finish(process)
    assert status != 0
    assert "SIGTERM: stopped after" in out, err
    return torch.load(folder / "train_cifar10.pt", weights_only=True)


@pytest.mark.parametrize(
    ("launcher", "send"),
    [((), os.kill), ((), os.killpg), (TWO, os.kill)],
    ids=["process", "group", "torchrun"],
)
def test_run_stopped_by_sigterm_and_resumed_equals_uninterrupted_run(tmp_path, launcher, send):
    parts, whole = tmp_path / "parts", tmp_path / "whole"
    parts.mkdir()
    whole.mkdir()
    options = (*FAKE, "--workers", 1, "--epochs", 4, "--lr", 0.01)
    stopped = stop_after_first_line(parts, launcher, options, send)
    assert 0 < stopped["step"] < 4 * 250
    status, out, err = finish(start(parts, *launcher, SCRIPT, *options, "--resume"))
    assert status == 0, err
    assert f"resumed after {stopped['step']} steps" in out
    finish(start(whole, *launcher, SCRIPT, *options))
    first, second = (torch.load(p / "train_cifar10.pt", weights_only=True) for p in (parts, whole))
    assert same_weights(first, second)


def test_killed_process_is_restarted_from_the_checkpoint(tmp_path):
    options = (*FAKE, "--workers", 0, "--epochs", 4, "--lr", 0.01, "--resume-if-present")
    process = start(tmp_path, *TWO, "--max-restarts", 1, SCRIPT, *options)
    wait_for_line(process, "epoch 2 of")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(children[-1]), signal.SIGKILL)
    status, out, err = finish(process)
    assert status == 0, err
    assert "resumed after" in out
    assert torch.load(tmp_path / "train_cifar10.pt", weights_only=True)["step"] == 4 * 125


@pytest.mark.parametrize("agents", [1, 2])
def test_two_processes_train_like_one_with_batches_of_twice_the_size(run, tmp_path, agents):
    options = (*QUICK, "--accumulate", 2, "--lr", 0.01)
    launchers = [(*TWO,)]
    if agents == 2:
        port = ("--master-addr", "localhost", "--master-port", free_port())
        nodes = (*TORCHRUN, "--nproc-per-node", 1, "--nnodes", 2, *port, "--node-rank")
        launchers = [(*nodes, rank) for rank in (0, 1)]
    processes = [start(tmp_path, *launcher, SCRIPT, *options) for launcher in launchers]
    results = [finish(process) for process in processes]
    assert all(status == 0 for status, _, _ in results), results
    out = "".join(text for _, text, _ in results)
    assert "training on 2 x cpu" in out
    assert out.count("accuracy on 200 test images") == 1  # each image is counted once
    double = torch.load(tmp_path / "train_cifar10.pt", weights_only=True)
    # 60 images per process in batches of 4, two batches per step: 8 steps in each of 2 epochs.
    assert double["step"] == 16
    single = run("--batch-size", 8, "--accumulate", 2, "--lr", 0.01)
    assert same_weights(single, double, rtol=1e-4, atol=1e-5)


def free_port():
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        return listener.getsockname()[1]
