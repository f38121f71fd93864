"""Lab 04, exercise 4: `save` and `resume`."""

import copy
import tempfile
from pathlib import Path

import torch
from torch import nn

from helpers.checks.comparing import devices_of, same_weights
from helpers.checks.lab_04.shared import epoch_reference, lab
from helpers.checks.trial import Answer, Trial, described


@lab.exercise(4, points=3, right="A run in two parts ends where a run in one does.")
def exercise_4(trial: Trial, save: Answer, resume: Answer) -> None:
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
        trial.expect(path.is_file(), "no-file")
        _stays(trial, net, device, "save")
        saved = copy.deepcopy(net)
        epoch_reference(net, optimizer, second)  # what was saved must not change with it
        try:
            torch.load(path, weights_only=True, map_location="cpu")
        except Exception as error:
            told = str(error).split(". ")[0].splitlines()[0][:150].rstrip(". ")
            raise trial.wrong("not-plain", error=told) from None
        other, its_optimizer = _small_net(device)
        found = trial.call(resume, path, other, its_optimizer)
        _stays(trial, other, device, "resume")
        trial.expect(same_weights(other, saved), "not-filled")
        trial.expect_result(found)
        whole = isinstance(found, int)
        told = found if whole else described(found)
        trial.expect(whole and found == epoch, "wrong-epoch", saved=epoch, found=told)
        epoch_reference(other, its_optimizer, second)
        trial.expect(same_weights(other, net), "momentum-lost")
        with trial.machine_with(0):
            other, its_optimizer = _small_net(torch.device("cpu"))
            called = trial.try_call(resume, path, other, its_optimizer)
            if called.error is not None:
                told = str(called.error).split(". ")[0].splitlines()[0].rstrip(". ")
                raise trial.wrong("needs-the-gpu", error=told)
            _stays(trial, other, torch.device("cpu"), "resume")
            trial.expect(same_weights(other, saved), "not-filled")


def _small_net(device: torch.device) -> tuple[nn.Module, torch.optim.Optimizer]:
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)).to(device)
    return net, torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)


def _stays(trial: Trial, net: nn.Module, device: torch.device, name: str) -> None:
    after = ", ".join(sorted(map(str, devices_of(net))))
    trial.expect(
        devices_of(net) == {device}, "net-carried-off", before=device, after=after, name=name
    )
