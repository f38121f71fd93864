"""Lab 03, exercise 5: the check of `save_checkpoint` and `load_checkpoint`, and its hints."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.core import Hint, NotRight, Trial
from helpers.checks.lab_03.shared import (
    ALONG,
    NET_MOVED,
    STATE_BEHIND,
    lab,
    net_and_optimizer,
    on_cpu,
    state_of,
    take_steps,
)

_SAVING = "Saving and loading"

NO_FILE = Hint(
    "no-file",
    "After `save_checkpoint`, there is no file at the path that was handed in.",
    "To which path does your function write, and does it write at all?",
    _SAVING,
)

NEEDS_ITS_GPU = Hint(
    "needs-its-gpu",
    "On a machine with {gpus}, `load_checkpoint` cannot read what was saved on {saved}: it stops "
    "with {error}.",
    "The file remembers the device of each tensor. Which argument of `torch.load` says where they "
    "go instead?",
    _SAVING,
)

WHOLE_OBJECTS = Hint(
    "whole-objects",
    "`torch.load` refuses the file, since it holds more than tensors, numbers and containers.",
    "Networks and optimizers are objects of Python. What do they hand out that is made of tensors?",
    _SAVING,
)

NOT_LOADED = Hint(
    "weights-not-in",
    "After `load_checkpoint`, the network's weights are not those that were saved.",
    "Reading the file gives you a dictionary. How does what is in it get into the network?",
    _SAVING,
)

BUFFERS_LEFT = Hint(
    "buffers-left",
    "The weights are back as they were saved, and the buffer `{name}` is not.",
    "A network's state is more than its parameters. What do you save, and what do you load?",
    ALONG,
)

OPTIMIZER_LEFT = Hint(
    "optimizer-left",
    "The network is back as it was saved, and the optimizer's `{entry}` is not.",
    "An optimizer has a state as well, in the same form. Is it in the file, and who loads it?",
    _SAVING,
)

WRONG_EPOCH = Hint(
    "wrong-epoch",
    "Epoch {epoch} was saved, and `load_checkpoint` returns {found}.",
    "The number has to be in the file, and come back as the result.",
    _SAVING,
)


@lab.exercise(5, points=3, right="What was saved on one machine goes on wherever you like.")
def exercise_5(
    trial: Trial, save_checkpoint: Callable[..., Any], load_checkpoint: Callable[..., Any]
) -> None:
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
            trial.expect(path.is_file(), NO_FILE)
            with trial.machine_with(gpus):
                net, optimizer = net_and_optimizer(seed + 1, name, torch.device(place))
                outcome = trial.outcome(load_checkpoint, path, net, optimizer)
                if outcome.error is not None:
                    raise _why_not_loaded(trial, outcome.error, saved_on, gpus)
                _check_loaded(trial, net, optimizer, saved, place)
                found = outcome.value
                trial.expect(found == epoch, WRONG_EPOCH, epoch=epoch, found=repr(found))


def _why_not_loaded(trial: Trial, error: Exception, saved_on: str, gpus: int) -> NotRight:
    text = str(error)
    if any(words in text for words in ("deserialize", "CUDA device", "device ordinal")):
        told = {0: "no GPU", 1: "one GPU"}.get(gpus, f"{gpus} GPUs")
        told_error = f"{type(error).__name__}: {text.split('. ')[0]}"
        return NEEDS_ITS_GPU.of(gpus=told, saved=saved_on, error=told_error)
    if isinstance(error, pickle.UnpicklingError) and "eights only" in text:
        return WHOLE_OBJECTS.of()
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
        trial.expect(str(tensor.device) == place, NET_MOVED, **told)
    parameters = {name for name, _ in net.named_parameters()}
    for name in sorted(state, key=lambda name: name not in parameters):
        hint = NOT_LOADED if name in parameters else BUFFERS_LEFT
        trial.expect(torch.equal(state[name].cpu(), saved[0][name]), hint, name=name)
    remembered = state_of(optimizer)
    for key, tensor in saved[1].items():
        same = key in remembered and torch.equal(remembered[key].cpu(), tensor)
        trial.expect(same, OPTIMIZER_LEFT, entry=key[1])
        behind = tensor.dim() > 0 and str(remembered[key].device) != place
        told = {"wanted": place, "entry": key[1], "found": remembered[key].device}
        trial.expect(not behind, STATE_BEHIND, **told)
