"""Tracebacks show no simulator frames, as on CUDA, where the checks are in C++."""

import traceback
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import simulated_cuda

SIMULATOR = Path(simulated_cuda.__file__).parent


def simulator_frames(error):
    """Return the frames of the error's traceback that are in the simulator's code."""
    frames = traceback.extract_tb(error.__traceback__)
    return [frame for frame in frames if Path(frame.filename).parent == SIMULATOR]


@pytest.mark.parametrize(
    "program",
    [
        lambda: torch.ones(2, device="cuda") + torch.ones(2),
        lambda: F.cross_entropy(torch.ones(1, 2, device="cuda"), torch.tensor([0])),
        lambda: nn.Linear(2, 1).to("cuda")(torch.ones(1, 2)),
        lambda: torch.ones(1).to("cuda:7"),
        lambda: torch.empty(1 << 60, dtype=torch.uint8, device="cuda"),
        lambda: setattr(torch.ones(1, device="cuda"), "grad", torch.ones(1)),
    ],
    ids=["add", "cross_entropy", "linear", "to", "empty", "grad"],
)
def test_traceback_has_no_simulator_frames(gpu, program):
    with pytest.raises(RuntimeError) as caught:
        program()
    assert simulator_frames(caught.value) == []


def test_other_errors_keep_their_cause(gpu):
    class Strict(nn.Module):
        def forward(self, x):
            try:
                return x @ x
            except RuntimeError as error:
                raise ValueError("square matrices only") from error

    with pytest.raises(ValueError, match="square") as caught:
        Strict()(torch.ones(2, 3, device="cuda"))
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_recursion_error_has_no_simulator_frames(gpu):
    x = torch.ones(1, device=gpu)

    def recurse():
        return (x + 1) + recurse()

    with pytest.raises(RecursionError) as caught:
        recurse()
    assert simulator_frames(caught.value) == []
