"""Tracebacks show no simulator frames, as on CUDA, where the checks are in C++."""

import traceback

import pytest
import torch
import torch.nn.functional as F
from torch import nn


def files_in_traceback(program):
    with pytest.raises(RuntimeError) as caught:
        program()
    return [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]


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
    files = files_in_traceback(program)
    assert not [name for name in files if "simulated_cuda/" in name.replace("tests/simulated", "")]


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
    assert all("simulated_cuda/tracebacks" not in str(entry.path) for entry in caught.traceback)
