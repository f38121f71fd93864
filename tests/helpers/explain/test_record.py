"""For every case of the record that fails: the right variable is named, and the cure works.

The cases run on the simulated CUDA device, whose errors are CUDA's; on a machine with a GPU, there.
"""

import linecache

import pytest
import torch

import simulated_cuda
from helpers.explain import explain
from tests.simulated_cuda.record.cases import all_cases, fresh_names

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
def test_the_explainer(case):
    if case.gpus > torch.cuda.device_count():
        pytest.skip(f"{case.name} takes {case.gpus} GPUs")
    explanation = explain(error_of(case.code, case.name))
    assert explanation is not None, "no box"
    assert explanation.culprit in (case.culprit, *case.also_culprits)
    assert explanation.cure is not None, f"no cure in\n{explanation}"
    mended = explanation.cure.applied_to(case.code)
    assert error_of(mended, f"{case.name}, mended") is None, mended
