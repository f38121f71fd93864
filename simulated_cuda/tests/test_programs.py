"""Complete CUDA programs run unchanged, and fail if any single `.to(device)` is removed."""

import re
import warnings
from pathlib import Path

import pytest
import torch

import simulated_cuda

PROGRAMS = {path.stem: path.read_text() for path in Path(__file__).parent.glob("programs/*.py")}
MOVE = ".to(device)"

# CUDA's messages about mixed devices in the operations of these programs.
MISMATCH = (
    r"Expected all tensors to be on the same device, but (found at least two devices|got )"
    r"|Input type \(.*\) and weight type \(.*\) should be the same"
    r"|Input and (hidden|parameter) tensors are not at the same device"
    r"|(indices|index) should be .* same device"
    r"|Attempted to set the storage"
)


def run(source: str) -> list[float]:
    names: dict[str, object] = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # programs may cause warnings on CUDA as well
        exec(compile(source, "<program>", "exec"), names)
    return names["result"]


def programs_without_one_move() -> list:
    cases = []
    for name, source in sorted(PROGRAMS.items()):
        for number, move in enumerate(re.finditer(re.escape(MOVE), source)):
            line = source.count("\n", 0, move.start()) + 1
            mutant = source[: move.start()] + source[move.end() :]
            cases.append(pytest.param(mutant, id=f"{name}-{number}-line-{line}"))
    return cases


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_program_computes_the_same_values_as_the_cpu(name):
    expected = run(PROGRAMS[name])
    with simulated_cuda.simulated():
        assert torch.cuda.is_available()
        values = run(PROGRAMS[name])
    assert values == expected


@pytest.mark.parametrize("source", programs_without_one_move())
def test_program_without_one_move_fails_as_on_cuda(gpu, source):
    with pytest.raises(RuntimeError, match=MISMATCH):
        run(source)
