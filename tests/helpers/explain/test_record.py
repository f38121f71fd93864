"""Every recorded CUDA error is explained with the right variable and a working fix.

The cases run on the GPU if there is one, and otherwise on the simulated CUDA device.
"""

import linecache

import pytest
import torch

import simulated_cuda
from helpers.explain import explain
from simulated_cuda.tests.recorded_cases import all_cases, fresh_names

FAILING = [case for case in all_cases() if case.outcome == "raises"]


@pytest.fixture(autouse=True, scope="module")
def two_gpus():
    if torch.cuda.is_available():
        yield
    else:
        with simulated_cuda.simulated(devices=2):
            yield


def error_of(text, name):
    filename = f"<case {name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    try:
        exec(compile(text, filename, "exec"), fresh_names())
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("case", FAILING, ids=lambda case: case.name)
def test_recorded_error_has_right_culprit_and_working_fix(case):
    if case.gpus > torch.cuda.device_count():
        pytest.skip(f"{case.name} needs {case.gpus} GPUs")
    explanation = explain(error_of(case.code, case.name))
    assert explanation is not None, "no box"
    assert explanation.culprit in (case.culprit, *case.also_culprits)
    if case.kind == "memory":  # any fix would change what the program computes
        assert explanation.fix is None
        return
    assert explanation.fix is not None, f"no fix in\n{explanation}"
    fixed = explanation.fix.text
    assert error_of(fixed, f"{case.name}, fixed") is None, fixed
