"""Lab 03, exercise 5: `save_checkpoint` and `load_checkpoint`."""

import pickle
import pickletools
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from helpers.checks.descriptions import format_gpu_count, one_line
from helpers.checks.hints import WrongAnswer
from helpers.checks.lab_03.shared import lab, net_and_optimizer, on_cpu, state_of, take_steps
from helpers.checks.trial import Answer, Trial
from helpers.language import translate

_WHOLE_OBJECTS = ("torch.nn.modules.", "torch.optim.", "__main__.")


class _Saved(NamedTuple):
    """The state that a checkpoint must restore, on the CPU."""

    net: dict[str, Tensor]
    state: dict[tuple[int, str], Tensor]
    settings: list[dict[str, Any]]
    epoch: int


@lab.exercise(5, points=3, success_message="Training continues from your file on any machine.")
def exercise_5(trial: Trial, save_checkpoint: Answer, load_checkpoint: Answer) -> None:
    """`save_checkpoint` and `load_checkpoint`: from any machine to any other."""
    # Each case: the saved network's device, and the GPU count and device of the loading machine.
    names = trial.random.sample(["SGD", "Adam", "Adam"], 3)
    cases = [("cuda:0", 0, "cpu"), ("cuda:1", 1, "cuda:0"), ("cpu", 2, "cuda:1")]
    for name, (saved_on, gpus, device) in zip(names, cases, strict=True):
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            path = Path(folder) / "checkpoint.pt"
            with trial.machine_with(2):
                saved = _save(trial, save_checkpoint, path, name, saved_on)
                # The loading program uses another path, and a newer checkpoint exists.
                new_path = path.rename(Path(folder) / "moved.pt")
                other = _save(trial, save_checkpoint, path, name, saved_on)
            with trial.machine_with(gpus):
                seed = trial.random.randrange(2**31)
                net, optimizer = net_and_optimizer(seed, name, torch.device(device), scale=3.0)
                training = gpus > 0
                net.train(training)
                outcome = trial.try_call(load_checkpoint, new_path, net, optimizer)
                if outcome.error is not None:
                    raise _hint_for_load_error(trial, outcome.error, new_path, saved_on, gpus)
                mode_hint = "mode-changed" if training else "mode-changed-to-training"
                trial.expect(net.training == training, mode_hint, name="load_checkpoint")
                _check_net(trial, net, saved, other, device)
                _check_optimizer(trial, optimizer, saved, device)
                from_second_save = outcome.value == other.epoch != saved.epoch
                trial.expect(not from_second_save, "not-saved-in-file", what=translate("the epoch"))
                details = {"epoch": saved.epoch, "found": repr(outcome.value)}
                trial.expect(outcome.value == saved.epoch, "wrong-epoch", **details)


def _save(trial: Trial, save_checkpoint: Answer, path: Path, name: str, device: str) -> _Saved:
    """Train a new network, let the student save it, and train it further."""
    seed, epoch = trial.random.randrange(2**31), trial.random.randrange(3, 10**6)
    net, optimizer = net_and_optimizer(seed, name, torch.device(device))
    batch = trial.normal(6, 4).to(device)
    take_steps(net, optimizer, batch, 2)
    settings = [{k: v for k, v in g.items() if k != "params"} for g in optimizer.param_groups]
    saved = _Saved(on_cpu(net.state_dict()), on_cpu(state_of(optimizer)), settings, epoch)
    trial.call(save_checkpoint, path, net, optimizer, epoch)
    trial.expect(path.is_file(), "no-file")
    if classes := _pickled_classes(path):
        raise trial.wrong("whole-objects", error=f"Unsupported global: {classes[0]}")
    trial.expect(net.training, "mode-changed", name="save_checkpoint")
    # Further training must not change what was saved.
    take_steps(net, optimizer, batch, 1)
    return saved


def _pickled_classes(path: Path) -> list[str]:
    """Return the classes of modules and optimizers in a checkpoint.

    Nothing is unpickled, and at most a megabyte is decompressed: when a submission is graded, the
    file comes from a student, and the check runs outside the sandbox.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            member = next(name for name in archive.namelist() if name.endswith("/data.pkl"))
            with archive.open(member) as file:
                operations = pickletools.genops(file.read(1 << 20))
                names = [arg.replace(" ", ".") for op, arg, _ in operations if op.name == "GLOBAL"]
    except Exception:  # a file that was not written by `torch.save`
        return []
    return [name for name in names if name.startswith(_WHOLE_OBJECTS)]


def _hint_for_load_error(
    trial: Trial, error: Exception, path: Path, saved_on: str, gpus: int
) -> WrongAnswer:
    text = str(error)
    if path.stat().st_size == 0:
        return trial.wrong("empty-file")
    if any(words in text for words in ("deserialize", "CUDA device", "device ordinal")):
        details = {"gpus": format_gpu_count(gpus), "saved": saved_on}
        return trial.wrong("needs-its-gpu", error=one_line(error).split(". ")[0], **details)
    if isinstance(error, pickle.UnpicklingError) and "eights only" in text:
        return trial.wrong("whole-objects", error=one_line(error).split(". ")[0])
    return trial.hint_for(error)


def _check_net(trial: Trial, net: nn.Module, saved: _Saved, other: _Saved, device: str) -> None:
    state = on_cpu(net.state_dict())
    for tensor in net.state_dict().values():
        details = {"name": "load_checkpoint", "found": tensor.device, "given": device}
        trial.expect(str(tensor.device) == device, "net-moved", **details)
    parameters = {name for name, _ in net.named_parameters()}
    for name in sorted(state, key=lambda name: name not in parameters):
        if torch.equal(state[name], saved.net[name]):
            continue
        trial.expect(name in parameters, "buffers-not-restored", name=name)
        from_second_save = torch.equal(state[name], other.net[name])
        trial.expect(not from_second_save, "not-saved-in-file", what=translate("the weights"))
        rounded = torch.allclose(state[name], saved.net[name], rtol=1e-2, atol=1e-3)
        raise trial.wrong("rounded" if rounded else "weights-not-loaded")


def _check_optimizer(
    trial: Trial, optimizer: torch.optim.Optimizer, saved: _Saved, device: str
) -> None:
    state = state_of(optimizer)
    for key, tensor in saved.state.items():
        unchanged = key in state and torch.equal(state[key].cpu(), tensor)
        trial.expect(unchanged, "optimizer-not-restored", entry=key[1])
        left_behind = tensor.dim() > 0 and str(state[key].device) != device
        details = {"wanted": device, "entry": key[1], "found": state[key].device}
        trial.expect(not left_behind, "state-not-moved", **details)
    for group, settings in zip(optimizer.param_groups, saved.settings, strict=False):
        for key, value in settings.items():
            details = {"key": key, "given": value, "found": group.get(key)}
            trial.expect(group.get(key) == value, "settings-not-restored", **details)
