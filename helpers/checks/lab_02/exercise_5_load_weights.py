"""Lab 02, exercise 5: `load_weights`."""

from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor, nn

from helpers.checks.lab_02.shared import lab
from helpers.checks.trial import Answer, Trial


@lab.exercise(5, points=3, right="The file loads on any machine, into a network anywhere.")
def exercise_5(trial: Trial, load_weights: Answer) -> None:
    """`load_weights(net, path)`: put the weights of a file into `net`, wherever both come from."""
    # Each case: the device that the file was saved on, the machine that loads it, the network's.
    cases = [("cuda:0", 0, "cpu"), ("cuda:1", 1, "cuda:0"), ("cuda:0", 2, "cuda:1")]
    cases += [("cuda:1", 2, "cpu"), ("cpu", 1, "cuda:0")]
    with TemporaryDirectory() as folder:
        for number, (saved_on, gpus, place) in enumerate(cases):
            path = Path(folder) / f"weights_{number}.pt"
            columns = trial.random.randint(2, 6)
            with trial.machine_with(2):
                saved = _network(trial, columns).to(saved_on)
                torch.save(saved.state_dict(), path)
                expected = {name: tensor.cpu() for name, tensor in saved.state_dict().items()}
            with trial.machine_with(gpus):
                net = _network(trial, columns).to(place)
                called = trial.try_call(load_weights, net, path)
                _check_loaded(trial, called.error, net, expected, (saved_on, gpus, place))


def _network(trial: Trial, columns: int) -> nn.Module:
    """A small network with fresh weights, and with buffers that are not those of a new one."""
    net = nn.Sequential(nn.Linear(columns, 3), nn.BatchNorm1d(3), nn.Linear(3, 2))
    with torch.no_grad():
        for tensor in net.state_dict().values():
            tensor.copy_(trial.normal(*tensor.shape).mul(9).abs())
    return net


def _check_loaded(
    trial: Trial,
    error: Exception | None,
    net: nn.Module,
    expected: dict[str, Tensor],
    case: tuple[str, int, str],
) -> None:
    saved_on, gpus, place = case
    if error is not None:
        if any(words in str(error) for words in ("deserialize", "CUDA device", "device ordinal")):
            told = {0: "no GPU", 1: "one GPU"}.get(gpus, f"{gpus} GPUs")
            text = str(error).split(". ")[0]
            text = f"{type(error).__name__}: {text}"
            raise trial.wrong("needs-its-gpu", gpus=told, saved=saved_on, error=text)
        raise trial.why(error)
    state = net.state_dict()
    for tensor in state.values():
        right = str(tensor.device) == place
        trial.expect(right, "net-moved", name="load_weights", found=tensor.device, given=place)
    parameters = {name for name, _ in net.named_parameters()}
    for name in sorted(state, key=lambda name: name not in parameters):
        hint = "weights-not-in" if name in parameters else "buffers-left"
        trial.expect(torch.equal(state[name].cpu(), expected[name]), hint, name=name)
