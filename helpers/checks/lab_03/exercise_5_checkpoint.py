"""Lab 03, exercise 5: `save_checkpoint` and `load_checkpoint`."""

import pickle
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.hints import NotRight
from helpers.checks.lab_03.shared import lab, net_and_optimizer, on_cpu, state_of, take_steps
from helpers.checks.trial import Answer, Trial


@lab.exercise(5, points=3, right="What was saved on one machine goes on wherever you like.")
def exercise_5(trial: Trial, save_checkpoint: Answer, load_checkpoint: Answer) -> None:
    """`save_checkpoint` and `load_checkpoint`: from any machine to any other."""
    # Each case: the device that was saved on, the machine that loads, and the device there.
    cases = [("cuda:0", 0, "cpu"), ("cuda:1", 1, "cuda:0"), ("cpu", 2, "cuda:1")]
    with TemporaryDirectory() as folder:
        for number, case in enumerate(cases):
            saved_on, gpus, place = case
            path = Path(folder) / f"checkpoint_{number}.pt"
            name = trial.random.choice(["SGD", "Adam"])
            seed, epoch = trial.random.randrange(2**31), trial.random.randint(3, 99)
            batch = trial.normal(6, 4)
            with trial.machine_with(2):
                net, optimizer = net_and_optimizer(seed, name, torch.device(saved_on))
                take_steps(net, optimizer, batch.to(saved_on), 2)
                saved = on_cpu(net.state_dict()), on_cpu(state_of(optimizer))
                trial.call(save_checkpoint, path, net, optimizer, epoch)
                # Later training must not reach what was saved.
                take_steps(net, optimizer, batch.to(saved_on), 1)
            trial.expect(path.is_file(), "no-file")
            with trial.machine_with(gpus):
                net, optimizer = net_and_optimizer(seed + 1, name, torch.device(place))
                called = trial.try_call(load_checkpoint, path, net, optimizer)
                if called.error is not None:
                    raise _why_not_loaded(trial, called.error, saved_on, gpus)
                _check_loaded(trial, net, optimizer, saved, place)
                found = called.value
                trial.expect(found == epoch, "wrong-epoch", epoch=epoch, found=repr(found))


def _why_not_loaded(trial: Trial, error: Exception, saved_on: str, gpus: int) -> NotRight:
    text = str(error)
    if any(words in text for words in ("deserialize", "CUDA device", "device ordinal")):
        told = {0: "no GPU", 1: "one GPU"}.get(gpus, f"{gpus} GPUs")
        told_error = f"{type(error).__name__}: {text.split('. ')[0]}"
        return trial.wrong("needs-its-gpu", gpus=told, saved=saved_on, error=told_error)
    if isinstance(error, pickle.UnpicklingError) and "eights only" in text:
        return trial.wrong("whole-objects")
    return trial.why(error)


def _check_loaded(
    trial: Trial,
    net: nn.Module,
    optimizer: torch.optim.Optimizer,
    saved: tuple[Mapping[Any, Tensor], Mapping[Any, Tensor]],
    place: str,
) -> None:
    state = net.state_dict()
    for tensor in state.values():
        told = {"name": "load_checkpoint", "found": tensor.device, "given": place}
        trial.expect(str(tensor.device) == place, "net-moved", **told)
    parameters = {name for name, _ in net.named_parameters()}
    for name in sorted(state, key=lambda name: name not in parameters):
        hint = "weights-not-in" if name in parameters else "buffers-left"
        trial.expect(torch.equal(state[name].cpu(), saved[0][name]), hint, name=name)
    remembered = state_of(optimizer)
    for key, tensor in saved[1].items():
        same = key in remembered and torch.equal(remembered[key].cpu(), tensor)
        trial.expect(same, "optimizer-left", entry=key[1])
        behind = tensor.dim() > 0 and str(remembered[key].device) != place
        told = {"wanted": place, "entry": key[1], "found": remembered[key].device}
        trial.expect(not behind, "state-behind", **told)
