"""The record of what CUDA does, replayed on the simulated device: type, text and value."""

import gc
import warnings

import pytest
import torch

import simulated_cuda
from tests.simulated_cuda.record.cases import Case, all_cases
from tests.simulated_cuda.record.record import comparable, entry_for, load
from tools.record_cuda import run_case

RECORD = load()


@pytest.fixture(autouse=True, scope="module")
def short_collections():
    """Cases collect garbage: of their own objects, not those of a whole test run."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True, scope="module")
def two_gpus():
    with simulated_cuda.simulated(devices=2), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_the_record_is_large_enough_and_covers_every_kind():
    kinds = [case.kind for case in all_cases()]
    assert len(kinds) >= 80
    assert {kind: kinds.count(kind) >= 10 for kind in set(kinds)} == dict.fromkeys(
        ("mix", "near-miss", "move", "load", "memory"), True
    )
    assert {case.name for case in all_cases()} == set(RECORD)


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.name)
def test_the_simulated_device_does_what_the_record_says(case: Case):
    expected = entry_for(RECORD[case.name], torch.__version__)
    found = run_case(case.code, case.shows)
    assert (found.outcome, found.type) == (expected.outcome, expected.type)
    assert comparable(found.text) == comparable(expected.text)
    assert found.value == expected.value


@pytest.mark.parametrize(
    "case", [case for case in all_cases() if case.mended], ids=lambda case: case.name
)
def test_the_cure_of_a_case_works(case: Case):
    found = run_case(case.mended_code)
    assert found.outcome == "works", f"{found.type}: {found.text}"
