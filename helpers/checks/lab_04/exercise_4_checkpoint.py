"""Lab 04, exercise 4: the check of `save` and `resume`, and its hints."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from helpers.checks.core import Hint, Trial
from helpers.checks.lab_04.shared import devices_of, epoch_reference, lab, same_weights

_AWAY = "When the machine is taken away"
_RELOAD = "Save and reload"

NO_FILE = Hint(
    "no-file",
    "After `save(path, ...)` there is no file at `path`.",
    "Which function of torch writes to a file, and where do you tell it the file's name?",
    _RELOAD,
)

NOT_PLAIN = Hint(
    "not-plain",
    "`torch.load(path, weights_only=True)` refuses your file: {error}.",
    "A whole module or optimizer is a pickle that needs its code. What does a `state_dict` hold "
    "instead?",
    _RELOAD,
)

NOT_FILLED = Hint(
    "not-filled",
    "After `resume`, the network does not have the weights that were saved.",
    "Giving a name inside your function to something else leaves the caller's network as it was. "
    "Which method copies values into the parameters that are there?",
    _RELOAD,
)

MOMENTUM_LOST = Hint(
    "momentum-lost",
    "The weights are back, but training goes on differently from where it stopped.",
    "What besides the weights does the next step depend on, with momentum? Where does it lie?",
    _AWAY,
)

WRONG_EPOCH = Hint(
    "wrong-epoch",
    "You saved after epoch {saved}, and `resume` returns {found}.",
    "The number goes into the file with the rest, and comes out as it went in.",
    _AWAY,
)

SAVED_NEEDS_GPU = Hint(
    "needs-the-gpu",
    "On a machine without a GPU, `resume` stops: {error}.",
    "The file remembers where its tensors lay. Which argument of `torch.load` says where they go?",
    _RELOAD,
)

NET_CARRIED_OFF = Hint(
    "net-carried-off",
    "The network lay on {before}, and after `{name}` it lies on {after}.",
    "Neither saving nor loading needs the network anywhere else. What moves it?",
    _RELOAD,
)


@lab.exercise(4, points=3, right="A run in two parts ends where a run in one does.")
def exercise_4(trial: Trial, save: Callable[..., Any], resume: Callable[..., Any]) -> None:
    """`save(path, net, optimizer, epoch)` and `resume(path, net, optimizer)`, which gives epoch."""
    device = trial.device
    torch.manual_seed(trial.seed)
    first, second = (
        [(trial.normal(5, 6, device=device), trial.integers(0, 3, (5,), device)) for _ in range(4)]
        for _ in range(2)
    )
    net, optimizer = _small_net(device)
    epoch_reference(net, optimizer, first)
    epoch = trial.random.randint(3, 90)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "checkpoint.pt"
        trial.call(save, path, net, optimizer, epoch)
        trial.expect(path.is_file(), NO_FILE)
        _stays(trial, net, device, "save")
        saved = copy.deepcopy(net)
        epoch_reference(net, optimizer, second)  # what was saved must not change with it
        try:
            torch.load(path, weights_only=True, map_location="cpu")
        except Exception as error:
            told = str(error).split(". ")[0].splitlines()[0][:150].rstrip(". ")
            raise NOT_PLAIN.of(error=told) from None
        other, its_optimizer = _small_net(device)
        found = trial.call(resume, path, other, its_optimizer)
        _stays(trial, other, device, "resume")
        trial.expect(same_weights(other, saved), NOT_FILLED)
        trial.expect_result(found)
        whole = isinstance(found, int)
        told = found if whole else f"a {type(found).__name__}"
        trial.expect(whole and found == epoch, WRONG_EPOCH, saved=epoch, found=told)
        epoch_reference(other, its_optimizer, second)
        trial.expect(same_weights(other, net), MOMENTUM_LOST)
        with trial.machine_with(0):
            other, its_optimizer = _small_net(torch.device("cpu"))
            outcome = trial.outcome(resume, path, other, its_optimizer)
            if outcome.error is not None:
                told = str(outcome.error).split(". ")[0].splitlines()[0].rstrip(". ")
                raise SAVED_NEEDS_GPU.of(error=told)
            _stays(trial, other, torch.device("cpu"), "resume")
            trial.expect(same_weights(other, saved), NOT_FILLED)


def _small_net(device: torch.device) -> tuple[nn.Module, torch.optim.Optimizer]:
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)).to(device)
    return net, torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)


def _stays(trial: Trial, net: nn.Module, device: torch.device, name: str) -> None:
    after = ", ".join(sorted(map(str, devices_of(net))))
    trial.expect(
        devices_of(net) == {device}, NET_CARRIED_OFF, before=device, after=after, name=name
    )
