"""The simulated device has the recorded behavior of CUDA: error type, message and value."""

import gc
import warnings

import pytest
import torch

import simulated_cuda
from simulated_cuda.tests.recorded_cases import all_cases, entry_for, load, normalize, run_case

CASES = all_cases()
RECORD = load()


@pytest.fixture(autouse=True, scope="module")
def two_gpus():
    # Garbage collection in cases is fast if it ignores the objects of earlier tests.
    gc.collect()
    gc.freeze()
    with simulated_cuda.simulated(devices=2), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    gc.unfreeze()


def test_every_case_is_recorded():
    assert {case.name for case in CASES} == set(RECORD)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_simulated_device_behaves_as_recorded(case):
    expected = entry_for(RECORD[case.name], torch.__version__)
    entry = run_case(case.code, case.result)
    assert (entry.outcome, entry.type) == (expected.outcome, expected.type)
    assert normalize(entry.text) == normalize(expected.text)
    assert entry.value == expected.value


@pytest.mark.parametrize("case", [case for case in CASES if case.fix], ids=lambda case: case.name)
def test_fixed_case_works(case):
    entry = run_case(case.fixed_code)
    assert entry.outcome == "works", f"{entry.type}: {entry.text}"
