"""The simulated device has the recorded behavior of CUDA: error type, message and value."""

import gc
import warnings
from collections import Counter

import pytest
import torch

import simulated_cuda
from tests.simulated_cuda.record.all_cases import all_cases
from tests.simulated_cuda.record.cases import KINDS, Case
from tests.simulated_cuda.record.record import entry_for, load, normalize, run_case

RECORD = load()


@pytest.fixture(autouse=True, scope="module")
def short_collections():
    """Make garbage collection in cases fast: ignore the objects of earlier tests."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True, scope="module")
def two_gpus():
    with simulated_cuda.simulated(devices=2), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_every_kind_has_at_least_ten_cases():
    counts = Counter(case.kind for case in all_cases())
    assert set(counts) == set(KINDS)
    assert min(counts.values()) >= 10


def test_every_case_is_recorded():
    assert {case.name for case in all_cases()} == set(RECORD)


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.name)
def test_simulated_device_behaves_as_recorded(case: Case):
    expected = entry_for(RECORD[case.name], torch.__version__)
    entry = run_case(case.code, case.shows)
    assert (entry.outcome, entry.type) == (expected.outcome, expected.type)
    assert normalize(entry.text) == normalize(expected.text)
    assert entry.value == expected.value


@pytest.mark.parametrize(
    "case", [case for case in all_cases() if case.fix], ids=lambda case: case.name
)
def test_fixed_case_works(case: Case):
    entry = run_case(case.fixed_code)
    assert entry.outcome == "works", f"{entry.type}: {entry.text}"
